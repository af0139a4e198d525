"""The model counts what plans say, adds up what a device takes, and names what binds."""

import json
from dataclasses import replace
from time import sleep

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.bench.model import (
    Calibration,
    DeviceModel,
    Overhead,
    Stage,
    Study,
    Transfers,
    Way,
    list_stages,
    predict_stage,
    predict_stages,
)
from subband.bench.model.calibration import HOST_SIDES, plan_sweeps
from subband.bench.model.cases import MODEL_CASES, TRAVELLING_CASES, ModelCase, list_own_cases, vary_cases
from subband.bench.model.comparison import report_comparison
from subband.bench.model.roofline import draw_roofline
from subband.bench.model.rounds import Rounds
from subband.bench.model.stages import PLAIN_OPERATIONS, count_operations
from subband.cli.model import app
from subband.engines import get_engine
from subband.engines.abilities import abilities_of_device
from subband.engines.cpu.jobs import SMALL, Job
from subband.engines.measuring.harness import Replay, open_harness, plan_array
from subband.engines.measuring.timing import Effort
from subband.errors import ArgumentError
from subband.kernels import CUDA, OPENCL
from subband.testing import RecordingEngine

SIZES = (2.0**10, 2.0**30)
WAY = Way(
    Overhead(1e-5, 5e-5),
    {1: (8e9, 8e9), 2: (4e9, 4e9)},
    {"lifting": (1e9, 1e9), "filters": (2e9, 2e9)},
)
TRANSFERS = Transfers((1e3, 1e6), (1e-5, 1e-3), (2e-5, 2e-3))
DEVICE = DeviceModel("a device", SIZES, (8e9, 8e9), {"forward": WAY, "inverse": WAY}, TRANSFERS)
# one that works while the host goes on
HOST = {"chain": Overhead(3e-5, 2e-5), "sweeps": Overhead(9e-5, 4e-5)}
QUEUE = replace(
    DEVICE, ways={direction: replace(WAY, host=HOST, graph=Overhead(8e-4, 3e-6)) for direction in DEVICE.ways}
)
MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)


def test_rates_beyond_the_device_are_not_shown():
    """What is left of a short call's time tells nothing: 94,624 GB/s on a card that copies 4,100 in a second."""
    sweeps = dict.fromkeys(WAY.sweeps, (9e13, 8e9))
    rates = dict.fromkeys(WAY.rates, (6e13, 9e9))
    fast = replace(DEVICE, ways=dict.fromkeys(DEVICE.ways, replace(WAY, sweeps=sweeps, rates=rates)))
    moves, computes, *_ = report_comparison(fast, []).sheets
    for sheet, kept in ((moves, "8.0"), (computes, "9.0")):
        first, second = (row[2 if sheet is moves else 1 :] for row in sheet.rows)
        assert set(first) == {""}
        assert set(second) == {kept}
        assert "beyond the device's own" in sheet.note
    assert [row[1] for row in moves.rows] == ["8.0", "8.0"]


def test_a_level_is_read_and_written_once():
    (stage,) = list_stages(plan_array((100, 64), "cdf97", 1))
    assert stage.memory == 2 * 4 * 6400
    assert stage.operations == 6400 * 2 * 5
    assert stage.extra_operations == 6400 * 2 * (5 - PLAIN_OPERATIONS)
    assert stage.intensity == pytest.approx(10 / 8)


def test_nothing_is_plainer_than_haar():
    (plan,) = plan_array((64,), "haar", 1).levels[0].plans
    assert [count_operations(plan, direction) for direction in ("forward", "inverse")] == [PLAIN_OPERATIONS] * 2


def test_levels_shrink_by_four_and_turn_round_on_the_way_back():
    plan = plan_array((256, 256), "haar", 3)
    there, back = list_stages(plan), list_stages(plan, "inverse")
    assert [stage.memory for stage in there] == [2 * 4 * 256**2 // 4**level for level in range(3)]
    assert [stage.name for stage in back] == ["level 3", "level 2", "level 1"]


def test_wider_numbers_move_more():
    narrow, wide = (list_stages(plan_array((64, 64), "db4", 1), itemsize=size)[0] for size in (4, 8))
    assert wide.memory == 2 * narrow.memory
    assert wide.operations == narrow.operations


def test_long_wavelets_are_counted_as_filters():
    short, long = (list_stages(plan_array((64, 64), name, 1))[0] for name in ("db2", "db20"))
    assert (short.arithmetic, long.arithmetic) == ("lifting", "filters")
    assert long.operations == 64 * 64 * 2 * 40


def test_devices_take_long_filters_an_axis_at_a_time():
    first, second = list_stages(plan_array((64, 64), "coif5", 1), abilities=abilities_of_device(None))
    assert (first.launches, second.launches) == (1, 2)
    assert first.memory == second.memory == 2 * 4 * 64**2
    assert (first.extent, second.extent) == (4 * 64**2, 2 * 64**2)
    assert not first.is_alone
    assert first.operations == second.operations == 64**2 * 30


def test_devices_take_volumes_in_two_sweeps():
    images, depths = list_stages(plan_array((32, 32, 32), "cdf97", 1), abilities=abilities_of_device(None))
    assert (images.axes, images.launches, depths.axes, depths.launches) == (2, 1, 1, 4)
    back = list_stages(plan_array((32, 32, 32), "cdf97", 1), "inverse", abilities=abilities_of_device(None))
    assert [stage.axes for stage in back] == [1, 2]


def test_the_cpu_takes_volumes_in_blocks():
    depths, images = list_stages(plan_array((128, 64, 64), "cdf97", 1))
    assert (depths.axes, images.axes) == (1, 2)
    assert depths.block == images.block == 4 * 32 * 64 * 64
    assert depths.parts == images.parts == 4
    assert (depths.width, images.width) == (64 * 64, 64)
    # slices where blocks meet are read for both
    assert 1 < depths.memory / images.memory < 1.25


COUNTED = [((40, 24), "cdf97", 2), ((40, 24), "coif5", 1), ((40, 24, 32), "cdf97", 2), ((3, 40, 8, 8), "cdf97", 1)]


@pytest.mark.parametrize(("shape", "wavelet", "level"), COUNTED)
@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=lambda dialect: dialect.name)
def test_devices_are_launched_as_often_as_is_counted(dialect, shape, wavelet, level):
    engine, plan = RecordingEngine(dialect), plan_array(shape, wavelet, level)
    abilities = engine.find_abilities(np.dtype(np.float32))
    result = engine.forward_all(plan, np.zeros(shape, np.float32))
    counted = [
        sum(stage.launches for stage in list_stages(plan, direction, abilities=abilities))
        for direction in ("forward", "inverse")
    ]
    assert len(engine.device.launches) == counted[0]
    engine.inverse_all(plan, *result)
    assert len(engine.device.launches) == sum(counted)


@pytest.mark.parametrize(("shape", "wavelet", "level"), COUNTED)
def test_kernels_of_the_cpu_are_called_as_often_as_is_counted(monkeypatch, shape, wavelet, level):
    engine, plan = get_engine("cpu"), plan_array(shape, wavelet, level)
    ran = []

    def count(run):
        def call(job, *arguments):
            ran.append("inverse" if job._is_inverse else "forward")
            return run(job, *arguments)

        return call

    for name in ("run_here", "run_part"):
        monkeypatch.setattr(Job, name, count(getattr(Job, name)))
    engine.inverse_all(plan, *engine.forward_all(plan, np.zeros(shape, np.float32)))
    for direction in ("forward", "inverse"):
        stages = list_stages(plan, direction, abilities=engine.find_abilities(np.dtype(np.float32)))
        assert ran.count(direction) == sum(stage.launches for stage in stages)


def test_transfers_frame_the_levels():
    stages = list_stages(plan_array((64, 64), "haar", 2), with_transfers=True)
    assert [stage.name for stage in stages] == ["upload", "level 1", "level 2", "download"]
    assert stages[0].transfers == (4 * 64 * 64,)
    assert sorted(stages[-1].transfers) == [4 * 16**2] * 4 + [4 * 32**2] * 3


@pytest.mark.parametrize(
    ("stage", "seconds", "bound"),
    [
        (Stage("one axis", axes=1, memory=8_000_000, extent=4_000_000), 1e-3, "memory"),
        (Stage("steps", extent=4, operations=3_000_000), 3e-3, "arithmetic"),
        (Stage("taps", extent=4, operations=3_000_000, arithmetic="filters"), 1.5e-3, "arithmetic"),
        (Stage("upload", transfers=(1_000_000, 2_000_000)), 3e-3, "transfer"),
        (Stage("download", transfers=(1_000,)), 2e-5, "transfer"),
        (Stage("nothing", launches=2), 2e-5, "launch"),
    ],
)
def test_each_part_of_the_time(stage, seconds, bound):
    prediction = predict_stage(stage, DEVICE)
    assert prediction.seconds == pytest.approx(seconds)
    assert prediction.bound == bound


def test_what_a_sweep_takes_beyond_a_copy_is_arithmetic():
    prediction = predict_stage(Stage("both axes", memory=8_000_000, extent=4_000_000), DEVICE)
    assert (prediction.memory, prediction.arithmetic) == pytest.approx((1e-3, 1e-3))


def test_operations_of_the_plainest_sweep_are_not_counted_twice():
    plain, more = (
        predict_stage(list_stages(plan_array((64, 64), name, 1))[0], DEVICE).seconds for name in ("haar", "cdf97")
    )
    assert more - plain == pytest.approx(64**2 * 6 / 1e9)


def test_what_goes_through_a_block_moves_at_the_speed_of_its_cache():
    way = replace(WAY, sweeps={1: (8e9, 2e9), 2: (8e9, 2e9)})
    device = replace(DEVICE, ways={"forward": way, "inverse": way}, copies=(8e9, 2e9))
    far = Stage("far", memory=8_000_000, extent=2**30)
    assert predict_stage(far, device).seconds == pytest.approx(4e-3)
    assert predict_stage(replace(far, block=2**10), device).seconds == pytest.approx(2e-3 + 0.5e-3)


def test_short_rows_take_longer():
    way = replace(WAY, rows={"plain": 50.0, "lifting": 200.0})
    device = replace(DEVICE, ways={"forward": way, "inverse": way})
    stage = Stage("rows", samples=0, width=100, memory=8_000_000, extent=4_000_000, operations=1_000_000)
    assert predict_stage(stage, device).seconds == pytest.approx(2e-3 * 1.5 + 1e-3 * 3)


def test_threads_wait_for_the_one_that_has_more_to_do():
    stage = Stage("blocks", parts=3, memory=8_000_000, extent=4_000_000)
    alone, both = (predict_stage(stage, replace(DEVICE, threads=threads)).seconds for threads in (1, 2))
    assert both / alone == pytest.approx(4 / 3)


def test_stages_add_up_with_the_call():
    stages = list_stages(plan_array((64, 64), "haar", 2))
    total = predict_stages(stages, DEVICE)
    assert total.seconds == pytest.approx(sum(predict_stage(stage, DEVICE).seconds for stage in stages) + 5e-5)


def test_a_queue_takes_the_longer_of_host_and_device():
    small, large = (list_stages(plan_array((side, side), "haar", 2)) for side in (16, 2048))
    assert predict_stages(small, QUEUE).seconds == pytest.approx(2 * 3e-5 + 2e-5)
    assert predict_stages(small, QUEUE).bound == "launch"
    assert sum(predict_stages(small, QUEUE).parts.values()) == pytest.approx(8e-5)
    assert predict_stages(small, QUEUE, asking="none").seconds == predict_stages(small, DEVICE).seconds
    # the larger hides the asking
    assert predict_stages(large, QUEUE).seconds == predict_stages(large, DEVICE).seconds
    # what is recorded is asked for once, and followed by a pause
    alone = predict_stages(large, DEVICE).seconds
    assert predict_stages(large, QUEUE, asking="graph").seconds == pytest.approx(alone + 3e-6)
    assert predict_stages(small, QUEUE, asking="graph").seconds == pytest.approx(8e-4)


def test_several_sweeps_are_asked_for_one_by_one():
    stages = list_stages(plan_array((16, 16), "coif5", 1), abilities=abilities_of_device(None))
    assert predict_stages(stages, QUEUE).host == pytest.approx(3 * 9e-5 + 4e-5)


def test_speed_between_two_sizes_lies_between_theirs():
    device = replace(DEVICE, sizes=(1e4, 1e6), copies=(4e9, 1e9))
    found = [device.find(device.copies, extent) for extent in (1e5, 1e3, 1e9)]
    assert found == pytest.approx([2e9, 4e9, 1e9])


def test_what_cannot_be_transferred_is_refused():
    with pytest.raises(ArgumentError, match="no memory apart"):
        predict_stage(Stage("upload", transfers=(1,)), replace(DEVICE, transfers=None))


@pytest.mark.parametrize("text", ["", "12x", "axb", "0x4", "2x2x2x2"])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(ArgumentError, match="1080x1920"):
        list_own_cases(text, "haar", 1)


def test_names_tell_cases_apart():
    cases = [*vary_cases(MODEL_CASES, ("call", "graph")), *TRAVELLING_CASES]
    assert len({case.name for case in cases}) == len(cases)


def test_the_least_time_is_kept():
    pauses = iter([0, 0.01, 0.002, 0.02, 0.02, 0.02, 0.02, 0.02])
    rounds = Rounds({"call": lambda: sleep(next(pauses))}, Effort(seconds=0, fewest=2, most=2, turn=1e-9))
    assert len(list(rounds.run())) == 2
    assert 0.01 <= rounds.best["call"] < 0.02


def test_what_has_settled_takes_part_no_more():
    clock = iter(range(1, 1000))
    # the first call takes the same every time, the other one less and less
    times = {"settled": lambda: 1.0, "other": lambda: 1 / next(clock)}
    rounds = Rounds(times, Effort(seconds=9, fewest=4, most=7), lambda call, count: call() * count)
    assert list(rounds.run()) == [2, 2, 2, 2, 1, 1, 1]


def test_calibration_finds_what_a_made_up_device_can_do():
    """Times that follow the model give back the device that they were made of."""
    calibration = Calibration(open_harness("cpu"), (32, 320, 640))
    way = Way(
        Overhead(1e-5, 2e-6),
        {1: (3e10, 2e10, 1e10), 2: (2e10, 1.5e10, 8e9)},
        {"lifting": (1e9, 2e9, 3e9), "filters": (4e9, 5e9, 6e9)},
        {"plain": 40.0, "lifting": 60.0, "filters": 20.0},
    )
    device = DeviceModel(
        "made up", (4.0 * 32**2, 4.0 * 320**2, 4.0 * 640**2), (4e10,) * 3, {"forward": way, "inverse": way}
    )
    best = {}
    for name in calibration.calls:
        what, side, *rest = name.split()
        if what == "copy":
            best[name] = 8 * int(side) ** 2 / 4e10 * (1 if rest == ["16"] else 9)
        elif what in ("haar", "sym14"):
            best[name] = 2e-6 + int(side) * 1e-5
        elif what == "rows":
            wavelet = {"plain": "haar", "lifting": "sym5", "filters": "sym14"}[side]
            shape = (312, 312) if rest[0] == "312" else (1014, 96)
            best[name] = predict_stages(list_stages(plan_array(shape, wavelet, 1), rest[1]), device).seconds
        else:
            stages = list_stages(plan_sweeps(int(side))[what], rest[0])
            best[name] = predict_stages(stages, device).seconds
    found = calibration.conclude(best, "made up")
    assert found.copies == pytest.approx(device.copies)
    for direction in ("forward", "inverse"):
        overhead = found.ways[direction].overhead
        assert (overhead.launch, overhead.call) == pytest.approx((1e-5, 2e-6))
        for count in (1, 2):
            assert found.ways[direction].sweeps[count] == pytest.approx(way.sweeps[count])
        assert found.ways[direction].rows == pytest.approx(way.rows)
        for kind in ("lifting", "filters"):
            assert found.ways[direction].rates[kind] == pytest.approx(way.rates[kind])


def test_sides_stand_before_and_behind_the_second_thread():
    assert max(side**2 for side in HOST_SIDES if side**2 < SMALL) > 0.95 * SMALL
    assert min(side**2 for side in HOST_SIDES if side**2 >= SMALL) < 1.05 * SMALL


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_a_device_is_measured_and_compared(engine):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    cases = vary_cases(
        [ModelCase((64, 64), "cdf97", 2, direction) for direction in ("forward", "inverse")],
        ("call", "graph", "host"),
    )
    study = Study(open_harness(engine), cases, MOMENT, (32, 64))
    assert list(study.run())
    device, comparisons = study.conclude("here")
    assert min(device.copies) > 0
    assert all(min(rates) > 0 for way in device.ways.values() for rates in way.rates.values())
    assert (device.transfers is None) == (engine == "cpu")
    assert [entry.case.manner for entry in comparisons] == ["call"] * 2 + ["host"] * 2 * (engine != "cpu")
    assert all(entry.measured > 0 and entry.prediction.seconds > 0 for entry in comparisons)
    report = report_comparison(device, comparisons)
    assert len(report.sheets[-1].rows) == len(comparisons)
    assert json.dumps(report.to_json())
    assert draw_roofline(device, comparisons).render().size[0] > 100


@pytest.mark.opencl
def test_what_a_device_records_is_predicted_besides(monkeypatch):
    """Devices of OpenCL record nothing; this one pretends."""
    pytest.importorskip("pyopencl")
    monkeypatch.setattr("subband.engines.measuring.harness.OpenCLHarness.capture", lambda _, call: Replay(call, call()))
    cases = vary_cases([ModelCase((64, 64), "coif5", 1, "inverse")], ("call", "graph"))
    study = Study(open_harness("opencl"), cases, MOMENT, (32, 64))
    assert list(study.run())
    device, (call, graph) = study.conclude("here")
    assert set(device.ways["inverse"].host) == {"chain", "sweeps"}
    host, launches = device.ways["inverse"].host["sweeps"], sum(stage.launches for stage in call.stages)
    # a launch may seem to take no time on a busy machine
    assert launches > 1
    assert call.prediction.host == pytest.approx(host.call + launches * host.launch)
    assert graph.prediction.host == device.ways["inverse"].graph.launch
    assert "asked for by the host" in report_comparison(device, [call, graph]).to_markdown()


def test_the_command_predicts_a_transform_of_ones_own(tmp_path):
    record, picture = tmp_path / "model.json", tmp_path / "roof.png"
    arguments = ["--quick", "--shape", "64x48", "--wavelet", "db2", "--output", str(record), "--plot", str(picture)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "64x48 db2 3-level inverse" in result.output
    figures = json.loads(record.read_text())["model cpu"]
    assert len(figures["cases"]) == 2
    assert picture.stat().st_size > 1000

"""The model counts what plans say, adds up what a device takes, and names what binds."""

import json

import pytest
from typer.testing import CliRunner

from subband.bench.measuring import Effort
from subband.bench.model import DeviceModel, Stage, list_stages, measure_device_model, predict_stage, predict_stages
from subband.bench.model.comparison import ModelCase, compare, list_own_cases, report_comparison
from subband.bench.model.roofline import draw_roofline
from subband.bench.workbench import open_workbench, plan_picture
from subband.cli.model import app
from subband.errors import ArgumentError

DEVICE = DeviceModel("a device", (2**10, 2**30), (8e9, 8e9), {"lifting": 1e9, "filters": 2e9}, 1e-5, 5e-5, 1e9)
MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)


def test_a_level_is_read_and_written_once():
    (stage,) = list_stages(plan_picture((100, 64), "cdf97", 1))
    assert stage.memory == 2 * 4 * 6400
    assert stage.operations == 6400 * 2 * 5
    assert stage.intensity == pytest.approx(10 / 8)


def test_levels_shrink_by_four_and_turn_round_on_the_way_back():
    plan = plan_picture((256, 256), "haar", 3)
    there, back = list_stages(plan), list_stages(plan, "inverse")
    assert [stage.memory for stage in there] == [2 * 4 * 256**2 // 4**level for level in range(3)]
    assert [stage.name for stage in back] == ["level 3", "level 2", "level 1"]


def test_expansive_modes_and_wider_numbers_move_more():
    narrow, wide = (list_stages(plan_picture((64, 64), "db4", 1), itemsize=size)[0] for size in (4, 8))
    assert wide.memory == 2 * narrow.memory
    assert wide.operations == narrow.operations


def test_long_wavelets_are_counted_as_filters():
    short, long = (list_stages(plan_picture((64, 64), name, 1))[0] for name in ("db2", "db20"))
    assert (short.arithmetic, long.arithmetic) == ("lifting", "filters")
    assert long.operations == 64 * 64 * 2 * 40


def test_transfers_frame_the_levels():
    stages = list_stages(plan_picture((64, 64), "haar", 1), with_transfers=True)
    assert [stage.name for stage in stages] == ["upload", "level 1", "download"]
    assert stages[0].transfer == stages[2].transfer == 4 * 64 * 64


@pytest.mark.parametrize(
    ("stage", "seconds", "bound"),
    [
        (Stage("copy", memory=8_000_000, extent=4_000_000), 1e-3, "memory"),
        (Stage("steps", operations=3_000_000), 3e-3, "arithmetic"),
        (Stage("taps", operations=3_000_000, arithmetic="filters"), 1.5e-3, "arithmetic"),
        (Stage("upload", transfer=5_000_000), 5e-3, "transfer"),
        (Stage("nothing", launches=2), 2e-5, "launch"),
    ],
)
def test_each_part_of_the_time(stage, seconds, bound):
    prediction = predict_stage(stage, DEVICE)
    assert prediction.seconds == pytest.approx(seconds)
    assert prediction.bound == bound


def test_stages_add_up_with_the_call():
    stages = list_stages(plan_picture((64, 64), "haar", 2))
    total = predict_stages(stages, DEVICE)
    assert total.seconds == pytest.approx(sum(predict_stage(stage, DEVICE).seconds for stage in stages) + 5e-5)


def test_bandwidth_between_two_sizes_lies_between_theirs():
    device = DeviceModel("a device", (1e4, 1e6), (4e9, 1e9), {"lifting": 1e9, "filters": 1e9}, 0, 0)
    assert device.find_bandwidth(1e5) == pytest.approx(2e9)
    assert device.find_bandwidth(1e3) == pytest.approx(4e9)
    assert device.find_bandwidth(1e9) == pytest.approx(1e9)


def test_what_cannot_be_transferred_is_refused():
    shared = DeviceModel("a CPU", (1e4, 1e6), (4e9, 1e9), {"lifting": 1e9, "filters": 1e9}, 0, 0)
    with pytest.raises(ArgumentError, match="no memory apart"):
        predict_stage(Stage("upload", transfer=1), shared)


@pytest.mark.parametrize("text", ["", "12x", "axb", "0x4", "2x2x2x2"])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(ArgumentError, match="1080x1920"):
        list_own_cases(text, "haar", 1)


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_a_device_is_measured_and_compared(engine, monkeypatch):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    monkeypatch.setattr("subband.bench.model.device._SIZES", (2**14, 2**16))
    monkeypatch.setattr("subband.bench.model.device._SIDE", 64)
    monkeypatch.setattr("subband.bench.model.device._TRANSFERRED", 2**12)
    bench = open_workbench(engine)
    device = measure_device_model(bench, "here", MOMENT)
    assert min(device.bandwidths) > 0
    assert min(device.rates.values()) > 0
    assert (device.transfer is None) == (engine == "cpu")
    cases = [ModelCase((64, 64), "cdf97", 2, direction) for direction in ("forward", "inverse")]
    comparisons = list(compare(bench, device, cases, MOMENT))
    assert all(entry.measured > 0 and entry.prediction.seconds > 0 for entry in comparisons)
    report = report_comparison(device, comparisons)
    assert len(report.sheets[1].rows) == 2
    assert draw_roofline(device, comparisons).render().size[0] > 100


def test_the_command_predicts_a_transform_of_ones_own(tmp_path):
    record, picture = tmp_path / "model.json", tmp_path / "roof.png"
    arguments = ["--quick", "--shape", "64x48", "--wavelet", "db2", "--json", str(record), "--plot", str(picture)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "64x48 db2 3-level inverse" in result.output
    figures = json.loads(record.read_text())["model cpu"]
    assert len(figures["cases"]) == 2
    assert picture.stat().st_size > 1000

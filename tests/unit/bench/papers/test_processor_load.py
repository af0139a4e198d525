"""Load of the CPU: clocks that tell what they are told to, wrong bands refused, and the paper's table beside ours."""

import numpy as np
import pytest

from subband.bench.papers import judging, processor_load
from subband.bench.papers.processor_load import IDLE, SIZES, THEIRS, Load, Loads, list_load_programs, run_stream
from subband.bench.papers.ultrasound import STAGE, Program
from subband.bench.rendering import to_html, to_json, write_hdf5
from subband.engines import get_engine, get_threads
from subband.engines.measuring.harness import Harness, open_harness, plan_array
from subband.engines.measuring.judging import WrongResultError

ENGINES = ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)]


class Machine:
    """A machine whose frames take so long by the clock, and so long of the processor."""

    def __init__(self, wall, processor):
        self.now = self.spent = 100.0
        self.wall, self.processor = wall, processor
        self.done = []

    def step(self, number):
        self.done.append(number)
        self.now += self.wall
        self.spent += self.processor

    def sleep(self, seconds):
        self.now += seconds

    def run(self, count, rate=None, finish=None):
        return run_stream(
            self.step, count, rate, finish, clock=lambda: self.now, processor=lambda: self.spent, wait=self.sleep
        )


def test_load_is_that_of_a_stream_with_pauses():
    machine = Machine(wall=0.010, processor=0.004)
    load = machine.run(40, rate=20.0)
    assert machine.done == list(range(40))
    assert load.wall == pytest.approx(2.0)
    assert load.share == pytest.approx(0.08)
    assert load.rate == pytest.approx(20.0)
    assert load.per_frame == pytest.approx(0.004)
    assert load.late == 0


def test_frames_that_come_too_late_are_counted():
    load = Machine(wall=0.100, processor=0.100).run(10, rate=20.0)
    assert load.late == 10
    assert load.rate == pytest.approx(10.0)
    assert load.share == pytest.approx(1.0)


def test_full_speed_waits_for_the_device():
    machine = Machine(wall=0.001, processor=0.001)
    load = machine.run(5, finish=lambda: machine.sleep(0.015))
    assert load.wall == pytest.approx(0.020)
    assert load.share == pytest.approx(0.25)


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_are_measured_beside_the_cpu(engine):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    threads = get_threads()
    programs = list_load_programs([engine])
    names = [program.name for program in programs]
    assert names[0].startswith(engine)
    assert "cpu-mono-32-single" in names
    assert len(set(names)) == len(names)
    loads = {}
    for name, size, each in processor_load.measure_loads(programs, [128], is_quick=True, rate=200.0):
        loads.setdefault(name, {})[size] = each
    assert get_threads() == threads
    assert list(loads) == [IDLE, *names]
    for name in names:
        assert loads[name][128].paced.processor > 0
        assert loads[name][128].paced.frames == 100
        assert loads[name][128].full.per_frame > 0
    report = processor_load.report(loads, programs)
    assert report.sheets[0].rows[0] == ["theirs: gpu-mono-16", "1.0%"]
    assert not report.goals
    assert len(report.remarks) == (engine == "opencl")


def make_report(device, host, late=0):
    programs = [Program("cuda", 1, "float32"), Program("cpu", 1, threads=1), Program("cpu", 1, threads=2)]
    loads = {
        name: {512: Loads(Load(40, 2.0, seconds, late), Load(400, 2.0, seconds))}
        for name, seconds in zip(
            [IDLE, *(program.name for program in programs)], (0.0, device, host, host), strict=True
        )
    }
    return processor_load.report(loads, programs)


@pytest.fixture
def with_gpu(monkeypatch):
    monkeypatch.setattr(processor_load, "is_host", lambda engine: not engine.startswith("cuda"))


@pytest.mark.usefixtures("with_gpu")
def test_table_has_theirs_and_ours_as_parts_of_their_threads():
    report = make_report(0.02, 0.4)
    table = {row[0]: row[1] for row in report.sheets[0].rows}
    assert table == {
        "theirs: gpu-mono-16": "1.0%",
        "theirs: cpu-mono-32-single": "29.0%",
        "theirs: cpu-mono-32-dual": "14.5%",
        IDLE: "0.0%",
        "cuda-mono-32": "1.0%",
        "cpu-mono-32-single": "20.0%",
        "cpu-mono-32-2-threads": "10.0%",
    }
    assert [goal.is_met for goal in report.goals] == [True]
    assert [goal.is_met for goal in make_report(0.5, 0.4).goals] == [False]
    assert make_report(0.02, 0.4, late=3).sheets[0].rows[-1][1] == "10.0% *"


@pytest.mark.usefixtures("with_gpu")
def test_report_goes_into_every_kind_of_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    report = make_report(0.02, 0.4)
    assert "29.0%" in to_html("Load", {"load": report})
    assert "| cuda-mono-32 | 1.0% |" in report.to_markdown()
    assert '"processor": 0.02' in to_json({"load": report})
    write_hdf5(tmp_path / "load.h5", {"load": report})
    with h5py.File(tmp_path / "load.h5") as file:
        assert file["load/loads/cuda-mono-32/512/paced/processor"][()] == 0.02
        assert file["load/theirs/gpu-mono-16"][:].tolist() == list(THEIRS["gpu-mono-16"])


def test_theirs_follow_from_their_frames_where_they_say_so():
    """The loads of the CPU were computed from table 4.4: twenty frames of so many that it reaches."""
    single = (17.7e6 / 128**2, 17.7e6 / 256**2, 69, 17.7e6 / 1024**2, 17.7e6 / 2048**2)
    assert THEIRS["cpu-mono-32-single"] == pytest.approx([20 / rate for rate in single], rel=0.04)
    assert THEIRS["cpu-mono-32-dual"] == pytest.approx([each / 2 for each in THEIRS["cpu-mono-32-single"]], abs=6e-4)
    assert {len(row) for row in THEIRS.values()} == {len(SIZES)}


class Wrong:
    """The engine of the CPU with a fault that a round trip does not show."""

    name = "wrong"

    def __init__(self, fault):
        self.fault = fault

    def forward_all(self, plan, x):
        approximation, details = get_engine("cpu").forward_all(plan, x)
        return self.fault(approximation), [{key: self.fault(band) for key, band in bands.items()} for bands in details]

    def inverse_all(self, plan, approximation, details):
        undo = self.fault.undo
        bands = [{key: undo(band) for key, band in level.items()} for level in details]
        return get_engine("cpu").inverse_all(plan, undo(approximation), bands)


class Doubling:
    def __call__(self, band):
        return 2 * band

    def undo(self, band):
        return band / 2


class Nothing(Doubling):
    def __call__(self, band):
        return band.copy()

    undo = __call__


@pytest.mark.parametrize(("fault", "is_wrong"), [(Doubling(), True), (Nothing(), False)])
def test_bands_are_judged_not_only_what_comes_back(fault, is_wrong):
    bench = Harness(Wrong(fault))
    plan = plan_array((64, 48), "cdf97", 2)
    x = bench.draw(plan.shape)
    np.testing.assert_allclose(bench.engine.inverse_all(plan, *bench.engine.forward_all(plan, x)), x, atol=1e-5)
    if is_wrong:
        with pytest.raises(WrongResultError, match="aa"):
            judging.check_filtering(bench, STAGE, x[np.newaxis])
    else:
        judging.check_filtering(bench, STAGE, x[np.newaxis])


def test_filtering_is_judged_behind_the_thresholds(monkeypatch):
    bench = open_harness("cpu")
    planes = bench.draw((1, 32, 32))
    real = judging.make_shrinker

    def make_none(stage, count, dimensions, filters):
        if filters is judging.find_filters(bench.engine):
            return lambda coefficients: None
        return real(stage, count, dimensions, filters)

    monkeypatch.setattr(judging, "make_shrinker", make_none)
    with pytest.raises(WrongResultError, match="after its threshold"):
        judging.check_filtering(bench, STAGE, planes)


def test_wrong_programs_are_not_timed(monkeypatch):
    monkeypatch.setattr(processor_load, "open_harness", lambda name: Harness(Wrong(Doubling())))
    with pytest.raises(WrongResultError):
        list(processor_load.measure_loads([Program("cpu", 1, threads=1)], [128], is_quick=True, rate=1e4))

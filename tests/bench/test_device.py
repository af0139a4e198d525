"""The benchmark of devices itself, on an OpenCL device and arrays so small that it takes a moment."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from subband.bench import checking
from subband.bench.cases import Target
from subband.bench.device_cases import DeviceCase, list_device_cases
from subband.bench.measuring import measure_cases
from subband.bench.peers import Contender, Peer
from subband.engines import get_engine, registry
from subband.engines.measuring.harness import Harness, Replay, open_device
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort
from subband.engines.recording import recordings
from subband.testing import relative_tolerance
from subband.wavelets import as_wavelet

EFFORT = Effort(seconds=0.01, fewest=2, most=3, turn=1e-4)
CASE = DeviceCase((64, 96), "haar", goal=Target({"slow": 20.0, "absent": 3.0}, bandwidth=0.5))


class HostHarness(Harness):
    """Arrays of the host, and a clock that counts calls by what they are said to take."""

    name, is_device = "cpu", True

    def __init__(self, seconds, *, replays=False):
        self.seconds, self.replays = seconds, replays
        self.engine = SimpleNamespace(device=SimpleNamespace(upload=np.asarray))
        self.copies = []

    def prepare_copy(self, x):
        def copy():
            """A copy."""
            self.copies.append(x.nbytes)

        return copy

    def time_calls(self, call, count):
        call()
        return count * self.seconds.get(getattr(call, "__doc__", None) or "ours", 1e-3)

    def poison(self, x):
        x.fill(np.nan)

    def capture(self, call):
        if not self.replays:
            raise RuntimeError("no graphs today")
        result = call()

        def launch():
            """A graph."""
            for band, new in zip(checking.flatten_bands(result), checking.flatten_bands(call()), strict=True):
                band[...] = new

        return Replay(launch, result)


def make_peer(name, seconds_key):
    def call():
        return None

    call.__doc__ = seconds_key
    return Peer(name, "none", lambda module, case, samples: Contender(call)), None


TIMES = {"ours": 1e-3, "A copy.": 0.9e-3, "A graph.": 0.5e-3, "slow": 30e-3, "there and back": 9e-3, "there": 4e-3}


@pytest.fixture(autouse=True)
def ours_is_partial(monkeypatch):
    """Give the call a name that the clock knows: a partial has the docstring of its own class."""
    bind = DeviceCase.bind

    def bind_named(self, library, given):
        call = bind(self, library, given)

        def ours():
            return call()

        ours.__doc__ = "ours"
        return ours

    monkeypatch.setattr(DeviceCase, "bind", bind_named)


def test_times_of_all_contenders_are_kept_apart():
    peers = [make_peer("slow", "slow"), make_peer("other", "there")]
    (measurement,) = measure_cases([CASE], EFFORT, HostHarness(TIMES, replays=True), peers)
    assert measurement.ours == pytest.approx(1e-3)
    assert measurement.copy == pytest.approx(0.9e-3)
    assert measurement.graph == pytest.approx(0.5e-3)
    assert measurement.peers == pytest.approx({"slow": 30e-3, "other": 4e-3})
    assert measurement.target == Target({"slow": 20.0}, bandwidth=0.5)
    assert measurement.is_met is True
    assert measurement.remarks == ()


def test_copy_has_the_bytes_of_the_array():
    bench = HostHarness(TIMES)
    list(measure_cases([replace(CASE, dtype="float32")], EFFORT, bench))
    assert set(bench.copies) == {64 * 96 * 4}


def test_what_a_peer_does_besides_is_taken_off():
    def both():
        """there and back"""

    def first():
        """there"""

    peer = Peer("back", "none", lambda module, case, samples: Contender(both, first)), None
    (measurement,) = measure_cases([CASE], EFFORT, HostHarness(TIMES), [peer])
    assert measurement.peers["back"] == pytest.approx(5e-3)


def test_peer_that_fails_and_graph_that_cannot_be_are_told():
    def fail(module, case, samples):
        raise RuntimeError("out of luck")

    def cannot(module, case, samples):
        return None

    peers = [(Peer("broken", "none", fail), None), (Peer("none", "none", cannot), None)]
    (measurement,) = measure_cases([CASE], EFFORT, HostHarness(TIMES), peers)
    assert measurement.peers == {}
    assert measurement.graph is None
    assert "no graphs today" in measurement.remarks[0]
    assert "broken fails at 2-D 64x96 haar" in measurement.remarks[1]
    assert "out of luck" in measurement.remarks[1]


def test_wrong_graph_is_found(monkeypatch):
    bench = HostHarness(TIMES, replays=True)
    monkeypatch.setattr(HostHarness, "capture", lambda self, call: Replay(lambda: None, call()))
    with pytest.raises(WrongResultError):
        list(measure_cases([CASE], EFFORT, bench))


def test_half_precision_is_compared_with_full_precision():
    case = DeviceCase((64, 96), "haar", dtype="float16", goal=Target({"float32": 1.7}))
    (measurement,) = measure_cases([case], EFFORT, HostHarness(TIMES))
    assert set(measurement.peers) == {"float32"}
    assert measurement.is_met is False


@pytest.mark.parametrize("limit", [10**9, 100], ids=["reference", "cpu"])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("is_bare", [False, True])
@pytest.mark.parametrize("spot", [(0, 0), (17, 20), (-1, -1)])
def test_one_wrong_number_stops_the_benchmark(monkeypatch, limit, inverse, is_bare, spot):
    # what is measured is the CPU's own engine in single precision, with a fault that its judge does not have
    monkeypatch.setattr(checking, "JUDGED_SIZE", limit)
    case = DeviceCase((64, 96), "cdf97", "whole", inverse=inverse, is_bare=is_bare)
    (measurement,) = measure_cases([case], EFFORT, HostHarness(TIMES))
    assert measurement.error < relative_tolerance("float32", [as_wavelet("cdf97")] * 2)
    engine = type(get_engine("cpu"))
    name = "inverse" if inverse else "forward"
    original = getattr(engine, name)

    def spoil(self, plan, x):
        result = original(self, plan, x)
        array = result if inverse else result["dd"]
        if array.dtype == np.float32:
            array[spot] += 1e-3
        if recordings.current is not None:
            recordings.current.give_up()  # which knows nothing of the fault
        return result

    monkeypatch.setattr(engine, name, spoil)
    registry.prepared.clear()  # what was recorded before would go on without the fault
    with pytest.raises(WrongResultError, match="64x96 cdf97"):
        list(measure_cases([case], EFFORT, HostHarness(TIMES)))


def test_wrong_judge_is_found(monkeypatch):
    monkeypatch.setattr(checking, "JUDGED_SIZE", 100)
    engine = type(get_engine("cpu"))
    forward = engine.forward

    def spoil(self, plan, x):
        bands = forward(self, plan, x)
        bands["aa"][0, 0] += 1e-8
        return bands

    monkeypatch.setattr(engine, "forward", spoil)
    with pytest.raises(WrongResultError, match="32x32"):
        list(measure_cases([DeviceCase((512, 512), "cdf97", "whole")], EFFORT, HostHarness(TIMES)))


@pytest.mark.opencl
def test_on_an_opencl_device():
    pytest.importorskip("pyopencl")
    bench = open_device("opencl")
    assert bench.name == "opencl:0"
    cases = [
        replace(case, shape=tuple(3 if n == 3 else 32 for n in case.shape), level=min(case.level, 2))
        for case in list_device_cases("opencl")
        if case.wavelet == "haar" or (case.dimensions == 2 and case.dtype == "float16")
    ]
    measurements = list(measure_cases(cases, EFFORT, bench))
    assert [measurement.case for measurement in measurements] == cases
    for measurement in measurements:
        assert min(measurement.ours, measurement.copy) > 0
        assert measurement.graph is None


@pytest.mark.opencl
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_poison_is_not_a_number(dtype):
    pytest.importorskip("pyopencl")
    bench = open_device("opencl:0")
    x = bench.draw((5, 7), dtype)
    assert np.abs(x.get()).max() <= 0.5
    assert x.dtype == dtype
    bench.poison(x)
    assert np.isnan(x.get()).all()

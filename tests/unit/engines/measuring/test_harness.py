"""The harness of CUDA, with a stand-in for CuPy that writes down what is asked of it."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from subband.engines.measuring import harness
from subband.engines.measuring.harness import open_device
from subband.errors import ArgumentError


class Stream:
    ptr = 77

    def __init__(self, log, name="stream"):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(f"enter {self.name}")

    def __exit__(self, *_):
        self.log.append(f"leave {self.name}")

    def begin_capture(self):
        self.log.append("begin capture")

    def end_capture(self):
        self.log.append("end capture")
        return SimpleNamespace(launch=lambda stream: self.log.append(f"launch on {stream.name}"))

    def synchronize(self):
        self.log.append("wait")


class Event:
    def __init__(self, log):
        self.log = log

    def record(self, stream):
        self.log.append("record")

    def synchronize(self):
        self.log.append("wait")


@pytest.fixture
def log():
    return []


@pytest.fixture
def cupy(log, monkeypatch):
    current = Stream(log, "current")
    pool = SimpleNamespace(malloc=lambda size: SimpleNamespace(memset_async=lambda *a: log.append(("set", *a[:2]))))

    @contextmanager
    def using_allocator(allocator):
        fake.allocate = allocator
        yield
        fake.allocate = pool.malloc

    cuda = SimpleNamespace(
        Device=lambda number: SimpleNamespace(use=lambda: log.append(f"use {number}")),
        Event=lambda: Event(log),
        MemoryPool=lambda: SimpleNamespace(malloc=lambda size: log.append(("own", size))),
        Stream=lambda non_blocking: Stream(log),
        get_current_stream=lambda: current,
        get_elapsed_time=lambda start, stop: 12.0,
        runtime=SimpleNamespace(
            deviceSynchronize=lambda: log.append("wait"),
            memcpyAsync=lambda *a: log.append(("copy", *a)),
            memcpyDeviceToDevice=3,
        ),
        using_allocator=using_allocator,
    )
    fake = SimpleNamespace(
        cuda=cuda, get_default_memory_pool=lambda: pool, allocate=pool.malloc, empty_like=np.empty_like
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    engine = SimpleNamespace(name="cuda", device=SimpleNamespace(number=1, upload=np.asarray))
    monkeypatch.setattr(harness, "get_engine", lambda name: engine)
    return fake


@pytest.fixture
def bench(cupy, log):
    made = open_device("cuda:1")
    assert log == ["use 1"]
    assert made.name == "cuda:1"
    log.clear()
    return made


def test_clock_runs_between_events_and_begins_when_the_device_is_busy(bench, log):
    seconds = bench.time_calls(lambda: log.append("call"), 3)
    assert seconds == pytest.approx(0.012)
    assert log == ["call", "record", "call", "call", "call", "record", "wait"]


def test_every_allocation_is_poisoned(bench, cupy, log):
    def call():
        cupy.allocate(64)
        cupy.allocate(0)
        return "result"

    assert bench.run_poisoned(call) == "result"
    assert log == [("set", 0xFF, 64)]


def test_graph_has_memory_of_its_own(bench, cupy, log):
    replay = bench.capture(lambda: cupy.allocate(8) or log.append("call") or "result")
    assert replay.result == "result"
    first, second = (number for number, entry in enumerate(log) if entry == "call")
    assert log[first - 1] == log[second - 1] == ("own", 8)
    assert first < log.index("begin capture") < second < log.index("end capture")
    replay.launch()
    assert log[-1] == "launch on current"


def test_failing_capture_is_ended(bench, log):
    calls = []

    def call():
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("not in a capture")

    with pytest.raises(RuntimeError, match="not in a capture"):
        bench.capture(call)
    assert log.count("begin capture") == log.count("end capture") == 1


def test_samples_are_drawn_by_the_host_where_the_device_cannot(bench):
    x = bench.draw((4, 4), "float16")
    assert x.dtype == np.float16
    assert np.abs(x).max() <= 0.5


def test_engine_of_the_host_has_no_device():
    with pytest.raises(ArgumentError, match="reference"):
        open_device("reference")

"""The streams of a CUDA conveyor wait for each other where they must, whatever order a GPU would choose.

A GPU is played here: each stream is a queue of work, and whoever waits lets the heads of the queues happen in a random
order that respects nothing but events. What is not guarded by an event goes wrong in some of the orders.
"""

import ctypes
import random
import sys
from collections import deque
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from subband.engines.host_memory import _PinnedMemory
from subband.engines.streaming import CudaConveyor


class RuntimeFailure(Exception):
    pass


class Gpu:
    def __init__(self, seed, can_capture=True):
        self.random = random.Random(seed)
        self.can_capture = can_capture
        self.streams = []
        self.current = []
        self.recording = None
        self.launches = {"graph": 0, "kernel": 0}

    def step(self):
        """Let one piece of work happen."""
        ready = [s for s in self.streams if s.queue and s.queue[0][0]()]
        assert ready, "everything waits for everything"
        self.random.choice(ready).queue.popleft()[1]()

    def push(self, stream, act, is_ready=lambda: True):
        stream.queue.append((is_ready, act))


def make_cupy(gpu):
    class Stream:
        def __init__(self, non_blocking=False):
            assert non_blocking
            self.queue = deque()
            gpu.streams.append(self)
            self.ptr = len(gpu.streams)

        def __enter__(self):
            gpu.current.append(self)

        def __exit__(self, *_):
            gpu.current.pop()

        def wait_event(self, event):
            goal = event.recorded
            gpu.push(self, lambda: None, lambda: event.reached >= goal)

        def synchronize(self):
            while self.queue:
                gpu.step()

        def begin_capture(self):
            gpu.recording = []

        def end_capture(self):
            recorded, gpu.recording = gpu.recording, None
            if not gpu.can_capture:
                raise RuntimeFailure
            return SimpleNamespace(launch=lambda stream: launch_graph(stream, recorded))

    def launch_graph(stream, recorded):
        gpu.launches["graph"] += 1
        for act in recorded:
            gpu.push(stream, act)

    class Event:
        def __init__(self, disable_timing=False):
            self.recorded = self.reached = 0

        def record(self, stream):
            self.recorded += 1
            goal = self.recorded

            def reach():
                self.reached = goal

            gpu.push(stream, reach)

        def synchronize(self):
            while self.reached < self.recorded:
                gpu.step()

        @property
        def done(self):
            if gpu.random.random() < 0.5 and any(s.queue for s in gpu.streams):
                gpu.step()
            return self.reached == self.recorded

    class Device:
        def __init__(self, number):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def synchronize(self):
            for stream in gpu.streams:
                stream.synchronize()

    def copy(goal, source, size, kind, pointer):
        gpu.push(gpu.streams[pointer - 1], lambda: ctypes.memmove(goal, source, size))

    @contextmanager
    def use_allocator(allocator):
        yield

    runtime = SimpleNamespace(
        memcpyAsync=copy, memcpyHostToDevice=1, memcpyDeviceToHost=2, CUDARuntimeError=RuntimeFailure
    )
    cuda = SimpleNamespace(
        Stream=Stream,
        Event=Event,
        Device=Device,
        MemoryPool=lambda: SimpleNamespace(malloc=None),
        using_allocator=use_allocator,
        alloc_pinned_memory=bytearray,
        get_elapsed_time=lambda start, stop: 1.0,
        runtime=runtime,
        driver=SimpleNamespace(CUDADriverError=RuntimeFailure),
    )
    pool = SimpleNamespace(free_all_blocks=lambda stream: None)
    return SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool)


def allocate(shape, dtype):
    memory = np.zeros(shape, dtype)
    return SimpleNamespace(memory=memory, data=SimpleNamespace(ptr=memory.ctypes.data))


@pytest.fixture(params=range(30))
def gpu(request, monkeypatch):
    gpu = Gpu(request.param, can_capture=request.param % 3 != 0)
    monkeypatch.setitem(sys.modules, "cupy", make_cupy(gpu))
    return gpu


SHAPE = (4, 6)


@pytest.fixture
def conveyor(gpu):
    scratch = np.zeros(SHAPE, np.uint8)  # shared by all frames, as is what lies between input and output

    def compute(pixels, result):
        def read():
            scratch[...] = pixels.memory

        def write():
            result.memory[...] = 255 - scratch

        for act in (read, write):
            if gpu.recording is None:
                gpu.launches["kernel"] += 1
                gpu.push(gpu.current[-1], act)
            else:
                gpu.recording.append(act)

    device = SimpleNamespace(number=0, allocate=allocate)
    memory = _PinnedMemory(device)
    return CudaConveyor(device, memory, compute, SHAPE, np.dtype(np.uint8), 4)


def test_frames_come_back_whole_and_in_order(gpu, conveyor):
    launches = gpu.launches["kernel"]
    waiting = deque()
    one = np.zeros(SHAPE, np.uint8)
    kept = []

    def receive():
        number, slot = waiting.popleft()
        kept.append((number, conveyor.receive(slot)))

    for number in range(40):
        if number % 3:
            frame = conveyor._memory.lend(SHAPE, np.dtype(np.uint8))
            frame[...] = number
        else:
            one[...] = number
            frame = one
        waiting.append((number, conveyor.send(frame)))
        one[...] = 99
        frame = None
        while len(waiting) > 3 or (waiting and conveyor.is_done(waiting[0][1])):
            receive()
        if number % 5 == 0:
            kept = kept[-1:]  # their memory may be lent again
        for place, result in kept:
            assert (result == 255 - place).all()
    while waiting:
        receive()
    for place, result in kept:
        assert (result == 255 - place).all()
    assert conveyor.is_captured == gpu.can_capture
    assert gpu.launches["graph"] == (40 if gpu.can_capture else 0)
    assert gpu.launches["kernel"] == launches + (0 if gpu.can_capture else 80)


def test_draining_takes_all_slots_back(gpu, conveyor):
    for _ in range(3):
        for number in range(4):
            conveyor.send(np.full(SHAPE, number, np.uint8))
        conveyor.drain()
    assert not any(stream.queue for stream in gpu.streams)
    result = conveyor.receive(conveyor.send(np.full(SHAPE, 7, np.uint8)))
    assert (result == 248).all()


def test_stages_are_measured_one_by_one(conveyor):
    stages = conveyor.measure_stages(turns=5)
    assert list(stages) == ["upload", "compute", "download", "both"]
    assert (conveyor.receive(conveyor.send(np.full(SHAPE, 7, np.uint8))) == 248).all()

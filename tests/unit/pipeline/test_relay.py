"""Three stages at once: in order, with few frames between them, and nothing left hanging when one of them fails."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from subband.errors import ArgumentError
from subband.media.base import Frame, Sink
from subband.media.faults import DamagedError
from subband.pipeline.relay import CancelledError, Progress, Report, relay_frames


class MemorySink(Sink):
    """Keeps what it gets, or only how it ended."""

    def __init__(self, fail_at=None, wait=0.0):
        self.path = Path("memory")
        self.frames, self.ended = [], ""
        self._fail_at, self._wait = fail_at, wait

    def _write(self, frame):
        time.sleep(self._wait)
        if self.count == self._fail_at:
            raise OSError(28, "No space left on device")
        self.frames.append(frame)

    def _finish(self):
        self.ended = "finished"

    def _abort(self):
        self.ended = "aborted"


def make_frames(count, seen=None, fail_at=None):
    for number in range(count):
        if number == fail_at:
            raise DamagedError("the film is damaged", number)
        if seen is not None:
            seen.append(number)
        yield Frame(np.full((4, 6), number % 256, np.uint8), number, number / 25, np.full((4, 6), 9, np.uint8))


def add_one(frames):
    return (frame + np.uint8(1) for frame in frames)


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("subband ")] == []


def test_frames_arrive_in_order_with_all_that_belongs_to_them():
    sink = MemorySink()
    seen = []
    report = relay_frames(make_frames(40), add_one, sink, count=40, on_progress=seen.append)
    assert sink.ended == "finished"
    assert [int(frame.pixels[0, 0]) for frame in sink.frames] == list(range(1, 41))
    assert [frame.number for frame in sink.frames] == list(range(40))
    assert sink.frames[25].time == 1.0
    assert (sink.frames[3].alpha == 9).all()
    assert report.frames == 40
    assert [progress.frames for progress in seen] == list(range(1, 41))
    assert seen[-1].count == 40


def test_floats_are_rounded_to_the_dtype_of_the_frame():
    sink = MemorySink()
    relay_frames(make_frames(1), lambda frames: (frame + 300.2 for frame in frames), sink)
    assert sink.frames[0].pixels.dtype == np.uint8
    assert (sink.frames[0].pixels == 255).all()


def test_another_size_drops_what_is_transparent():
    sink = MemorySink()
    relay_frames(make_frames(1), lambda frames: (frame[:2] for frame in frames), sink)
    assert sink.frames[0].alpha is None


def test_a_slow_sink_holds_the_source_back():
    seen, ahead = [], []
    sink = MemorySink(wait=0.002)
    relay_frames(make_frames(60, seen), add_one, sink, on_progress=lambda p: ahead.append(len(seen) - sink.count))
    # two queues of three, and one frame in each hand
    assert max(ahead) <= 10


def test_stages_overlap():
    """Stages that wait for each other, a frame apart, can only end if all three run at once."""
    count, meeting = 10, threading.Barrier(3, timeout=300.0)

    def meet(number, ahead):
        if ahead <= number < count - 2 + ahead:
            meeting.wait()

    def decode():
        for frame in make_frames(count):
            meet(frame.number, ahead=2)
            yield frame

    def compute(frames):
        for number, frame in enumerate(frames):
            meet(number, ahead=1)
            yield frame

    class MeetingSink(MemorySink):
        def _write(self, frame):
            meet(frame.number, ahead=0)
            super()._write(frame)

    report = relay_frames(decode(), compute, MeetingSink())
    assert report.frames == count
    assert min(report.decode, report.compute, report.encode) > 0


def test_damage_comes_after_the_frames_before_it():
    sink = MemorySink()
    with pytest.raises(DamagedError, match="damaged"):
        relay_frames(make_frames(20, fail_at=7), add_one, sink)
    assert sink.ended == "aborted"
    assert sink.count <= 7


def test_error_of_the_work_aborts():
    def fail(frames):
        for number, frame in enumerate(frames):
            if number == 3:
                raise ArgumentError("no more")
            yield frame

    sink = MemorySink()
    with pytest.raises(ArgumentError, match="no more"):
        relay_frames(make_frames(10_000), fail, sink)
    assert sink.ended == "aborted"


def test_full_disk_stops_a_source_without_end():
    seen = []
    sink = MemorySink(fail_at=5)
    with pytest.raises(OSError, match="No space left"):
        relay_frames(make_frames(10**9, seen), add_one, sink)
    assert sink.ended == "aborted"
    assert len(seen) < 30


def test_full_disk_at_the_last_frame():
    sink = MemorySink(fail_at=4)
    with pytest.raises(OSError, match="No space left"):
        relay_frames(make_frames(5), add_one, sink)
    assert sink.ended == "aborted"


def test_nothing_to_write_is_an_error():
    sink = MemorySink()
    with pytest.raises(ArgumentError, match="no frame"):
        relay_frames(iter(()), add_one, sink)
    assert sink.ended == "aborted"


def test_cancelled_from_another_thread():
    cancelled = threading.Event()
    sink = MemorySink(wait=0.005)
    timer = threading.Timer(0.1, cancelled.set)
    timer.start()
    with pytest.raises(CancelledError):
        relay_frames(make_frames(10**9), add_one, sink, cancelled=cancelled)
    timer.join()
    assert sink.ended == "aborted"
    assert 0 < sink.count < 100


def test_cancelled_while_the_source_keeps_silent():
    cancelled, released = threading.Event(), threading.Event()

    def silent():
        yield from make_frames(1)
        released.wait(10)

    sink = MemorySink()
    timer = threading.Timer(0.1, lambda: (cancelled.set(), released.set()))
    timer.start()
    with pytest.raises(CancelledError):
        relay_frames(silent(), add_one, sink, cancelled=cancelled)
    timer.join()
    assert sink.ended == "aborted"


def test_interrupt_aborts():
    sink = MemorySink()

    def interrupt(progress):
        if progress.frames == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relay_frames(make_frames(10_000), add_one, sink, on_progress=interrupt)
    assert sink.ended == "aborted"


def test_progress_and_report_of_nothing():
    assert Progress(0, 10, 0.0).rate == 0
    assert Progress(0, 10, 0.0).seconds_left is None
    assert Progress(5, None, 1.0).seconds_left is None
    assert Progress(12, 10, 1.0).seconds_left == 0
    assert sum(Report(0, 0.0, 0.0, 0.0, 0.0).shares.values()) == 0

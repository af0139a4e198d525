"""Packets leave at their time, in small bursts; the clock is ours, so that no second is measured."""

import errno
from dataclasses import replace
from fractions import Fraction
from threading import Event, Semaphore

import numpy as np
import pytest

from subband.media import Frame, SourceInfo, link, pacing
from subband.media.faults import OutputError
from subband.media.link import LinkSink
from subband.media.pacing import Pacer, Share


class Clock:
    """A time that goes on when somebody waits for it."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds
        return False

    def is_set(self):
        return False


class Target:
    """A socket that notes what is sent, and when; it fails if it is told so."""

    def __init__(self, clock, errors=()):
        self.clock, self.errors, self.sent = clock, list(errors), []

    def sendto(self, packet, position):
        if self.errors and (error := self.errors.pop(0)):
            raise OSError(error, "no")
        self.sent.append((self.clock(), packet, position))

    def close(self):
        pass


def send(monkeypatch, shares, errors=(), late=0.0):
    """Return what is sent, and when since the beginning."""
    clock = Clock()
    monkeypatch.setattr(pacing, "monotonic", clock)
    monkeypatch.setattr(pacing, "sleep", clock.wait)
    target = Target(clock, errors)
    # all is there before the thread begins
    is_ready = Event()
    own = Pacer._send_all

    def send_all(self):
        is_ready.wait()
        self._stop = clock
        clock.now += late
        own(self)

    monkeypatch.setattr(Pacer, "_send_all", send_all)
    pacer = Pacer(target, ("host", 5))
    for share in shares:
        pacer.put(share)
    is_ready.set()
    pacer.finish()
    return [(round(when - 100.0, 6), packet) for when, packet, _ in target.sent]


def test_packets_leave_in_bursts_at_their_pace(monkeypatch):
    packets = [bytes([number]) * 100 for number in range(40)]
    sent = send(monkeypatch, [Share(packets, 100.5, 1e-5)])
    assert [packet for _, packet in sent] == packets
    # bursts of 16 packets of 100 bytes, 10 microseconds each
    assert [when for when, _ in sent] == [0.5] * 16 + [0.516] * 16 + [0.532] * 8


def test_the_next_packets_wait_for_those_before_them(monkeypatch):
    packets = [bytes(100)] * 16
    sent = send(monkeypatch, [Share(packets, 100.5, 1e-4), Share(packets, 100.5, 1e-4), Share(packets, 102.0, 1e-4)])
    assert [when for when, _ in sent] == [0.5] * 16 + [0.66] * 16 + [2.0] * 16


def test_one_who_is_late_catches_up_a_little(monkeypatch):
    packets = [bytes(100)] * 64
    sent = send(monkeypatch, [Share(packets, 100.0, 1e-6)], late=7.0)
    times = sorted({when for when, _ in sent})
    # not all at once, however late: a millisecond of the pace, of which a burst has 1.6
    assert times == [7.0, 7.0006, 7.0022, 7.0038]


def test_what_is_refused_by_the_system_is_sent_again_or_left_out(monkeypatch):
    packets = [bytes([number]) for number in range(4)]
    errors = [None, errno.ENOBUFS, None, errno.ECONNREFUSED]
    sent = send(monkeypatch, [Share(packets)], errors)
    assert [packet for _, packet in sent] == [packets[0], packets[1], packets[3]]


def test_failures_are_told(monkeypatch):
    with pytest.raises(OSError, match="no"):
        send(monkeypatch, [Share([b"a", b"b"])], [errno.EPERM])


INFO = SourceInfo("camera", (16, 32, 3), np.dtype("uint8"), colours="ycbcr", rate=Fraction(25), chroma_steps=(2, 2))


def schedule(monkeypatch, info, times, waits=()):
    """Return when frames are due that come at these times."""
    clock = Clock()
    monkeypatch.setattr(link, "monotonic", clock)
    sink = LinkSink("rtp://127.0.0.1:9", info)
    found = []
    for number, when in enumerate(times):
        clock.now = 100.0 + when
        found.append(round(sink._schedule(has_waited=number in waits) - 100.0, 6))
    sink.abort()
    return found


def test_frames_of_a_file_are_due_at_its_rate(monkeypatch):
    pytest.importorskip("av")
    times = [0.0, 0.01, 0.02, 0.2, 0.21]
    assert schedule(monkeypatch, replace(INFO, kind="film"), times) == [0.0, 0.04, 0.08, 0.12, 0.16]
    # one who is late by more than a second does not catch up
    assert schedule(monkeypatch, replace(INFO, kind="film"), [0.0, 3.0, 3.01]) == [0.0, 3.0, 3.04]


def test_frames_of_a_camera_are_due_when_they_come(monkeypatch):
    pytest.importorskip("av")
    # the first one was late, and the clock is fast
    times = [0.0, 0.01, 0.049, 0.088]
    assert schedule(monkeypatch, INFO, times) == times
    # one that comes faster than it is sent is no camera
    assert schedule(monkeypatch, INFO, [0.0, 0.01, 0.02, 0.03], waits=(2, 3)) == [0.0, 0.01, 0.05, 0.09]


def test_a_sink_whose_packets_cannot_be_sent_says_so(monkeypatch):
    pytest.importorskip("av")
    sink = LinkSink("rtp://127.0.0.1:9", INFO)
    sink._pacer.error = OSError(errno.EPERM, "not allowed")
    sink._pacer._queue.put(None)
    sink._pacer._thread.join()
    sink._pacer._room = Semaphore(0)
    with pytest.raises(OutputError, match="not allowed"):
        sink.write(Frame(np.zeros((16, 32, 3), np.uint8)))
    sink.abort()


@pytest.mark.parametrize("pace", [0.5, 1000, float("nan")])
def test_paces_that_are_none_are_refused(pace):
    with pytest.raises(ValueError, match="pace="):
        LinkSink("rtp://127.0.0.1:9", INFO, pace=pace)

"""Sending packets at their time, from a thread of its own, neither early nor all at once."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from time import monotonic, sleep

__all__ = ["Pacer", "Share"]

# Packets that are sent at once, and seconds by which they may be behind their times and still catch up: a thread that
# wakes a little late must not slow down all that follows.
_BURST, _CATCH_UP = 16, 0.001

# Frames that are coded and sent at the same time.
_BETWEEN = 3

# Seconds between two looks at whether all is over.
_PATIENCE = 0.1


@dataclass(frozen=True)
class Share:
    """Packets that are ready.

    Attributes
    ----------
    packets : list of bytes
        All of them.
    due : float
        When the first of them may be sent, by `time.monotonic`.
    pace : float
        Seconds that lie between two bytes.
    ends_frame : bool
        Whether they are the last ones of a frame.
    """

    packets: list[bytes]
    due: float = 0.0
    pace: float = 0.0
    ends_frame: bool = False


class Pacer:
    """Sends packets in small bursts.

    Parameters
    ----------
    target : socket
        For datagrams; closed when all is over.
    position : tuple
        Where they are sent to.

    Attributes
    ----------
    error : OSError or None
        Why nothing is sent any more.
    """

    def __init__(self, target: socket.socket, position: tuple[str, int]) -> None:
        self._socket, self._position = target, position
        self.error: OSError | None = None
        self._queue: SimpleQueue[Share | None] = SimpleQueue()
        self._room, self._stop = Semaphore(_BETWEEN), Event()
        self._thread = Thread(target=self._send_all, name="subband link", daemon=True)
        self._thread.start()

    def begin_frame(self) -> bool:
        """Wait until there is room for another frame, and tell whether that took a while.

        Raises
        ------
        OSError
            If nothing can be sent any more.
        """
        if self._room.acquire(blocking=False):
            return False
        while self._thread.is_alive():
            if self._room.acquire(timeout=_PATIENCE):
                return True
        raise self.error or OSError("sending was ended")

    def put(self, share: Share) -> None:
        """Have packets sent behind those before."""
        self._queue.put(share)

    def finish(self) -> None:
        """Wait until all is sent.

        Raises
        ------
        OSError
            If it cannot be.
        """
        self._queue.put(None)
        self._thread.join()
        self._socket.close()
        if self.error is not None:
            raise self.error

    def abort(self) -> None:
        """Send nothing more."""
        self._stop.set()
        self._queue.put(None)
        self._thread.join(1.0)
        self._socket.close()

    def _send_all(self) -> None:
        free = 0.0
        while not self._stop.is_set():
            share = self._queue.get()
            if share is None:
                return
            for first in range(0, len(share.packets), _BURST):
                burst = share.packets[first : first + _BURST]
                free = max(free, share.due, monotonic() - _CATCH_UP)
                wait = free - monotonic()
                if wait > 0 and self._stop.wait(wait):
                    return
                for packet in burst:
                    if not self._send(packet):
                        return
                free += share.pace * sum(map(len, burst))
            if share.ends_frame:
                self._room.release()

    def _send(self, packet: bytes) -> bool:
        while not self._stop.is_set():
            try:
                self._socket.sendto(packet, self._position)
            except OSError as error:
                # nobody listens yet, or the system has no room: the receiver will tell what it lacks
                if error.errno == errno.ENOBUFS:
                    sleep(0.001)
                    continue
                if error.errno not in (errno.ECONNREFUSED, errno.EAGAIN):
                    self.error = error
                    return False
            return True
        return False

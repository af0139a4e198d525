"""The live link: frames sent as VC-2 over RTP, and received, as a sink and a source of frames."""

from __future__ import annotations

import contextlib
import selectors
import socket
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from threading import Condition, Event, Thread
from time import monotonic
from typing import Literal
from urllib.parse import urlsplit

from subband.codecs.vc2 import DecodedFrame, Decoder, Encoder, Settings
from subband.codecs.vc2.rtp import CLOCK, Depacketiser, LinkCount, Packetiser, describe_session
from subband.codecs.vc2.stream import END, HEADER
from subband.errors import ArgumentError, CodecError
from subband.media.base import Frame, Sink, Source, SourceInfo
from subband.media.faults import DamageWarning, OutputError
from subband.media.limits import choose_most_pixels
from subband.media.pacing import Pacer, Share
from subband.media.vc2 import FrameMaker, PlaneMaker, choose_settings

__all__ = ["LinkSink", "LinkSource", "is_link", "split_address"]

# Where a receiver listens unless it is told, and the port if none is named.
_LOOPBACK, _PORT = "127.0.0.1", 5004

# Bytes of packets that wait for the decoder, of those that the system keeps, and the largest packet there is.
_MOST_WAITING, _BUFFER, _LARGEST = 1 << 26, 1 << 23, 1 << 16

# Bytes of slices that are handed on to be sent while the next ones are coded.
_STRIP = 1 << 16

# How many times as fast as the video's own rate the packets of an image follow each other, and seconds by which one who
# is late, such as a camera that was held up, does not catch up any more.
_PACE, _LATEST = 2.0, 1.0

# Packets that are handed on at a time, from the system and to the decoder.
_TOGETHER = 64

# Seconds between two looks at whether all is over.
_PATIENCE = 0.1


def is_link(name: str) -> bool:
    """Tell whether a name is the address of a link.

    Examples
    --------
    >>> is_link("rtp://:5004"), is_link("rtsp://camera/1")
    (True, False)
    """
    return name.startswith("rtp://")


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of an address; the host is this machine's own, the loopback, if none is named.

    Examples
    --------
    >>> split_address("rtp://studio.local:6000"), split_address("rtp://:5006")
    (('studio.local', 6000), ('127.0.0.1', 5006))
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or _LOOPBACK, parts.port or _PORT
    except ValueError:
        parts, host, port = None, "", 0
    if parts is None or parts.scheme != "rtp" or parts.path not in ("", "/"):
        raise ArgumentError(f"{address!r} is no address of a link; write it as rtp://host:port")
    return host, port


def _open_socket(host: str, port: int) -> tuple[socket.socket, tuple[str, int]]:
    """Return a socket for datagrams to or from an address."""
    try:
        family, kind, protocol, _, position = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise ArgumentError(f"there is no host {host!r}: {error.strerror or error}") from error
    made = socket.socket(family, kind, protocol)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        with contextlib.suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    return made, (str(position[0]), int(position[1]))


class LinkSink(Sink):
    """Sends frames as they come, each at its time.

    Parameters
    ----------
    address : str
        ``"rtp://host:port"``.
    info : SourceInfo
        Of the frames, which follow each other at its rate.
    quality : float, optional
        As in `subband.media.vc2.Vc2Sink`; without `settings`.
    settings : Settings, optional
        How to encode; a `Settings.rate` keeps what is sent below it.
    size : int
        Bytes of a packet.
    pace : float
        How many times as fast as the video's rate the packets of an image follow each other: 1 spreads them over all
        the time until the next image, and 2, the default, over half of it, so that the last one leaves earlier.

    Attributes
    ----------
    session : str
        The SDP by which others receive the stream.

    Raises
    ------
    ArgumentError
        If the address or the settings cannot be.
    """

    def __init__(
        self,
        address: str,
        info: SourceInfo,
        *,
        quality: float | None = None,
        settings: Settings | None = None,
        size: int = 1400,
        pace: float = _PACE,
    ) -> None:
        if not 1 <= pace <= 100:
            raise ArgumentError(f"pace={pace} is not from 1 to 100 times the rate of the video")
        self.path, self.info = Path(address), info
        host, port = split_address(address)
        self._planes = PlaneMaker(info)
        video = self._planes.video
        self._encoder = Encoder(video, settings or choose_settings(quality, max(video.bits)))
        opened, position = _open_socket(host, port)
        self.session = describe_session(position[0], port, self._encoder.header)
        self._packets, self._pacer = Packetiser(SystemRandom().getrandbits(32), size), Pacer(opened, position)
        header = self._encoder.header
        self._header = HEADER, header.write()
        self._period = float(1 / video.rate)
        self._spread = self._period / pace / (2 if header.is_fields else 1)
        # when the frame before was due
        self._due = float("-inf")

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        try:
            has_waited = self._pacer.begin_frame()
        except OSError as error:
            raise self._explain(error) from error
        due, ticks = self._schedule(has_waited=has_waited), self._count_ticks()
        packets = self._packets.make([self._header], ticks)
        for image in self._encoder.code_images(self._planes.make(frame), _STRIP):
            packets += self._packets.cut(image, ticks)
            self._pacer.put(Share(packets, due, self._spread / image.size))
            packets = []
        self._pacer.put(Share([], ends_frame=True))

    def _schedule(self, *, has_waited: bool) -> float:
        """Return when a frame is due that has come now: when its time has come, after those before.

        One that is late is due at once. So is one of a camera, which has no frames before their time, unless it comes
        faster than it can be sent: its first frame was the late one, or its clock is faster than it says.
        """
        now = monotonic()
        self._due += self._period
        if now - self._due > _LATEST or (self.info.kind == "camera" and not has_waited):
            self._due = now
        return self._due

    def _count_ticks(self) -> int:
        return int(self.count / self._planes.video.rate * CLOCK)

    def _explain(self, error: OSError) -> OutputError:
        return OutputError(f"{str(self.path)!r} cannot be sent to: {error.strerror or error}")

    def _finish(self) -> None:
        self._pacer.put(Share(self._packets.make([(END, b"")], self._count_ticks()), self._due + self._period))
        try:
            self._pacer.finish()
        except OSError as error:
            raise self._explain(error) from error

    def _abort(self) -> None:
        self._pacer.abort()


class LinkSource(Source):
    """Receives frames; those of which something was lost are completed with what was there before.

    Parameters
    ----------
    address : str
        ``"rtp://:5004"`` for this machine only; ``"rtp://0.0.0.0:5004"`` to listen to the whole network.
    colours, quick, most_pixels
        As in `subband.media.FilmSource`.
    timeout : float, optional
        Seconds without a packet after which the source ends, counted from the first one on; without it, one waits for
        the sender to come back.
    patience : float
        Seconds that a packet is waited for after later ones have come.
    stop : Event, optional
        Ends the source when it is set.

    Attributes
    ----------
    count : LinkCount
        What was seen so far.
    missing : int
        Slices that were lost so far.

    Raises
    ------
    ArgumentError
        If the address cannot be, or it was ended before a frame came.
    """

    def __init__(
        self,
        address: str,
        *,
        colours: Literal["rgb", "ycbcr"] = "rgb",
        quick: bool = False,
        most_pixels: int | None = None,
        timeout: float | None = None,
        patience: float = 0.05,
        stop: Event | None = None,
    ) -> None:
        host, port = split_address(address)
        self._address, self._timeout, self._stop = address, timeout, stop or Event()
        self._depacketiser = Depacketiser(patience)
        self._decoder = Decoder(choose_most_pixels(most_pixels), tolerant=True)
        self.missing = 0
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._size, self._has_come = 0, Condition()
        self._socket, position = _open_socket(host, port)
        try:
            self._socket.bind(position)
        except OSError as error:
            self._socket.close()
            raise ArgumentError(f"{address!r} cannot be listened to: {error.strerror}") from error
        self._socket.setblocking(False)
        self._is_closed = Event()
        self._thread = Thread(target=self._listen, name="subband link", daemon=True)
        self._thread.start()
        try:
            self._frames = self._decode()
            self._first = next(self._frames, None)
            if self._first is None:
                raise ArgumentError(f"no frame came to {address!r}; start a sender, and wait for it")
            self._maker = FrameMaker(self._first.video, colours, quick=quick)
            self.info = self._maker.describe(self._maker.make(self._first, 0).pixels)
        except BaseException:
            self.close()
            raise

    @property
    def count(self) -> LinkCount:
        """What was seen so far."""
        return self._depacketiser.count

    def _listen(self) -> None:
        """Take packets from the system, which keeps few of them."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while not self._is_closed.is_set():
                taken: list[tuple[float, bytes]] = []
                # a packet may be gone before it is looked at, and an answer that nobody listened is no packet
                with contextlib.suppress(OSError):
                    selector.select(_PATIENCE)
                    while len(taken) < _TOGETHER and not self._is_closed.is_set():
                        taken.append((monotonic(), self._socket.recv(_LARGEST)))
                if taken:
                    with self._has_come:
                        if self._size < _MOST_WAITING:
                            self._waiting += taken
                            self._size += sum(len(packet) for _, packet in taken)
                            self._has_come.notify()
                        else:
                            self.count.overrun += len(taken)

    def _receive(self) -> Iterator[tuple[float, bytes]]:
        """Walk through packets until it is enough, with an empty one whenever none has come for a while."""
        since: float | None = None
        while not self._stop.is_set():
            with self._has_come:
                if not self._waiting:
                    self._has_come.wait(_PATIENCE)
                taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]
                self._size -= sum(len(packet) for _, packet in taken)
            if taken:
                since = monotonic()
            else:
                yield monotonic(), b""
                if self._timeout is not None and since is not None and monotonic() - since > self._timeout:
                    return
            for thing in taken:
                yield thing
                if self._stop.is_set():
                    return

    def _decode(self) -> Iterator[DecodedFrame]:
        for now, packet in self._receive():
            units = self._depacketiser.feed(packet, now) if packet else self._depacketiser.give_up(now)
            for unit in units:
                # whatever is in a packet ends here
                with contextlib.suppress(CodecError):
                    yield from self._decoder.feed(unit)

    def __iter__(self) -> Iterator[Frame]:
        decoded, self._first = self._first, None
        number = 0
        while decoded is not None:
            if decoded.video != self._maker.video:
                message = f"the sender to {self._address!r} changed its format after {number} frames; receive it anew"
                warnings.warn(message, DamageWarning, stacklevel=2)
                return
            self.missing += decoded.missing
            yield self._maker.make(decoded, number)
            number += 1
            decoded = next(self._frames, None)

    def close(self) -> None:
        """Stop listening."""
        self._is_closed.set()
        self._thread.join(1.0)
        self._socket.close()

"""VC-2 in RTP packets (RFC 8450): images cut where slices begin, and put together again.

A packet holds a sequence header, the end of a sequence, the transform parameters of an image, or some of its slices
with their position. Whatever is lost, each packet that arrives is of use. Packets that come late are waited for, for a
while; what is still missing then is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from struct import Struct

from subband.codecs.vc2.assembly import Assembly
from subband.codecs.vc2.coded import CodedImage
from subband.codecs.vc2.parameters import TransformParameters
from subband.codecs.vc2.sequence import HIGH_QUALITY, SequenceHeader
from subband.codecs.vc2.stream import END, HEADER, HQ_FRAGMENT, HQ_IMAGE, Unit
from subband.errors import ArgumentError, CodecError

__all__ = ["CLOCK", "PAYLOAD_TYPE", "Depacketiser", "LinkCount", "Packetiser", "describe_session"]

#: Ticks of RTP's clock in a second, and the number of the payload's format, one of those that are free.
CLOCK, PAYLOAD_TYPE = 90_000, 96

# Version and flags, marker and type, sequence number, time and source.
_RTP = Struct(">BBHII")
# Extended sequence number, flags, parse code.
_HEAD = Struct(">HBB")
# Image number, prefix bytes, size scaler, length, number of slices; then where the first one is.
_FRAGMENT, _POSITION = Struct(">IHHHH"), Struct(">HH")
# All of these, in front of slices.
_ALL = Struct("".join([_RTP.format, *(part.format[1:] for part in (_HEAD, _FRAGMENT, _POSITION))]))

_VERSION = 0x80
_INTERLACED, _SECOND_FIELD = 0x02, 0x01
_LARGEST = 65_000

# Packets that are kept while one before them is missing, at most 64 MiB, and how far numbers may leap before all begins
# anew.
_WAITING, _LEAP = 1024, 4096
# Bytes of an image at most.
_MOST_BYTES = 1 << 26


class Packetiser:
    """Makes packets of data units.

    Parameters
    ----------
    source : int
        That tells this sender from others, 32 bits.
    size : int
        Bytes of a packet, which holds as many slices as fit; a longer slice has a packet of its own.

    Raises
    ------
    ArgumentError
        If packets of that size hold nothing, or a slice is too long for any packet.
    """

    def __init__(self, source: int, size: int = 1400) -> None:
        if not 100 <= size <= _LARGEST:
            raise ArgumentError(f"size={size} is no size of a packet; use 100 to {_LARGEST} bytes")
        self._source, self._size = source & 0xFFFFFFFF, size
        self._number = 0
        self._header: SequenceHeader | None = None
        # of the image that is being cut: itself, where its slices begin, and the first one that is in no packet yet
        self._image: CodedImage | None = None
        self._edges: list[int] = []
        self._first = 0

    def make(self, units: Iterable[tuple[int, bytes]], time: int) -> list[bytes]:
        """Return the packets of some units, all of one time in ticks of `CLOCK`."""
        packets: list[bytes] = []
        for code, payload in units:
            if code == HEADER:
                self._header = SequenceHeader.read(payload)
            if code == HQ_IMAGE:
                assert self._header is not None
                packets += self.cut(CodedImage.read(payload, self._header.major), time)
            elif code in (HEADER, END):
                packets.append(self._wrap(code, 0, payload, time))
        return packets

    def _wrap(self, code: int, flags: int, body: bytes, time: int) -> bytes:
        number, self._number = self._number, (self._number + 1) & 0xFFFFFFFF
        head = _RTP.pack(_VERSION, PAYLOAD_TYPE, number & 0xFFFF, time & 0xFFFFFFFF, self._source)
        return b"".join((head, _HEAD.pack(number >> 16, flags, code), body))

    def cut(self, image: CodedImage, time: int) -> list[bytes]:
        """Return the packets that are full with the slices which are written by now, and are not in packets yet.

        The sequence header has to be made before; an image is cut to its end before the next one begins. Packets are
        the same however often it is asked for them.
        """
        assert self._header is not None
        parameters = image.parameters
        packets: list[bytes] = []
        flags = 0
        if self._header.is_fields:
            flags = _INTERLACED | (_SECOND_FIELD if image.number % 2 else 0)
        if image is not self._image:
            self._image, self._edges, self._first = image, image.starts.tolist(), 0
            head = _FRAGMENT.pack(image.number, parameters.prefix, parameters.scaler, len(image.head), 0)
            packets.append(self._wrap(HQ_FRAGMENT, flags, head + image.head, time))
        room, edges, data = self._size - _ALL.size, self._edges, image.data.data
        first, across, own, count = self._first, parameters.slices[1], self._number, parameters.slice_count
        while first < count:
            last = min(max(bisect_right(edges, edges[first] + room, first) - 1, first + 1), count)
            if last > image.done:
                break
            size = edges[last] - edges[first]
            if size > _LARGEST:
                raise ArgumentError(f"a slice of {size} bytes fits no packet; use a smaller slice_size")
            marker = 0x80 if last == count else 0
            row, column = divmod(first, across)
            head = _ALL.pack(
                _VERSION, PAYLOAD_TYPE | marker, own & 0xFFFF, time & 0xFFFFFFFF, self._source, own >> 16, flags,
                HQ_FRAGMENT, image.number, parameters.prefix, parameters.scaler, size, last - first, column, row,
            )  # fmt: skip
            packets.append(head + data[edges[first] : edges[last]])
            own = (own + 1) & 0xFFFFFFFF
            first = last
        self._number, self._first = own, first
        return packets


@dataclass
class LinkCount:
    """What a receiver has seen.

    Attributes
    ----------
    packets, lost, late, refused : int
        That arrived; that never did; that came after they had been given up; that are no packets of VC-2.
    overrun : int
        That arrived while too many waited to be decoded, since frames were not taken fast enough; lost ones, too.
    images, incomplete : int
        That came out, and those of them that lacked something.
    restarts : int
        How often the sender began anew.
    jitter : float
        How much the times between packets vary, in seconds (RFC 3550).
    """

    packets: int = 0
    lost: int = 0
    late: int = 0
    refused: int = 0
    overrun: int = 0
    images: int = 0
    incomplete: int = 0
    restarts: int = 0
    jitter: float = 0.0


class Depacketiser:
    """Makes data units of packets, in their order.

    Any bytes may be fed; what is no packet of VC-2 is counted and left out. Slices come out as fragments of some
    packets each, while others of the image are still to come; behind its last ones comes an `IMAGE_END`. An image whose
    parameters are lost has those of the image before.

    Parameters
    ----------
    patience : float
        Seconds that a packet is waited for after later ones have come.

    Attributes
    ----------
    count : LinkCount
        What was seen so far.
    """

    def __init__(self, patience: float = 0.05) -> None:
        self.count = LinkCount()
        self._patience = patience
        self._source: int | None = None
        self._next = 0
        self._waiting: dict[int, tuple[float, bool, memoryview]] = {}
        self._image: Assembly | None = None
        self._header: SequenceHeader | None = None
        self._parameters = b""
        self._transit: float | None = None

    def feed(self, packet: bytes, now: float = 0.0) -> list[Unit]:
        """Take a packet that arrived at a time in seconds, and return the units that are complete with it."""
        read = _read_packet(packet)
        if read is None:
            self.count.refused += 1
            return []
        number, source, time, is_last, payload = read
        self.count.packets += 1
        transit = now - time / CLOCK
        if self._transit is not None:
            self.count.jitter += (min(abs(transit - self._transit), 1.0) - self.count.jitter) / 16
        self._transit = transit
        distance = (number - self._next + 0x8000) % 0x10000 - 0x8000
        if source != self._source or abs(distance) > _LEAP:
            self.count.restarts += self._source is not None
            units = self._give_up_all()
            self._source, self._next = source, number
            return units + self._take(is_last, payload)
        if distance < 0:
            self.count.late += 1
            return []
        if distance == 0 and not self._waiting:
            return self._take(is_last, payload)
        self._waiting.setdefault(number, (now, is_last, payload))
        return self._take_waiting() + self.give_up(now)

    def give_up(self, now: float) -> list[Unit]:
        """Return the units behind packets that have not come by now, and will not."""
        units: list[Unit] = []
        # the packet that has waited longest is the first one
        while self._waiting and (
            now - next(iter(self._waiting.values()))[0] > self._patience or len(self._waiting) > _WAITING
        ):
            units += self._skip(min((each - self._next) % 0x10000 for each in self._waiting))
            units += self._take_waiting()
        return units

    def _skip(self, count: int) -> list[Unit]:
        self.count.lost += count
        self._next = (self._next + count) % 0x10000
        return [] if self._image is None or not count else self._image.tear()

    def _take_waiting(self) -> list[Unit]:
        units: list[Unit] = []
        while self._next in self._waiting:
            _, is_last, payload = self._waiting.pop(self._next)
            units += self._take(is_last, payload)
        return units

    def _give_up_all(self) -> list[Unit]:
        """Return what there is of the sender that has gone."""
        return self.give_up(float("inf")) + self._finish()

    def _take(self, is_last: bool, payload: memoryview) -> list[Unit]:
        """Take the payload whose turn it is."""
        self._next = (self._next + 1) % 0x10000
        code = payload[3]
        units: list[Unit] = []
        if code != HQ_FRAGMENT:
            units = self._finish()
            if code == HEADER:
                self._note_header(payload[_HEAD.size :])
            return [*units, Unit(code, payload[_HEAD.size :])] if code in (HEADER, END) else units
        if len(payload) < _HEAD.size + _FRAGMENT.size:
            return self._refuse()
        number, prefix, scaler, length, slices = _FRAGMENT.unpack_from(payload, _HEAD.size)
        begin = _HEAD.size + _FRAGMENT.size + (_POSITION.size if slices else 0)
        if len(payload) < begin + length:
            return self._refuse()
        column, row = _POSITION.unpack_from(payload, begin - _POSITION.size) if slices else (0, 0)
        part = payload[begin : begin + length]
        if not slices:
            units = self._finish()
            self._image, size = self._begin(number, bytes(part))
            # FFmpeg has the first slices begin in the same packet
            units += self._image.add(0, 0, 0, part[size:]) if len(part) > size else []
        else:
            if self._image is None or self._image.number != number:
                units = self._finish()
                self._image, _ = self._begin(number, self._parameters, (prefix, max(scaler, 1)))
                self._image.tear()
            units += self._image.add(slices, row, column, part)
        is_full = self._image.total > _MOST_BYTES
        if is_last or is_full:
            units += self._finish(is_whole=is_last and not is_full)
        return units

    def _refuse(self) -> list[Unit]:
        """Leave out a packet that cannot be read, which is one that is missing."""
        self.count.refused += 1
        return [] if self._image is None else self._image.tear()

    def _note_header(self, payload: memoryview) -> None:
        """Forget parameters that belong to another sequence."""
        with suppress(CodecError):
            header = SequenceHeader.read(payload)
            if header != self._header:
                self._header, self._parameters = header, b""

    def _begin(self, number: int, data: bytes, sizes: tuple[int, int] | None = None) -> tuple[Assembly, int]:
        """Return an image without slices, and how many bytes of `data` its parameters are.

        `sizes` are the prefix and the scaler that the packets tell of one that has lost its parameters.
        """
        with suppress(CodecError):
            if self._header is not None and data:
                parameters, size = TransformParameters.read(data, self._header.major, HIGH_QUALITY)
                head = data[:size]
                if sizes is None:
                    self._parameters = head
                elif sizes != (parameters.prefix, parameters.scaler):
                    parameters = replace(parameters, prefix=sizes[0], scaler=sizes[1])
                    head = parameters.write(self._header.major)
                return Assembly(number, parameters, head), size
        return Assembly(number, None, b""), len(data)

    def _finish(self, *, is_whole: bool = False) -> list[Unit]:
        """Return the units of what is left of the image."""
        image, self._image = self._image, None
        if image is None:
            return []
        units = image.finish(is_whole=is_whole)
        self.count.images += 1
        self.count.incomplete += image.is_torn
        return units


def _read_packet(packet: bytes) -> tuple[int, int, int, bool, memoryview] | None:
    """Return number, source, time, marker and payload of a packet; None if it is none of ours."""
    if len(packet) < _RTP.size + _HEAD.size:
        return None
    flags, kind, number, time, source = _RTP.unpack_from(packet)
    if flags >> 6 != 2 or kind & 0x7F < PAYLOAD_TYPE:
        return None
    begin, end = _RTP.size + 4 * (flags & 0x0F), len(packet)
    if flags & 0x10:  # an extension, whose length stands in it
        if begin + 4 > end:
            return None
        begin += 4 + 4 * int.from_bytes(packet[begin + 2 : begin + 4], "big")
    if flags & 0x20:  # padding, whose length is its last byte
        end -= packet[-1]
    if end - begin < _HEAD.size:
        return None
    return number, source, time, kind >= 0x80, memoryview(packet)[begin:end]


def describe_session(host: str, port: int, header: SequenceHeader) -> str:
    """Return the SDP by which others, such as FFmpeg, receive a stream.

    Examples
    --------
    >>> from subband.codecs.vc2 import VideoFormat
    >>> for line in describe_session("127.0.0.1", 5004, SequenceHeader(VideoFormat(64, 48))).splitlines():
    ...     print(line)
    v=0
    o=- 0 0 IN IP4 127.0.0.1
    s=subband
    c=IN IP4 127.0.0.1
    t=0 0
    m=video 5004 RTP/AVP 96
    a=rtpmap:96 VC2/90000
    a=fmtp:96 profile=HQ;version=2;level=0
    """
    family = "IP6" if ":" in host else "IP4"
    lines: Sequence[str] = (
        "v=0",
        f"o=- 0 0 IN {family} {host}",
        "s=subband",
        f"c=IN {family} {host}",
        "t=0 0",
        f"m=video {port} RTP/AVP {PAYLOAD_TYPE}",
        f"a=rtpmap:{PAYLOAD_TYPE} VC2/{CLOCK}",
        f"a=fmtp:{PAYLOAD_TYPE} profile=HQ;version={header.major};level={header.level}",
    )
    return "".join(f"{line}\r\n" for line in lines)

"""Decode damaged streams and packets of VC-2: ``python tests/codecs/fuzz_vc2.py 20000`` makes as many, each by number.

Every one has to end in frames of the size that its header tells or in a `CodecError`, within a second and bounded
memory. What does not is told with its number; ``fuzz_vc2.py 1 --first NUMBER`` repeats it.
"""

from __future__ import annotations

import sys
from functools import lru_cache

import fuzzing
import numpy as np

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat, decode
from subband.codecs.vc2.bits import BitWriter
from subband.codecs.vc2.rtp import Depacketiser, Packetiser
from subband.codecs.vc2.stream import UnitWriter
from subband.errors import CodecError

MOST_PIXELS = 1 << 20
MOST_SECONDS = 1.0
MOST_BYTES = 1 << 29

_SETTINGS = (
    Settings(),
    Settings(quantiser=20, depth=2, depth_ho=2, wavelet="legall53", wavelet_ho="haar1"),
    Settings(rate=3e6, wavelet="daub97", fragment=200),
    Settings(quantiser=8, wavelet="fidelity", depth=1, slice_size=(7, 9), prefix=2),
    Settings(rate=1e6, depth=3, slice_size=(64, 64), matrix=range(10)),
)


def draw(number: int) -> tuple[VideoFormat, list[np.ndarray]]:
    """Return one of a few formats, and a frame of it."""
    rng = np.random.default_rng(number)
    bits, sampling = [(8, "4:2:0"), (10, "4:2:2"), (16, "4:4:4"), (12, "4:2:2")][number % 4]
    columns, rows = (int(side) * 4 for side in rng.integers(4, 24, 2))
    video = VideoFormat(columns, rows, sampling, VideoFormat.make_signal(bits), is_interlaced=number % 3 == 2)
    kind = np.uint8 if bits == 8 else np.uint16
    return video, [
        np.clip(rng.normal(0.5, 0.1, shape) * (1 << bits), 0, (1 << bits) - 1).astype(kind)
        for shape in video.plane_shapes
    ]


def make_low_delay(number: int) -> bytes:
    """Return a stream of the low-delay profile whose slices hold anything."""
    rng = np.random.default_rng(number)
    head, picture = BitWriter(), BitWriter()
    for value in (1, 0, 0, 0, 1):
        head.number(value)
    for _ in range(8):
        head.flag(False)
    head.number(0)
    for value in (number % 7, 1 + number % 4, 5, 4, 700, 13):
        picture.number(value)
    picture.flag(False)
    payload = bytes(4) + picture.finish() + rng.bytes(1 + 20 * 700 // 13)
    return UnitWriter().write([(0x00, head.finish()), (0xC8, payload), (0x10, b"")])


@lru_cache(maxsize=64)
def make_stream(number: int) -> bytes:
    """Return one of a few whole streams."""
    if number % 6 == 5:
        return make_low_delay(number)
    video, planes = draw(number)
    encoder = Encoder(video, _SETTINGS[number % len(_SETTINGS)])
    return encoder.encode(planes) + encoder.encode(planes) + encoder.finish()


@lru_cache(maxsize=64)
def make_packets(number: int) -> tuple[bytes, ...]:
    """Return the packets of one of a few streams."""
    video, planes = draw(number)
    encoder, packets = Encoder(video, Settings(quantiser=12)), Packetiser(number, 300)
    return tuple(packet for time in range(2) for packet in packets.make(encoder.make_units(planes), 3600 * time))


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which some are changed, missing or new."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        reach = len(changed) if rng.random() < 0.5 else min(len(changed), 120)
        at, kind = int(rng.integers(max(reach, 1))), int(rng.integers(6))
        if kind == 0 and len(changed) > at:
            del changed[at:]
        elif kind == 1 and len(changed) > at:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 2 and len(changed) > at:
            changed[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF]))
        elif kind == 3:
            changed[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            del changed[at : at + int(rng.integers(1, 60))]
        else:
            changed[at:at] = rng.bytes(int(rng.integers(1, 60)))
    return bytes(changed)


def check(frame) -> None:
    """Refuse a frame that is not as its header tells."""
    assert tuple(plane.shape for plane in frame.planes) == frame.video.plane_shapes
    for plane, bits in zip(frame.planes, (frame.video.bits[0], *frame.video.bits[1:] * 2), strict=True):
        assert int(plane.max(initial=0)) < 1 << bits


def try_stream(data: bytes) -> str:
    """Decode a stream; return what became of it, and raise whatever must not happen."""
    try:
        for frame in decode(data, most_pixels=MOST_PIXELS):
            check(frame)
    except CodecError:
        return "error"
    return "frames"


def try_packets(packets, rng: np.random.Generator) -> str:
    """Receive packets of which some are damaged, missing, twice there or in another order."""
    depacketiser, decoder, found = Depacketiser(), Decoder(MOST_PIXELS, tolerant=True), 0
    changed = [damage(packet, rng) if rng.random() < 0.2 else packet for packet in packets if rng.random() < 0.9]
    if len(changed) > 2 and rng.random() < 0.5:
        at = int(rng.integers(len(changed) - 1))
        changed[at], changed[at + 1] = changed[at + 1], changed[at]
    for index, packet in enumerate(changed):
        for unit in depacketiser.feed(packet, index / 100):
            try:
                frames = decoder.feed(unit)
            except CodecError:
                continue
            for frame in frames:
                check(frame)
                found += 1
    try:
        for frame in decoder.flush():
            check(frame)
    except CodecError:
        pass
    return "received" if found else "nothing"


def attempt(number: int) -> str:
    """Try a stream or packets, always the same for a number."""
    rng = np.random.default_rng([78, number])
    if number % 2:
        return try_packets(make_packets(number % 12), rng)
    return try_stream(damage(make_stream(int(rng.integers(30))), rng))


def run(count: int, first: int = 0, seconds: float | None = None) -> fuzzing.Outcome:
    """Try streams and packets in turn; see `fuzzing.run`."""
    for number in range(30):  # what is compiled on the way counts for none
        try_stream(make_stream(number))
    return fuzzing.run(attempt, count, first, seconds, most_seconds=MOST_SECONDS, most_bytes=MOST_BYTES)


if __name__ == "__main__":
    sys.exit(fuzzing.main(run, __doc__))

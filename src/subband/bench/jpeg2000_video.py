"""Frames per second of HTJ2K on a device: video from the host to codestreams, and back to frames on the host.

Frames lie in memory that the device reads by itself, as those of a camera or a decoder do that was asked to put them
there; uploads and downloads count, and so do the packets that the host writes and reads. Every stream is decoded by the
host before its times count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter
from typing import TypeVar

import numpy as np

from subband.bench.jpeg2000 import make_image
from subband.bench.tables import Goal, Report, Sheet, as_record
from subband.codecs.jpeg2000 import Decoder, Encoder, decode
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.judging import WrongResultError
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = ["LEAST_RATE", "QUICK_SIZES", "SIZES", "STEPS", "VideoSpeed", "measure_video", "report_video"]

#: Rows and columns of frames, and of those of a short form.
SIZES = {"1080p": (1080, 1920), "4K": (2160, 3840)}
QUICK_SIZES = {"tiny": (270, 480)}

#: Steps of the quantiser in grey levels.
STEPS = (8.0, 4.0, 2.0)

#: Frames per second of 4K that are expected, both ways.
LEAST_RATE = 120.0

_T = TypeVar("_T")

# Different frames that take turns, and turns of which the fastest counts.
_SOURCES, _TURNS = 4, 3


@dataclass(frozen=True)
class VideoSpeed:
    """Frames of one size, coded with one step.

    Attributes
    ----------
    name : str
        Of the size.
    step : float
        Of the quantiser, in grey levels.
    rate : float
        Bits per pixel.
    psnr : float
        In dB.
    encoded, decoded : float
        Frames per second.
    differing : int
        Levels by which a decoded sample differs from what the host decodes, at most.
    """

    name: str
    step: float
    rate: float
    psnr: float
    encoded: float
    decoded: float
    differing: int


def measure_video(
    engine: str, sizes: dict[str, tuple[int, int]], steps: Sequence[float] = STEPS, frames: int = 60
) -> Iterator[VideoSpeed]:
    """Encode and decode frames of each size with each step.

    Raises
    ------
    WrongResultError
        If a frame is decoded to more than a level beside what the host makes of it.
    """
    for name, (height, width) in sizes.items():
        image = make_image(max(height, width))[:height, :width]
        for step in steps:
            encoder = Encoder(image.shape, engine=engine, step=step)
            decoder = Decoder(engine=engine)
            sources = [_fill(encoder.lend(), np.roll(image, 40 * number, axis=1)) for number in range(_SOURCES)]
            streams = list(encoder.encode_all(sources))
            differing = max(_compare(decoder, stream) for stream in streams[:2])
            if differing > 1:
                raise WrongResultError(f"{name} with a step of {step} is {differing} levels beside the host's frame")
            yield VideoSpeed(
                name,
                step,
                8 * len(streams[0]) / (height * width),
                measure_psnr(decoder.decode(streams[0]), sources[0], 255),
                max(_time(encoder.encode_all(_repeat(sources, frames)), frames) for _ in range(_TURNS)),
                max(_time(decoder.decode_all(_repeat(streams, frames)), frames) for _ in range(_TURNS)),
                differing,
            )


def _fill(memory: Array, frame: Array) -> Array:
    memory[...] = frame
    return memory


def _repeat(items: Sequence[_T], count: int) -> Iterable[_T]:
    return islice(cycle(items), count)


def _compare(decoder: Decoder, stream: bytes) -> int:
    ours, theirs = decoder.decode(stream), decode(stream).samples
    return int(np.abs(ours.astype(np.int16) - theirs).max())


def _time(results: Iterable[object], count: int) -> float:
    """Return how many results come in a second."""
    begin = perf_counter()
    for _ in results:
        pass
    return count / (perf_counter() - begin)


def report_video(found: Sequence[VideoSpeed], engine: str) -> Report:
    """Make the table of frames per second."""
    sheet = Sheet.from_records(
        f"HTJ2K on {engine}, frames per second",
        found,
        {
            "frames": "{.name}",
            "step": "{.step:g}",
            "bpp": "{.rate:.2f}",
            "PSNR": "{.psnr:.1f}",
            "encode": "{.encoded:.0f}",
            "decode": "{.decoded:.0f}",
        },
        "Three components of 8 bits, CDF 9/7, five levels, one tile, blocks of 64 × 64, cleanup passes alone. From "
        "frames in pinned memory of the host to codestreams and back, both directions of the bus and packets included, "
        "several frames in flight. Decoded samples are within a level of those of the CPU's decoder.",
    )
    goals = []
    large = [each for each in found if each.name == "4K"]
    for what in ("encoded", "decoded") if large else ():
        slowest = min(getattr(each, what) for each in large)
        goals.append(
            Goal(f"4K {what} at {LEAST_RATE:g} fps or more", f"{slowest:.0f} fps at least", slowest >= LEAST_RATE)
        )
    figures = {"video": [as_record(each) for each in found]}
    # devices are listed with their numbers
    device = engine if ":" in engine else f"{engine}:0"
    return Report([sheet], goals, figures, describe_machine(device))

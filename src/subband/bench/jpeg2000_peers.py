"""Speed of JPEG 2000 and HTJ2K beside other codecs, and of a window beside the whole of a large file.

OpenJPEG and OpenJPH are called through imagecodecs, and OpenJPEG through Pillow where tiles are written. OpenJPEG has
as many threads as we have; OpenJPH has none there. Every file is decoded by the other side before its times count.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from subband.bench.jpeg2000 import make_image
from subband.bench.libraries import load_library
from subband.bench.tables import Goal, Report, Sheet, as_record
from subband.codecs import jpeg2000
from subband.codecs.jpeg2000 import decode, encode
from subband.engines import get_threads
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort, take_turns
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = [
    "CASES",
    "QUICK_CASES",
    "Case",
    "Duel",
    "Window",
    "measure_duels",
    "measure_window",
    "report_peers",
]

#: Bits per pixel of lossy files, and levels by which two decoders of them may differ.
_RATE, _LOSSY = 2.0, 1

#: The part of the time and of the bytes of a large file that a window may take, at most.
MOST_OF_WHOLE = 0.02

_Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """An image that is coded: its side, how many components it has, and the side of its tiles if it has any."""

    size: int
    components: int = 1
    tile: int | None = None

    def __str__(self) -> str:
        """Return it as a row of the table names it."""
        kind = "" if self.components == 1 else " RGB"
        return f"{self.size}²{kind}" + ("" if self.tile is None else f" in {self.tile}² tiles")


#: What is measured, and a short form of it.
CASES = (Case(2048), Case(2048, 3), *map(Case, (32, 128, 256)), *(Case(1024, tile=tile) for tile in (16, 64, 128)))
QUICK_CASES = (Case(128), Case(256, tile=64))

#: Sides of images from which on block coders, and lossy files, are compared.
_LARGE = 2048


@dataclass(frozen=True)
class Duel:
    """The same task done by two codecs.

    Attributes
    ----------
    image : str
        What is coded.
    task, other : str
        What we do, and who or what it is compared with.
    ours, theirs : float
        Seconds.
    least : float or None
        How many times as fast we have to be, if anything is expected.
    """

    image: str
    task: str
    other: str
    ours: float
    theirs: float
    least: float | None

    @property
    def speed(self) -> float:
        """How many times as fast we are."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Window:
    """Reading a part of a large file in tiles.

    Attributes
    ----------
    size, side, tile : int
        Rows of the image, of the window and of a tile, and as many columns.
    seconds, whole : float
        For the window, and for the whole image.
    needed, length : int
        Bytes of the tiles that the window touches, and of the file.
    """

    size: int
    side: int
    tile: int
    seconds: float
    whole: float
    needed: int
    length: int


def measure_duels(cases: Iterable[Case], effort: Effort | None = None) -> Iterator[Duel]:
    """Encode and decode images in turns with other codecs.

    Parameters
    ----------
    cases : iterable of Case
        What is coded.
    effort : Effort, optional
        How long calls are repeated.

    Raises
    ------
    MissingExtraError
        If the others are not there to compare with.
    WrongResultError
        If two decoders do not agree about a file.
    """
    for case in cases:
        calls, pairs = (_prepare_large if case.size >= _LARGE else _prepare_small)(case)
        found = take_turns(calls, effort or Effort(seconds=2.0, fewest=7))
        for ours, theirs, least in pairs:
            yield Duel(str(case), ours, theirs, found[ours], found[theirs], least)


def _prepare_large(case: Case) -> tuple[dict[str, _Call], list[tuple[str, str, float | None]]]:
    """Return calls by what they do, and which are compared: ours, the other, and what is expected."""
    peer, image, threads = load_library("imagecodecs"), _make_image(case), get_threads()
    fast, plain, lossy = encode(image, ht=True, form="j2k"), encode(image, form="j2k"), encode(image, rate=_RATE)
    _check(fast, image, lambda data: peer.htj2k_decode(data, planar=False))
    _check(plain, image, peer.jpeg2k_decode)
    psnr = _check(lossy, image, peer.jpeg2k_decode, _LOSSY)
    options = {"codecformat": "j2k", "numthreads": threads}
    calls: dict[str, _Call] = {
        "encode HT": lambda: encode(image, ht=True, form="j2k"),
        "OpenJPH, encode": lambda: peer.htj2k_encode(image, reversible=True),
        "decode HT": lambda: decode(fast),
        "OpenJPH, decode": lambda: peer.htj2k_decode(fast, planar=False),
        "encode": lambda: encode(image, form="j2k"),
        "OpenJPEG, encode": lambda: peer.jpeg2k_encode(image, level=0, reversible=True, **options),
        "decode": lambda: decode(plain),
        "OpenJPEG, decode": lambda: peer.jpeg2k_decode(plain, numthreads=threads),
        "encode lossy": lambda: encode(image, rate=_RATE),
        "OpenJPEG, encode lossy": lambda: peer.jpeg2k_encode(image, level=psnr, reversible=False, **options),
        "decode lossy": lambda: decode(lossy),
        "OpenJPEG, decode lossy": lambda: peer.jpeg2k_decode(lossy, numthreads=threads),
    }
    return calls, [
        ("encode HT", "OpenJPH, encode", 1.0),
        ("decode HT", "OpenJPH, decode", 1.0),
        ("encode HT", "encode", 6.0),
        ("decode HT", "decode", 6.0),
        ("encode", "OpenJPEG, encode", 2.0),
        ("decode", "OpenJPEG, decode", 1.8),
        ("encode lossy", "OpenJPEG, encode lossy", 1.0),
        ("decode lossy", "OpenJPEG, decode lossy", 1.0),
    ]


def _prepare_small(case: Case) -> tuple[dict[str, _Call], list[tuple[str, str, float | None]]]:
    """Return the same for small images and small tiles, coded without loss."""
    peer, image, threads = load_library("imagecodecs"), _make_image(case), get_threads()
    ours: dict[str, Any] = {"form": "j2k"}
    theirs: dict[str, Any] = {"irreversible": False, "no_jp2": True}
    if case.tile is not None:
        ours["tile"] = theirs["tile_size"] = (case.tile, case.tile)
    plain, opened = encode(image, **ours), Image.fromarray(image)
    _check(plain, image, peer.jpeg2k_decode)
    calls: dict[str, _Call] = {
        "encode": lambda: encode(image, **ours),
        "OpenJPEG, encode": lambda: opened.save(io.BytesIO(), "JPEG2000", **theirs),
        "decode": lambda: decode(plain),
        "OpenJPEG, decode": lambda: peer.jpeg2k_decode(plain, numthreads=threads),
    }
    # what takes a tenth of a millisecond is spent on the way to the codec
    least = 1.0 if case.size >= 128 else None
    return calls, [(verb, f"OpenJPEG, {verb}", least) for verb in ("encode", "decode")]


def _make_image(case: Case) -> Array:
    image = make_image(case.size)
    return image if case.components == 3 else np.ascontiguousarray(image[..., 1])


def _check(data: bytes, image: Array, read: Callable[[bytes], Any], most: int | None = None) -> float:
    """Return the PSNR of a file that two decoders agree about; `most`: levels of difference, if it is lossy."""
    ours, theirs = (np.asarray(each).astype(np.int16) for each in (decode(data).samples, read(data)))
    if np.abs(ours - theirs).max() > (most or 0):
        raise WrongResultError("another decoder makes another image of the file than we do")
    if most is None and not np.array_equal(ours, image):
        raise WrongResultError("the lossless file does not give the image back")
    return float(measure_psnr(ours.astype(image.dtype), image, 255))


def measure_window(size: int = 16384, side: int = 512, tile: int = 512) -> Window:
    """Read a window that lies across four tiles of a large HTJ2K file, and the whole file.

    Raises
    ------
    WrongResultError
        If the window is not what was written there.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jph"
        image = _make_image(Case(size))
        jpeg2000.imwrite_rows(path, [image], size, tile=(tile, tile))
        first = size // 2 - side // 2 + tile // 4
        last = first + side
        if not np.array_equal(jpeg2000.open(path)[first:last, first:last], image[first:last, first:last]):
            raise WrongResultError("the window is not what was written there")
        del image
        calls: dict[str, _Call] = {
            "window": lambda: jpeg2000.open(path)[first:last, first:last],
            "whole": lambda: jpeg2000.open(path, most_pixels=size**2)[...],
        }
        found = take_turns(calls, Effort(seconds=1.0, fewest=3))
        parts = jpeg2000.open(path).file.stream.tile_parts
        across = range(first // tile, (last - 1) // tile + 1)
        touched = parts.find(row * -(-size // tile) + column for row in across for column in across)
        needed = sum(part.stop - part.start for several in touched.values() for part in several)
        return Window(size, side, tile, found["window"], found["whole"], needed, path.stat().st_size)


def report_peers(duels: Sequence[Duel], window: Window | None) -> Report:
    """Make the tables of speed beside other codecs, and of a window."""
    sheet = Sheet.from_records(
        "Beside other codecs, milliseconds",
        duels,
        {
            "image": "{.image}",
            "task": "{.task}",
            "subband": lambda each: f"{1e3 * each.ours:.2f}",
            "other": lambda each: f"{1e3 * each.theirs:.2f}",
            "times as fast": "{.speed:.2f}",
            "which other": "{.other}",
        },
        f"8 bits, without loss unless said; lossy at {_RATE:g} bits per pixel, OpenJPEG for the same PSNR. HT: blocks "
        "of high throughput; what it is compared with may be our own coder of Part 1. "
        f"{get_threads()} threads, but OpenJPH, which has one in imagecodecs. Medians of turns.",
        texts=2,
        last_texts=1,
    )
    goals = [
        Goal(
            f"{each.image}, {each.task}: at least {each.least:g} times as fast as {each.other}",
            f"{each.speed:.2f} times",
            each.speed >= each.least,
        )
        for each in duels
        if each.least is not None
    ]
    figures: dict[str, Any] = {"duels": [as_record(each, "speed") for each in duels]}
    sheets = [sheet]
    if window is not None:
        time, size = window.seconds / window.whole, window.needed / window.length
        sheets.append(
            Sheet(
                "A window of a large file",
                ("image", "window", "ms", "whole, ms", "of the time", "of the bytes"),
                [
                    (
                        f"{window.size}² in {window.tile}² tiles",
                        f"{window.side}²",
                        f"{1e3 * window.seconds:.1f}",
                        f"{1e3 * window.whole:.0f}",
                        f"{time:.2%}",
                        f"{size:.2%}",
                    )
                ],
                "HTJ2K without loss; the window lies across four tiles.",
            )
        )
        worst = max(time, size)
        goals.append(
            Goal(f"a window in at most {MOST_OF_WHOLE:.0%} of time and bytes", f"{worst:.2%}", worst <= MOST_OF_WHOLE)
        )
        figures["window"] = as_record(window)
    return Report(sheets, goals, figures)

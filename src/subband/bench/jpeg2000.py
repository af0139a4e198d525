"""Speed of JPEG 2000 encoding and decoding, stage by stage, and its PSNR, beside OpenJPEG.

The first table follows Table I of T.-T. Wong, C.-S. Leung, P.-A. Heng and J. Wang, Discrete wavelet transform on
consumer-level graphics hardware, IEEE Transactions on Multimedia 9, 2007: images of growing size, CDF 9/7 over five
levels, one tile. Every file is decoded, by OpenJPEG where it is installed, before its times count.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np

from subband.bench.figures import BLUE, ORANGE, BarChart, Figure, Panel, draw_bars
from subband.bench.libraries import load_library
from subband.bench.tables import Cell, Goal, Report, Sheet, write_number
from subband.codecs.jpeg2000 import Times, encode, imread
from subband.codecs.jpeg2000.colours import split_planes
from subband.codecs.jpeg2000.components import as_components
from subband.codecs.jpeg2000.geometry import Rectangle
from subband.codecs.jpeg2000.parameters import ComponentSize
from subband.codecs.jpeg2000.transform import analyse
from subband.engines import get_threads
from subband.engines.measuring.judging import TOLERANCE, compare_bands, find_largest
from subband.engines.measuring.timing import time_calls
from subband.errors import ArgumentError, MissingExtraError
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = [
    "QUICK_SIZES",
    "RATES",
    "SIZES",
    "Breakdown",
    "Quality",
    "check_tile",
    "list_engines",
    "load_peer",
    "load_photographs",
    "make_image",
    "measure_breakdown",
    "measure_quality",
    "report_quality",
    "report_speed",
]

#: Sides of the images of the first table, and of its short form.
SIZES = (128, 256, 512, 1024, 1280, 2048, 4096)
QUICK_SIZES = (128, 256, 512)

#: Bits per pixel at which quality is compared.
RATES = (0.25, 0.5, 1.0, 2.0)

#: Seconds of the paper for its transform alone: by software, by a GPU of 2005 with everything it needs, and of that
#: OpenGL's beginning, textures, the transform itself, and all else.
PAPER = {
    128: (0.016, 0.468, 0.218, 0.015, 0.234, 0.001),
    256: (0.031, 0.500, 0.218, 0.032, 0.234, 0.016),
    512: (0.344, 0.578, 0.219, 0.078, 0.234, 0.047),
    1024: (2.593, 0.813, 0.219, 0.218, 0.235, 0.141),
    1280: (2.688, 1.000, 0.219, 0.313, 0.234, 0.234),
    2048: (12.312, 1.672, 0.219, 0.625, 0.234, 0.594),
}

#: What is expected: dB that may be missing, and the part of the size that may differ.
NEAR, CLOSE = 0.1, 0.01

_RATE = 2.0
_LEVELS = 5
# Rows and columns of an image whose bands are compared.
_JUDGED = 1024
_IMAGES = ("astronaut", "camera", "chelsea", "coffee", "moon", "rocket")


@dataclass(frozen=True)
class Breakdown:
    """The times of encoding one image.

    Attributes
    ----------
    size : int
        Its side.
    engine : str
        Which engine transformed.
    seconds : float
        From array to bytes.
    times : Times
        The parts of that.
    disk : float
        Writing the file.
    peer : float or None
        OpenJPEG's seconds for a file of the same quality, if it is installed.
    length : int
        Bytes of the file.
    psnr : float or None
        Of the decoded image; None where it is the same, bit for bit.
    """

    size: int
    engine: str
    seconds: float
    times: Times
    disk: float
    peer: float | None
    length: int
    psnr: float | None


@dataclass(frozen=True)
class Quality:
    """A photograph at one rate: bytes requested and written, and the PSNR of ours and of OpenJPEG's."""

    picture: str
    rate: float
    asked: int
    length: int
    ours: float
    theirs: float


def load_peer() -> Any:
    """Return imagecodecs, which brings OpenJPEG, or None.

    Examples
    --------
    >>> load_peer() is None or hasattr(load_peer(), "jpeg2k_encode")
    True
    """
    with suppress(MissingExtraError):
        return load_library("imagecodecs")
    return None


def list_engines() -> list[str]:
    """Return the engines available here, without the reference engine.

    Examples
    --------
    >>> "cpu" in list_engines()
    True
    """
    from subband.engines.measuring.devices import list_records

    return [record.engine for record in list_records() if not record.missing and record.engine != "reference"]


def make_image(size: int) -> Array:
    """Return a photograph in colour of any size: the bundled one, mirrored as often as it takes, with a little noise.

    Examples
    --------
    >>> make_image(600).shape
    (600, 600, 3)
    """
    from subband.data import photograph

    image = photograph()
    pad = [(0, max(0, size - side)) for side in image.shape[:2]]
    whole = np.pad(image, [*pad, (0, 0)], mode="symmetric")[:size, :size]
    # what repeats bit for bit would be kinder to caches than photographs are
    noise = np.random.default_rng(0).integers(-1, 2, whole.shape, dtype=np.int16)
    return np.ascontiguousarray(np.clip(whole.astype(np.int16) + noise, 0, 255).astype(np.uint8))


def measure_breakdown(
    sizes: Sequence[int],
    engines: Sequence[str],
    repeats: int = 3,
    *,
    is_lossless: bool = False,
    has_peer: bool = True,
) -> Iterator[Breakdown]:
    """Encode images of growing size with each engine.

    Parameters
    ----------
    sizes : sequence of int
        Rows, and as many columns.
    engines : sequence of str
        The engines that transform.
    repeats : int
        The fastest of so many counts.
    is_lossless : bool
        Whether every pixel has to come back.
    has_peer : bool
        Whether OpenJPEG decodes and encodes, too, where it is installed.

    Raises
    ------
    ArgumentError
        If a decoder does not find the image in what was written.
    WrongResultError
        If a band of the transform is not that of the reference engine.
    """
    peer = load_peer() if has_peer else None
    for size in sizes:
        image = make_image(size)
        for engine in engines:
            yield _break_down(image, engine, repeats, peer, is_lossless)


def _break_down(image: Array, engine: str, repeats: int, peer: Any, is_lossless: bool) -> Breakdown:
    check_tile(image, _LEVELS, engine, is_lossless=is_lossless)
    best: tuple[float, Times, bytes] | None = None
    goal: dict[str, Any] = {} if is_lossless else {"rate": _RATE}
    for number in range(repeats + 1):
        times = Times()
        begin = perf_counter()
        data = encode(image, levels=_LEVELS, engine=engine, times=times, **goal)
        seconds = perf_counter() - begin
        # the first call compiles
        if number and (best is None or seconds < best[0]):
            best = seconds, times, data
    assert best is not None
    seconds, times, data = best
    psnr = _check(image, data, peer)
    if is_lossless and psnr != inf:
        raise ArgumentError("the lossless file does not give the image back")
    with tempfile.TemporaryDirectory() as folder:
        disk = time_calls(lambda: Path(folder, "image.jp2").write_bytes(data), 1)
    theirs = None
    if peer is not None:
        quality = {} if is_lossless else {"level": psnr}
        theirs = _time(
            lambda: peer.jpeg2k_encode(image, reversible=is_lossless, numthreads=get_threads(), **quality), repeats
        )
    return Breakdown(len(image), engine, seconds, times, disk, theirs, len(data), None if is_lossless else psnr)


def check_tile(image: Array, levels: int, engine: str, *, is_lossless: bool) -> None:
    """Compare every band of an image in colour, as JPEG 2000 has them, with the reference engine's.

    A lossless file gives its image back whatever the transform is, if only it can be undone. Images are judged by
    their corner of at most 1024 rows and columns.

    Raises
    ------
    WrongResultError
        If a band is wrong.
    """
    part = image[:_JUDGED, :_JUDGED]
    rows, columns = part.shape[:2]
    components, _ = as_components(part)
    sizes = tuple(ComponentSize(component.precision, component.is_signed, 1, 1) for component in components)
    samples = [component.samples for component in components]
    planes = split_planes(samples, sizes, is_reversible=is_lossless, has_colour_transform=True)
    area, kind = Rectangle(0, 0, columns, rows), "lossless" if is_lossless else "lossy"
    # a result of other samples would show
    analyse(-planes[..., ::-1, ::-1], area, levels, is_lossless, engine)
    found, expected = (
        {
            f"{name}{number}": np.asarray(band)
            for number, bands in enumerate(analyse(each, area, levels, is_lossless, who))
            for name, band in bands.items()
        }
        for each, who in ((planes, engine), (planes if is_lossless else planes.astype(np.float64), "reference"))
    )
    limit = 0.0 if is_lossless else TOLERANCE * find_largest(expected)
    compare_bands(found, expected, f"the {kind} transform of {rows} × {columns}", limit)


def _check(image: Array, data: bytes, peer: Any) -> float:
    """Decode by another decoder if there is one, and by ours; return the PSNR."""
    ours = imread(io.BytesIO(data))
    if peer is not None and np.abs(ours.astype(int) - np.asarray(peer.jpeg2k_decode(data)).astype(int)).max() > 1:
        raise ArgumentError("OpenJPEG decodes the file to another image than we do")
    psnr = measure_psnr(ours, image, 255)
    if psnr < 25:
        raise ArgumentError(f"the decoded image has a PSNR of {psnr:.1f} dB, far from the original")
    return psnr


def _time(call: Callable[[], object], repeats: int) -> float:
    """Return the shortest of a few calls."""
    return min(time_calls(call, 1) for _ in range(repeats))


def load_photographs(size: int | None = None) -> dict[str, Array]:
    """Return six photographs of scikit-image, grey and in colour, cut to a square of that size if one is given.

    Raises
    ------
    MissingExtraError
        If scikit-image is not installed.
    """
    library = load_library("scikit-image").data
    images = {name: np.asarray(getattr(library, name)()) for name in _IMAGES}
    return {name: np.ascontiguousarray(image[:size, :size]) for name, image in images.items()}


def measure_quality(images: Mapping[str, Array], rates: Sequence[float] = RATES) -> Iterator[Quality]:
    """Encode photographs to the very bytes that OpenJPEG takes for a rate, and compare the errors.

    OpenJPEG comes with Pillow, which lets it aim at a rate.
    """
    for name, image in images.items():
        for rate in rates:
            theirs = _encode_with_pillow(image, rate)
            ours = encode(image, form="j2k", size=len(theirs))
            decoded = [imread(io.BytesIO(data)) for data in (ours, theirs)]
            mine, other = (measure_psnr(each, image, 255) for each in decoded)
            yield Quality(name, rate, len(theirs), len(ours), mine, other)


def _encode_with_pillow(image: Array, rate: float) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    bits = 8 * (image.shape[2] if image.ndim == 3 else 1)
    Image.fromarray(image).save(
        file, "JPEG2000", no_jp2=True, irreversible=True, mct=int(image.ndim == 3), quality_mode="rates",
        quality_layers=[bits / rate],
    )  # fmt: skip
    return file.getvalue()


def report_speed(found: Sequence[Breakdown]) -> Report:
    """Make the table of the stages."""
    columns: dict[str, Cell] = {
        "image": "{.size}²",
        "engine": "{.engine}",
        "total": lambda each: _write_milliseconds(each.seconds),
        "transform": lambda each: _write_milliseconds(each.times.transform),
        "blocks": lambda each: _write_milliseconds(each.times.blocks),
        "rate": lambda each: _write_milliseconds(each.times.rate),
        "packets": lambda each: _write_milliseconds(each.times.packets),
        "disk": lambda each: _write_milliseconds(each.disk),
        "OpenJPEG": lambda each: _write_milliseconds(each.peer),
        "JasPer": lambda each: _write_milliseconds(PAPER[each.size][0] if each.size in PAPER else None, 0),
        "GPU": lambda each: _write_milliseconds(PAPER[each.size][1] if each.size in PAPER else None, 0),
    }
    sheets = [
        Sheet.from_records(
            "Breakdown of the time to encode, milliseconds",
            found,
            columns,
            f"Three components of 8 bits, CDF 9/7, five levels, one tile, {_RATE:g} bits per pixel; {get_threads()} "
            "threads. Transform: colours, wavelet and quantiser; blocks: the block coder, with the blocks that tell "
            "how fine the quantiser has to be; rate: which passes are kept; packets: headers, and all bytes put in "
            "order; disk: writing the file, not part of the total. OpenJPEG: its total for the same PSNR. "
            "JasPer and GPU: the paper's times of the transform alone, by software and by a GPU of 2005, "
            "OpenGL's start included.",
            texts=2,
        )
    ]
    return Report(sheets, figures={"breakdown": list(map(asdict, found))}, drawings=_draw_speed(found))


def _write_milliseconds(seconds: float | None, digits: int = 1) -> str:
    return write_number(None if seconds is None else 1000 * seconds, digits)


def _draw_speed(found: Sequence[Breakdown]) -> dict[str, Figure]:
    """Draw the stages of encoding."""
    names = [f"{each.size}², {each.engine}" for each in found]
    parts = {
        part: [1e3 * getattr(each.times, part) for each in found] for part in ("transform", "blocks", "rate", "packets")
    }
    chart = BarChart("", "milliseconds", names, parts, is_stacked=True)
    return {"Parts of encoding": draw_bars("Parts of encoding", chart)}


def report_quality(found: Sequence[Quality], *, is_whole: bool = True) -> Report:
    """Make the table of errors at equal sizes."""
    images = list(dict.fromkeys(each.picture for each in found))
    rates = list(dict.fromkeys(each.rate for each in found))
    table = {(each.picture, each.rate): each for each in found}
    rows = []
    for image in images:
        cells = [table[image, rate] for rate in rates]
        rows.append([image, *(f"{cell.ours:.2f} ({cell.ours - cell.theirs:+.2f})" for cell in cells)])
    gains = [mean(table[image, rate].ours - table[image, rate].theirs for image in images) for rate in rates]
    rows.append(["mean difference", *(f"{gain:+.3f}" for gain in gains)])
    sheet = Sheet(
        "PSNR in dB at equal sizes, and how far above OpenJPEG",
        ("image", *(f"{rate:g} bits per pixel" for rate in rates)),
        rows,
        "Our file is asked to be as large as OpenJPEG's for that rate. Both are decoded by us.",
    )
    goals = []
    if is_whole and found:
        gain = mean(gains)
        off = max(abs(each.length - each.asked) / each.asked for each in found)
        goals = [
            Goal(f"mean PSNR within {NEAR} dB of OpenJPEG's or better", f"{gain:+.3f} dB", gain >= -NEAR),
            Goal(f"size within {CLOSE:.0%} of what is asked", f"{off:.2%} at most", off <= CLOSE),
        ]
    panel = Panel("mean of all images", "bits per pixel", "PSNR in dB", is_x_log=True)
    for label, colour, attribute in (("OpenJPEG", ORANGE, "theirs"), ("subband", BLUE, "ours")):
        means = [mean(getattr(table[image, rate], attribute) for image in images) for rate in rates]
        panel.add_curve(rates, means, colour, label)
    drawings = {"Errors at equal sizes": Figure("Errors at equal sizes", [[panel]], (720, 360))} if rates else {}
    return Report([sheet], goals, {"quality": list(map(asdict, found))}, drawings=drawings)

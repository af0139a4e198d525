"""CDF 9/7 on OpenCL for video, 2012: images of high definition and squares, by lifting and by filters.

Three channels are decomposed as far as their sizes allow without remainder (table 6.1), squares to the end, and
padded images as squares of the next power of two (table 6.2). Times are with and without the way to the device and
back; an engine of the host has no such way.

References
----------
Wavelet transform for video coders using GPU, Aalborg University, 2012, tables 6.1 to 6.5, figures 6.1 to 6.6. The GPU
is a GeForce GTX 680. Their CPU, one core of a Core i7 970, was measured in grey; in colour it is their estimate, three
times that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subband.arrays import map_arrays
from subband.bench.figures import BLUE, GREEN, ORANGE, VIOLET, Figure, Panel
from subband.bench.tables import Goal, Report, Sheet
from subband.engines.filters import find_filters
from subband.engines.measuring.harness import Harness, open_harness
from subband.engines.measuring.judging import TOLERANCE, check_transform, compare_bands, fetch_bands, find_largest
from subband.engines.measuring.timing import Effort, take_turns
from subband.plan import TransformPlan, transform_plan
from subband.wavelets import as_wavelet

__all__ = ["HD", "SQUARES", "Image", "Times", "list_images", "measure_images", "report"]

#: Milliseconds that a frame may take: 25 of them in a second.
REQUIREMENT = 40.0

#: Rows, columns and levels, and their milliseconds: in colour on their CPU, which is an estimate, by lifting and by
#: filters with transfers, and both without. Table 6.1 leaves out the levels of the largest; 5 is what its size allows.
HD = {
    (480, 852): (2, 21.46, 3.66, 4.08, 0.75, 1.18),
    (720, 1280): (4, 59.16, 8.08, 9.32, 1.64, 3.11),
    (1080, 1920): (3, 168.28, 17.21, 20.92, 3.43, 7.88),
    (2160, 3840): (4, 623.11, 68.23, 86.91, 13.95, 33.28),
    (2540, 4520): (2, 1122.24, 89.14, 106.50, 16.70, 36.95),
    (4320, 7680): (5, 3642.12, 256.09, 386.82, 55.45, 158.29),
}

#: The same for squares: in colour on their CPU, an estimate, by lifting and by filters with transfers.
SQUARES = {
    256: (2.75, 1.50, 1.56),
    512: (15.33, 2.78, 3.64),
    1024: (99.71, 9.22, 13.84),
    2048: (299.08, 35.60, 55.06),
    4096: (1651.86, 128.07, 202.65),
    8192: (10394.70, 520.19, 840.06),
}

_CHANNELS = 3
#: Images beyond this many samples of a channel are left out of a quick run.
_QUICK = 2**21


@dataclass(frozen=True)
class Image:
    """An image of the tables.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    level : int
        Number of levels.
    padded : tuple of int or None
        What it is padded to before.

    Examples
    --------
    >>> Image((480, 852), 10, (1024, 1024)).name
    '852×480 in 1024×1024'
    """

    shape: tuple[int, int]
    level: int
    padded: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """Width and height, as they are written there, and levels where they are not those of the table."""
        own = f"{self.shape[1]}×{self.shape[0]}"
        if self.padded is not None:
            return f"{own} in {self.padded[1]}×{self.padded[0]}"
        return f"{own}, {self.level} levels" if self.shape in HD and not self.is_of_table else own

    @property
    def is_of_table(self) -> bool:
        """Whether it is one of table 6.3: as large as there, with as many levels, and not padded."""
        return self.padded is None and self.shape in HD and HD[self.shape][0] == self.level

    def plan(self, *, is_lifted: bool) -> TransformPlan:
        """Plan the transform of all channels."""
        wavelet = as_wavelet("cdf97")
        chosen = wavelet if is_lifted else wavelet.without_lifting()
        shape = (_CHANNELS, *(self.padded or self.shape))
        return transform_plan(shape, (1, 2), (chosen,) * 2, ("whole",) * 2, self.level)


@dataclass(frozen=True)
class Times:
    """Milliseconds of an image.

    Attributes
    ----------
    lifting, filtering, inverse : float
        Decomposition both ways, and reconstruction by lifting; padding is part of the decompositions.
    upload, download : float
        The way to the device and back; 0 for the host.
    """

    lifting: float
    filtering: float
    inverse: float
    upload: float = 0.0
    download: float = 0.0

    @property
    def transfers(self) -> float:
        """The way to the device and back."""
        return self.upload + self.download


def list_images(*, is_quick: bool = False) -> list[Image]:
    """List the images of all tables: high definition, squares, and high definition padded to squares.

    Beside each that is padded stands the same image as it is, with as many levels.
    """
    images = [Image(shape, row[0]) for shape, row in HD.items()]
    images += [Image((side, side), side.bit_length() - 1) for side in SQUARES]
    for shape in list(HD)[:5]:
        side = 1 << (max(shape) - 1).bit_length()
        levels = side.bit_length() - 1
        images += [Image(shape, levels, (side, side)), Image(shape, levels)]
    if not is_quick:
        return images
    return [each for each in images if np.prod(each.padded or each.shape) <= _QUICK]


def measure_images(
    images: Sequence[Image], engine: str = "cpu", effort: Effort | None = None
) -> Iterator[tuple[Image, Times]]:
    """Measure images one after the other.

    Raises
    ------
    WrongResultError
        If a band is not that of the reference engine, an image does not come back, or filters and lifting differ.
    """
    bench = open_harness(engine)
    for image in images:
        yield image, _measure(image, bench, effort or Effort(seconds=0.2, fewest=7, most=11))


def _measure(image: Image, bench: Harness, effort: Effort) -> Times:
    x = bench.draw((_CHANNELS, *image.shape))
    lifted, filtered = image.plan(is_lifted=True), image.plan(is_lifted=False)
    engine = bench.engine

    def pad() -> Any:
        return x if image.padded is None else _pad(bench, x, lifted.shape)

    approximation, details = check_transform(bench, lifted, pad(), image.name)
    own = fetch_bands(bench, lifted, approximation, details)
    largest = find_largest(own)
    other = fetch_bands(bench, filtered, *engine.forward_all(filtered, pad()))
    compare_bands(other, own, f"{image.name}, by filters", 2 * TOLERANCE * largest)
    del own, other
    calls = {
        "lifting": lambda: engine.forward_all(lifted, pad()),
        "filtering": lambda: engine.forward_all(filtered, pad()),
        "inverse": lambda: engine.inverse_all(lifted, approximation, details),
    }
    times = take_turns(calls, effort, bench.time_calls)
    if bench.is_device:
        host = bench.to_host(x)
        coefficients = (approximation, details)
        ways = {
            "upload": lambda: bench.upload(host),
            "download": lambda: map_arrays(coefficients, bench.to_host),
        }
        times |= take_turns(ways, effort)
    return Times(**{name: 1e3 * seconds for name, seconds in times.items()})


def _pad(bench: Harness, x: Any, shape: tuple[int, ...]) -> Any:
    """Make an image larger to the right and below; by its mirror, which is as much work as their zeros."""
    missing = tuple(wanted - own for wanted, own in zip(shape[1:], x.shape[1:], strict=True))
    return find_filters(bench.engine).extend(x, (0, 0), missing)


def report(measured: Mapping[Image, Times], engine: str) -> Report:
    """Write tables 6.3 to 6.5 and the times of figures 6.2, 6.3 and 6.6, theirs and ours."""
    sheets = [_tabulate_hd(measured, engine), _tabulate_squares(measured, engine), _tabulate_padded(measured, engine)]
    full = [times for image, times in measured.items() if image.shape == (1080, 1920) and image.is_of_table]
    goals = [
        Goal(
            f"1920×1080 in colour within {REQUIREMENT:g} ms by lifting, transfers included",
            f"{times.lifting + times.transfers:.1f} ms; theirs 17.2",
            times.lifting + times.transfers <= REQUIREMENT,
        )
        for times in full
    ]
    figures = {"engine": engine, "milliseconds": {image.name: vars(times) for image, times in measured.items()}}
    return Report(sheets, goals, figures, drawings={"High definition": draw_times(measured, engine)})


def _tabulate_hd(measured: Mapping[Image, Times], engine: str) -> Sheet:
    columns = ["resolution", "levels", "theirs: CPU, estimated", "lifting", "filtering", "raw lifting", "raw filtering"]
    columns += ["ours: lifting", "filtering", "raw lifting", "raw filtering", "raw inverse", "by lifting, times theirs"]
    rows = []
    for image, times in measured.items():
        if not image.is_of_table:
            continue
        level, *theirs = HD[image.shape]
        way = times.transfers
        ours = (times.lifting + way, times.filtering + way, times.lifting, times.filtering, times.inverse)
        cells = [f"{number:.2f}" for number in (*theirs, *ours)]
        rows.append([image.name, str(level), *cells, f"{theirs[1] / ours[0]:.1f}"])
    note = (
        "Milliseconds; raw: without the way to the device and back, which an engine of the host does not have. Theirs: "
        "on a GeForce GTX 680; one core of a Core i7 970 was measured in grey, and three times that is their estimate "
        "for colour."
    )
    return Sheet(
        f"Tables 6.3 and 6.4, figures 6.1, 6.4 and 6.6a: high definition, engine {engine}", columns, rows, note
    )


def _tabulate_squares(measured: Mapping[Image, Times], engine: str) -> Sheet:
    columns = ["side", "theirs: CPU, estimated", "lifting", "filtering", "ours: lifting", "filtering", "raw inverse"]
    rows = []
    for image, times in measured.items():
        if image.padded is None and image.shape[0] == image.shape[1]:
            ours = (times.lifting + times.transfers, times.filtering + times.transfers, times.inverse)
            rows.append([str(image.shape[0]), *(f"{number:.2f}" for number in (*SQUARES[image.shape[0]], *ours))])
    title = f"Table 6.5, figures 6.5 and 6.6b: squares, all levels, engine {engine}"
    return Sheet(title, columns, rows, "Milliseconds, with transfers where there are any.")


def _tabulate_padded(measured: Mapping[Image, Times], engine: str) -> Sheet:
    rows = []
    for image, times in measured.items():
        if image.padded is not None:
            numbers = (times.lifting, times.filtering, measured[replace(image, padded=None)].lifting)
            rows.append([image.name, str(image.level), *(f"{number:.2f}" for number in numbers)])
    note = (
        "Milliseconds without transfers. Any size has as many levels as its square here; not padded: the image as it "
        "is, with the same number of levels."
    )
    columns = ["resolution", "levels", "lifting", "filtering", "lifting, not padded"]
    return Sheet(f"Figures 6.2a and 6.3a: padded to powers of two, engine {engine}", columns, rows, note)


def draw_times(measured: Mapping[Image, Times], engine: str) -> Figure:
    """Draw figures 6.4 and 6.5: milliseconds by the number of pixels."""
    panels = []
    for title, is_square in (("high definition", False), ("squares", True)):
        chosen = [
            (image, times)
            for image, times in measured.items()
            if (image.padded is None and image.shape[0] == image.shape[1] if is_square else image.is_of_table)
        ]
        panel = Panel(title, "megapixels", "ms", is_x_log=True, is_y_log=True)
        pixels = [np.prod(image.shape) / 1e6 for image, _ in chosen]
        theirs = [SQUARES[p.shape[0]][1] if is_square else HD[p.shape][2] for p, _ in chosen]
        panel.add_curve(pixels, [REQUIREMENT] * len(pixels), VIOLET, "25 frames per second")
        panel.add_curve(pixels, theirs, ORANGE, "theirs, lifting")
        panel.add_curve(pixels, [times.filtering + times.transfers for _, times in chosen], GREEN, "ours, filters")
        panel.add_curve(pixels, [times.lifting + times.transfers for _, times in chosen], BLUE, "ours, lifting")
        panels.append(panel)
    return Figure(f"Decomposition in colour, engine {engine}", [panels])

"""Small line plots as pictures, drawn with Pillow, so that the bare install can plot.

A `Figure` is a grid of panels. A `Panel` holds curves, dots, bars or stems over one pair of axes; charts of what has
names instead of numbers are in `subband.bench.charts`. Pillow does not smooth lines, so everything is drawn larger than
asked for and reduced at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, Protocol

from PIL import Image, ImageDraw, ImageFont

from subband.errors import ArgumentError
from subband.outputs import open_output

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "GRID",
    "INK",
    "ORANGE",
    "TEXT_SIZE",
    "TICK_SIZE",
    "VIOLET",
    "Box",
    "Drawable",
    "Figure",
    "Panel",
    "Pen",
    "choose_powers",
    "choose_ticks",
]

Point = tuple[float, float]
Box = tuple[float, float, float, float]

BLUE, ORANGE, GREEN, VIOLET = "#1f5f99", "#d1642a", "#3d7f4e", "#7a4f9a"

# How much of the height of a panel a line of its legend takes.
_LEGEND_LINE = 0.065
_PAPER, INK, GREY, GRID = "#ffffff", "#222222", "#666666", "#e4e4e4"
# What the font that is part of Pillow does not have.
_SPELLINGS = str.maketrans({"²": "^2", "×": "x", "≥": ">=", "≤": "<=", "µ": "u", "½": "1/2", "–": "-", "—": "-"})
# How much larger than asked for a figure is drawn.
_OVERSAMPLING = 3
_TITLE_SIZE, TEXT_SIZE, TICK_SIZE = 20, 14, 12


def choose_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Choose about `count` round numbers between `low` and `high`.

    Examples
    --------
    >>> choose_ticks(0.0, 7.0)
    [0.0, 2.0, 4.0, 6.0]
    >>> choose_ticks(-0.31, 0.84)
    [-0.25, 0.0, 0.25, 0.5, 0.75]
    """
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 12) + 0.0 for index in range(first, last + 1)]


def choose_powers(low: float, high: float) -> list[float]:
    """Choose powers of ten between `low` and `high`, or what lies between them where there are few.

    Examples
    --------
    >>> choose_powers(0.5, 2000.0)
    [1.0, 10.0, 100.0, 1000.0]
    >>> choose_powers(3.0, 70.0)
    [5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = [10.0**power for power in range(first, last + 1)]
    inside = [power for power in powers if low <= power <= high]
    if len(inside) >= 3:
        return inside
    return [tick for power in powers for tick in (power, 2 * power, 5 * power) if low <= tick <= high]


@dataclass
class _Series:
    """One set of points and how they are drawn."""

    points: list[Point]
    colour: str
    label: str
    kind: Literal["curve", "stems", "dots", "bars"]


@dataclass
class Panel:
    """One pair of axes with what is drawn over them.

    Parameters
    ----------
    title, x_label, y_label : str
        What stands above, below and at the upper left.
    is_x_log, is_y_log : bool
        Whether equal factors, not equal differences, are equally far apart.
    """

    title: str
    x_label: str
    y_label: str
    is_x_log: bool = False
    is_y_log: bool = False
    _series: list[_Series] = field(default_factory=list)

    def add_curve(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Join points by a line; labels, where given, make a legend."""
        self._series.append(_Series(_pair_up(x, y), colour, label, "curve"))

    def add_dots(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a dot for each point."""
        self._series.append(_Series(_pair_up(x, y), colour, label, "dots"))

    def add_bars(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a bar from zero to each point, as wide as the points are apart."""
        self._series.append(_Series(_pair_up(x, y), colour, label, "bars"))

    def add_stems(self, y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a dot for each value of a sequence and a line down to zero."""
        values = [float(value) for value in y]
        self._series.append(_Series(list(enumerate(values)), colour, label, "stems"))

    def limits(self) -> Box:
        """Return left, bottom, right and top of the data, with some air around."""
        points = [point for series in self._series for point in series.points]
        left, right = min(x for x, _ in points), max(x for x, _ in points)
        bottom, top = min(y for _, y in points), max(y for _, y in points)
        if self.is_y_log:
            bottom, top = bottom / 1.5, top * 1.5
            # room for the legend, which stands at the top
            legend = _LEGEND_LINE * sum(bool(series.label) for series in self._series)
            top = bottom * (top / bottom) ** (1 / (1 - min(legend, 0.5)))
        else:
            bottom, top = min(0.0, bottom), max(0.0, top)
            air = (top - bottom) * 0.08 or 1.0
            bottom, top = bottom - air, top + air
        kinds = {series.kind for series in self._series}
        if self.is_x_log:
            left, right = left / 1.2, right * 1.2
        elif "stems" in kinds:
            left, right = left - 0.6, right + 0.6
        elif "bars" in kinds:
            half = max(_find_width(series.points) for series in self._series if series.kind == "bars") / 2
            left, right = left - half, right + half
        elif left == right:
            left, right = left - 1.0, right + 1.0
        return left, bottom, right, top

    def draw(self, pen: Pen, box: Box) -> None:
        """Draw the panel into a box (left, top, right, bottom) of a picture."""
        left, top, right, bottom = box[0] + 58, box[1] + 48, box[2] - 16, box[3] - 42
        x_low, y_low, x_high, y_high = self.limits()

        def place(x: float, y: float) -> Point:
            across = _find_part(x, x_low, x_high, self.is_x_log)
            up = _find_part(y, y_low, y_high, self.is_y_log)
            return left + across * (right - left), bottom - up * (bottom - top)

        pen.write((left, box[1] + 8), self.title, TEXT_SIZE + 1, INK, "lt")
        pen.write((left, top - 5), self.y_label, TICK_SIZE, GREY, "lb")
        pen.write(((left + right) / 2, bottom + 22), self.x_label, TICK_SIZE, GREY, "mt")
        are_taps = all(series.kind == "stems" for series in self._series)
        ticks = (
            choose_powers(x_low, x_high)
            if self.is_x_log
            else choose_ticks(x_low, x_high, 8 if right - left > 400 else 6)
        )
        for tick in ticks:
            if not (are_taps and tick % 1):
                x, _ = place(tick, y_low)
                pen.join([(x, top), (x, bottom)], GRID, 1)
                pen.write((x, bottom + 6), _spell(tick), TICK_SIZE, GREY, "mt")
        for tick in choose_powers(y_low, y_high) if self.is_y_log else choose_ticks(y_low, y_high):
            _, y = place(x_low, tick)
            pen.join([(left, y), (right, y)], GRID, 1)
            pen.write((left - 7, y), _spell(tick), TICK_SIZE, GREY, "rm")
        zero = bottom if self.is_y_log else place(x_low, 0)[1]
        pen.join([(left, zero), (right, zero)], GREY, 1)
        pen.join([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], GREY, 1)
        for series in self._series:
            if series.kind == "stems":
                many = len(series.points) > 40
                for x, y in series.points:
                    pen.join([place(x, 0), place(x, y)], series.colour, 1.2 if many else 1.8)
                    pen.dot(place(x, y), 2.2 if many else 3.6, series.colour)
            elif series.kind == "dots":
                for x, y in series.points:
                    pen.dot(place(x, y), 3.6, series.colour)
            elif series.kind == "bars":
                half = 0.42 * _find_width(series.points)
                for x, y in series.points:
                    pen.fill((place(x - half, y)[0], place(x, y)[1]), (place(x + half, y)[0], zero), series.colour)
            else:
                pen.join([place(x, y) for x, y in series.points], series.colour, 1.8)
        self._draw_legend(pen, right, top)

    def _draw_legend(self, pen: Pen, right: float, top: float) -> None:
        """Name the labelled series in the upper right corner."""
        labelled = [series for series in self._series if series.label]
        if labelled:
            widest = max(pen.measure(series.label, TICK_SIZE) for series in labelled)
            pen.fill((right - widest - 46, top + 2), (right - 4, top + 8 + 18 * len(labelled)), _PAPER)
        for row, series in enumerate(labelled):
            y = top + 14 + 18 * row
            start = right - 12 - pen.measure(series.label, TICK_SIZE)
            pen.write((start, y), series.label, TICK_SIZE, INK, "lm")
            pen.join([(start - 28, y), (start - 8, y)], series.colour, 2.4)


class Drawable(Protocol):
    """What fills a place of a figure."""

    def draw(self, pen: Pen, box: Box) -> None:
        """Draw itself into a box (left, top, right, bottom) of a picture."""


class Figure:
    """A titled grid of panels.

    Parameters
    ----------
    title : str
        What stands above the grid.
    panels : sequence of sequence of Drawable
        Rows from top to bottom, each from left to right.
    panel_size : tuple of int
        Width and height of a panel in pixels.
    heights : sequence of int, optional
        Of each row, where they are not all the same.

    Examples
    --------
    >>> panel = Panel("a parabola", "x", "y")
    >>> panel.add_curve([0, 1, 2, 3], [0, 1, 4, 9])
    >>> Figure("Curves", [[panel]]).render().size
    (460, 316)
    """

    def __init__(
        self,
        title: str,
        panels: Sequence[Sequence[Drawable]],
        panel_size: tuple[int, int] = (460, 260),
        heights: Sequence[int] | None = None,
    ) -> None:
        self.title = title
        self.panels = panels
        self.panel_size = panel_size
        self.heights = [panel_size[1]] * len(panels) if heights is None else heights

    def render(self) -> Image.Image:
        """Draw everything and return the picture."""
        top = 56
        size = (self.panel_size[0] * max(len(row) for row in self.panels), top + sum(self.heights))
        pen = Pen(size)
        pen.write((24, 20), self.title, _TITLE_SIZE, INK, "lt")
        for panels, height in zip(self.panels, self.heights, strict=True):
            # A row with fewer panels than the widest one stretches them.
            share = size[0] / len(panels)
            for column, panel in enumerate(panels):
                panel.draw(pen, (column * share, top, (column + 1) * share, top + height))
            top += height
        return pen.picture.resize(size, Image.Resampling.LANCZOS)

    def save(self, path: str | Path) -> None:
        """Write the picture in the format that the ending of the path names.

        Raises
        ------
        ArgumentError
            If Pillow writes no format of that ending, or the folder does not exist.
        OutputError
            If the disk is full, or the folder takes no files.
        """
        path = Path(path)
        if path.suffix.lower() not in Image.registered_extensions():
            raise ArgumentError(f"{path.name!r} does not end like a picture; take a name such as plot.png")
        with open_output(path) as file:
            self.render().save(file, Image.registered_extensions()[path.suffix.lower()])


class Pen:
    """Pillow's drawing functions in units of the finished picture."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.picture = Image.new("RGB", (size[0] * _OVERSAMPLING, size[1] * _OVERSAMPLING), _PAPER)
        self._draw = ImageDraw.Draw(self.picture)
        self._fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def _font(self, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        """Load the font that is part of Pillow: no machine has to have one."""
        if size not in self._fonts:
            self._fonts[size] = ImageFont.load_default(size * _OVERSAMPLING)
        return self._fonts[size]

    def join(self, points: Sequence[Point], colour: str, width: float) -> None:
        """Draw a line through points."""
        scaled = [(x * _OVERSAMPLING, y * _OVERSAMPLING) for x, y in points]
        thickness = max(1, round(width * _OVERSAMPLING))
        for start, end in pairwise(scaled):
            self._draw.line([start, end], colour, thickness)
        # Discs close the gaps that wide segments leave where a line bends.
        if len(points) > 2 and width > 1:
            for x, y in scaled:
                self._disc(x, y, thickness / 2, colour)

    def dot(self, centre: Point, radius: float, colour: str) -> None:
        """Draw a disc."""
        self._disc(centre[0] * _OVERSAMPLING, centre[1] * _OVERSAMPLING, radius * _OVERSAMPLING, colour)

    def fill(self, first: Point, second: Point, colour: str) -> None:
        """Fill a rectangle between two corners."""
        x = sorted(corner[0] * _OVERSAMPLING for corner in (first, second))
        y = sorted(corner[1] * _OVERSAMPLING for corner in (first, second))
        self._draw.rectangle([x[0], y[0], x[1], y[1]], colour)

    def _disc(self, x: float, y: float, radius: float, colour: str) -> None:
        self._draw.ellipse([x - radius, y - radius, x + radius, y + radius], colour)

    def write(self, position: Point, text: str, size: int, colour: str, anchor: str) -> None:
        """Write text; `anchor` is Pillow's: where in the text the position lies."""
        scaled = (position[0] * _OVERSAMPLING, position[1] * _OVERSAMPLING)
        self._draw.text(scaled, text.translate(_SPELLINGS), colour, self._font(size), anchor)

    def measure(self, text: str, size: int) -> float:
        """Return the width of a text."""
        return self._draw.textlength(text.translate(_SPELLINGS), self._font(size)) / _OVERSAMPLING


def _find_part(value: float, low: float, high: float, is_log: bool) -> float:
    """Return how far a value lies from `low` to `high`, as a part of the way."""
    if is_log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def _find_width(points: Sequence[Point]) -> float:
    """Return how far apart the points of bars are."""
    return min((second[0] - first[0] for first, second in pairwise(sorted(points))), default=1.0)


def _pair_up(x: Iterable[float], y: Iterable[float]) -> list[Point]:
    """Turn coordinates, of NumPy or not, into points."""
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _spell(value: float) -> str:
    """Write the number of a tick."""
    return f"{value:.6g}"

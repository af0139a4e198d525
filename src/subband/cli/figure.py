"""Small line plots as pictures, drawn with Pillow, so that the bare install can plot.

A `Figure` is a grid of `Panel`; each panel holds curves or stems over one pair of axes. Pillow does not
smooth lines, so everything is drawn larger than asked for and reduced at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from subband.errors import ArgumentError

__all__ = ["BLUE", "ORANGE", "Figure", "Panel", "choose_ticks"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]

BLUE, ORANGE = "#1f5f99", "#d1642a"
_PAPER, _INK, _GREY, _GRID = "#ffffff", "#222222", "#666666", "#e4e4e4"
# How much larger than asked for a figure is drawn.
_OVERSAMPLING = 3
_TITLE_SIZE, _TEXT_SIZE, _TICK_SIZE = 20, 14, 12


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


@dataclass
class _Series:
    """One set of points and how they are drawn."""

    points: list[Point]
    colour: str
    label: str
    is_stems: bool


@dataclass
class Panel:
    """One pair of axes with what is drawn over them.

    Parameters
    ----------
    title, x_label, y_label : str
        What stands above, below and at the upper left.
    """

    title: str
    x_label: str
    y_label: str
    _series: list[_Series] = field(default_factory=list)

    def add_curve(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Join points by a line; labels, where given, make a legend."""
        self._series.append(_Series(_pair_up(x, y), colour, label, is_stems=False))

    def add_stems(self, y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a dot for each value of a sequence and a line down to zero."""
        values = [float(value) for value in y]
        self._series.append(_Series(list(enumerate(values)), colour, label, is_stems=True))

    def limits(self) -> Box:
        """Return left, bottom, right and top of the data, with some air around."""
        points = [point for series in self._series for point in series.points]
        left, right = min(x for x, _ in points), max(x for x, _ in points)
        bottom, top = min(0.0, *(y for _, y in points)), max(0.0, *(y for _, y in points))
        air = (top - bottom) * 0.08 or 1.0
        if any(series.is_stems for series in self._series):
            left, right = left - 0.6, right + 0.6
        elif left == right:
            left, right = left - 1.0, right + 1.0
        return left, bottom - air, right, top + air

    def draw(self, pen: _Pen, box: Box) -> None:
        """Draw the panel into a box (left, top, right, bottom) of a picture."""
        left, top, right, bottom = box[0] + 58, box[1] + 48, box[2] - 16, box[3] - 42
        x_low, y_low, x_high, y_high = self.limits()

        def place(x: float, y: float) -> Point:
            across = (x - x_low) / (x_high - x_low)
            up = (y - y_low) / (y_high - y_low)
            return left + across * (right - left), bottom - up * (bottom - top)

        pen.write((left, box[1] + 8), self.title, _TEXT_SIZE + 1, _INK, "lt")
        pen.write((left, top - 5), self.y_label, _TICK_SIZE, _GREY, "lb")
        pen.write(((left + right) / 2, bottom + 22), self.x_label, _TICK_SIZE, _GREY, "mt")
        are_taps = all(series.is_stems for series in self._series)
        for tick in choose_ticks(x_low, x_high, 8 if right - left > 400 else 6):
            if not (are_taps and tick % 1):
                x, _ = place(tick, 0)
                pen.join([(x, top), (x, bottom)], _GRID, 1)
                pen.write((x, bottom + 6), _spell(tick), _TICK_SIZE, _GREY, "mt")
        for tick in choose_ticks(y_low, y_high):
            _, y = place(x_low, tick)
            pen.join([(left, y), (right, y)], _GRID, 1)
            pen.write((left - 7, y), _spell(tick), _TICK_SIZE, _GREY, "rm")
        zero = place(x_low, 0)[1]
        pen.join([(left, zero), (right, zero)], _GREY, 1)
        pen.join([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], _GREY, 1)
        for series in self._series:
            if series.is_stems:
                many = len(series.points) > 40
                for x, y in series.points:
                    pen.join([place(x, 0), place(x, y)], series.colour, 1.2 if many else 1.8)
                    pen.dot(place(x, y), 2.2 if many else 3.6, series.colour)
            else:
                pen.join([place(x, y) for x, y in series.points], series.colour, 1.8)
        self._draw_legend(pen, right, top)

    def _draw_legend(self, pen: _Pen, right: float, top: float) -> None:
        """Name the labelled series in the upper right corner."""
        labelled = [series for series in self._series if series.label]
        for row, series in enumerate(labelled):
            y = top + 14 + 18 * row
            start = right - 12 - pen.measure(series.label, _TICK_SIZE)
            pen.write((start, y), series.label, _TICK_SIZE, _INK, "lm")
            pen.join([(start - 28, y), (start - 8, y)], series.colour, 2.4)


class Figure:
    """A titled grid of panels.

    Parameters
    ----------
    title : str
        What stands above the grid.
    panels : sequence of sequence of Panel
        Rows from top to bottom, each from left to right.
    panel_size : tuple of int
        Width and height of a panel in pixels.

    Examples
    --------
    >>> panel = Panel("a parabola", "x", "y")
    >>> panel.add_curve([0, 1, 2, 3], [0, 1, 4, 9])
    >>> Figure("Curves", [[panel]]).render().size
    (460, 316)
    """

    def __init__(self, title: str, panels: Sequence[Sequence[Panel]], panel_size: tuple[int, int] = (460, 260)) -> None:
        self.title = title
        self.panels = panels
        self.panel_size = panel_size

    def render(self) -> Image.Image:
        """Draw everything and return the picture."""
        width, height = self.panel_size
        header = 56
        size = (width * max(len(row) for row in self.panels), header + height * len(self.panels))
        pen = _Pen(size)
        pen.write((24, 20), self.title, _TITLE_SIZE, _INK, "lt")
        for row, panels in enumerate(self.panels):
            # A row with fewer panels than the widest one stretches them.
            share = size[0] / len(panels)
            for column, panel in enumerate(panels):
                top = header + row * height
                panel.draw(pen, (column * share, top, (column + 1) * share, top + height))
        return pen.picture.resize(size, Image.Resampling.LANCZOS)

    def save(self, path: Path) -> None:
        """Write the picture in the format that the ending of the path names.

        Raises
        ------
        ArgumentError
            If Pillow writes no format of that ending.
        """
        if path.suffix.lower() not in Image.registered_extensions():
            raise ArgumentError(f"{path.name!r} does not end like a picture; take a name such as plot.png")
        self.render().save(path)


class _Pen:
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

    def _disc(self, x: float, y: float, radius: float, colour: str) -> None:
        self._draw.ellipse([x - radius, y - radius, x + radius, y + radius], colour)

    def write(self, position: Point, text: str, size: int, colour: str, anchor: str) -> None:
        """Write text; `anchor` is Pillow's: where in the text the position lies."""
        scaled = (position[0] * _OVERSAMPLING, position[1] * _OVERSAMPLING)
        self._draw.text(scaled, text, colour, self._font(size), anchor)

    def measure(self, text: str, size: int) -> float:
        """Return the width of a text."""
        return self._draw.textlength(text, self._font(size)) / _OVERSAMPLING


def _pair_up(x: Iterable[float], y: Iterable[float]) -> list[Point]:
    """Turn coordinates, of NumPy or not, into points."""
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _spell(value: float) -> str:
    """Write the number of a tick."""
    return f"{value:.6g}"

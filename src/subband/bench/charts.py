"""Charts of what has names instead of numbers along an axis: bars that lie, side by side or one behind the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TypeAlias

from subband.bench.figure import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    INK,
    ORANGE,
    TEXT_SIZE,
    TICK_SIZE,
    VIOLET,
    Box,
    Figure,
    Pen,
    choose_powers,
    choose_ticks,
)

__all__ = ["COLOURS", "BarChart", "Lengths", "draw_bars"]

#: Of bars; None where there is none.
Lengths: TypeAlias = Sequence[float | None]

#: From a number to a place in the picture.
Place: TypeAlias = Callable[[float], float]

#: One for each series, in their order; more series than these begin again.
COLOURS = (BLUE, ORANGE, GREEN, VIOLET, "#b08d1e", "#3f9a98", "#b0436e", "#8a8a8a")

_WIDTH, _BAR, _GAP, _LINE = 920, 13, 9, 18
# What stands above and below the bars: title and legend, numbers and unit.
_ABOVE, _BELOW = 34, 44


@dataclass(frozen=True)
class BarChart:
    """Bars from the left, a group for each label and a bar for each series.

    Attributes
    ----------
    title, unit : str
        What stands above and below.
    labels : sequence of str
        Of the groups, from top to bottom.
    series : mapping of str to sequence of float or None
        Lengths of the bars, as many as there are labels; None where there is none.
    is_log : bool
        Whether equal factors are equally far apart. Bars begin at the smallest number then, or at `mark`.
    is_stacked : bool
        Whether the series stand one behind the other.
    mark : float or None
        A number that a line is drawn at.

    Examples
    --------
    >>> chart = BarChart("Speed", "ms", ["a", "b"], {"ours": [1.0, 2.0], "theirs": [3.0, None]})
    >>> chart.limits()
    (0.0, 3.24)
    """

    title: str
    unit: str
    labels: Sequence[str]
    series: Mapping[str, Lengths]
    is_log: bool = False
    is_stacked: bool = False
    mark: float | None = None

    @property
    def height(self) -> int:
        """Pixels from title to unit."""
        rows = 1 if self.is_stacked else len(self.series)
        return _ABOVE + _LINE + len(self.labels) * (rows * _BAR + _GAP) + _BELOW

    def limits(self) -> tuple[float, float]:
        """Return the smallest and largest number of the axis."""
        if self.is_stacked:
            numbers = [
                sum(values[place] or 0.0 for values in self.series.values()) for place in range(len(self.labels))
            ]
        else:
            numbers = [value for values in self.series.values() for value in values if value is not None]
        if self.mark is not None:
            numbers.append(self.mark)
        if self.is_log:
            numbers = [number for number in numbers if number > 0] or [1.0]
            return min(numbers) / 1.15, max(numbers) * 1.6
        low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
        return low * 1.08, (high or 1.0) * 1.08

    def draw(self, pen: Pen, box: Box) -> None:
        """Draw the chart into a box (left, top, right, bottom) of a picture."""
        widest = max((pen.measure(label, TICK_SIZE) for label in self.labels), default=0.0)
        left, right = box[0] + 24 + widest + 10, box[2] - 24
        top, bottom = box[1] + _ABOVE + _LINE, box[1] + self.height - _BELOW
        low, high = self.limits()

        def place(value: float) -> float:
            value = min(max(value, low), high)
            part = log(value / low) / log(high / low) if self.is_log else (value - low) / (high - low)
            return left + part * (right - left)

        pen.write((box[0] + 24, box[1] + 6), self.title, TEXT_SIZE + 1, INK, "lt")
        pen.write(((left + right) / 2, bottom + 22), self.unit, TICK_SIZE, GREY, "mt")
        self._draw_legend(pen, left, box[1] + _ABOVE + 4)
        for tick in choose_powers(low, high) if self.is_log else choose_ticks(low, high, 8):
            pen.join([(place(tick), top), (place(tick), bottom)], GRID, 1)
            pen.write((place(tick), bottom + 6), f"{tick:.6g}", TICK_SIZE, GREY, "mt")
        zero = place((self.mark or low) if self.is_log else 0.0)
        y = top + _GAP / 2
        rows = 1 if self.is_stacked else len(self.series)
        for number, label in enumerate(self.labels):
            pen.write((left - 10, y + rows * _BAR / 2), label, TICK_SIZE, INK, "rm")
            for row, start, end, colour in self._lay_bars(number, place, zero):
                pen.fill((start, y + row * _BAR + 1), (end, y + (row + 1) * _BAR - 1), colour)
            if not self.is_stacked:
                self._write_numbers(pen, number, place, zero, y)
            y += rows * _BAR + _GAP
        pen.join([(left, bottom), (right, bottom)], GREY, 1)
        if self.mark is not None:
            pen.join([(place(self.mark), top), (place(self.mark), bottom)], INK, 1.5)

    def _lay_bars(self, number: int, place: Place, zero: float) -> Iterator[tuple[int, float, float, str]]:
        """Yield row, start, end and colour of the bars of a group."""
        reached = 0.0
        for row, values in enumerate(self.series.values()):
            value, colour = values[number], COLOURS[row % len(COLOURS)]
            if value is None:
                continue
            if self.is_stacked:
                yield 0, place(reached), place(reached + value), colour
                reached += value
            else:
                yield row, zero, place(value), colour

    def _write_numbers(self, pen: Pen, number: int, place: Place, zero: float, y: float) -> None:
        """Write the length of each bar behind it."""
        for row, values in enumerate(self.series.values()):
            value = values[number]
            if value is not None:
                text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
                pen.write((max(place(value), zero) + 5, y + (row + 0.5) * _BAR), text, TICK_SIZE - 2, GREY, "lm")

    def _draw_legend(self, pen: Pen, left: float, y: float) -> None:
        """Name the series in one line, where there are several."""
        if len(self.series) < 2:
            return
        for row, name in enumerate(self.series):
            pen.fill((left, y), (left + 12, y + 10), COLOURS[row % len(COLOURS)])
            pen.write((left + 17, y + 5), name, TICK_SIZE, INK, "lm")
            left += 17 + pen.measure(name, TICK_SIZE) + 18


def draw_bars(title: str, *charts: BarChart) -> Figure:
    """Draw charts one below the other.

    Examples
    --------
    >>> draw_bars("Speed", BarChart("", "ms", ["a", "b"], {"ours": [1.0, 2.0]})).render().size
    (920, 196)
    """
    heights = [chart.height for chart in charts]
    return Figure(title, [[chart] for chart in charts], (_WIDTH, max(heights)), heights)

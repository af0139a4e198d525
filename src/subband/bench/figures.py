"""Figures of reports: described as data, and drawn by matplotlib when they are asked for.

A `Figure` is a grid of panels. A `Panel` holds curves, dots, bars or stems over a pair of axes; a `BarChart` holds
horizontal bars of what has names instead of numbers along an axis, and a `DotChart` dots. Reports are made without
matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from subband.bench.libraries import load_library
from subband.errors import ArgumentError
from subband.outputs import open_output

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "ORANGE",
    "VIOLET",
    "BarChart",
    "DotChart",
    "Figure",
    "Lengths",
    "Panel",
    "Series",
    "draw_bars",
    "draw_histograms",
]

BLUE, ORANGE, GREEN, VIOLET, GREY, INK = "#1f5f99", "#d1642a", "#3d7f4e", "#7a4f9a", "#666666", "#222222"

#: One for each series, in their order; more series than these begin again.
COLOURS = (BLUE, ORANGE, GREEN, VIOLET, "#b08d1e", "#3f9a98", "#b0436e", "#8a8a8a")

#: Of bars; None where there is none.
Lengths: TypeAlias = Sequence[float | None]

_DPI = 100
_SMALL, _MIDDLE, _LARGE = 8, 10, 14
# Pixels of a title above the grid, of a bar and the gap between groups, and of title, legend and axis around bars.
_TITLE, _BAR, _GAP, _AROUND = 56, 13, 9, 96


@dataclass(frozen=True)
class Series:
    """Points of a panel, and how they are drawn; a label, where there is one, makes a legend."""

    kind: Literal["curve", "dots", "bars", "stems"]
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    label: str

    def draw(self, axes: Any) -> None:
        """Draw the points over a pair of axes."""
        if self.kind == "curve":
            axes.plot(self.x, self.y, color=self.colour, label=self.label)
        elif self.kind == "dots":
            axes.plot(self.x, self.y, "o", markersize=5, color=self.colour, label=self.label)
        elif self.kind == "bars":
            width = 0.84 * min(np.diff(np.sort(self.x)), default=1.0)
            axes.bar(self.x, self.y, width, color=self.colour, label=self.label)
        else:
            axes.vlines(self.x, 0, self.y, color=self.colour, label=self.label)
            axes.plot(self.x, self.y, "o", markersize=5 if len(self.x) <= 40 else 3, color=self.colour)
            axes.axhline(0, color=GREY, linewidth=0.8)
            axes.locator_params(axis="x", integer=True)


@dataclass
class Panel:
    """One pair of axes with what is drawn over them.

    Parameters
    ----------
    title, x_label, y_label : str
        What stands above, below and at the left.
    is_x_log, is_y_log : bool
        Whether equal factors, not equal differences, are equally far apart.
    """

    title: str
    x_label: str
    y_label: str
    is_x_log: bool = False
    is_y_log: bool = False
    series: list[Series] = field(default_factory=list)

    def add_curve(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Join points by a line."""
        self.series.append(Series("curve", list(x), list(y), colour, label))

    def add_dots(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a dot for each point."""
        self.series.append(Series("dots", list(x), list(y), colour, label))

    def add_bars(self, x: Iterable[float], y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a vertical bar from zero to each point, as wide as the points are apart."""
        self.series.append(Series("bars", list(x), list(y), colour, label))

    def add_stems(self, y: Iterable[float], colour: str = BLUE, label: str = "") -> None:
        """Draw a dot for each value of a sequence and a line down to zero."""
        values = list(y)
        self.series.append(Series("stems", range(len(values)), values, colour, label))

    def draw(self, axes: Any) -> None:
        """Draw everything over a pair of axes of matplotlib."""
        axes.set_title(self.title, loc="left", fontsize=_MIDDLE)
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        for axis, is_log in ((axes.xaxis, self.is_x_log), (axes.yaxis, self.is_y_log)):
            _scale_axis(axis, is_log)
        axes.grid(visible=True)
        for series in self.series:
            series.draw(axes)
        if any(series.label for series in self.series):
            axes.legend(fontsize=_SMALL)


@dataclass(frozen=True)
class BarChart:
    """A horizontal bar chart: a group for each label and a bar for each series.

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
        return _AROUND + len(self.labels) * (rows * _BAR + _GAP)

    def limits(self) -> tuple[float, float]:
        """Return the smallest and largest number of the axis."""
        groups = [[values[index] or 0.0 for values in self.series.values()] for index in range(len(self.labels))]
        if self.is_stacked:
            numbers = [sum(group) for group in groups]
        else:
            numbers = [value for values in self.series.values() for value in values if value is not None]
        if self.mark is not None:
            numbers.append(self.mark)
        if self.is_log:
            numbers = [number for number in numbers if number > 0] or [1.0]
            return min(numbers) / 1.15, max(numbers) * 1.6
        low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
        return low * 1.08, (high or 1.0) * 1.08

    def draw(self, axes: Any) -> None:
        """Draw everything over a pair of axes of matplotlib."""
        low, high = self.limits()
        self._draw_axes(axes)
        zero = (self.mark or low) if self.is_log else 0.0
        starts = np.zeros(len(self.labels))
        thickness = 0.8 if self.is_stacked else 0.8 / len(self.series)
        for row, (name, values) in enumerate(self.series.items()):
            groups = np.array([index for index, value in enumerate(values) if value is not None], int)
            lengths = np.array([value for value in values if value is not None], float)
            positions = groups if self.is_stacked else groups - 0.4 + thickness * (row + 0.5)
            begins = starts[groups] if self.is_stacked else np.full(len(groups), zero)
            ends = begins + lengths if self.is_stacked else np.clip(lengths, low, high)
            colour = COLOURS[row % len(COLOURS)]
            axes.barh(positions, ends - begins, thickness, begins, color=colour, label=name, zorder=2)
            starts[groups] += lengths
            for position, length, begin in zip(positions, lengths, begins, strict=True):
                if not self.is_stacked:
                    text = f"{length:,.0f}" if abs(length) >= 100 else f"{length:.3g}"
                    spot = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
                    axes.annotate(text, (max(length, begin), position), color=GREY, **spot)
        self._draw_mark(axes)

    def _draw_axes(self, axes: Any) -> None:
        axes.set_title(self.title, loc="left", fontsize=_MIDDLE)
        axes.set_xlabel(self.unit)
        _scale_axis(axes.xaxis, self.is_log)
        axes.set_xlim(*self.limits())
        axes.set_yticks(range(len(self.labels)), self.labels)
        axes.invert_yaxis()
        axes.grid(visible=True, axis="x")
        axes.spines[["top", "right", "left"]].set_visible(False)

    def _draw_mark(self, axes: Any) -> None:
        """Draw the line that numbers are compared with, and tell series apart."""
        if self.mark is not None:
            axes.axvline(self.mark, color=INK, linewidth=1.2, zorder=3)
        if len(self.series) > 1:
            axes.figure.legend(loc="outside upper right", ncols=min(len(self.series), 5), fontsize=_SMALL)


@dataclass(frozen=True)
class DotChart(BarChart):
    """The same with a dot on one line for each series, where there are many labels.

    Examples
    --------
    >>> chart = DotChart("Speed", "ms", ["a", "b"], {"ours": [1.0, 2.0], "theirs": [3.0, None]})
    >>> chart.height < BarChart("Speed", "ms", ["a", "b"], chart.series).height
    True
    """

    @property
    def height(self) -> int:
        """Pixels from title to unit."""
        return _AROUND + len(self.labels) * (_BAR + _GAP // 2)

    def draw(self, axes: Any) -> None:
        """Draw everything over a pair of axes of matplotlib."""
        self._draw_axes(axes)
        axes.grid(visible=True, axis="y", linewidth=0.5)
        axes.set_ylim(len(self.labels) - 0.5, -0.5)
        for row, (name, values) in enumerate(self.series.items()):
            points = [(value, index) for index, value in enumerate(values) if value is not None]
            x, y = zip(*points, strict=True) if points else ((), ())
            axes.plot(x, y, "o", markersize=5, color=COLOURS[row % len(COLOURS)], label=name, alpha=0.85)
        self._draw_mark(axes)


class Drawable(Protocol):
    """A panel that fills one position of the grid of a figure."""

    def draw(self, axes: Any) -> None:
        """Draw itself over a pair of axes of matplotlib."""


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

    def draw(self) -> Any:
        """Draw everything, and return the figure of matplotlib."""
        library = load_library("matplotlib")
        # A row with fewer panels than the widest one stretches them.
        size = self.panel_size[0] * max(len(row) for row in self.panels), _TITLE + sum(self.heights)
        style = {"font.size": _SMALL, "axes.edgecolor": GREY, "grid.color": "#e4e4e4", "axes.axisbelow": True}
        with library.rc_context(style):
            made = library.figure.Figure([length / _DPI for length in size], _DPI, layout="constrained")
            library.backends.backend_agg.FigureCanvasAgg(made)
            made.suptitle(self.title, fontsize=_LARGE)
            rows = np.ravel(made.subfigures(len(self.panels), 1, height_ratios=self.heights))
            for row, panels in zip(rows, self.panels, strict=True):
                for axes, panel in zip(np.ravel(row.subplots(1, len(panels))), panels, strict=True):
                    panel.draw(axes)
        return made

    def render(self) -> Image:
        """Draw everything and return the image."""
        from PIL.Image import fromarray

        canvas = self.draw().canvas
        canvas.draw()
        return fromarray(np.array(canvas.buffer_rgba())[..., :3])

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the figure in the format that the ending of the path names; it appears when it is complete.

        Raises
        ------
        ArgumentError
            If nothing writes files of that ending, the folder does not exist, or a file is there that must stay.
        MissingExtraError
            If matplotlib is not installed.
        OutputError
            If the disk is full, or the folder takes no files.
        """
        from PIL.Image import registered_extensions

        path, formats = Path(path), registered_extensions()
        ending = path.suffix.lower()
        if ending not in formats and ending != ".svg":
            raise ArgumentError(f"{path.name!r} does not end like an image; take a name such as plot.png")
        drawn: Any = self.draw() if ending in (".svg", ".pdf") else self.render()
        with open_output(path, overwrite=overwrite) as file:
            if ending in (".svg", ".pdf"):
                drawn.savefig(file, format=ending[1:])
            else:
                drawn.save(file, formats[ending])


def draw_bars(title: str, *charts: BarChart) -> Figure:
    """Draw bar charts one below the other.

    Examples
    --------
    >>> draw_bars("Speed", BarChart("", "ms", ["a", "b"], {"ours": [1.0, 2.0]})).render().size
    (920, 196)
    """
    heights = [chart.height for chart in charts]
    return Figure(title, [[chart] for chart in charts], (920, max(heights)), heights)


def draw_histograms(title: str, seconds: Mapping[str, Sequence[float]]) -> Figure:
    """Draw how many frames took how many milliseconds, side by side.

    Examples
    --------
    >>> len(draw_histograms("Frames", {"forward": [0.01, 0.02]}).panels[0])
    1
    """
    panels = []
    for (name, times), colour in zip(seconds.items(), COLOURS, strict=False):
        counts, edges = np.histogram(1e3 * np.asarray(times), 24)
        panel = Panel(name, "milliseconds", "frames")
        panel.add_bars((edges[:-1] + edges[1:]) / 2, counts, colour)
        panels.append(panel)
    return Figure(title, [panels])


def _scale_axis(axis: Any, is_log: bool) -> None:
    """Write plain numbers along an axis; where factors count, at 1, 2 and 5 of each power of ten."""
    if not is_log:
        return
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())

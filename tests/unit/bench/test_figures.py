"""Figures as files, and bar charts: where bars begin, how long they are, and in which colour."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageColor

from subband.bench.figures import COLOURS, BarChart, DotChart, Figure, Panel, draw_bars
from subband.errors import ArgumentError, MissingExtraError


@pytest.fixture
def figure():
    panel = Panel("curve", "x", "y")
    panel.add_curve([0, 1], [0, 1])
    return Figure("One", [[panel]])


def count_pixels(figure, colour):
    picture = np.asarray(figure.render())
    return int((picture == ImageColor.getrgb(colour)).all(axis=-1).sum())


def find_axes(figure):
    """Return the axes that matplotlib has drawn, one for each panel."""
    return figure.draw().axes


@pytest.mark.parametrize("kind", [str, Path])
def test_a_name_is_a_text_or_a_path(figure, tmp_path, kind):
    path = tmp_path / "plot.PNG"
    figure.save(kind(path))
    with Image.open(path) as picture:
        assert picture.size == figure.render().size


@pytest.mark.parametrize("kind", [str, Path])
def test_other_endings_are_refused(figure, tmp_path, kind):
    with pytest.raises(ArgumentError, match=r"'plot\.txt' does not end like an image"):
        figure.save(kind(tmp_path / "plot.txt"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("ending", "magic"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("bmp", b"BM")])
def test_vectors_and_whatever_pillow_writes(figure, tmp_path, ending, magic):
    path = tmp_path / f"plot.{ending}"
    figure.save(path)
    assert path.read_bytes().startswith(magic)


def test_without_matplotlib_the_extra_is_named(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"subband\[bench\]"):
        figure.save(tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


def test_series_are_drawn_as_what_they_are():
    panel = Panel("all", "x", "y", is_x_log=True, is_y_log=True)
    panel.add_curve([1, 10, 100], [2, 20, 200], label="ours")
    panel.add_dots([1, 10], [3, 30])
    bars, stems = Panel("bars", "ms", "frames"), Panel("taps", "n", "")
    bars.add_bars([1, 3, 5], [5, 9, 2])
    stems.add_stems([0.5, -0.5])
    curves, heights, taps = find_axes(Figure("All", [[panel, bars], [stems]]))
    assert (curves.get_xscale(), heights.get_yscale()) == ("log", "linear")
    assert [list(line.get_ydata()) for line in curves.lines] == [[2, 20, 200], [3, 30]]
    assert [text.get_text() for text in curves.get_legend().get_texts()] == ["ours"]
    assert [bar.get_height() for bar in heights.patches] == [5, 9, 2]
    assert [bar.get_width() for bar in heights.patches] == pytest.approx([1.68] * 3)
    assert list(taps.lines[0].get_ydata()) == [0.5, -0.5]


def test_bars_are_as_long_as_their_numbers():
    chart = BarChart("", "ms", ["a", "b"], {"ours": [1.0, 0.0], "theirs": [0.0, 2.0]})
    figure = draw_bars("Speed", chart)
    # the squares of the legend are the same for both
    square = count_pixels(draw_bars("", BarChart("", "", ["a"], {"x": [0.0], "y": [0.0]})), COLOURS[0])
    ours, theirs = (count_pixels(figure, colour) - square for colour in COLOURS[:2])
    assert ours > 500
    assert theirs / ours == pytest.approx(2, rel=0.03)


def test_stacked_bars_stand_one_behind_the_other():
    chart = BarChart("", "%", ["a"], {"one": [25.0], "two": [50.0], "three": [25.0]}, is_stacked=True)
    assert chart.limits() == (0.0, 108.0)
    assert chart.height < BarChart("", "%", ["a"], chart.series).height
    (axes,) = find_axes(draw_bars("Shares", chart))
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 25), (25, 50), (75, 25)]


def test_missing_numbers_and_numbers_below_the_mark():
    chart = BarChart("", "times", ["a", "b"], {"ptwt": [4.0, 0.25], "jaxwt": [None, 2.0]}, is_log=True, mark=1.0)
    low, high = chart.limits()
    assert low < 0.25
    assert high > 4
    figure = draw_bars("Speed", chart)
    assert figure.render().height == chart.height + 56
    (axes,) = find_axes(figure)
    # all of them begin at the mark, those below it to the left
    assert [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches] == [(1, 4), (1, 0.25), (1, 2)]
    assert [text.get_text() for text in axes.texts] == ["4", "0.25", "2"]
    assert BarChart("", "", ["a"], {"x": [None]}, is_log=True).limits() == pytest.approx((1 / 1.15, 1.6))
    assert BarChart("", "", ["a"], {"x": [None]}).limits() == pytest.approx((0, 1.08))


def test_negative_numbers_begin_at_zero_too():
    chart = BarChart("", "dB", ["a", "b"], {"gain": [-1.0, 2.0]})
    assert chart.limits() == pytest.approx((-1.08, 2.16))
    (axes,) = find_axes(draw_bars("Gain", chart))
    assert [bar.get_x() + bar.get_width() for bar in axes.patches] == [-1, 2]


def test_the_font_has_every_letter_of_our_tables():
    # a letter that it lacks is a warning, and warnings are errors here
    labels = ["512²", "× ≥ ≤ µs ½ – —", "512"]
    pictures = [np.asarray(draw_bars("", BarChart("", "", [label], {"x": [1.0]})).render()) for label in labels]
    assert (pictures[0] != pictures[2]).any()


def test_dots_of_all_series_stand_on_one_line():
    chart = DotChart("Speed", "times", ["a", "b"], {"16": [1.0, 4.0], "64": [None, 2.0]}, is_log=True, mark=1.0)
    (axes,) = find_axes(draw_bars("Speed", chart))
    first, second, mark = axes.lines
    assert (list(first.get_xdata()), list(first.get_ydata())) == ([1.0, 4.0], [0, 1])
    assert (list(second.get_xdata()), list(second.get_ydata())) == ([2.0], [1])
    assert list(mark.get_xdata()) == [1.0, 1.0]
    assert axes.get_xlim() == pytest.approx(chart.limits())
    assert axes.get_ylim()[0] > axes.get_ylim()[1]

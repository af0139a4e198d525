"""Bars that lie: where they begin, how long they are, and in which colour."""

import numpy as np
import pytest
from PIL import ImageColor

from subband.bench.charts import COLOURS, BarChart, draw_bars


def count_pixels(figure, colour):
    picture = np.asarray(figure.render())
    return int((picture == ImageColor.getrgb(colour)).all(axis=-1).sum())


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
    figure = draw_bars("Shares", chart)
    one, two = (count_pixels(figure, colour) for colour in COLOURS[:2])
    assert 1.7 < two / one < 2.1


def test_missing_numbers_and_numbers_below_the_mark():
    chart = BarChart("", "times", ["a", "b"], {"ptwt": [4.0, 0.25], "jaxwt": [None, 2.0]}, is_log=True, mark=1.0)
    low, high = chart.limits()
    assert low < 0.25
    assert high > 4
    figure = draw_bars("Speed", chart)
    # a quarter is as far from one as four times are
    assert figure.render().height == chart.height + 56
    assert BarChart("", "", ["a"], {"x": [None]}, is_log=True).limits() == pytest.approx((1 / 1.15, 1.6))
    assert BarChart("", "", ["a"], {"x": [None]}).limits() == pytest.approx((0, 1.08))


def test_negative_numbers_begin_at_zero_too():
    assert BarChart("", "dB", ["a", "b"], {"gain": [-1.0, 2.0]}).limits() == pytest.approx((-1.08, 2.16))
    assert draw_bars("Gain", BarChart("", "dB", ["a", "b"], {"gain": [-1.0, 2.0]})).render()


def test_letters_that_the_font_lacks_are_spelled():
    pictures = [
        np.asarray(draw_bars("", BarChart("", "", [label], {"x": [1.0]})).render())
        for label in ("512²", "512^2", "512")
    ]
    np.testing.assert_array_equal(pictures[0], pictures[1])
    assert (pictures[1] != pictures[2]).any()

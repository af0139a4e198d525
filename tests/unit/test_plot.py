"""Plots draw what they are given, over the axes that they are given."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

import subband
from subband.errors import ArgumentTypeError, MissingExtraError, ShapeError

mpl.use("agg")

from matplotlib import pyplot as plt

IMAGE = subband.data.camera()[:64, :96]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_mosaic_of_an_image():
    pyramid = subband.decompose(IMAGE, "cdf53", 2)
    axes = pyramid.plot(gain=3)
    np.testing.assert_array_equal(axes.get_images()[0].get_array(), pyramid.picture(3))
    assert axes.get_title() == "2 levels of 'cdf53'"


def test_bands_of_a_signal():
    axes = subband.plot.mosaic(subband.decompose(IMAGE[0], "db2", 3))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a3", "d3", "d2", "d1"]
    assert len(axes.get_lines()) == 4


def test_volumes_are_refused():
    with pytest.raises(ShapeError, match="take a plane"):
        subband.plot.mosaic(subband.decompose(np.zeros((8, 8, 8)), "haar", 1))


def test_energies_are_those_of_the_bands():
    pyramid = subband.decompose(IMAGE, "db2", 2)
    heights = sorted(bar.get_height() for bar in subband.plot.energies(pyramid).patches)
    assert heights == pytest.approx(sorted(float(np.sum(b**2)) for _, key, b in pyramid.bands() if "d" in key))


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("db4", ["scaling function", "wavelet"]),
        ("cdf97", ["scaling function", "wavelet"]),
        (subband.Wavelet("haar"), ["scaling function", "wavelet"]),
        ("mexh", ["wavelet"]),
        ("cgau2", ["real part", "imaginary part"]),
    ],
    ids=str,
)
def test_wavelets(name, labels):
    assert [line.get_label() for line in subband.plot.wavelet(name).get_lines()] == labels


def test_scalogram_finds_the_frequency():
    times = np.arange(512) / 512
    axes = subband.plot.scalogram(np.sin(2 * np.pi * 40 * times), np.geomspace(4, 64, 40), sampling_period=1 / 512)
    (mesh,) = axes.collections
    strongest = mesh.get_array().mean(axis=1).argmax()
    frequencies = subband.cwt(times, np.geomspace(4, 64, 40), "cmor1.5-1.0", 1 / 512)[1]
    assert frequencies[strongest] == pytest.approx(40, rel=0.1)
    with pytest.raises(ShapeError, match="one dimension"):
        subband.plot.scalogram(IMAGE, [1, 2])


@pytest.mark.parametrize("length", [4, 16, 600])
def test_scalogram_finds_scales_of_its_own(length):
    (mesh,) = subband.plot.scalogram(np.sin(np.arange(length))).collections
    octaves = np.log2(max(length / 4, 4) / 2)
    assert mesh.get_array().shape == (1 + round(12 * octaves), length)


def test_given_axes_are_drawn_over_and_others_are_new():
    pyramid = subband.decompose(IMAGE, "haar", 1)
    _, mine = plt.subplots()
    assert subband.plot.mosaic(pyramid, mine) is mine
    assert subband.plot.mosaic(pyramid).figure is not mine.figure
    assert pyramid.plot(ax=mine) is subband.plot.energies(pyramid, ax=mine) is mine
    for draw in (subband.plot.mosaic, subband.plot.energies):
        with pytest.raises(ArgumentTypeError, match="pyramid is a ndarray; give what"):
            draw(IMAGE)
    with pytest.raises(ArgumentTypeError, match="axes of matplotlib"):
        subband.plot.mosaic(pyramid, 3)


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"subband\[plot\]"):
        subband.plot.wavelet("haar")


@pytest.mark.parametrize("name", ["db4", "cdf97", "haar"])
def test_notebooks_show_wavelets(name):
    html = subband.Wavelet(name)._repr_html_()
    assert html.count("<polyline") == 2
    assert "taps" in html


def test_notebooks_show_enhancers():
    html = subband.Enhancer([subband.enhance.Denoise("bayes"), subband.enhance.Sharpen(0.3)])._repr_html_()
    assert "sharpen 0.3" in html
    assert html.count("<tr>") == 5

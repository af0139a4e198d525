"""The phantom is the same each time, and its speckle is what the physics says."""

import numpy as np
import pytest

from subband.data.phantom import ultrasound
from subband.errors import ArgumentError, ShapeError


@pytest.fixture(scope="module")
def phantom():
    return ultrasound()


def test_pictures_are_repeatable(phantom):
    np.testing.assert_array_equal(ultrasound().show(), phantom.show())
    np.testing.assert_array_equal(phantom.scan(seed=3), phantom.scan(seed=3))
    assert not np.array_equal(phantom.scan(seed=3), phantom.scan(seed=4))


@pytest.mark.parametrize("shape", [(32, 32), (65, 47), (200, 512)])
def test_any_shape(shape):
    phantom = ultrasound(shape)
    for picture in (phantom.show(), phantom.scan(), phantom.scan(cell=(0.5, 1.0))):
        assert picture.shape == shape
        assert picture.dtype == np.uint8
    assert phantom.echoes.dtype == phantom.scan_echoes().dtype == np.float32
    assert np.ptp(phantom.show()) > 150


@pytest.mark.parametrize("cell", [(0.0, 0.0), (1.0, 1.5)])
def test_speckle_follows_rayleigh(phantom, cell):
    speckle = phantom.scan_echoes(seed=1, cell=cell) / phantom.echoes
    assert speckle.mean() == pytest.approx(1, abs=0.01)
    assert speckle.std() == pytest.approx(np.sqrt(4 / np.pi - 1), abs=0.01)
    assert np.log(speckle).std() == pytest.approx(np.pi / np.sqrt(24), abs=0.01)


def test_speckle_is_as_wide_as_the_cell(phantom):
    def correlate(speckle, axis):
        left, right = np.moveaxis(speckle, axis, 0)[:-1], np.moveaxis(speckle, axis, 0)[1:]
        return np.corrcoef(left.ravel(), right.ravel())[0, 1]

    sharp, wide = (phantom.scan_echoes(cell=cell) / phantom.echoes for cell in [(0, 0), (0.7, 1.5)])
    assert abs(correlate(sharp, 0)) < 0.01
    assert 0.3 < correlate(wide, 0) < correlate(wide, 1) < 0.95


def test_regions_have_the_contrast_they_say(phantom):
    shown = phantom.show(dynamic_range=60) * (60 / 255)
    assert len(phantom.regions) == 9
    for region in phantom.regions:
        contrast = shown[region.inside].mean() - shown[region.outside].mean()
        assert contrast == pytest.approx(region.contrast, abs=0.25)
        assert not (region.inside & region.outside).any()
        assert region.inside.sum() > 500


def test_speckle_costs_contrast(phantom):
    for region in phantom.regions:
        assert region.measure_contrast(phantom.scan()) < 0.2 * region.measure_contrast(phantom.show())


def test_contrast_of_flat_pictures(phantom):
    region = phantom.regions[0]
    assert region.measure_contrast(np.zeros((512, 512))) == 0
    assert region.measure_contrast(region.inside.astype(float)) == np.inf


def test_black_and_white_are_the_dynamic_range_apart(phantom):
    narrow, wide = phantom.show(40).astype(float), phantom.show(80).astype(float)
    inner = (narrow > 0) & (narrow < 255)
    np.testing.assert_allclose((narrow[inner] - 255) * 40, (wide[inner] - 255) * 80, atol=62)
    assert (narrow == 0).mean() > (wide == 0).mean()


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda phantom: ultrasound((8, 8)), ShapeError, "at least 32"),
        (lambda phantom: ultrasound((64, 64, 3)), ShapeError, "rows and columns"),
        (lambda phantom: phantom.scan(cell=(-1.0, 0.0)), ArgumentError, "cell"),
        (lambda phantom: phantom.show(0.0), ArgumentError, "dynamic_range=0.0"),
    ],
)
def test_bad_arguments_name_the_way_out(phantom, work, error, message):
    with pytest.raises(error, match=message):
        work(phantom)

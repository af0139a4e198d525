"""Images as callers hand them over, and textures made to fit."""

import numpy as np
import pytest

from subband.edit.images import fit_pixels, match_channels, take_image
from subband.errors import ArgumentError, DtypeError, ShapeError


def test_every_picture_goes_there_and_back(picture):
    taken = take_image(picture, "picture")
    assert taken.pixels.ndim == 3
    assert taken.channels in (1, 3)
    assert taken.pixels.flags.c_contiguous
    back = taken.put_back(taken.pixels)
    assert back.dtype == picture.dtype
    np.testing.assert_array_equal(back, picture)


@pytest.mark.parametrize(
    ("dtype", "white"), [("uint8", 255), ("uint16", 65535), ("int32", 2**31 - 1), ("float32", 1), ("float64", 1)]
)
def test_white(dtype, white):
    assert take_image(np.ones((2, 2), dtype), "picture").white == white
    given = take_image(np.ones((2, 2), dtype), "picture", 7.0).white
    assert given == (white if dtype.startswith("u") else 7.0)


def test_stretching_keeps_ramps_and_means():
    ramp = np.linspace(0, 1, 40)[np.newaxis, :, np.newaxis].repeat(6, axis=0)
    wide = fit_pixels(ramp, (6, 120), "stretch", "texture")[0, :, 0]
    assert (np.diff(wide) >= 0).all()
    noise = np.random.default_rng(0).uniform(size=(64, 60, 3))
    small = fit_pixels(noise, (16, 15), "stretch", "texture")
    np.testing.assert_allclose(small, noise.reshape(16, 4, 15, 4, 3).mean(axis=(1, 3)), atol=1e-12)
    odd = fit_pixels(noise, (17, 23), "stretch", "texture")
    assert odd.mean() == pytest.approx(noise.mean(), abs=1e-12)


def test_integers_stay_integers():
    picture = np.arange(48, dtype=np.uint16).reshape(4, 4, 3) * 1000
    for fit in ("tile", "mirror", "stretch"):
        for size in ((2, 2), (9, 3), (4, 4)):
            result = fit_pixels(picture, size, fit, "texture")
            assert result.shape == (*size, 3)
            assert result.dtype == np.uint16
            assert result.max() <= picture.max()


def test_a_constant_stays_constant():
    for fit in ("tile", "mirror", "stretch"):
        result = fit_pixels(np.full((5, 7, 1), 200, np.uint8), (13, 3), fit, "texture")
        assert (result == 200).all()


def test_channels():
    grey, colour = np.zeros((2, 3, 1)), np.zeros((2, 3, 3))
    assert match_channels(grey, 3, "texture").shape == (2, 3, 3)
    assert match_channels(colour, 1, "texture").shape == (2, 3, 3)
    assert match_channels(colour, 3, "texture") is colour


def test_what_is_refused():
    for shape in ((), (5,), (4, 5, 2), (4, 5, 6), (2, 4, 5, 3), (0, 4)):
        with pytest.raises(ShapeError, match="picture has shape"):
            take_image(np.zeros(shape), "picture")
    with pytest.raises(DtypeError, match="real"):
        take_image(np.zeros((4, 5), complex), "picture")
    with pytest.raises(ArgumentError, match="NaN or infinite"):
        take_image(np.full((4, 5), np.inf), "picture")

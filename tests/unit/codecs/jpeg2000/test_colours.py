"""Colours of pixels, taken apart many at a time, are those of the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from subband.codecs.jpeg2000.colours import join_planes, split_planes
from subband.codecs.jpeg2000.parameters import ComponentSize

#: Pixels of a row: fewer than are taken apart at a time, as many, and with each kind of remainder.
WIDTHS = (1, 15, 16, 17, 40, 95)


def draw_pixels(width, bits, dtype):
    return np.random.default_rng(width).integers(0, 1 << bits, (9, width, 3)).astype(dtype)


def list_layouts(pixels):
    """Return the components of pixels, lying pixel by pixel, with a fourth one, in rows of others, and apart."""
    more = np.zeros((*pixels.shape[:2], 4), pixels.dtype)
    more[..., :3] = pixels
    wide = np.zeros((9, pixels.shape[1] + 7, 3), pixels.dtype)
    wide[:, 3:-4] = pixels
    return pixels, more[..., :3], wide[:, 3:-4], np.asfortranarray(pixels), pixels[::-1][::-1]


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (12, np.uint16)])
@pytest.mark.parametrize("width", WIDTHS)
def test_reversible_colours(width, bits, dtype):
    pixels = draw_pixels(width, bits, dtype)
    r, g, b = np.moveaxis(pixels.astype(np.int64) - (1 << (bits - 1)), -1, 0)
    expected = np.stack([(r + 2 * g + b) >> 2, b - g, r - g])
    sizes = [ComponentSize(bits)] * 3
    for array in list_layouts(pixels):
        samples = [array[..., number] for number in range(3)]
        planes = split_planes(samples, sizes, is_reversible=True, has_colour_transform=True)
        np.testing.assert_array_equal(planes, expected)
    for goal in list_layouts(np.zeros_like(pixels)):
        join_planes(expected.astype(np.int32), goal, sizes, has_colour_transform=True)
        np.testing.assert_array_equal(goal, pixels)
        # nothing beside it was written to
        goal[...] = 0
        assert goal.base is None or not goal.base.any()


@pytest.mark.parametrize("width", WIDTHS)
def test_irreversible_colours_come_back(width):
    pixels = draw_pixels(width, 8, np.uint8)
    sizes = [ComponentSize(8)] * 3
    for array in list_layouts(pixels):
        samples = [array[..., number] for number in range(3)]
        planes = split_planes(samples, sizes, is_reversible=False, has_colour_transform=True)
        luma = array.astype(np.float64) @ (0.299, 0.587, 0.114) - 128
        np.testing.assert_allclose(planes[0], luma, atol=1e-4)
        goal = np.zeros_like(pixels)
        join_planes(planes, goal, sizes, has_colour_transform=True)
        np.testing.assert_array_equal(goal, pixels)


def test_numbers_out_of_range_are_clipped():
    """Those that 32 bits hold, whatever the sum with the level shift would be."""
    most = np.iinfo(np.int32).max
    plane = np.array([[[most, -most, 200, -200, 5]]], np.int32)
    out = np.zeros((1, 5, 1), np.uint8)
    join_planes(plane, out, [ComponentSize(8)], has_colour_transform=False)
    assert out.ravel().tolist() == [255, 0, 255, 0, 133]

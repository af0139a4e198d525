"""Frames of a video at the resolution of a screen: nearly the means that stills have."""

import numpy as np
import pytest

from subband.studio.reduction import reduce_pixels, reduce_quickly


@pytest.mark.parametrize("shape", [(40, 64), (40, 64, 3), (41, 63, 3), (40, 64, 2)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_quick_means_differ_by_a_rounding_at_most(shape, dtype, steps):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(dtype)
    quick, exact = reduce_quickly(pixels, steps), reduce_pixels(pixels, steps)
    # at an odd edge, means of what is left are weighed otherwise
    side = 2**steps
    inside = tuple(slice(length // side) for length in shape[:2])
    assert quick.dtype == exact.dtype
    assert quick.shape == exact.shape
    np.testing.assert_allclose(quick[inside].astype(float), exact[inside].astype(float), rtol=0, atol=1)

"""Fixed point on a GPU gives the integers of the host, bit by bit."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from subband import data
from subband.enhance import FixedPoint

pytestmark = pytest.mark.gpu

CASES = (
    ("haar", 8, "symmetric", "uint8"),
    ("db2", 12, "reflect", "uint8"),
    ("cdf97", 16, "whole", "uint16"),
    ("bior2.2", 16, "periodization", "float32"),
    ("db4", 10, "constant", "float16"),
    ("haar", 16, "periodic", "float64"),
)


@pytest.mark.parametrize(("wavelet", "bits", "mode", "dtype"), CASES)
def test_a_gpu_gives_the_integers_of_the_host(wavelet, bits, mode, dtype):
    picture = data.camera()[:301, :203]
    samples = picture / np.array(255, dtype) if dtype.startswith("float") else picture.astype(dtype)
    fixed = FixedPoint(wavelet, bits, mode)
    expected = fixed.forward(samples, 3)
    found = fixed.forward(cupy.asarray(samples), 3)
    for (level, key, right), (_, _, band) in zip(expected.bands(), found.bands(), strict=True):
        assert isinstance(band, cupy.ndarray)
        np.testing.assert_array_equal(band.get(), right, f"{key!r} of level {level}")
    np.testing.assert_array_equal(fixed.inverse(found).get(), fixed.inverse(expected))
    for (_, _, right), (_, _, band) in zip(
        expected.bands(), fixed.forward(samples, 3, engine="cuda").bands(), strict=True
    ):
        np.testing.assert_array_equal(band, right)

"""The dual-tree transform beside what pytorch_wavelets and dtcwt compute; write_dual_tree.py says how that was made."""

from __future__ import annotations

from itertools import count, takewhile
from pathlib import Path

import numpy as np
import pytest

from subband import DualTreePyramid, dtcwt, idtcwt

PUBLISHED = np.load(Path(__file__).with_name("dual_tree.npz"))
FILTERS = sorted(name.removesuffix(" x") for name in PUBLISHED.files if name.endswith(" x"))


def read(filters):
    """Return samples, low-pass coefficients, and the complex ones of each level."""
    levels = takewhile(lambda level: f"{filters} {level}" in PUBLISHED, count(1))
    x, lowpass = PUBLISHED[f"{filters} x"], PUBLISHED[f"{filters} lowpass"]
    return x, lowpass, [PUBLISHED[f"{filters} {level}"] for level in levels]


def test_every_filter_is_there():
    assert {name for filters in FILTERS for name in filters.split()} == {
        *("antonini", "legall", "near_sym_a", "near_sym_b"),
        *("qshift_06", "qshift_a", "qshift_b", "qshift_c", "qshift_d"),
    }
    assert {read(filters)[0].ndim for filters in FILTERS} == {1, 2, 3}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_coefficients_are_the_published_ones(filters, dtype):
    x, lowpass, highpasses = read(filters)
    ours = dtcwt(x.astype(dtype), *filters.split(), level=len(highpasses))
    # the taps of antonini are published with errors of 5e-15
    tolerance = {"float32": 3e-6, "float64": 1e-13}[dtype]
    assert ours.lowpass.dtype == dtype
    np.testing.assert_allclose(ours.lowpass, lowpass, atol=tolerance, rtol=0)
    for band, expected in zip(ours.highpasses, highpasses, strict=True):
        assert band.dtype == np.result_type(dtype, np.complex64)
        np.testing.assert_allclose(band, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("filters", FILTERS)
def test_published_coefficients_become_samples(filters):
    x, lowpass, highpasses = read(filters)
    plan = dtcwt(x, *filters.split(), level=len(highpasses)).plan
    np.testing.assert_allclose(idtcwt(DualTreePyramid(lowpass, highpasses, plan)), x, atol=1e-13, rtol=0)

"""Numbers that follow from the definitions, with pencil and paper."""

from __future__ import annotations

import numpy as np
import pytest

from subband import decompose, reconstruct
from subband.boundary import MODES
from subband.engines import get_engine
from subband.plan import level_plan
from subband.testing import all_wavelets, imprecision
from subband.wavelets import as_wavelet

ROOT = np.sqrt(2.0)


@pytest.fixture(params=["reference", "cpu"])
def engine(request):
    return get_engine(request.param)


def level(engine, x, name, mode, reversible=False):
    x = np.asarray(x)
    plan = level_plan(x.shape, (x.ndim - 1,), (as_wavelet(name),), (mode,), reversible)
    bands = engine.forward(plan, x)
    return bands["a"], bands["d"]


def test_haar(engine):
    low, high = level(engine, [1.0, 3.0, 5.0, 2.0], "haar", "symmetric")
    np.testing.assert_allclose(low, [4 / ROOT, 7 / ROOT], atol=1e-14)
    np.testing.assert_allclose(high, [-2 / ROOT, 3 / ROOT], atol=1e-14)


def test_haar_of_an_image(engine):
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    bands = engine.forward(level_plan((2, 2), (0, 1), (as_wavelet("haar"),) * 2, ("zero",) * 2), x)
    expected = {"aa": 5.5, "ad": -1.5, "da": -2.5, "dd": 0.5}
    assert {key: round(float(band[0, 0]), 12) for key, band in bands.items()} == expected


def test_daubechies_two(engine):
    """An impulse answers with the filter: every second tap of each, reversed by the convolution."""
    root = np.sqrt(3.0)
    taps = np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * ROOT)
    x = np.zeros(12)
    x[6] = 1.0
    low, high = level(engine, x, "db2", "zero")
    np.testing.assert_allclose(low[low != 0], [taps[2], taps[0]], atol=1e-12)
    np.testing.assert_allclose(high[np.abs(high) > 1e-9], [taps[1], taps[3]], atol=1e-12)


def test_a_constant_has_no_details(engine):
    """Every mode that goes on with the constant sees nothing but it."""
    for wavelet in all_wavelets():
        for mode in MODES:
            if mode in ("zero", "antisymmetric") or (mode == "whole" and not wavelet.is_whole_sample_symmetric):
                continue
            low, high = level(engine, np.full(19, 3.0), wavelet, mode)
            close = 1e-11 + 10 * imprecision(wavelet)
            np.testing.assert_allclose(low, 3.0 * ROOT, atol=close, err_msg=f"{wavelet} {mode}")
            np.testing.assert_allclose(high, 0.0, atol=close, err_msg=f"{wavelet} {mode}")


def test_a_straight_line_goes_on_straight(engine):
    """With two vanishing moments a ramp has no details where the mode goes on with the ramp."""
    for name in ("db2", "db5", "sym4", "coif2", "bior2.2", "cdf97", "cdf53"):
        for mode in ("smooth", "antireflect"):
            _, high = level(engine, np.arange(10.0), name, mode)
            np.testing.assert_allclose(high, 0.0, atol=1e-8)


@pytest.mark.parametrize("moments", [2, 3, 4, 6, 8])
def test_vanishing_moments(engine, moments):
    """A polynomial of a lower degree has no details inside."""
    x = np.polynomial.Polynomial(np.arange(1.0, moments + 1.0))(np.linspace(-1.0, 1.0, 200))
    _, high = level(engine, x, f"db{moments}", "zero")
    inside = high[moments:-moments]
    assert np.abs(inside).max() < 1e-9 * np.abs(x).max()


def test_cdf97_gains(engine):
    """Low of a constant, and high of an alternating signal, are multiplied by the square root of two."""
    x = np.ones(21)
    low, _ = level(engine, x, "cdf97", "whole")
    np.testing.assert_allclose(low, ROOT, atol=1e-12)
    alternating = 1.0 - 2.0 * (np.arange(21) % 2)
    low, high = level(engine, alternating, "cdf97", "whole")
    np.testing.assert_allclose(low, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(high), ROOT, atol=1e-12)


def test_cdf53_of_whole_numbers(engine):
    """``d = x1 - floor((x0 + x2) / 2)`` and ``s = x0 + floor((d0 + d1 + 2) / 4)``, mirrored at both ends."""
    low, high = level(engine, np.array([10, 13, 25, 26, 29, 21, 7, 15]), "cdf53", "whole", True)
    assert high.tolist() == [13 - 17, 26 - 27, 21 - 18, 15 - 7]
    assert low.tolist() == [
        10 + (-4 - 4 + 2 >> 2),
        25 + (-4 - 1 + 2 >> 2),
        29 + (-1 + 3 + 2 >> 2),
        7 + (3 + 8 + 2 >> 2),
    ]


def test_s_transform(engine):
    """A difference and a mean rounded down; the odd one out stays as it is."""
    low, high = level(engine, np.array([7, 4, -3, 2, 5]), "haar", "whole", True)
    assert high.tolist() == [-3, 5]
    assert low.tolist() == [5, -1, 5]


def test_single_samples_stay_as_they_are(engine):
    for name in ("cdf53", "haar"):
        low, high = level(engine, np.array([-7]), name, "whole", True)
        assert (low.tolist(), high.tolist()) == ([-7], [])
    low, high = level(engine, np.array([2.5]), "cdf97", "whole")
    np.testing.assert_allclose(low, 2.5 * ROOT, atol=1e-12)
    assert high.size == 0


def test_bytes_of_a_checkerboard():
    x = np.indices((9, 7)).sum(axis=0).astype(np.uint8) % 2 * 255
    pyramid = decompose(x, "haar", 1, reversible=True)
    assert pyramid.details[0]["dd"].tolist() == [[-510] * 3] * 4
    np.testing.assert_array_equal(reconstruct(pyramid), x)

"""The reference engine gives PyWavelets' numbers: all of its wavelets, all of its modes, both directions."""

from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband.boundary import PYWAVELETS_MODES
from subband.engines import get_engine
from subband.plan import level_plan
from subband.stationary import stationary_plan
from subband.testing import draw_samples
from subband.wavelets import as_wavelet

REFERENCE = get_engine("reference")

NAMES = pywt.wavelist(kind="discrete")

#: Both compute in double precision with the same filters, in another order.
CLOSE = {"rtol": 0.0, "atol": 1e-12}


def test_there_are_106_names_and_nine_modes():
    assert len(NAMES) == 106
    assert tuple(pywt.Modes.modes) == PYWAVELETS_MODES


@pytest.mark.parametrize("mode", PYWAVELETS_MODES)
def test_every_wavelet(mode):
    # PyWavelets does not mirror a single sample at itself
    shortest = 2 if "reflect" in mode else 1
    for name in NAMES:
        for length in (shortest, 3, 8, 21, 64):
            x = draw_samples((2, length), seed=length)
            plan = level_plan((2, length), (1,), (as_wavelet(name),), (mode,))
            low, high = pywt.dwt(x, name, mode)
            bands = REFERENCE.forward(plan, x)
            # extrapolated values are many times larger than samples, and so is their rounding
            close = CLOSE | {"atol": CLOSE["atol"] * max(1.0, np.abs(low).max(), np.abs(high).max())}
            np.testing.assert_allclose(bands["a"], low, **close, err_msg=f"{name} {length}")
            np.testing.assert_allclose(bands["d"], high, **close, err_msg=f"{name} {length}")
            noise = {key: draw_samples(shape, seed=3) for key, shape in plan.band_shapes.items()}
            y = pywt.idwt(noise["a"], noise["d"], name, mode)
            np.testing.assert_allclose(REFERENCE.inverse(plan, noise), y[:, :length], **CLOSE)


@pytest.mark.parametrize("mode", PYWAVELETS_MODES)
def test_axes(mode):
    x = draw_samples((5, 8, 11))
    modes = (mode, "symmetric", "periodization")
    for axes in ((0,), (2, 0), (0, 1, 2), (2, 1, 0)):
        names = ("db3", "bior2.4", "haar")[: len(axes)]
        plan = level_plan(x.shape, axes, tuple(map(as_wavelet, names)), modes[: len(axes)])
        expected = pywt.dwtn(x, names, modes[: len(axes)], axes)
        bands = REFERENCE.forward(plan, x)
        assert bands.keys() == expected.keys()
        for key, band in bands.items():
            np.testing.assert_allclose(band, expected[key], **CLOSE)
        restored = pywt.idwtn(expected, names, modes[: len(axes)], axes)
        inner = tuple(slice(0, n) for n in x.shape)
        np.testing.assert_allclose(REFERENCE.inverse(plan, bands), restored[inner], **CLOSE)


def test_complex_numbers():
    x = draw_samples((3, 17), "complex128")
    plan = level_plan((3, 17), (1,), (as_wavelet("sym5"),), ("antireflect",))
    low, high = pywt.dwt(x, "sym5", "antireflect")
    bands = REFERENCE.forward(plan, x)
    np.testing.assert_allclose(bands["a"], low, **CLOSE)
    np.testing.assert_allclose(bands["d"], high, **CLOSE)


def test_every_wavelet_undecimated():
    for name in NAMES:
        for level, length in ((1, 2), (1, 34), (2, 36), (3, 40)):
            x = draw_samples((2, length), seed=length)
            plan = stationary_plan((2, length), (1,), (as_wavelet(name),), level)
            [(low, high)] = pywt.swt(x, name, level=1, start_level=level - 1)
            bands = REFERENCE.stationary_forward(plan, x)
            np.testing.assert_allclose(bands["a"], low, **CLOSE, err_msg=f"{name} {length}")
            np.testing.assert_allclose(bands["d"], high, **CLOSE, err_msg=f"{name} {length}")

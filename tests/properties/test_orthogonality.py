"""Orthogonal wavelets with periodization keep energy and inner products; undecimated ones follow a shift."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subband import decompose
from subband.engines import get_engine
from subband.plan import level_plan
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.testing.strategies import LevelCase, frames, samples, stationary_cases, wavelets

ENGINE = get_engine("cpu")


def energy(arrays):
    return sum(float(np.sum(np.abs(array.astype(np.complex128)) ** 2)) for array in arrays)


@st.composite
def orthogonal_levels(draw):
    frame = draw(frames(step=2))
    chosen = tuple(draw(wavelets(orthogonal=True)) for _ in frame.axes)
    plan = level_plan(frame.shape, frame.axes, chosen, ("periodization",) * len(chosen))
    return LevelCase(plan, draw(samples(frame.shape)))


@given(orthogonal_levels())
def test_level_keeps_energy(case):
    before, after = energy([case.x]), energy(ENGINE.forward(case.plan, case.x).values())
    assert abs(after - before) <= 4 * relative_tolerance(case.x.dtype, case.wavelets) * before


@given(orthogonal_levels())
def test_inverse_is_the_adjoint(case):
    """``<forward x, c> = <x, inverse c>``."""
    plan, x = case.plan, case.x
    coefficients = {key: draw_samples(shape, x.dtype, n) for n, (key, shape) in enumerate(plan.band_shapes.items())}
    bands, y = ENGINE.forward(plan, x), ENGINE.inverse(plan, coefficients)
    left = sum(np.vdot(coefficients[key].astype(complex), band.astype(complex)) for key, band in bands.items())
    right = np.vdot(y.astype(complex), x.astype(complex))
    sizes = np.sqrt(energy([x]) * energy(coefficients.values()))
    assert abs(left - right) <= 4 * relative_tolerance(x.dtype, case.wavelets) * sizes


@given(st.data())
def test_pyramid_keeps_energy(data):
    wavelet = data.draw(wavelets(orthogonal=True))
    level = data.draw(st.integers(1, 3))
    frame = data.draw(frames(step=2**level))
    x = data.draw(samples(frame.shape))
    pyramid = decompose(x, wavelet, level, "periodization", frame.axes)
    before, after = energy([x]), energy(band for _, _, band in pyramid.bands())
    assert abs(after - before) <= 4 * relative_tolerance(x.dtype, [wavelet] * len(frame.axes), level) * before


@given(stationary_cases(), st.integers(-5, 5))
def test_undecimated_level_follows_a_shift(case, shift):
    plan, x = case.plan, case.x
    bands = ENGINE.stationary_forward(plan, x)
    shifted = ENGINE.stationary_forward(plan, np.roll(x, shift, plan.axes))
    tolerance = relative_tolerance(x.dtype, case.wavelets, same_filters=True)
    for key, band in bands.items():
        assert_close(shifted[key], np.roll(band, shift, plan.axes), tolerance, largest(x, bands), key)

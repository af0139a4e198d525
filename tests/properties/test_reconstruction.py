"""What was transformed comes back: to rounding for numbers, to the bit for whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subband import decompose, reconstruct
from subband.boundary import MODES
from subband.engines import get_engine
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.testing.strategies import (
    frames,
    level_cases,
    modes,
    reversible_cases,
    samples,
    stationary_cases,
    wavelets,
)

ENGINE = get_engine("cpu")

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i2", ">i4")


@given(level_cases())
def test_one_level(case):
    bands = ENGINE.forward(case.plan, case.x)
    y = ENGINE.inverse(case.plan, bands)
    assert y.dtype == case.x.dtype
    assert_close(y, case.x, relative_tolerance(case.x.dtype, case.wavelets), largest(case.x, bands))


@given(stationary_cases())
def test_one_undecimated_level(case):
    bands = ENGINE.stationary_forward(case.plan, case.x)
    y = ENGINE.stationary_inverse(case.plan, bands)
    assert y.dtype == case.x.dtype
    assert_close(y, case.x, relative_tolerance(case.x.dtype, case.wavelets), largest(case.x, bands))


@given(reversible_cases())
def test_one_reversible_level(case):
    np.testing.assert_array_equal(ENGINE.inverse(case.plan, ENGINE.forward(case.plan, case.x)), case.x)


@given(st.data())
def test_pyramid(data):
    frame = data.draw(frames())
    chosen = [data.draw(wavelets()) for _ in frame.axes]
    x = data.draw(samples(frame.shape))
    pyramid = decompose(x, chosen, None, [data.draw(modes(wavelet)) for wavelet in chosen], frame.axes)
    y = reconstruct(pyramid)
    assert y.dtype == x.dtype
    scale = largest(x, *(band for _, _, band in pyramid.bands()))
    assert_close(y, x, relative_tolerance(x.dtype, chosen, pyramid.level), scale)


@given(st.data())
def test_pyramid_to_the_last_coefficient(data):
    """Modes without extra coefficients go on until one is left along the longest axis."""
    frame = data.draw(frames())
    mode, names = data.draw(st.sampled_from([("whole", ("cdf97", "cdf53", "bior2.6")), ("periodization", ("db3",))]))
    wavelet = data.draw(st.sampled_from(names))
    level = max((frame.shape[axis] - 1).bit_length() for axis in frame.axes)
    x = draw_samples(frame.shape)
    pyramid = decompose(x, wavelet, max(level, 1), mode, frame.axes)
    assert all(pyramid.approximation.shape[axis] == 1 for axis in frame.axes)
    scale = largest(x, *(band for _, _, band in pyramid.bands()))
    tolerance = relative_tolerance(x.dtype, [pyramid.plan.wavelets[0]] * len(frame.axes), level)
    assert_close(reconstruct(pyramid), x, tolerance, scale)
    if mode == "whole":
        assert pyramid.plan.size == x.size


@given(st.data())
def test_undecimated_pyramid_of_any_size_in_any_mode(data):
    frame = data.draw(frames(most_axes=2))
    wavelet = data.draw(wavelets())
    mode = data.draw(st.sampled_from(MODES))
    x = data.draw(samples(frame.shape))
    pyramid = decompose(x, wavelet, None, mode, frame.axes, stationary=True)
    y = reconstruct(pyramid)
    assert y.dtype == x.dtype
    scale = largest(x, *(band for _, _, band in pyramid.bands()))
    assert_close(y, x, relative_tolerance(x.dtype, [wavelet] * len(frame.axes), pyramid.level), scale)


@given(st.data())
def test_reversible_pyramid(data):
    frame = data.draw(frames())
    dtype = np.dtype(data.draw(st.sampled_from(INTEGERS)))
    wavelet = data.draw(st.sampled_from(("cdf53", "haar")))
    limits = np.iinfo(dtype)
    # what fits 32 bits with the growth of up to three axes and many levels
    low, high = max(limits.min, -(2**24)), min(limits.max, 2**24)
    seed = data.draw(st.integers(0, 2**16))
    x = np.random.default_rng(seed).integers(low, high, frame.shape, endpoint=True).astype(dtype)
    most = max(1, *((frame.shape[axis] - 1).bit_length() for axis in frame.axes))
    level = data.draw(st.integers(0, most if wavelet == "cdf53" else 1))
    pyramid = decompose(x, wavelet, level, axes=frame.axes, reversible=True)
    assert all(band.dtype == np.int32 for _, _, band in pyramid.bands())
    y = reconstruct(pyramid)
    assert y.dtype == dtype.newbyteorder("=")
    np.testing.assert_array_equal(y, x)


@given(st.data())
def test_extreme_bytes_are_exact(data):
    """The largest swings that a dtype has: nothing may wrap round on the way."""
    frame = data.draw(frames())
    dtype = np.dtype(data.draw(st.sampled_from(("int8", "uint8", "int16", "uint16"))))
    limits = np.iinfo(dtype)
    seed = data.draw(st.integers(0, 2**16))
    x = np.random.default_rng(seed).choice([limits.min, limits.max], frame.shape).astype(dtype)
    for wavelet in ("cdf53", "haar"):
        np.testing.assert_array_equal(reconstruct(decompose(x, wavelet, axes=frame.axes, reversible=True)), x)

from __future__ import annotations

import numpy as np
import pytest

from subband import Wavelet, decompose, dwt, idwt, reconstruct
from subband.errors import ArgumentError, IntegerRangeError, LevelError, ModeError

RNG = np.random.default_rng(6)


def test_quantised_bands_are_numbers_like_others():
    pyramid = decompose(RNG.standard_normal((40, 41)) * 10, level=2)
    for dtype in (np.int64, np.float16, np.longdouble):
        rounded = pyramid.map(lambda band, level, key, dtype=dtype: np.rint(band).astype(dtype))
        wanted = reconstruct(pyramid.map(lambda band, level, key: np.rint(band)))
        np.testing.assert_allclose(reconstruct(rounded), wanted, atol=1e-3)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize(
    "change", [lambda lo, hi: (2 * lo, 2 * hi), lambda lo, hi: (lo, -hi), lambda lo, hi: (lo[::-1], hi)]
)
def test_filters_that_do_not_reconstruct_are_used_as_they_are(engine, change):
    dec_lo, dec_hi, rec_lo, rec_hi = map(np.array, Wavelet("bior2.2").filter_bank)
    own = Wavelet("own", filter_bank=[dec_lo, dec_hi, *change(rec_lo, rec_hi)])
    x = RNG.standard_normal(31)
    low, high = dwt(x, "bior2.2")
    wanted = sum(
        np.convolve(np.insert(c, range(1, c.size), 0), taps)[4:-4]
        for c, taps in ((low, change(rec_lo, rec_hi)[0]), (high, change(rec_lo, rec_hi)[1]))
    )
    found = reconstruct(decompose(x, own, 1, engine=engine), engine=engine)
    np.testing.assert_allclose(found, wanted[: x.size], atol=1e-12)
    np.testing.assert_allclose(idwt(low, high, own)[: wanted.size], wanted, atol=1e-12)


def test_reversible_needs_a_wavelet_and_a_mode_that_are():
    with pytest.raises(ArgumentError, match="'cdf97' has no reversible form; use one of cdf53"):
        decompose(np.arange(9), reversible=True)
    with pytest.raises(ArgumentError, match="no reversible form"):
        decompose(np.arange(9), Wavelet("haar", filter_bank=Wavelet("db2").filter_bank), reversible=True)
    with pytest.raises(ModeError, match="'zero' cannot be reversible"):
        decompose(np.arange(9), "haar", mode="zero", reversible=True)
    assert decompose(np.arange(9), "haar", mode="whole", reversible=True).plan.modes == ("whole",)


def test_changed_integer_bands_overflow_loudly():
    pyramid = decompose(np.arange(100, dtype=np.uint8), "cdf53", 2, reversible=True)
    with pytest.raises(IntegerRangeError, match="uint8 holds 0 to 255"):
        reconstruct(pyramid.map(lambda band, level, key: band * 10))
    with pytest.raises(IntegerRangeError, match="32 bits"):
        reconstruct(pyramid.map(lambda band, level, key: band.astype(np.int64) + 2**62))


@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_extreme_integers_are_exact(value):
    x = np.full((6, 7), value, np.int32)
    np.testing.assert_array_equal(reconstruct(decompose(x, "cdf53", reversible=True)), x)


def test_single_samples_do_not_keep_other_axes_from_being_transformed():
    x = RNG.standard_normal((1, 100))
    pyramid = decompose(x)
    assert pyramid.level == 3
    np.testing.assert_allclose(reconstruct(pyramid), x)


def test_decimated_levels_are_limited_by_the_longest_axis():
    x = RNG.standard_normal((16, 512))
    pyramid = decompose(x, "db4", level=6)
    np.testing.assert_allclose(reconstruct(pyramid), x, atol=1e-9)
    with pytest.raises(LevelError, match="level=7 is too large for axis 1 of length 512 with 'db4'; the maximum is 6"):
        decompose(x, "db4", level=7)
    with pytest.raises(LevelError, match="level=7 is too large for axis 0 of length 512"):
        decompose(x.T, "db4", level=7)


def test_undecimated_levels_are_limited_by_the_shortest_axis():
    with pytest.raises(LevelError, match="axis 1 of length 2 with 'haar'; the maximum is 1"):
        decompose(np.ones((4096, 2)), "haar", level=9, stationary=True)


@pytest.mark.parametrize("stationary", [False, True])
def test_no_levels_is_a_copy(stationary):
    x = np.ones(5)
    pyramid = decompose(x, level=0, stationary=stationary)
    assert not np.shares_memory(pyramid.approximation, x)
    assert not np.shares_memory(reconstruct(pyramid), pyramid.approximation)

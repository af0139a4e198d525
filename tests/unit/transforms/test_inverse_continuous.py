"""The inverse of the continuous transform: what comes back, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband import cwt, icwt, set_threads
from subband.errors import ArgumentError, AxesError, DtypeError, ShapeError
from subband.wavelets import ContinuousWavelet, admissibility_constant

#: What is left of a chirp at most, as a part of it, by wavelets whose scales cover its band ten times an octave.
ERRORS = {
    "mexh": 0.003,
    "morl": 0.001,
    "gaus1": 0.03,
    "gaus2": 0.001,
    "gaus4": 0.001,
    "cgau4": 0.001,
    "cmor1.5-1.0": 0.001,
    "shan1.5-1.0": 0.02,
    "fbsp2-1.5-1.0": 0.01,
    "db4": 0.001,
    "sym5": 0.001,
}
LENGTH = 2048
SCALES = np.geomspace(0.7, 1024, 160)


def draw_chirp(length=LENGTH):
    """Return a chirp from 0.01 to 0.09 cycles a sample that begins and ends softly."""
    t = np.arange(length)
    return np.sin(2 * np.pi * (0.01 * t + 0.04 * t**2 / length)) * np.hanning(length)


def measure_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("wavelet", ERRORS)
def test_a_chirp_comes_back(wavelet):
    x = draw_chirp()
    found = icwt(cwt(x, SCALES, wavelet)[0], SCALES, wavelet)
    assert found.shape == x.shape
    assert found.dtype == np.float64
    assert measure_error(found, x) < ERRORS[wavelet]


def test_what_is_outside_the_band_of_the_scales_is_lost():
    t = np.arange(LENGTH)
    low, high = (np.sin(2 * np.pi * frequency * t) * np.hanning(LENGTH) for frequency in (0.01, 0.1))
    # the frequencies of these are 0.05 to 0.4
    scales = np.geomspace(2, 16, 40)
    found = icwt(cwt(low + high, scales, "morl")[0], scales, "morl")
    assert measure_error(found, high) < 0.01


def test_the_mean_is_to_be_added():
    x = draw_chirp()
    found = icwt(cwt(x + 3, SCALES, "morl")[0], SCALES, "morl")
    middle = slice(LENGTH // 4, -LENGTH // 4)
    assert abs(np.mean(found[middle])) < 0.5
    assert measure_error(found[middle] - np.mean(found[middle]), x[middle]) < 0.3


def test_it_is_linear():
    rng = np.random.default_rng(2)
    a, b = (cwt(rng.normal(size=200), [2, 4, 8], "cmor1.5-1.0")[0] for _ in range(2))
    both = icwt(2 * a - 3 * b, [2, 4, 8], "cmor1.5-1.0")
    each = [icwt(coefs, [2, 4, 8], "cmor1.5-1.0") for coefs in (a, b)]
    np.testing.assert_allclose(both, 2 * each[0] - 3 * each[1], atol=1e-12)


def test_scales_may_come_in_any_order():
    order = np.random.default_rng(1).permutation(SCALES.size)
    coefs, _ = cwt(draw_chirp(), SCALES, "morl")
    np.testing.assert_allclose(icwt(coefs[order], SCALES[order], "morl"), icwt(coefs, SCALES, "morl"), atol=1e-12)


def test_scales_beyond_half_the_sampling_rate_do_not_count():
    coefs, frequencies = cwt(draw_chirp(), SCALES, "morl")
    coefs[frequencies > 0.5] = 1e3
    assert measure_error(icwt(coefs, SCALES, "morl"), draw_chirp()) < 0.001


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_every_axis_can_be_inverted(axis):
    x = np.moveaxis(np.multiply.outer([[1.0, -2.0, 3.0]] * 2, draw_chirp(512)), -1, axis)
    found = icwt(cwt(x, SCALES, "mexh", axis=axis)[0], SCALES, "mexh", axis=axis)
    assert found.flags.c_contiguous
    assert measure_error(found, x) < 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_kind_of_numbers_comes_back(dtype):
    x = draw_chirp().astype(dtype)
    if x.dtype.kind == "c":
        x *= np.exp(0.7j)
    found = icwt(cwt(x, SCALES, "mexh")[0], SCALES, "mexh")
    assert found.dtype == x.dtype
    assert measure_error(found, x) < 0.003


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_wavelets_give_real_signals(dtype):
    found = icwt(cwt(draw_chirp().astype(dtype), SCALES, "cgau4")[0], SCALES, "cgau4")
    assert found.dtype == dtype


def test_coefficients_of_pywavelets_will_do():
    coefs, _ = pywt.cwt(draw_chirp(), SCALES, "morl")
    assert measure_error(icwt(coefs, SCALES, pywt.ContinuousWavelet("morl")), draw_chirp()) < 0.001


@pytest.mark.parametrize("order", range(1, 9))
def test_constants_of_derivatives_of_a_gaussian(order):
    # from the spectrum ω^n exp(-ω²/4) of unit energy
    odd = np.prod(np.arange(1, 2 * order, 2, dtype=float))
    expected = np.sqrt(2 * np.pi) * 2**order * np.prod(np.arange(1, order, dtype=float)) / odd
    assert admissibility_constant(f"gaus{order}") == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("wavelet", ["haar", "db2", "db4", "sym5", "coif2"])
def test_constants_of_orthogonal_wavelets_are_all_the_same(wavelet):
    assert admissibility_constant(wavelet) == pytest.approx(2 * np.log(2), rel=1e-3)


def test_constants_of_other_wavelets():
    assert admissibility_constant("mexh") == pytest.approx(8 * np.sqrt(np.pi) / 3, rel=1e-6)
    # a box of height 1 / bandwidth from 0.75 to 1.25
    assert admissibility_constant("shan0.5-1.0") == pytest.approx(2 * np.log(1.25 / 0.75), rel=0.02)
    # a narrow band of unit energy of its half at the frequency 5
    omega = np.linspace(0.01, 20, 100_000)
    spectrum = np.pi / 2 * np.exp(-((omega - 5) ** 2)) / omega
    assert admissibility_constant("morl") == pytest.approx(2 * spectrum.sum() * (omega[1] - omega[0]), rel=1e-4)


@pytest.mark.parametrize("wavelet", ["cmor1.0-0.5", "shan0.5-0.25", "fbsp1-1.0-0.5"])
def test_wavelets_with_a_mean_are_refused(wavelet):
    coefs, _ = cwt(draw_chirp(64), [2, 4], wavelet)
    with pytest.raises(ArgumentError, match=f"wavelet='{wavelet}' is not admissible"):
        icwt(coefs, [2, 4], wavelet)


def test_a_wavelet_told_to_be_real_is():
    wavelet = ContinuousWavelet("cgau4")
    wavelet.complex_cwt = False
    assert measure_error(icwt(cwt(draw_chirp(), SCALES, wavelet)[0], SCALES, wavelet), draw_chirp()) < 0.001


def test_changed_parameters_of_a_wavelet_are_heeded():
    wavelet = ContinuousWavelet("cmor1.5-1.1")
    coefs, _ = cwt(draw_chirp(), SCALES, wavelet)
    wavelet.center_frequency = 3.0
    expected = icwt(coefs, SCALES, "cmor1.5-1.1")
    assert measure_error(expected, draw_chirp()) < 0.001
    wavelet.center_frequency = 1.1
    np.testing.assert_array_equal(icwt(coefs, SCALES, wavelet), expected)


def test_threads_give_the_same():
    coefs, _ = cwt(draw_chirp(), SCALES, "morl")
    expected = icwt(coefs, SCALES, "morl")
    set_threads(1)
    try:
        np.testing.assert_array_equal(icwt(coefs, SCALES, "morl"), expected)
    finally:
        set_threads(None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: icwt(c, [2, 4], "morl"), ShapeError, "3 arrays for 2 scales"),
        (lambda c: icwt(c[0], [2, 4], "morl"), ShapeError, r"shape \(32,\)"),
        (lambda c: icwt(c[:, :0], [2, 4, 8], "morl"), ShapeError, "shape"),
        (lambda c: icwt(c, [2, 4, -1], "morl"), ArgumentError, "positive"),
        (lambda c: icwt(c, [2, 2, 2], "morl"), ArgumentError, "fewer than two different ones"),
        (lambda c: icwt(c, [0.5, 1, 2], "morl"), ArgumentError, "scales from 1.62 on"),
        (lambda c: icwt(c, [2, 4, 8], "cmor1.5-1.0"), ArgumentError, "coefs are real"),
        (lambda c: icwt(c, [2, 4, 8], "bior2.2"), ArgumentError, "not orthogonal"),
        (lambda c: icwt(c, [2, 4, 8], "quux"), ArgumentError, "quux"),
        (lambda c: icwt(c.reshape(3, 4, 8), [2, 4, 8], "morl", axis=2), AxesError, "axis=2"),
        (lambda c: icwt(["a"], [2, 4, 8], "morl"), DtypeError, "no numbers"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    coefs = np.random.default_rng(0).normal(size=(3, 32))
    with pytest.raises(error, match=message):
        call(coefs)

from __future__ import annotations

import pickle

import numpy as np
import pytest

from subband.errors import ArgumentError
from subband.wavelets import LiftingScheme, Step, Wavelet, factorise, wavelist
from subband.wavelets.cdf import CDF97_STEPS, cdf_scheme
from subband.wavelets.factorisation import MAX_AMPLIFICATION
from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import pack_filters
from subband.wavelets.rounding import measure_amplification, measure_filter_error

NAMES = wavelist(kind="discrete")
NO_LIFTING = {
    *(f"db{number}" for number in range(21, 39)),
    *(f"coif{number}" for number in range(7, 18)),
    "dmey",
}
LIFTED = [name for name in NAMES if name not in NO_LIFTING]


def _run_on_line(scheme, x, origin):
    """Run a scheme by its definition on an infinite signal: x[i] lies at i - origin, zeros around."""
    assert origin % 2 == 0
    samples = {i - origin: value for i, value in enumerate(x)}
    reach = len(x) + 200
    s = {n: samples.get(2 * n, 0.0) for n in range(-reach, reach)}
    d = {n: samples.get(2 * n + 1, 0.0) for n in range(-reach, reach)}
    for step in scheme.steps:
        source, target = (s, d) if step.kind == "predict" else (d, s)
        for n in target:
            target[n] += sum(tap * source.get(n + step.start + j, 0.0) for j, tap in enumerate(step.taps))
    span = range(-reach // 2, reach // 2)
    lo = [scheme.scale_lo * s[n + scheme.shift_lo] for n in span]
    hi = [scheme.scale_hi * d[n + scheme.shift_hi] for n in span]
    return np.array(lo), np.array(hi), span


def _convolve_on_line(taps, x, origin, span):
    """Convolve as PyWavelets does: sum of taps[k] * x[2n + 1 - k]."""
    samples = {i - origin: value for i, value in enumerate(x)}
    return np.array([sum(tap * samples.get(2 * n + 1 - k, 0.0) for k, tap in enumerate(taps)) for n in span])


@pytest.mark.parametrize("name", NAMES)
def test_which_wavelets_factor(name):
    assert (Wavelet(name).lifting is None) == (name in NO_LIFTING)


@pytest.mark.parametrize("name", LIFTED)
def test_rebuilt_filters_match_and_rounding_is_modest(name):
    wavelet = Wavelet(name)
    scheme = wavelet.lifting
    bank = FilterBank(*map(tuple, wavelet.filter_bank))
    assert measure_filter_error(scheme, bank) < 1e-11
    assert measure_amplification(scheme) <= MAX_AMPLIFICATION
    # As many multiplications as the definition allows: at most half of those of convolution, and a few. Which of the
    # schemes of a long filter rounds least is for rounding to say, and another processor may choose a longer one.
    assert scheme.tap_count <= wavelet.dec_len + 12


@pytest.mark.parametrize(
    "name",
    [
        "haar",
        "db2",
        "db5",
        "sym4",
        "coif2",
        "bior1.3",
        "bior3.5",
        "bior4.4",
        "bior5.5",
        "rbio2.8",
        "rbio5.5",
        "cdf53",
        "cdf97",
    ],
)
def test_bands_equal_convolution_sample_by_sample(name):
    wavelet = Wavelet(name)
    x = np.random.default_rng(2).standard_normal(17)
    lo, hi, span = _run_on_line(wavelet.lifting, x, origin=6)
    np.testing.assert_allclose(lo, _convolve_on_line(wavelet.dec_lo, x, 6, span), atol=1e-11)
    np.testing.assert_allclose(hi, _convolve_on_line(wavelet.dec_hi, x, 6, span), atol=1e-11)


# bior5.5 and rbio5.5 are symmetric about the other sample of a pair, which their steps cannot show
@pytest.mark.parametrize(
    "name", [name for name in LIFTED if Wavelet(name).is_whole_sample_symmetric and "5.5" not in name]
)
def test_symmetric_wavelets_have_symmetric_steps(name):
    assert Wavelet(name).lifting.is_symmetric


def test_wild_filters_have_no_steps():
    rng = np.random.default_rng(0)
    for _ in range(40):
        filters = 10.0 ** rng.uniform(-14, 14, (4, 6)) * rng.choice([-1, 1], (4, 6))
        assert Wavelet("wild", filter_bank=filters.tolist()).lifting is None


@pytest.mark.parametrize("name", ["cdf97", "bior4.4"])
def test_cdf97_is_four_steps(name):
    scheme = Wavelet(name).lifting
    assert [(step.kind, step.start) for step in scheme.steps] == [("predict", 0), ("update", -1)] * 2
    for step, weight in zip(scheme.steps, CDF97_STEPS, strict=True):
        assert step.taps == pytest.approx((weight, weight), abs=1e-10)
    assert (scheme.shift_lo, scheme.shift_hi) == (-2, -2)


def test_cdf97_is_exact():
    np.testing.assert_allclose(
        CDF97_STEPS,
        (-1.586134342059923558, -0.052980118572961415, 0.882911075530933296, 0.443506852043971152),
        rtol=0,
        atol=2.3e-16,
    )
    assert cdf_scheme("cdf97").scale_lo == pytest.approx(2**0.5 / 1.230174104914001, abs=1e-14)
    with pytest.raises(ArgumentError):
        cdf_scheme("cdf75")


def test_cdf53_is_the_exact_one_of_jpeg_2000():
    scheme = Wavelet("cdf53").lifting
    assert scheme.steps == (Step("predict", 0, (-0.5, -0.5)), Step("update", -1, (0.25, 0.25)))
    assert (scheme.scale_lo, scheme.shift_lo, scheme.shift_hi) == (2**0.5, -1, -1)


def test_lifting_is_computed_once_and_shared():
    wavelet = Wavelet("db3")
    assert wavelet.lifting is wavelet.lifting
    assert Wavelet("db3").lifting is wavelet.lifting
    assert factorise("db3") == wavelet.lifting
    assert factorise(wavelet) == wavelet.lifting


def test_scheme_is_a_value():
    scheme = Wavelet("cdf97").lifting
    assert scheme == pickle.loads(pickle.dumps(scheme)) == eval(repr(scheme))
    assert hash(scheme) == hash(eval(repr(scheme)))
    assert scheme != scheme.with_shifts(0, 0)
    with pytest.raises(AttributeError):
        scheme.scale_lo = 1.0
    assert isinstance(LiftingScheme([Step("update", 0, [1])]).steps[0].taps, tuple)


def test_errors_of_schemes():
    with pytest.raises(ArgumentError, match="neither"):
        Step("guess", 0, (1.0,))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="empty"):
        Step("predict", 0, ())
    with pytest.raises(ArgumentError, match="scale_hi=0"):
        LiftingScheme((), scale_hi=0.0)


def _random_scheme(rng, count):
    steps = tuple(
        Step(
            "predict" if i % 2 else "update",
            int(rng.integers(-3, 3)),
            tuple(rng.uniform(-1, 1, rng.integers(1, 4))),
        )
        for i in range(count)
    )
    return LiftingScheme(steps, scale_lo=1.5, scale_hi=-0.5, shift_lo=5, shift_hi=-7)


@pytest.mark.parametrize("seed", range(8))
def test_own_lifting_steps_make_a_bank_that_reconstructs(seed):
    rng = np.random.default_rng(seed)
    wavelet = Wavelet.from_lifting("mine", _random_scheme(rng, 1 + seed % 4))
    bank = wavelet.filter_bank
    assert {len(taps) for taps in bank} == {len(wavelet)}
    assert len(wavelet) % 2 == 0
    x = rng.standard_normal(21)
    lo, hi, span = _run_on_line(wavelet.lifting, x, origin=4)
    np.testing.assert_allclose(lo, _convolve_on_line(wavelet.dec_lo, x, 4, span), atol=1e-12)
    np.testing.assert_allclose(hi, _convolve_on_line(wavelet.dec_hi, x, 4, span), atol=1e-12)
    out = np.zeros(len(x))
    for band, rec in ((lo, wavelet.rec_lo), (hi, wavelet.rec_hi)):
        for n, value in zip(span, band, strict=True):
            for k, tap in enumerate(rec):
                place = 2 * n + k - len(wavelet) + 2 + 4
                if 0 <= place < len(x):
                    out[place] += value * tap
    np.testing.assert_allclose(out, x, atol=1e-11)


def test_a_bank_from_steps_can_be_factored_again():
    scheme, bank = pack_filters(_random_scheme(np.random.default_rng(3), 3))
    again = factorise(Wavelet("mine", bank))
    assert again is not None
    assert measure_filter_error(again, bank) < 1e-12
    assert measure_filter_error(scheme, bank) < 1e-14


@pytest.mark.parametrize(
    "bank", [np.ones((4, 2)), np.eye(4), np.zeros((4, 6)), np.random.default_rng(0).normal(size=(4, 8))]
)
def test_banks_that_do_not_reconstruct_have_no_lifting(bank):
    assert Wavelet("broken", bank).lifting is None


def test_a_bank_that_only_splits_has_no_steps():
    """Even and odd samples are the coefficients."""
    lazy = Wavelet("lazy", filter_bank=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert lazy.lifting.steps == ()

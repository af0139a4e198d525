from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import pywt

from subband.errors import ArgumentError, UnknownWaveletError
from subband.wavelets import ContinuousWavelet, LiftingScheme, Step, Wavelet, as_wavelet

DISCRETE = pywt.wavelist(kind="discrete")
R = 0.5**0.5
HAAR = ([R, R], [-R, R], [R, R], [R, -R])
PROPERTIES = (
    "dec_lo", "dec_hi", "rec_lo", "rec_hi", "dec_len", "rec_len", "filter_bank", "inverse_filter_bank",
    "name", "family_name", "short_family_name", "family_number", "number", "orthogonal", "biorthogonal",
    "symmetry", "vanishing_moments_psi", "vanishing_moments_phi",
)  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_everything_equals_pywavelets(name):
    ours, theirs = Wavelet(name), pywt.Wavelet(name)
    for attribute in PROPERTIES:
        # The repr tells -0.0 from 0.0 and shows every bit of a float.
        assert repr(getattr(ours, attribute)) == repr(getattr(theirs, attribute)), attribute
    assert str(ours) == str(theirs)
    assert len(ours) == len(theirs)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("level", [1, 4])
def test_wavefun_equals_pywavelets(name, level):
    ours, theirs = Wavelet(name).wavefun(level), pywt.Wavelet(name).wavefun(level)
    assert len(ours) == len(theirs)
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("flag", "value"), [("orthogonal", True), ("biorthogonal", True), ("biorthogonal", False)])
def test_wavefun_of_own_filters_equals_pywavelets(flag, value):
    ours, theirs = Wavelet("mine", HAAR), pywt.Wavelet("mine", HAAR)
    for wavelet in (ours, theirs):
        setattr(wavelet, flag, value)
    for left, right in zip(ours.wavefun(3), theirs.wavefun(3), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-12)


def test_wavefun_refuses_level_zero():
    with pytest.raises(ArgumentError, match="level=0"):
        Wavelet("db2").wavefun(0)


@pytest.mark.parametrize(("name", "twin"), [("cdf97", "bior4.4"), ("cdf53", "bior2.2")])
def test_cdf_is_bior_with_positive_high_pass(name, twin):
    ours, theirs = Wavelet(name), Wavelet(twin)
    np.testing.assert_allclose(np.abs(ours.filter_bank), np.abs(theirs.filter_bank), atol=1e-12)
    np.testing.assert_allclose([ours.dec_lo, ours.rec_lo], [theirs.dec_lo, theirs.rec_lo], atol=1e-12)
    np.testing.assert_allclose([ours.dec_hi, ours.rec_hi], np.negative([theirs.dec_hi, theirs.rec_hi]), atol=1e-12)
    assert max(ours.dec_hi, key=abs) > 0
    assert sum(ours.dec_lo) == pytest.approx(2**0.5, abs=1e-15)
    assert ours.family_name == "Cohen-Daubechies-Feauveau"
    assert (ours.orthogonal, ours.biorthogonal, ours.symmetry) == (False, True, "symmetric")
    assert ours.default_mode == "whole"
    assert ours.is_whole_sample_symmetric
    for left, right in zip(ours.wavefun(4), theirs.wavefun(4), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-10)


def test_cdf97_has_four_vanishing_moments():
    taps = np.array(Wavelet("cdf97").dec_hi)
    places = np.arange(len(taps)) - 4
    for power in range(4):
        assert abs(np.sum(taps * places.astype(float) ** power)) < 1e-13


def _reconstruct(bank, x):
    """Analyse and synthesise a periodic signal, by the definition of PyWavelets' layout."""
    dec_lo, dec_hi, rec_lo, rec_hi = bank
    size, length = len(x), len(dec_lo)
    out = np.zeros(size)
    for dec, rec in ((dec_lo, rec_lo), (dec_hi, rec_hi)):
        for n in range(size // 2):
            value = sum(dec[k] * x[(2 * n + 1 - k) % size] for k in range(length))
            for k in range(length):
                out[(2 * n + k - length + 2) % size] += value * rec[k]
    return out


@pytest.mark.parametrize("name", ["cdf53", "cdf97", "db3", "bior5.5", "rbio3.1"])
def test_perfect_reconstruction(name):
    x = np.random.default_rng(1).standard_normal(32)
    np.testing.assert_allclose(_reconstruct(Wavelet(name).filter_bank, x), x, atol=1e-10)


def test_whole_sample_symmetry():
    whole = {name for name in DISCRETE if Wavelet(name).is_whole_sample_symmetric}
    pairs = ("2.2", "2.4", "2.6", "2.8", "4.4", "5.5", "6.8")
    assert whole == {"dmey", *(f"bior{pair}" for pair in pairs), *(f"rbio{pair}" for pair in pairs)}
    assert {Wavelet(name).default_mode for name in DISCRETE} == {"symmetric"}


@pytest.mark.parametrize("name", ["DB3", "Sym8", "BIOR2.2", "CDF97"])
def test_names_in_any_case(name):
    assert Wavelet(name).name == name.lower()
    assert as_wavelet(name) is as_wavelet(name.lower())


def test_errors_of_names():
    with pytest.raises(TypeError, match="name or a filter_bank"):
        Wavelet()
    with pytest.raises(TypeError, match="not a string"):
        Wavelet(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^The `Wavelet` class"):
        Wavelet("gaus1")
    for name in ("cmord", "cmor1.5-1.0"):
        with pytest.raises(UnknownWaveletError) as caught:
            Wavelet(name)
        assert caught.value.args[0] == f"Invalid wavelet name '{name}'."
    with pytest.raises(ArgumentError, match="continuous"):
        Wavelet("cmor")
    with pytest.raises(UnknownWaveletError, match="'db38'"):
        Wavelet("db388")


@pytest.mark.parametrize(
    ("bank", "error", "words"),
    [
        (HAAR[:3], ValueError, "3 filters"),
        (([1, 2], [1, 2], [1, 2, 3], [1, 2, 3]), ValueError, r"\[2, 2, 3, 3\]"),
        (([],) * 4, ValueError, "dec_lo .* empty"),
        ((1, 2, 3, 4), ValueError, "0 dimensions"),
        (([[1, 2]],) * 4, ValueError, "2 dimensions"),
        ((["x"],) * 4, ValueError, "not a number"),
        (([1, 2], [1j, 2], [1, 2], [1, 2]), ValueError, "dec_hi .* complex"),
        (5, TypeError, "four filters"),
    ],
)
def test_errors_of_filter_banks(bank, error, words):
    with pytest.raises(error, match=words):
        Wavelet("mine", bank)


class _Foreign:
    filter_bank = HAAR
    name = "haar"


class _Ancient:
    def get_filters_coeffs(self):
        return HAAR


def test_own_filters():
    for source in (HAAR, np.array(HAAR), _Foreign(), Wavelet("haar"), pywt.Wavelet("haar")):
        wavelet = Wavelet("mine", source)
        assert wavelet.filter_bank == HAAR
        assert (wavelet.family_name, wavelet.number, wavelet.symmetry) == ("", None, "unknown")
        assert (wavelet.vanishing_moments_psi, wavelet.vanishing_moments_phi) == (0, 0)
        assert not wavelet.orthogonal
        assert not wavelet.biorthogonal
        assert str(wavelet) == str(pywt.Wavelet("mine", HAAR))
    with pytest.warns(DeprecationWarning, match="get_filters_coeffs"):
        assert Wavelet("mine", _Ancient()).filter_bank == HAAR


def test_odd_filters_are_padded_and_need_not_reconstruct():
    assert Wavelet("odd", ([1, 2, 3],) * 4).filter_bank == ([1.0, 2.0, 3.0, 0.0],) * 4


def test_flags_can_be_set_for_own_filters_only():
    wavelet = Wavelet("mine", HAAR)
    wavelet.orthogonal = wavelet.biorthogonal = True
    assert wavelet.orthogonal
    assert wavelet.biorthogonal
    assert wavelet != Wavelet("mine", HAAR)
    with pytest.raises(AttributeError, match="orthogonal of Wavelet"):
        Wavelet("db2").orthogonal = False


@pytest.mark.parametrize("attribute", ["name", "dec_lo", "filter_bank", "number", "lifting", "anything"])
def test_nothing_else_can_be_set(attribute):
    with pytest.raises(AttributeError):
        setattr(Wavelet("mine", HAAR), attribute, 1)


def test_filters_are_copies():
    wavelet = Wavelet("db2")
    wavelet.dec_lo[0] = 99.0
    wavelet.filter_bank[1][0] = 99.0
    assert wavelet == Wavelet("db2")
    assert wavelet.dec_lo[0] != 99.0


def test_deprecated_getters():
    wavelet = Wavelet("bior2.2")
    with pytest.warns(DeprecationWarning, match="filter_bank"):
        assert wavelet.get_filters_coeffs() == wavelet.filter_bank
    with pytest.warns(DeprecationWarning, match="inverse_filter_bank"):
        assert wavelet.get_reverse_filters_coeffs() == wavelet.inverse_filter_bank


def test_equality_and_hash():
    assert Wavelet("db2") == Wavelet("DB2")
    assert hash(Wavelet("db2")) == hash(Wavelet("db2"))
    assert Wavelet("haar") != Wavelet("db1")
    assert Wavelet("haar") != Wavelet("haar", HAAR)
    assert Wavelet("mine", HAAR) == Wavelet("mine", HAAR)
    assert Wavelet("db2") != "db2"
    assert len({Wavelet(name) for name in DISCRETE + DISCRETE}) == 106


SCHEME = LiftingScheme((Step("predict", 0, (-0.5, -0.5)), Step("update", -1, (0.25, 0.25))))


@pytest.mark.parametrize(
    "wavelet",
    [Wavelet("sym4"), Wavelet("cdf97"), Wavelet("mine", HAAR), Wavelet.from_lifting("mine", SCHEME)],
    ids=lambda wavelet: f"{wavelet.name}-{len(wavelet)}",
)
def test_pickle_copy_and_repr(wavelet):
    assert pickle.loads(pickle.dumps(wavelet)) == wavelet
    assert copy.deepcopy(wavelet) == wavelet
    assert eval(repr(wavelet)) == wavelet
    if wavelet.name == "mine":
        wavelet.orthogonal = True
        assert pickle.loads(pickle.dumps(wavelet)).orthogonal


def test_as_wavelet():
    wavelet = Wavelet("db2")
    assert as_wavelet(wavelet) is wavelet
    assert as_wavelet("db2") == wavelet
    assert as_wavelet(pywt.Wavelet("db2")) is as_wavelet("db2")
    assert as_wavelet(pywt.Wavelet("mine", HAAR)) == Wavelet("mine", HAAR)
    with pytest.raises(UnknownWaveletError):
        as_wavelet("")
    with pytest.raises(ArgumentError, match="continuous"):
        as_wavelet(ContinuousWavelet("morl"))
    with pytest.raises(ArgumentError, match="continuous"):
        as_wavelet("morl")
    for nothing in (None, 5, [1, 2]):
        with pytest.raises(TypeError, match="neither a name nor a Wavelet"):
            as_wavelet(nothing)

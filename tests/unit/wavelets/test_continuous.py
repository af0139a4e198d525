from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import pywt

from subband.errors import ArgumentError, UnknownWaveletError
from subband.wavelets import ContinuousWavelet, DiscreteContinuousWavelet, Wavelet, wavelist

BARE = ("cmor", "fbsp", "shan")
NAMES = [
    *(name for name in wavelist(kind="continuous") if name not in BARE),
    "cmor1.5-1.0", "cmor0.5-2", "shan1.5-1.0", "shan1-0.5", "fbsp2-1-1.5", "fbsp1-1.5-1", "fbsp3.0-0.5-2",
]  # fmt: skip
PROPERTIES = (
    "name", "family_name", "short_family_name", "family_number", "number", "symmetry",
    "orthogonal", "biorthogonal", "complex_cwt", "lower_bound", "upper_bound", "center_frequency",
    "bandwidth_frequency", "fbsp_order", "dt",
)  # fmt: skip


def _quietly(kind, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return kind(*args)


@pytest.mark.parametrize("name", [*NAMES, *BARE])
def test_properties_equal_pywavelets(name):
    ours, theirs = _quietly(ContinuousWavelet, name), _quietly(pywt.ContinuousWavelet, name)
    for attribute in PROPERTIES:
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("name", [*NAMES, *BARE])
@pytest.mark.parametrize("size", [{"level": 8}, {"length": 101}, {"length": 1}])
def test_wavefun_equals_pywavelets(name, size):
    ours = _quietly(ContinuousWavelet, name).wavefun(**size)
    theirs = _quietly(pywt.ContinuousWavelet, name).wavefun(**size)
    for left, right in zip(ours, theirs, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["gaus3", "cmor1.5-1.0"])
def test_single_precision(name):
    ours, theirs = (kind(name, np.float32).wavefun(6) for kind in (ContinuousWavelet, pywt.ContinuousWavelet))
    for left, right in zip(ours, theirs, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, atol=1e-5)


def test_setters():
    ours, theirs = (kind("fbsp2-1-1.5") for kind in (ContinuousWavelet, pywt.ContinuousWavelet))
    for wavelet in (ours, theirs):
        wavelet.lower_bound, wavelet.upper_bound = -4, 6
        wavelet.center_frequency, wavelet.bandwidth_frequency, wavelet.fbsp_order = 0.5, 2.0, 3
    for left, right in zip(ours.wavefun(length=50), theirs.wavefun(length=50), strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)
    ours.upper_bound = -4
    assert (ours.lower_bound, ours.upper_bound) == (None, None)
    with pytest.raises(ArgumentError, match="negative"):
        ours.fbsp_order = -1
    ours.fbsp_order = 0
    with pytest.raises(ArgumentError, match="fbsp_order=0"):
        ours.wavefun()
    ours.bandwidth_frequency = 0
    with pytest.raises(ArgumentError, match="bandwidth_frequency"):
        ours.wavefun()
    with pytest.raises(AttributeError):
        ours.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", BARE)
def test_bare_names_warn(name):
    for kind in (ContinuousWavelet, DiscreteContinuousWavelet):
        # each time, though a name is read once
        for _ in range(2):
            with pytest.warns(FutureWarning, match=f"'{name}"):
                kind(name)


def test_wavelets_of_one_name_are_changed_by_themselves():
    first, second = ContinuousWavelet("cmor1.5-1.0"), ContinuousWavelet("cmor1.5-1.0")
    first.center_frequency, first.upper_bound, first.complex_cwt = 2.0, 3.0, False
    assert (second.center_frequency, second.upper_bound, second.complex_cwt) == (1.0, 8.0, True)
    assert ContinuousWavelet("cmor1.5-1.0").center_frequency == 1.0


def test_dtypes_that_are_no_keys_are_named():
    with pytest.raises(ArgumentError, match="neither float32 nor float64"):
        ContinuousWavelet("morl", [("a", "f4")])


@pytest.mark.parametrize(
    "name",
    ["cmor1.0", "cmorB-C", "shan1-1-1", "cmor1.5-", "fbsp1.5-1-1", "fbsp0-1-1", "fbsp1", "fbspM-B-C", "db3"],
)
def test_names_that_cannot_be_read(name):
    with pytest.raises(ArgumentError, match=name):
        ContinuousWavelet(name)


def test_unknown_names_and_types():
    with pytest.raises(UnknownWaveletError, match="'gaus8'"):
        ContinuousWavelet("gaus9")
    with pytest.raises(UnknownWaveletError):
        ContinuousWavelet("")
    with pytest.raises(TypeError):
        ContinuousWavelet(5)  # type: ignore[arg-type]
    for dtype in (np.complex64, int, np.float16):
        with pytest.raises(ArgumentError, match="float32 nor float64"):
            ContinuousWavelet("gaus5", dtype)
    with pytest.raises(ArgumentError, match="no sample"):
        ContinuousWavelet("gaus5").wavefun(length=0)


def test_pickle_copy_and_repr():
    wavelet = ContinuousWavelet("cmor1.5-1.0", np.float32)
    wavelet.upper_bound = 3
    for twin in (pickle.loads(pickle.dumps(wavelet)), copy.copy(wavelet)):
        assert (twin.name, twin.upper_bound, twin.dt) == ("cmor1.5-1.0", 3.0, np.float32)
    assert repr(eval(repr(wavelet))) == repr(wavelet)
    assert repr(ContinuousWavelet("Gaus2")) == "ContinuousWavelet('gaus2')"


def test_either_kind():
    assert DiscreteContinuousWavelet("DB2") == Wavelet("db2")
    assert DiscreteContinuousWavelet("cdf97") == Wavelet("cdf97")
    assert isinstance(DiscreteContinuousWavelet("Morl"), ContinuousWavelet)
    assert isinstance(DiscreteContinuousWavelet("gaus1", Wavelet("db2")), Wavelet)
    with pytest.raises(UnknownWaveletError):
        DiscreteContinuousWavelet("morlet")
    with pytest.raises(TypeError):
        DiscreteContinuousWavelet()

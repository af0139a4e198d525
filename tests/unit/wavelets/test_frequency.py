from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband.wavelets import (
    ContinuousWavelet,
    Wavelet,
    central_frequency,
    centrfrq,
    frequency2scale,
    integrate_wavelet,
    intwave,
    orthfilt,
    orthogonal_filter_bank,
    qmf,
    scal2frq,
    scale2frequency,
    wavelist,
)

NAMES = [
    *(name for name in pywt.wavelist() if name not in ("cmor", "fbsp", "shan", "dmey")),
    "cmor1.5-1.0", "fbsp2-1-1.5", "shan1.5-1.0", "shan0.5-1.0",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_central_frequency_equals_pywavelets(name):
    assert central_frequency(name, 6) == pytest.approx(pywt.central_frequency(name, 6), abs=1e-12)


@pytest.mark.parametrize("name", ["haar", "db3", "bior2.4", "rbio1.5", "gaus2", "cgau1", "cmor1.5-1.0"])
def test_integrals_equal_pywavelets(name):
    ours, theirs = integrate_wavelet(name), pywt.integrate_wavelet(name)
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)
    kind = Wavelet if name in wavelist(kind="discrete") else ContinuousWavelet
    np.testing.assert_array_equal(integrate_wavelet(kind(name), 5)[0], integrate_wavelet(name, precision=5)[0])


def test_integral_keeps_single_precision():
    integral, x = integrate_wavelet(ContinuousWavelet("cmor1.5-1.0", np.float32))
    assert (integral.dtype, x.dtype) == (np.complex64, np.float32)


def test_scale_and_frequency():
    for function, theirs in (
        (scale2frequency, pywt.scale2frequency),
        (frequency2scale, pywt.frequency2scale),
    ):
        for value in (3, 0.5, np.array([1.0, 3.0]), [1, 2], np.ones((2, 2))):
            np.testing.assert_allclose(function("db2", value), theirs("db2", value))
        assert np.isscalar(function("db2", 3))
    np.testing.assert_allclose(frequency2scale("morl", scale2frequency("morl", [1, 5])), [1, 5])


def test_bare_names_warn_each_time():
    for _ in range(2):
        with pytest.warns(FutureWarning, match="cmor"):
            central_frequency("cmor")


def test_integrals_belong_to_the_caller():
    before, _ = integrate_wavelet("db2")
    expected = before.copy()
    before[:] = 0
    np.testing.assert_array_equal(integrate_wavelet("db2")[0], expected)


def test_not_a_wavelet():
    for function in (central_frequency, integrate_wavelet):
        with pytest.raises(TypeError, match="neither"):
            function(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError):
            function("nope")


def test_deprecated_names():
    with pytest.warns(DeprecationWarning, match="integrate_wavelet"):
        intwave("db3")
    with pytest.warns(DeprecationWarning, match="central_frequency"):
        assert centrfrq("db3") == central_frequency("db3")
    with pytest.warns(DeprecationWarning, match="scale2frequency"):
        assert scal2frq("db3", 1) == scale2frequency("db3", 1)
    with pytest.warns(DeprecationWarning, match="orthogonal_filter_bank"):
        np.testing.assert_array_equal(orthfilt(range(6)), orthogonal_filter_bank(range(6)))
    with pytest.warns(DeprecationWarning, match="samples"):
        total, _ = integrate_wavelet(([0, 1, 2], [0, 1, 2]))
    assert total.tolist() == [0.0, 1.0, 3.0]


@pytest.mark.parametrize("filt", [[1, 2, 3, 4], (1, 2, 3), [[1, 2], [3, 4]], np.float32([1, 2]), [1j, 2]], ids=str)
def test_qmf_equals_pywavelets(filt):
    ours, theirs = qmf(filt), pywt.qmf(filt)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_qmf_leaves_its_argument_alone():
    taps = np.arange(4.0)
    qmf(taps)
    np.testing.assert_array_equal(taps, np.arange(4.0))


@pytest.mark.parametrize("name", ["db4", "sym6", "coif2"])
def test_orthogonal_filter_bank(name):
    wavelet = Wavelet(name)
    for left, right in zip(orthogonal_filter_bank(wavelet.rec_lo), wavelet.filter_bank, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-10)
    np.testing.assert_array_equal(orthogonal_filter_bank([1, 2, 3, 4]), pywt.orthogonal_filter_bank([1, 2, 3, 4]))
    with pytest.raises(ValueError, match="3 taps"):
        orthogonal_filter_bank([1, 2, 3])

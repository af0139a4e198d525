"""Dask arrays of CuPy's blocks: computed on the GPU, and equal to what the GPU makes of the whole array."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import subband
from subband.enhance import Denoise, Enhancer

pytestmark = pytest.mark.gpu

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
RNG = np.random.default_rng(0)
PICTURE = (RNG.normal(100, 10, (300, 262)) + 40 * np.sin(np.arange(262) / 9)).astype(np.float32)


@pytest.fixture(autouse=True)
def _in_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def spread(values, chunks=(100, 90)):
    return da.from_array(cupy.asarray(values), chunks=chunks, asarray=False)


def gather(lazy):
    """Give a result that must lie on the GPU, as an array of the host."""
    got = lazy.compute()
    assert isinstance(got, cupy.ndarray)
    return got.get()


@pytest.mark.parametrize(("wavelet", "mode"), [("cdf97", None), ("db3", "symmetric"), ("haar", "periodization")])
def test_transforms_there_and_back(wavelet, mode):
    lazy = subband.wavedec2(spread(PICTURE), wavelet, mode, level=2)
    whole = subband.wavedec2(cupy.asarray(PICTURE), wavelet, mode, level=2)
    np.testing.assert_allclose(gather(lazy[0]), whole[0].get(), atol=1e-3)
    for bands, expected in zip(lazy[1:], whole[1:], strict=True):
        for band, other in zip(bands, expected, strict=True):
            np.testing.assert_allclose(gather(band), other.get(), atol=1e-3)
    np.testing.assert_allclose(gather(subband.waverec2(lazy, wavelet, mode))[:300, :262], PICTURE, atol=1e-3)


@pytest.mark.parametrize("method", ["bivariate", "wiener", "bayes", "sure", "neigh", "visu"])
@pytest.mark.parametrize("sigma", [10.0, None])
def test_denoising_is_that_of_the_whole(method, sigma):
    got = gather(subband.denoise(spread(PICTURE), sigma, level=2, method=method))
    expected = subband.denoise(cupy.asarray(PICTURE), sigma, level=2, method=method).get()
    # noise of more than 16384 coefficients is sketched, and BayesShrink divides by how much is not noise
    tolerance = 2e-3 if sigma else (0.5 if method == "bayes" else 0.05)
    assert np.abs(got - expected).max() < tolerance


@pytest.mark.parametrize("method", ["bayes", "sure"])
def test_bands_without_decimation(method):
    chain = Enhancer(Denoise(method, "db2", 2, form="undecimated"), sigma=10.0)
    expected = chain.apply(cupy.asarray(PICTURE)).get()
    np.testing.assert_allclose(gather(chain.apply(spread(PICTURE))), expected, atol=2e-3)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_gaps(is_lazy):
    x = PICTURE.copy()
    x[40:130, 50:200] = np.nan
    known = RNG.random(x.shape) > 0.1
    mask = da.from_array(known, 64) if is_lazy else known
    got = gather(subband.denoise(spread(x), 10.0, level=2, mask=mask, nonfinite="mask"))
    expected = subband.denoise(cupy.asarray(x), 10.0, level=2, mask=known, nonfinite="mask").get()
    np.testing.assert_allclose(got, expected, atol=2e-3)


def test_only_counts_come_to_the_host(monkeypatch):
    from subband.engines.filters import median

    sizes = []
    original = median.to_host

    def to_host(x):
        sizes.append(x.nbytes)
        return original(x)

    monkeypatch.setattr(median, "to_host", to_host)
    # a quarter of each chunk is a finest diagonal band, of more coefficients than a sketch keeps
    x = RNG.normal(100, 10, (1024, 1024)).astype(np.float32)
    for method in ("sure", "neigh"):
        gather(subband.denoise(spread(x, (512, 512)), level=1, method=method, form="decimated"))
    assert sizes
    # bins of 512 to an octave: magnitudes of noise lie within thirty of these
    assert max(sizes) < 30 * 512 * 8

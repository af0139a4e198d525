"""The same results from a real cluster of two processes, one of which may die on the way."""

import logging
import os
import signal
import warnings

import dask.array as da
import numpy as np
import pytest
import zarr

import subband
from subband.enhance import Denoise, Enhancer
from subband.errors import FormatError
from subband.integrations.dask import denoise_store

distributed = pytest.importorskip("distributed")

# What the cluster itself says about ports, loops and workers that went away is not about subband.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore:.*:RuntimeWarning:distributed"),
]

PICTURE = np.random.default_rng(1).normal(100, 10, (150, 131)).astype(np.float32)
VOLUME = np.random.default_rng(0).normal(100, 10, (64, 30, 30)).astype(np.float32)
STAGE = Enhancer(Denoise(level=1))


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture
def source(tmp_path):
    stored = zarr.create_array(str(tmp_path / "in.zarr"), shape=VOLUME.shape, chunks=(8, 30, 30), dtype="float32")
    stored[...] = VOLUME
    return tmp_path / "in.zarr"


def compute(client, *arrays):
    return client.gather(client.compute(arrays))


@pytest.mark.parametrize(("wavelet", "mode"), [("db3", "symmetric"), ("cdf97", "whole"), ("haar", "periodization")])
def test_transforms_there_and_back(client, wavelet, mode):
    x = da.from_array(PICTURE, chunks=(60, 47))
    lazy = subband.wavedec2(x, wavelet, mode, level=2)
    coarse, *details = subband.wavedec2(PICTURE, wavelet, mode, level=2)
    got = compute(client, lazy[0], *(band for level in lazy[1:] for band in level))
    for band, expected in zip(got, [coarse, *(band for level in details for band in level)], strict=True):
        np.testing.assert_allclose(band, expected, atol=1e-3)
    (back,) = compute(client, subband.waverec2(lazy, wavelet, mode))
    np.testing.assert_allclose(back[:150, :131], PICTURE, atol=1e-3)


@pytest.mark.parametrize("method", ["bivariate", "bayes", "sure", "neigh"])
def test_denoise(client, method):
    lazy = subband.denoise(da.from_array(PICTURE, chunks=(60, 47)), method=method, level=2)
    (got,) = compute(client, lazy)
    np.testing.assert_allclose(got, subband.denoise(PICTURE, method=method, level=2), atol=1e-3)


def test_gaps(client):
    x = PICTURE.copy()
    x[20:70, 30:90] = np.nan
    lazy = subband.denoise(da.from_array(x, chunks=(60, 47)), method="sure", level=2, nonfinite="mask")
    (got,) = compute(client, lazy)
    np.testing.assert_allclose(got, subband.denoise(x, method="sure", level=2, nonfinite="mask"), atol=1e-3)


def test_jobs_and_their_errors(client, source, tmp_path):
    report = denoise_store(source, tmp_path / "out.zarr", STAGE, chunks=(8, 30, 30), scheduler=client)
    assert report.computed == 8
    np.testing.assert_allclose(zarr.open_array(str(tmp_path / "out.zarr"))[...], STAGE.apply(VOLUME), atol=5e-4)
    chain = Enhancer(Denoise("neigh", level=1))
    denoise_store(source, tmp_path / "neigh.zarr", chain, chunks=(8, 30, 30), scheduler=client, nonfinite="mask")
    np.testing.assert_allclose(zarr.open_array(str(tmp_path / "neigh.zarr"))[...], chain.apply(VOLUME), atol=5e-4)
    (source / "c" / "3" / "0" / "0").write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError, match=r"in\.zarr' cannot be read at 24 to 32"):
        denoise_store(source, tmp_path / "other.zarr", STAGE, chunks=(8, 30, 30), scheduler=client)


def test_worker_that_is_killed_changes_nothing(client, source, tmp_path):
    victims = list(client.run(os.getpid).values())[:1]

    def kill(done, total):
        if done == 2 and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    report = denoise_store(source, tmp_path / "out.zarr", STAGE, chunks=(8, 15, 30), scheduler=client, on_progress=kill)
    assert not victims
    assert report.computed == 16
    np.testing.assert_allclose(zarr.open_array(str(tmp_path / "out.zarr"))[...], STAGE.apply(VOLUME), atol=5e-4)

"""The filters give on a real GPU what the plain ones give on the host."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.device import DeviceFilters
from subband.engines.filters.plain import PlainFilters
from subband.testing.filters import FilterTests

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")


class TestCudaFilters(FilterTests):
    filters = DeviceFilters(ENGINE.device)
    dtypes = ("float32", "float64", "float16")

    def upload(self, x):
        return ENGINE.device.upload(x)

    def download(self, x):
        return ENGINE.device.download(x)


def test_the_engine_has_them():
    assert isinstance(find_filters(ENGINE), DeviceFilters)


def test_large_planes():
    """As many groups as a device is given at most, each of which takes several turns."""
    band = np.random.default_rng(1).standard_normal((1, 4096, 4096), np.float32)
    filters, plain = DeviceFilters(ENGINE.device), PlainFilters()
    x = ENGINE.device.upload(band)
    noise = filters.measure_noise(x, 1.0)
    expected = plain.measure_noise(band, 1.0)
    np.testing.assert_allclose(noise.get(), expected, rtol=2e-6)
    others = np.random.default_rng(3).standard_normal((2, 1, 4096, 4096), np.float32)
    smooth = filters.measure_noise(x, 1.0, None, [(ENGINE.device.upload(other), 1.0) for other in others])
    np.testing.assert_allclose(smooth.get(), plain.measure_noise(band, 1.0, None, [(y, 1.0) for y in others]), 1e-5)
    np.testing.assert_allclose(
        filters.find_bayes_threshold(x, noise, 0.9).get(), plain.find_bayes_threshold(band, noise.get(), 0.9), rtol=1e-4
    )
    shrunk = filters.shrink_bivariate(x, None, noise, 0.9).get()
    part = plain.shrink_bivariate(band[:, 1990:2070], None, noise.get(), 0.9)
    np.testing.assert_allclose(shrunk[:, 1993:2067], part[:, 3:77], atol=1e-4)


def test_work_goes_to_the_current_stream():
    import cupy

    band = np.random.default_rng(2).standard_normal((2, 300, 500), np.float32)
    filters = DeviceFilters(ENGINE.device)
    expected = PlainFilters().shrink_neighbours(band, np.ones(2), 1.0)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        result = filters.shrink_neighbours(cupy.asarray(band), filters.upload(np.ones(2)), 1.0)
        stream.synchronize()
    np.testing.assert_allclose(result.get(), expected, atol=1e-4)

"""The contract of engines, and the comparison with the reference engine, on a real GPU."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines import get_engine
from subband.testing import DeviceParityTests, EngineTests

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")


class TestCudaEngine(EngineTests):
    engine = ENGINE
    # a child process cannot use the GPU of its parent
    survives_fork = False
    alternates_dtypes = True
    # compiling takes half a second for each of a dozen kernels; the rest is below
    wavelets = ("haar", "cdf53", "cdf97", "bior4.4", "db2", "db5", "sym8", "db38")


class TestCudaEngineOnItsOwnArrays(EngineTests):
    """The same with arrays that are on the GPU already; what is fast enough to do twice."""

    engine = ENGINE
    survives_fork = False
    alternates_dtypes = True
    wavelets = ("cdf97", "db2", "db38")
    lengths = (1, 8, 17, 131)

    def upload(self, x):
        import cupy

        return cupy.asarray(x)

    def download(self, x):
        import cupy

        assert isinstance(x, cupy.ndarray)
        return x.get()


class TestCudaParity(DeviceParityTests):
    engine = ENGINE


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_host_arrays_are_contiguous_on_the_gpu_however_they_lie(order, step):
    host = np.arange(7 * 6 * 4, dtype=np.uint8).reshape(7, 6, 4).transpose(order)[::step]
    there = ENGINE.device.upload(host)
    assert there.flags.c_contiguous
    np.testing.assert_array_equal(ENGINE.device.download(there), host)

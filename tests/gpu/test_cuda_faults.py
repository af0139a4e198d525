"""What can go wrong on a real GPU: memory, devices, streams, threads, caches and compilers."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cupy
import numpy as np
import pytest

import subband
from subband.engines import get_engine
from subband.engines.cuda import CudaEngine
from subband.errors import DeviceMemoryError, KernelError
from subband.plan import level_plan
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import as_wavelet

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")

WAVELETS = (as_wavelet("cdf97"),) * 2


def plan_image(shape):
    return level_plan(shape, (0, 1), WAVELETS, ("whole",) * 2)


def assert_right(plan, x, bands):
    expected = get_engine("reference").forward(plan, x)
    for key, band in bands.items():
        host = band.get() if isinstance(band, cupy.ndarray) else band
        assert_close(host, expected[key], relative_tolerance(x.dtype, WAVELETS), largest(x, expected), key)


class TestMemory:
    def test_full_memory_is_said_and_the_next_call_works(self):
        small = draw_samples((64, 96), "float32")
        pool = cupy.get_default_memory_pool()
        pool.free_all_blocks()
        free, _ = cupy.cuda.runtime.memGetInfo()
        side = 4096
        images = max(2, int(free * 0.7) // (4 * side * side))
        try:
            x = cupy.empty((images, side, side), np.float32)
            plan = level_plan(x.shape, (1, 2), WAVELETS, ("whole",) * 2)
            with pytest.raises(DeviceMemoryError, match=r"has no memory for (an array|arrays) of") as caught:
                ENGINE.forward(plan, x)
            assert isinstance(caught.value, MemoryError)
            # while the large array is still there
            plan = plan_image(small.shape)
            assert_right(plan, small, ENGINE.forward(plan, small))
            del x, caught
        finally:
            pool.free_all_blocks()
        assert_right(plan, small, ENGINE.forward(plan, small))

    def test_a_limit_on_the_memory_pool(self):
        small = draw_samples((64, 96), "float32")
        plan = plan_image(small.shape)
        large = level_plan((64, 2048, 2048), (1, 2), WAVELETS, ("whole",) * 2)
        # a pool of its own: that of the process may have room left from earlier tests
        pool = cupy.cuda.MemoryPool()
        pool.set_limit(size=64 << 20)
        with cupy.cuda.using_allocator(pool.malloc):
            with pytest.raises(DeviceMemoryError):
                ENGINE.forward(large, np.zeros(large.shape, np.float32))
            assert_right(plan, small, ENGINE.forward(plan, small))


class TestDevices:
    @pytest.fixture(autouse=True)
    def _needs_two(self):
        if cupy.cuda.runtime.getDeviceCount() < 2:
            pytest.skip("there is only one GPU")

    def test_an_array_on_another_gpu_than_the_current_one(self):
        x = draw_samples((64, 96), "float32")
        plan = plan_image(x.shape)
        with cupy.cuda.Device(1):
            there = cupy.asarray(x)
        with cupy.cuda.Device(0):
            low, (detail, *_) = subband.dwt2(there, "haar")
            bands = CudaEngine("1").forward(plan, there)
        assert low.device.id == detail.device.id == 1
        assert all(band.device.id == 1 for band in bands.values())
        assert_right(plan, x, bands)


class TestThreadsAndStreams:
    def test_two_streams_at_once(self):
        images = [draw_samples((300, 400), "float32", seed) for seed in range(2)]
        plan = plan_image((300, 400))
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in images]
        given = [cupy.asarray(x) for x in images]
        cupy.cuda.Device().synchronize()
        results = [[], []]
        for _ in range(20):
            for stream, x, bands in zip(streams, given, results, strict=True):
                with stream:
                    bands.append(ENGINE.forward(plan, x))
        for stream in streams:
            stream.synchronize()
        for x, bands in zip(images, results, strict=True):
            assert_right(plan, x, bands[0])
            assert_right(plan, x, bands[-1])

    def test_two_threads_with_streams_of_their_own(self):
        images = [draw_samples((200, 256 + seed), "float32", seed) for seed in range(2)]

        def work(x):
            plan = plan_image(x.shape)
            # not the engine of the other tests: here both threads compile
            with cupy.cuda.Device(0), cupy.cuda.Stream(non_blocking=True) as stream:
                given = cupy.asarray(x)
                for _ in range(50):
                    bands = engine.forward(plan, given)
                    y = engine.inverse(plan, bands)
                stream.synchronize()
                return {key: band.get() for key, band in bands.items()}, y.get()

        engine = CudaEngine()
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(work, images))
        for x, (bands, y) in zip(images, results, strict=True):
            assert_right(plan_image(x.shape), x, bands)
            assert_close(y, x, relative_tolerance("float32", WAVELETS), largest(x, bands))

    def test_results_wait_for_what_was_queued_before(self):
        plan = plan_image((512, 512))
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = cupy.zeros((512, 512), np.float32)
            for _ in range(200):
                x += 1
            bands = ENGINE.forward(plan, x)
            y = ENGINE.inverse(plan, bands)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), 200.0, rtol=1e-4)


class TestKernels:
    def test_text_that_does_not_compile(self):
        source = 'extern "C" __global__ void sweep(float *x) { x[0] = nonsense; }'
        with pytest.raises(KernelError, match="does not compile a kernel") as caught:
            ENGINE.device.compile(source)
        assert caught.value.source == source
        assert "nonsense" in caught.value.log
        x = draw_samples((64, 96), "float32")
        assert_right(plan_image(x.shape), x, ENGINE.forward(plan_image(x.shape), x))

    def test_caches_that_were_deleted(self, tmp_path):
        script = (
            "import numpy as np, os, shutil, subband\n"
            "x = np.arange(4096, dtype=np.float32).reshape(64, 64)\n"
            "def check(name):\n"
            "    expected = subband.dwt2(x, name)[0]\n"
            "    subband.set_engine('cuda')\n"
            "    low = subband.dwt2(x, name)[0]\n"
            "    subband.set_engine(None)\n"
            "    np.testing.assert_allclose(low, expected, rtol=1e-4, atol=1e-2)\n"
            "check('haar')\n"
            "for name in ('CUPY_CACHE_DIR', 'SUBBAND_CACHE'): shutil.rmtree(os.environ[name], ignore_errors=True)\n"
            "check('haar')\n"
            "check('db2')\n"
        )
        places = {"CUPY_CACHE_DIR": str(tmp_path / "cupy"), "SUBBAND_CACHE": str(tmp_path / "subband")}
        environment = {**os.environ, **places, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
        for _ in range(2):
            subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=300)

    def test_more_rows_than_a_grid_has_room_for(self):
        """The second and third direction of a launch end at 65,535."""
        for shape, axes in (
            ((600_000, 16), (1,)),
            ((4_000_000, 4), (0,)),
            ((4_000_000, 4), (0, 1)),
            ((70_000, 4, 6), (1, 2)),
        ):
            x = draw_samples(shape, "float32")
            plan = level_plan(shape, axes, WAVELETS[: len(axes)], ("whole",) * len(axes))
            bands = get_engine("cpu").forward(plan, x)
            for key, band in ENGINE.forward(plan, x).items():
                assert_close(band, bands[key], relative_tolerance("float32", WAVELETS), largest(x, bands), key)
            y = ENGINE.inverse(plan, bands)
            assert_close(y, x, relative_tolerance("float32", WAVELETS), largest(x, bands))

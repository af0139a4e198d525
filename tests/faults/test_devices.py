"""What can go wrong with devices, and what is said about it, on a machine without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import subband
from subband.engines.cuda import CudaEngine
from subband.engines.opencl import OpenCLEngine, list_devices
from subband.errors import ArgumentError, DeviceMemoryError, KernelError, MissingExtraError, NoDeviceError
from subband.plan import level_plan
from subband.testing import draw_samples
from subband.wavelets import as_wavelet

PLAN = level_plan((9, 14), (0, 1), (as_wavelet("haar"),) * 2, ("symmetric",) * 2)


class FakeRuntimeError(Exception):
    """What CuPy raises without a driver."""


def fake_cupy(count):
    def count_devices():
        if count is None:
            raise FakeRuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return count

    runtime = SimpleNamespace(getDeviceCount=count_devices, CUDARuntimeError=FakeRuntimeError, getDevice=lambda: 0)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


class TestCuda:
    def test_no_cupy(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'subband\[cuda\]'"):
            CudaEngine()

    def test_no_driver(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy(None))
        with pytest.raises(NoDeviceError, match=r"no GPU \(cudaErrorInsufficientDriver.*install NVIDIA's driver"):
            CudaEngine()

    def test_no_gpu(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy(0))
        with pytest.raises(NoDeviceError, match="no GPU; use engine='cpu' or 'opencl'"):
            CudaEngine()

    @pytest.mark.parametrize("device", ["2", "-1", "x", "1.0"])
    def test_no_such_gpu(self, monkeypatch, device):
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy(2))
        with pytest.raises(ArgumentError, match=f"engine='cuda:{device}' names no GPU.* counted from 0"):
            CudaEngine(device)


def test_no_pyopencl(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'subband\[opencl\]'"):
        OpenCLEngine()


@pytest.mark.opencl
class TestOpenCL:
    @pytest.fixture(autouse=True)
    def _needs_opencl(self):
        self.cl = pytest.importorskip("pyopencl")
        try:
            list_devices()
        except NoDeviceError as missing:
            pytest.skip(str(missing))

    @pytest.fixture
    def engine(self):
        return OpenCLEngine()

    @pytest.mark.parametrize("platforms", ["an error", "none", "without devices"])
    def test_no_platform(self, monkeypatch, platforms):
        def get_platforms():
            if platforms == "an error":
                raise self.cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")
            return [] if platforms == "none" else [SimpleNamespace(get_devices=list)]

        monkeypatch.setattr(self.cl, "get_platforms", get_platforms)
        with pytest.raises(NoDeviceError, match=r"install a driver, or subband\[pocl\] to use the CPU"):
            OpenCLEngine()

    @pytest.mark.parametrize("device", ["99", "-1", "x"])
    def test_no_such_device(self, device):
        with pytest.raises(ArgumentError, match=f"engine='opencl:{device}' names no device.* counted from 0"):
            OpenCLEngine(device)

    def test_text_that_does_not_compile(self, engine):
        source = "__kernel void sweep(__global float *x) { x[0] = nonsense; }"
        with pytest.raises(KernelError, match=r"does not compile a kernel \(its text is in \.source\)") as caught:
            engine.device.compile(source)
        assert caught.value.source == source
        assert "nonsense" in caught.value.log
        assert engine.forward(PLAN, draw_samples((9, 14)))["aa"].any(), "the engine goes on"

    def test_a_processor_that_pocl_does_not_know(self, engine, monkeypatch):
        def refuse(*arguments):
            raise self.cl.Error("clBuildProgram failed: error: unknown target CPU 'generic'")

        monkeypatch.setattr(self.cl, "Program", refuse)
        with pytest.raises(KernelError, match=r"this PoCL is older than the processor; install another.*engine='cpu'"):
            engine.device.compile("")

    @pytest.mark.parametrize("kind", ["results", "samples"])
    def test_memory_that_is_full(self, engine, monkeypatch, kind):
        x = draw_samples((9, 14))
        expected = engine.forward(PLAN, x)

        def refuse(*arguments, **options):
            raise self.cl.MemoryError("create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE")

        with monkeypatch.context() as patch:
            if kind == "results":
                refuse.allocate = refuse  # a pool is called by arrays, and asked for memory by the device
                patch.setattr(engine.device, "_pool", refuse)
            else:
                patch.setattr(self.cl.array, "to_device", refuse)
            with pytest.raises(DeviceMemoryError, match=r"has no memory for an array of shape .*ALLOCATION_FAILURE"):
                engine.forward(PLAN, x)
        for key, band in engine.forward(PLAN, x).items():
            np.testing.assert_array_equal(band, expected[key])

    def test_more_memory_than_any_device_has(self, engine):
        with pytest.raises(DeviceMemoryError, match="has no memory for an array"):
            engine.device.allocate((1 << 50,), np.dtype(np.float32))

    def test_threads_that_take_turns_all_the_time(self, engine):
        """A kernel is one object for all threads, and its arguments are set on it before it is launched."""
        inputs = [np.full((9, 14), 1.0 + number, np.float32) for number in range(4)]
        expected = [engine.forward(PLAN, x)["aa"] for x in inputs]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(4) as pool:
                turns = [number % 4 for number in range(800)]
                bands = list(pool.map(lambda turn: engine.forward(PLAN, inputs[turn])["aa"], turns))
        finally:
            sys.setswitchinterval(interval)
        for turn, band in zip(turns, bands, strict=True):
            np.testing.assert_array_equal(band, expected[turn])

    def test_caches_that_were_deleted(self, tmp_path):
        """Compiled kernels on disk are a convenience: neither their absence nor their loss changes a result."""
        script = (
            "import numpy as np, shutil, os, subband\n"
            "x = np.arange(64, dtype=np.float32)\n"
            "def check():\n"
            "    subband.set_engine('opencl')\n"
            "    low = subband.dwt(x, 'haar')[0]\n"
            "    subband.set_engine('cpu')\n"
            "    np.testing.assert_allclose(low, subband.dwt(x, 'haar')[0], rtol=1e-5)\n"
            "check()\n"
            "for name in ('POCL_CACHE_DIR', 'XDG_CACHE_HOME'): shutil.rmtree(os.environ[name], ignore_errors=True)\n"
            "check()\n"
        )
        places = {"POCL_CACHE_DIR": str(tmp_path / "pocl"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment = {**os.environ, **places, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
        for _ in range(2):
            for place in places.values():
                Path(place).mkdir(exist_ok=True)
            subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=300)

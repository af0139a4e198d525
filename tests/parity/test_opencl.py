"""The OpenCL engine gives what the reference engine gives: every wavelet, every length, across every seam."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.opencl import OpenCLEngine
from subband.errors import MissingExtraError, NoDeviceError
from subband.testing import DeviceParityTests

pytestmark = pytest.mark.opencl

try:
    ENGINE = get_engine("opencl")
except (MissingExtraError, NoDeviceError) as missing:
    pytest.skip(f"{missing}", allow_module_level=True)


class TestOpenCLEngine(DeviceParityTests):
    engine = ENGINE


def test_with_the_optimiser(monkeypatch):
    """All other tests compile without it, to save time; users do not."""
    monkeypatch.delenv("PYOPENCL_BUILD_OPTIONS", raising=False)

    class Parity(DeviceParityTests):
        engine = OpenCLEngine()

    for shape, axes, name, mode in (((45, 333), (0, 1), "cdf97", "whole"), ((45, 64), (0,), "db2", "antireflect")):
        Parity()._check_level(shape, axes, name, mode)


def test_arrays_of_one_shape_have_memory_of_their_own():
    device = ENGINE.device
    first, second = (device.allocate((3, 5), np.dtype(np.float32)) for _ in range(2))
    first.fill(1)
    second.fill(2)
    assert device.download(first).tolist() == np.ones((3, 5)).tolist()
    assert device.download(second).tolist() == np.full((3, 5), 2).tolist()
    assert first.events is not second.events
    assert device.allocate((0, 5), np.dtype(np.float32)).shape == (0, 5)

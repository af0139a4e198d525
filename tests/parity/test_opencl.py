"""The OpenCL engine gives what the reference engine gives: every wavelet, every length, across every seam."""

from __future__ import annotations

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

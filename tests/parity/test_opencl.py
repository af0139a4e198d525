"""The OpenCL engine gives what the reference engine gives: every wavelet, every length, across every seam."""

from __future__ import annotations

import pytest

from subband.engines import get_engine
from subband.errors import MissingExtraError, NoDeviceError
from subband.testing import DeviceParityTests

pytestmark = pytest.mark.opencl

try:
    ENGINE = get_engine("opencl")
except (MissingExtraError, NoDeviceError) as missing:
    pytest.skip(f"{missing}", allow_module_level=True)


class TestOpenCLEngine(DeviceParityTests):
    engine = ENGINE

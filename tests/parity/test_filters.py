"""Every implementation of filters gives what the plain one gives."""

from __future__ import annotations

import pytest

from subband.engines import get_engine
from subband.engines.filters.compiled import CompiledFilters
from subband.engines.filters.device import DeviceFilters
from subband.errors import MissingExtraError, NoDeviceError
from subband.testing.filters import FilterTests


@pytest.mark.opencl
class TestDeviceFilters(FilterTests):
    dtypes = ("float32", "float64", "float16")

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def find_device(cls):
        try:
            device = get_engine("opencl").device
        except (MissingExtraError, NoDeviceError) as missing:
            pytest.skip(str(missing))
        cls.upload = staticmethod(device.upload)
        cls.download = staticmethod(device.download)
        cls.filters = DeviceFilters(device)


class TestCompiledFilters(FilterTests):
    filters = CompiledFilters()

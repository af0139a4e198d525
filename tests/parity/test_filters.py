"""Every implementation of filters gives what the plain one gives."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from subband.arrays import FunctionalArray
from subband.engines import get_engine
from subband.engines.filters.compiled import CompiledFilters
from subband.engines.filters.device import DeviceFilters
from subband.engines.filters.functional import FunctionalFilters
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


class TestFunctionalFilters(FilterTests):
    filters = FunctionalFilters()


class TestFunctionalFiltersOnTheStandard(FilterTests):
    filters = FunctionalFilters()

    # what writes into arrays is not for those that nobody can write into
    test_arithmetic_sample_by_sample = None
    test_filter_groups = None  # looked for in numbers, which arrays of the standard keep to themselves
    test_powers_of_single_precision = None
    test_pixels_go_where_they_are_told = None

    @pytest.mark.parametrize("stored", ["uint8", "uint16", "float32", "float64"])  # the standard has no float16
    def test_pixels(self, stored):
        super().test_pixels(stored)

    def upload(self, x):
        return FunctionalArray(array_api_strict.asarray(x, copy=True))

    def download(self, x):
        return np.array(x.array) if isinstance(x, FunctionalArray) else x

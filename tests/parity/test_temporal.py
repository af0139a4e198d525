"""Averages over time of a device are those of the CPU."""

from __future__ import annotations

import pytest

from subband.engines import get_engine
from subband.engines.temporal import find_temporal_filters
from subband.engines.temporal.device import DeviceTemporalFilters
from subband.errors import MissingExtraError, NoDeviceError
from subband.testing.temporal import TemporalFilterTests


@pytest.mark.opencl
class TestDeviceTemporalFilters(TemporalFilterTests):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def find_device(cls):
        try:
            engine = get_engine("opencl")
        except (MissingExtraError, NoDeviceError) as missing:
            pytest.skip(str(missing))
        cls.upload = staticmethod(engine.device.upload)
        cls.download = staticmethod(engine.device.download)
        cls.filters = find_temporal_filters(engine)

    def test_the_engine_has_them(self):
        assert isinstance(self.filters, DeviceTemporalFilters)

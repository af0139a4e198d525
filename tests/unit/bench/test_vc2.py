"""Measuring VC-2 on a device, and what the report says."""

from __future__ import annotations

import numpy as np
import pytest

from subband.bench import vc2
from subband.codecs.vc2 import DeviceImage
from subband.engines.measuring.harness import open_device
from subband.engines.measuring.judging import WrongResultError

pytestmark = pytest.mark.opencl


def test_a_small_frame_is_measured_and_compared():
    (found,) = vc2.measure_device(open_device("opencl"), vc2.QUICK_CASES, turns=1, count=1)
    assert found.rate > 0
    assert found.target is None
    made = vc2.report([found], "opencl")
    assert made.sheets[0].rows[0][:2] == ["tiny", "dd137"]
    assert made.goals == []


def test_a_wrong_coefficient_is_told(monkeypatch):
    read = DeviceImage.read_coefficients

    def spoil(self):
        values = np.array(read(self))
        values[int(self.layout.bands[0, 1])] += 1
        return values

    monkeypatch.setattr(DeviceImage, "read_coefficients", spoil)
    with pytest.raises(WrongResultError, match="coefficients of band 0"):
        list(vc2.measure_device(open_device("opencl"), vc2.QUICK_CASES, turns=1, count=1))


def test_the_target_is_that_of_its_size():
    times = vc2.DeviceTimes(vc2.DeviceCase("2160p", "dd97"), dict.fromkeys(vc2._STAGES, 1e-4), 5e-4, 4e-4, 1e-5)
    (goal,) = vc2.report([times], "cuda").goals
    assert (goal.is_met, goal.found) == (True, "2,500")

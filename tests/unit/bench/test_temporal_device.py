"""Video over time on a device, beside the CPU."""

import numpy as np
import pytest

from subband.bench import temporal_device as device
from subband.bench.temporal import ALONE, TEMPORAL, Clip
from subband.data import ascent
from subband.engines import get_engine
from subband.errors import ArgumentError, MissingExtraError, NoDeviceError


@pytest.fixture
def clip():
    frames = np.stack([ascent()[100:164, 90 + k : 186 + k] for k in range(3)]).astype(np.float64)
    return Clip("small", frames, np.zeros((64, 96), bool), np.zeros(frames.shape, bool))


@pytest.fixture
def opencl():
    try:
        get_engine("opencl")
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(f"{missing}")
    return "opencl"


@pytest.mark.opencl
def test_a_device_is_measured_and_judged(clip, opencl):
    found = device.compare_clip(clip, opencl)
    assert found.largest <= 1
    assert abs(found.psnr - found.expected) < 0.01
    rates = device.measure_rates(opencl, 1, (48, 64))
    assert min(rates.values()) > 0
    assert {ALONE, TEMPORAL} < set(rates)
    report = device.report([found], rates | {TEMPORAL: 499.0}, opencl)
    assert report.machine.device
    texts = list(map(str, report.goals))
    assert texts[0].startswith("met: PSNR within 0.02 dB")
    assert texts[1] == "not met: at least 500 fps of 1920 × 1080 on the device (499.0 fps)"


def test_the_same_results_are_no_difference(clip):
    found = device.compare_clip(clip, "cpu")
    assert (found.psnr, found.differing, found.largest) == (found.expected, 0.0, 0)


def test_the_cpu_has_no_memory_of_its_own():
    with pytest.raises(ArgumentError, match="engine='cpu' has no memory of its own"):
        device.measure_rates("cpu", 1, (48, 64))

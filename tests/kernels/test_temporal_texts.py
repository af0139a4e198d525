"""The kernels of averages over time compile for two generations of NVIDIA's GPUs, with no GPU.

The texts are those that a device is given for brightness and for chroma. What they compute is compared with the CPU on
an OpenCL device, in `tests/parity`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from subband.engines.temporal import Grid
from subband.engines.temporal.device import DeviceTemporalFilters
from subband.enhance.temporal import follow
from subband.kernels.dialects import CUDA, DIALECTS
from subband.testing import RecordingDevice

#: Kernels of a frame after the first: scales and their blocks, what is common, averages.
_MOST_LAUNCHES = 24


def follow_two(device, shape):
    """Average two frames, and two of their chroma; return how many launches each took."""
    filters, counts = DeviceTemporalFilters(device), []
    past, motion = None, None
    for planes, steps in (((1, *shape), (1, 1)), ((2, shape[0] // 2, shape[1] // 2), (2, 2))):
        frame = device.upload(np.zeros(planes, np.float32))
        noise = device.upload(np.ones(planes[0], np.float32))
        past = follow(filters, None, frame, noise)
        before = len(device.launches)
        past = follow(filters, past, frame, noise, motion, steps)
        counts.append(len(device.launches) - before)
        motion = past.motion
    halves = [past.ratios, *filters.halve(past.ratios, 7)]
    filters.draw(halves, [Grid(level, 2**level, (0, 0), (40, 40)) for level in range(1, 6)])
    filters.measure_typical(past.ratios, 2)
    return counts


@cache
def collect_texts(dialect):
    device = RecordingDevice(dialect)
    follow_two(device, (240, 320))
    return tuple(dict.fromkeys(device.sources))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_text_compiles(architecture):
    core = pytest.importorskip("cuda.core", reason="NVRTC is not installed: pip install 'subband[kernels]'")
    sources = collect_texts(CUDA)
    assert len(sources) > 15
    for source in sources:
        options = core.ProgramOptions(std="c++17", arch=architecture)
        assert core.Program(source, "c++", options).compile("cubin").code


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_text_depends_on_no_size(dialect):
    texts = set(collect_texts(dialect))
    device = RecordingDevice(dialect)
    follow_two(device, (250, 480))
    assert set(device.sources) <= texts


def test_few_launches_take_a_frame():
    # each takes some microseconds of Python, and a gap on the device
    bright, chroma = follow_two(RecordingDevice(CUDA), (1080, 1920))
    assert bright <= _MOST_LAUNCHES
    assert chroma <= 7

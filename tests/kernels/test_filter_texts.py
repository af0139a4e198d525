"""The kernels of filters compile for two generations of NVIDIA's GPUs, with no GPU.

The texts are those that the filters of a device ask for, so they are what users get. What they compute is compared with
the plain filters on an OpenCL device, in `tests/parity`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from subband.engines.filters.device import DeviceFilters
from subband.engines.filters.device_statistics import RULE
from subband.enhance.methods import find_method
from subband.kernels.cells import CellSpec, render_cells
from subband.kernels.dialects import CUDA, DIALECTS, OPENCL_NVIDIA
from subband.kernels.filters import FilterSpec, render_filter
from subband.kernels.group_matching import MatchSpec, render_matching
from subband.kernels.groups import GroupSpec, render_groups
from subband.kernels.pixels import PackedPixelSpec, render_packed_pixels
from subband.kernels.samplewise import TASKS, SampleSpec, render_samples
from subband.kernels.statistics import StatisticSpec, render_statistic
from subband.kernels.windows import WindowSpec, render_window
from subband.testing import RecordingDevice
from subband.testing.editing import edit_samples

TASKS_OF_FILTERS = ("shrink", "wiener", "add", "spin", "average", "convolve", "laplacian")

STORAGES = ("float32", "float64", "float16")


def run_all(filters, device, storage, shape):
    """Ask for every kernel that planes of a shape need."""
    band = device.upload(np.zeros(shape, storage))
    numbers = filters.upload(np.ones(shape[0]))
    mask, zeros = np.ones(shape[1:], np.uint8), [0] * (len(shape) - 1)
    filters.add_part(filters.take_part(band, zeros, shape[1:], 1.0), band, zeros, 1.0)
    both = filters.spin(band, [1] * len(zeros))
    filters.average_shifts(both[: shape[0]], both[shape[0] :], shape[1:], [1] * len(zeros))
    filters.measure_noise(band, 1.0)
    filters.measure_noise(band, 1.0, mask)
    others = [(band, 1.0)] * (2 ** (len(shape) - 1) - 2)
    filters.measure_noise(band, 1.0, None, others)
    filters.measure_noise(band, 1.0, mask, others)
    filters.measure_noise(band, 1.0, None, others, samples=band)
    filters.find_bayes_threshold(band, numbers, 1.0)
    filters.find_sure_threshold(band, numbers, 1.0)
    given = np.ones((3, shape[0]))
    for mode in ("soft", "hard", "garrote", "firm"):
        filters.shrink(band, numbers, mode, numbers, numbers)
        filters.shrink_bands([band] * 3, given, mode, given, given)
    filters.shrink_bivariate(band, None, numbers, 1.0)
    for scale in (1, 2):
        filters.shrink_bivariate(band, band, numbers, 1.0, scale=scale)
    filters.shrink_bivariate_bands([band] * 3, [band, band, None], numbers, [1.0] * 3, [1.0] * 3)
    filters.shrink_neighbours(band, numbers, 1.0)
    filters.shrink_wiener(band, band, numbers, 1.0)
    for groups in find_method("best").list_passes(len(shape) - 1):
        filters.filter_groups(band, band, numbers, groups)
    filters.convolve(band, [1.0, 2.0, 1.0], 0)
    filters.add_laplacian(band, 1.0, "cross")


def run_pixels(filters, device, storage):
    for stored in ("uint8", "uint16", "float16", "float32", "float64"):
        for shape, matrix in (((4, 4, 3), None), ((4, 4, 3), np.eye(3)), ((5, 5, 3), np.eye(3)), ((4, 4, 1), None)):
            pixels = device.upload(np.zeros(shape, stored))
            filters.write_pixels(filters.read_pixels(pixels, matrix, storage), matrix, stored)
    # numbers that are not as precise as the planes
    filters.shrink(device.upload(np.zeros((1, 5), np.float64)), filters.upload(np.ones(1, np.float32)), "soft")


@cache
def collect_texts(dialect, storage):
    device = RecordingDevice(dialect)
    filters = DeviceFilters(device)
    # what differs is how a number is read and written, so that one precision is enough for some of the shapes
    for shape in ((2, 16, 64), (2, 4, 8, 64), (2, 64), (2, 7, 5))[: None if storage == "float32" else 2]:
        run_all(filters, device, storage, shape)
    run_pixels(filters, device, storage)
    if storage != "float16":
        edit_samples(filters, (3, 4, 5), storage, device.upload)
    return tuple(dict.fromkeys(device.sources))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_text_compiles(architecture, storage):
    core = pytest.importorskip("cuda.core", reason="NVRTC is not installed: pip install 'subband[kernels]'")
    sources = collect_texts(CUDA, storage)
    assert len(sources) > 30
    for source in sources:
        options = core.ProgramOptions(std="c++17", arch=architecture)
        assert core.Program(source, "c++", options).compile("cubin").code


def test_lanes_hand_over_registers_on_nvidia():
    """With its own words for an exchange OpenCL on NVIDIA's GPUs needs no local memory for one."""
    for spec, render in (
        (WindowSpec("bivariate", "float32", 7, 7), render_window),
        (StatisticSpec("risks", "float32"), render_statistic),
    ):
        kernel = render(spec, OPENCL_NVIDIA).split("KERNEL void sweep")[1]
        assert "FETCH" in kernel
        assert "BARRIER" not in kernel


def test_pixels_of_video_are_read_in_words():
    # twelve bytes are three words of an RGB quartet; by bytes, a warp would need four times as many loads
    for dialect in DIALECTS.values():
        assert "uint w[3]" in render_packed_pixels(PackedPixelSpec("planes", "uint8", 3, 4), dialect)


def test_text_depends_on_no_size():
    device = RecordingDevice(CUDA)
    filters = DeviceFilters(device)
    for shape in ((1, 64, 64), (3, 128, 32), (2, 300, 400)):
        run_all(filters, device, "float32", shape)
    assert len(set(device.sources)) == len(device.sources)
    before = len(device.sources)
    run_all(filters, device, "float32", (5, 20, 80))
    assert len(device.sources) == before


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_single_precision_needs_no_doubles(storage):
    """Many OpenCL devices have none, and a constant without a suffix would be one."""
    for render, spec in (
        *((render_filter, FilterSpec(task, storage)) for task in TASKS_OF_FILTERS),
        *((render_groups, GroupSpec(task, storage, (4, 1, 4), 8, is_trusting=False)) for task in ("sum", "finish")),
        (render_matching, MatchSpec(storage, 8, (4, 1, 4), (2, 0, 2))),
        *((render_window, WindowSpec(task, storage, 5, 5)) for task in ("bivariate", "energy")),
        (render_window, WindowSpec("neighbours", storage, 5, 5, is_chosen=True)),
        *((render_statistic, StatisticSpec(task, storage)) for task in ("histogram", "squares", "risks", "neighbours")),
        (render_cells, CellSpec("energies", storage, 2)),
        *((render_cells, CellSpec(task, "float32", rule=RULE)) for task in ("count", "parts", "noise")),
    ):
        kernel = render(spec, CUDA).split("KERNEL void sweep")[1]
        assert "double" not in kernel
        for word in kernel.replace("(", " ").replace(")", " ").replace(";", " ").replace(",", " ").split():
            assert not (word[0].isdigit() and ("." in word or "e-" in word) and not word.endswith("f")), word


def test_editing_uses_every_task():
    device = RecordingDevice(CUDA)
    edit_samples(DeviceFilters(device), (3, 4, 5), "float32", device.upload)
    assert len(set(device.sources)) == len(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_editing_in_single_precision_needs_no_doubles(task):
    for dialect in DIALECTS.values():
        kernel = render_samples(SampleSpec(task, "float32", 3), dialect).split("KERNEL void sweep")[1]
        assert "double" not in kernel
        assert "." not in kernel

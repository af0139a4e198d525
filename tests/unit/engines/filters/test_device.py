"""What the filters of a device do besides the contract: launches that fit, sums in a fixed order, clear refusals."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.device import DeviceFilters
from subband.engines.filters.device_launcher import Space, find_space
from subband.engines.filters.device_statistics import choose_samples
from subband.engines.filters.groups import Groups
from subband.errors import ArgumentError, DeviceError, MissingExtraError, NoDeviceError, ShapeError
from subband.kernels.dialects import CUDA, LANES
from subband.kernels.windows import WindowSpec
from subband.testing import RecordingDevice, RecordingEngine

#: The most groups that CUDA launches in three directions.
GRID = (2**31 - 1, 65_535, 65_535)


@pytest.fixture
def device():
    return RecordingDevice(CUDA)


@pytest.fixture
def filters(device):
    return DeviceFilters(device)


@pytest.fixture(scope="module")
def opencl():
    try:
        return get_engine("opencl").device
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))


def run_all(filters, device, shape):
    band, noise = device.allocate(shape, np.dtype(np.float32)), filters.upload(np.ones(shape[0]))
    filters.measure_noise(band, 1.0)
    others = [(band, 1.0)] * (2 ** (len(shape) - 1) - 2)
    filters.measure_noise(band, 1.0, None, others)
    filters.measure_noise(band, 1.0, None, others, samples=band)
    filters.find_bayes_threshold(band, noise, 1.0)
    filters.find_sure_threshold(band, noise, 1.0)
    filters.shrink(band, noise, "soft")
    filters.shrink_bivariate(band, band, noise, 1.0, scale=1)
    filters.shrink_bivariate_bands([band] * 2, [band, None], noise, [1.0] * 2, [1.0] * 2)
    filters.shrink_neighbours(band, noise, 1.0)
    filters.shrink_wiener(band, band, noise, 1.0)
    filters.filter_groups(band, band, noise, Groups(4, 3, 3, 8))
    filters.convolve(band, [1.0], 0)
    filters.add_laplacian(band, 1.0, "cross")
    filters.extend(band, [0] * (len(shape) - 1), [0] * (len(shape) - 2) + [3])
    filters.write_pixels(filters.read_pixels(band, None, np.float32), None, np.float32)


def test_filters_of_an_engine_are_its_devices():
    assert isinstance(find_filters(RecordingEngine(CUDA)), DeviceFilters)


@pytest.mark.parametrize(
    "shape", [(70_001, 2, 3), (1, 70_001, 2), (2, 10_000_000), (1, 300, 300, 4), (1, 4, 70_000, 2), (3, 4096, 4096)]
)
def test_launches_fit_the_grid(device, filters, shape):
    run_all(filters, device, shape)
    assert len(device.launches) > 20
    for groups, block in device.launches:
        assert all(1 <= count <= most for count, most in zip(groups, GRID, strict=True)), groups
        assert 1 <= block <= 32


def test_empty_bands_launch_nothing(device, filters):
    run_all(filters, device, (2, 0, 5))
    assert device.launches == []
    with pytest.raises(ShapeError, match="nothing to take"):
        filters.extend(device.allocate((2, 0, 5), np.dtype(np.float32)), [1, 0], [0, 0])


def test_lanes_of_a_strip_with_results():
    assert WindowSpec("bivariate", "float32", 7, 7).useful == LANES - 6


def test_samples_are_spread_evenly():
    for space in (Space(1, 1, 4096, 4096), Space(1, 1, 1, 10_000_000), Space(1, 64, 512, 500), Space(1, 1, 4000, 96)):
        taken, apart = choose_samples(space)
        across = -(-space.width // LANES)
        assert 100_000 < taken * LANES < 600_000
        counts = np.bincount(np.arange(taken) * apart % across, minlength=across)
        assert counts.max() - counts.min() <= 1
        assert (taken - 1) * apart < across * space.height * space.depth


def test_bands_of_all_levels_shrink_in_one_launch(device, filters):
    """Sums around all parents, then all bands; more bands than a kernel has room for take several launches."""
    bands = [device.allocate((2, 60 >> level, 80 >> level), np.dtype(np.float32)) for level in range(3) for _ in "abc"]
    parents = [*bands[3:], None, None, None]
    noise = device.upload(np.ones(1, np.float32))
    for times, launches in ((1, 2), (4, 4)):
        device.launches.clear()
        ones = [1.0] * len(bands) * times
        shrunk = filters.shrink_bivariate_bands(bands * times, parents * times, noise, ones, ones)
        assert [x.shape for x in shrunk] == [x.shape for x in bands * times]
        assert len(device.launches) == launches


def test_bands_that_have_not_all_planes_are_refused(device, filters):
    bands = [device.allocate((planes, 8, 8), np.dtype(np.float32)) for planes in (4, 3)]
    with pytest.raises(ShapeError, match="2 numbers; a band has 3 planes"):
        filters.shrink_bivariate_bands(bands, [None] * 2, filters.upload(np.ones(2)), [1.0] * 2, [1.0] * 2)


@pytest.mark.parametrize("window", [0, 4, 33, -1])
def test_windows_that_fit_no_strip_are_refused(device, filters, window):
    band = device.allocate((1, 8, 8), np.dtype(np.float32))
    with pytest.raises(ArgumentError, match=f"window={window}"):
        filters.shrink_bivariate(band, None, filters.upload(np.ones(1)), 1.0, window=window)


def test_numbers_that_are_too_few_are_refused(device, filters):
    band = device.allocate((3, 8, 8), np.dtype(np.float32))
    for call in (
        lambda few: filters.shrink(band, few, "soft"),
        lambda few: filters.shrink_wiener(band, band, few, 1.0),
        lambda few: filters.find_sure_threshold(band, few, 1.0),
    ):
        with pytest.raises(ShapeError, match="3 planes"):
            call(filters.upload(np.ones(2)))
    with pytest.raises(ShapeError, match="mask"):
        filters.measure_noise(band, 1.0, np.ones((8, 9), np.uint8))


def test_an_even_number_of_taps_is_refused(device, filters):
    with pytest.raises(ArgumentError, match="taps are 2"):
        filters.convolve(device.allocate((1, 8), np.dtype(np.float32)), [1.0, 1.0], 0)


def test_planes_that_kernels_cannot_count_are_refused():
    with pytest.raises(DeviceError, match="kernels count"):
        find_space((1, 1 << 30))
    for shape in ((5,), (1, 2, 3, 4, 5)):
        with pytest.raises(ShapeError, match="one to three"):
            find_space(shape)


@pytest.mark.opencl
class TestOpenCL:
    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
    def test_numbers_have_the_precision_that_is_computed_in(self, opencl, dtype):
        filters = DeviceFilters(opencl)
        band = opencl.upload(np.random.default_rng(1).standard_normal((2, 9, 9)).astype(dtype))
        noise = filters.measure_noise(band, 1.0)
        right = np.float64 if dtype == "float64" else np.float32
        assert noise.dtype == right
        for find in (filters.find_bayes_threshold, filters.find_sure_threshold):
            assert find(band, noise, 1.0).dtype == right

    def test_wide_numbers_become_narrow_ones_by_rounding(self, opencl):
        rng = np.random.default_rng(2)
        special = [0.0, -0.0, np.inf, -np.inf, 1.0, 1 + 2**-24, 1 + 3 * 2**-24, 2**-24 + 1 + 2**-50, 1e300, 3.4e38]
        wide = np.concatenate([special, rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)])
        filters = DeviceFilters(opencl)
        gains = filters.upload(wide)
        assert gains.dtype == np.float64
        ones = opencl.upload(np.ones((wide.size, 1), np.float32))
        zeros = filters.upload(np.zeros(wide.size))
        with np.errstate(over="ignore"):
            expected = wide.astype(np.float32)
        np.testing.assert_array_equal(opencl.download(filters.shrink(ones, zeros, "hard", gains=gains))[:, 0], expected)

    def test_sums_are_the_same_every_time(self, opencl):
        filters = DeviceFilters(opencl)
        band = opencl.upload(np.random.default_rng(3).standard_normal((2, 211, 307)).astype(np.float32))
        noise = filters.upload(np.array([0.7, 0.9]))
        for find in (filters.find_bayes_threshold, filters.find_sure_threshold, filters.shrink_neighbours):
            first, *others = (opencl.download(find(band, noise, 1.0)) for _ in range(3))
            for other in others:
                np.testing.assert_array_equal(other, first)

    def test_many_planes(self, opencl):
        """More than a launch has room for."""
        filters = DeviceFilters(opencl)
        band = np.arange(3 * 66_000, dtype=np.float32).reshape(66_000, 3)
        noise = filters.upload(np.full(66_000, 0.5))
        shrunk = filters.shrink(opencl.upload(band), noise, "soft")
        np.testing.assert_allclose(opencl.download(shrunk), np.maximum(band - 0.5, 0), rtol=1e-6)
        sharper = filters.add_laplacian(opencl.upload(band), 0.5, "cross")
        np.testing.assert_allclose(opencl.download(sharper)[:, 1], band[:, 1], rtol=1e-5)

    def test_pixels_go_into_a_part_of_an_array(self, opencl):
        filters = DeviceFilters(opencl)
        whole = opencl.upload(np.zeros((6, 4, 1), np.uint8))
        out = whole[2:4]
        assert filters.write_pixels(opencl.upload(np.full((1, 2, 4), 7, np.float32)), None, np.uint8, out) is out
        assert opencl.download(whole)[:, 0, 0].tolist() == [0, 0, 7, 7, 0, 0]

"""The text of pointwise kernels compiles for NVIDIA's GPUs, and does on an OpenCL device what the host does."""

import numpy as np
import pytest

import subband as sb
from subband.engines.pointwise import Pointwise, prepare_values
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, from_ycbcr, to_ycbcr
from subband.kernels.dialects import CUDA, DIALECTS
from subband.kernels.pointwise import FACTORS, PointwiseSpec, render_pointwise

MATRIX = tuple(map(tuple, TO_YCBCR.tolist()))
SPECS = [
    PointwiseSpec(task, storage, each, matrix)
    for task in ("planes", "pixels")
    for storage in ("uint8", "uint16")
    for each in (1, 4)
    for matrix in ((), MATRIX)
] + [
    PointwiseSpec("shrink", storage, each, mode=mode)
    for storage, each in (("float32", 4), ("float32", 1), ("float64", 1), ("float16", 4))
    for mode in FACTORS
]


@pytest.fixture(scope="module")
def device():
    pytest.importorskip("pyopencl")
    try:
        return sb.get_engine("opencl").device
    except sb.errors.NoDeviceError:
        pytest.skip("OpenCL has no device")


def shrink_by_hand(band, mode, low, high, gain):
    if mode == "none":
        return band * gain
    if mode == "firm":
        return sb.threshold_firm(band, low, high) * gain
    return sb.threshold(band, low, mode) * gain


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_text_compiles_for_cuda(architecture):
    core = pytest.importorskip("cuda.core")
    for spec in SPECS:
        options = core.ProgramOptions(std="c++17", arch=architecture)
        assert core.Program(render_pointwise(spec, CUDA), "c++", options).compile("cubin").code


def test_pixels_are_read_in_words():
    # twelve bytes are three words of an RGB quartet; by bytes, a warp would need four times as many loads
    for dialect in DIALECTS.values():
        assert "uint w[3]" in render_pointwise(PointwiseSpec("planes", "uint8", 4, MATRIX), dialect)


@pytest.mark.opencl
class TestOpenCL:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    @pytest.mark.parametrize("shape", [(8, 12), (7, 5), (1, 1)])
    def test_colour_is_that_of_the_host(self, device, shape, dtype):
        pixels = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, (*shape, 3), dtype, endpoint=True)
        pointwise = Pointwise(device)
        planes = device.allocate((3, *shape), np.dtype(np.float32))
        pointwise.split_pixels(device.upload(pixels), planes, TO_YCBCR)
        expected = to_ycbcr(pixels)
        np.testing.assert_allclose(device.download(planes), expected, rtol=1e-5, atol=np.iinfo(dtype).max * 1e-6)
        back = device.allocate(pixels.shape, pixels.dtype)
        pointwise.join_planes(planes, back, FROM_YCBCR)
        np.testing.assert_array_equal(device.download(back), pixels)

    @pytest.mark.parametrize("shape", [(8, 12), (7, 5)])
    def test_grey_stays_as_it_is(self, device, shape):
        pixels = np.random.default_rng(2).integers(0, 65535, shape, np.uint16, endpoint=True)
        planes = device.allocate((1, *shape), np.dtype(np.float32))
        pointwise = Pointwise(device)
        pointwise.split_pixels(device.upload(pixels), planes)
        np.testing.assert_array_equal(device.download(planes)[0], pixels.astype(np.float32))
        back = device.allocate(shape, pixels.dtype)
        pointwise.join_planes(planes, back)
        np.testing.assert_array_equal(device.download(back), pixels)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_rounds_and_clips(self, device, dtype):
        most = np.iinfo(dtype).max
        values = np.array([[-7, -0.4, 0.4, 0.6, 1.49, most - 0.4, most + 0.4, most + 900]], np.float32)
        back = device.allocate(values.shape, np.dtype(dtype))
        Pointwise(device).join_planes(device.upload(values[np.newaxis]), back)
        assert device.download(back)[0].tolist() == [0, 0, 0, 1, 1, most, most, most]

    def test_colours_out_of_gamut_are_clipped(self, device):
        planes = np.random.default_rng(3).uniform(-300, 600, (3, 6, 10)).astype(np.float32)
        back = device.allocate((6, 10, 3), np.dtype(np.uint8))
        Pointwise(device).join_planes(device.upload(planes), back, FROM_YCBCR)
        expected = np.clip(from_ycbcr(planes), 0, 255)
        assert np.abs(device.download(back) - expected).max() <= 0.5 + 1e-3

    @pytest.mark.parametrize("mode", FACTORS)
    @pytest.mark.parametrize("width", [8, 7])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_thresholds_are_those_of_the_host(self, device, mode, width, dtype):
        rng = np.random.default_rng(4)
        shapes = {"ad": (3, 5, width), "da": (3, 4, width + 1), "dd": (3, 4, width)}
        bands = {key: rng.normal(0, 2, shape).astype(dtype) for key, shape in shapes.items()}
        for band in bands.values():
            band.flat[::5] = 0  # zero divided by zero where the threshold is zero too
        low, gain = rng.uniform(0.5, 2, (2, 3, 3))
        low[1] = 0
        high = low * 2
        high[2, 0], high[2, 1] = np.inf, low[2, 1]
        on_device = {key: device.upload(band) for key, band in bands.items()}
        values = device.upload(prepare_values(low, high, gain).astype(dtype))
        Pointwise(device).shrink(on_device, values, mode)
        for number, (key, band) in enumerate(bands.items()):
            expected = [
                shrink_by_hand(band[c], mode, low[number, c], high[number, c], gain[number, c]) for c in range(3)
            ]
            np.testing.assert_allclose(device.download(on_device[key]), expected, rtol=1e-5, atol=1e-6)

    def test_empty_bands_do_no_harm(self, device):
        band = np.array([[[3.0, -1.0, 0.5]]], np.float32)
        bands = {"ad": device.upload(band), "da": device.upload(band[:, :0]), "dd": device.upload(band[:, :0])}
        values = prepare_values(np.ones((3, 1)), np.ones((3, 1)), np.ones((3, 1)))
        pointwise = Pointwise(device)
        pointwise.shrink(bands, device.upload(values.astype(np.float32)), "soft")
        np.testing.assert_allclose(device.download(bands["ad"]), [[[2, 0, 0]]], rtol=1e-6)
        pointwise.shrink({**bands, "ad": bands["dd"]}, device.upload(values.astype(np.float32)), "soft")

"""Fixed point on a device gives the integers of the host, bit by bit: every mode, number of bits, dtype and shape."""

from __future__ import annotations

import numpy as np
import pytest

from subband import Pyramid, data
from subband.engines import get_engine
from subband.engines.opencl import OpenCLEngine
from subband.enhance import FixedPoint
from subband.errors import MissingExtraError, NoDeviceError, SubbandError

pytestmark = pytest.mark.opencl

try:
    ENGINE = get_engine("opencl")
except (MissingExtraError, NoDeviceError) as missing:
    pytest.skip(f"{missing}", allow_module_level=True)

MODES = ("symmetric", "reflect", "constant", "periodic", "periodization")


def check(fixed: FixedPoint, samples: np.ndarray, level: int | None = None, axes: tuple[int, ...] = (-2, -1)) -> None:
    expected = fixed.forward(samples, level, axes)
    found = fixed.forward(samples, level, axes, engine=ENGINE)
    for (number, key, right), (_, _, band) in zip(expected.bands(), found.bands(), strict=True):
        assert band.dtype == right.dtype
        np.testing.assert_array_equal(band, right, f"{key!r} of level {number}")
    back = fixed.inverse(found, engine=ENGINE)
    assert back.dtype == samples.dtype
    np.testing.assert_array_equal(back, fixed.inverse(expected))


@pytest.mark.parametrize("bits", range(8, 17))
def test_bits(bits):
    check(FixedPoint("db2", bits), data.camera()[:67, :101], 3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wavelet", ["haar", "cdf97", "bior2.2"])
def test_modes(wavelet, mode):
    check(FixedPoint(wavelet, 12, mode), data.camera()[200:265, 100:147], 2)


def test_whole():
    check(FixedPoint("cdf53", 8, "whole"), data.camera()[:65, :100])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
def test_dtypes(dtype):
    samples = np.random.default_rng(0).random((40, 33))
    samples = samples.astype(dtype) if dtype.startswith("float") else (samples * np.iinfo(dtype).max).astype(dtype)
    check(FixedPoint("db4", 16), samples, 2)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((5, 1, 7), (0, 1, 2)), ((1, 1), (0, 1)), ((20, 30, 3), (0, 1)), ((3, 4, 50), (2,)), ((64,), (0,))],
)
def test_shapes(shape, axes):
    check(FixedPoint("haar", 10), np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8), 1, axes)


def test_arrays_of_a_device_stay_there():
    samples = data.camera()[:64, :64]
    fixed = FixedPoint("cdf97", 16)
    there = ENGINE.device.upload(samples)
    pyramid = fixed.forward(there, 2)
    assert all(ENGINE.device.owns(band) for _, _, band in pyramid.bands())
    back = fixed.inverse(pyramid)
    assert ENGINE.device.owns(back)
    np.testing.assert_array_equal(back.get(), fixed.inverse(fixed.forward(samples, 2)))
    assert isinstance(pyramid, Pyramid)


def test_with_the_optimiser(monkeypatch):
    """All other tests compile without it; users do not, and it must not fuse products and sums."""
    monkeypatch.delenv("PYOPENCL_BUILD_OPTIONS", raising=False)
    engine, fixed, samples = OpenCLEngine(), FixedPoint("cdf97", 16), data.camera()[:65, :99]
    found, expected = fixed.forward(samples, 2, engine=engine), fixed.forward(samples, 2)
    for (_, _, band), (_, _, right) in zip(found.bands(), expected.bands(), strict=True):
        np.testing.assert_array_equal(band, right)
    np.testing.assert_array_equal(fixed.inverse(found, engine=engine), fixed.inverse(expected))


@pytest.mark.parametrize("value", [1.5, -0.1, np.nan, np.inf])
def test_real_numbers_out_of_range_are_refused(value):
    samples = np.full((40, 40), 0.5, np.float32)
    samples[39, 17] = value
    with pytest.raises(SubbandError, match=r"from 0 to 1"):
        FixedPoint("haar").forward(samples, 1, engine=ENGINE)

"""Three axes in one sweep on a real GPU: the same numbers as from the reference engine."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import subband as sb
from subband.engines import get_engine
from subband.engines.abilities import abilities_of_device
from subband.kernels.launch import VolumeLaunch
from subband.plan import level_plan
from subband.schedule import schedule_level
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import as_wavelet

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")

#: Several tiles and walks, in two forms that differ in their text: whole pairs all over, and odd sizes, in a batch too.
SHAPES = ((18, 46, 132), (17, 33, 67), (2, 3, 16, 19, 41))

#: Wavelets that three axes of go together; compiling takes most of the time, so each comes with one mode and dtype.
KINDS = (
    ("haar", "periodization", "float32"),
    ("cdf53", "whole", "float32"),
    ("cdf97", "whole", "float32"),
    ("cdf97", "symmetric", "float64"),
    ("bior4.4", "reflect", "float16"),
    ("db2", "zero", "float32"),
    ("sym4", "periodic", "float32"),
    # a long one, whose rows take most of the local memory
    ("sym5", "symmetric", "float64"),
)

#: Half precision keeps 11 bits of a number; every axis rounds, and so does what is compared with.
HALF = 2.0**-8


def plan_volume(shape, name, mode, axes=None):
    axes = axes or tuple(range(len(shape) - 3, len(shape)))
    return level_plan(shape, axes, (as_wavelet(name),) * 3, (mode,) * 3)


def find_tolerance(plan, dtype):
    wavelets = [axis.wavelet for axis in plan.plans]
    return HALF if dtype == "float16" else relative_tolerance(dtype, wavelets, same_filters=True)


def draw(shape, dtype, seed=0):
    return draw_samples(shape, "float64" if dtype == "float64" else "float32", seed).astype(dtype)


def check(plan, dtype, upload=lambda x: x, download=lambda x: x):
    """Compare both directions with the reference engine; the inverse runs on coefficients of its own."""
    reference, tolerance = get_engine("reference"), find_tolerance(plan, dtype)
    x = draw(plan.shape, dtype, prod(plan.shape))
    expected = reference.forward(plan, x.astype(np.float64))
    bands = ENGINE.forward(plan, upload(x))
    assert list(bands) == list(expected)
    for key, band in bands.items():
        band = download(band)
        assert band.dtype == dtype
        assert_close(band.astype(np.float64), expected[key], tolerance, largest(x, expected), (key, plan))
    noise = {key: draw(shape, dtype, n) for n, (key, shape) in enumerate(plan.band_shapes.items())}
    restored = reference.inverse(plan, {key: band.astype(np.float64) for key, band in noise.items()})
    y = download(ENGINE.inverse(plan, {key: upload(band) for key, band in noise.items()}))
    assert y.dtype == dtype
    assert_close(y.astype(np.float64), restored, tolerance, largest(restored, noise), ("inverse", plan))


@pytest.mark.parametrize(("name", "mode", "dtype"), KINDS)
def test_wavelets_modes_and_dtypes(name, mode, dtype):
    for shape in SHAPES:
        plan = plan_volume(shape, name, mode)
        assert len(schedule_level(plan, abilities_of_device(ENGINE.least_volume)).sweeps) == 1
        check(plan, dtype)


@pytest.mark.parametrize("name", ["db5", "bior3.5"])
def test_wavelets_that_are_nearly_too_long(name):
    """Whether three axes go together or not, blocks have room for them."""
    check(plan_volume((17, 33, 67), name, "symmetric"), "float64")


@pytest.mark.parametrize(
    ("launch", "chunks"),
    [
        # parameters of a launch that the text depends on, and walks that all go through the same text
        (VolumeLaunch(8, 2, 1), (1, 2, 5, 64)),
        (VolumeLaunch(10, 1, 1, ahead=3, resident=2, unroll=2), (1, 3, 4)),
        (VolumeLaunch(6, 1, 2, ahead=2, is_whole_sectors=True), (2, 7)),
        # more local memory than a text may declare
        (VolumeLaunch(12, 2, 2, ahead=2, is_whole_sectors=True, resident=1, unroll=2), (1, 5, 24)),
    ],
    ids=["plain", "ahead", "wide", "large"],
)
def test_cuts_leave_no_seam(launch, chunks, monkeypatch):
    def cut_unevenly(self, steps, *_, **__):
        # some walk all they may, and those behind them half of it
        return self.chunk, steps // self.chunk // 2, max(1, self.chunk // 2)

    monkeypatch.setattr(VolumeLaunch, "choose_chunks", cut_unevenly)
    for chunk in chunks:
        override = VolumeLaunch(**{**vars(launch), "chunk": chunk})
        monkeypatch.setattr(ENGINE, "volume_override", override)
        # prepared sweeps keep their chunk
        ENGINE.forget_kernels()
        for shape in ((26, 60, 132), (3, 18, 24, 64), (2, 17, 39, 71)):
            check(plan_volume(shape, "cdf97", "whole"), "float32")
    ENGINE.forget_kernels()


@pytest.mark.parametrize("width", [64, 66, 88, 90, 122, 124, 126, 128, 132, 236, 240, 244, 248, 252, 514, 516])
def test_rows_that_mirror_themselves(width):
    """The first lane and the last one stand for what lies beyond, wherever the last tile begins."""
    check(plan_volume((16, 22, width), "cdf97", "whole"), "float32")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_large_tiles(dtype):
    """Blocks are handed more local memory than a text may declare."""
    for shape in ((30, 64, 128), (2, 22, 66, 260)):
        check(plan_volume(shape, "cdf97", "whole"), dtype)


def test_arrays_of_the_gpu_in_any_order_and_at_any_place():
    import cupy

    def upload_aside(x):
        buffer = cupy.zeros(x.size + 1, x.dtype)
        buffer[1:] = cupy.asarray(x).ravel()
        return buffer[1:].reshape(x.shape)

    for upload in (cupy.asarray, upload_aside, lambda x: cupy.asarray(np.asfortranarray(x))):
        check(plan_volume((18, 34, 66), "cdf97", "whole", (2, 0, 1)), "float32", upload, cupy.asnumpy)


@pytest.mark.parametrize("shape", [(64, 96, 128), (2, 67, 50, 131)])
def test_levels_of_a_volume(shape):
    x = draw_samples(shape, "float32")
    axes = (-3, -2, -1)
    # the last level is too small for it and takes another way
    expected = sb.decompose(x.astype(np.float64), "cdf97", 3, axes=axes, engine="reference")
    pyramid = sb.decompose(x, "cdf97", 3, axes=axes, engine="cuda")
    tolerance = relative_tolerance("float32", [as_wavelet("cdf97")] * 3, 3)
    most = max(largest(x), *(largest(bands) for bands in expected.details), largest(expected.approximation))
    assert_close(pyramid.approximation, expected.approximation, tolerance, most)
    for bands, others in zip(pyramid.details, expected.details, strict=True):
        assert list(bands) == list(others)
        for key, band in bands.items():
            assert_close(band, others[key], tolerance, most, key)
    assert_close(sb.reconstruct(pyramid, engine="cuda"), x, tolerance, most)


def test_a_large_volume_comes_back():
    """As many blocks as a GPU runs at a time, several times over."""
    import cupy

    x = cupy.random.default_rng(0).standard_normal((160, 256, 384), np.float32)
    pyramid = sb.decompose(x, "cdf97", 2)
    assert float(cupy.abs(sb.reconstruct(pyramid) - x).max()) < 1e-4
    # along each axis what is constant is only in the approximation
    flat = sb.decompose(cupy.ones_like(x), "cdf97", 1)
    assert max(float(cupy.abs(band).max()) for band in flat.details[0].values()) < 1e-5

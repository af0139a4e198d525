"""Frames through a real GPU: the results of the CPU, with upload, computation and download at the same time."""

from __future__ import annotations

from itertools import cycle, islice
from time import perf_counter

import cupy
import numpy as np
import pytest

import subband as sb
from subband.engines.filters.device import DeviceFilters
from subband.enhance import Shrink
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, to_ycbcr
from subband.kernels.filters import FACTORS
from subband.pipeline import Pipeline, process_frames

pytestmark = pytest.mark.gpu

OPERATIONS = {
    "soft": Shrink(threshold=9.0),
    # not Haar, whose sums of whole numbers lie halfway between two of them all the time
    "hard": Shrink("db3", 2, "hard", [15.3, 8.7]),
    "garrote": Shrink("db2", 1, "garrote", 20.0, boundary="periodization"),
    "firm": Shrink("cdf53", 2, "firm", [[5.0], [3.0]], [[10.0], [9.0]]),
    "gains": Shrink(level=2, threshold=[4, 2], gains=[[[1.3], [1.2], [0.5]], [[0.7], [1.0], [1.0]]]),
    "nothing": Shrink(level=0),
}


def make_frames(count, shape=(270, 482, 3), dtype=np.uint8, seed=0):
    """Smooth frames under a little noise: coefficients near a hard threshold are few."""
    rng = np.random.default_rng(seed)
    most = np.iinfo(dtype).max
    wave = np.sin(np.arange(shape[0])[:, np.newaxis] / 20) * np.cos(np.arange(shape[1]) / 30)
    wave = wave if len(shape) == 2 else wave[..., np.newaxis] * [1, 0.8, 0.5]
    return [
        np.clip(most * (0.5 + 0.4 * wave * phase + rng.normal(0, 0.02, shape)), 0, most).astype(dtype)
        for phase in np.linspace(-1, 1, count)
    ]


def check(frames, results, operation, most_different=1e-3):
    """Results are those of the CPU, but for pixels that round the other way."""
    expected = process_frames(frames, operation, engine="cpu")
    for result, wanted in zip(results, expected, strict=True):
        difference = np.abs(result.astype(np.int64) - wanted)
        if operation.mode != "hard":  # a coefficient at the threshold may go either way
            assert difference.max() <= 1
        assert np.mean(difference > 0) < most_different


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(270, 482, 3), (135, 241, 3), (270, 482), (57, 33)])
def test_equals_the_cpu(name, shape):
    frames = make_frames(7, shape)
    check(frames, list(process_frames(frames, OPERATIONS[name], engine="cuda")), OPERATIONS[name])


def test_each_channel_has_its_own_numbers():
    operation = Shrink(level=2, threshold=[[4, 8, 12], [2, 4, 6]], gains=[[1.1, 0.8, 0.9]])
    frames = make_frames(3)
    check(frames, list(process_frames(frames, operation, engine="cuda")), operation)


def test_equals_the_cpu_in_sixteen_bits():
    frames = make_frames(5, dtype=np.uint16)
    operation = Shrink(threshold=2000.0)
    check(frames, list(process_frames(frames, operation, engine="cuda")), operation, 0.1)


@pytest.mark.parametrize("in_flight", [0, 1, 3, 6])
def test_order_and_repeated_use(in_flight):
    pipeline = Pipeline(Shrink(threshold=4.0), engine="cuda", in_flight=in_flight)
    frames = make_frames(6)
    alone = list(Pipeline(pipeline.operation, engine="cuda", in_flight=0).process(frames))
    for _ in range(3):
        results = pipeline.process(islice(cycle(frames), 60))
        for result, expected in zip(results, islice(cycle(alone), 60), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_work_is_replayed_from_graphs():
    pipeline = Pipeline(Shrink(threshold=4.0), engine="cuda")
    list(pipeline.process(make_frames(2)))
    (conveyor,) = pipeline._parked.values()
    assert conveyor.is_captured


def test_device_memory_does_not_grow():
    pipeline = Pipeline(Shrink(threshold=4.0), engine="cuda")
    frames = make_frames(6)
    for _ in pipeline.process(frames):
        pass
    cupy.cuda.Device().synchronize()
    free, _ = cupy.cuda.runtime.memGetInfo()
    for _ in pipeline.process(islice(cycle(frames), 100)):
        pass
    assert cupy.cuda.runtime.memGetInfo()[0] == free


def test_buffers_are_pinned_and_used_again():
    pipeline = Pipeline(Shrink(threshold=4.0), engine="cuda")
    frames = make_frames(4)
    addresses = set()

    def produce():
        for frame in islice(cycle(frames), 40):
            buffer = pipeline.buffer(frame.shape)
            addresses.add(buffer.ctypes.data)
            attributes = cupy.cuda.runtime.pointerGetAttributes(buffer.ctypes.data)
            assert attributes.type == 1  # host, and known to CUDA
            buffer[...] = frame
            yield buffer

    expected = list(pipeline.process(frames))
    for result, wanted in zip(pipeline.process(produce()), islice(cycle(expected), 40), strict=True):
        np.testing.assert_array_equal(result, wanted)
    assert len(addresses) <= 16


def test_shape_changes_and_early_ends():
    operation = Shrink(level=2, threshold=4.0)
    pipeline = Pipeline(operation, engine="cuda")
    frames = [*make_frames(3), *make_frames(2, (64, 64)), *make_frames(3, (64, 64), np.uint16), *make_frames(2)]
    results = list(pipeline.process(frames))
    assert [(r.shape, r.dtype) for r in results] == [(f.shape, f.dtype) for f in frames]
    for _ in range(3):
        results = pipeline.process(make_frames(9))
        next(results)
        results.close()
    check(make_frames(4), list(pipeline.process(make_frames(4))), operation)

    def break_off():
        yield from make_frames(2)
        raise KeyError

    with pytest.raises(KeyError):
        list(pipeline.process(break_off()))
    check(make_frames(4), list(pipeline.process(make_frames(4))), operation)


def test_stages_overlap():
    """Frames follow each other faster than the stages of one, added up, take; each stage is measured by itself."""
    shape = (2160, 3840, 3)
    pipeline = Pipeline(Shrink(threshold=8.0), engine="cuda")
    frames = [pipeline.buffer(shape) for _ in range(4)]
    for number, frame in enumerate(frames):
        frame[...] = 40 * number
    stages = pipeline.measure_stages(shape)
    count, best = 60, float("inf")
    for _ in range(4):
        start = perf_counter()
        for _ in pipeline.process(islice(cycle(frames), count)):
            pass
        best = min(best, (perf_counter() - start) / count)
    assert best < 0.85 * (stages["upload"] + stages["compute"] + stages["download"])


@pytest.mark.parametrize("shape", [(64, 96), (33, 41)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_colour_kernels(shape, dtype):
    device = sb.get_engine("cuda").device
    pixels = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, (*shape, 3), dtype, endpoint=True)
    filters = DeviceFilters(device)
    planes = filters.read_pixels(device.upload(pixels), TO_YCBCR, np.float32)
    np.testing.assert_allclose(device.download(planes), to_ycbcr(pixels), rtol=1e-5, atol=np.iinfo(dtype).max * 1e-6)
    back = filters.write_pixels(planes, FROM_YCBCR, pixels.dtype)
    np.testing.assert_array_equal(device.download(back), pixels)


@pytest.mark.parametrize("mode", FACTORS)
@pytest.mark.parametrize("width", [64, 37])
def test_threshold_kernels(mode, width):
    device = sb.get_engine("cuda").device
    rng = np.random.default_rng(4)
    shapes = {"ad": (3, 50, width), "da": (3, 49, width + 1), "dd": (3, 49, width)}
    bands = {key: rng.normal(0, 2, shape).astype(np.float32) for key, shape in shapes.items()}
    for band in bands.values():
        band.flat[::5] = 0
    low, gain = rng.uniform(0.5, 2, (2, 3, 3))
    low[1] = 0
    high = low * 2
    on_device = {key: device.upload(band) for key, band in bands.items()}
    DeviceFilters(device).shrink_bands([*on_device.values()], low, mode, high, gain)
    for number, (key, band) in enumerate(bands.items()):
        for channel in range(3):
            t, u, g = (x[number, channel] for x in (low, high, gain))
            plane = band[channel]
            if mode == "firm":
                plane = sb.threshold_firm(plane, t, u)
            elif mode != "none":
                plane = sb.threshold(plane, t, mode)
            np.testing.assert_allclose(device.download(on_device[key])[channel], plane * g, rtol=1e-5, atol=1e-6)

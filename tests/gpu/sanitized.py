"""What `make sanitize-gpu` runs under compute-sanitizer: a kernel of every form, on arrays of awkward sizes.

Sizes are small, because each access is looked at, but several strips wide and several chunks high. Results are compared
too: a tool that finds nothing because nothing ran would be no help.
"""

from __future__ import annotations

import sys

import numpy as np

from subband.engines import device_engine, get_engine
from subband.engines.filters.device import DeviceFilters
from subband.engines.filters.plain import PlainFilters
from subband.engines.temporal import Grid, find_temporal_filters
from subband.enhance.methods import find_method
from subband.kernels.launch import Launch, VolumeLaunch
from subband.plan import LevelPlan, level_plan, transform_plan
from subband.stationary import stationary_plan
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import as_wavelet

#: Shapes with axes, wavelet, mode and dtype.
LEVELS = (
    ((67, 333), (0, 1), "cdf97", "whole", "float32"),
    ((64, 512), (0, 1), "cdf97", "whole", "float32"),
    # the last strip is a single pair of rows
    ((58, 512), (0, 1), "haar", "periodization", "float32"),
    ((64, 512), (0, 1), "cdf97", "periodization", "float64"),
    ((67, 333), (0, 1), "db5", "symmetric", "float32"),
    ((66, 130), (0, 1), "db2", "antireflect", "float32"),
    ((67, 129, 3), (0, 1), "cdf97", "whole", "float32"),
    # whole pixels that are loaded in pieces of 8 and of 16 bytes
    ((66, 128, 3), (0, 1), "cdf97", "whole", "float32"),
    ((66, 128, 4), (0, 1), "cdf97", "whole", "float32"),
    ((66, 128), (0, 1), "db2", "symmetric", "complex64"),
    ((5, 333), (1,), "db38", "smooth", "float32"),
    ((333, 5), (0,), "db38", "reflect", "float32"),
    ((9, 34, 65), (0, 1, 2), "haar", "zero", "float32"),
    ((33, 65), (0, 1), "cdf97", "symmetric", "complex64"),
    ((67, 333), (0, 1), "cdf53", "whole", "int32"),
    ((64, 512), (0, 1), "haar", "whole", "int64"),
    ((1, 1), (0, 1), "db2", "symmetric", "float32"),
    # three axes at a time: rows that mirror themselves, and zeros outside of odd sizes
    ((18, 38, 66), (0, 1, 2), "cdf97", "whole", "float32"),
    ((2, 17, 19, 67), (1, 2, 3), "db2", "zero", "float32"),
    # and large tiles, the last of which begins inside the one before
    ((18, 46, 132), (0, 1, 2), "cdf97", "whole", "float32"),
)

#: Shapes with axes, wavelet, dtype and levels that one kernel does, mostly two at a time, and how finely they are cut.
CASCADES = (
    ((64, 640), (0, 1), "cdf97", "float32", 4, None),
    ((64, 640), (0, 1), "cdf97", "float32", 2, Launch(4, 1, 3, 4, False)),
    ((2, 52, 512), (1, 2), "cdf53", "float32", 2, Launch(2, 3, 2, 2, False)),
    ((64, 512), (0, 1), "cdf97", "float64", 2, None),
    ((64, 1024), (0, 1), "cdf97", "float16", 3, None),
    ((64, 1024), (0, 1), "cdf97", "float16", 2, Launch(8, 2, 4, 4, False)),
    ((64, 512, 3), (0, 1), "cdf97", "float32", 2, None),
    ((64, 512, 2), (0, 1), "cdf97", "float32", 2, None),
    # one level of halves by the same kernel, and of whole pixels of them
    ((68, 1024), (0, 1), "cdf97", "float16", 1, None),
    ((64, 1024), (0, 1), "cdf53", "float16", 1, Launch(8, 2, 3, 4, False)),
    ((64, 512, 3), (0, 1), "cdf97", "float16", 1, None),
)

#: Planes that are filtered by groups of similar patches.
GROUPS = (((1, 33, 45), "float32"), ((2, 19, 21), "float64"), ((1, 9, 10, 11), "float32"), ((1, 130), "float32"))

#: How finely they are cut.
LAUNCHES = (None, Launch(2, 3, 4, 4, True), Launch(1, 1, 3, 2, False))

#: The same for three axes at a time.
VOLUME_LAUNCHES = (None, VolumeLaunch(6, 1, 1, ahead=2, chunk=3), VolumeLaunch(4, 2, 2, chunk=2, unroll=2))


def check_level(engine, plan: LevelPlan, dtype: str) -> None:
    reference = get_engine("reference")
    x = draw_samples(plan.shape, dtype)
    expected = reference.forward(plan, x)
    is_whole = np.dtype(dtype).kind == "i"
    tolerance = 0.0 if is_whole else relative_tolerance(dtype, [axis.wavelet for axis in plan.plans])
    bands = engine.forward(plan, x)
    for key, band in bands.items():
        assert_close(band, expected[key], tolerance, largest(x, expected), (key, plan))
    assert_close(engine.inverse(plan, bands), x, tolerance, largest(x, expected), plan)
    if not is_whole:
        folded, adjoint = reference.forward_adjoint(plan, expected), reference.inverse_adjoint(plan, x)
        y = engine.forward_adjoint(plan, {key: band.astype(dtype) for key, band in expected.items()})
        assert_close(y, folded, 4 * tolerance, largest(folded, expected), plan)
        for key, band in engine.inverse_adjoint(plan, x).items():
            assert_close(band, adjoint[key], 4 * tolerance, largest(x, adjoint), (key, plan))


def check_levels(engine, shape, axes, name: str, dtype: str, levels: int) -> None:
    reference, wavelets = get_engine("reference"), (as_wavelet(name),) * 2
    plan = transform_plan(shape, axes, wavelets, ("whole",) * 2, levels)
    # the coefficients of halves round more often
    tolerance = 2.0**-6 if dtype == "float16" else relative_tolerance(dtype, wavelets, levels)
    x = draw_samples(shape, "float64").astype(dtype)
    low, details = reference.forward_all(plan, x.astype(np.float64))
    most = max(largest(x.astype(np.float64)), largest(low), *map(largest, details))
    found, bands = engine.forward_all(plan, x)
    assert_close(found.astype(np.float64), low, tolerance, most, plan)
    for own, expected in zip(bands, details, strict=True):
        for key, band in own.items():
            assert_close(band.astype(np.float64), expected[key], tolerance, most, (key, plan))
    assert_close(engine.inverse_all(plan, found, bands).astype(np.float64), x, tolerance, most, plan)


def check_groups(engine, shape: tuple[int, ...], dtype: str) -> int:
    """Filter planes by groups of patches as the method does; the patches of a block share much local memory."""
    rng = np.random.default_rng(0)
    guide = np.cumsum(rng.normal(0, 8, shape), axis=-1).astype(dtype)
    planes, noise = (guide + rng.normal(0, 3, shape)).astype(dtype), np.full(shape[0], 3.0)
    filters = DeviceFilters(engine.device)
    passes = find_method("best").list_passes(len(shape) - 1)
    for groups in passes:
        there = [engine.device.upload(x) for x in (planes, guide)]
        found = engine.device.download(filters.filter_groups(*there, filters.upload(noise), groups))
        expected = PlainFilters().filter_groups(planes, guide, noise, groups)
        assert_close(found, expected, 1e-3, largest(planes), (shape, dtype, groups))
    return len(passes)


def check_averages(engine, shape: tuple[int, int]) -> int:
    """Average frames of video along their motion; blocks of the last row and column are not whole."""
    rng = np.random.default_rng(0)
    image = np.cumsum(np.cumsum(rng.normal(0, 3, (shape[0] + 8, shape[1] + 8)), 0), 1)
    filters, judge = find_temporal_filters(engine), find_temporal_filters(get_engine("cpu"))
    noise, steps = np.array([5.0]), (2, 2)
    frames = [
        (image[2 * k : 2 * k + shape[0], k : k + shape[1]] + rng.normal(0, 5, shape)).astype(np.float32)[np.newaxis]
        for k in range(4)
    ]
    past, before = filters.begin(*map(engine.device.upload, (frames[0], noise))), judge.begin(frames[0], noise)
    for frame in frames[1:]:
        there = [engine.device.upload(x) for x in (frame, noise)]
        past = filters.average(past, *there, filters.find_motion(there[0], past, there[1]), (1, 1))
        before = judge.average(before, frame, noise, judge.find_motion(frame, before, noise), (1, 1))
        found = engine.device.download(past.planes)
        assert (np.abs(found - before.planes) < 0.01).mean() > 0.9, shape
    chroma = [engine.device.upload(np.ascontiguousarray(frame[:, ::2, ::2])) for frame in frames]
    found = filters.average(filters.begin(chroma[0], there[1]), chroma[1], there[1], past.motion, steps)
    halves = [found.ratios, *filters.halve(found.ratios, 3)]
    grids = [Grid(level, 2**level, (-1, 1), (shape[0] >> level, 40)) for level in (1, 2, 3)]
    for drawn in filters.draw(halves, grids):
        assert np.isfinite(engine.device.download(drawn)).all()
    assert np.isfinite(engine.device.download(filters.measure_typical(found.ratios, 2))).all()
    return len(frames)


def main() -> None:
    engine = get_engine("cuda")
    # imported here, because pytest looks into every module, and not every machine has it
    import cupy

    # memory of a pool would hide what reaches beyond an array
    cupy.cuda.set_allocator(None)
    count = 0
    for launch, volume_launch in zip(LAUNCHES, VOLUME_LAUNCHES, strict=True):
        engine.launch_override, engine.volume_override = launch, volume_launch
        for shape, axes, name, mode, dtype in LEVELS:
            wavelet = as_wavelet(name)
            if launch is not None and wavelet.dec_len > 20:
                continue
            reversible = np.dtype(dtype).kind == "i"
            plan = level_plan(shape, axes, (wavelet,) * len(axes), (mode,) * len(axes), reversible)
            check_level(engine, plan, dtype)
            count += 1
    engine.launch_override = engine.volume_override = None
    engine.least_cascade = 1
    # of large images alone this is so by itself
    device_engine.suits_one_level = lambda dialect, size, elements: size < 8
    for *case, launch in CASCADES:
        engine.cascade_override = launch
        check_levels(engine, *case)
        count += 1
    engine.cascade_override = None
    plan = stationary_plan((33, 65), (0, 1), (as_wavelet("db2"),) * 2, 2)
    x = draw_samples((33, 65), "float32")
    y = engine.stationary_inverse(plan, engine.stationary_forward(plan, x))
    assert_close(y, x, relative_tolerance("float32", [as_wavelet("db2")] * 2), 4 * largest(x))
    half = level_plan((64, 512), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2)
    x = draw_samples((64, 512), "float32").astype(np.float16)
    y = engine.inverse(half, engine.forward(half, x))
    engine.forward_adjoint(half, engine.inverse_adjoint(half, x))
    assert_close(y.astype(np.float64), x.astype(np.float64), 0.02, 4 * largest(x.astype(np.float64)))
    groups = sum(check_groups(engine, *case) for case in GROUPS)
    frames = sum(check_averages(engine, shape) for shape in ((131, 170), (33, 47), (16, 90)))
    print(f"{count + 2} levels, {groups} passes over groups and {frames} frames are right")


if __name__ == "__main__":
    sys.exit(main())

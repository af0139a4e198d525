"""Two levels in one kernel: which levels go together, and what a strip of both covers."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines.layout import can_cascade, tabulate_cascade
from subband.kernels.cascade import CASCADE_FIELDS, CascadeSpec, render_cascade
from subband.kernels.dialects import CUDA, LANES, OPENCL
from subband.kernels.launch import Launch, choose_cascade_launch
from subband.plan import axis_plan, transform_plan
from subband.schedule.axis import axis_program
from subband.schedule.sweeps import Layout, schedule_level
from subband.testing import RecordingEngine
from subband.wavelets import LiftingScheme, Step, Wavelet, as_wavelet


def make_spec(direction="forward", name="cdf97", storage="float32", pairs=2, channels=1):
    program = axis_program(axis_plan(as_wavelet(name), "whole", 512), direction)
    return CascadeSpec(direction, program, program, storage, storage, pairs, 2, 4, channels)


def count_launches(shape, axes, mode, levels, dtype="float32"):
    engine = RecordingEngine(CUDA)
    plan = transform_plan(shape, axes, (as_wavelet("cdf97"),) * 2, (mode,) * 2, levels)
    x = engine.device.upload(np.zeros(shape, dtype))
    low, details = engine.forward_all(plan, x)
    there = len(engine.device.launches)
    engine.inverse_all(plan, low, details)
    return there, len(engine.device.launches) - there


def test_levels_go_together_in_pairs():
    assert count_launches((8192, 8192), (0, 1), "whole", 5) == (3, 3)
    assert count_launches((3, 1080, 1920), (1, 2), "whole", 3) == (2, 2)
    assert count_launches((1080, 1920, 3), (0, 1), "whole", 3) == (2, 2)
    # a side of 1079, samples that go on otherwise, whole numbers, and what is too small to be worth it
    assert count_launches((1079, 1920), (0, 1), "whole", 2) == (2, 2)
    assert count_launches((1080, 1920), (0, 1), "symmetric", 2) == (2, 2)
    assert count_launches((64, 128), (0, 1), "whole", 2) == (2, 2)


def test_one_level_of_large_images_is_done_by_the_same_kernel():
    large, small = (8192, 8192), (1024, 1024)
    cases = [("f2", large, CUDA), ("f4", large, CUDA), ("f2", small, CUDA), ("f4", small, CUDA), ("f8", large, CUDA)]
    for dtype, shape, dialect in [*cases, ("f4", large, OPENCL)]:
        is_so = shape == large and (dtype == "f2" or (dtype == "f4" and dialect is CUDA))
        engine = RecordingEngine(dialect)
        plan = transform_plan(shape, (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 1)
        for direction in ("forward", "inverse"):
            engine.find_chain(plan.levels, direction, np.dtype(dtype), True)
        assert all(("#define COLUMNS" in source) == is_so for source in engine.device.sources)
    engine = RecordingEngine(CUDA)
    engine.launch_override = Launch(4, 4, 12, 4, True)
    plan = transform_plan((8192, 8192), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 1)
    engine.find_chain(plan.levels, "forward", np.dtype("f2"), True)
    assert "#define COLUMNS" not in engine.device.sources[0]


def test_what_lies_between_two_levels_takes_no_memory():
    engine = RecordingEngine(CUDA)
    plan = transform_plan((1024, 1024), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 4)
    forward = engine.find_chain(plan.levels, "forward", np.dtype("f4"), True)
    inverse = engine.find_chain(plan.levels, "inverse", np.dtype("f4"), True)
    details = [(512, 512)] * 3, [(256, 256)] * 4, [(128, 128)] * 3, [(64, 64)] * 4
    assert forward.shapes == ((0,), *details[0], *details[1], (0,), *details[2], *details[3])
    assert inverse.shapes == ((0,), (256, 256), (0,), (1024, 1024))


@pytest.mark.parametrize("direction", ["forward", "inverse"])
@pytest.mark.parametrize("count", range(1, 7))
def test_mirrors_show_rows_that_are_there(count, direction):
    """Steps of a user's own wavelet may reach so far that rows beyond the last one lie before the first."""
    steps = (Step("predict", 0, (-0.1, -0.1)), Step("update", -1, (0.05, 0.05))) * count
    wavelet = Wavelet.from_lifting(f"steps{count}", LiftingScheme(steps))
    down = axis_program(axis_plan(wavelet, "whole", 512), direction).schedule
    assert (-down.first, down.last) == (count, count)
    engine, more = RecordingEngine(CUDA), -(-count // 2)
    for height in range(32, 64, 4):
        plan = transform_plan((height, 2048), (0, 1), (wavelet,) * 2, ("whole",) * 2, 2)
        sweeps = [schedule_level(level, engine.find_abilities(np.dtype("f4"))).sweeps[0] for level in plan.levels]
        is_joined = can_cascade(sweeps, plan.shape, direction, 2, 4)
        assert is_joined == (height >= 8 * count)
        if is_joined and direction == "forward":
            newest = height // 4 + count - 1
            assert 4 * newest + 3 + 2 * count <= 2 * height - 2
        elif is_joined:
            newest = height // 4 + count + more - 1
            assert newest <= 2 * (height // 4) - 2


@pytest.mark.parametrize(("pairs", "channels", "storage"), [(2, 1, "float32"), (4, 1, "float32"), (2, 3, "float32")])
def test_strips_cover_rows_once(pairs, channels, storage):
    spec = make_spec(storage=storage, pairs=pairs, channels=channels)
    assert sum(spec.halo) + spec.useful == LANES
    # coarse results reach six fine pairs to both sides
    assert all(side * pairs >= 6 for side in spec.halo)
    size = 4 * channels * pairs // 2
    assert spec.useful * size % 32 == 0
    for lanes in range(LANES, 8 * LANES):
        strips = spec.count_strips(lanes * spec.columns)
        firsts = [max(0, min(strip * spec.useful - spec.halo[0], lanes - LANES)) for strip in range(strips)]
        for strip, first in enumerate(firsts):
            begin = 0 if strip == 0 else strip * spec.useful
            end = lanes if strip == strips - 1 else (strip + 1) * spec.useful
            assert begin == 0 or first + spec.halo[0] <= begin
            assert end == lanes or end + spec.halo[1] <= first + LANES
            assert first <= begin <= end <= first + LANES


def test_every_row_is_walked_once():
    spec = make_spec()
    for steps in (3, 16, 270, 2048):
        told, groups = tabulate_cascade(Layout(2, 4 * steps, 1920, 1), spec, Launch(2, 2, 8, 4, False), 2112)
        named = dict(zip(CASCADE_FIELDS, told, strict=True))
        across = -(-named["strips"] // spec.block) * spec.block
        assert groups[0] % across == 0
        parts = groups[0] // across
        walked = [named["chunk"] if part < named["chunks"] else named["rest"] for part in range(parts)]
        assert sum(walked[:-1]) < steps <= sum(walked)
        assert groups[1:] == (1, 2)


def test_large_arrays_take_a_kernel_for_each_level():
    plan = transform_plan((1 << 15, 1 << 15), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 2)
    engine = RecordingEngine(CUDA)
    sweeps = [schedule_level(level, engine.find_abilities(np.dtype("f4"))).sweeps[0] for level in plan.levels]
    assert not can_cascade(sweeps, (1 << 15, 1 << 15), "forward", 2, 4)
    assert can_cascade(sweeps, (1 << 15, 1 << 15), "forward", 4, 2)


def test_launches():
    assert choose_cascade_launch(OPENCL, 4, 1 << 20, is_inverse=False).block == 1
    for size in (2, 4, 8):
        for is_inverse in (False, True):
            launch = choose_cascade_launch(CUDA, size, 1 << 20, is_inverse=is_inverse)
            assert launch.pairs % 2 == 0
            assert launch.pairs * size >= 8


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_texts_name_their_parameters(direction):
    text = render_cascade(make_spec(direction), CUDA)
    assert all(f"int {name}" in text for name in CASCADE_FIELDS)
    assert "AHEAD = 2" in text
    assert make_spec(direction).count_handed(OPENCL) == 0
    assert make_spec(direction).count_handed(CUDA) == 4 * 3 * 4 * 32 * 16


def test_one_level_leaves_local_memory_to_the_cache():
    for is_inverse in (False, True):
        launch = choose_cascade_launch(CUDA, 4, 8192 * 8192, is_inverse=is_inverse, levels=1)
        assert launch.resident > 0
        assert choose_cascade_launch(CUDA, 4, 8192 * 8192, is_inverse=is_inverse, levels=2).resident == 0


def test_small_images_have_few_walks_on_each_multiprocessor():
    sizes = [(1080 * 1920, 1), (3 * 1080 * 1920, 1), (4096 * 4096, 1), (3 * 1080 * 1920, 3), (3 * 2160 * 3840, 3)]
    found = [
        choose_cascade_launch(CUDA, 4, elements, is_inverse=True, channels=channels).resident
        for elements, channels in sizes
    ]
    assert found == [1, 2, 4, 1, 2]
    assert choose_cascade_launch(OPENCL, 4, 1080 * 1920, is_inverse=True).resident == 0


def test_large_images_have_launches_of_their_own():
    large = 8192 * 8192
    assert choose_cascade_launch(CUDA, 4, large, is_inverse=False).pairs == 4
    assert choose_cascade_launch(CUDA, 4, large, is_inverse=True).chunk == 64
    assert choose_cascade_launch(CUDA, 2, large, is_inverse=True).pairs == 8
    assert choose_cascade_launch(CUDA, 2, large, is_inverse=True, levels=1).pairs == 4
    assert choose_cascade_launch(CUDA, 4, large, is_inverse=False, channels=3).pairs == 2

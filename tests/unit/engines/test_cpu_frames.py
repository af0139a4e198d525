"""Frames on the CPU: one program for all of it gives what the steps give one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import subband as sb
from subband.boundary import MODES
from subband.engines import get_engine, get_threads, set_threads
from subband.engines import threads as helpers
from subband.engines.cpu import frames as cpu_frames
from subband.engines.cpu import jobs, sweep
from subband.engines.cpu.frames import FrameProgram
from subband.engines.filters import find_filters
from subband.engines.frames import make_frame_program
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, from_ycbcr, to_ycbcr
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.plan import transform_plan
from subband.wavelets import Wavelet

CPU = get_engine("cpu")
DETAILS = ("ad", "da", "dd")
THRESHOLDS = ("soft", "hard", "garrote", "firm")


def make_frame(shape, dtype=np.uint8, seed=0):
    """Draw a frame with edges and noise, some of it at both ends of the range."""
    top = np.iinfo(dtype).max
    rng = np.random.default_rng(seed)
    picture = np.add.outer(np.arange(shape[0]) % 31, np.arange(shape[1]) % 23) / 52
    picture = picture.reshape(picture.shape + (1,) * (len(shape) - 2)) + rng.normal(0, 0.15, shape)
    return np.clip(picture * top, 0, top).astype(dtype)


def make_values(level, channels, dtype=np.uint8, seed=0):
    """Draw thresholds and gains, one of each level that leave a band alone."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, np.iinfo(dtype).max / 10, (level, 3, channels))
    high = low * rng.uniform(1, 2, low.shape)
    gain = rng.uniform(0.5, 1.5, low.shape)
    low[:, 0, 0], high[:, 0, 0], gain[:, 0, 0] = 0, 0, 1
    return low, high, gain


def plan_frame(shape, wavelet="cdf97", boundary="symmetric", level=2):
    planes = (shape[2] if len(shape) == 3 else 1, *shape[:2])
    return transform_plan(planes, (1, 2), (Wavelet(wavelet),) * 2, (boundary,) * 2, level)


def make_program(plan, limits, mode):
    matrices = (TO_YCBCR, FROM_YCBCR) if plan.shape[0] == 3 else None
    program = make_frame_program(CPU, plan, matrices, limits, mode)
    # too small for single precision: the steps one by one
    return program or (lambda frame, result: run_filters(frame, result, plan, matrices, limits, mode))


def run_filters(frame, result, plan, matrices, limits, mode):
    """Do what an enhancer does where there is no program for it."""
    assert any(level.amplifies for level in plan.levels)
    there, back = matrices or (None, None)
    filters = find_filters(CPU)
    approximation, details = CPU.forward_all(plan, filters.read_pixels(frame, there, np.float32))
    for bands, low, high, gain in zip(reversed(details), *limits, strict=True):
        bands.update(zip(bands, filters.shrink_bands([*bands.values()], low, mode, high, gain), strict=True))
    filters.write_pixels(CPU.inverse_all(plan, approximation, details), back, frame.dtype, result)


def as_pixels(frame):
    """Give a grey frame the axis of its channel."""
    return frame if frame.ndim == 3 else frame[..., np.newaxis]


def compute_by_steps(frame, plan, limits, mode):
    """Do the same with whole arrays, and without rounding."""
    x = to_ycbcr(frame) if frame.ndim == 3 else frame[np.newaxis].astype(np.float32)
    details = []
    for level, low, high, gain in zip(plan.levels, *limits, strict=True):
        bands = CPU.forward(level, x)
        x = bands.pop("aa")
        for number, key in enumerate(DETAILS):
            parts = []
            for part, t, u, g in zip(bands[key], low[number], high[number], gain[number], strict=True):
                shrunk = sb.threshold_firm(part, t, u) if mode == "firm" else sb.threshold(part, t, mode)
                parts.append(shrunk * g)
            bands[key] = np.stack(parts).astype(np.float32)
        details.append(bands)
    for level in reversed(plan.levels):
        x = CPU.inverse(level, {"aa": x, **details.pop()})
    pixels = from_ycbcr(x) if frame.ndim == 3 else x[0]
    return np.clip(pixels.astype(np.float64), 0, np.iinfo(frame.dtype).max)


def assert_rounded(result, exact):
    """Check that pixels are numbers rounded, either way where they lie next to an edge."""
    # single precision, and thresholds that make more of its last place; more so where sums are rounded at each step
    near = 2e-3 * max(1, np.iinfo(result.dtype).max // 1000)
    np.testing.assert_array_less(np.abs(result - exact), 0.5 + near)


def check_frame(frame, plan, mode="soft"):
    limits = make_values(plan.level, plan.shape[0], frame.dtype)
    result = np.empty(frame.shape, frame.dtype.newbyteorder("="))
    make_program(plan, limits, mode)(as_pixels(frame), as_pixels(result))
    assert_rounded(result, compute_by_steps(frame, plan, limits, mode))


@pytest.fixture
def many_tasks(monkeypatch):
    """Let small frames be cut into many tasks, and rows into many tiles."""
    monkeypatch.setattr(jobs, "SMALL", 0)
    monkeypatch.setattr(jobs, "TASK", 1)
    monkeypatch.setattr(sweep, "TILE", 64)
    threads = get_threads()
    set_threads(3)
    yield
    set_threads(threads)


@pytest.mark.parametrize("boundary", MODES)
@pytest.mark.parametrize("wavelet", ["cdf97", "cdf53", "haar", "db3", "sym5", "bior3.5", "db12", "dmey"])
def test_any_wavelet_and_boundary(wavelet, boundary):
    if boundary == "whole" and not Wavelet(wavelet).is_whole_sample_symmetric:
        pytest.skip("'whole' is for symmetric filters of odd length")
    check_frame(make_frame((35, 46, 3)), plan_frame((35, 46, 3), wavelet, boundary))


@pytest.mark.parametrize("mode", THRESHOLDS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(40, 61), (40, 61, 3)])
def test_any_threshold_and_dtype(shape, dtype, mode):
    check_frame(make_frame(shape, dtype), plan_frame(shape, level=3), mode)


@pytest.mark.parametrize("colours", [(), (3,)])
@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1), (2, 3), (5, 4), (9, 128)])
@pytest.mark.parametrize("boundary", ["whole", "periodization", "smooth", "zero"])
def test_any_size(size, boundary, colours):
    shape = (*size, *colours)
    check_frame(make_frame(shape), plan_frame(shape, boundary=boundary))


@pytest.mark.parametrize("boundary", ["whole", "periodic", "antireflect", "zero"])
@pytest.mark.parametrize("wavelet", ["cdf97", "db12"])
@pytest.mark.parametrize("shape", [(121, 203), (121, 203, 3), (40, 900, 3)])
def test_many_tasks_and_tiles(many_tasks, shape, wavelet, boundary):
    if boundary == "whole" and wavelet == "db12":
        boundary = "symmetric"
    check_frame(make_frame(shape), plan_frame(shape, wavelet, boundary))


def test_all_tasks_by_one_thread(many_tasks, monkeypatch):
    monkeypatch.setattr(helpers._Sharing, "is_paused", lambda _: True)
    check_frame(make_frame((121, 203, 3)), plan_frame((121, 203, 3), "cdf97", "whole"))


def test_infinite_thresholds_leave_the_approximation():
    frame, plan = make_frame((48, 64, 3)), plan_frame((48, 64, 3), "haar", level=1)
    limits = np.full((1, 3, 3), np.inf), np.full((1, 3, 3), np.inf), np.ones((1, 3, 3))
    exact = np.repeat(np.repeat(frame.reshape(24, 2, 32, 2, 3).mean((1, 3)), 2, 0), 2, 1)
    for mode in THRESHOLDS:
        result = np.empty_like(frame)
        make_program(plan, limits, mode)(frame, result)
        assert_rounded(result, exact)


def test_no_level_and_no_threshold_change_nothing():
    frame = make_frame((33, 47, 3))
    for level in (0, 2):
        result = np.zeros_like(frame)
        zeros = np.zeros((level, 3, 3))
        make_program(plan_frame(frame.shape, level=level), (zeros, zeros, zeros + 1), "soft")(frame, result)
        np.testing.assert_array_equal(result, frame)


def test_three_channels_without_matrices():
    frame, plan = make_frame((33, 47, 3)), plan_frame((33, 47, 3))
    limits = make_values(plan.level, 3)
    result = np.empty_like(frame)
    FrameProgram(plan, None, limits, "soft")(frame, result)
    for channel in range(3):
        own = [each[..., channel : channel + 1] for each in limits]
        exact = compute_by_steps(frame[..., channel], plan_frame((33, 47)), own, "soft")
        assert_rounded(result[..., channel], exact)


@pytest.mark.parametrize(
    "view",
    [
        lambda frame: frame[::2, ::-1],
        lambda frame: frame[..., ::-1],
        np.asfortranarray,
        lambda frame: frame.astype(frame.dtype.newbyteorder("S")),
        lambda frame: np.frombuffer(b"." + frame.tobytes(), np.uint8)[1:].view(frame.dtype).reshape(frame.shape),
    ],
    ids=["steps", "channels", "columns first", "bytes swapped", "misaligned"],
)
def test_any_strides(view):
    frame = view(make_frame((42, 58, 3), np.uint16))
    before = frame.copy()
    check_frame(frame, plan_frame(frame.shape))
    np.testing.assert_array_equal(frame, before)


def test_read_only_frames():
    frame = make_frame((42, 58, 3))
    frame.flags.writeable = False
    check_frame(frame, plan_frame(frame.shape))


def test_two_threads_at_once():
    plan = plan_frame((200, 310, 3), "cdf97", "whole", 3)
    program = make_program(plan, make_values(3, 3), "soft")
    frames = [make_frame((200, 310, 3), seed=seed) for seed in range(8)]

    def compute(frame):
        result = np.empty_like(frame)
        program(frame, result)
        return result

    expected = [compute(frame) for frame in frames]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for one, other in zip(pool.map(compute, frames), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_planes_are_never_made(monkeypatch):
    shapes = []
    allocate = cpu_frames.allocate
    monkeypatch.setattr(cpu_frames, "allocate", lambda shape, dtype: shapes.append(shape) or allocate(shape, dtype))
    check_frame(make_frame((64, 96, 3)), plan_frame((64, 96, 3), "db12", "periodization"))
    assert shapes
    assert (3, 64, 96) not in shapes


def test_plans_that_are_not_of_frames():
    for shape, axes in (((2, 8, 8), (1, 2)), ((8, 8), (0, 1)), ((3, 8, 8), (2, 1))):
        plan = transform_plan(shape, axes, (Wavelet("haar"),) * 2, ("symmetric",) * 2, 1)
        with pytest.raises(ArgumentError, match="frames need"):
            FrameProgram(plan, None, (np.ones((1, 3, shape[0])),) * 3, "soft")


def test_frames_that_single_precision_is_too_little_for():
    plan, limits = plan_frame((5, 4, 3), boundary="smooth"), make_values(2, 3)
    assert make_frame_program(CPU, plan, None, limits, "soft") is None
    with pytest.raises(ArgumentError, match="too small"):
        FrameProgram(plan, None, limits, "soft")


def test_refuses_other_pixels_and_results():
    frame = make_frame((12, 16, 3))
    program = make_program(plan_frame(frame.shape), make_values(2, 3), "soft")
    with pytest.raises(ShapeError, match=r"\(11, 16, 3\)"):
        program(frame[1:], np.empty_like(frame))
    with pytest.raises(ShapeError, match=r"\(12, 16\)"):
        program(frame, np.empty((12, 16), np.uint8))
    with pytest.raises(DtypeError, match="uint16"):
        program(frame, np.empty(frame.shape, np.uint16))
    with pytest.raises(DtypeError, match="float32"):
        program(frame.astype(np.float32), np.empty(frame.shape, np.float32))
    with pytest.raises(ArgumentError, match="contiguous"):
        program(frame, np.empty((12, 32, 3), np.uint8)[:, ::2])

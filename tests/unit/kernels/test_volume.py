"""Three axes in one sweep: which levels take it, what its kernels are told, and what they give on PoCL."""

import re
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.engines import get_engine
from subband.engines.abilities import abilities_of_device
from subband.engines.layout import is_uniform_volume, mirrors_samples, misses_samples, tabulate_volume
from subband.errors import MissingExtraError, NoDeviceError
from subband.kernels.dialects import CUDA, LANES, OPENCL, OPENCL_NVIDIA
from subband.kernels.launch import LOCAL_MEMORY, VolumeLaunch
from subband.kernels.tiles import BANDS
from subband.kernels.volume import VOLUME_FIELDS, VolumeSpec
from subband.plan import axis_plan, level_plan
from subband.schedule import Form, axis_program, schedule_level
from subband.testing import RecordingEngine, all_wavelets, assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import as_wavelet

#: Half precision keeps 11 bits of a number; every axis rounds, and so does what is compared with.
HALF = 2.0**-8

#: The most groups that CUDA launches in three directions.
GRID = (2**31 - 1, 65_535, 65_535)


def plan_volume(shape, axes=(0, 1, 2), name="cdf97", mode="whole", *, reversible=False):
    return level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes), reversible)


def schedule(plan, least):
    return schedule_level(plan, abilities_of_device(least))


def specify(plan, direction="forward", groups=6, rows=2, pairs=1, **others):
    """Return the sweep of a volume, and what its text would be made from."""
    (sweep,) = schedule(plan, 1).sweeps
    programs = sweep.list_programs(direction)
    return sweep, VolumeSpec(direction, *programs, "float32", groups, rows, pairs, 1, is_aligned=False, **others)


# --- Which levels take it. ---


@pytest.mark.parametrize("name", ["haar", "cdf53", "cdf97", "bior4.4", "db2", "db4"])
@pytest.mark.parametrize("mode", ["symmetric", "periodization", "zero", "reflect", "constant", "periodic"])
def test_levels_of_short_wavelets_are_one_sweep(name, mode):
    plan = plan_volume((16, 17, 18), name=name, mode=mode)
    scheduled = schedule(plan, 16)
    (sweep,), keys = scheduled.sweeps, scheduled.keys
    assert sweep.axes == (0, 1, 2)
    assert sweep.plans == plan.plans
    assert list(keys.values()) == list(keys) == list(BANDS)
    assert scheduled.is_single


@pytest.mark.parametrize(
    ("plan", "least"),
    [
        (plan_volume((16, 16, 16)), None),
        (plan_volume((15, 16, 16)), 16),
        (plan_volume((16, 16, 15)), 16),
        (plan_volume((16, 16, 16), name="cdf53", reversible=True), 1),
        (plan_volume((16, 16, 16), name="db2", mode="smooth"), 1),
        (plan_volume((16, 16, 16), name="db2", mode="antireflect"), 1),
        (plan_volume((16, 16, 16), name="db2", mode="antisymmetric"), 1),
        (plan_volume((64, 64, 64), name="db38", mode="symmetric"), 1),
        (plan_volume((64, 64, 64), name="dmey", mode="symmetric"), 1),
        # one axis lies behind the three, or between them
        (plan_volume((16, 16, 16, 3), axes=(0, 1, 2)), 1),
        (plan_volume((16, 3, 16, 16), axes=(0, 2, 3)), 1),
        (plan_volume((16, 16, 16), axes=(1, 2)), 1),
        (level_plan((16,) * 3, (0, 1, 2), (as_wavelet("db2"),) * 3, ("zero", "smooth", "zero")), 1),
        # a plane of more bytes than a kernel counts
        (plan_volume((16, 1 << 14, 1 << 14)), 1),
    ],
    ids=lambda value: "" if isinstance(value, int | None) else f"{value.shape} {value.plans[0].wavelet.name}",
)
def test_other_levels_take_several_sweeps_or_two_axes(plan, least):
    assert all(len(sweep.axes) < 3 for sweep in schedule(plan, least).sweeps)


def test_bands_are_named_in_the_order_of_the_axes_that_were_asked_for():
    plan = plan_volume((16, 18, 20), axes=(2, 0, 1), name="db2", mode="zero")
    scheduled = schedule(plan, 1)
    (sweep,), keys = scheduled.sweeps, scheduled.keys
    assert sweep.axes == (0, 1, 2)
    assert [axis.length for axis in sweep.plans] == [16, 18, 20]
    assert (keys["daa"], keys["ada"], keys["aad"]) == ("aad", "daa", "ada")
    assert sorted(keys.values()) == list(BANDS)
    # bands come in another order than the plan's, which a chain of levels does not put right
    assert not scheduled.is_single


def test_a_fourth_axis_comes_after_the_three():
    scheduled = schedule(plan_volume((16, 18, 20, 22), axes=(0, 1, 2, 3)), 1)
    assert [sweep.axes for sweep in scheduled.sweeps] == [(1, 2, 3), (0,)]
    assert scheduled.keys["daad"] == "aadd"


@pytest.mark.parametrize(("dialect", "least"), [(CUDA, 16), (OPENCL_NVIDIA, 16), (OPENCL, None)])
def test_it_is_taken_where_planes_can_be_loaded_ahead(dialect, least):
    assert RecordingEngine(dialect).least_volume == least


def test_a_level_is_one_launch():
    engine = RecordingEngine(CUDA)
    for shape, launches in (((16, 32, 64), 1), ((2, 16, 32, 65), 1), ((15, 32, 64), 5)):
        engine.device.launches.clear()
        engine.forward(plan_volume(shape, (-3 % len(shape), -2 % len(shape), -1 % len(shape))), np.zeros(shape, "f4"))
        assert len(engine.device.launches) == launches, shape


# --- What lies outside. ---


@pytest.mark.parametrize(
    ("name", "mode", "length", "is_mirrored"),
    [
        ("cdf53", "whole", 66, True),
        ("cdf97", "whole", 66, True),
        ("cdf97", "whole", 67, False),
        ("cdf97", "symmetric", 66, False),
        ("cdf97", "periodization", 66, False),
        ("cdf97", "zero", 66, False),
        ("db2", "symmetric", 66, False),
        ("haar", "periodization", 66, False),
    ],
)
def test_rows_that_see_themselves_beyond_their_ends(name, mode, length, is_mirrored):
    plan = axis_plan(as_wavelet(name), mode, length)
    for direction in ("forward", "inverse"):
        program = axis_program(plan, direction, Form(lifts_orthogonal=True))
        assert mirrors_samples(plan, program, direction) == is_mirrored


def test_zeros_and_bands_of_one_shape_are_known():
    for mode, has_zeros in (("whole", False), ("periodization", False), ("zero", True)):
        sweep, spec = specify(plan_volume((16, 18, 20), mode=mode))
        assert misses_samples(sweep, (spec.deep, spec.vertical, spec.horizontal), "forward") == has_zeros
        assert is_uniform_volume(sweep, "forward")
        assert is_uniform_volume(sweep, "inverse")
    for shape in ((17, 18, 20), (16, 19, 20), (16, 18, 21)):
        assert not any(is_uniform_volume(specify(plan_volume(shape))[0], way) for way in ("forward", "inverse"))
    # bands are alike, but the last sample has none beside it
    sweep, _ = specify(plan_volume((17, 18, 20), mode="zero"))
    assert is_uniform_volume(sweep, "forward")
    assert not is_uniform_volume(sweep, "inverse")


# --- What kernels are told. ---


@pytest.mark.parametrize(("mode", "pad"), [("whole", "reflect"), ("periodization", "wrap"), ("zero", None)])
def test_the_table_says_which_sample_stands_for_a_position_outside(mode, pad):
    shape = (14, 22, 66)
    sweep, spec = specify(plan_volume(shape, mode=mode))
    table, told, _ = tabulate_volume(sweep, shape, spec, VolumeLaunch(6, 2, 1), 4)
    named = dict(zip(VOLUME_FIELDS, told, strict=True))
    assert (named["depth"], named["height"], named["width"]) == shape
    start = 0
    for sides, length in zip((("front", "back"), ("above", "below"), ("before", "behind")), shape, strict=True):
        before, behind = (named[side] for side in sides)
        assert before > 0
        expected = np.full(length + before + behind, -1)
        if pad:
            expected = np.pad(np.arange(length), (before, behind), pad)
        expected = np.delete(expected, np.s_[before : before + length])
        np.testing.assert_array_equal(table[start : start + before + behind], expected)
        start += before + behind
    # never empty, because devices have no empty arrays
    assert len(table) == start + 1


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_the_numbers_say_how_a_volume_is_cut(direction):
    shape = (3, 41, 57, 131)
    sweep, spec = specify(plan_volume(shape, (1, 2, 3)), direction)
    launch = VolumeLaunch(6, 2, 1, chunk=5)
    _, told, groups = tabulate_volume(sweep, shape, spec, launch, 8)
    named = dict(zip(VOLUME_FIELDS, told, strict=True))
    assert named["images"] == groups[2] == 3
    assert (named["low_depth"], named["high_depth"]) == (21, 20)
    assert (named["low_width"], named["high_width"]) == (66, 65)
    # lifting of cdf97 reaches two pairs to each side
    assert spec.halo == spec.row_halo == (2, 2)
    assert (spec.useful, spec.useful_rows) == (28, 8)
    assert named["tiles"] == 3
    assert groups[0] == 3 * 4 * 6
    parts = named["chunks"] + -(-(21 - named["chunks"] * named["chunk"]) // named["rest"])
    assert parts == groups[1] >= 21 / 5


def test_mirrored_rows_have_useful_lanes_at_both_ends():
    _, plain = specify(plan_volume((16, 16, 66)))
    _, mirrored = specify(plan_volume((16, 16, 66)), is_mirrored=True)
    assert [plain.count_tiles(across) for across in (28, 29, 32, 56, 57)] == [1, 2, 2, 2, 3]
    assert [mirrored.count_tiles(across) for across in (32, 33, 60, 61)] == [1, 2, 2, 3]


@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("is_whole_sectors", [False, True])
def test_tiles_of_mirrored_rows_cover_them_without_a_gap(pairs, is_whole_sectors):
    _, spec = specify(plan_volume((16, 16, 66)), is_whole_sectors=is_whole_sectors, is_mirrored=True, pairs=pairs)
    first, last = spec.halo
    for across in range(LANES * pairs, 700, pairs):
        tiles, end = spec.count_tiles(across), 0
        for tile in range(tiles):
            # as the text says it, in lanes
            begin = max(0, min(tile * spec.useful + spec.shift - first, across // pairs - LANES))
            start = tile * spec.useful + spec.shift if tile else 0
            stop = (tile + 1) * spec.useful + spec.shift if tile < tiles - 1 else across // pairs
            assert start == end < stop
            # what serves the neighbours alone is there, but at the ends of the rows
            assert start - begin >= first or begin == start == 0
            assert begin + LANES - stop >= last or begin + LANES == stop == across // pairs
            assert not is_whole_sectors or start * pairs * 4 % 32 == 0
            end = stop
        assert end == across // pairs


def test_tiles_of_whole_sectors_are_a_little_narrower():
    _, spec = specify(plan_volume((16, 16, 66)), is_whole_sectors=True)
    assert spec.useful == 24
    assert spec.halo == (4, 4)


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.integers(1, 5000), st.integers(1, 200), st.booleans())
def test_blocks_walk_all_planes_and_none_more_than_asked_for(steps, tiles, resident, most, is_single):
    launch = VolumeLaunch(8, 2, 1, chunk=most)
    chunk, chunks, rest = launch.choose_chunks(steps, tiles, resident, is_single=is_single)
    late = -(-max(0, steps - chunk * chunks) // rest)
    assert 1 <= rest <= chunk <= max(most, 2, -(-steps // 32_767))
    assert chunks + late <= GRID[1]
    # the last one is cut off at the end of the volume
    assert chunks * chunk + late * rest >= steps
    assert chunks * chunk + late * rest - (rest if late else chunk) < steps or steps == 0 == chunks + late


def test_the_last_blocks_of_a_single_large_volume_walk_less():
    launch = VolumeLaunch(10, 2, 1, chunk=12)
    chunk, chunks, rest = launch.choose_chunks(256, 160, 264)
    assert rest < chunk
    assert chunk * chunks < 256
    chunk, chunks, rest = launch.choose_chunks(256, 160, 264, is_single=False)
    assert chunk * chunks >= 256


# --- What engines make of it. ---


def read_number(source, name):
    return int(re.search(rf"#define {name} (\d+)", source)[1])


@pytest.mark.parametrize("mode", ["periodization", "symmetric"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("dialect", [CUDA, OPENCL_NVIDIA], ids=lambda dialect: dialect.name)
def test_blocks_fit_onto_every_gpu_and_most_of_them_is_of_use(dialect, dtype, mode):
    fused = 0
    for wavelet in all_wavelets():
        engine = RecordingEngine(dialect)
        plan = plan_volume((32, 48, 64), name=wavelet.name, mode=mode)
        if not schedule(plan, engine.least_volume).is_single:
            continue
        engine.inverse(plan, engine.forward(plan, np.zeros(plan.shape, dtype)))
        for source, handed in zip(engine.device.sources, engine.device.handed, strict=True):
            if "#define USEFUL_ROWS" not in source:
                continue
            fused += 1
            lanes, rows, columns, ahead, size = (
                read_number(source, name) for name in ("THREADS", "ROWS", "V", "AHEAD", "SIZE")
            )
            assert lanes <= 1024
            assert read_number(source, "USEFUL") >= 16
            assert read_number(source, "USEFUL_ROWS") >= lanes // 32 * rows // 2 / 4, wavelet.name
            local = ahead * 2 * rows * lanes * columns * size
            assert read_number(source, "WAITING") == local
            if meeting := re.search(r"^    MEETING\((\d+), (\d+)\)", source, re.MULTILINE):
                slots, beside = map(int, meeting.groups())
                local += 4 * slots * (lanes + beside) * columns * max(4, size)
            assert local <= 48 << 10, (wavelet.name, local)
            assert handed == (local if dialect is CUDA else 0)
    assert fused > 20


@pytest.mark.parametrize(
    ("name", "mode", "shape", "local_memory", "pairs"),
    [
        ("cdf97", "whole", (16, 32, 128), 227 << 10, 2),
        ("cdf53", "whole", (3, 16, 32, 260), 99 << 10, 2),
        # too little local memory, too few columns, columns that no whole pieces hold, and rows that go on otherwise
        ("cdf97", "whole", (16, 32, 128), 64 << 10, 1),
        ("cdf97", "whole", (16, 32, 124), 227 << 10, 1),
        ("cdf97", "whole", (16, 32, 130), 227 << 10, 1),
        ("cdf97", "periodization", (16, 32, 128), 227 << 10, 1),
        ("db4", "symmetric", (16, 32, 128), 227 << 10, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_tiles_are_large_where_rows_mirror_themselves_and_there_is_room(name, mode, shape, local_memory, pairs, dtype):
    engine = RecordingEngine(CUDA)
    engine.device.local_memory = local_memory
    plan = plan_volume(shape, tuple(range(len(shape) - 3, len(shape))), name, mode)
    engine.inverse(plan, engine.forward(plan, np.zeros(shape, dtype)))
    assert len(engine.device.sources) == 2
    assert {read_number(source, "P") for source in engine.device.sources} == {pairs}
    assert all(0 < handed <= local_memory for handed in engine.device.handed)
    is_large = [handed > LOCAL_MEMORY for handed in engine.device.handed]
    assert is_large == [pairs == 2] * 2


def test_a_mixture_of_wavelets_takes_large_tiles_only_if_all_axes_are_short():
    engine = RecordingEngine(CUDA)
    engine.device.local_memory = 227 << 10
    for names in (("db5", "cdf97", "cdf97"), ("cdf97", "db5", "cdf97")):
        plan = level_plan((32, 32, 128), (0, 1, 2), tuple(map(as_wavelet, names)), ("symmetric", "symmetric", "whole"))
        assert schedule(plan, engine.least_volume).is_single
        engine.inverse(plan, engine.forward(plan, np.zeros(plan.shape, np.float32)))
    for source, handed in zip(engine.device.sources, engine.device.handed, strict=True):
        assert handed <= LOCAL_MEMORY or read_number(source, "DEPTH") <= 4
        assert read_number(source, "USEFUL_ROWS") * 4 >= read_number(source, "THREADS") // 32 * read_number(source, "R")


@pytest.mark.parametrize("shape", [(200_000, 2, 2), (2, 200_000, 2), (2, 2, 200_000), (100_000, 2, 2, 2)])
def test_launches_fit_into_a_grid(shape):
    engine = RecordingEngine(CUDA)
    engine.least_volume = 1
    axes = tuple(range(len(shape) - 3, len(shape)))
    plan = plan_volume(shape, axes, "haar", "periodization")
    engine.inverse(plan, engine.forward(plan, np.zeros(shape, np.float32)))
    assert len(engine.device.launches) == 2
    for groups, block in engine.device.launches:
        assert all(1 <= count <= most for count, most in zip(groups, GRID, strict=True)), groups
        assert groups[0] % block == 0


def test_nothing_is_launched_for_nothing():
    engine = RecordingEngine(CUDA)
    plan = plan_volume((0, 16, 16, 16), (1, 2, 3))
    engine.inverse(plan, engine.forward(plan, np.zeros(plan.shape, np.float32)))
    assert all(0 not in groups for groups, _ in engine.device.launches)


def test_sizes_are_not_in_the_text():
    engine = RecordingEngine(CUDA)
    engine.volume_override = VolumeLaunch(8, 2, 1)
    for shape in ((16, 32, 64), (32, 64, 128), (2, 20, 40, 70)):
        plan = plan_volume(shape, tuple(range(len(shape) - 3, len(shape))))
        engine.inverse(plan, engine.forward(plan, np.zeros(shape, np.float32)))
    assert len(set(engine.device.sources)) == len(engine.device.sources) == 2


# --- What kernels give. ---


def cut_unevenly(launch, steps, *_, **__):
    """Stand in for `VolumeLaunch.choose_chunks`: some walk all they may, and those behind them half of it."""
    return launch.chunk, steps // launch.chunk // 2, max(1, launch.chunk // 2)


@pytest.fixture
def engine(monkeypatch):
    """An engine that takes three axes at a time and cuts them into walks of two lengths."""
    try:
        engine = get_engine("opencl")
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(engine, "least_volume", 1)
    monkeypatch.setattr(engine, "volume_override", None)
    monkeypatch.setattr(VolumeLaunch, "choose_chunks", cut_unevenly)
    yield engine
    # prepared sweeps keep their walks
    engine.forget_kernels()


def check(engine, plan, dtype, tolerance):
    """Compare both directions with the reference engine; the inverse runs on coefficients of its own."""
    reference = get_engine("reference")
    assert len(schedule(plan, 1).sweeps) == 1
    x = draw_samples(plan.shape, "float32", prod(plan.shape)).astype(dtype)
    expected = reference.forward(plan, x.astype(np.float64))
    bands = engine.forward(plan, x)
    assert list(bands) == list(expected)
    for key, band in bands.items():
        assert band.dtype == dtype
        assert_close(band.astype(np.float64), expected[key], tolerance, largest(x, expected), (key, plan))
    noise = {
        key: draw_samples(shape, "float32", n).astype(dtype) for n, (key, shape) in enumerate(plan.band_shapes.items())
    }
    restored = reference.inverse(plan, {key: band.astype(np.float64) for key, band in noise.items()})
    y = engine.inverse(plan, noise)
    assert y.dtype == dtype
    assert_close(y.astype(np.float64), restored, tolerance, largest(restored, noise), ("inverse", plan))


@pytest.mark.opencl
# the walk has barriers, around which PoCL does not unroll it
@pytest.mark.filterwarnings("ignore:Non-empty compiler output", "ignore:From-source build succeeded")
def test_rows_that_mirror_themselves(engine):
    """One kernel for all shapes: tiles side by side that overlap at the end, and walks of every length."""
    tolerance = relative_tolerance("float32", [as_wavelet("cdf53")] * 3)
    for shape, chunk in (((14, 22, 66), 3), ((4, 6, 64), 1), ((6, 8, 122), 2), ((20, 4, 126), 12), ((2, 2, 190), 1)):
        engine.volume_override = VolumeLaunch(3, 2, 1, chunk=chunk, unroll=2)
        check(engine, plan_volume(shape, name="cdf53"), np.float32, tolerance)


@pytest.mark.opencl
@pytest.mark.filterwarnings("ignore:Non-empty compiler output", "ignore:From-source build succeeded")
@pytest.mark.parametrize("is_whole_sectors", [False, True])
def test_rows_that_mirror_themselves_in_lanes_of_several_pairs(engine, is_whole_sectors):
    """What a lane at an end sees beyond it is its own, but not what its neighbour would have been asked for."""
    tolerance = relative_tolerance("float32", [as_wavelet("cdf97")] * 3)
    for shape, chunk in (((6, 14, 128), 2), ((8, 10, 132), 3), ((4, 6, 236), 1), ((2, 2, 252), 1), ((2, 4, 484), 1)):
        engine.volume_override = VolumeLaunch(4, 2, 2, chunk=chunk, is_whole_sectors=is_whole_sectors)
        check(engine, plan_volume(shape), np.float32, tolerance)


@pytest.mark.opencl
def test_tiles_of_whole_sectors_look_for_what_lies_outside(engine):
    tolerance = relative_tolerance("float32", [as_wavelet("db2")] * 3)
    for shape, mode in (((6, 14, 128), "periodization"), ((6, 10, 136), "symmetric"), ((4, 8, 244), "zero")):
        engine.volume_override = VolumeLaunch(4, 2, 2, chunk=2, is_whole_sectors=True)
        check(engine, plan_volume(shape, name="db2", mode=mode), np.float32, tolerance)


@pytest.mark.opencl
def test_odd_sizes_in_a_batch(engine):
    tolerance = relative_tolerance("float32", [as_wavelet("cdf97")] * 3)
    for shape, chunk in (((2, 9, 13, 35), 3), ((1, 23, 15, 71), 4), ((2, 3, 5, 5, 7), 1), ((1, 1, 3, 57), 12)):
        engine.volume_override = VolumeLaunch(3, 2, 1, chunk=chunk)
        axes = tuple(range(len(shape) - 3, len(shape)))
        check(engine, plan_volume(shape, axes), np.float32, tolerance)


@pytest.mark.opencl
def test_zeros_outside_and_axes_in_any_order_in_half_precision(engine):
    engine.volume_override = VolumeLaunch(4, 1, 1, ahead=2, chunk=3)
    check(engine, plan_volume((10, 12, 34), (2, 0, 1), "db2", "zero"), np.float16, HALF)

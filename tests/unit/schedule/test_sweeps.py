"""The sweeps of a level: which axes go together, in what order, and that they add up to the level."""

from __future__ import annotations

from functools import partial
from itertools import product
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.engines import get_engine
from subband.engines.abilities import CPU, abilities_of_device
from subband.plan import LevelPlan, level_plan
from subband.schedule import Abilities, Fusion, schedule_level
from subband.schedule.sweeps import split_in_turn
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.testing.strategies import level_cases, reversible_cases
from subband.wavelets import as_wavelet

REFERENCE = get_engine("reference")
ONE_BY_ONE = Abilities()
KINDS = {
    "one by one": ONE_BY_ONE,
    "cpu": CPU,
    "device": abilities_of_device(None),
    "volumes": abilities_of_device(1),
}


def plan_level(shape, axes, name="cdf97", mode="whole", *, reversible=False):
    return level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes), reversible)


def split_by_reference(sweep, x):
    return REFERENCE.forward(LevelPlan(x.shape, sweep.axes, sweep.plans), x)


def merge_by_reference(sweep, bands):
    shape = sweep.find_shape(next(iter(bands.values())).shape)
    return REFERENCE.inverse(LevelPlan(shape, sweep.axes, sweep.plans), bands)


@given(st.one_of(level_cases(("float64",)), reversible_cases()), st.sampled_from(list(KINDS.values())))
def test_sweeps_add_up_to_the_level(case, abilities):
    """Each sweep done by the reference engine gives the bands of the plan, by their names."""
    schedule = schedule_level(case.plan, abilities)
    assert sorted(axis for sweep in schedule.sweeps for axis in sweep.axes) == sorted(case.plan.axes)
    expected = REFERENCE.forward(case.plan, case.x)
    bands = schedule.split(case.x, [partial(split_by_reference, sweep) for sweep in schedule.sweeps])
    tolerance, scale = relative_tolerance("float64", case.wavelets, same_filters=True), largest(case.x, expected)
    assert list(bands) == list(expected)
    for key, band in bands.items():
        # the order in which integers are rounded shows
        assert_close(band, expected[key], 0.0 if case.x.dtype.kind == "i" else tolerance, scale, key)
    noise = {key: draw_samples(band.shape, band.dtype, number) for number, (key, band) in enumerate(expected.items())}
    restored = REFERENCE.inverse(case.plan, noise)
    x = schedule.merge(dict(noise), [partial(merge_by_reference, sweep) for sweep in schedule.sweeps])
    assert_close(x, restored, 0.0 if case.x.dtype.kind == "i" else tolerance, largest(noise, restored))


@pytest.mark.parametrize(
    ("shape", "axes", "name", "expected"),
    [
        ((64,), (0,), "cdf97", {"cpu": [(0,)], "device": [(0,)], "volumes": [(0,)]}),
        ((64, 64), (1, 0), "cdf97", {"cpu": [(0, 1)], "device": [(0, 1)], "volumes": [(0, 1)]}),
        # a device has no room for the many rows of long filters
        ((64, 64), (0, 1), "coif5", {"cpu": [(0, 1)], "device": [(0,), (1,)], "volumes": [(0,), (1,)]}),
        # channels behind the images: the CPU's kernels take the last axes of an array only
        ((64, 64, 3), (0, 1), "cdf97", {"cpu": [(0,), (1,)], "device": [(0, 1)], "volumes": [(0, 1)]}),
        ((8, 8, 8), (0, 1, 2), "cdf97", {"cpu": [(0, 1, 2)], "device": [(1, 2), (0,)], "volumes": [(0, 1, 2)]}),
        ((8, 8, 8), (0, 2), "cdf97", {"cpu": [(0,), (2,)], "device": [(0,), (2,)], "volumes": [(0,), (2,)]}),
        (
            (4, 8, 8, 8),
            (0, 1, 2, 3),
            "cdf97",
            {"cpu": [(1, 2, 3), (0,)], "device": [(2, 3), (0,), (1,)], "volumes": [(1, 2, 3), (0,)]},
        ),
    ],
)
def test_axes_that_go_together(shape, axes, name, expected):
    mode = "whole" if name == "cdf97" else "symmetric"
    plan = plan_level(shape, axes, name, mode)
    for kind, groups in {"one by one": [(axis,) for axis in axes], **expected}.items():
        assert [sweep.axes for sweep in schedule_level(plan, KINDS[kind]).sweeps] == groups, kind


@pytest.mark.parametrize("kind", KINDS)
def test_integers_go_one_by_one_in_the_order_of_the_plan(kind):
    schedule = schedule_level(plan_level((16, 16, 16), (2, 0, 1), "cdf53", reversible=True), KINDS[kind])
    assert [sweep.axes for sweep in schedule.sweeps] == [(2,), (0,), (1,)]


def test_one_sweep_is_single_only_if_its_bands_need_no_other_names():
    assert schedule_level(plan_level((16, 16), (0, 1)), CPU).is_single
    assert not schedule_level(plan_level((16, 16), (1, 0)), CPU).is_single
    assert not schedule_level(plan_level((16, 16), (0, 1)), ONE_BY_ONE).is_single


def test_short_axes_do_not_go_together_where_they_are_not_worth_it():
    abilities = Abilities(fusions=(Fusion(2, least=9),))
    for shape, count in (((9, 9), 1), ((8, 9), 2), ((9, 8), 2)):
        assert len(schedule_level(plan_level(shape, (0, 1)), abilities).sweeps) == count


@pytest.mark.parametrize("direction", ["forward", "inverse"])
@pytest.mark.parametrize("mode", ["whole", "symmetric"])
def test_blocks_cover_a_volume(direction, mode):
    for depth in (1, 31, 32, 33, 100):
        (sweep,) = schedule_level(plan_level((depth, 8, 8), (0, 1, 2), mode=mode), CPU).sweeps
        blocks = sweep.cut_blocks(direction)
        outputs = sweep.plans[0].low if direction == "forward" else sweep.plans[0].pairs
        assert [start for start, _ in blocks] == [0, *(stop for _, stop in blocks[:-1])]
        assert blocks[-1][1] == outputs
        assert all(0 < stop - start <= sweep.block for start, stop in blocks)


def test_blocks_of_large_slices_have_fewer_pairs():
    plans = [plan_level((64, size, size), (0, 1, 2)) for size in (8, 181, 256, 512, 4096)]
    blocks = [schedule_level(plan, CPU).sweeps[0].block for plan in plans]
    assert blocks == sorted(blocks, reverse=True)
    assert blocks[0] > blocks[-1] >= blocks[0] // 4 > 0


def test_a_band_is_let_go_as_soon_as_it_has_been_split_further():
    """Otherwise twice the memory of a volume would be taken."""
    bands = WeakSet()

    def split(x):
        # the one at hand, and those that wait or are done
        alive.append(sum(band is not x for band in bands))
        halves = {"a": _Band(), "d": _Band()}
        bands.update(halves.values())
        return halves

    alive = []
    result = split_in_turn(_Band(), [split] * 3)
    assert sorted(result) == sorted(map("".join, product("ad", repeat=3)))
    assert alive == [0, 1, 2, 3, 4, 5, 6]


class _Band:
    """Something that can be watched."""

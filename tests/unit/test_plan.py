from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from math import prod

import pytest
import pywt

from subband.boundary import PYWAVELETS_MODES
from subband.errors import ArgumentError, AxesError, LevelError, ModeError, ShapeError
from subband.plan import axis_plan, level_plan, reversible_axis_plan, transform_plan
from subband.stationary import stationary_plan, stationary_transform_plan
from subband.testing import all_wavelets
from subband.wavelets import Wavelet, as_wavelet

DB2, HAAR, CDF97, CDF53 = map(as_wavelet, ("db2", "haar", "cdf97", "cdf53"))


@pytest.mark.parametrize("mode", PYWAVELETS_MODES)
def test_as_many_coefficients_as_pywavelets_has(mode):
    for wavelet in all_wavelets():
        for length in (1, 2, 3, 10, 11, 70):
            plan = axis_plan(wavelet, mode, length)
            assert plan.low == plan.high == pywt.dwt_coeff_len(length, wavelet.dec_len, mode)


def test_whole_has_as_many_coefficients_as_samples():
    for length in range(1, 20):
        plan = axis_plan(CDF97, "whole", length)
        assert (plan.low, plan.high) == ((length + 1) // 2, length // 2)
        assert (plan.coded, plan.pairs) == (length, (length + 1) // 2)


def test_whole_is_for_symmetric_filters_of_odd_length():
    for name in ("db2", "haar", "bior1.3", "sym4"):
        with pytest.raises(ModeError, match=rf"mode='whole' .* {name!r}.*use 'cdf97'"):
            axis_plan(Wavelet(name), "whole", 8)
    for name in ("bior2.2", "bior4.4", "rbio2.6", "cdf53"):
        assert axis_plan(Wavelet(name), "whole", 8).low == 4


def test_plans_are_values():
    plan = level_plan((5, 8), (0, 1), (DB2, HAAR), ("zero", "symmetric"))
    same = level_plan((5, 8), (0, 1), (Wavelet("db2"), Wavelet("haar")), ("zero", "symmetric"))
    other = level_plan((5, 8), (1, 0), (DB2, HAAR), ("zero", "symmetric"))
    assert plan == same
    assert hash(plan) == hash(same)
    assert plan is same, "plans are made once"
    assert plan != other
    assert len({plan, same, other}) == 2
    with pytest.raises(FrozenInstanceError):
        plan.shape = (1, 1)


def test_own_filters_are_told_apart():
    mine = Wavelet("db2", filter_bank=HAAR.filter_bank)
    assert axis_plan(mine, "zero", 9) != axis_plan(DB2, "zero", 9)
    assert axis_plan(mine, "zero", 9).low == 5


def test_plans_can_be_pickled():
    for plan in (
        level_plan((5, 8), (0, 1), (DB2, HAAR), ("zero", "symmetric")),
        transform_plan((40,), (0,), (CDF53,), ("whole",), 3, True),
        stationary_plan((5, 8), (1,), (DB2,), 2),
    ):
        again = pickle.loads(pickle.dumps(plan))
        assert again == plan
        assert hash(again) == hash(plan)


def test_bands_have_one_letter_for_each_axis_in_the_order_of_the_axes():
    plan = level_plan((5, 8, 3), (1, 0), (DB2, HAAR), ("zero", "symmetric"))
    assert plan.band_shapes == dict.fromkeys(("aa", "ad", "da", "dd"), (3, 5, 3))
    plan = level_plan((7, 4), (0, 1), (CDF97,) * 2, ("whole",) * 2)
    assert plan.band_shapes == {"aa": (4, 2), "ad": (4, 2), "da": (3, 2), "dd": (3, 2)}
    assert list(plan.band_shapes) == ["aa", "ad", "da", "dd"]
    plan = level_plan((7, 5), (1, 0), (CDF97,) * 2, ("whole",) * 2)
    assert plan.band_shapes == {"aa": (4, 3), "ad": (3, 3), "da": (4, 2), "dd": (3, 2)}
    assert plan.approximation_shape == (4, 3)


def test_reversible_levels_do_not_look_at_modes():
    plan = level_plan((9,), (0,), (CDF53,), ("zero",), True)
    assert plan == level_plan((9,), (0,), (CDF53,), ("symmetric",), True)
    assert plan != level_plan((9,), (0,), (CDF53,), ("whole",))
    assert plan.band_shapes == {"a": (5,), "d": (4,)}


def test_only_some_wavelets_are_reversible():
    for name in ("db2", "cdf97", "bior2.2"):
        with pytest.raises(ArgumentError, match=rf"wavelet={name!r} .*cdf53.*haar"):
            reversible_axis_plan(Wavelet(name), 9)


def test_empty_axes_cannot_be_transformed():
    with pytest.raises(ShapeError, match=r"axis 1 .*\(4, 0\)"):
        level_plan((4, 0), (1,), (DB2,), ("zero",))
    assert level_plan((4, 0), (0,), (DB2,), ("zero",)).approximation_shape == (3, 0)


def test_levels_go_on_with_the_approximation():
    plan = transform_plan((70, 33), (0, 1), (DB2,) * 2, ("symmetric",) * 2, 3)
    assert plan.level == 3
    shape = plan.shape
    for level in plan.levels:
        assert level.shape == shape
        shape = level.approximation_shape
    assert plan.approximation_shape == shape
    shapes = [s for level in plan.levels for key, s in level.band_shapes.items() if key != "aa"]
    assert plan.size == sum(map(prod, shapes)) + prod(shape)


def test_no_levels():
    plan = transform_plan((7, 3), (0,), (DB2,), ("zero",), 0)
    assert (plan.level, plan.approximation_shape, plan.size) == (0, (7, 3), 21)


def test_whole_pyramids_are_as_large_as_the_array():
    for shape in ((1,), (2,), (13,), (64,), (5, 9), (1, 1, 7), (6, 10, 15)):
        axes = tuple(range(len(shape)))
        plan = transform_plan(shape, axes, (CDF97,) * len(axes), ("whole",) * len(axes), 4)
        assert plan.size == prod(shape)


def test_bad_transform_plans():
    with pytest.raises(LevelError, match="level=-1"):
        transform_plan((8,), (0,), (DB2,), ("zero",), -1)
    with pytest.raises(AxesError, match=r"axes=\(0, 0\)"):
        transform_plan((8,), (0, 0), (DB2,) * 2, ("zero",) * 2, 1)
    with pytest.raises(ModeError, match="mode='mirror'"):
        transform_plan((8,), (0,), (DB2,), ("mirror",), 1)


def test_short_names_of_modes_make_the_same_plan():
    assert transform_plan((8,), (0,), (DB2,), ("per",), 1).modes == ("periodization",)


def test_undecimated_plans():
    plan = stationary_plan((5, 8), (1, 0), (DB2, HAAR), 3)
    assert plan.band_shapes == dict.fromkeys(("aa", "ad", "da", "dd"), (5, 8))
    assert [(axis.length, axis.step) for axis in plan.plans] == [(8, 4), (5, 4)]


def test_undecimated_transforms_are_extended_but_for_periodic_signals():
    plan = stationary_transform_plan((10, 3), (0,), (DB2,), ("symmetric",), 2)
    assert plan.margins == (6,)
    assert plan.extended_shape == plan.approximation_shape == (22, 3)
    assert plan.size == 22 * 3 * 3
    periodic = stationary_transform_plan((10, 3), (0,), (DB2,), ("periodic",), 2)
    assert periodic.extended_shape == (10, 3)
    with pytest.raises(LevelError, match="level=-2"):
        stationary_transform_plan((10,), (0,), (DB2,), ("zero",), -2)
    with pytest.raises(ShapeError, match="axis 0"):
        stationary_transform_plan((0,), (0,), (DB2,), ("zero",), 1)

"""Lifting schemes whose steps repeat their own outermost sources, on every engine of the host, and their border."""

from __future__ import annotations

import numpy as np
import pytest

from subband.boundary import extend
from subband.codecs.vc2.wavelets import WAVELETS
from subband.engines import get_engine
from subband.engines.abilities import abilities_of_device
from subband.errors import ShapeError
from subband.plan import LevelPlan
from subband.schedule.axis import axis_program
from subband.schedule.sweeps import schedule_level
from subband.wavelets.reversible import IntegerStep

NUMBERS = range(len(WAVELETS))


def make_plan(shape, down, along, axes=None):
    """Plan a level along the rows first, then down the columns."""
    axes = axes or (len(shape) - 1, len(shape) - 2)
    wavelets = along, down
    plans = (
        WAVELETS[wavelet].plan_axis(shape[axis], is_row=axis == len(shape) - 1)
        for axis, wavelet in zip(axes, wavelets, strict=False)
    )
    return LevelPlan(shape, axes, tuple(plans))


def lift_slowly(samples, steps, shift):
    """Transform a list of samples as the standard words it, one number at a time."""
    values = [value << shift for value in samples]
    pairs = len(values) // 2
    for step in steps:
        is_predict = step.kind == "predict"
        for n in range(pairs):
            total = step.offset
            for j, tap in enumerate(step.taps):
                source = min(max(n + step.start + j, 0), pairs - 1)
                total += tap * values[2 * source + (0 if is_predict else 1)]
            values[2 * n + (1 if is_predict else 0)] += total >> step.shift
    return values[0::2], values[1::2]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("length", [2, 4, 6, 18])
def test_the_reference_engine_lifts_as_the_standard_says(number, length):
    samples = np.random.default_rng(length).integers(-512, 512, length)
    plan = make_plan((length,), 0, number, (0,))
    bands = get_engine("reference").forward(plan, samples)
    low, high = lift_slowly(samples.tolist(), WAVELETS[number].steps, WAVELETS[number].shift)
    assert (bands["a"].tolist(), bands["d"].tolist()) == (low, high)


@pytest.mark.parametrize("engine", ["cpu", "array"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 4), None), ((36, 70), None), ((3, 20, 34), None), ((12, 3, 10), (0,)), ((5, 18), (1,))]
)
def test_engines_agree_with_the_reference_band_by_band(engine, number, shape, axes):
    plan = make_plan(shape, number, (number + 2) % len(WAVELETS), axes)
    kind = np.int64 if number == 6 else np.int32
    x = np.random.default_rng(number).integers(-512, 512, shape).astype(kind)
    expected, found = (get_engine(name).forward(plan, x) for name in ("reference", engine))
    assert found.keys() == expected.keys() == plan.band_shapes.keys()
    for key, band in expected.items():
        assert found[key].dtype == kind
        np.testing.assert_array_equal(found[key], band)
    np.testing.assert_array_equal(get_engine(engine).inverse(plan, found), x)


def test_a_level_is_one_sweep_on_devices_and_goes_axis_by_axis_elsewhere():
    for number in NUMBERS:
        plan = make_plan((32, 64), number, number)
        (sweep,) = schedule_level(plan, abilities_of_device(None)).sweeps
        assert sweep.axes == (0, 1)
    turned = LevelPlan(plan.shape, plan.axes[::-1], plan.plans[::-1])
    assert len(schedule_level(turned, abilities_of_device(None)).sweeps) == 2


def test_programs_carry_the_shift_and_who_repeats():
    plan = WAVELETS[0].plan_axis(16, is_row=True)
    for direction in ("forward", "inverse"):
        program = axis_program(plan, direction)
        assert (program.shift, program.repeats_sources) == (1, True)
    assert WAVELETS[0].plan_axis(16, is_row=False).integer.shift == 0
    assert isinstance(plan.integer.steps[0], IntegerStep)


def test_odd_lengths_are_refused():
    with pytest.raises(ShapeError, match="pad it to an even length"):
        WAVELETS[1].plan_axis(9, is_row=True)


def test_positions_outside_go_on_by_parity():
    assert extend("parity", 6, -3, 10).index.tolist() == [1, 0, 1, 0, 1, 2, 3, 4, 5, 4, 5, 4, 5]

"""Programs of axes, run here one number at a time, give what the reference engine gives."""

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.abilities import CPU
from subband.plan import level_plan
from subband.schedule import Form, axis_program
from subband.testing import all_wavelets, allowed_modes, assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import as_wavelet

REFERENCE = get_engine("reference")
LENGTHS = (1, 7, 40)
#: Those of devices, of their volumes, and of the CPU.
FORMS = {"plain": Form(), "lifted": Form(lifts_orthogonal=True), "cpu": CPU.form}


def run_program(program, count, extend):
    """Walk over `count` pairs of outputs as a kernel does; `extend` gives the numbers at a range of positions."""
    schedule = program.schedule
    first, last = schedule.first, schedule.last
    begin = 2 * first + min(program.even, program.odd)
    numbers = extend(begin, 2 * (count - 1 + last) + max(program.even, program.odd) + 1)
    is_whole = numbers.dtype.kind == "i"
    kept = np.zeros((schedule.depth, 2), numbers.dtype)
    outputs = np.zeros((count, 2), numbers.dtype)
    for at in range(first, count + last):
        kept[1:] = kept[:-1].copy()
        for member, place in enumerate((program.even, program.odd)):
            kept[0, member] = numbers[2 * at + place - begin] * (1 if is_whole else program.scales[member])
        for entry in program.steps:
            step = entry.step
            ages = [entry.lag - step.start - j for j in range(len(step.taps))]
            total = sum(
                int(tap) * kept[age, 1 - step.target] if is_whole else tap * kept[age, 1 - step.target]
                for tap, age in zip(step.taps, ages, strict=True)
            )
            if entry.rounding is not None:
                offset, bits, sign = entry.rounding
                total = sign * ((int(total) + offset) >> bits)
            kept[entry.lag, step.target] += total
        n = at - last
        if n < 0:
            continue
        for place, output in enumerate(program.outputs):
            if program.taps:
                outputs[n, place] = sum(
                    (tap.p, tap.q)[place] * kept[last - tap.pair, tap.member] for tap in program.taps
                )
            else:
                value = kept[last - output.shift, output.member]
                outputs[n, place] = value if is_whole else value * output.scale
    return outputs


def run_both(plan, x, bands, form):
    axis = plan.plans[0]
    coded = np.zeros(axis.coded, x.dtype)
    coded[0::2], coded[1::2] = bands["a"], bands["d"]
    forward = run_program(
        axis_program(axis, "forward", form), axis.low, lambda *ends: axis.extend_samples(*ends).apply(x)
    )
    inverse = run_program(
        axis_program(axis, "inverse", form), axis.pairs, lambda *ends: axis.extend_coefficients(*ends).apply(coded)
    )
    return forward[:, 0], forward[: axis.high, 1], inverse.ravel()[: axis.length]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("number", range(6))
def test_every_wavelet(number, form):
    for turn, wavelet in enumerate(all_wavelets()[number::6]):
        modes = allowed_modes(wavelet)
        length, mode = LENGTHS[turn % len(LENGTHS)], modes[turn % len(modes)]
        plan = level_plan((length,), (0,), (wavelet,), (mode,))
        x = draw_samples((length,), seed=turn)
        bands = {key: draw_samples(shape, seed=9) for key, shape in plan.band_shapes.items()}
        expected, restored = REFERENCE.forward(plan, x), REFERENCE.inverse(plan, bands)
        low, high, y = run_both(plan, x, bands, form)
        tolerance = relative_tolerance("float64", (wavelet,), same_filters=True)
        assert_close(low, expected["a"], tolerance, largest(x, expected), (wavelet.name, mode, length))
        assert_close(high, expected["d"], tolerance, largest(x, expected), (wavelet.name, mode, length))
        assert_close(y, restored, tolerance, largest(bands, restored), (wavelet.name, mode, length))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["cdf53", "haar"])
@pytest.mark.parametrize("length", [1, 2, 9, 40])
def test_whole_numbers(name, length, form):
    plan = level_plan((length,), (0,), (as_wavelet(name),), ("whole",), True)
    x = draw_samples((length,), "int64")
    expected = REFERENCE.forward(plan, x)
    low, high, y = run_both(plan, x, expected, form)
    np.testing.assert_array_equal(low, expected["a"])
    np.testing.assert_array_equal(high, expected["d"])
    np.testing.assert_array_equal(y, x)

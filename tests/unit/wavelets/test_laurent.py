from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.wavelets import laurent
from subband.wavelets.laurent import ONE, ZERO, Laurent
from subband.wavelets.lifting import LiftingScheme, Step, pack_filters
from subband.wavelets.polish import polish
from subband.wavelets.rounding import measure_filter_error

polynomials = st.builds(Laurent, st.integers(-4, 4), st.lists(st.floats(0.25, 2), min_size=1, max_size=6).map(tuple))


def _value(polynomial, z):
    return sum(tap * z**power for power, tap in polynomial.items())


@given(polynomials, polynomials)
def test_sums_and_products(left, right):
    for z in (1.25, -0.75):
        total, product = _value(laurent.add(left, right), z), _value(laurent.multiply(left, right), z)
        assert total == pytest.approx(_value(left, z) + _value(right, z), abs=1e-9)
        assert product == pytest.approx(_value(left, z) * _value(right, z), abs=1e-9)
    assert laurent.add(left, ZERO) == left == laurent.add(ZERO, left)
    assert laurent.multiply(left, ONE) == left
    assert laurent.multiply(left, ZERO) == ZERO


@given(polynomials, polynomials, st.data())
def test_division_restores_the_dividend_whichever_end_is_cancelled(dividend, divisor, data):
    if len(dividend.taps) < len(divisor.taps):
        dividend, divisor = divisor, dividend
    count = len(dividend.taps) - len(divisor.taps) + 1
    exact = [Laurent(p.low, tuple(Decimal(tap) for tap in p.taps)) for p in (dividend, divisor)]
    quotient, remainder = laurent.divide(*exact, upper=data.draw(st.integers(0, count)))
    assert len(quotient.taps) == count
    assert len(remainder.taps) == len(divisor.taps) - 1
    restored = laurent.add(laurent.multiply(quotient, exact[1]), remainder)
    taps = dict(restored.items())
    for power, tap in exact[0].items():
        assert abs(taps.get(power, Decimal(0)) - tap) < Decimal("1e-8")


def test_trim():
    assert laurent.trim(Laurent(0, (0.0, 0.0)), 0.0) == ZERO
    assert laurent.trim(Laurent(-2, (0.1, 1.0, 0.1)), 0.5) == Laurent(-1, (1.0,))


@pytest.mark.parametrize("seed", range(3))
def test_polish_recovers_perturbed_numbers(seed):
    rng = np.random.default_rng(seed)
    steps = (
        Step("predict", -1, (0.5, -0.3)),
        Step("update", 0, (0.7,)),
        Step("predict", 1, (0.2, 0.1, -0.4)),
    )
    scheme, bank = pack_filters(LiftingScheme(steps, 1.2, 0.8))
    steps = tuple(
        Step(step.kind, step.start, tuple(tap + 1e-3 * rng.standard_normal() for tap in step.taps))
        for step in scheme.steps
    )
    rough = LiftingScheme(steps, 1.201, 0.799, scheme.shift_lo, scheme.shift_hi)
    fitted = polish(rough, bank)
    assert measure_filter_error(fitted, bank) < 1e-14
    for left, right in zip(fitted.steps, scheme.steps, strict=True):
        assert left.taps == pytest.approx(right.taps, abs=1e-12)

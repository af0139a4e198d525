"""Compiled loading of the ends of rows, as these go on outside, into lines that a tick reads instead.

Where each number of a line is found is the same for all rows of a strip, and is written down once, as a *plan*. That is
for extensions that repeat numbers as they are; others are computed by `subband.engines.cpu.rows`.
"""

from __future__ import annotations

import numba as nb

from subband.engines.cpu.loops import OPTIONS, clear, copy, copy_few, one_by_one, shift
from subband.engines.cpu.mixtures import find_entry
from subband.engines.cpu.program import (
    BEGIN,
    END,
    EVEN,
    FIRST,
    IDENTITY,
    KIND,
    LAST,
    LENGTH,
    ODD,
    OUTSIDE,
    REPEATS,
    SCALE_P,
)
from subband.engines.cpu.rows import load_coefficients, load_line

__all__ = ["PLANS", "extend_bands", "extend_row", "plan_coefficients", "plan_samples"]

# A plan: where in the line it begins; which entries of the extension come first, and how many; from where on numbers of
# the row follow, and how many; and which entries come then, and how many.
_GOAL, _BEFORE, _BEFORE_COUNT, _INSIDE, _INSIDE_COUNT, _BEHIND, _BEHIND_COUNT = range(7)
_PLAN = 7

#: Room for the plans of a strip: two ends, each of both bands.
PLANS = 4 * _PLAN


@nb.njit(**OPTIONS)
def plan_samples(plans, part, goal, ints, start, n):
    """Plan one end of a row of samples, number 0 or 1: `n` pairs from pair `start` on, at `goal` in a line."""
    plan = shift(plans, part * _PLAN)
    first = 2 * start + min(ints[EVEN], ints[ODD])
    stop = max(2 * (start + n - 1) + max(ints[EVEN], ints[ODD]) + 1, first)
    begin = min(max(ints[BEGIN], first), stop)
    end = max(min(ints[END], stop), begin)
    plan[_GOAL] = goal
    plan[_BEFORE], plan[_BEFORE_COUNT] = find_entry(ints, first), begin - first
    plan[_INSIDE], plan[_INSIDE_COUNT] = begin, end - begin
    plan[_BEHIND], plan[_BEHIND_COUNT] = find_entry(ints, end), stop - end


@nb.njit(**OPTIONS)
def _load_ends(line, row, ints, plans):
    """Write both ends of a row of samples to a line."""
    index = shift(ints, ints[OUTSIDE])
    for part in range(2):
        plan = shift(plans, part * _PLAN)
        y, source = shift(line, plan[_GOAL]), shift(index, plan[_BEFORE])
        count = plan[_BEFORE_COUNT]
        for j in range(count):
            one_by_one()
            y[j] = row[source[j]]
        copy_few(shift(y, count), shift(row, plan[_INSIDE]), plan[_INSIDE_COUNT])
        y, source = shift(y, count + plan[_INSIDE_COUNT]), shift(index, plan[_BEHIND])
        for j in range(plan[_BEHIND_COUNT]):
            one_by_one()
            y[j] = row[source[j]]


@nb.njit(**OPTIONS)
def plan_coefficients(plans, part, goal, ints, start, n):
    """Plan one end of two rows of coefficients, as `plan_samples` does for one of samples."""
    n = max(n, 0)
    for member in range(2):
        plan = shift(plans, (2 * part + member) * _PLAN)
        first = 2 * start + ints[EVEN + member]
        begin = min(max((1 - first) // 2, 0), n)
        end = min(max((ints[LENGTH] - first + 1) // 2, begin), n)
        plan[_GOAL] = goal
        plan[_BEFORE], plan[_BEFORE_COUNT] = find_entry(ints, first), begin
        plan[_INSIDE], plan[_INSIDE_COUNT] = first // 2 + begin, end - begin
        plan[_BEHIND], plan[_BEHIND_COUNT] = find_entry(ints, first + 2 * end), n - end


@nb.njit(**OPTIONS)
def _load_band_ends(line, span, low, high, ints, plans):
    """Write both ends of two rows of coefficients to two lines that lie `span` apart."""
    index = shift(ints, ints[OUTSIDE])
    for number in range(4):
        plan = shift(plans, number * _PLAN)
        member = number % 2
        y, source = shift(line, plan[_GOAL] + member * span), shift(index, plan[_BEFORE])
        count = plan[_BEFORE_COUNT]
        for j in range(count):
            one_by_one()
            found = source[2 * j]
            y[j] = low[found // 2] if found % 2 == 0 else high[found // 2]
        copy_few(shift(y, count), shift(high if member else low, plan[_INSIDE]), plan[_INSIDE_COUNT])
        y, source = shift(y, count + plan[_INSIDE_COUNT]), shift(index, plan[_BEHIND])
        for j in range(plan[_BEHIND_COUNT]):
            one_by_one()
            found = source[2 * j]
            y[j] = low[found // 2] if found % 2 == 0 else high[found // 2]


@nb.njit(**OPTIONS)
def extend_row(line, row, first, h, hn, left, columns, inner, outer, plans, mixed):
    """Write to a line what a tick cannot read from a row as it is: before some column of a strip, and behind another.

    Its first column is `first` in the row.
    """
    if h[REPEATS]:
        _load_ends(line, row, h, plans)
        return
    if h[KIND] == IDENTITY:
        copy(shift(line, outer), shift(row, first + outer), columns - outer)
        return
    reach = h[LAST] - h[FIRST]
    goal = shift(line, min(h[ODD] - h[EVEN], 0) - 2 * reach)
    start = left + h[FIRST]
    if inner + reach > 0:
        load_line(goal, row, h, hn, start, mixed, inner + reach)
    if outer < columns:
        load_line(shift(goal, 2 * outer), row, h, hn, start + outer, mixed, columns - outer + reach)


@nb.njit(**OPTIONS)
def extend_bands(line, span, low, high, is_zero, h, hn, left, columns, inner, outer, plans, mixed):
    """Write to two lines, one for each band along the row, what a tick cannot read from rows of coefficients.

    Such rows may be zeros.
    """
    if h[REPEATS] and not is_zero:
        _load_band_ends(line, span, low, high, h, plans)
        return
    one = hn[SCALE_P]  # nothing is scaled before the tick does
    reach = h[LAST] - h[FIRST]
    for part in range(2):
        start, stop = (outer, columns) if part else (0, inner)
        goal, n = shift(line, start - reach), stop - start + reach
        if n <= 0 or start == columns:
            continue
        if is_zero:
            clear(goal, n)
            clear(shift(goal, span), n)
        elif h[KIND] == IDENTITY:
            copy(goal, shift(low, left + start), n)
        else:
            load_coefficients(goal, 0, span, low, 0, high, 0, h, hn, left + start + h[FIRST], one, one, mixed, n)

"""The tables that the compiled kernels read, and how their work is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.engines.cpu.jobs import PART, SMALL_BESIDE, Work, cut_tasks
from subband.engines.cpu.program import (
    CONVOLUTION,
    COUNT,
    DEPTH,
    EVEN,
    FIRST,
    HEADER,
    KIND,
    LAG,
    LAST,
    LEFT,
    LENGTH,
    LIFTING,
    ODD,
    OUTSIDE,
    ROW,
    START,
    TAPS,
    TARGET,
    identity_program,
    tabulate_program,
)
from subband.plan import axis_plan, reversible_axis_plan
from subband.testing import all_wavelets, allowed_modes
from subband.wavelets import as_wavelet

FLOAT64 = np.dtype(np.float64)


def programs():
    """Yield both programs of every wavelet in its modes, with the number of positions and of outputs."""
    for wavelet in all_wavelets():
        for mode in allowed_modes(wavelet):
            for length in (1, 6, 33):
                plan = axis_plan(wavelet, mode, length)
                yield tabulate_program(plan, "forward", FLOAT64), plan.length, plan.low
                yield tabulate_program(plan, "inverse", FLOAT64), plan.coded, plan.pairs
    for name in ("cdf53", "haar"):
        for length in (1, 6, 33):
            plan = reversible_axis_plan(as_wavelet(name), length)
            yield tabulate_program(plan, "forward", np.dtype(np.int32)), plan.length, plan.low
            yield tabulate_program(plan, "inverse", np.dtype(np.int32)), plan.coded, plan.pairs


def test_tables_hold_every_position_that_is_read():
    for program, length, count in programs():
        ints = program.ints
        assert ints[LENGTH] == length
        first = 2 * ints[FIRST] + min(ints[EVEN], ints[ODD])
        last = 2 * (count - 1 + ints[LAST]) + max(ints[EVEN], ints[ODD])
        outside = ints[ints[OUTSIDE] :]
        assert outside.size >= max(0, -first) + max(0, last + 1 - length)
        assert ints[LEFT] >= -first or first >= 0
        assert outside.size == 0 or (outside.min() >= 0 and outside.max() < length)


def test_rings_are_deep_enough_for_every_step():
    """A step that runs behind the newest pair must find its target and its sources still in the ring."""
    lifted = 0
    for program, _, _ in programs():
        ints = program.ints
        if ints[KIND] != LIFTING:
            continue
        lifted += 1
        for k in range(ints[COUNT]):
            row = ints[HEADER + ROW * k :][:ROW]
            assert row[TARGET] in (0, 1)
            assert row[TAPS] in (1, 2)
            oldest = row[LAG] - min(row[START], 0)
            newest = row[LAG] - (row[START] + row[TAPS] - 1)
            assert newest >= 0, "a step reads a pair that has not come yet"
            assert oldest < ints[DEPTH]
    assert lifted > 1000


def test_steps_run_in_an_order_that_a_sweep_allows():
    """No step reads what an earlier one has yet to change, nor what a later one has changed already."""
    for program, _, _ in programs():
        ints = program.ints
        if ints[KIND] != LIFTING:
            continue
        rows = [ints[HEADER + ROW * k :][:ROW] for k in range(ints[COUNT])]
        for later, step in enumerate(rows):
            for before in rows[:later]:
                if before[TARGET] == step[TARGET]:
                    continue
                assert step[LAG] - (step[START] + step[TAPS] - 1) >= before[LAG]
                assert step[LAG] >= before[LAG] - before[START]


def test_filters_have_taps_by_twos():
    """Kernels take them two, four or eight at a time."""
    counts = [program.ints[COUNT] for program, _, _ in programs() if program.ints[KIND] == CONVOLUTION]
    assert len(counts) > 1000
    assert all(count % 2 == 0 for count in counts)


def test_tables_are_made_once_for_each_dtype():
    plan = axis_plan(as_wavelet("db2"), "symmetric", 9)
    assert tabulate_program(plan, "forward", FLOAT64) is tabulate_program(plan, "forward", FLOAT64)
    for dtype in ("float32", "float64"):
        assert tabulate_program(plan, "forward", np.dtype(dtype)).numbers.dtype == dtype
        assert identity_program(np.dtype(dtype)).numbers.dtype == dtype


def test_numbers_of_reversible_programs_are_whole():
    program = tabulate_program(reversible_axis_plan(as_wavelet("cdf53"), 9), "forward", np.dtype(np.int64))
    assert program.numbers.dtype == np.int64


@given(
    st.tuples(st.integers(0, 12), st.integers(0, 200), st.integers(0, 5000)),
    st.integers(1, 40),
    st.sampled_from((1, 16, 64, 512)),
)
def test_tasks_cover_everything_once(extent, count, tile):
    covered = np.zeros(extent, np.int8) if np.prod(extent) < 200_000 else None
    total = 0
    for b0, b1, r0, r1, c0, c1 in cut_tasks(extent, count, tile):
        assert 0 <= b0 <= b1 <= extent[0]
        assert 0 <= r0 <= r1 <= extent[1]
        assert 0 <= c0 <= c1 <= extent[2]
        total += (b1 - b0) * (r1 - r0) * (c1 - c0)
        if covered is not None:
            covered[b0:b1, r0:r1, c0:c1] += 1
    assert total == np.prod(extent)
    assert covered is None or (covered == 1).all()


@pytest.mark.parametrize("threads", [1, 2, 5, 64])
@pytest.mark.parametrize("rows", [16, 34, 68, 135, 1080])
def test_small_jobs_are_cut_for_few_threads(threads, rows):
    """A coarse level beside finer ones is for no more threads than have something to do."""
    work = Work((1, rows, 60), 1, 64)
    boxes = work.cut(threads, SMALL_BESIDE)
    if threads == 1 or work.samples < SMALL_BESIDE:
        assert boxes is None
        return
    assert boxes is not None
    sizes = boxes[:, 3] - boxes[:, 2]
    assert sizes.sum() == rows
    assert 2 <= len(boxes) <= max(2, work.samples // PART)


@pytest.mark.parametrize("count", [1, 2, 6, 24])
def test_there_is_work_for_all_threads(count):
    for extent in ((1, 1000, 1000), (3, 700, 900), (1, 1, 300_000), (1, 300_000, 1), (100, 40, 40)):
        tasks = cut_tasks(extent, count, 512)
        assert count / 2 <= len(tasks) <= count

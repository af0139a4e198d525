"""Kernel text around the search for motion: scales of two frames, and the motion that most blocks have.

The host takes no part: what one kernel decides the next one reads. Where the loops of the CPU look at margins,
kernels hold positions within the frame, which is the same, as margins repeat the outermost samples.
`subband.engines.temporal.motion_loops` has the same steps, with reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.numbers import format_number
from subband.tracking import (
    BLOCK,
    MARGIN,
    PHASES,
    REACH,
    TAPS,
    WHOLE,
    WINDOW,
)

__all__ = ["BALANCED", "HALVED", "HOLD_WITHIN", "THREADS", "MotionSpec", "render_motion"]

#: Lanes of a block, where blocks are several groups.
THREADS = 256

#: Rows and columns of samples that a block makes of a scale.
HALVED = 16, 32

#: Rows and columns of samples that a block balances; a row of them is one of blocks of the search.
BALANCED = BLOCK, 4 * BLOCK

#: A position within so many samples.
HOLD_WITHIN = "#define WITHIN(i, n) min(max((i), 0), (n) - 1)\n"


@dataclass(frozen=True)
class MotionSpec:
    """The parameters that determine the text of a kernel of the search.

    Attributes
    ----------
    task : {"halve", "median", "balance", "solve"}
        What is done.
    """

    task: Literal["halve", "median", "balance", "solve"]


def render_motion(spec: MotionSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``halve``
        Takes the new and the old frame; both at the next scale, one behind the other; and a table of rows and columns
        of the frames and of the scale, and where the old frame begins. The third direction counts frames.
    ``median``
        Takes motion, the result in fractions of a sample, and a table of the blocks. The third direction counts axes.
    ``balance``
        Takes both frames, motion, its median, filters, five sums for each block of lanes; and a table of rows and
        columns of the scale, of its blocks, and of blocks of lanes in a row.
    ``solve``
        Takes sums, the median, the common motion, and a table of how many sums there are.
    """
    return _RENDERERS[spec.task](spec, dialect)


def _begin_blocks(dialect: Dialect, resident: int) -> str:
    return f"""#define THREADS {THREADS}
#define RESIDENT {resident}
{begin_filter(dialect, "float32")}{dialect.blocks}{HOLD_WITHIN}"""


def _render_halve(_: MotionSpec, dialect: Dialect) -> str:
    down, across = HALVED
    high, wide = 2 * down + 4, 2 * across + 4
    return f"""{_begin_blocks(dialect, 4)}
KERNEL void sweep(GLOBAL const T *RESTRICT news, GLOBAL const T *RESTRICT olds, GLOBAL T *RESTRICT scales,
                  GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T part[{high * wide}];
    LOCAL T lines[{down * wide}];
    const int rows = table[0], columns = table[1], height = table[2], width = table[3];
    GLOBAL const T *const source = GROUP_Z ? olds + table[4] : news;
    GLOBAL T *const goal = scales + (size_t)GROUP_Z * height * width;
    const int y0 = GROUP_Y * {down}, x0 = BLOCK_X * {across};
    for (int k = THREAD; k < {high * wide}; k += THREADS) {{
        const int y = WITHIN(2 * y0 - 2 + k / {wide}, rows), x = WITHIN(2 * x0 - 2 + k % {wide}, columns);
        part[k] = source[(size_t)y * columns + x];
    }}
    BARRIER;
    for (int k = THREAD; k < {down * wide}; k += THREADS) {{
        const int at = 2 * (k / {wide}) * {wide} + k % {wide};
        lines[k] = (part[at] + part[at + {5 * wide}]) + 5.0f * (part[at + {wide}] + part[at + {4 * wide}])
            + 10.0f * (part[at + {2 * wide}] + part[at + {3 * wide}]);
    }}
    BARRIER;
    for (int k = THREAD; k < {down * across}; k += THREADS) {{
        const int y = y0 + k / {across}, x = x0 + k % {across}, at = k / {across} * {wide} + 2 * (k % {across});
        const T total = (lines[at] + lines[at + 5]) + 5.0f * (lines[at + 1] + lines[at + 4])
            + 10.0f * (lines[at + 2] + lines[at + 3]);
        if (y < height && x < width) goal[(size_t)y * width + x] = total * (1.0f / 1024);
    }}
}}
"""


def _render_median(_: MotionSpec, dialect: Dialect) -> str:
    return f"""{_begin_blocks(dialect, 1)}
// bits in the order of the numbers, and back
DEVICE uint order_bits(float value)
{{
    const uint bits = float_bits(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}}
DEVICE float restore_bits(uint key) {{ return bits_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }}
#define COUNT_PHASES(key) rint({PHASES}.0f * restore_bits(key))

KERNEL void sweep(GLOBAL const T *RESTRICT motion, GLOBAL T *RESTRICT result, GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING(uint);
    const int count = table[0];
    const uint ranks[2] = {{(uint)(count - 1) / 2, (uint)count / 2}};
    uint low[2] = {{0, 0}}, top[2] = {{0xffffffffu, 0xffffffffu}};
    // no further than to the fraction of a sample that both bounds belong to
    while ((low[0] < top[0] || low[1] < top[1]) && !(COUNT_PHASES(low[0]) == COUNT_PHASES(top[1]))) {{
        const uint middle[2] = {{low[0] + (top[0] - low[0]) / 2, low[1] + (top[1] - low[1]) / 2}};
        uint below[2] = {{0, 0}};
        UNROLL_FEW for (int k = THREAD; k < count; k += THREADS) {{
            const uint key = order_bits(motion[2 * k + GROUP_Z]);
            below[0] += key <= middle[0];
            below[1] += key <= middle[1];
        }}
        for (int m = 0; m < 2; ++m) {{
            SUM_ALL(below[m]);
            if (below[m] > ranks[m]) top[m] = middle[m]; else low[m] = middle[m] + 1;
        }}
    }}
    const float median = 0.5f * (restore_bits(low[0]) + restore_bits(top[1]));
    if (THREAD == 0) result[GROUP_Z] = rint({PHASES}.0f * median);
}}
"""


def _render_balance(_: MotionSpec, dialect: Dialect) -> str:
    (down, across), before = BALANCED, TAPS // 2 - 1
    high, wide = down + 2, across + 2
    deep, broad = high + TAPS - 1, wide + TAPS - 1
    return f"""{_begin_blocks(dialect, 4)}
KERNEL void sweep(GLOBAL const T *RESTRICT scales, GLOBAL const T *RESTRICT motion, GLOBAL const T *RESTRICT median,
                  GLOBAL const T *RESTRICT taps, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T part[{deep * broad}];
    LOCAL T lines[{deep * wide}];
    LOCAL T patch[{high * wide}];
    SUMMING(T);
    const int rows = table[0], columns = table[1], blocks = table[3];
    const int y = (int)median[0], x = (int)median[1], r = GROUP_Y * {down}, c0 = BLOCK_X * {across};
    GLOBAL const T *const old = scales + (size_t)rows * columns;
    GLOBAL const T *const vertical = taps + (y & {PHASES - 1}) * {TAPS};
    GLOBAL const T *const horizontal = taps + (x & {PHASES - 1}) * {TAPS};
    // whole samples, rounded down
    const int top = r - {1 + before} + (y - (y & {PHASES - 1})) / {PHASES};
    const int left = c0 - {1 + before} + (x - (x & {PHASES - 1})) / {PHASES};
    for (int k = THREAD; k < {deep * broad}; k += THREADS)
        part[k] = old[(size_t)WITHIN(top + k / {broad}, rows) * columns + WITHIN(left + k % {broad}, columns)];
    BARRIER;
    for (int k = THREAD; k < {deep * wide}; k += THREADS) {{
        const int at = k / {wide} * {broad} + k % {wide};
        T total = 0;
        UNROLL for (int m = 0; m < {TAPS}; ++m) total += horizontal[m] * part[at + m];
        lines[k] = total;
    }}
    BARRIER;
    for (int k = THREAD; k < {high * wide}; k += THREADS) {{
        T total = 0;
        UNROLL for (int m = 0; m < {TAPS}; ++m) total += vertical[m] * lines[k + m * {wide}];
        patch[k] = total;
    }}
    BARRIER;
    T yy = 0, yx = 0, xx = 0, yd = 0, xd = 0;
    for (int k = THREAD; k < {down * across}; k += THREADS) {{
        const int i = k / {across}, j = k % {across}, beside = (c0 + j) / {BLOCK}, c = beside * {BLOCK};
        if (r + {BLOCK} > rows || c + {BLOCK} > columns) continue;
        const int number = 2 * (GROUP_Y * blocks + beside);
        if (fabs(motion[number] - y * {1 / PHASES}f) > {REACH}f) continue;
        if (fabs(motion[number + 1] - x * {1 / PHASES}f) > {REACH}f) continue;
        const float far_y = r + y * {1 / PHASES}f, far_x = c + x * {1 / PHASES}f;
        if (far_y < {TAPS - MARGIN} || far_y + {WINDOW + TAPS - MARGIN} >= rows) continue;
        if (far_x < {TAPS - MARGIN} || far_x + {WINDOW + TAPS - MARGIN} >= columns) continue;
        const int at = (i + 1) * {wide} + j + 1;
        const T dy = 0.5f * (patch[at + {wide}] - patch[at - {wide}]), dx = 0.5f * (patch[at + 1] - patch[at - 1]);
        const T d = scales[(size_t)(r + i) * columns + c0 + j] - patch[at];
        yy += dy * dy;
        yx += dy * dx;
        xx += dx * dx;
        yd += dy * d;
        xd += dx * d;
    }}
    SUM_ALL(yy);
    SUM_ALL(yx);
    SUM_ALL(xx);
    SUM_ALL(yd);
    SUM_ALL(xd);
    if (THREAD == 0) {{
        GLOBAL T *const goal = sums + 5 * ((size_t)GROUP_Y * table[4] + BLOCK_X);
        goal[0] = yy;
        goal[1] = yx;
        goal[2] = xx;
        goal[3] = yd;
        goal[4] = xd;
    }}
}}
"""


def _render_solve(_: MotionSpec, dialect: Dialect) -> str:
    return f"""{_begin_blocks(dialect, 1)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL const T *RESTRICT median, GLOBAL T *RESTRICT common,
                  GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING(T);
    T totals[5];
    for (int m = 0; m < 5; ++m) {{
        totals[m] = 0;
        UNROLL_FEW for (int k = THREAD; k < table[0]; k += THREADS) totals[m] += sums[5 * k + m];
        SUM_ALL(totals[m]);
    }}
    if (THREAD > 0) return;
    const T yy = totals[0], yx = totals[1], xx = totals[2];
    const T determinant = yy * xx - yx * yx;
    T by[2] = {{0, 0}};
    if (determinant > {format_number(1e-6, "float")} * yy * xx) {{
        by[0] = (xx * totals[3] - yx * totals[4]) / determinant;
        by[1] = (yy * totals[4] - yx * totals[3]) / determinant;
    }}
    for (int m = 0; m < 2; ++m) {{
        const T found = median[m] * {1 / PHASES}f + fmin(fmax(by[m], -{REACH}f), {REACH}f);
        const T whole = 0.5f * rint(2 * found);
        common[m] = fabs(found - whole) < {WHOLE}f ? whole : found;
    }}
}}
"""


_RENDERERS: dict[str, Callable[[MotionSpec, Dialect], str]] = {
    "halve": _render_halve,
    "median": _render_median,
    "balance": _render_balance,
    "solve": _render_solve,
}

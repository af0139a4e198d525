"""Kernel text around the search for motion: scales of two frames, and the motion that most blocks have.

A common motion is six numbers: down and right in the frame's middle, by how much more at the last row, and at the last
column. Positions of blocks are rows and columns between -1 and 1.

The host takes no part: what one kernel decides the next one reads. Where the loops of the CPU look at margins,
kernels hold positions within the frame, which is the same, as margins repeat the outermost samples.
`subband.engines.temporal.motion_loops` and `common` beside it have the same steps, with reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.numbers import format_number
from subband.tracking import (
    ALIKE,
    BLOCK,
    MARGIN,
    MORE,
    NEAR,
    PHASES,
    REACH,
    SPREADS,
    TAPS,
    TURN_WORTH,
    WHOLE,
    WINDOW,
)

__all__ = ["BALANCED", "COMMON", "HALVED", "HOLD_WITHIN", "POSITION", "THREADS", "MotionSpec", "render_motion"]

#: Lanes of a block, where blocks are several groups.
THREADS = 256

#: Rows and columns of samples that a block makes of a scale.
HALVED = 16, 32

#: Numbers of a common motion, and of the sums of a block that lead to it.
COMMON, BALANCED = 6, 7

#: The row or column of a block, of so many, between -1 and 1; and what a common motion is there, along one axis.
POSITION = """\
#define POSITION(i, n) ((float)(2 * (i) + 1 - (n)) / (n))
#define FOLLOW(common, axis, p, q) ((common)[axis] + (p) * (common)[2 + (axis)] + (q) * (common)[4 + (axis)])
"""

#: A position within so many samples.
HOLD_WITHIN = "#define WITHIN(i, n) min(max((i), 0), (n) - 1)\n"


@dataclass(frozen=True)
class MotionSpec:
    """The parameters that determine the text of a kernel of the search.

    Attributes
    ----------
    task : {"halve", "median", "fit", "balance", "solve"}
        What is done.
    """

    task: Literal["halve", "median", "fit", "balance", "solve"]


def render_motion(spec: MotionSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``halve``
        Takes the new and the old frame; both at the next scale, one behind the other; and a table of rows and columns
        of the frames and of the scale, and where the old frame begins. The third direction counts frames.
    ``median``
        Takes motion, the result in fractions of a sample, and a table of the blocks. The third direction counts axes.
    ``fit``
        Takes motion, its median, where the common motion to begin with goes, and a table of rows and columns of blocks.
    ``balance``
        Takes both frames, motion, the common motion to begin with, filters, `BALANCED` sums for each block; and a table
        of rows and columns of the scale, and of its blocks. A group takes a block.
    ``solve``
        Takes sums, the common motion to begin with and where the one that is found goes, and a table of rows and
        columns of blocks.
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


def _render_elimination(size: int, sides: int) -> str:
    """Write a function that solves a few equations, of a row each with its right sides behind it."""
    wide = size + sides
    return f"""
// what equations leave open is 0
DEVICE void eliminate_{size}(float *m)
{{
    UNROLL for (int i = 0; i < {size}; ++i) {{
        float *const pivot = m + i * {wide} + i;
        *pivot = *pivot > 0 ? *pivot * {1 + 1e-6}f : 1;
    }}
    UNROLL for (int i = 0; i < {size}; ++i) {{
        const float one = 1 / m[i * {wide} + i];
        UNROLL for (int j = i; j < {wide}; ++j) m[i * {wide} + j] *= one;
        UNROLL for (int k = 0; k < {size}; ++k) {{
            if (k == i) continue;
            const float part = m[k * {wide} + i];
            UNROLL for (int j = i; j < {wide}; ++j) m[k * {wide} + j] -= part * m[i * {wide} + j];
        }}
    }}
}}
"""


def _render_fit(_: MotionSpec, dialect: Dialect) -> str:
    return f"""{_begin_blocks(dialect, 1)}{POSITION}{_render_elimination(3, 2)}
// what moves by itself counts less and less
#define COUNT_NEAR(y, x, square) ((square) / ((square) + ((y) * (y) + (x) * (x))))
DEVICE float weigh(float y, float x, float square)
{{
    const float root = COUNT_NEAR(y, x, square);
    return root * root;
}}

KERNEL void sweep(GLOBAL const T *RESTRICT motion, GLOBAL const T *RESTRICT median, GLOBAL T *RESTRICT start,
                  GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING_EACH(T, 6);
    const int high = table[0], wide = table[1], count = high * wide;
    const float spreads[{len(SPREADS)}] = {{{", ".join(f"{spread}f" for spread in SPREADS)}}};
    const float middle[2] = {{median[0] * {1 / PHASES}f, median[1] * {1 / PHASES}f}};
    float fit[{COMMON}] = {{middle[0], middle[1], 0, 0, 0, 0}}, alike[2] = {{middle[0], middle[1]}};
    for (int turn = 0; turn < {len(SPREADS)}; ++turn) {{
        const float square = spreads[turn] * spreads[turn];
        // weights, with each position and with products of these; and motion with them, less that of the middle
        T sums[6] = {{0}}, sides[6] = {{0}}, plain[3] = {{0}};
        UNROLL_FEW for (int k = THREAD; k < count; k += THREADS) {{
            const float p = POSITION(k / wide, high), q = POSITION(k % wide, wide);
            const float y = motion[2 * k] - middle[0], x = motion[2 * k + 1] - middle[1];
            const float by_y = motion[2 * k] - FOLLOW(fit, 0, p, q), by_x = motion[2 * k + 1] - FOLLOW(fit, 1, p, q);
            const float weight = weigh(by_y, by_x, square);
            sums[0] += weight;
            sums[1] += weight * p;
            sums[2] += weight * q;
            sums[3] += weight * p * p;
            sums[4] += weight * p * q;
            sums[5] += weight * q * q;
            sides[0] += weight * y;
            sides[1] += weight * x;
            sides[2] += weight * y * p;
            sides[3] += weight * x * p;
            sides[4] += weight * y * q;
            sides[5] += weight * x * q;
            const float other = weigh(motion[2 * k] - alike[0], motion[2 * k + 1] - alike[1], square);
            plain[0] += other;
            plain[1] += other * y;
            plain[2] += other * x;
        }}
        SUM_EACH(sums, 6)
        SUM_EACH(sides, 6)
        SUM_EACH(plain, 3)
        float m[15] = {{
            sums[0], sums[1], sums[2], sides[0], sides[1],
            sums[1], sums[3], sums[4], sides[2], sides[3],
            sums[2], sums[4], sums[5], sides[4], sides[5],
        }};
        eliminate_3(m);
        UNROLL for (int i = 0; i < {COMMON}; ++i) fit[i] = m[i / 2 * 5 + 3 + i % 2] + (i < 2 ? middle[i] : 0);
        UNROLL for (int i = 0; i < 2; ++i) alike[i] = middle[i] + plain[i + 1] / plain[0];
    }}
    UNROLL for (int i = 0; i < 2; ++i) alike[i] = rint({PHASES}.0f * alike[i]) * {1 / PHASES}f;
    // what lies between two layers is not far from either, but what one of them has is hit
    T near[2] = {{0, 0}};
    UNROLL_FEW for (int k = THREAD; k < count; k += THREADS) {{
        const float p = POSITION(k / wide, high), q = POSITION(k % wide, wide);
        const float y = motion[2 * k], x = motion[2 * k + 1];
        near[0] += COUNT_NEAR(y - FOLLOW(fit, 0, p, q), x - FOLLOW(fit, 1, p, q), {NEAR**2}f);
        near[1] += COUNT_NEAR(y - alike[0], x - alike[1], {NEAR**2}f);
    }}
    SUM_EACH(near, 2)
    const bool is_bent = near[0] > {MORE}f * near[1];
    if (THREAD == 0) for (int i = 0; i < {COMMON}; ++i) start[i] = is_bent ? fit[i] : i < 2 ? alike[i] : 0;
}}
"""


def _render_balance(_: MotionSpec, dialect: Dialect) -> str:
    side, before = BLOCK + 2, TAPS // 2 - 1
    deep = side + TAPS - 1
    return f"""#define THREADS {LANES}
#define RESIDENT 24
{begin_filter(dialect, "float32")}{dialect.blocks}{HOLD_WITHIN}{POSITION}
KERNEL void sweep(GLOBAL const T *RESTRICT scales, GLOBAL const T *RESTRICT motion, GLOBAL const T *RESTRICT start,
                  GLOBAL const T *RESTRICT taps, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T part[{deep * deep}];
    LOCAL T lines[{deep * side}];
    LOCAL T patch[{side * side}];
    SUMMING(T);
    const int rows = table[0], columns = table[1], high = table[2], wide = table[3];
    const int number = GROUP_Y * wide + BLOCK_X, r = GROUP_Y * {BLOCK}, c = BLOCK_X * {BLOCK};
    const float p = POSITION(GROUP_Y, high), q = POSITION(BLOCK_X, wide);
    const int y = (int)rint({PHASES}.0f * FOLLOW(start, 0, p, q)), x = (int)rint({PHASES}.0f * FOLLOW(start, 1, p, q));
    const float down = y * {1 / PHASES}f, right = x * {1 / PHASES}f;
    GLOBAL T *const goal = sums + (size_t){BALANCED} * number;
    const bool is_near = fmax(fabs(motion[2 * number] - down), fabs(motion[2 * number + 1] - right)) <= {REACH}f;
    const bool is_inside = r + {BLOCK} <= rows && c + {BLOCK} <= columns
        && r + down >= {TAPS - MARGIN} && r + down + {WINDOW + TAPS - MARGIN} < rows
        && c + right >= {TAPS - MARGIN} && c + right + {WINDOW + TAPS - MARGIN} < columns;
    // all lanes of a block go the same way
    if (!is_near || !is_inside) {{
        if (THREAD < {BALANCED}) goal[THREAD] = 0;
        return;
    }}
    GLOBAL const T *const old = scales + (size_t)rows * columns;
    GLOBAL const T *const vertical = taps + (y & {PHASES - 1}) * {TAPS};
    GLOBAL const T *const horizontal = taps + (x & {PHASES - 1}) * {TAPS};
    // whole samples, rounded down
    const int top = r - {1 + before} + (y - (y & {PHASES - 1})) / {PHASES};
    const int left = c - {1 + before} + (x - (x & {PHASES - 1})) / {PHASES};
    for (int k = THREAD; k < {deep * deep}; k += THREADS)
        part[k] = old[(size_t)WITHIN(top + k / {deep}, rows) * columns + WITHIN(left + k % {deep}, columns)];
    BARRIER;
    for (int k = THREAD; k < {deep * side}; k += THREADS) {{
        const int at = k / {side} * {deep} + k % {side};
        T total = 0;
        UNROLL for (int m = 0; m < {TAPS}; ++m) total += horizontal[m] * part[at + m];
        lines[k] = total;
    }}
    BARRIER;
    for (int k = THREAD; k < {side * side}; k += THREADS) {{
        T total = 0;
        UNROLL for (int m = 0; m < {TAPS}; ++m) total += vertical[m] * lines[k + m * {side}];
        patch[k] = total;
    }}
    BARRIER;
    T yy = 0, yx = 0, xx = 0, yd = 0, xd = 0, dd = 0;
    for (int k = THREAD; k < {BLOCK * BLOCK}; k += THREADS) {{
        const int i = k / {BLOCK}, j = k % {BLOCK}, at = (i + 1) * {side} + j + 1;
        const T dy = 0.5f * (patch[at + {side}] - patch[at - {side}]), dx = 0.5f * (patch[at + 1] - patch[at - 1]);
        const T d = scales[(size_t)(r + i) * columns + c + j] - patch[at];
        yy += dy * dy;
        yx += dy * dx;
        xx += dx * dx;
        yd += dy * d;
        xd += dx * d;
        dd += d * d;
    }}
    SUM_ALL(yy);
    SUM_ALL(yx);
    SUM_ALL(xx);
    SUM_ALL(yd);
    SUM_ALL(xd);
    SUM_ALL(dd);
    if (THREAD == 0) {{
        goal[0] = yy;
        goal[1] = yx;
        goal[2] = xx;
        goal[3] = yd;
        goal[4] = xd;
        goal[5] = dd;
        goal[6] = {BLOCK * BLOCK};
    }}
}}
"""


def _render_solve(_: MotionSpec, dialect: Dialect) -> str:
    wide = COMMON + 1
    return f"""{_begin_blocks(dialect, 1)}{POSITION}{_render_elimination(COMMON, 1)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL const T *RESTRICT start, GLOBAL T *RESTRICT common,
                  GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING_EACH(T, 6);
    const int high = table[0], wide = table[1];
    // products of slopes, for each product of two positions; pulls, for each position; squared differences and samples
    T slopes[3][6] = {{{{0}}}}, pulls[6] = {{0}}, left[2] = {{0, 0}};
    for (int k = THREAD; k < high * wide; k += THREADS) {{
        GLOBAL const T *const own = sums + (size_t){BALANCED} * k;
        const float p = POSITION(k / wide, high), q = POSITION(k % wide, wide);
        const float products[6] = {{1, p, q, p * p, p * q, q * q}};
        const float down = FOLLOW(start, 0, p, q), right = FOLLOW(start, 1, p, q);
        const float by_y = rint({PHASES}.0f * down) * {1 / PHASES}f - down;
        const float by_x = rint({PHASES}.0f * right) * {1 / PHASES}f - right;
        const float pull[2] = {{own[3] + own[0] * by_y + own[1] * by_x, own[4] + own[1] * by_y + own[2] * by_x}};
        UNROLL for (int m = 0; m < 3; ++m) UNROLL for (int i = 0; i < 6; ++i) slopes[m][i] += own[m] * products[i];
        UNROLL for (int i = 0; i < 6; ++i) pulls[i] += pull[i % 2] * products[i / 2];
        left[0] += own[5];
        left[1] += own[6];
    }}
    SUM_EACH(slopes[0], 6)
    SUM_EACH(slopes[1], 6)
    SUM_EACH(slopes[2], 6)
    SUM_EACH(pulls, 6)
    SUM_EACH(left, 2)
    if (THREAD > 0) return;
    float m[{COMMON * wide}], sides[{COMMON}];
    UNROLL for (int i = 0; i < {COMMON}; ++i) {{
        // without growth, from the middle's motion
        sides[i] = pulls[i];
        UNROLL for (int j = 0; j < {COMMON}; ++j) {{
            const int low = min(i / 2, j / 2), top = max(i / 2, j / 2);
            const float each = slopes[i % 2 + j % 2][low == 0 ? top : low == 1 ? top + 2 : 5];
            m[{wide} * i + j] = each;
            if (j >= 2) sides[i] += each * start[j];
        }}
        m[{wide} * i + {COMMON}] = pulls[i];
    }}
    const float yy = slopes[0][0], yx = slopes[1][0], xx = slopes[2][0], determinant = yy * xx - yx * yx;
    float alike[2] = {{0, 0}}, most[2] = {{0, 0}}, gain = 0;
    if (determinant > {format_number(1e-6, "float")} * yy * xx) {{
        alike[0] = (xx * sides[0] - yx * sides[1]) / determinant;
        alike[1] = (yy * sides[1] - yx * sides[0]) / determinant;
    }}
    eliminate_{COMMON}(m);
    for (int i = 0; i < {COMMON}; ++i) {{
        const float step = m[{wide} * i + {COMMON}];
        gain += 0.5f * ((i < 2 ? step - alike[i] : step + start[i]) * sides[i]);
        most[i % 2] += fabs(step);
    }}
    // a few blocks that move by themselves say nothing about the camera
    const bool is_much = 3 * left[1] > {BLOCK**2}.0f * (high * wide);
    const bool is_bent = is_much && gain * left[1] > {TURN_WORTH * ALIKE}f * left[0];
    const float part = {REACH}f / fmax(fmax(most[0], most[1]), {REACH}f);
    for (int i = 0; i < {COMMON}; ++i) {{
        if (is_bent) common[i] = start[i] + part * m[{wide} * i + {COMMON}];
        else if (i < 2) {{
            const float found = start[i] + fmin(fmax(alike[i], -{REACH}f), {REACH}f), whole = 0.5f * rint(2 * found);
            common[i] = fabs(found - whole) < {WHOLE}f ? whole : found;
        }} else common[i] = 0;
    }}
}}
"""


_RENDERERS: dict[str, Callable[[MotionSpec, Dialect], str]] = {
    "halve": _render_halve,
    "median": _render_median,
    "fit": _render_fit,
    "balance": _render_balance,
    "solve": _render_solve,
}

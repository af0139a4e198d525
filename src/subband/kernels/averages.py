"""Kernel text of averages over time: prediction along the motion, changes of light, and update by the new frame.

A *summary* is two numbers about what is known after a frame: the mean variance of its noise over that of a frame, and
whether nothing of the past was of use. Only kernels read it, so that the host need not wait for any.
`subband.engines.temporal.temporal_loops` has the same steps, with reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.motion import HOLD_WITHIN, THREADS
from subband.tracking import (
    AGREE,
    BLOCK,
    CUT,
    DOUBT,
    DRIFT_SLACK,
    DRIFT_WORTH,
    GROWTH,
    LIGHT_ROUNDS,
    LIGHT_SPREAD,
    LIGHT_WORTH,
    LINE,
    MARGIN,
    MEMORY,
    MOST_GAIN,
    NEW,
    PATCH,
    PATCH_SLACK,
    PATCH_WORTH,
    PHASES,
    SLACKS,
    STRAIGHT,
    SURE,
    TAPS,
    UNSEEN,
)

__all__ = ["LIGHT", "ROOM", "UPDATED", "AverageSpec", "count_fitters", "render_average"]

#: Rows and columns of samples that a block updates: with one on each side, as many as make its lanes busy.
UPDATED = 30, 30

#: Rows of samples whose excess a lane measures.
_RUN = 4

#: Numbers about the light of a plane, gain and offset; and those of a block that are kept while it is found.
LIGHT, ROOM = 2, 4


@dataclass(frozen=True)
class AverageSpec:
    """The parameters that determine the text of a kernel of averages.

    Attributes
    ----------
    task : {"predict", "light", "patches", "drift", "update", "judge", "renew"}
        What is done.
    planes : int
        How many there are.
    block : tuple of int
        Rows and columns of samples that move alike.
    """

    task: Literal["predict", "light", "patches", "drift", "update", "judge", "renew"]
    planes: int = 1
    block: tuple[int, int] = (2 * BLOCK, 2 * BLOCK)


def render_average(spec: AverageSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``predict``
        Takes the new planes, what is known of them, ratios, motion, filters; where the prediction, the variance of its
        noise, and the sums of the new samples and of the predicted ones of each block go; and a table of rows, columns,
        and rows and columns of blocks. A group takes a block.
    ``light``
        Takes sums, the variance of the noise of the prediction, noise, room for `ROOM` numbers of each block of each
        plane, where gain and offset of each plane go, and such a table. The third direction counts planes.
    ``patches``
        Takes the new planes, the prediction, the variance of its noise, gains and offsets, noise, where the sum
        of each patch of `subband.tracking.PATCH` rows and columns of each plane goes, and such a table.
    ``drift``
        Takes sums, the variance of the noise of the prediction, gains and offsets, noise, sums of patches, where the
        drift of each block goes, and such a table.
    ``update``
        Takes the new planes, the prediction, the variance of its noise, drifts, gains and offsets, and noise; where
        averages, ratios and two sums of each block of lanes go; and such a table, with the blocks of lanes of a row.
    ``judge``
        Takes sums, noise, the summary of the brightness or zeros, where the summary goes; and a table of how many sums
        and how many ratios there are.
    ``renew``
        Takes the new planes, the summary, averages and ratios, and a table of the samples of a plane.
    """
    return _RENDERERS[spec.task](spec, dialect)


def count_fitters(dialect: Dialect) -> int:
    """Return the lanes of a block that finds light: few devices besides NVIDIA's take more than a quarter of these."""
    return 1024 if dialect.name == "cuda" else 256


def _begin(dialect: Dialect, threads: int, resident: int) -> str:
    return f"""#define THREADS {threads}
#define RESIDENT {resident}
{begin_filter(dialect, "float32")}{dialect.blocks}{HOLD_WITHIN}"""


#: Where a quarter of a block was before: it lies between the middles of four blocks, of which those count that move
#: nearly like its own.
_BLEND = f"""\
DEVICE void blend(GLOBAL const float *motion, int high, int wide, int row, int column, int below, int behind,
                  float *goal)
{{
    const int above = WITHIN(row + (below ? 1 : -1), high), beside = WITHIN(column + (behind ? 1 : -1), wide);
    const float y = motion[2 * (row * wide + column)], x = motion[2 * (row * wide + column) + 1];
    goal[0] = goal[1] = 0;
    UNROLL for (int k = 0; k < 3; ++k) {{
        const int at = 2 * ((k ? above : row) * wide + (k != 1 ? beside : column));
        const float by_y = motion[at] - y, by_x = motion[at + 1] - x;
        const float weight = fmax(fabs(by_y), fabs(by_x)) <= {AGREE}f ? (k == 2 ? 1 : 3) : 0;
        goal[0] += weight * by_y;
        goal[1] += weight * by_x;
    }}
    goal[0] = y + {1 / 16}f * goal[0];
    goal[1] = x + {1 / 16}f * goal[1];
}}
"""


def _render_predict(spec: AverageSpec, dialect: Dialect) -> str:
    (high, wide), before, side = spec.block, TAPS // 2 - 1, LANES // 2
    down, across = (-(-length // 2) for length in spec.block)
    deep, broad = down + TAPS - 1, across + TAPS - 1
    # rows that lanes read at a time lie in different banks
    pitch = LANES + across
    return f"""{_begin(dialect, LANES, 24)}{_BLEND}
KERNEL void sweep(GLOBAL const T *RESTRICT news, GLOBAL const T *RESTRICT known, GLOBAL const T *RESTRICT ratios,
                  GLOBAL const T *RESTRICT motion, GLOBAL const T *RESTRICT taps, GLOBAL T *RESTRICT predicted,
                  GLOBAL T *RESTRICT variances, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T lines[{down * pitch}];
    SUMMING(T);
    // half of the lanes take the left quarters of a block, half of them the right ones
    const int rows = table[0], columns = table[1], number = GROUP_Y * (int)table[3] + BLOCK_X;
    const int behind = THREAD / {side}, lane = THREAD % {side};
    const size_t count = (size_t)rows * columns, blocks = (size_t)table[2] * table[3];
    T own[{spec.planes}] = {{0}}, others[{spec.planes}] = {{0}};
    for (int below = 0; below < 2; ++below) {{
        float moved[2];
        blend(motion, (int)table[2], (int)table[3], GROUP_Y, BLOCK_X, below, behind, moved);
        const int y = (int)floor(moved[0] * {high * PHASES / BLOCK}f + 0.5f);
        const int x = (int)floor(moved[1] * {wide * PHASES / BLOCK}f + 0.5f);
        const int phase_y = y & {PHASES - 1}, phase_x = x & {PHASES - 1};
        const int r = GROUP_Y * {high} + below * {down}, c = BLOCK_X * {wide} + behind * {across};
        const int height = min(below ? {high - down} : {down}, rows - r);
        const int width = min(behind ? {wide - across} : {across}, columns - c);
        // what comes from beyond the margins was not seen
        const int top = min(max(r + (y - phase_y) / {PHASES}, {TAPS - MARGIN}), rows + {MARGIN - TAPS - down});
        const int left = min(max(c + (x - phase_x) / {PHASES}, {TAPS - MARGIN}), columns + {MARGIN - TAPS - across});
        T vertical[{TAPS}], horizontal[{TAPS}];
        UNROLL for (int m = 0; m < {TAPS}; ++m) vertical[m] = taps[phase_y * {TAPS} + m];
        UNROLL for (int m = 0; m < {TAPS}; ++m) horizontal[m] = taps[phase_x * {TAPS} + m];
        for (int k = lane; k < {down * across}; k += {side}) {{
            const int i = k / {across}, j = k % {across}, from = top + i, beside = left + j;
            if (i >= height || j >= width) continue;
            const bool is_seen = from >= 0 && from < rows && beside >= 0 && beside < columns;
            const T ratio = is_seen ? ratios[(size_t)from * columns + beside] : {UNSEEN}f;
            variances[(size_t)(r + i) * columns + c + j] = ratio;
        }}
        const int column = WITHIN(left - {before} + lane, columns), first = top - {before};
        for (int plane = 0; plane < {spec.planes}; ++plane) {{
            GLOBAL const T *const source = known + plane * count + column;
            BARRIER;
            if (lane < {broad}) {{
                T held[{deep}];
                if (first >= 0 && first + {deep} <= rows)
                    UNROLL for (int k = 0; k < {deep}; ++k) held[k] = source[(first + k) * columns];
                else UNROLL for (int k = 0; k < {deep}; ++k) held[k] = source[WITHIN(first + k, rows) * columns];
                UNROLL for (int k = 0; k < {down}; ++k) {{
                    T total = held[k + {before}];
                    if (phase_y) {{
                        total = 0;
                        UNROLL for (int m = 0; m < {TAPS}; ++m) total += vertical[m] * held[k + m];
                    }}
                    lines[k * {pitch} + THREAD] = total;
                }}
            }}
            BARRIER;
            for (int k = lane; k < {down * across}; k += {side}) {{
                const int i = k / {across}, j = k % {across}, at = i * {pitch} + behind * {side} + j;
                if (i >= height || j >= width) continue;
                T total = lines[at + {before}];
                if (phase_x) {{
                    total = 0;
                    UNROLL for (int m = 0; m < {TAPS}; ++m) total += horizontal[m] * lines[at + m];
                }}
                const size_t goal = plane * count + (size_t)(r + i) * columns + c + j;
                predicted[goal] = total;
                own[plane] += news[goal];
                others[plane] += total;
            }}
        }}
    }}
    for (int plane = 0; plane < {spec.planes}; ++plane) {{
        SUM_ALL(own[plane]);
        SUM_ALL(others[plane]);
        if (THREAD == 0) {{
            sums[plane * blocks + number] = own[plane];
            sums[(plane + {spec.planes}) * blocks + number] = others[plane];
        }}
    }}
}}
"""


def _count_samples(spec: AverageSpec, row: str, column: str) -> str:
    """Write how many samples of a plane are in a block."""
    high, wide = spec.block
    return f"(min({high}, rows - ({row}) * {high}) * min({wide}, columns - ({column}) * {wide}))"


def _render_light(spec: AverageSpec, dialect: Dialect) -> str:
    high, wide = spec.block
    return f"""{_begin(dialect, count_fitters(dialect), 1)}
#define EACH UNROLL_FEW for (int k = THREAD; k < blocks; k += THREADS)
#define X olds[k]
#define Y fresh[k]

KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL const T *RESTRICT variances, GLOBAL const T *RESTRICT noise,
                  GLOBAL T *room, GLOBAL T *RESTRICT lights, GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING_EACH(T, 5);
    const int rows = table[0], columns = table[1], across = table[3], blocks = table[2] * table[3], plane = GROUP_Z;
    GLOBAL T *const olds = room + (size_t){ROOM} * plane * blocks;
    GLOBAL T *const fresh = olds + blocks;
    GLOBAL T *const noises = fresh + blocks;
    GLOBAL T *const weights = noises + blocks;
    const T sigma = fmax(noise[plane], noise[0]);
    T totals[5] = {{0}};
    EACH {{
        const int row = k / across, column = k % across;
        const T part = 1 / (T){_count_samples(spec, "row", "column")};
        Y = sums[plane * blocks + k] * part;
        X = sums[(plane + {spec.planes}) * blocks + k] * part;
        noises[k] = sigma * sigma * (1 + variances[(size_t)row * {high} * columns + column * {wide}]) * part;
        totals[0] += Y;
        totals[1] += (Y - X) * (Y - X);
    }}
    SUM_EACH(totals, 2)
    // around a number in their middle, sums of squares keep their digits
    const T zero = totals[0] / blocks;
    EACH {{
        X -= zero;
        Y -= zero;
    }}
    T gain = 1, offset = 0, spread = totals[1] / blocks, before = 0, level = 0, all = 1, most = 0;
    for (int turn = 0; turn < {LIGHT_ROUNDS}; ++turn) {{
        const T last = gain, other = offset;
        before = spread;
        UNROLL for (int m = 0; m < 5; ++m) totals[m] = 0;
        EACH {{
            const T x = X, y = Y, left = y - last * x - other, root = rsqrt(noises[k] + before + left * left);
            const T weight = root * root;
            weights[k] = weight;
            totals[0] += weight;
            totals[1] += weight * x;
            totals[2] += weight * y;
            totals[3] += weight * x * x;
            totals[4] += weight * x * y;
        }}
        SUM_EACH(totals, 5)
        all = totals[0];
        level = totals[2] / all;
        const T middle = totals[1] / all;
        gain = (totals[4] - middle * totals[2]) / fmax(totals[3] - middle * totals[1], 1e-9f * all);
        offset = level - gain * middle;
        totals[0] = totals[1] = 0;
        EACH {{
            const T after = Y - gain * X - offset, square = after * after;
            totals[0] += square;
            totals[1] += weights[k] * square;
        }}
        SUM_EACH(totals, 2)
        most = totals[1];
        spread = fmin(most / all, totals[0] / blocks);
    }}
    totals[0] = totals[1] = 0;
    EACH {{
        const T x = X, y = Y, left = y - x, after = y - gain * x - offset;
        const T root = rsqrt(noises[k] + before + after * after);
        totals[0] += root * root * (left * left - after * after);
        totals[1] += root * root * (y - level) * (y - level);
    }}
    SUM_EACH(totals, 2)
    const bool is_alike = most <= {LIGHT_SPREAD}f * totals[1], is_worth = totals[0] >= {LIGHT_WORTH}f;
    const bool is_found = is_alike && is_worth && gain > {1 / MOST_GAIN}f && gain < {MOST_GAIN}f;
    if (THREAD == 0) {{
        lights[{LIGHT} * plane] = is_found ? gain : 1;
        lights[{LIGHT} * plane + 1] = is_found ? offset + zero - gain * zero : 0;
    }}
}}
"""


def _render_patches(spec: AverageSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, "float32")}
KERNEL void sweep(GLOBAL const T *RESTRICT news, GLOBAL const T *RESTRICT predicted,
                  GLOBAL const T *RESTRICT variances, GLOBAL const T *RESTRICT lights, GLOBAL const T *RESTRICT noise,
                  GLOBAL T *RESTRICT patches, GLOBAL const wide_t *RESTRICT table)
{{
    const int rows = table[0], columns = table[1], wide = columns / {PATCH}, count = rows / {PATCH} * wide;
    const size_t size = (size_t)rows * columns;
    T brighter = 0;
    UNROLL for (int plane = 0; plane < {spec.planes}; ++plane)
        brighter += lights[{LIGHT} * plane] * lights[{LIGHT} * plane] * {1 / spec.planes}f;
    for (int item = ITEM_X; item < count; item += ITEMS_X) {{
        const size_t begin = (size_t)(item / wide) * {PATCH} * columns + item % wide * {PATCH};
        for (int plane = 0; plane < {spec.planes}; ++plane) {{
            const T gain = lights[{LIGHT} * plane], offset = lights[{LIGHT} * plane + 1];
            const T sigma = fmax(noise[plane], noise[0]);
            T total = 0;
            UNROLL for (int m = 0; m < {PATCH**2}; ++m) {{
                const size_t own = begin + m / {PATCH} * columns + m % {PATCH};
                const T guess = gain * predicted[plane * size + own] + offset;
                total += (news[plane * size + own] - guess) * rsqrt(1 + brighter * variances[own]);
            }}
            patches[plane * count + item] = sigma > 0 ? total / (sigma * sqrt({PATCH**2 * spec.planes}.0f)) : 0;
        }}
    }}
}}
"""


def _render_drift(spec: AverageSpec, dialect: Dialect) -> str:
    down, right = spec.block
    return f"""{begin_filter(dialect, "float32")}{HOLD_WITHIN}
KERNEL void sweep(GLOBAL const T *RESTRICT blocks, GLOBAL const T *RESTRICT variances,
                  GLOBAL const T *RESTRICT lights, GLOBAL const T *RESTRICT noise, GLOBAL const T *RESTRICT patches,
                  GLOBAL T *RESTRICT drifts, GLOBAL const wide_t *RESTRICT table)
{{
    const int rows = table[0], columns = table[1], above = table[2], beside = table[3], count = above * beside;
    for (int item = ITEM_X; item < count; item += ITEMS_X) {{
        const int own = item / beside, own_column = item - own * beside;
        T most = 0, leaks = 0;
        for (int plane = 0; plane < {spec.planes}; ++plane) {{
            const T gain = lights[{LIGHT} * plane], offset = lights[{LIGHT} * plane + 1];
            GLOBAL const T *const fresh = blocks + (size_t)plane * count;
            GLOBAL const T *const olds = fresh + (size_t){spec.planes} * count;
            T total = 0;
            leaks = 0;
            UNROLL for (int m = 0; m < 9; ++m) {{
                const int row = WITHIN(own + m / 3 - 1, above), column = WITHIN(own_column + m % 3 - 1, beside);
                const T each = 1 / (T){_count_samples(spec, "row", "column")};
                const T ratio = variances[(size_t)row * {down} * columns + column * {right}];
                const T after = (fresh[row * beside + column] - gain * olds[row * beside + column]) * each - offset;
                total += after * rsqrt(1 + ratio);
                leaks += each;
            }}
            total *= {1 / 9}f / fmax(noise[plane], noise[0]);
            most = fmax(most, total * total);
        }}
        const int size = rows / {PATCH} * (columns / {PATCH});
        T apart[9] = {{0}}, middle = 0;
        for (int plane = 0; plane < {spec.planes}; ++plane) {{
            T means[9], common = 0;
            UNROLL for (int m = 0; m < 9; ++m) {{
                const int row = WITHIN(own + m / 3 - 1, above), column = WITHIN(own_column + m % 3 - 1, beside);
                const int first = row * {down // PATCH}, last = min(first + {down // PATCH}, rows / {PATCH});
                const int left = column * {right // PATCH}, end = min(left + {right // PATCH}, columns / {PATCH});
                // at the ends, blocks have fewer patches, or none
                const T part = 1 / (T)max(max(last - first, 0) * max(end - left, 0), 1);
                T total = 0, energy = 0;
                for (int y = first; y < last; ++y) for (int x = left; x < end; ++x) {{
                    const T value = patches[plane * size + y * (columns / {PATCH}) + x];
                    total += value;
                    energy += value * value;
                }}
                means[m] = total * part;
                apart[m] += energy * part;
                common += {1 / 9}f * means[m];
            }}
            // what all of them have in common is drift
            UNROLL for (int m = 0; m < 9; ++m) apart[m] -= common * (2 * means[m] - common);
        }}
        // what moves by itself is off by much in few blocks, and says nothing about those beside it
        UNROLL for (int m = 0; m < 9; ++m) {{
            int below = 0, alike = 0;
            UNROLL for (int n = 0; n < 9; ++n) {{
                below += apart[n] < apart[m];
                alike += apart[n] == apart[m];
            }}
            if (below <= 4 && below + alike > 4) middle = apart[m];
        }}
        const T drift = {DRIFT_WORTH}f * fmax(most - {DRIFT_SLACK / 81}f * leaks, 0.0f);
        drifts[item] = fmax(drift, {PATCH_WORTH}f * fmax(middle - {PATCH_SLACK}f, 0.0f));
    }}
}}
"""


def _render_update(spec: AverageSpec, dialect: Dialect) -> str:
    (high, wide), (down, right) = UPDATED, spec.block
    reach = LINE // 2
    # excess counts beside a sample too
    deep, broad = high + 2, wide + 2
    tall, across = deep + 2 * reach, broad + 2 * reach
    # blocks of the image that one of lanes can touch
    touched = (high - 2) // down + 2, (wide - 2) // right + 2
    slacks = [f"{slack}f" for slack in SLACKS]
    return f"""{_begin(dialect, THREADS, 4 if spec.planes == 1 else 3)}
KERNEL void sweep(GLOBAL const T *RESTRICT news, GLOBAL const T *RESTRICT predicted,
                  GLOBAL const T *RESTRICT variances, GLOBAL const T *RESTRICT drifts, GLOBAL const T *RESTRICT lights,
                  GLOBAL const T *RESTRICT noise, GLOBAL T *RESTRICT averages, GLOBAL T *RESTRICT ratios,
                  GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T part[{tall * across}];
    LOCAL T excess[{deep * broad}];
    LOCAL T floors[{touched[0] * touched[1]}];
    SUMMING(T);
    const int rows = table[0], columns = table[1], above = table[2], beside = table[3];
    const int r = GROUP_Y * {high}, c = BLOCK_X * {wide}, first = r / {down}, left = c / {right};
    const size_t count = (size_t)rows * columns;
    T brighter = 0;
    UNROLL for (int plane = 0; plane < {spec.planes}; ++plane)
        brighter += lights[{LIGHT} * plane] * lights[{LIGHT} * plane] * {1 / spec.planes}f;
    for (int k = THREAD; k < {touched[0] * touched[1]}; k += THREADS)
        floors[k] = drifts[WITHIN(first + k / {touched[1]}, above) * beside + WITHIN(left + k % {touched[1]}, beside)];
    T square[{_RUN}], narrow[{_RUN}], single[{_RUN}], downs[{_RUN}], acrosses[{_RUN}];
    UNROLL for (int run = 0; run < {_RUN}; ++run)
        square[run] = narrow[run] = single[run] = downs[run] = acrosses[run] = 0;
    const int column = THREAD % {broad}, row = THREAD / {broad} * {_RUN};
    for (int plane = 0; plane < {spec.planes}; ++plane) {{
        const T gain = lights[{LIGHT} * plane], offset = lights[{LIGHT} * plane + 1];
        const T sigma = fmax(noise[plane], noise[0]);
        const T scale = sigma > 0 ? 1 / (sigma * sqrt((T){spec.planes})) : 0;
        BARRIER;
        for (int k = THREAD; k < {tall * across}; k += THREADS) {{
            const int i = WITHIN(r - {1 + reach} + k / {across}, rows);
            const int j = WITHIN(c - {1 + reach} + k % {across}, columns);
            const int own = i * columns + j;
            const T guess = gain * predicted[plane * count + own] + offset;
            part[k] = (news[plane * count + own] - guess) * (scale * rsqrt(1 + brighter * variances[own]));
        }}
        BARRIER;
        if (THREAD < {deep // _RUN * broad}) {{
            T wides[{_RUN + LINE - 1}], narrows[{_RUN + LINE - 1}], middles[{_RUN + LINE - 1}];
            UNROLL for (int i = 0; i < {_RUN + LINE - 1}; ++i) {{
                T value[{LINE}];
                UNROLL for (int j = 0; j < {LINE}; ++j) value[j] = part[(row + i) * {across} + column + j];
                middles[i] = value[{reach}];
                narrows[i] = 0;
                UNROLL for (int j = 1; j < {LINE - 1}; ++j) narrows[i] += value[j] * value[j];
                wides[i] = narrows[i] + value[0] * value[0] + value[{LINE - 1}] * value[{LINE - 1}];
                if (i >= {reach} && i < {_RUN + reach}) {{
                    T sum = 0;
                    UNROLL for (int j = 0; j < {LINE}; ++j) sum += value[j];
                    acrosses[i - {reach}] += sum * sum;
                    single[i - {reach}] += value[{reach}] * value[{reach}];
                }}
            }}
            UNROLL for (int run = 0; run < {_RUN}; ++run) {{
                T sum = 0;
                UNROLL for (int i = 0; i < {LINE}; ++i) {{
                    square[run] += wides[run + i];
                    sum += middles[run + i];
                    if (i > 0 && i < {LINE - 1}) narrow[run] += narrows[run + i];
                }}
                downs[run] += sum * sum;
            }}
        }}
    }}
    if (THREAD < {deep // _RUN * broad}) UNROLL for (int run = 0; run < {_RUN}; ++run) {{
        const int i = r - 1 + row + run, j = c - 1 + column;
        const T line = {STRAIGHT / LINE}f * ({1 / LINE}f * fmax(downs[run], acrosses[run]) - {slacks[3]});
        const T around = fmax(square[run] * {1 / LINE**2}f - {slacks[0]}, narrow[run] * {1 / 9}f - {slacks[1]});
        const T most = fmax(fmax(around, single[run] - {slacks[2]}), fmax(line, 0.0f));
        excess[(row + run) * {broad} + column] = i >= 0 && i < rows && j >= 0 && j < columns ? most : 0;
    }}
    BARRIER;
    T fresh = 0, total = 0;
    for (int k = THREAD; k < {high * wide}; k += THREADS) {{
        const int i = r + k / {wide}, j = c + k % {wide}, at = (k / {wide} + 1) * {broad} + k % {wide} + 1;
        if (i >= rows || j >= columns) continue;
        // a moving edge is found where it is strong, and goes on where noise hides it
        T around = 0;
        UNROLL for (int m = -1; m <= 1; ++m) {{
            around = fmax(around, fmax(excess[at - {broad} + m], excess[at + {broad} + m]));
            if (m) around = fmax(around, excess[at + m]);
        }}
        const int own = i * columns + j;
        const T drift = floors[(i / {down} - first) * {touched[1]} + j / {right} - left];
        const T over = fmax(fmax(excess[at], around - {SURE}f), drift), ratio = brighter * variances[own];
        const T doubtful = {DOUBT}f * over * (1 + {GROWTH}f * fmax(over - {SURE}f, 0.0f));
        const T variance = ratio + doubtful * (1 + ratio);
        const T gain = fmax(variance / (1 + variance), {1 / MEMORY}f);
        ratios[own] = gain;
        UNROLL for (int plane = 0; plane < {spec.planes}; ++plane) {{
            const T guess = lights[{LIGHT} * plane] * predicted[plane * count + own] + lights[{LIGHT} * plane + 1];
            const T sample = news[plane * count + own];
            averages[plane * count + own] = noise[plane] > 0 ? guess + gain * (sample - guess) : sample;
        }}
        if (i % {BLOCK} == 0 && j % {BLOCK} == 0) {{
            fresh += gain > {NEW}f;
            total += gain;
        }}
    }}
    SUM_ALL(fresh);
    SUM_ALL(total);
    if (THREAD == 0) {{
        GLOBAL T *const goal = sums + 2 * ((size_t)GROUP_Y * table[4] + BLOCK_X);
        goal[0] = fresh;
        goal[1] = total;
    }}
}}
"""


def _render_judge(_: AverageSpec, dialect: Dialect) -> str:
    return f"""{_begin(dialect, THREADS, 1)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL const T *RESTRICT noise, GLOBAL const T *RESTRICT lead,
                  GLOBAL T *RESTRICT summary, GLOBAL const wide_t *RESTRICT table)
{{
    SUMMING(T);
    T fresh = 0, total = 0;
    UNROLL_FEW for (int k = THREAD; k < table[0]; k += THREADS) {{
        fresh += sums[2 * k];
        total += sums[2 * k + 1];
    }}
    SUM_ALL(fresh);
    SUM_ALL(total);
    if (THREAD > 0) return;
    // where there is no noise, there is nothing to average
    const bool is_new = fresh > {CUT}f * table[1] || lead[1] > 0 || !(noise[0] > 0);
    summary[0] = is_new ? 1 : total / table[1];
    summary[1] = is_new;
}}
"""


def _render_renew(spec: AverageSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, "float32")}
KERNEL void sweep(GLOBAL const T *RESTRICT news, GLOBAL const T *RESTRICT summary, GLOBAL T *RESTRICT averages,
                  GLOBAL T *RESTRICT ratios, GLOBAL const wide_t *RESTRICT table)
{{
    if (!(summary[1] > 0)) return;
    const size_t count = table[0];
    for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
        ratios[item] = 1;
        UNROLL for (int plane = 0; plane < {spec.planes}; ++plane)
            averages[plane * count + item] = news[plane * count + item];
    }}
}}
"""


_RENDERERS: dict[str, Callable[[AverageSpec, Dialect], str]] = {
    "predict": _render_predict,
    "light": _render_light,
    "patches": _render_patches,
    "drift": _render_drift,
    "update": _render_update,
    "judge": _render_judge,
    "renew": _render_renew,
}

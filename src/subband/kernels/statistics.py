"""Kernel text of statistics of planes: medians, energies, and thresholds by Stein's unbiased risk estimate (SURE).

A median is selected and not sorted for. The bits of magnitudes, read as integers, have the order of the magnitudes, so
three histograms find it: of the first eleven bits, of the next eleven of those that agree with the median in the first,
and of the rest.

Sums are taken in a fixed order, so that the same planes always give the same numbers: every group writes a row of 32
sums, one for each lane, and rows are added 32 at a time until one is left. Where a risk is wanted for 32 thresholds,
each lane has one of them and sees every coefficient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import MIRROR, begin_filter
from subband.kernels.numbers import STORAGES, format_number
from subband.kernels.windows import WINDOWS

__all__ = ["BINS", "PARTS", "StatisticSpec", "render_statistic"]

#: Bins of a histogram.
BINS = 2048

#: How far the bits that each histogram looks at are from the last, and how many they are.
PARTS = ((20, 11), (9, 11), (0, 9))

Task = Literal["histogram", "pick", "squares", "risks", "neighbours", "fold", "bayes", "sure", "window"]

#: The bits that have the order of magnitudes. Of double precision they leave out the last 32, which stand for half a
#: part in 2**20 then.
_KEYS = """\
typedef union { uint words[sizeof(T) / 4]; T number; } bits_t;
#define HIGH (sizeof(T) / 4 - 1)
"""


@dataclass(frozen=True)
class StatisticSpec:
    """The parameters that determine the text of a statistics kernel.

    Attributes
    ----------
    task : str
        What is done; see `render_statistic`.
    storage : str
        How planes are stored; for tasks that see sums only, the dtype of those.
    each : int
        Coefficients that a lane reads at a time, 1 or 4; those of a plane must be a multiple of it.
    has_mask : bool
        Whether a mask says which coefficients count.
    axes : int
        Of space, for the windows of ``neighbours``.
    """

    task: Task
    storage: str
    each: int = 1
    has_mask: bool = False
    axes: int = 2


def render_statistic(spec: StatisticSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    The third direction of a launch counts planes, but for ``bayes``, ``sure`` and ``window`` the first one does.

    ``histogram``
        Takes planes, the mask, counts, and a table of how many times ``each`` coefficients a plane has, the planes, the
        index in `PARTS` and both of its numbers. Counts are `BINS` for each plane and part, then two for each plane:
        the bits of the median that are known and its rank among those that have them; all begin as zero.
    ``pick``
        Follows each of them. Takes counts, results, the same table, and what the median is multiplied by.
    ``squares``
        Takes planes, sums, a table of how many times ``each`` coefficients a plane has, the planes and the rows.
    ``risks``
        Takes planes, sums, such a table, the gain and the distance of thresholds, and the noise of each plane.
    ``neighbours``
        Takes planes, sums (of rows twice as long, for both windows), a table of the planes, depth, height, width, the
        rows, how many times 32 columns are taken and the distance between those; the gain, the distance of factors and
        one over the samples of both windows; and noise.
    ``fold``
        Takes sums, fewer sums, and a table of the planes, the rows of both and their length.
    ``bayes``, ``sure`` and ``window``
        Take one row of sums for each plane, results, a table of the planes; values: the gain, and one over the
        coefficients, or the distance of thresholds or factors; and noise. The results of ``window`` are a factor and
        whether the wider window is better.
    """
    return _RENDERERS[spec.task](spec, dialect)


def _render_histogram(spec: StatisticSpec, dialect: Dialect) -> str:
    mask = "mask[item].v[k] && " if spec.has_mask else ""
    return f"""{begin_filter(dialect, spec.storage, each=spec.each)}{_KEYS}
typedef struct ALIGN({spec.each}) {{ uchar v[{spec.each}]; }} mask_t;

KERNEL void sweep(GLOBAL const run_t *RESTRICT band, GLOBAL const mask_t *RESTRICT mask, GLOBAL uint *counts,
                  GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL uint own[{BINS}];
    const int lane = LANE, planes = table[1], part = table[2], shift = table[3], length = table[4];
    const size_t count = table[0];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        GLOBAL uint *const bins = counts + ((size_t)plane * {len(PARTS)} + part) * {BINS};
        const uint known = counts[(size_t)planes * {len(PARTS) * BINS} + 2 * plane];
        for (int k = lane; k < {BINS}; k += {LANES}) own[k] = 0;
        BARRIER;
        for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
            const run_t run = band[plane * count + item];
            UNROLL for (int k = 0; k < {spec.each}; ++k) {{
                bits_t bits;
                bits.number = READ(run.v[k]);
                const uint key = bits.words[HIGH] & 0x7fffffffu;
                if ({mask}key >> (shift + length) == known)
                    ATOMIC_ADD(&own[key >> shift & ((1u << length) - 1)], 1u);
            }}
        }}
        BARRIER;
        for (int k = lane; k < {BINS}; k += {LANES})
            if (own[k]) ATOMIC_ADD(&bins[k], own[k]);
        BARRIER;
    }}
}}
"""


def _render_pick(spec: StatisticSpec, dialect: Dialect) -> str:
    span = BINS // LANES
    return f"""{begin_filter(dialect, spec.storage)}{_KEYS}
KERNEL void sweep(GLOBAL uint *counts, GLOBAL T *RESTRICT results, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *RESTRICT values)
{{
    LOCAL uint sums[{LANES}];
    const int lane = LANE, planes = table[1], part = table[2], length = table[4];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        GLOBAL const uint *const bins = counts + ((size_t)plane * {len(PARTS)} + part) * {BINS} + lane * {span};
        GLOBAL uint *const found = counts + (size_t)planes * {len(PARTS) * BINS} + 2 * plane;
        uint own = 0;
        for (int k = 0; k < {span}; ++k) own += bins[k];
        sums[lane] = own;
        BARRIER;
        uint before = 0, total = 0;
        for (int k = 0; k < {LANES}; ++k) {{
            if (k < lane) before += sums[k];
            total += sums[k];
        }}
        const uint known = found[0], rank = part == 0 ? (total - 1) / 2 : found[1];
        BARRIER;
        if (total == 0 && lane == 0) results[plane] = 0;
        if (rank >= before && rank - before < own) {{
            uint left = rank - before;
            int k = 0;
            for (; left >= bins[k]; ++k) left -= bins[k];
            const uint key = known << length | (uint)(lane * {span} + k);
            found[0] = key;
            found[1] = left;
            bits_t bits;
            bits.words[0] = key ? 0x80000000u : 0;
            bits.words[HIGH] = key;
            results[plane] = bits.number * values[0];
        }}
    }}
}}
"""


def _render_squares(spec: StatisticSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, spec.storage, each=spec.each)}
KERNEL void sweep(GLOBAL const run_t *RESTRICT band, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table)
{{
    const size_t count = table[0];
    const int lane = LANE, planes = table[1], rows = table[2], row = GROUP_X;
    if (row >= rows) return;
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        T total = 0;
        for (size_t item = (size_t)row * {LANES} + lane; item < count; item += (size_t)rows * {LANES}) {{
            const run_t run = band[plane * count + item];
            T part = 0;
            UNROLL for (int k = 0; k < {spec.each}; ++k) {{
                const T value = READ(run.v[k]);
                part += value * value;
            }}
            total += part;
        }}
        sums[((size_t)plane * rows + row) * {LANES} + lane] = total;
    }}
}}
"""


def _render_risks(spec: StatisticSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT band, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    EXCHANGE(1)
    const size_t count = table[0];
    const int lane = LANE, planes = table[1], rows = table[2], row = GROUP_X;
    if (row >= rows) return;
    const T edge = (lane + 1) * values[1], beyond = edge * edge;
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        const T n = noise[plane] * values[0], scale = n > 0 ? 1 / n : 0;
        T total = 0;
        for (size_t base = (size_t)row * {LANES}; base < count; base += (size_t)rows * {LANES}) {{
            const int there = (int)min(count - base, (size_t){LANES});
            const T a = lane < there ? fabs(READ(band[plane * count + base + lane])) * scale : 0;
            PUBLISH(0, a);
            MEET;
            T part = 0;
            UNROLL for (int k = 0; k < {LANES}; ++k) {{
                const T other = FETCH(0, a, k - lane);
                if (k < there) part += other < edge ? other * other - 2 : beyond;
            }}
            total += part;
        }}
        sums[((size_t)plane * rows + row) * {LANES} + lane] = total;
    }}
}}
"""


def _render_neighbours(spec: StatisticSpec, dialect: Dialect) -> str:
    reach, inner = WINDOWS[1] // 2, WINDOWS[0] // 2
    down, deep = reach if spec.axes > 1 else 0, reach if spec.axes > 2 else 0
    tiny = format_number(1e-9, STORAGES[spec.storage].number)
    return f"""{begin_filter(dialect, spec.storage)}{MIRROR}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT band, GLOBAL T *RESTRICT sums, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    EXCHANGE(7)
    const int planes = table[0], depth = table[1], height = table[2], width = table[3], rows = table[4];
    const wide_t taken = table[5], distance = table[6];
    const int lane = LANE, row = GROUP_X, across = (width + {LANES - 1}) / {LANES};
    if (row >= rows) return;
    const T factor = (lane + 1) * values[1];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        const T n = noise[plane] * values[0], scale = n > 0 ? 1 / (n * n) : 0;
        T totals[2] = {{0, 0}};
        for (wide_t piece = row; piece < taken; piece += rows) {{
            const int line = (int)(piece * distance / across), z = line / height, y = line - z * height;
            const int base = (int)(piece * distance % across) * {LANES}, x = base + lane;
            T narrow = 0, wide = 0, square = 0;
            for (int dz = -{deep}; dz <= {deep}; ++dz) {{
                UNROLL for (int dy = -{down}; dy <= {down}; ++dy) {{
                    GLOBAL const stored_t *const source = band
                        + (((size_t)plane * depth + mirror(z + dz, depth)) * height + mirror(y + dy, height)) * width;
                    UNROLL for (int dx = -{reach}; dx <= {reach}; ++dx) {{
                        const T value = READ(source[mirror(x + dx, width)]), energy = value * value;
                        wide += energy;
                        if (abs(dx) <= {inner} && abs(dy) <= {inner} && abs(dz) <= {inner}) narrow += energy;
                        if (dx == 0 && dy == 0 && dz == 0) square = energy;
                    }}
                }}
            }}
            square *= scale;
            T mean[2], curve[2], slope[2];
            UNROLL for (int k = 0; k < 2; ++k) {{
                mean[k] = (k ? wide : narrow) * scale * values[2 + k] + {tiny};
                const T ratio = square / (mean[k] * mean[k]);
                curve[k] = ratio;
                slope[k] = 2 / mean[k] - 4 * ratio * values[2 + k];
                PUBLISH(3 * k, mean[k]);
                PUBLISH(3 * k + 1, curve[k]);
                PUBLISH(3 * k + 2, slope[k]);
            }}
            PUBLISH(6, square);
            MEET;
            const int there = min(width - base, {LANES});
            T parts[2] = {{0, 0}};
            for (int other = 0; other < there; ++other) {{
                const T empty = FETCH(6, square, other - lane) - 2;
                UNROLL for (int k = 0; k < 2; ++k) {{
                    const T bent = factor * FETCH(3 * k + 1, curve[k], other - lane);
                    const T kept = factor * (bent - FETCH(3 * k + 2, slope[k], other - lane));
                    parts[k] += FETCH(3 * k, mean[k], other - lane) < factor ? empty : kept;
                }}
            }}
            UNROLL for (int k = 0; k < 2; ++k) totals[k] += parts[k];
        }}
        UNROLL for (int k = 0; k < 2; ++k)
            sums[(((size_t)plane * rows + row) * 2 + k) * {LANES} + lane] = totals[k];
    }}
}}
"""


def _render_fold(spec: StatisticSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL T *RESTRICT fewer, GLOBAL const wide_t *RESTRICT table)
{{
    const int planes = table[0], rows = table[1], goal = table[2], length = table[3];
    const int row = GROUP_X, column = GROUP_Y * {LANES} + LANE;
    if (row >= goal) return;
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        GLOBAL const T *const source = sums + ((size_t)plane * rows + row * {LANES}) * length + column;
        const int there = min(rows - row * {LANES}, {LANES});
        T total = 0;
        UNROLL for (int k = 0; k < {LANES}; ++k)
            if (k < there) total += source[(size_t)k * length];
        fewer[((size_t)plane * goal + row) * length + column] = total;
    }}
}}
"""


def _render_decision(spec: StatisticSpec, dialect: Dialect) -> str:
    """Return the text of the decision from the sums of a plane, which runs on one lane."""
    if spec.task == "bayes":
        lines = [
            "T total = 0;",
            f"for (int k = 0; k < {LANES}; ++k) total += sums[plane * {LANES} + k];",
            "const T rest = fmax(total * values[1] - n * n, (T)0);",
            "results[plane] = n == 0 ? 0 : n * n / sqrt(rest);",
        ]
    else:
        # no threshold at all has a risk of nothing beside what all risks share
        lines = ["T least = 0;", "int best = 0;"]
        rows = 2 if spec.task == "window" else 1
        lines += [
            f"for (int k = 0; k < {rows * LANES}; ++k) {{",
            f"    const T risk = sums[plane * {rows * LANES} + k];",
            "    if (risk < least) { least = risk; best = k + 1; }",
            "}",
            "if (n == 0) best = 0;",
        ]
        if spec.task == "sure":
            lines.append("results[plane] = n * best * values[1];")
        else:
            lines += [
                f"results[2 * plane] = (best > {LANES} ? best - {LANES} : best) * values[1];",
                f"results[2 * plane + 1] = best > {LANES};",
            ]
    body = "\n        ".join(lines)
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL T *RESTRICT results, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    for (size_t plane = ITEM_X; plane < (size_t)table[0]; plane += ITEMS_X) {{
        const T n = noise[plane] * values[0];
        {body}
    }}
}}
"""


_RENDERERS: dict[str, Callable[[StatisticSpec, Dialect], str]] = {
    "histogram": _render_histogram,
    "pick": _render_pick,
    "squares": _render_squares,
    "risks": _render_risks,
    "neighbours": _render_neighbours,
    "fold": _render_fold,
    "bayes": _render_decision,
    "sure": _render_decision,
    "window": _render_decision,
}

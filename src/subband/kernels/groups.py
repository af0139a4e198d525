"""Kernel text of non-local groups: similar patches become linear combinations of each other.

A group of lanes takes one reference patch at a time: it measures how far all patches around are from that, selects the
nearest by bisection of their bits, and inverts a small matrix in local memory. Estimates are summed as integers of 64
bits, in two words, so that the sums of the same planes are the same whatever the order in which groups come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["WORDS", "GroupSpec", "render_groups"]

#: Words of a sample's sums: the value in two of them, and the weight in two.
WORDS = 4

#: Rows of a matrix that a lane computes at a time.
_ROWS = 4


@dataclass(frozen=True)
class GroupSpec:
    """The parameters that determine the text of a kernel of groups.

    Attributes
    ----------
    task : {"sum", "finish"}
        Sum the estimates of all groups, or divide the sums.
    storage : str
        How planes are stored.
    count : int
        Patches of a group, at most.
    samples : int
        Samples of a patch, at most.
    most : int
        Patches around a reference patch, at most.
    is_trusting : bool
        Whether all energy is taken from the guide.
    is_sharp : bool
        Whether weights are one over a variance, and not its power of 3/4.
    """

    task: Literal["sum", "finish"]
    storage: str
    count: int = 1
    samples: int = 1
    most: int = 1
    is_trusting: bool = True
    is_sharp: bool = False


def render_groups(spec: GroupSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``sum``
        Takes planes, the guide, the sums, which begin as zeros; a table of the planes, three sizes of a plane, three of
        a patch, three half windows, three steps, and how many reference patches there are along three axes; values:
        trust and the least variance as a part of the energy; and the noise of each plane. Groups in the first direction
        count reference patches along the last axis, in the second one those along the others.
    ``finish``
        Takes planes, the sums, the result, a table of the samples of a plane and the planes, and noise.
    """
    return _render_sum(spec, dialect) if spec.task == "sum" else _render_finish(spec, dialect)


def _begin(spec: GroupSpec, dialect: Dialect) -> str:
    number = STORAGES[spec.storage].number
    # the most that an estimate is away from its sample, times all weights, has to fit into 63 bits
    scale, most = (2.0**32, 2.0**12) if number == "double" else (2.0**24, 2.0**15)
    return f"""{begin_filter(dialect, spec.storage)}
#define SCALE {format_number(scale, number)}
#define FARTHEST {format_number(most, number)}
"""


def _render_finish(spec: GroupSpec, dialect: Dialect) -> str:
    return f"""{_begin(spec, dialect)}
#define JOIN(at) ((wide_t)(int)(at)[1] * 4294967296 + (wide_t)(at)[0])

KERNEL void sweep(GLOBAL const stored_t *RESTRICT planes, GLOBAL const uint *RESTRICT sums,
                  GLOBAL stored_t *RESTRICT result, GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT noise)
{{
    const size_t count = table[0];
    for (int plane = GROUP_Z; plane < table[1]; plane += GROUPS_Z) {{
        const T own = noise[plane];
        for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
            const size_t at = plane * count + item;
            T value = READ(planes[at]);
            if (own > 0) value += own * ((T)JOIN(sums + {WORDS} * at) / (T)JOIN(sums + {WORDS} * at + 2));
            result[at] = WRITE(value);
        }}
    }}
}}
"""


def _render_sum(spec: GroupSpec, dialect: Dialect) -> str:
    number = STORAGES[spec.storage].number
    chunk = 8 if number == "double" else 16
    order, row = spec.count + 1, chunk + 1
    least = format_number(1e-3, number)
    load = f"""
            for (int k = lane; k < count * {chunk}; k += {LANES}) {{
                const int s = first + k % {chunk};
                part[k / {chunk} * {row} + k % {chunk}] =
                    s < size ? READ(SOURCE[positions[k / {chunk}] + OFFSET(s)]) - mean : 0;
            }}
            BARRIER;"""
    multiply = f"""
            for (int i = 0; i < count; i += {_ROWS}) for (int j = lane; j < i + {_ROWS} && j < count; j += {LANES}) {{
                T products[{_ROWS}] = {{0}};
                for (int c = 0; c < {chunk}; ++c) {{
                    const T held = part[j * {row} + c];
                    UNROLL for (int r = 0; r < {_ROWS}; ++r) products[r] += part[(i + r) * {row} + c] * held;
                }}
                UNROLL for (int r = 0; r < {_ROWS}; ++r)
                    if (i + r < count && j <= i + r) matrix[(i + r) * {order} + j] += FACTOR * products[r];
            }}
            BARRIER;"""
    of_guide = (load + multiply).replace("SOURCE", "pilot").replace("FACTOR", "trust")
    of_planes = (
        "" if spec.is_trusting else (load + multiply).replace("SOURCE", "noisy").replace("FACTOR", "(1 - trust)")
    )
    span = _ROWS * (LANES // chunk)
    return f"""{_begin(spec, dialect)}
#define OFFSET(s) (((size_t)((s) / (py * px)) * high + (s) / px % py) * wide + (s) % px)

DEVICE void add_wide(GLOBAL uint *at, wide_t value)
{{
    const uint low = (uint)value;
    uint high = (uint)(value >> 32);
    const uint before = ATOMIC_ADD(at, low);
    if (before + low < before) ++high;
    if (high) ATOMIC_ADD(at + 1, high);
}}

KERNEL void sweep(GLOBAL const stored_t *RESTRICT planes, GLOBAL const stored_t *RESTRICT guide, GLOBAL uint *sums,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    LOCAL uint keys[{spec.most}];
    LOCAL T reference[{spec.samples}];
    LOCAL T part[{(spec.count + span) * row}];
    LOCAL T matrix[{spec.count * order}];
    LOCAL T column[{spec.count}];
    LOCAL T totals[{LANES}];
    LOCAL uint marks[{LANES}];
    LOCAL wide_t positions[{spec.count}];
    const int lane = LANE, images = table[0], deep = table[1], high = table[2], wide = table[3];
    const int pz = table[4], py = table[5], px = table[6], rz = table[7], ry = table[8], rx = table[9];
    const int across = table[15], lines = table[13] * table[14], size = pz * py * px;
    const size_t whole = (size_t)deep * high * wide;
    const T trust = values[0], floor_ = values[1];
    if (GROUP_X >= across) return;
    for (int line = GROUP_Y; line < lines; line += GROUPS_Y) {{
        const int z = min((int)(line / table[14] * table[10]), deep - pz);
        const int y = min((int)(line % table[14] * table[11]), high - py);
        const int x = min((int)(GROUP_X * table[12]), wide - px);
        const int z0 = max(0, z - rz), y0 = max(0, y - ry), x0 = max(0, x - rx);
        const int ny = min(high - py, y + ry) + 1 - y0, nx = min(wide - px, x + rx) + 1 - x0;
        const int total = (min(deep - pz, z + rz) + 1 - z0) * ny * nx;
        const size_t own = ((size_t)z * high + y) * wide + x;
        for (int s = lane; s < size; s += {LANES}) reference[s] = READ(guide[own + OFFSET(s)]);
        BARRIER;
        for (int e = lane; e < total; e += {LANES}) {{
            const size_t at = ((size_t)(z0 + e / (ny * nx)) * high + y0 + e / nx % ny) * wide + x0 + e % nx;
            T distance = 0;
            int s = 0;
            for (int i = 0; i < pz; ++i) for (int j = 0; j < py; ++j) {{
                GLOBAL const stored_t *const source = guide + at + ((size_t)i * high + j) * wide;
                for (int m = 0; m < px; ++m, ++s) {{
                    const T difference = READ(source[m]) - reference[s];
                    distance += difference * difference;
                }}
            }}
            // bits of what is not negative have its order; the patch itself comes before all
            keys[e] = at == own ? 0 : float_bits((float)distance) + 1;
        }}
        BARRIER;
        const int count = min(total, {spec.count});
        uint low = 0, top = 0xffffffffu;
        while (low < top) {{
            const uint middle = low + (top - low) / 2;
            uint mark = 0;
            for (int e = lane; e < total; e += {LANES}) mark += keys[e] <= middle;
            marks[lane] = mark;
            BARRIER;
            int below = 0;
            for (int k = 0; k < {LANES}; ++k) below += marks[k];
            BARRIER;
            if (below >= count) top = middle; else low = middle + 1;
        }}
        // those nearer than the last are all taken, and of those as far as it the first ones
        uint mark = 0;
        for (int e = lane; e < total; e += {LANES}) mark += keys[e] < low;
        marks[lane] = mark;
        BARRIER;
        int ties = count;
        for (int k = 0; k < {LANES}; ++k) ties -= marks[k];
        BARRIER;
        int nearer = 0, equal = 0;
        for (int start = 0; start < total; start += {LANES}) {{
            const int e = start + lane;
            const uint key = e < total ? keys[e] : 0xffffffffu;
            const uint kind = key < low ? 1 : e < total && key == low ? 65536 : 0;
            marks[lane] = kind;
            BARRIER;
            uint before = 0, all = 0;
            for (int k = 0; k < {LANES}; ++k) {{
                if (k < lane) before += marks[k];
                all += marks[k];
            }}
            BARRIER;
            const int same = equal + (int)(before >> 16);
            if (kind == 1 || (kind && same < ties))
                positions[nearer + (int)(before & 65535) + min(same, ties)] =
                    ((wide_t)(z0 + e / (ny * nx)) * high + y0 + e / nx % ny) * wide + x0 + e % nx;
            nearer += all & 65535;
            equal += all >> 16;
        }}
        BARRIER;
        for (int image = 0; image < images; ++image) {{
            const T sigma = noise[image];
            if (!(sigma > 0)) continue;
            GLOBAL const stored_t *const noisy = planes + image * whole;
            GLOBAL const stored_t *const pilot = guide + image * whole;
            GLOBAL uint *const goal = sums + {WORDS} * image * whole;
            T sum = 0;
            for (int k = lane; k < count * size; k += {LANES})
                sum += READ(pilot[positions[k / size] + OFFSET(k % size)]);
            totals[lane] = sum;
            for (int k = lane; k < {spec.count * order}; k += {LANES}) matrix[k] = 0;
            BARRIER;
            T mean = 0;
            for (int k = 0; k < {LANES}; ++k) mean += totals[k];
            mean /= (T)(count * size);
            for (int first = 0; first < size; first += {chunk}) {{{of_guide}{of_planes}
            }}
            T variance = sigma * sigma * (T)size;
            for (int i = 0; i < count; ++i) variance = fmax(variance, matrix[i * {order} + i] * floor_);
            BARRIER;
            for (int i = lane; i < count; i += {LANES}) matrix[i * {order} + i] += trust * variance;
            BARRIER;
            for (int p = 0; p < count; ++p) {{
                for (int j = lane; j < count; j += {LANES})
                    column[j] = j < p ? matrix[p * {order} + j] : matrix[j * {order} + p];
                BARRIER;
                const T inverse = 1 / fmax(column[p], floor_ * variance);
                for (int i = 0; i < count; ++i) {{
                    const T factor = i == p ? 0 : column[i] * inverse;
                    for (int j = lane; j <= i; j += {LANES}) matrix[i * {order} + j] -= factor * column[j];
                }}
                BARRIER;
                for (int j = lane; j < count; j += {LANES})
                    matrix[max(j, p) * {order} + min(j, p)] = j == p ? -inverse : column[j] * inverse;
                BARRIER;
            }}
            for (int i = 0; i < count; ++i)
                for (int j = lane; j < i; j += {LANES}) matrix[j * {order} + i] = matrix[i * {order} + j];
            BARRIER;
            for (int i = lane; i < count; i += {LANES}) {{
                T left = 1;
                for (int j = 0; j < count; ++j) {{
                    const T weight = matrix[i * {order} + j] * variance;
                    matrix[i * {order} + j] = weight;
                    left += weight * weight;
                }}
                left = 1 / fmax(left + 2 * matrix[i * {order} + i], {least});
                column[i] = {"left" if spec.is_sharp else "sqrt(left) * sqrt(sqrt(left))"};
            }}
            BARRIER;
            for (int first = 0; first < size; first += {chunk}) {{{load.replace("SOURCE", "noisy")}
                const int c = lane % {chunk};
                for (int i = lane / {chunk} * {_ROWS}; i < count; i += {span}) {{
                    T less[{_ROWS}] = {{0}};
                    for (int j = 0; j < count; ++j) {{
                        const T held = part[j * {row} + c];
                        UNROLL for (int r = 0; r < {_ROWS}; ++r)
                            less[r] += matrix[min(i + r, count - 1) * {order} + j] * held;
                    }}
                    UNROLL for (int r = 0; r < {_ROWS}; ++r) if (i + r < count && first + c < size) {{
                        const T weight = column[i + r] * SCALE;
                        const T value = fmin(fmax(less[r] / sigma, -FARTHEST), FARTHEST) * weight;
                        GLOBAL uint *const at = goal + {WORDS} * (positions[i + r] + OFFSET(first + c));
                        add_wide(at, (wide_t)rint(value));
                        add_wide(at + 2, (wide_t)rint(weight));
                    }}
                }}
                BARRIER;
            }}
        }}
    }}
}}
"""

"""Kernel text of non-local groups: similar patches become linear combinations of each other.

A block takes one group at a time. Each lane holds a tile of the group's matrix in registers, from the products of its
patches to the inverse; only the row of a pivot goes through local memory. Estimates are summed as integers of 64 bits,
so that the sums of the same planes are the same whatever the order in which blocks come. A weight is that of a whole
patch, and is summed where the patch begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.group_matching import LOCATE
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["WORDS", "GroupSpec", "render_groups"]

#: Words of a sum.
WORDS = 2

#: Rows and columns of the tile of a matrix that a lane holds, and samples of the patches that it estimates together. A
#: tile has as many columns in the left half of the matrix as in the right one, so that neighbours load what is beside
#: each other: columns in one piece would meet in the same banks of local memory.
_ROWS, _COLUMNS, _SAMPLES = 4, 8, 8

#: Bytes of local memory for a matrix and samples of patches, which are taken some at a time if there are too many.
_LOCAL = 40 << 10

#: Blocks of a multiprocessor by their lanes: with more there are too few registers, with fewer too little to do.
_RESIDENT = {"float": {32: 12, 96: 6, 128: 5}, "double": {32: 12, 96: 3, 128: 4}}


@dataclass(frozen=True)
class GroupSpec:
    """The parameters that determine the text of a kernel of groups.

    Attributes
    ----------
    task : {"sum", "finish"}
        Sum the estimates of all groups, or divide the sums.
    storage : str
        How planes are stored.
    patch : tuple of int
        Samples of a patch along three axes.
    count : int
        Patches of a group, at most.
    is_trusting : bool
        Whether all energy is taken from the guide.
    is_sharp : bool
        Whether weights are one over a variance, and not its power of 3/4.
    """

    task: Literal["sum", "finish"]
    storage: str
    patch: tuple[int, ...]
    count: int = 1
    is_trusting: bool = True
    is_sharp: bool = False

    @property
    def order(self) -> int:
        """Rows and columns of the matrix of a group, padded to whole tiles."""
        return -(-self.count // _COLUMNS) * _COLUMNS

    @property
    def lanes(self) -> int:
        """Lanes of a block: at least one for each tile of the matrix."""
        return -(-(self.order**2) // (_ROWS * _COLUMNS * LANES)) * LANES


def render_groups(spec: GroupSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``sum``
        Takes planes, the guide, the groups that were found, sums of values and of weights, which begin as zeros; a
        table as `subband.kernels.group_matching` has it, and the planes; values: trust and the least variance as a part
        of the energy; and the noise of each plane. Blocks count reference patches in two directions, and planes in the
        third.
    ``finish``
        Takes planes, both sums, the result, a table of three sizes of a plane and the planes, and noise.
    """
    return _render_sum(spec, dialect) if spec.task == "sum" else _render_finish(spec, dialect)


def _render_finish(spec: GroupSpec, dialect: Dialect) -> str:
    pz, py, px = spec.patch
    return f"""{begin_filter(dialect, spec.storage)}
#define JOIN(at) ((wide_t)(int)(at)[1] * 4294967296 + (wide_t)(at)[0])

KERNEL void sweep(GLOBAL const stored_t *RESTRICT planes, GLOBAL const uint *RESTRICT values,
                  GLOBAL const uint *RESTRICT weights, GLOBAL stored_t *RESTRICT result,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT noise)
{{
    const int high = table[1], wide = table[2];
    const size_t count = (size_t)table[0] * high * wide;
    for (int plane = GROUP_Z; plane < table[3]; plane += GROUPS_Z) {{
        const T own = noise[plane];
        for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
            const size_t at = plane * count + item;
            T value = READ(planes[at]);
            if (own > 0) {{
                const int x = item % wide, y = item / wide % high;
                const wide_t z = item / wide / high;
                wide_t weight = 0;
                for (int i = 0; i < {pz} && i <= z; ++i) for (int j = 0; j < {py} && j <= y; ++j) {{
                    GLOBAL const uint *const row = weights + {WORDS} * (at - ((size_t)i * high + j) * wide);
                    for (int m = 0; m < {px} && m <= x; ++m) weight += JOIN(row - {WORDS} * m);
                }}
                value += own * ((T)JOIN(values + {WORDS} * at) / (T)weight);
            }}
            result[at] = WRITE(value);
        }}
    }}
}}
"""


def _render_sum(spec: GroupSpec, dialect: Dialect) -> str:
    number = STORAGES[spec.storage].number
    size, order = prod(spec.patch), spec.order
    pitch, across, down, half = order + 4, order // _COLUMNS, order // _ROWS, order // 2
    room = _LOCAL // (pitch * (8 if number == "double" else 4)) - order
    few = min(-(-size // _SAMPLES), max(room // _SAMPLES, 1)) * _SAMPLES
    # the most that an estimate is away from its sample, times all weights, has to fit into 63 bits
    scale, most = (2.0**32, 2.0**12) if number == "double" else (2.0**24, 2.0**15)

    def load(source: str, factor: str) -> str:
        # eight samples of four patches: all banks of local memory at once
        return f"""
                BARRIER;
                UNROLL_FEW for (int k = THREAD; k < {few * order}; k += THREADS) {{
                    const int s = k % 8 + k / {8 * order} * 8, patch = k / 8 % {order};
                    part[s * {pitch} + patch] = first + s < SIZE && patch < count
                        ? {factor}(READ({source}[positions[patch] + offsets[first + s]]) - mean) : 0;
                }}
                BARRIER;"""

    def multiply(source: str, factor: str) -> str:
        return f"""
            for (int first = 0; first < SIZE; first += {few}) {{{load(source, factor)}
                if (is_tile) UNROLL_FEW for (int s = 0; s < {few}; ++s) {{
                    T above[{_ROWS}], beside[{_COLUMNS}];
                    LOAD4(above, part + s * {pitch} + row);
                    LOAD4(beside, part + s * {pitch} + column);
                    LOAD4(beside + 4, part + s * {pitch} + column + {half});
                    UNROLL for (int i = 0; i < {_ROWS}; ++i) UNROLL for (int j = 0; j < {_COLUMNS}; ++j)
                        tile[i][j] += above[i] * beside[j];
                }}
            }}"""

    products = (
        multiply("pilot", "") if spec.is_trusting else multiply("pilot", "gain * ") + multiply("noisy", "rest * ")
    )
    return f"""#define THREADS {spec.lanes}
#define RESIDENT {_RESIDENT[number].get(spec.lanes, 1)}
{begin_filter(dialect, spec.storage)}{dialect.blocks}
#define COUNT {spec.count}
#define PZ {spec.patch[0]}
#define PY {spec.patch[1]}
#define PX {spec.patch[2]}
#define SIZE {size}
#define SCALE {format_number(scale, number)}
#define FARTHEST {format_number(most, number)}
#define COLUMN(j) (column + (j) % {_ROWS} + (j) / {_ROWS} * {half})
typedef struct ALIGN(16) {{ T v[4]; }} quad_t;

KERNEL void sweep(GLOBAL const stored_t *RESTRICT planes, GLOBAL const stored_t *RESTRICT guide,
                  GLOBAL const int *RESTRICT groups, GLOBAL uint *sums, GLOBAL uint *weights,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    LOCAL ALIGN(16) T part[{few * pitch}];
    LOCAL ALIGN(16) T matrix[{order * pitch}];
    LOCAL ALIGN(16) T pivots[{2 * order}];
    LOCAL T inverses[2];
    LOCAL T shares[{order}];
    LOCAL wide_t positions[COUNT];
    LOCAL int offsets[SIZE];
    SUMMING(T);
    const int deep = table[0], high = table[1], wide = table[2], lines = table[9] * table[10];
    const size_t whole = (size_t)deep * high * wide;
    const T trust = values[0], floor_ = values[1], gain = sqrt(trust), rest = sqrt(1 - trust);
    const int above_ = THREAD / {across}, beside_ = THREAD % {across};
    // element j of a row of a tile is in this column, and from the fifth on so many columns further
    const int row = above_ * {_ROWS}, column = beside_ * {_ROWS};
    const bool is_tile = above_ < {down};
    for (int s = THREAD; s < SIZE; s += THREADS) offsets[s] = ((s / (PY * PX)) * high + s / PX % PY) * wide + s % PX;
    for (int plane = GROUP_Z; plane < table[12]; plane += GROUPS_Z) {{
        const T sigma = noise[plane];
        if (!(sigma > 0)) continue;
        const T weaker = 1 / sigma;
        GLOBAL const stored_t *const noisy = planes + plane * whole;
        GLOBAL const stored_t *const pilot = guide + plane * whole;
        for (int line = GROUP_Y; line < lines; line += GROUPS_Y) {{{LOCATE}
            GLOBAL const int *const found = groups + ((size_t)line * table[11] + BLOCK_X) * COUNT;
            BARRIER;
            for (int k = THREAD; k < count; k += THREADS) positions[k] = own + found[k];
            BARRIER;
            T mean = 0;
            UNROLL_FEW for (int k = THREAD; k < count * SIZE; k += THREADS)
                mean += READ(pilot[positions[k / SIZE] + offsets[k % SIZE]]);
            SUM_ALL(mean);
            mean /= (T)(count * SIZE);
            T tile[{_ROWS}][{_COLUMNS}];
            UNROLL for (int i = 0; i < {_ROWS}; ++i) UNROLL for (int j = 0; j < {_COLUMNS}; ++j) tile[i][j] = 0;
            {products}
            // where the diagonal is; registers have no index
            const bool is_right = row >= {half}, is_middle = is_tile && column == row - (is_right ? {half} : 0);
            if (is_middle) UNROLL for (int i = 0; i < {_ROWS}; ++i)
                pivots[{order} + row + i] = is_right ? tile[i][i + {_ROWS}] : tile[i][i];
            BARRIER;
            T variance = sigma * sigma * (T)SIZE;
            for (int i = 0; i < count; ++i) variance = fmax(variance, pivots[{order} + i] * floor_);
            if (is_middle) UNROLL for (int i = 0; i < {_ROWS}; ++i) {{
                const T more = row + i < count ? trust * variance : 1;
                if (is_right) tile[i][i + {_ROWS}] += more; else tile[i][i] += more;
            }}
            UNROLL for (int right = 0; right < 2; ++right)
                for (int at = 0; at < min({half}, count - right * {half}); at += {_ROWS})
                    UNROLL for (int q = 0; q < {_ROWS}; ++q) {{
                        // in two halves taken in turn, so that one barrier for each pivot is enough
                        const int turn = q % 2 * {order};
                        const int own_ = q + right * {_ROWS};
                        const bool is_row = row == at + right * {half}, is_column = column == at;
                        if (is_row && is_tile) {{
                            UNROLL for (int j = 0; j < {_COLUMNS}; ++j) pivots[turn + COLUMN(j)] = tile[q][j];
                            // one lane divides for all
                            if (is_column) inverses[q % 2] = 1 / fmax(tile[q][own_], floor_ * variance);
                        }}
                        BARRIER;
                        if (is_tile) {{
                            const T inverse = inverses[q % 2];
                            T above[{_ROWS}], beside[{_COLUMNS}];
                            LOAD4(above, pivots + turn + row);
                            LOAD4(beside, pivots + turn + column);
                            LOAD4(beside + 4, pivots + turn + column + {half});
                            UNROLL for (int i = 0; i < {_ROWS}; ++i) {{
                                above[i] *= inverse;
                                UNROLL for (int j = 0; j < {_COLUMNS}; ++j) tile[i][j] -= above[i] * beside[j];
                                if (is_column) tile[i][own_] = above[i];
                            }}
                            if (is_row) UNROLL for (int j = 0; j < {_COLUMNS}; ++j)
                                tile[q][j] = is_column && j == own_ ? -inverse : beside[j] * inverse;
                        }}
                    }}
            if (is_tile) UNROLL for (int i = 0; i < {_ROWS}; ++i) {{
                T squares = 0;
                UNROLL for (int j = 0; j < {_COLUMNS}; ++j) {{
                    const T weight = tile[i][j] * variance;
                    squares += weight * weight;
                    matrix[(row + i) * {pitch} + COLUMN(j)] = weight;
                }}
                part[(row + i) * {across} + beside_] = squares;
            }}
            BARRIER;
            for (int i = THREAD; i < count; i += THREADS) {{
                T left = 1 + 2 * matrix[i * {pitch} + i];
                for (int j = 0; j < {across}; ++j) left += part[i * {across} + j];
                left = 1 / fmax(left, {format_number(1e-3, number)});
                const T share = {"left" if spec.is_sharp else "sqrt(left) * sqrt(sqrt(left))"};
                shares[i] = share * SCALE;
                ADD_WIDE(weights + {WORDS} * (plane * whole + positions[i]), (wide_t)rint(share * SCALE));
            }}
            for (int first = 0; first < SIZE; first += {few}) {{{load("noisy", "")}
                for (int k = THREAD; k < {down * (few // _SAMPLES)}; k += THREADS) {{
                    const int i = k / {few // _SAMPLES} * {_ROWS}, own_ = k % {few // _SAMPLES};
                    T less[{_ROWS}][{_SAMPLES}];
                    UNROLL for (int r = 0; r < {_ROWS}; ++r) UNROLL for (int m = 0; m < {_SAMPLES}; ++m) less[r][m] = 0;
                    for (int j = 0; j < {order}; j += 4) {{
                        T held[4][{_ROWS}];
                        UNROLL for (int h = 0; h < 4; ++h) LOAD4(held[h], matrix + (j + h) * {pitch} + i);
                        UNROLL for (int m = 0; m < {_SAMPLES}; ++m) {{
                            T sample[4];
                            LOAD4(sample, part + (own_ + m * {few // _SAMPLES}) * {pitch} + j);
                            UNROLL for (int r = 0; r < {_ROWS}; ++r) UNROLL for (int h = 0; h < 4; ++h)
                                less[r][m] += held[h][r] * sample[h];
                        }}
                    }}
                    UNROLL for (int r = 0; r < {_ROWS}; ++r) if (i + r < count) {{
                        const T share = shares[i + r];
                        GLOBAL uint *const goal = sums + {WORDS} * (plane * whole + positions[i + r]);
                        UNROLL for (int m = 0; m < {_SAMPLES}; ++m) {{
                            const int s = first + own_ + m * {few // _SAMPLES};
                            const T value = fmin(fmax(less[r][m] * weaker, -FARTHEST), FARTHEST) * share;
                            if (s < SIZE) ADD_WIDE(goal + {WORDS} * offsets[s], (wide_t)rint(value));
                        }}
                    }}
                }}
            }}
        }}
    }}
}}
"""

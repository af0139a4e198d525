"""Kernel text of noise in smooth cells: energies, counts by bins of these, sums over eighths, and what follows.

What is to be found is told by `subband.engines.filters.cells`. Energies are in single precision, whatever planes are
in, because bins are; their sums are in that of the planes, and are taken in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["CellSpec", "Rule", "render_cells"]


@dataclass(frozen=True, eq=False)
class Rule:
    """The numbers of `subband.engines.filters.cells` that kernels have to know, by the names that they have there."""

    first: int
    bins: int
    left_out: int
    empty: float
    parts: int
    enough: int
    jump: float
    least_clipped: float
    most_clipped: float
    even: float
    white: float
    dense: float
    clipped: float
    least_own: float
    set_back: float


@dataclass(frozen=True)
class CellSpec:
    """The parameters that determine the text of a kernel.

    Attributes
    ----------
    task : str
        What is done; see `render_cells`.
    storage : str
        How planes are stored; for tasks that see energies only, the dtype of sums.
    others : int
        Other bands of the level.
    sides : tuple of int
        Of a cell along three axes.
    has_samples : bool
        Whether samples tell which cells were clipped.
    has_mask : bool
        Whether a mask says which cells count.
    rule : Rule, optional
        Where noise is; ``energies`` need it with samples only.
    """

    task: Literal["energies", "count", "parts", "noise"]
    storage: str
    others: int = 0
    sides: tuple[int, int, int] = (1, 4, 4)
    has_samples: bool = False
    has_mask: bool = False
    rule: Rule | None = None


def render_cells(spec: CellSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    The third direction of a launch counts planes, but for ``noise`` the first one does.

    ``energies``
        Takes the diagonal band, the others, the samples if there are any, the energies of cells in the others and in
        the diagonal band, a table of the planes, the cells along three axes, the first coefficient along these, their
        distance, three sizes of each band, and of the samples their planes, three sizes and the first along each axis;
        and the weight of each band. The second direction counts rows of cells.
    ``count``
        Takes the energies in the others, the mask, counts, and a table of the cells and the planes. There are as many
        counts for each plane as bins, and one more, the bits of the largest energy; all begin as zero. It is launched
        twice, which the table says: to find that, and to count.
    ``parts``
        Takes both energies, the mask, counts, sums (rows of twice as many as there are parts and one more, for each
        lane), and a table of the cells, the planes and the rows. The last sum counts cells.
    ``noise``
        Takes one row of sums for each plane, results, and a table of the planes.
    """
    return _RENDERERS[spec.task](spec, dialect)


def _render_energies(spec: CellSpec, dialect: Dialect) -> str:
    deep, high, wide = spec.sides
    names = ["band", *(f"other{number}" for number in range(spec.others))]
    arguments = ", ".join(f"GLOBAL const stored_t *RESTRICT {name}" for name in names)
    sums = "\n                ".join(
        f"{goal} values[{number}] * sum_cell({name}, table + {8 + 3 * number}, plane, first, step);"
        for number, (name, goal) in enumerate(
            zip(names, ["const T diagonal =", *["beside +="] * spec.others], strict=True)
        )
    )
    samples = distance = back = ""
    if spec.has_samples:
        rule = _find_rule(spec)
        numbers = rule.clipped, rule.least_own, rule.set_back
        clipped, least, set_back = (format_number(value, STORAGES[spec.storage].number) for value in numbers)
        arguments += ", GLOBAL const stored_t *RESTRICT samples"
        distance = _render_distance(spec)
        samples = f"const T nearest = find_nearest(samples, table + {8 + 3 * len(names)}, plane, z, y, x);"
        back = f"if (nearest * nearest < {clipped} * beside && diagonal > {least} * beside) beside *= {set_back};"
    return f"""{begin_filter(dialect, spec.storage)}{distance}
DEVICE T sum_cell(GLOBAL const stored_t *RESTRICT band, GLOBAL const wide_t *RESTRICT sizes, int plane,
                  const int *first, int step)
{{
    T sum = 0;
    UNROLL for (int z = 0; z < {deep}; ++z)
        UNROLL for (int y = 0; y < {high}; ++y) {{
            GLOBAL const stored_t *const row = band + first[2]
                + ((plane * (size_t)sizes[0] + first[0] + z * step) * sizes[1] + first[1] + y * step) * sizes[2];
            UNROLL for (int x = 0; x < {wide}; ++x) {{
                const T value = READ(row[x * step]);
                sum += value * value;
            }}
        }}
    return sum;
}}

KERNEL void sweep({arguments}, GLOBAL float *RESTRICT others, GLOBAL float *RESTRICT own,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
    const int planes = table[0], depth = table[1], height = table[2], width = table[3], step = table[7];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        for (int row = GROUP_Y; row < depth * height; row += GROUPS_Y) {{
            const int z = row / height, y = row - z * height;
            for (int x = ITEM_X; x < width; x += ITEMS_X) {{
                const int first[3] = {{(int)table[4] + z * {deep} * step, (int)table[5] + y * {high} * step,
                                      (int)table[6] + x * {wide} * step}};
                T beside = 0;
                {sums}
                {samples}
                {back}
                const size_t cell = ((size_t)plane * depth * height + row) * width + x;
                others[cell] = (float)beside;
                own[cell] = (float)diagonal;
            }}
        }}
    }}
}}
"""


def _render_distance(spec: CellSpec) -> str:
    """Return the function that finds how far the mean of a cell's samples is from the nearest end of them."""
    deep, high, wide = (2 * side if side > 1 else 1 for side in spec.sides)
    return f"""
DEVICE int clamp_index(int i, int n)
{{
    return max(0, min(i, n - 1));
}}

DEVICE T find_nearest(GLOBAL const stored_t *RESTRICT samples, GLOBAL const wide_t *RESTRICT sizes, int plane,
                      int z, int y, int x)
{{
    const int depth = sizes[1], height = sizes[2], width = sizes[3];
    const int bottom = (int)sizes[4] + z * {deep}, top = (int)sizes[5] + y * {high}, left = (int)sizes[6] + x * {wide};
    T sum = 0, low = 0, high = 0;
    for (int k = 0; k < {deep * high}; ++k) {{
        const int row = clamp_index(top + k % {high}, height);
        const int slice = clamp_index(bottom + k / {high}, depth);
        GLOBAL const stored_t *const line = samples
            + ((plane % (int)sizes[0] * (size_t)depth + slice) * height + row) * width;
        UNROLL for (int j = 0; j < {wide}; ++j) {{
            const T value = READ(line[clamp_index(left + j, width)]);
            const int is_first = k + j == 0;
            sum += value;
            low = is_first ? value : fmin(low, value);
            high = is_first ? value : fmax(high, value);
        }}
    }}
    sum *= (T)1 / {deep * high * wide};
    return fmin(sum - low, high - sum);
}}
"""


def _begin_bins(rule: Rule) -> str:
    """Return the function that finds the bin of an energy; beyond the last one is what does not count."""
    return f"""
DEVICE int find_bin(float energy, uint largest)
{{
    // where all have nothing, none is empty
    const float part = largest ? energy / bits_float(largest) : 1 + fabs(energy);
    return part >= {format_number(rule.empty, "float")} && part < 2
        ? (int)(float_bits(part) >> {rule.left_out}) - {rule.first} : {rule.bins};
}}
"""


def _render_count(spec: CellSpec, dialect: Dialect) -> str:
    rule = _find_rule(spec)
    mask = "mask[item] && " if spec.has_mask else ""
    return f"""{begin_filter(dialect, spec.storage)}{_begin_bins(rule)}
KERNEL void sweep(GLOBAL const float *RESTRICT others, GLOBAL const uchar *RESTRICT mask, GLOBAL uint *counts,
                  GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL uint own[{rule.bins + 1}];
    const size_t count = table[0];
    const int lane = LANE, planes = table[1];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        GLOBAL uint *const bins = counts + (size_t)plane * {rule.bins + 1};
        for (int k = lane; k <= {rule.bins}; k += {LANES}) own[k] = 0;
        BARRIER;
        if (table[2]) {{
            const uint largest = bins[{rule.bins}];
            for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
                const int bin = find_bin(others[plane * count + item], largest);
                if ({mask}bin < {rule.bins}) ATOMIC_ADD(&own[bin], 1u);
            }}
        }} else {{
            uint most = 0;
            for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
                // bits of positive numbers have their order; all larger ones are infinite or no numbers
                const uint bits = float_bits(others[plane * count + item]);
                if ({mask}bits < 0x7f800000u) most = max(most, bits);
            }}
            if (most) ATOMIC_MAX(&own[{rule.bins}], most);
        }}
        BARRIER;
        for (int k = lane; k < {rule.bins}; k += {LANES})
            if (own[k]) ATOMIC_ADD(&bins[k], own[k]);
        if (lane == 0 && own[{rule.bins}]) ATOMIC_MAX(&bins[{rule.bins}], own[{rule.bins}]);
        BARRIER;
    }}
}}
"""


def _render_parts(spec: CellSpec, dialect: Dialect) -> str:
    rule = _find_rule(spec)
    mask = "mask[item] && " if spec.has_mask else ""
    return f"""{begin_filter(dialect, spec.storage)}{_begin_bins(rule)}
KERNEL void sweep(GLOBAL const float *RESTRICT others, GLOBAL const float *RESTRICT own,
                  GLOBAL const uchar *RESTRICT mask, GLOBAL const uint *RESTRICT counts, GLOBAL T *RESTRICT sums,
                  GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL uint starts[{rule.bins + 1}];
    const size_t count = table[0];
    const int lane = LANE, planes = table[1], rows = table[2], row = GROUP_X;
    if (row >= rows) return;
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        GLOBAL const uint *const bins = counts + (size_t)plane * {rule.bins + 1};
        for (int k = lane; k < {rule.bins}; k += {LANES}) starts[k + 1] = bins[k];
        BARRIER;
        // so few that several lanes would not be faster
        if (lane == 0) {{
            starts[0] = 0;
            for (int k = 0; k < {rule.bins}; ++k) starts[k + 1] += starts[k];
        }}
        BARRIER;
        const uint total = starts[{rule.bins}], largest = bins[{rule.bins}];
        const T part = (T)total / {rule.parts};
        T parts[{2 * rule.parts + 1}];
        UNROLL for (int k = 0; k < {2 * rule.parts + 1}; ++k) parts[k] = 0;
        for (size_t item = (size_t)row * {LANES} + lane; item < count; item += (size_t)rows * {LANES}) {{
            const size_t cell = plane * count + item;
            const int bin = find_bin(others[cell], largest);
            if ({mask}bin < {rule.bins}) {{
                const T begin = starts[bin], end = starts[bin + 1], scale = 1 / (end - begin);
                const T outer = others[cell], inner = own[cell];
                UNROLL for (int k = 0; k < {rule.parts}; ++k) {{
                    const T share = fmax(fmin(end, (k + 1) * part) - fmax(begin, k * part), (T)0) * scale;
                    parts[k] += share * outer;
                    parts[{rule.parts} + k] += share * inner;
                }}
                parts[{2 * rule.parts}] += 1;
            }}
        }}
        UNROLL for (int k = 0; k < {2 * rule.parts + 1}; ++k)
            sums[(((size_t)plane * rows + row) * {2 * rule.parts + 1} + k) * {LANES} + lane] = parts[k];
        BARRIER;
    }}
}}
"""


def _render_noise(spec: CellSpec, dialect: Dialect) -> str:
    rule = _find_rule(spec)
    kind = STORAGES[spec.storage].number
    numbers = rule.jump, rule.least_clipped, rule.most_clipped, rule.even, rule.white, rule.dense
    jump, least, most, even, white, dense = (format_number(value, kind) for value in numbers)
    length = 2 * rule.parts + 1
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const T *RESTRICT sums, GLOBAL T *RESTRICT results, GLOBAL const wide_t *RESTRICT table)
{{
    for (size_t plane = ITEM_X; plane < (size_t)table[0]; plane += ITEMS_X) {{
        T parts[{length}];
        for (int k = 0; k < {length}; ++k) {{
            parts[k] = 0;
            for (int lane = 0; lane < {LANES}; ++lane)
                parts[k] += sums[((size_t)plane * {length} + k) * {LANES} + lane];
        }}
        const T *const own = parts + {rule.parts};
        const T total = parts[{length - 1}];
        const T first = own[0] + own[1];
        T energy = first;
        if (total >= {rule.enough}) {{
            for (int k = {rule.parts - 2}; k > 0; --k) {{
                const T pair = own[k] + own[k + 1];
                if ((own[0] < {jump} * own[1] || (pair >= {least} * first && pair <= {most} * first))
                    && own[k + 1] <= {even} * own[k] && own[k] >= {white} * parts[k]
                    && parts[k + 1] <= {dense} * parts[k])
                    energy = pair;
            }}
        }}
        results[plane] = sqrt(energy * {rule.parts // 2} / total);
    }}
}}
"""


def _find_rule(spec: CellSpec) -> Rule:
    assert spec.rule is not None
    return spec.rule


_RENDERERS: dict[str, Callable[[CellSpec, Dialect], str]] = {
    "energies": _render_energies,
    "count": _render_count,
    "parts": _render_parts,
    "noise": _render_noise,
}

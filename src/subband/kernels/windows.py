"""Kernel text of shrinkage by the energy of a neighbourhood: windowed sums of squares, then a gain.

A group walks down a strip of 32 columns. Each lane keeps the last rows of its column in registers and adds their
squares; then lanes add the sums of the lanes beside them. The columns at both ends of a strip are there for their
neighbours only. Along a third axis energy is summed beforehand, by a walk of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import MIRROR, begin_filter
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["STEP", "WINDOWS", "WindowSpec", "render_window"]

#: Rows that are loaded at the same time.
STEP = 4

#: The two windows that ``neighbours`` chooses from.
WINDOWS = (3, 5)

#: A neighbourhood with less energy than this beside the noise counts as empty.
_TINY = 1e-12


@dataclass(frozen=True)
class WindowSpec:
    """The parameters that determine the text of a neighbourhood kernel.

    Attributes
    ----------
    task : {"energy", "bivariate", "neighbours"}
        Sum squares along columns, or shrink.
    storage : str
        How planes are stored.
    rows, columns : int
        The window, odd; of one row for planes with one axis. With `is_chosen` the wider of two.
    has_energy : bool
        Whether energy comes from an array, and not from the squares of the band.
    is_chosen : bool
        Whether each plane has a window of its own, one of `WINDOWS`.
    has_parent : bool
        Whether there is a coarser band.
    scale : int
        By how much that is coarser.
    """

    task: Literal["energy", "bivariate", "neighbours"]
    storage: str
    rows: int
    columns: int
    has_energy: bool = False
    is_chosen: bool = False
    has_parent: bool = False
    scale: int = 2

    @property
    def useful(self) -> int:
        """Columns of a strip with a result."""
        return LANES + 1 - self.columns


def render_window(spec: WindowSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the band, the energy, the parent, the result, a table, values, the noise of each plane and what
    `subband.kernels.statistics` has chosen for each; what a task does not need may be any array. The table holds how
    many images of rows and columns there are, how many of these make a plane, rows, columns, the rows that a group
    walks, and depth, height and width of a plane of the parent and the shift to it. The values are the gain, that times
    the parent's over its own, and what a sum of squares is multiplied by: two numbers where windows are chosen.

    Groups in the first direction count strips, in the second one pieces of them, in the third one images.
    """
    rows, reach = spec.rows, spec.rows // 2
    held = "T" if spec.has_energy else "stored_t"
    energy = "held" if spec.has_energy else "held * held"
    fetch = " ".join(
        f"total += {_choose(spec, d, f'FETCH(k, sums[k], {d}) + FETCH(k, sums[k], -{d})')};"
        for d in range(1, spec.columns // 2 + 1)
    )
    squares = " ".join(
        f"{{ const T held = ring[k + {j}]; sum += {_choose(spec, abs(j - reach), energy)}; }}" for j in range(rows)
    )
    publish, meet = ("PUBLISH(k, sum);", "MEET;") if fetch else ("", "")
    result = "T" if spec.task == "energy" else "stored_t"
    return f"""{begin_filter(dialect, spec.storage)}{MIRROR}
#define HOLD(v) {"(v)" if spec.has_energy else "READ(v)"}

KERNEL void sweep(GLOBAL const stored_t *RESTRICT band, GLOBAL const T *RESTRICT energies,
                  GLOBAL const stored_t *RESTRICT parent, GLOBAL {result} *RESTRICT result,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values,
                  GLOBAL const T *RESTRICT noise, GLOBAL const T *RESTRICT choices)
{{
    EXCHANGE({STEP})
    const int lane = LANE;
    const int images = table[0], depth = table[1], height = table[2], width = table[3], piece = table[4];
    const int x = GROUP_X * {spec.useful} + lane - {spec.columns // 2};
    const int top = GROUP_Y * piece, stop = min(top + piece, height);
    if (GROUP_X * {spec.useful} >= width) return;
    const bool is_mine = lane >= {spec.columns // 2} && lane < {LANES - spec.columns // 2} && x < width;
    const int column = mirror(x, width);
    {_find_parent(spec)}
    for (int image = GROUP_Z; image < images; image += GROUPS_Z) {{
        const int plane = image / depth;
        const size_t first = (size_t)image * height * width + column;
        GLOBAL const {held} *const source = {"energies" if spec.has_energy else "band"} + first;
        {_prepare(spec)}
        T ring[{rows - 1 + STEP}];
        UNROLL for (int k = 0; k < {rows - 1}; ++k)
            ring[k + {STEP}] = HOLD(source[(size_t)mirror(top - {reach} + k, height) * width]);
        for (int start = top; start < stop; start += {STEP}) {{
            UNROLL for (int k = 0; k < {rows - 1}; ++k) ring[k] = ring[k + {STEP}];
            UNROLL for (int k = 0; k < {STEP}; ++k)
                ring[k + {rows - 1}] = HOLD(source[(size_t)mirror(start + {reach} + k, height) * width]);
            T sums[{STEP}];
            UNROLL for (int k = 0; k < {STEP}; ++k) {{
                T sum = 0;
                {squares}
                sums[k] = sum;
                {publish}
            }}
            {meet}
            UNROLL for (int k = 0; k < {STEP}; ++k) {{
                T total = sums[k];
                {fetch}
                const int y = start + k;
                if (is_mine && y < stop) {{
                    const size_t offset = first + (size_t)y * width;
                    {_finish(spec)}
                }}
            }}
        }}
    }}
}}
"""


def _choose(spec: WindowSpec, distance: int, term: str) -> str:
    """Write a term that counts for the wide window only, if it lies outside the narrow one."""
    is_outer = spec.is_chosen and distance > WINDOWS[0] // 2
    return f"is_wide ? {term} : 0" if is_outer else term


def _find_parent(spec: WindowSpec) -> str:
    if not spec.has_parent:
        return ""
    return f"""const int parent_depth = table[5], parent_height = table[6], parent_width = table[7];
    const int shift = table[8];
    const int parent_column = min(max((column + shift) / {spec.scale}, 0), parent_width - 1);"""


def _prepare(spec: WindowSpec) -> str:
    """Write what all coefficients of an image share."""
    lines = []
    if spec.is_chosen:
        lines.append("const bool is_wide = choices[2 * plane + 1] != 0;")
    if spec.task == "neighbours":
        lines += [
            "const T n = noise[plane] * values[0], factor = choices[2 * plane];",
            "const T share = n > 0 ? (is_wide ? values[3] : values[2]) / (n * n) : 0;",
        ]
    if spec.task == "bivariate":
        lines += ["const T n = noise[plane] * values[0], variance = n * n, share = values[2];"]
    if spec.has_parent:
        lines += [
            f"const int parent_z = min(max((image - plane * depth + shift) / {spec.scale}, 0), parent_depth - 1);",
            "GLOBAL const stored_t *const coarse = parent",
            "    + ((size_t)plane * parent_depth + parent_z) * parent_height * parent_width + parent_column;",
        ]
    return "\n        ".join(lines)


def _finish(spec: WindowSpec) -> str:
    """Write what becomes of the sum of squares."""
    number = STORAGES[spec.storage].number
    value = "READ(band[offset])" if spec.has_energy else f"ring[k + {spec.rows // 2}]"
    if spec.task == "energy":
        return "result[offset] = total;"
    if spec.task == "neighbours":
        lines = [
            f"const T value = {value}, m = total * share + {format_number(1e-9, number)};",
            "const T shrunk = value * fmax(1 - factor / m, (T)0);",
        ]
    else:
        lines = [f"const T value = {value};", "T radius = value * value;"]
        if spec.has_parent:
            lines += [
                f"const int parent_row = min(max((y + shift) / {spec.scale}, 0), parent_height - 1);",
                "const T above = READ(coarse[(size_t)parent_row * parent_width]) * values[1];",
                "radius += above * above;",
            ]
        root = format_number(sqrt(3.0 if spec.has_parent else 2.0), number)
        lines += [
            f"const T signal = fmax(total * share - variance, {format_number(_TINY, number)} * variance);",
            # without noise nothing shrinks, not even where nothing is
            f"const T factor = variance == 0 ? 1 : fmax(1 - {root} * variance * rsqrt(signal * radius), (T)0);",
            "const T shrunk = value * factor;",
        ]
    lines.append("result[offset] = WRITE(shrunk);")
    return "\n                    ".join(lines)

"""Kernel text of shrinkage by the energy of a neighbourhood: windowed sums of squares, then a gain.

A group walks down a strip of 32 columns. Each lane keeps the last rows of its column in registers and adds their
squares; then lanes add the sums of the lanes beside them. The columns at both ends of a strip are there for their
neighbours only. Along a third axis energy is summed beforehand, by a walk of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import MIRROR, begin_filter
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["STEP", "WINDOWS", "WindowSpec", "render_window"]

#: Rows that are loaded at the same time.
STEP = 4

#: The two windows that ``neighbours`` chooses from.
WINDOWS = (3, 5)


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
    near : int
        Rows and columns of a smaller window whose energy is asked for too; 0 if there is none.
    """

    task: Literal["energy", "bivariate", "neighbours"]
    storage: str
    rows: int
    columns: int
    has_energy: bool = False
    is_chosen: bool = False
    has_parent: bool = False
    scale: int = 2
    near: int = 0

    @property
    def useful(self) -> int:
        """Columns of a strip with a result."""
        return LANES + 1 - self.columns


def render_window(spec: WindowSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the band, the energy, the parent, the result, a table, values, the noise of each plane and others:
    what `subband.kernels.statistics` has chosen for each, or sums of squares around parents. What a task does not need
    may be any array. The table holds how
    many images of rows and columns there are, how many of these make a plane, rows, columns, the rows that a group
    walks, and depth, height and width of a plane of the parent and the shift to it. The values are the gain, that times
    the parent's over its own, and what a sum of squares is multiplied by: two numbers where windows are chosen, and for
    bivariate shrinkage one for the smaller window, one for sums around parents, and the numbers of its formula.

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
    small = spec.near // 2
    nearest = " ".join(
        f"{{ const T held = ring[k + {j}]; few += {energy}; }}" for j in range(rows) if abs(j - reach) <= small
    )
    gather = " ".join(
        f"near += FETCH({STEP} + k, fews[k], {d}) + FETCH({STEP} + k, fews[k], -{d});" for d in range(1, small + 1)
    )
    slots = STEP
    if spec.near:
        publish += f" T few = 0; {nearest} fews[k] = few; PUBLISH({STEP} + k, few);"
        slots = 2 * STEP
    result = "T" if spec.task == "energy" else "stored_t"
    return f"""{begin_filter(dialect, spec.storage)}{MIRROR}
#define HOLD(v) {"(v)" if spec.has_energy else "READ(v)"}

KERNEL void sweep(GLOBAL const stored_t *RESTRICT band, GLOBAL const T *RESTRICT energies,
                  GLOBAL const stored_t *RESTRICT parent, GLOBAL {result} *RESTRICT result,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values,
                  GLOBAL const T *RESTRICT noise, GLOBAL const T *RESTRICT others)
{{
    EXCHANGE({slots})
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
            T sums[{STEP}]{f", fews[{STEP}]" if spec.near else ""};
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
                {f"T near = fews[k]; {gather}" if spec.near else ""}
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
        lines.append("const bool is_wide = others[2 * plane + 1] != 0;")
    if spec.task == "neighbours":
        lines += [
            "const T n = noise[plane] * values[0], factor = others[2 * plane];",
            "const T share = n > 0 ? (is_wide ? values[3] : values[2]) / (n * n) : 0;",
        ]
    if spec.task == "bivariate":
        lines += [
            "const T n = noise[plane] * values[0], variance = n * n, inverse = variance > 0 ? 1 / variance : 0;",
            "const T share = values[2] * inverse;",
        ]
    if spec.has_parent:
        lines += [
            f"const int parent_z = min(max((image - plane * depth + shift) / {spec.scale}, 0), parent_depth - 1);",
            "const size_t above =",
            "    ((size_t)plane * parent_depth + parent_z) * parent_height * parent_width + parent_column;",
            "GLOBAL const stored_t *const coarse = parent + above;",
            "GLOBAL const T *const sums_above = others + above;",
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
        lines = [f"const T value = {value}, around = total * share;"]
        if spec.has_parent:
            lines += [
                f"const int parent_row = min(max((y + shift) / {spec.scale}, 0), parent_height - 1);",
                "const T held_above = READ(coarse[(size_t)parent_row * parent_width]) * values[1];",
                "const T parents = held_above * held_above * inverse;",
                "const T beside = sums_above[(size_t)parent_row * parent_width] * values[4] * inverse;",
            ]
        else:
            lines += ["const T parents = around, beside = around;"]
        few = "near * values[3] * inverse" if spec.near else "around"
        lines += [
            "const T most = values[12], over = fmin(parents, most), own = fmin(value * value * inverse, most);",
            "const T signal = fmin(fmax(around + values[6] * beside - values[7], (T)0), most);",
            "const T below = (signal + values[8]) * (over + values[11]);",
            f"const T x = fmin({few}, most) * values[5]",
            "    * sqrt((own + values[9]) * signal * ((over + values[10]) * below));",
            # without noise nothing shrinks, not even where nothing is
            "const T shrunk = value * (variance == 0 ? 1 : x / (x + below));",
        ]
    lines.append("result[offset] = WRITE(shrunk);")
    return "\n                    ".join(lines)

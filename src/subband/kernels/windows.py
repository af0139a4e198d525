"""Kernel text of shrinkage by the energy of a neighbourhood: windowed sums of squares, then a gain.

A group walks down a strip of 32 columns. Each lane keeps the last rows of its column in registers and adds their
squares; then lanes add the sums of the lanes beside them. The columns at both ends of a strip are there for their
neighbours only. Along a third axis energy is summed beforehand, by a walk of its own.

Bands of several levels are walked in one launch: most of them are small, and leave much of a GPU idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import MIRROR, begin_filter
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["FIELDS", "STEP", "VALUES", "WINDOWS", "WindowSpec", "render_window"]

#: Rows that are loaded at the same time.
STEP = 4

#: The two windows that ``neighbours`` chooses from.
WINDOWS = (3, 5)

#: Numbers that the table and the values have for each band, at most.
FIELDS, VALUES = 13, 13


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
    bands : int
        How many there are.
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
    bands: int = 1

    @property
    def useful(self) -> int:
        """Columns of a strip with a result."""
        return LANES + 1 - self.columns


def render_window(spec: WindowSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the bands; the energies of all; the parents, where there are any; the results, or one array for
    those of all if they are energies; a table; values; the noise of each plane; and others: what
    `subband.kernels.statistics` has chosen for each plane, or sums of squares around the parents of all. What a task
    does not need may be any array.

    The table begins with how many planes noise is given for, which a band may have several times, and how many groups
    there are. Then it has for each band: its first group, strips, pieces of a strip and the rows of these; depth,
    height and width of a plane; the same of a plane of the parent, all 0 if there is none, and the shift to it; and
    where its energies begin, and its others, or its result if that is energy.

    The values of a band are the gain, that times the parent's over its own, and what a sum of squares is multiplied by:
    two numbers where windows are chosen, and for bivariate shrinkage one for the smaller window, one for sums around
    parents, and the numbers of its formula.

    Groups in the first direction walk: strips of a piece of an image, then pieces, then images, then bands.
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
    return f"""{begin_filter(dialect, spec.storage)}{MIRROR}
#define HOLD(v) {"(v)" if spec.has_energy else "READ(v)"}

KERNEL void sweep({_list_arguments(spec)})
{{
    EXCHANGE({slots})
    const int lane = LANE, group = GROUP_X, planes = table[0];
    if (group >= table[1]) return;
    {_find_band(spec)}
    const int strips = sizes[1], pieces = sizes[2], piece = sizes[3];
    const int depth = sizes[4], height = sizes[5], width = sizes[6];
    const int walk = group - (int)sizes[0], strip = walk % strips, image = walk / strips / pieces;
    const int x = strip * {spec.useful} + lane - {spec.columns // 2};
    const int top = walk / strips % pieces * piece, stop = min(top + piece, height);
    const bool is_mine = lane >= {spec.columns // 2} && lane < {LANES - spec.columns // 2} && x < width;
    const int column = mirror(x, width);
    {_find_parent(spec)}
    const int plane = image / depth;
    const size_t first = (size_t)image * height * width + column;
    GLOBAL const {held} *const source = {"energies + sizes[11]" if spec.has_energy else "band"} + first;
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
"""


def _list_arguments(spec: WindowSpec) -> str:
    arguments = [f"GLOBAL const stored_t *RESTRICT band{k}" for k in range(spec.bands)]
    arguments.append("GLOBAL const T *RESTRICT energies")
    if spec.has_parent:
        arguments += [f"GLOBAL const stored_t *RESTRICT parent{k}" for k in range(spec.bands)]
    if spec.task == "energy":
        arguments.append("GLOBAL T *RESTRICT results")
    else:
        arguments += [f"GLOBAL stored_t *RESTRICT result{k}" for k in range(spec.bands)]
    arguments += [
        "GLOBAL const wide_t *RESTRICT table",
        "GLOBAL const T *RESTRICT numbers",
        "GLOBAL const T *RESTRICT noise",
        "GLOBAL const T *RESTRICT others",
    ]
    return ", ".join(arguments)


def _find_band(spec: WindowSpec) -> str:
    """Write which band a group walks, and what there is of it."""
    lines = ["int number = 0;"]
    # they stand in the order of their groups
    lines += [f"number += group >= table[{2 + k * FIELDS}];" for k in range(1, spec.bands)]
    lines += [
        f"GLOBAL const wide_t *const sizes = table + 2 + number * {FIELDS};",
        f"GLOBAL const T *const values = numbers + number * {VALUES};",
        f"GLOBAL const stored_t *const band = {_choose_array('band', spec.bands)};",
    ]
    if spec.has_parent:
        lines.append(f"GLOBAL const stored_t *const parent = {_choose_array('parent', spec.bands)};")
    if spec.task == "energy":
        lines.append("GLOBAL T *const result = results + sizes[12];")
    else:
        lines.append(f"GLOBAL stored_t *const result = {_choose_array('result', spec.bands)};")
    return "\n    ".join(lines)


def _choose_array(name: str, count: int) -> str:
    return " : ".join([*(f"number == {k} ? {name}{k}" for k in range(count - 1)), f"{name}{count - 1}"])


def _choose(spec: WindowSpec, distance: int, term: str) -> str:
    """Write a term that counts for the wide window only, if it lies outside the narrow one."""
    is_outer = spec.is_chosen and distance > WINDOWS[0] // 2
    return f"is_wide ? {term} : 0" if is_outer else term


def _find_parent(spec: WindowSpec) -> str:
    if not spec.has_parent:
        return ""
    return f"""const int parent_depth = sizes[7], parent_height = sizes[8], parent_width = sizes[9];
    const int shift = sizes[10];
    const bool is_coarse = parent_width > 0;
    const int parent_column = min(max((column + shift) / {spec.scale}, 0), parent_width - 1);"""


def _prepare(spec: WindowSpec) -> str:
    """Write what all coefficients of an image share."""
    lines = []
    if spec.is_chosen:
        lines.append("const bool is_wide = others[2 * plane + 1] != 0;")
    if spec.task == "neighbours":
        lines += [
            "const T n = noise[plane % planes] * values[0], factor = others[2 * plane];",
            "const T share = n > 0 ? (is_wide ? values[3] : values[2]) / (n * n) : 0;",
        ]
    if spec.task == "bivariate":
        lines += [
            "const T n = noise[plane % planes] * values[0], variance = n * n;",
            "const T inverse = variance > 0 ? 1 / variance : 0, share = values[2] * inverse;",
        ]
    if spec.has_parent:
        lines += [
            f"const int parent_z = min(max((image - plane * depth + shift) / {spec.scale}, 0), parent_depth - 1);",
            "const size_t above =",
            "    ((size_t)plane * parent_depth + parent_z) * parent_height * parent_width + parent_column;",
            "GLOBAL const stored_t *const coarse = parent + above;",
            "GLOBAL const T *const sums_above = others + sizes[12] + above;",
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
        lines.append("T parents = around, beside = around;")
        if spec.has_parent:
            lines += [
                "if (is_coarse) {",
                f"    const int parent_row = min(max((y + shift) / {spec.scale}, 0), parent_height - 1);",
                "    const T held_above = READ(coarse[(size_t)parent_row * parent_width]) * values[1];",
                "    parents = held_above * held_above * inverse;",
                "    beside = sums_above[(size_t)parent_row * parent_width] * values[4] * inverse;",
                "}",
            ]
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

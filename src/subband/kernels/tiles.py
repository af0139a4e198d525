"""Kernel text of volumes: loads of a tile of a pair of planes, with the boundary extension, and stores.

The offsets of the rows and columns of a tile are computed once; from plane to plane only the plane changes.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from subband.kernels.numbers import STORAGES, format_number

if TYPE_CHECKING:
    from subband.kernels.volume import VolumeSpec

__all__ = ["BANDS", "render_bring", "render_goal", "render_offsets", "render_read", "render_store"]

#: The bands of a level, in the order in which kernels take them.
BANDS = tuple("".join(letters) for letters in product("ad", repeat=3))

_SIZES = ("low", "high")

_FIND_ROW = "find_source(2 * (row_pair + r) + ({}), {}, above, below, row_map)"
_FIND_COLUMN = "find_source({}, {}, before, behind, column_map)"

_BIT = "n >= start && wanted >> BIT(r, 0, 0, {}) & 1"

#: Whether a pair of a lane is a result, and not there for the neighbours.
_USEFUL = "IS_USEFUL_LANE && inside >= 0 && inside < USEFUL_ROWS"


def render_offsets(spec: VolumeSpec) -> str:
    """Return the lines that compute the offsets at which a lane reads and writes inside a plane."""
    return _locate_samples(spec) if spec.direction == "forward" else _locate_bands(spec)


def _locate_samples(spec: VolumeSpec) -> str:
    vertical, horizontal = spec.vertical, spec.horizontal
    whole = "left >= 0 && left + 32 * V <= width" if spec.is_aligned else "false"
    low = f"row < low_height && pair + k < low_width && {_USEFUL}"
    bits = [f"wanted |= (uint)({low}) << BIT(r, 0, 0, k);"]
    if not spec.is_uniform:
        bits = [
            f"wanted |= (uint)(row < {_SIZES[my]}_height && pair + k < {_SIZES[mx]}_width && {_USEFUL}) "
            f"<< BIT(r, {my}, {mx}, k);"
            for my, mx in product((0, 1), repeat=2)
        ]
    return f"""\
int row_at[ROWS], column_at[V];
const int column = 2 * pair + ({horizontal.even}), left = column - lane * V;
bool is_whole = {whole};
UNROLL for (int r = 0; r < R; ++r) {{
    row_at[2 * r] = {_FIND_ROW.format(vertical.even, "height")};
    row_at[2 * r + 1] = {_FIND_ROW.format(vertical.odd, "height")};
}}
UNROLL for (int r = 0; r < ROWS; ++r) {{
    is_whole = is_whole && row_at[r] >= 0;
    row_at[r] = row_at[r] < 0 ? -1 : SIZE * row_at[r] * width;
}}
UNROLL for (int c = 0; c < V; ++c) column_at[c] = SIZE * {_FIND_COLUMN.format("column + c", "width")};
int goal_at[R][2];
uint wanted = 0;
UNROLL for (int r = 0; r < R; ++r) {{
    const int row = row_pair + r, inside = warp * R + r - HALO_ROWS;
    goal_at[r][0] = SIZE * (row * low_width + pair);
    goal_at[r][1] = SIZE * (row * high_width + pair);
    UNROLL for (int k = 0; k < PIECES; ++k) {{
        {(chr(10) + " " * 8).join(bits)}
    }}
}}"""


def _locate_bands(spec: VolumeSpec) -> str:
    vertical, horizontal = spec.vertical, spec.horizontal
    low, high = horizontal.even // 2, (horizontal.odd - 1) // 2
    bits = [f"wanted |= (uint)(row < height && 2 * pair + k < width && {_USEFUL}) << BIT(r, 0, 0, k);"]
    if not spec.is_uniform:
        bits.append(f"wanted |= (uint)(row + 1 < height && 2 * pair + k < width && {_USEFUL}) << BIT(r, 1, 0, k);")
    return f"""\
int row_at[ROWS][2], column_at[V];
const int left = pair - lane * P, right = left + 32 * P;
bool is_whole = {"true" if spec.is_aligned else "false"} && left + ({min(low, high)}) >= 0;
is_whole = is_whole && right + ({low}) <= low_width && right + ({high}) <= high_width;
UNROLL for (int r = 0; r < R; ++r) {{
    row_at[2 * r][0] = {_FIND_ROW.format(vertical.even, "low_height + high_height")};
    row_at[2 * r + 1][0] = {_FIND_ROW.format(vertical.odd, "low_height + high_height")};
}}
UNROLL for (int r = 0; r < ROWS; ++r) {{
    const int row = row_at[r][0] >> 1;
    is_whole = is_whole && row >= 0;
    row_at[r][0] = row < 0 ? -1 : SIZE * row * low_width;
    row_at[r][1] = row < 0 ? -1 : SIZE * row * high_width;
}}
UNROLL for (int k = 0; k < P; ++k) {{
    const int even = {_FIND_COLUMN.format(f"2 * (pair + k) + ({horizontal.even})", "low_width + high_width")};
    const int odd = {_FIND_COLUMN.format(f"2 * (pair + k) + ({horizontal.odd})", "low_width + high_width")};
    column_at[k] = SIZE * (even >> 1);
    column_at[P + k] = SIZE * (odd >> 1);
}}
int goal_at[R];
uint wanted = 0;
UNROLL for (int r = 0; r < R; ++r) {{
    const int row = 2 * (row_pair + r), inside = warp * R + r - HALO_ROWS;
    goal_at[r] = SIZE * (row * width + 2 * pair);
    UNROLL for (int k = 0; k < PIECES; ++k) {{
        {(chr(10) + " " * 8).join(bits)}
    }}
}}"""


def render_bring(spec: VolumeSpec) -> str:
    """Return the lines that start loading the pair of planes ``newest`` to ``slot``."""
    lines = []
    for m, offset in enumerate((spec.deep.even, spec.deep.odd)):
        lines.append("{")
        lines.append(f"    int i = 2 * newest + ({offset});")
        count = "depth" if spec.direction == "forward" else "low_depth + high_depth"
        lines.append(f"    if (i < 0 || i >= {count}) i = find_source(i, {count}, front, back, plane_map);")
        if spec.has_zeros:
            lines.append("    const bool is_plane = i >= 0;")
            lines.append("    i = max(i, 0);")
        lines += (_bring_samples(spec, m) if spec.direction == "forward" else _bring_bands(spec, m)).splitlines()
        lines.append("}")
    return "\n".join(lines)


def _bring_samples(spec: VolumeSpec, m: int) -> str:
    whole = f"STAGE_PACK(STAGED(slot, {m}, r), IN(const sample_t, plane, row_at[r] + column_at[0]), samples_t);"
    plane = "GLOBAL const char *plane = PLANE(const, x, image * depth + i, height * width);"
    if spec.is_mirrored:
        return f"    {plane}\n    UNROLL for (int r = 0; r < ROWS; ++r) {whole}"
    return f"""\
    {plane}
    if ({_find_whole(spec)}) {{
        {f"UNROLL for (int r = 0; r < ROWS; ++r) {whole}" if spec.is_aligned else ""}
    }} else {{
        UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < V; ++c) {{
            {_find_offset(spec, "row_at[r]", "column_at[c]")}
            STAGE_ONE(STAGED(slot, {m}, r) + c, IN(const sample_t, plane, offset), is_there);
        }}
    }}"""


def _bring_bands(spec: VolumeSpec, m: int) -> str:
    planes, whole, each = [], [], []
    number = f"image * {_SIZES[m]}_depth + (i >> 1)"
    if spec.is_uniform:
        # bands of one shape lie alike, so that one number serves for all
        planes.append(f"const wide_t plane = (wide_t)({number}) * (low_height * low_width * SIZE);")
    has_one_offset = spec.horizontal.even // 2 == (spec.horizontal.odd - 1) // 2
    for my, mx in product((0, 1), repeat=2):
        band = BANDS[4 * m + 2 * my + mx]
        base = f"(GLOBAL const char *){band} + plane"
        if not spec.is_uniform:
            area = f"({_SIZES[my]}_height * {_SIZES[mx]}_width)"
            base = f"plane_{band}"
            planes.append(f"GLOBAL const char *{base} = PLANE(const, {band}, {number}, {area});")
        goal = f"STAGED(slot, {m}, 2 * r + {my}) + {mx} * P"
        row = f"row_at[2 * r + {my}][{0 if spec.is_uniform else mx}]"
        source = f"IN(const band_t, {base}, {row} + column_at[{0 if has_one_offset else mx} * P])"
        if spec.is_aligned and STORAGES[spec.storage].size * spec.pairs >= 4:
            whole.append(f"STAGE_PACK({goal}, {source}, pairs_t);")
        else:
            whole.append(f"UNROLL for (int k = 0; k < P; ++k) STAGE_ONE({goal} + k, {source} + k, true);")
        each.append(f"""\
UNROLL for (int k = 0; k < P; ++k) {{
                {_find_offset(spec, row, f"column_at[{mx} * P + k]")}
                STAGE_ONE({goal} + k, IN(const band_t, {base}, offset), is_there);
            }}""")
    join = "\n            ".join
    if spec.is_mirrored:
        return "\n".join([*planes, "UNROLL for (int r = 0; r < R; ++r) {", *whole, "}"])
    return f"""\
    {(chr(10) + "    ").join(planes)}
    if ({_find_whole(spec)}) {{
        UNROLL for (int r = 0; r < R; ++r) {{
            {join(whole)}
        }}
    }} else {{
        UNROLL for (int r = 0; r < R; ++r) {{
            {join(each)}
        }}
    }}"""


def _find_whole(spec: VolumeSpec) -> str:
    return "is_whole && is_plane" if spec.has_zeros else "is_whole"


def _find_offset(spec: VolumeSpec, row: str, column: str) -> str:
    """Return the lines that compute the offset of a single number; the row is kept from being hoisted."""
    if not spec.has_zeros:
        return f"int row = {row};\nOPAQUE(row);\nconst bool is_there = true;\nconst uint offset = row + {column};"
    return f"""\
int row = {row};
OPAQUE(row);
const bool is_there = is_plane && (row | {column}) >= 0;
const uint offset = is_there ? row + {column} : 0;"""


def render_read(spec: VolumeSpec) -> str:
    """Return the lines that load the pair of planes in ``slot`` into registers."""
    number = STORAGES[spec.storage].number
    lines = []
    for mz, my, mx in product((0, 1), repeat=3):
        scale = spec.deep.scales[mz] * spec.vertical.scales[my] * spec.horizontal.scales[mx]
        times = "" if scale == 1 else f"{format_number(scale, number)} * "
        index = f"2 * k + {mx}" if spec.direction == "forward" else f"{mx} * P + k"
        row = f"2 * r + {my}"
        lines.append(
            "UNROLL for (int r = 0; r < R; ++r) UNROLL for (int k = 0; k < P; ++k) "
            f"state[{mz}][0][({row}) * V + 2 * k + {mx}] = {times}READ(STAGED(slot, {mz}, {row})[{index}]);"
        )
    return "\n".join(lines)


def render_store(spec: VolumeSpec) -> str:
    """Return the lines that store the pair of planes ``u`` as number ``n``."""
    return _store_bands(spec) if spec.direction == "forward" else _store_samples(spec)


def render_goal(spec: VolumeSpec) -> tuple[str, str]:
    """Return the lines that compute where a lane stores the first pair of planes, and those that move on."""
    if not spec.is_uniform:
        return "", ""
    number = f"(wide_t)(first - ({spec.deep.schedule.last}))"
    if spec.direction == "forward":
        area, begin = "(SIZE * low_height * low_width)", f"((wide_t)image * low_depth + {number})"
        offset = "goal_at[0][0]"
    else:
        area, begin, offset = "(2 * SIZE * height * width)", f"((wide_t)image * (depth / 2) + {number})", "goal_at[0]"
    return f"wide_t goal = {begin} * {area} + {offset};", f"goal += {area};"


def _store_bands(spec: VolumeSpec) -> str:
    number = STORAGES[spec.storage].number
    lines = []
    for mz, my, mx in product((0, 1), repeat=3):
        band = BANDS[4 * mz + 2 * my + mx]
        scale = spec.deep.factors[mz] * spec.vertical.factors[my] * spec.horizontal.factors[mx]
        times = "" if scale == 1 else f"{format_number(scale, number)} * "
        area = f"({_SIZES[my]}_height * {_SIZES[mx]}_width)"
        value = f"WRITE({times}u[({mz} * ROWS + 2 * r + {my}) * V + 2 * k + {mx}])"
        if spec.is_uniform:
            address = "IN(band_t, at, (uint)r * (uint)(SIZE * low_width))"
            lines.append(f"""\
{{
    GLOBAL char *at = (GLOBAL char *){band} + goal;
    OPAQUE_ADDRESS(at);
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, address, "P", "pairs_t", value, _BIT)}
    }}
}}""")
            continue
        bit = f"wanted >> BIT(r, {my}, {mx}, {{}}) & 1"
        address = f"IN(band_t, plane, goal_at[r][{mx}])"
        lines.append(f"""\
if (n >= start && n < {_SIZES[mz]}_depth) {{
    GLOBAL char *plane = PLANE(, {band}, image * {_SIZES[mz]}_depth + n, {area});
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, address, "P", "pairs_t", value, bit)}
    }}
}}""")
    return "\n".join(lines)


def _store_samples(spec: VolumeSpec) -> str:
    number = STORAGES[spec.storage].number
    lines = []
    for mz, my in product((0, 1), repeat=2):
        factors = [spec.deep.factors[mz] * spec.vertical.factors[my] * f for f in spec.horizontal.factors]
        for mx, factor in enumerate(factors):
            if factor != 1:
                lines.append(
                    "UNROLL for (int r = 0; r < R; ++r) UNROLL for (int k = 0; k < P; ++k) "
                    f"u[({mz} * ROWS + 2 * r + {my}) * V + 2 * k + {mx}] *= {format_number(factor, number)};"
                )
        value = f"WRITE(u[({mz} * ROWS + 2 * r + {my}) * V + k])"
        if spec.is_uniform:
            address = f"IN(sample_t, at, (uint)(2 * r + {my}) * (uint)(SIZE * width))"
            lines.append(f"""\
{{
    GLOBAL char *at = (GLOBAL char *)x + goal + (uint){mz} * (uint)(SIZE * height * width);
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, address, "V", "samples_t", value, _BIT)}
    }}
}}""")
            continue
        address = "IN(sample_t, plane, goal_at[r]" + (" + SIZE * width)" if my else ")")
        bit = f"wanted >> BIT(r, {my}, 0, {{}}) & 1"
        lines.append(f"""\
if (n >= start && 2 * n + {mz} < depth) {{
    GLOBAL char *plane = PLANE(, x, image * depth + 2 * n + {mz}, height * width);
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, address, "V", "samples_t", value, bit)}
    }}
}}""")
    return "\n".join(lines)


def _store(spec: VolumeSpec, address: str, count: str, packed: str, value: str, bit: str) -> str:
    if spec.is_aligned:
        return f"""\
        if ({bit.format("0")}) STORE_PACK({packed}, ({address}), {count}, {value});"""
    return f"""\
        UNROLL for (int k = 0; k < {count}; ++k) if ({bit.format("k")}) ({address})[k] = {value};"""

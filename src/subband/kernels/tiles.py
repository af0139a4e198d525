"""How a block brings its tile of a pair of planes, beyond the borders too, and stores what became of it.

Where the rows and columns of a tile lie is found once; from plane to plane only the plane moves.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from subband.kernels.numbers import STORAGES, spell

if TYPE_CHECKING:
    from subband.kernels.volume import VolumeSpec

__all__ = ["BANDS", "render_bring", "render_places", "render_read", "render_store"]

#: The bands of a level, in the order in which kernels take them.
BANDS = tuple("".join(letters) for letters in product("ad", repeat=3))

_SIZES = ("low", "high")


def render_places(spec: VolumeSpec) -> str:
    """Return the lines that find where a lane reads and writes inside a plane."""
    vertical, horizontal = spec.vertical, spec.horizontal
    find_row = "find_source(2 * (row_pair + r) + ({}), {}, above, below, row_map)"
    find_column = "find_source({}, {}, before, behind, column_map)"
    if spec.direction == "forward":
        whole = "" if not spec.is_aligned else "is_whole = is_whole && column >= 0 && column + V <= width;"
        return f"""\
const int column = 2 * pair + ({horizontal.even});
int row_at[ROWS], column_at[V];
bool is_whole = {"true" if spec.is_aligned else "false"};
UNROLL for (int r = 0; r < R; ++r) {{
    row_at[2 * r] = {find_row.format(vertical.even, "height")};
    row_at[2 * r + 1] = {find_row.format(vertical.odd, "height")};
    is_whole = is_whole && row_at[2 * r] >= 0 && row_at[2 * r + 1] >= 0;
}}
{whole}
UNROLL for (int c = 0; c < V; ++c)
    column_at[c] = SIZE * ({find_column.format("column + c", "width")} - (is_whole ? column : 0));
UNROLL for (int r = 0; r < ROWS; ++r)
    row_at[r] = row_at[r] < 0 ? -1 : SIZE * (row_at[r] * width + (is_whole ? column : 0));
int goal_at[R][2];
uint wanted = 0;
UNROLL for (int r = 0; r < R; ++r) {{
    const int row = row_pair + r, inside = warp * R + r - HALO_ROWS;
    goal_at[r][0] = SIZE * (row * low_width + pair);
    goal_at[r][1] = SIZE * (row * high_width + pair);
    UNROLL for (int k = 0; k < PIECES; ++k) {{
        const bool is_useful = lane >= HALO && lane < HALO + USEFUL && inside >= 0 && inside < USEFUL_ROWS;
        const bool is_low = is_useful && pair + k < low_width, is_high = is_useful && pair + k < high_width;
        wanted |= (uint)(is_low && row < low_height) << BIT(r, 0, 0, k);
        wanted |= (uint)(is_high && row < low_height) << BIT(r, 0, 1, k);
        wanted |= (uint)(is_low && row < high_height) << BIT(r, 1, 0, k);
        wanted |= (uint)(is_high && row < high_height) << BIT(r, 1, 1, k);
    }}
}}"""
    low, high = horizontal.even // 2, (horizontal.odd - 1) // 2
    return f"""\
int row_at[ROWS][2], column_at[V];
bool is_whole = {"true" if spec.is_aligned else "false"} && pair + ({min(low, high)}) >= 0;
is_whole = is_whole && pair + P + ({low}) <= low_width && pair + P + ({high}) <= high_width;
UNROLL for (int r = 0; r < R; ++r) {{
    row_at[2 * r][0] = {find_row.format(vertical.even, "low_height + high_height")};
    row_at[2 * r + 1][0] = {find_row.format(vertical.odd, "low_height + high_height")};
    is_whole = is_whole && row_at[2 * r][0] >= 0 && row_at[2 * r + 1][0] >= 0;
}}
UNROLL for (int k = 0; k < P; ++k) {{
    const int even = {find_column.format(f"2 * (pair + k) + ({horizontal.even})", "low_width + high_width")};
    const int odd = {find_column.format(f"2 * (pair + k) + ({horizontal.odd})", "low_width + high_width")};
    column_at[k] = SIZE * ((even >> 1) - (is_whole ? pair + ({low}) : 0));
    column_at[P + k] = SIZE * ((odd >> 1) - (is_whole ? pair + ({high}) : 0));
}}
UNROLL for (int r = 0; r < ROWS; ++r) {{
    const int row = row_at[r][0] >> 1;
    row_at[r][0] = row < 0 ? -1 : SIZE * (row * low_width + (is_whole ? pair + ({low}) : 0));
    row_at[r][1] = row < 0 ? -1 : SIZE * (row * high_width + (is_whole ? pair + ({high}) : 0));
}}
int goal_at[R];
uint wanted = 0;
UNROLL for (int r = 0; r < R; ++r) {{
    const int row = 2 * (row_pair + r), inside = warp * R + r - HALO_ROWS;
    goal_at[r] = SIZE * (row * width + 2 * pair);
    UNROLL for (int k = 0; k < PIECES; ++k) {{
        const bool is_useful = lane >= HALO && lane < HALO + USEFUL && inside >= 0 && inside < USEFUL_ROWS;
        const bool is_there = is_useful && 2 * pair + k < width;
        wanted |= (uint)(is_there && row < height) << BIT(r, 0, 0, k);
        wanted |= (uint)(is_there && row + 1 < height) << BIT(r, 1, 0, k);
    }}
}}"""


def render_bring(spec: VolumeSpec) -> str:
    """Return the lines that set the pair of planes ``newest`` on its way to ``slot``."""
    lines = []
    for m, offset in enumerate((spec.deep.even, spec.deep.odd)):
        lines.append("{")
        lines.append(f"    int i = 2 * newest + ({offset});")
        count = "depth" if spec.direction == "forward" else "low_depth + high_depth"
        lines.append(f"    if (i < 0 || i >= {count}) i = find_source(i, {count}, front, back, plane_map);")
        lines.append("    const bool is_plane = i >= 0;")
        lines += (_bring_samples(spec, m) if spec.direction == "forward" else _bring_bands(spec, m)).splitlines()
        lines.append("}")
    return "\n".join(lines)


def _bring_samples(spec: VolumeSpec, m: int) -> str:
    whole = f"STAGE_PACK(STAGED(slot, {m}, r), IN(const sample_t, plane, row_at[r]), samples_t);"
    return f"""\
    GLOBAL const char *plane = PLANE(const, x, image * depth + max(i, 0), height * width);
    if (is_whole && is_plane) {{
        {f"UNROLL for (int r = 0; r < ROWS; ++r) {whole}" if spec.is_aligned else ""}
    }} else {{
        UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < V; ++c) {{
            int row = row_at[r];
            OPAQUE(row);
            const bool is_there = is_plane && (row | column_at[c]) >= 0;
            const uint place = is_there ? row + column_at[c] : 0;
            STAGE_ONE(STAGED(slot, {m}, r) + c, IN(const sample_t, plane, place), is_there);
        }}
    }}"""


def _bring_bands(spec: VolumeSpec, m: int) -> str:
    planes, whole, each = [], [], []
    for my, mx in product((0, 1), repeat=2):
        band = BANDS[4 * m + 2 * my + mx]
        area = f"({_SIZES[my]}_height * {_SIZES[mx]}_width)"
        number = f"image * {_SIZES[m]}_depth + (max(i, 0) >> 1)"
        planes.append(f"GLOBAL const char *plane_{band} = PLANE(const, {band}, {number}, {area});")
        goal = f"STAGED(slot, {m}, 2 * r + {my}) + {mx} * P"
        place = f"row_at[2 * r + {my}][{mx}]"
        source = f"IN(const band_t, plane_{band}, {place})"
        if spec.is_aligned and STORAGES[spec.storage].size * spec.pairs >= 4:
            whole.append(f"STAGE_PACK({goal}, {source}, pairs_t);")
        else:
            whole.append(f"UNROLL for (int k = 0; k < P; ++k) STAGE_ONE({goal} + k, {source} + k, true);")
        each.append(f"""\
UNROLL for (int k = 0; k < P; ++k) {{
                int row = {place};
                OPAQUE(row);
                const bool is_there = is_plane && (row | column_at[{mx} * P + k]) >= 0;
                const uint place = is_there ? row + column_at[{mx} * P + k] : 0;
                STAGE_ONE({goal} + k, IN(const band_t, plane_{band}, place), is_there);
            }}""")
    join = "\n            ".join
    return f"""\
    {(chr(10) + "    ").join(planes)}
    if (is_whole && is_plane) {{
        UNROLL for (int r = 0; r < R; ++r) {{
            {join(whole)}
        }}
    }} else {{
        UNROLL for (int r = 0; r < R; ++r) {{
            {join(each)}
        }}
    }}"""


def render_read(spec: VolumeSpec) -> str:
    """Return the lines that take the pair of planes in ``slot`` into registers."""
    number = STORAGES[spec.storage].number
    lines = []
    for mz, my, mx in product((0, 1), repeat=3):
        scale = spec.deep.scales[mz] * spec.vertical.scales[my] * spec.horizontal.scales[mx]
        times = "" if scale == 1 else f"{spell(scale, number)} * "
        place = f"2 * k + {mx}" if spec.direction == "forward" else f"{mx} * P + k"
        row = f"2 * r + {my}"
        lines.append(
            "UNROLL for (int r = 0; r < R; ++r) UNROLL for (int k = 0; k < P; ++k) "
            f"state[{mz}][0][({row}) * V + 2 * k + {mx}] = {times}READ(STAGED(slot, {mz}, {row})[{place}]);"
        )
    return "\n".join(lines)


def render_store(spec: VolumeSpec) -> str:
    """Return the lines that store the pair of planes ``u`` as number ``n``."""
    return _store_bands(spec) if spec.direction == "forward" else _store_samples(spec)


def _store_bands(spec: VolumeSpec) -> str:
    number = STORAGES[spec.storage].number
    lines = []
    for mz, my, mx in product((0, 1), repeat=3):
        band = BANDS[4 * mz + 2 * my + mx]
        scale = spec.deep.factors[mz] * spec.vertical.factors[my] * spec.horizontal.factors[mx]
        times = "" if scale == 1 else f"{spell(scale, number)} * "
        area = f"({_SIZES[my]}_height * {_SIZES[mx]}_width)"
        value = f"WRITE({times}u[({mz} * ROWS + 2 * r + {my}) * V + 2 * k + {mx}])"
        bit = f"wanted >> BIT(r, {my}, {mx}, {{}}) & 1"
        place = f"IN(band_t, plane, goal_at[r][{mx}])"
        lines.append(f"""\
if (n >= start && n < {_SIZES[mz]}_depth) {{
    GLOBAL char *plane = PLANE(, {band}, image * {_SIZES[mz]}_depth + n, {area});
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, place, "P", "pairs_t", value, bit)}
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
                    f"u[({mz} * ROWS + 2 * r + {my}) * V + 2 * k + {mx}] *= {spell(factor, number)};"
                )
        value = f"WRITE(u[({mz} * ROWS + 2 * r + {my}) * V + k])"
        place = "IN(sample_t, plane, goal_at[r]" + (" + SIZE * width)" if my else ")")
        bit = f"wanted >> BIT(r, {my}, 0, {{}}) & 1"
        lines.append(f"""\
if (n >= start && 2 * n + {mz} < depth) {{
    GLOBAL char *plane = PLANE(, x, image * depth + 2 * n + {mz}, height * width);
    UNROLL for (int r = 0; r < R; ++r) {{
{_store(spec, place, "V", "samples_t", value, bit)}
    }}
}}""")
    return "\n".join(lines)


def _store(spec: VolumeSpec, place: str, count: str, packed: str, value: str, bit: str) -> str:
    if spec.is_aligned:
        return f"""\
        if ({bit.format("0")}) STORE_PACK({packed}, ({place}), {count}, {value});"""
    return f"""\
        UNROLL for (int k = 0; k < {count}; ++k) if ({bit.format("k")}) ({place})[k] = {value};"""

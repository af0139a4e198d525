"""Kernel text for adjoints, near whose ends a sequence is a mixture of its numbers.

Positions that are mixtures have entries in a table: where their terms begin, and of each term its position in the
sequence and its weight. What lies outside is a mixture of one number, or of none. A kernel of its own makes all of them
side by side (`subband.kernels.mixing`), in memory that a sweep then reads: first the mixed columns of each row, then
each mixed row, behind which come its mixed columns.
"""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = [
    "FIND_ENTRY",
    "find_lengths",
    "render_entries",
    "render_mixed_load",
    "render_mixed_rows",
    "render_mixture_tables",
    "render_row_address",
]

FIND_ENTRY = """\
// which mixture belongs to a position; -1 if it is read as it is, -2 if nobody needs it
SELDOM int find_entry(int i, int n, int before, int lead, int tail, int behind)
{
    if (i >= lead && i < n - tail) return -1;
    const int k = i < lead ? i + before : i - (n - tail) + before + lead;
    return k < 0 || k >= before + lead + tail + behind ? -2 : k;
}
"""


def find_lengths(spec: SweepSpec) -> tuple[str, str]:
    """Return how many rows and columns a sweep reads; in an inverse, those of all bands in turn."""
    is_forward = spec.direction == "forward"
    down = "height" if is_forward or spec.vertical is None else "low_height + high_height"
    return down, "width" if is_forward or spec.horizontal is None else "low_width + high_width"


def render_mixture_tables(spec: SweepSpec) -> str:
    """Return the lines that say where the table has the terms of rows and columns, and how many mixtures there are."""
    down, across = find_lengths(spec)
    return f"""\
const int lead_rows = table[AT_LEAD_ROWS], tail_rows = table[AT_TAIL_ROWS];
const int lead = table[AT_LEAD], tail = table[AT_TAIL];
const int length_down = {down}, length_across = {across};
const int mixed_rows = above + lead_rows + tail_rows + below, mixed_columns = before + lead + tail + behind;
const int row_length = length_across + mixed_columns;
const offset_t mixtures = (offset_t)length_down * mixed_columns + (offset_t)mixed_rows * row_length;
GLOBAL const int *row_offsets = table + AT_MAP, *column_offsets = row_offsets + mixed_rows + 1;
GLOBAL const int *terms = column_offsets + mixed_columns + 1;"""


def render_entries(spec: SweepSpec) -> str:
    """Return the lines that find, once for all rows, where a lane takes its columns from: mixtures lie behind a row."""
    assert spec.horizontal is not None
    position = "column + c"
    if spec.direction == "inverse":
        position = f"2 * (pair + c % PAIRS) + (c < PAIRS ? ({spec.horizontal.even}) : ({spec.horizontal.odd}))"
    return f"""\
int source[2 * PAIRS];
UNROLL for (int c = 0; c < 2 * PAIRS; ++c) {{
    const int j = {position}, entry = find_entry(j, length_across, before, lead, tail, behind);
    source[c] = entry == -1 ? j : entry < 0 ? -1 : length_across + entry;
}}"""


def render_mixed_load(spec: SweepSpec, address: str, hold: str, *, is_staged: bool) -> str:
    """Return the lines that load a row to ``held`` of which some columns are mixtures.

    `address` is where the others are, and `hold` what is held of them.
    """
    row = "n" if spec.vertical is None else "i"
    mixed = "made + (offset_t)(source[c / C] - length_across) * INNER + c % C"
    if is_staged:
        load = f"STAGE_ONE(held + c, source[c / C] < length_across ? {address} : {mixed}, source[c / C] >= 0);"
    else:
        plain = f"source[c / C] < length_across ? {hold.format(f'*({address})')} : *({mixed})"
        load = f"held[c] = source[c / C] < 0 ? (held_t)0 : {plain};"
    return f"""\
GLOBAL const T *made = image_made + (offset_t){row} * mixed_columns * INNER;
UNROLL for (int c = 0; c < V; ++c)
    {load}"""


def render_mixed_rows(spec: SweepSpec, plain: str) -> str:
    """Return the lines that load row ``m`` of the pair ``newest``, perhaps a mixture of rows, to ``held``.

    They take the lines that load a row that is no mixture; either may still be on its way afterwards.
    """
    assert spec.vertical is not None
    address = "made + (offset_t)max(source[c / C], 0) * INNER + c % C"
    if spec.is_held_as_stored:
        load = f"STAGE_ONE(held + c, {address}, source[c / C] >= 0);"
    else:
        load = f"held[c] = source[c / C] < 0 ? (held_t)0 : *({address});"
    return f"""\
const int i = 2 * newest + (m == 0 ? ({spec.vertical.even}) : ({spec.vertical.odd}));
const int row_entry = find_entry(i, length_down, above, lead_rows, tail_rows, below);
if (row_entry == -1) {{
{indent(render_row_address(spec, "i"), "    ")}
{indent(plain, "    ")}
}} else if (row_entry >= 0) {{
    GLOBAL const T *made = image_made
        + ((offset_t)length_down * mixed_columns + (offset_t)row_entry * row_length) * INNER;
    UNROLL for (int c = 0; c < V; ++c)
        {load}
}} else {{
    UNROLL for (int c = 0; c < V; ++c) held[c] = 0;
}}"""


def render_row_address(spec: SweepSpec, row: str) -> str:
    """Return the lines that say where a row is: ``row``, or ``low`` and ``high`` in the bands."""
    if spec.direction == "forward":
        return f"GLOBAL const sample_t *row = image_at + (offset_t){row} * width * INNER;"
    low, high, index = "image_aa", "image_ad", row
    if spec.vertical is not None:
        low, high, index = (
            f"(({row} & 1) ? image_da : image_aa)",
            f"(({row} & 1) ? image_dd : image_ad)",
            f"({row} >> 1)",
        )
    return f"""\
GLOBAL const band_t *low = {low} + (offset_t){index} * low_width * INNER;
GLOBAL const band_t *high = {high} + (offset_t){index} * high_width * INNER;"""

"""Kernel text: loads for adjoints, near whose ends a sequence is a mixture of its numbers.

Positions that are mixtures have entries in a table: where their terms begin, and of each term its position in the
sequence and its weight. What lies outside is a mixture of one number, or of none.
"""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = ["FIND_ENTRY", "render_entries", "render_entry_tables", "render_mixed_load", "render_mixed_rows"]

FIND_ENTRY = """\
// which mixture belongs to a position; -1 if it is read as it is, -2 if nobody needs it
SELDOM int find_entry(int i, int n, int before, int lead, int tail, int behind)
{
    if (i >= lead && i < n - tail) return -1;
    const int k = i < lead ? i + before : i - (n - tail) + before + lead;
    return k < 0 || k >= before + lead + tail + behind ? -2 : k;
}
"""


def render_entry_tables() -> str:
    """Return the lines that say where the table has the terms of rows and columns."""
    return """\
const int lead_rows = table[AT_LEAD_ROWS], tail_rows = table[AT_TAIL_ROWS];
const int lead = table[AT_LEAD], tail = table[AT_TAIL];
GLOBAL const int *row_offsets = table + AT_MAP;
GLOBAL const int *column_offsets = row_offsets + above + lead_rows + tail_rows + below + 1;
GLOBAL const int *terms = column_offsets + before + lead + tail + behind + 1;"""


def render_entries(spec: SweepSpec) -> str:
    """Return the lines that find, once for all rows, which columns of a lane are mixtures, and of which terms."""
    assert spec.horizontal is not None
    if spec.direction == "forward":
        length, position = "width", "column + c"
    else:
        length = "low_width + high_width"
        position = f"2 * (pair + c % PAIRS) + (c < PAIRS ? ({spec.horizontal.even}) : ({spec.horizontal.odd}))"
    return f"""\
int source[2 * PAIRS], first_term[2 * PAIRS], terms_of[2 * PAIRS], most_terms = 0;
bool is_mixed = false;
UNROLL for (int c = 0; c < 2 * PAIRS; ++c) {{
    const int i = {position}, entry = find_entry(i, {length}, before, lead, tail, behind);
    source[c] = entry == -1 ? i : -1;
    first_term[c] = entry >= 0 ? column_offsets[entry] : 0;
    terms_of[c] = entry >= 0 ? column_offsets[entry + 1] - first_term[c] : 0;
    most_terms = max(most_terms, terms_of[c]);
    is_mixed = is_mixed || entry >= 0;
}}"""


def render_mixed_load(spec: SweepSpec, plain: str) -> str:
    """Return the lines that load a row to ``held``, by the lines `plain` where a lane has no mixtures."""
    if spec.horizontal is None:
        return plain
    return f"""\
if (is_mixed) {{
{indent(_add_terms(spec), "    ")}
    UNROLL for (int c = 0; c < V; ++c) held[c] = value[c];
}} else {{
{indent(plain, "    ")}
}}"""


def render_mixed_rows(spec: SweepSpec, staged: str) -> str:
    """Return the lines that load row ``m`` of the pair ``newest``, perhaps a mixture of rows, to ``held``.

    They take the lines that load a row that is no mixture, which may still be on its way afterwards.
    """
    assert spec.vertical is not None
    if spec.direction == "forward":
        length = "height"
        point = "GLOBAL const sample_t *row = image_at + (offset_t){0} * width * INNER;"
    else:
        length = "low_height + high_height"
        point = """\
GLOBAL const band_t *low = (({0} & 1) ? image_da : image_aa) + (offset_t)({0} >> 1) * low_width * INNER;
GLOBAL const band_t *high = (({0} & 1) ? image_dd : image_ad) + (offset_t)({0} >> 1) * high_width * INNER;"""

    def add_rows(unroll: str, lines: str) -> str:
        return f"""\
{unroll}for (int r = row_offsets[row_entry]; r < stop; ++r) {{
    const int at_row = terms[r];
    const T weight = weights[r];
{indent(point.format("at_row"), " " * 4)}
{indent(lines, " " * 4)}
}}"""

    # several rows are on their way at a time
    rows = add_rows(
        "UNROLL_FEW ",
        "UNROLL for (int c = 0; c < V; ++c)\n"
        f"    sum[c] += source[c / C] >= 0 ? weight * {_read(spec, 'source[c / C]')} : 0;",
    )
    if spec.horizontal is not None:
        mixed = add_rows("", f"{_add_terms(spec)}\nUNROLL for (int c = 0; c < V; ++c) sum[c] += weight * value[c];")
        rows = f"if (is_mixed) {{\n{indent(mixed, '    ')}\n}} else {{\n{indent(rows, '    ')}\n}}"
    return f"""\
const int i = 2 * newest + (m == 0 ? ({spec.vertical.even}) : ({spec.vertical.odd}));
const int row_entry = find_entry(i, {length}, above, lead_rows, tail_rows, below);
if (row_entry == -1) {{
{indent(point.format("i"), "    ")}
{indent(staged, "    ")}
}} else {{
    T sum[V];
    UNROLL for (int c = 0; c < V; ++c) sum[c] = 0;
    if (row_entry >= 0) {{
        const int stop = row_offsets[row_entry + 1];
{indent(rows, " " * 8)}
    }}
    UNROLL for (int c = 0; c < V; ++c) held[c] = sum[c];
}}"""


def _add_terms(spec: SweepSpec) -> str:
    """Return the lines that add up the terms of the columns of a lane, in ``value``."""
    # one term of every column at a time, so that the loads of one do not wait for those of another
    return f"""\
T value[V];
UNROLL for (int c = 0; c < V; ++c) value[c] = source[c / C] >= 0 ? {_read(spec, "source[c / C]")} : 0;
UNROLL_FEW for (int k = 0; k < most_terms; ++k)
    UNROLL for (int c = 0; c < V; ++c)
        if (k < terms_of[c / C]) {{
            const int t = first_term[c / C] + k;
            value[c] += weights[t] * {_read(spec, "terms[t]")};
        }}"""


def _read(spec: SweepSpec, index: str) -> str:
    """Return the number of a row at some index."""
    if spec.direction == "forward":
        return f"READ_SAMPLE(row[(offset_t){index} * INNER + c % C])"
    if spec.horizontal is None:
        return f"READ_BAND(low[(offset_t){index} * INNER + c % C])"
    return f"READ_BAND((({index} & 1) ? high : low)[(offset_t)({index} >> 1) * INNER + c % C])"

"""Kernel text of the mixtures of an adjoint: all that lie near the ends of rows and columns, side by side.

A sweep would make them one after the other, in the few lanes that hold the ends, while all others wait.
"""

from __future__ import annotations

from textwrap import indent

from subband.kernels.dialects import Dialect
from subband.kernels.mixtures import render_row_address
from subband.kernels.sweep import SweepSpec, render_kernel

__all__ = ["render_mixing"]


def render_mixing(spec: SweepSpec, dialect: Dialect) -> str:
    """Return the source of the kernel that makes the mixtures that a sweep reads."""
    return render_kernel(
        spec,
        dialect,
        f"""\
for (offset_t item = ITEM_X; item < mixtures * C; item += ITEMS_X) {{
    const offset_t at = item / C, rows_at = (offset_t)length_down * mixed_columns;
    const int c = item % C, row_entry = at < rows_at ? -1 : (int)((at - rows_at) / row_length);
    const int i = row_entry < 0 ? (int)(at / mixed_columns) : 0;
    const int j = row_entry < 0 ? length_across + (int)(at % mixed_columns) : (int)((at - rows_at) % row_length);
    const int column_entry = j - length_across;
    const int first_row = row_entry < 0 ? 0 : row_offsets[row_entry];
    const int end_row = row_entry < 0 ? 1 : row_offsets[row_entry + 1];
    const int first = column_entry < 0 ? 0 : column_offsets[column_entry];
    const int end = column_entry < 0 ? 1 : column_offsets[column_entry + 1];
    T sum = 0;
    UNROLL_FEW for (int r = first_row; r < end_row; ++r) {{
        const int at_row = row_entry < 0 ? i : terms[r];
{indent(render_row_address(spec, "at_row"), " " * 8)}
        T value = 0;
        UNROLL_FEW for (int k = first; k < end; ++k) {{
            const int at_column = column_entry < 0 ? j : terms[k];
            value += (column_entry < 0 ? (T)1 : weights[k]) * {_read(spec)};
        }}
        sum += (row_entry < 0 ? (T)1 : weights[r]) * value;
    }}
    image_made[at * INNER + c] = sum;
}}""",
        is_mixing=True,
    )


def _read(spec: SweepSpec) -> str:
    """Return the number of a row at ``at_column``."""
    if spec.direction == "forward":
        return "READ_SAMPLE(row[(offset_t)at_column * INNER + c])"
    if spec.horizontal is None:
        return "READ_BAND(low[(offset_t)at_column * INNER + c])"
    return "READ_BAND(((at_column & 1) ? high : low)[(offset_t)(at_column >> 1) * INNER + c])"

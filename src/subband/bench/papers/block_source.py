"""A level from blocks of samples: each output is the sum over a block, under a filter of two dimensions.

This is the block-based order for devices: nothing is kept between the axes, and every sample is read by every block
that it lies in. It is there to be compared with sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["Taps", "render_blocks"]

#: Of both outputs of a filter bank.
Taps: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]


def render_blocks(vertical: Taps, horizontal: Taps, dtype: str, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its table holds the number of images, rows and columns of the array, rows and columns of pairs, then for each
    position down and across the index of its sample, or -1 where the signal is zero, and whether its sign turns.

    Parameters
    ----------
    vertical, horizontal : pair of tuples of float
        The taps of both outputs down and across.
    dtype : str
        How the numbers are stored.
    dialect : Dialect
        Of the device.
    """
    storage = STORAGES[dtype]
    number = storage.number
    heights, widths = len(vertical[0]), len(horizontal[0])
    taps = "\n".join(
        f"    const T {name}{output}[{len(pair[output])}] = {{{_list(pair[output], number)}}};"
        for name, pair in (("down", vertical), ("across", horizontal))
        for output in (0, 1)
    )
    bands = [f"b{key}" for key in ("aa", "ad", "da", "dd")]
    arguments = ", ".join(f"GLOBAL stored_t *RESTRICT {band}" for band in bands)
    # what each band has down and across
    halves = [("low", "low"), ("low", "high"), ("high", "low"), ("high", "high")]
    lines = [
        f"if (n < {down}_rows && m < {across}_columns) "
        f"{band}[((size_t)image * {down}_rows + n) * {across}_columns + m] = WRITE(sum{output});"
        for output, (band, (down, across)) in enumerate(zip(bands, halves, strict=True))
    ]
    write = "\n".join(" " * 12 + line for line in lines)
    return f"""{dialect.begin(uses_doubles=number == "double")}
typedef {number} T;
typedef {storage.word} stored_t;
#define READ(v) {storage.read}
#define WRITE(v) {storage.write}

KERNEL void sweep(GLOBAL const stored_t *RESTRICT x, {arguments},
                  GLOBAL const int *RESTRICT table)
{{
    const int images = table[0], rows = table[1], columns = table[2];
    const int low_rows = table[3], high_rows = table[4], low_columns = table[5], high_columns = table[6];
    const int pair_rows = table[7], pair_columns = table[8], row_count = table[9], column_count = table[10];
    GLOBAL const int *const row_index = table + 11, *const row_sign = row_index + row_count;
    GLOBAL const int *const column_index = row_sign + row_count, *const column_sign = column_index + column_count;
{taps}
    for (int image = GROUP_Z; image < images; image += GROUPS_Z)
    for (int n = GROUP_Y; n < pair_rows; n += GROUPS_Y)
        for (int m = (int)ITEM_X; m < pair_columns; m += (int)ITEMS_X) {{
            T sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
            for (int k = 0; k < {heights}; ++k) {{
                const int r = row_index[2 * n + k];
                if (r < 0) continue;
                for (int l = 0; l < {widths}; ++l) {{
                    const int c = column_index[2 * m + l];
                    if (c < 0) continue;
                    const T sign = (T)(row_sign[2 * n + k] * column_sign[2 * m + l]);
                    const T u = sign * READ(x[((size_t)image * rows + r) * columns + c]);
                    sum0 += down0[k] * across0[l] * u;
                    sum1 += down0[k] * across1[l] * u;
                    sum2 += down1[k] * across0[l] * u;
                    sum3 += down1[k] * across1[l] * u;
                }}
            }}
{write}
        }}
}}
"""


def _list(taps: Sequence[float], number: str) -> str:
    return ", ".join(format_number(tap, number) for tap in taps)

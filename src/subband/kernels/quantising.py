"""Kernel text of dead-zone quantisers: coefficients into quantiser steps, and these into the middles of intervals.

All bands of an image lie in one array. Each is divided into slices, as evenly as its size allows, and each slice has a
quantiser of its own, from which an entry for the band is taken away.
"""

from __future__ import annotations

from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES

__all__ = ["BAND_FIELDS", "Quantising", "render_quantiser"]

#: What the table of bands holds for each: where it begins, its size, its entry, and the slices down and across.
BAND_FIELDS = ("begin", "rows", "columns", "entry", "down", "across")

Quantising = Literal["quantise", "restore"]

# Coefficients are multiplied by the inverse of the step in single precision, and cut off.
_QUANTISE = "y[begin + k] = (T)((int)((float)(int)x[begin + k] * inverses[step]));"

_RESTORE = """\
const T value = x[begin + k];
const wide_t size = value < 0 ? -(wide_t)value : (wide_t)value;
const wide_t middle = size == 0 ? 0 : min((size * factors[step] + offsets[step] + 2) >> 2, most);
y[begin + k] = (T)(value < 0 ? -middle : middle);"""

_TABLES = {
    "quantise": "GLOBAL const float *RESTRICT inverses",
    "restore": "GLOBAL const wide_t *RESTRICT factors",
}


def render_quantiser(work: Quantising, storage: str, most: int, dialect: Dialect) -> str:
    """Return the source of a kernel, a group of lanes of which takes a part of one band.

    Parameters
    ----------
    work : {"quantise", "restore"}
        From coefficients to steps, or back.
    storage : {"int32", "int64"}
        How both are stored.
    most : int
        Coefficients that are made are not larger.
    dialect : Dialect
        The language.
    """
    assignments = ", ".join(f"{name} = own[{number}]" for number, name in enumerate(BAND_FIELDS))
    offsets = f"GLOBAL const wide_t *offsets = factors + 256; const wide_t most = {most};"
    return f"""\
{dialect.begin()}
typedef {STORAGES[storage].word} T;
KERNEL void sweep(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y, GLOBAL const int *RESTRICT quantisers,
                  GLOBAL const int *RESTRICT bands, {_TABLES[work]})
{{
    GLOBAL const int *own = bands + GROUP_Y * {len(BAND_FIELDS)};
    const int {assignments};
    {offsets if work == "restore" else ""}
    for (int k = (int)ITEM_X; k < rows * columns; k += (int)ITEMS_X) {{
        const int row = k / columns, column = k - row * columns;
        const int top = ((row + 1) * down - 1) / rows, left = ((column + 1) * across - 1) / columns;
        const int step = max(quantisers[top * across + left] - entry, 0);
        {_QUANTISE if work == "quantise" else _RESTORE}
    }}
}}
"""

"""Kernel text of stationary (undecimated) levels: one pass along one axis, two dilated filters.

The signal is periodic, so an index wraps round; nothing else happens at the borders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, format_number

__all__ = ["StationarySpec", "render_stationary"]


@dataclass(frozen=True)
class StationarySpec:
    """The parameters that determine the text of an undecimated pass.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        One array to two, or back.
    low, high : tuple of float
        The taps of both filters.
    reach : int
        Tap ``k`` stands at ``n + step * (reach - k)``.
    storage : str
        How the numbers are stored.
    is_last : bool
        Whether the pass runs along the last axis, whose samples lie side by side; lanes then share the axis, and else
        what lies beside it.
    """

    direction: Literal["forward", "inverse"]
    low: tuple[float, ...]
    high: tuple[float, ...]
    reach: int
    storage: str
    is_last: bool = False


def render_stationary(spec: StationarySpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` over sequences of ``length``, ``stride`` elements apart.

    Its table holds how many times ``length`` by ``stride`` elements there are, the length, the stride and the step. A
    launch has lanes along the last axis; then its second direction counts sequences, or else samples of a sequence, and
    the third what is outside. So no lane divides to find its position.
    """
    storage = STORAGES[spec.storage]
    number = storage.number
    offsets = [
        f"const wide_t p{k} = wrap(at + (wide_t)({spec.reach - k}) * step, length) * stride;"
        for k in range(len(spec.low))
    ]
    terms = {}
    for name, taps in (("low", spec.low), ("high", spec.high)):
        source = "x" if spec.direction == "forward" else name
        terms[name] = [
            f"{format_number(tap, number)} * READ({source}[base + p{k}])" for k, tap in enumerate(taps) if tap != 0
        ]
    if spec.direction == "forward":
        lines = [f"{name}[base + own] = WRITE({' + '.join(terms[name]) or '0'});" for name in ("low", "high")]
        qualifiers = ("const ", "", "")
    else:
        lines = [f"x[base + own] = WRITE({' + '.join(terms['low'] + terms['high']) or '0'});"]
        qualifiers = ("", "const ", "const ")
    if spec.is_last:
        body = f"""\
    for (wide_t row = GROUP_Y; row < outer; row += GROUPS_Y) {{
        const size_t base = row * length;
        for (wide_t at = ITEM_X; at < length; at += ITEMS_X) {{
            const wide_t own = at;
            {_join(offsets, 12)}
            {_join(lines, 12)}
        }}
    }}"""
    else:
        body = f"""\
    for (wide_t row = GROUP_Z; row < outer; row += GROUPS_Z) {{
        for (wide_t at = GROUP_Y; at < length; at += GROUPS_Y) {{
            const wide_t own = at * stride;
            {_join(offsets, 12)}
            for (wide_t column = ITEM_X; column < stride; column += ITEMS_X) {{
                const size_t base = row * length * stride + column;
                {_join(lines, 16)}
            }}
        }}
    }}"""
    return f"""{dialect.begin(uses_doubles=number == "double")}
typedef {number} T;
typedef {storage.word} stored_t;
#define READ(v) {storage.read}
#define WRITE(v) {storage.write}

DEVICE wide_t wrap(wide_t i, wide_t n)
{{
    if (i >= 0 && i < n) return i;
    i %= n;
    return i < 0 ? i + n : i;
}}

KERNEL void sweep(GLOBAL {qualifiers[0]}stored_t *RESTRICT x, GLOBAL {qualifiers[1]}stored_t *RESTRICT low,
                  GLOBAL {qualifiers[2]}stored_t *RESTRICT high, GLOBAL const wide_t *RESTRICT table)
{{
    const wide_t outer = table[0], length = table[1], stride = table[2], step = table[3];
{body}
}}
"""


def _join(lines: list[str], spaces: int) -> str:
    return ("\n" + " " * spaces).join(lines)

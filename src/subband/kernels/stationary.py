"""Undecimated levels: one pass along one axis, every sample under two dilated filters.

The signal is periodic, so an index wraps round; nothing else happens at the borders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, spell

__all__ = ["StationarySpec", "render_stationary"]


@dataclass(frozen=True)
class StationarySpec:
    """All that the text of an undecimated pass depends on.

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
    """

    direction: Literal["forward", "inverse"]
    low: tuple[float, ...]
    high: tuple[float, ...]
    reach: int
    storage: str


def render_stationary(spec: StationarySpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` over ``count`` sequences of ``length``, `stride` elements apart.

    Its table holds the length, the stride and the step.
    """
    storage = STORAGES[spec.storage]
    number = storage.number
    places = [spec.reach - k for k in range(len(spec.low))]
    lines = [
        f"const size_t i{k} = base + wrap(at + (wide_t)({place}) * step, length) * stride;"
        for k, place in enumerate(places)
    ]
    terms = {}
    for name, taps in (("low", spec.low), ("high", spec.high)):
        source = "x" if spec.direction == "forward" else name
        terms[name] = [f"{spell(tap, number)} * READ({source}[i{k}])" for k, tap in enumerate(taps) if tap != 0]
    if spec.direction == "forward":
        lines += [f"{name}[item] = WRITE({' + '.join(terms[name]) or '0'});" for name in ("low", "high")]
        qualifiers = ("const ", "", "")
    else:
        lines.append(f"x[item] = WRITE({' + '.join(terms['low'] + terms['high']) or '0'});")
        qualifiers = ("", "const ", "const ")
    body = "\n        ".join(lines)
    return f"""{dialect.begin(uses_doubles=number == "double")}
typedef {number} T;
typedef {storage.word} stored_t;
#define READ(v) {storage.read}
#define WRITE(v) {storage.write}

DEVICE size_t wrap(wide_t i, wide_t n)
{{
    i %= n;
    return (size_t)(i < 0 ? i + n : i);
}}

KERNEL void sweep(GLOBAL {qualifiers[0]}stored_t *RESTRICT x, GLOBAL {qualifiers[1]}stored_t *RESTRICT low,
                  GLOBAL {qualifiers[2]}stored_t *RESTRICT high, GLOBAL const wide_t *RESTRICT table)
{{
    const wide_t count = table[0], length = table[1], stride = table[2], step = table[3];
    for (size_t item = ITEM_X; item < (size_t)count; item += ITEMS_X) {{
        const wide_t at = (item / stride) % length;
        const size_t base = item - at * stride;
        {body}
    }}
}}
"""

"""Kernel text: loads and stores of coefficients in bands."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from subband.kernels.mixtures import render_mixed_load, render_mixed_rows
from subband.kernels.numbers import STORAGES, format_number
from subband.kernels.rows import locate_member

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = ["render_load_band_rows", "render_load_bands", "render_read_bands", "render_store_bands"]


def render_store_bands(spec: SweepSpec, name: str, bands: tuple[str, str], factor: float, *, is_inside: bool) -> str:
    """Return the lines that store the row `name`: low and high coefficients in turn, or one band as it is."""
    number = STORAGES[spec.bands].number

    def scaled(value: str, scale: float) -> str:
        return f"WRITE_BAND({value})" if scale == 1 else f"WRITE_BAND({format_number(scale, number)} * {value})"

    if spec.horizontal is None:
        parts = [(bands[0], "width", "column", "V", "bands_t", scaled(f"{name}[k]", factor))]
    else:
        parts = [
            (
                band,
                width,
                "pair",
                "P",
                "pairs_t",
                scaled(f"{name}[{locate_member(h)}]", factor * spec.horizontal.factors[h]),
            )
            for h, (band, width) in enumerate(zip(bands, ("low_width", "high_width"), strict=True))
        ]
    lines = ["if (is_useful) {"]
    for band, width, first, count, packed, value in parts:
        offset = f"((offset_t)n * {width} + {first}) * INNER"
        each = f"UNROLL for (int k = 0; k < {count}; ++k) {{}}goal[OFFSET(k)] = {value};"
        whole = each.format("")
        if spec.is_aligned:
            whole = f"""\
{packed} packed;
            UNROLL for (int k = 0; k < {count}; ++k) packed.v[k] = {value};
            *(GLOBAL {packed} *)goal = packed;"""
        rest = (
            "" if is_inside else f" else {{\n            {each.format(f'if ({first} + k / C < {width}) ')}\n        }}"
        )
        condition = "true" if is_inside else f"{first} + {count} / C <= {width}"
        lines.append(f"""\
    {{
        GLOBAL band_t *goal = image_{band} + {offset};
        if ({condition}) {{
            {whole}
        }}{rest}
    }}""")
    return "\n".join([*lines, "}"])


def render_load_band_rows(spec: SweepSpec) -> str:
    """Return the lines that load row ``m`` of the pair ``newest``, which may be outside the bands, to ``held``."""
    assert spec.vertical is not None
    load = render_load_bands(spec, is_inside=False, is_staged=True)
    if spec.mixes:
        return render_mixed_rows(spec, load)
    return f"""\
int i = 2 * newest + (m == 0 ? ({spec.vertical.even}) : ({spec.vertical.odd}));
if (i < 0 || i >= low_height + high_height)
    i = find_source(i, low_height + high_height, above, below, row_map);
if (i < 0) {{
    UNROLL for (int c = 0; c < V; ++c) held[c] = 0;
}} else {{
    GLOBAL const band_t *low = ((i & 1) ? image_da : image_aa) + (offset_t)(i >> 1) * low_width * INNER;
    GLOBAL const band_t *high = ((i & 1) ? image_dd : image_ad) + (offset_t)(i >> 1) * high_width * INNER;
{indent(load, "    ")}
}}"""


def render_load_bands(spec: SweepSpec, *, is_inside: bool, is_staged: bool) -> str:
    """Return the lines that load the rows ``low`` and ``high`` of two bands, or ``low`` alone, to ``held``.

    Low coefficients come first, then high ones. If `is_inside`, all columns are there; else ``source`` says which ones
    to take, counting low and high ones in turn. If `is_staged`, they may still be on their way afterwards.
    """
    size = STORAGES[spec.bands].size
    hold = "{}" if spec.is_held_as_stored else "READ_BAND({})"
    is_staged = is_staged and spec.is_held_as_stored

    def bring(goal: str, address: str, is_there: str) -> str:
        if is_staged:
            return f"STAGE_ONE(held + {goal}, {address}, {is_there});"
        return f"held[{goal}] = {is_there} ? {hold.format(f'*({address})')} : (held_t)0;"

    if not is_inside:
        if spec.horizontal is None:
            address = "low + (offset_t)max(source[c / C], 0) * INNER + c % C"
        else:
            address = "((source[c / C] & 1) ? high : low) + (offset_t)(max(source[c / C], 0) >> 1) * INNER + c % C"
        if spec.mixes:
            return render_mixed_load(spec, address, hold, is_staged=is_staged)
        return f"UNROLL for (int c = 0; c < V; ++c) {bring('c', address, 'source[c / C] >= 0')}"
    if spec.horizontal is None:
        parts = [("low", "column", "V", "bands_t", "0", size * spec.elements)]
    else:
        parts = [
            (band, f"{band}_at", "P", "pairs_t", goal, size * spec.elements // 2)
            for band, goal in (("low", "0"), ("high", "P"))
        ]
    loads = []
    for band, first, count, packed, goal, length in parts:
        if spec.is_aligned and is_staged and length % 4 == 0:
            loads.append(f"STAGE_PACK(held + {goal}, {band} + (offset_t){first} * INNER, {packed});")
        elif spec.is_aligned:
            value = hold.format("packed.v[k]")
            loads.append(f"{{ {packed} packed = *(GLOBAL const {packed} *)({band} + (offset_t){first} * INNER);")
            loads.append(f"    UNROLL for (int k = 0; k < {count}; ++k) held[{goal} + k] = {value}; }}")
        else:
            address = f"{band} + (offset_t){first} * INNER + OFFSET(k)"
            loads.append(f"UNROLL for (int k = 0; k < {count}; ++k) {bring(f'{goal} + k', address, 'true')}")
    return "\n".join(loads)


def render_read_bands(spec: SweepSpec, factor: float) -> str:
    """Return the lines that turn ``held`` into the numbers ``u``, times a factor."""
    number = STORAGES[spec.bands].number
    read = "READ_BAND(held[{}])" if spec.is_held_as_stored else "held[{}]"
    if spec.horizontal is None:
        times = "" if factor == 1 else f"{format_number(factor, number)} * "
        return f"UNROLL for (int c = 0; c < V; ++c) u[c] = {times}{read.format('c')};"
    lines = []
    for h, index in enumerate(("k", "P + k")):
        scale = factor * spec.horizontal.scales[h]
        times = "" if scale == 1 else f"{format_number(scale, number)} * "
        lines.append(f"UNROLL for (int k = 0; k < P; ++k) u[{locate_member(h)}] = {times}{read.format(index)};")
    return "\n".join(lines)

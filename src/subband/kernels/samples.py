"""Kernel text: loads of samples, with the boundary extension, and stores."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from subband.kernels.mixtures import render_mixed_load, render_mixed_rows
from subband.kernels.numbers import STORAGES, format_number
from subband.kernels.rows import locate_member

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = [
    "MIXTURE",
    "render_load_row",
    "render_load_samples",
    "render_read_samples",
    "render_store_samples",
]

#: What a position outside is in the modes that weigh samples: one of them, and parts of the first and the last one.
MIXTURE = """\
// weights sum to 1 if the ends take part: written so that large samples do not cancel
DEVICE T mix(T value, T head, T tail, GLOBAL const T *weights)
{
    const T weight = weights[0], first = weights[1], last = weights[2];
    if (first == 0 && last == 0) return weight == 0 ? (T)0 : weight * value;
    if (last == 0) return head + weight * (value - head);
    return tail + weight * (value - tail) + first * (head - tail);
}
"""


def render_load_row(spec: SweepSpec, *, is_inside: bool, is_staged: bool) -> str:
    """Return the lines that load the samples at ``row`` to ``held``.

    If `is_inside`, all columns are there; else ``source`` says which ones to take. If `is_staged`, the samples may
    still be on their way afterwards.
    """
    if not spec.is_held_as_stored:
        is_staged = False
    hold = "{}" if spec.is_held_as_stored else "READ_SAMPLE({})"
    if not is_inside:
        return _render_load_border(spec, hold, is_staged=is_staged)
    if spec.is_aligned and is_staged and STORAGES[spec.samples].size * spec.elements % 4 == 0:
        return "STAGE_PACK(held, row + (offset_t)column * INNER, samples_t);"
    if spec.is_aligned:
        return f"""\
samples_t packed = *(GLOBAL const samples_t *)(row + (offset_t)column * INNER);
UNROLL for (int c = 0; c < V; ++c) held[c] = {hold.format("packed.v[c]")};"""
    address = "row + (offset_t)column * INNER + OFFSET(c)"
    if is_staged:
        return f"UNROLL for (int c = 0; c < V; ++c) STAGE_ONE(held + c, {address}, true);"
    return f"UNROLL for (int c = 0; c < V; ++c) held[c] = {hold.format(f'*({address})')};"


def _render_load_border(spec: SweepSpec, hold: str, *, is_staged: bool) -> str:
    address = "row + (offset_t)max(source[c / C], 0) * INNER + c % C"
    if spec.mixes:
        return render_mixed_load(spec, address, hold, is_staged=is_staged)
    plain = f"source[c / C] < 0 ? (held_t)0 : {hold.format(f'*({address})')}"
    if is_staged:
        lines = f"UNROLL for (int c = 0; c < V; ++c) STAGE_ONE(held + c, {address}, source[c / C] >= 0);"
    else:
        lines = f"UNROLL for (int c = 0; c < V; ++c) held[c] = {plain};"
    if spec.outside == "index" or spec.horizontal is None:
        return lines
    return f"""\
if (is_outside) {{
    UNROLL for (int c = 0; c < V; ++c) {{
        const T head = READ_SAMPLE(row[c % C]), tail = READ_SAMPLE(row[(offset_t)(width - 1) * INNER + c % C]);
        const int k = find_outside(column + c / C, width, before, behind);
        const T value = source[c / C] < 0 ? (T)0 : READ_SAMPLE(*({address}));
        held[c] = k < 0 ? value : mix(value, head, tail, column_weights + 3 * k);
    }}
}} else {{
    {lines}
}}"""


def render_load_samples(spec: SweepSpec) -> str:
    """Return the lines that load row ``m`` of the pair ``newest``, which may be outside the image, to ``held``."""
    assert spec.vertical is not None
    load = render_load_row(spec, is_inside=False, is_staged=True)
    find_row = f"int i = 2 * newest + (m == 0 ? {spec.vertical.even} : {spec.vertical.odd});"
    at_row = "GLOBAL const sample_t *row = image_at + (offset_t){} * width * INNER;"
    if spec.outside == "index":
        return f"""\
{find_row}
if (i < 0 || i >= height) i = find_source(i, height, above, below, row_map);
if (i < 0) {{
    UNROLL for (int c = 0; c < V; ++c) held[c] = 0;
}} else {{
    {at_row.format("i")}
{indent(load, "    ")}
}}"""
    if spec.mixes:
        return render_mixed_rows(spec, load)
    load_now = render_load_row(spec, is_inside=False, is_staged=False)
    parts = "\n".join(
        f"""\
{{
    held_t *held = {name};
    {at_row.format(row)}
{indent(load_now, "    ")}
}}"""
        for name, row in (("value", "max(row_map[k], 0)"), ("head", "0"), ("tail", "(height - 1)"))
    )
    mixed = "mix({}, {}, {}, row_weights + 3 * k)".format(
        *((f"READ_SAMPLE({name}[c])" if spec.is_held_as_stored else f"{name}[c]") for name in ("value", "head", "tail"))
    )
    return f"""\
{find_row}
if (i >= 0 && i < height) {{
    {at_row.format("i")}
{indent(load, "    ")}
}} else {{
    const int k = find_outside(i, height, above, below);
    held_t value[V], head[V], tail[V];
{indent(parts, " " * 4)}
    UNROLL for (int c = 0; c < V; ++c) held[c] = {mixed};
}}"""


def render_read_samples(spec: SweepSpec) -> str:
    """Return the line that turns ``held`` into the numbers ``u``."""
    value = "READ_SAMPLE(held[c])" if spec.is_held_as_stored else "held[c]"
    return f"UNROLL for (int c = 0; c < V; ++c) u[c] = {value};"


def render_store_samples(spec: SweepSpec, name: str, *, is_inside: bool) -> str:
    """Return the lines that store the array `name` to ``row``; `is_inside` if all columns are there."""
    factors = spec.horizontal.factors if spec.horizontal is not None else (1.0, 1.0)
    number = STORAGES[spec.bands].number
    lines = [
        f"UNROLL for (int k = 0; k < P; ++k) {name}[{locate_member(h)}] *= {format_number(factors[h], number)};"
        for h in (0, 1)
        if factors[h] != 1
    ]
    each = (
        f"UNROLL for (int c = 0; c < V; ++c) {{}}row[(offset_t)column * INNER + OFFSET(c)] = WRITE_SAMPLE({name}[c]);"
    )
    whole = each.format("")
    if spec.is_aligned:
        whole = f"""\
samples_t packed;
        UNROLL for (int c = 0; c < V; ++c) packed.v[c] = WRITE_SAMPLE({name}[c]);
        *(GLOBAL samples_t *)(row + (offset_t)column * INNER) = packed;"""
    rest = "" if is_inside else f" else {{\n        {each.format('if (column + c / C < width) ')}\n    }}"
    condition = "true" if is_inside else "column + 2 * PAIRS <= width"
    lines.append(f"""\
if (is_useful) {{
    if ({condition}) {{
        {whole}
    }}{rest}
}}""")
    return "\n".join(lines)

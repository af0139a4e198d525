"""Interior fast path of a sweep: strips wholly inside the image, without bounds checks.

Nearly all of a large image is such strips, so this is where the time goes. The walk computes what
`subband.kernels.columns` computes for any strip, with pointers that are only incremented.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING

from subband.kernels.bands import render_read_bands
from subband.kernels.columns import render_outputs, render_shift, render_steps
from subband.kernels.numbers import STORAGES, format_number
from subband.kernels.rows import locate_member, render_row
from subband.kernels.samples import render_read_samples

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = ["render_inner_condition", "render_inner_walk"]


@dataclass(frozen=True)
class _Stream:
    """A pointer that is incremented by some elements with each pair of rows.

    Attributes
    ----------
    name : str
        Of the pointer.
    word : str
        The type of what it points to.
    begin : str
        Where it stands when the pair ``first`` comes in.
    step : str
        How many elements it moves.
    """

    name: str
    word: str
    begin: str
    step: str

    @property
    def declaration(self) -> str:
        return f"GLOBAL {self.word} *{self.name} = {self.begin};"

    @property
    def advance(self) -> str:
        return f"{self.name} += {self.step};"


def render_inner_condition(spec: SweepSpec) -> str:
    """Return the condition that all rows and columns that a group touches are inside the image."""
    assert spec.vertical is not None
    schedule, even, odd = spec.vertical.schedule, spec.vertical.even, spec.vertical.odd
    first, end = f"start + ({schedule.first})", f"stop + ({schedule.last})"
    if spec.direction == "forward":
        rows = [
            f"2 * ({first}) + ({min(even, odd)}) >= 0",
            f"2 * ({end}) + ({max(even, odd) - 2}) < height",
            "stop <= high_height",
        ]
    else:
        low, high = even // 2, (odd - 1) // 2
        rows = [
            f"{first} + ({min(low, high)}) >= 0",
            f"{end} + ({low}) <= low_height",
            f"{end} + ({high}) <= high_height",
            "2 * stop <= height",
        ]
    if spec.mixes:
        length = "height" if spec.direction == "forward" else "low_height + high_height"
        rows.append(f"2 * ({first}) + ({min(even, odd)}) >= lead_rows")
        rows.append(f"2 * ({end}) + ({max(even, odd) - 2}) < {length} - tail_rows")
    shortest = spec.ahead - (schedule.last - schedule.first)
    if shortest > 1:
        # as many pairs are loaded before the first is looked at, and a shorter strip does not have them
        rows.append(f"stop - start >= {shortest}")
    return " && ".join(["is_strip_inside", *rows])


def render_inner_walk(spec: SweepSpec) -> str:
    """Return the walk of a group from the pair ``start`` to ``stop``."""
    program = spec.vertical
    assert program is not None
    number, ahead, schedule = STORAGES[spec.bands].number, spec.ahead, program.schedule
    sources, bring = _bring_samples(spec) if spec.direction == "forward" else _bring_bands(spec)
    goals, emit = _emit_bands(spec) if spec.direction == "forward" else _emit_samples(spec)
    if spec.direction == "forward":
        along = render_row(spec, "u", is_inside=True)
        both = "\n".join(f"{{ T *u = rows[{m}][0];\n{along}\n}}" for m in (0, 1)) if along else ""
        reads = [render_read_samples(spec)] * 2
    else:
        both = ""
        reads = [render_read_bands(spec, scale) for scale in program.scales]
    reading = "\n".join(
        f"{{ T *u = rows[{m}][0]; const HELD *held = STAGE(arrived, {m});\n{reads[m]}\n}}" for m in (0, 1)
    )
    declarations = "\n".join(stream.declaration for stream in (*sources, *goals))
    advance = "\n".join(stream.advance for stream in sources)
    move_on = "\n".join(stream.advance for stream in goals)
    return f"""\
enum {{ DEPTH = {schedule.depth}, AHEAD = {ahead} }};
T rows[2][DEPTH][V];
UNROLL for (int k = 0; k < DEPTH; ++k)
    UNROLL for (int c = 0; c < V; ++c) rows[0][k][c] = rows[1][k][c] = 0;
const int first = start + ({schedule.first}), end = stop + ({schedule.last});
{declarations}
UNROLL for (int k = 0; k < AHEAD; ++k) {{
    const int slot = k;
{indent(bring, "    ")}
{indent(advance, "    ")}
    COMMIT;
}}
int slot = AHEAD, arrived = 0;
for (int at = first; at < end; ++at) {{
    if (at + AHEAD < end) {{
{indent(bring, " " * 8)}
{indent(advance, " " * 8)}
    }}
    COMMIT;
    AWAIT({ahead});
{indent(render_shift(), "    ")}
{indent(reading, "    ")}
    slot = arrived;
    arrived = arrived == AHEAD ? 0 : arrived + 1;
{indent(both, "    ")}
{indent(render_steps(program, number), "    ")}
    IF_ALL_AGREE(at >= start + ({schedule.last})) {{
        const bool is_wanted = is_useful && at >= start + ({schedule.last});
{indent(render_outputs(program, number), " " * 8)}
{indent(emit, " " * 8)}
    }}
{indent(move_on, "    ")}
}}"""


def _bring_samples(spec: SweepSpec) -> tuple[list[_Stream], str]:
    """Return the pointers that samples are loaded from, and the lines that load a pair of rows."""
    assert spec.vertical is not None
    streams = [
        _Stream(
            f"row{m}",
            "const sample_t",
            f"image_at + ((offset_t)(2 * first + ({offset})) * width + column) * INNER",
            "2 * (offset_t)width * INNER",
        )
        for m, offset in enumerate((spec.vertical.even, spec.vertical.odd))
    ]
    size = STORAGES[spec.samples].size * spec.elements
    return streams, "\n".join(_bring(spec, f"STAGE(slot, {m})", f"row{m}", "V", "samples_t", size) for m in (0, 1))


def _bring_bands(spec: SweepSpec) -> tuple[list[_Stream], str]:
    """Return the pointers that coefficients are loaded from, and the lines that load a pair of rows."""
    assert spec.vertical is not None
    streams, lines = [], []
    size = STORAGES[spec.bands].size
    for m, shift in enumerate((spec.vertical.even // 2, (spec.vertical.odd - 1) // 2)):
        letter = "ad"[m]
        if spec.horizontal is None:
            parts = [(letter + "a", "width", "column", "0", "V", "bands_t", size * spec.elements)]
        else:
            parts = [
                (letter + "a", "low_width", "low_at", "0", "P", "pairs_t", size * spec.elements // 2),
                (letter + "d", "high_width", "high_at", "P", "P", "pairs_t", size * spec.elements // 2),
            ]
        for band, width, column, goal, count, packed, length in parts:
            begin = f"image_{band} + ((offset_t)(first + ({shift})) * {width} + {column}) * INNER"
            streams.append(_Stream(f"row_{band}", "const band_t", begin, f"(offset_t){width} * INNER"))
            lines.append(_bring(spec, f"(STAGE(slot, {m}) + {goal})", f"row_{band}", count, packed, length))
    return streams, "\n".join(lines)


def _bring(spec: SweepSpec, goal: str, source: str, count: str, packed: str, size: int) -> str:
    if not spec.is_held_as_stored:
        read = "READ_SAMPLE" if spec.direction == "forward" else "READ_BAND"
        return f"UNROLL for (int k = 0; k < {count}; ++k) {goal}[k] = {read}({source}[OFFSET(k)]);"
    if spec.is_aligned and size % 4 == 0:
        return f"STAGE_PACK({goal}, {source}, {packed});"
    return f"UNROLL for (int k = 0; k < {count}; ++k) STAGE_ONE({goal} + k, {source} + OFFSET(k), true);"


def _emit_bands(spec: SweepSpec) -> tuple[list[_Stream], str]:
    """Return the pointers that coefficients are stored to, and the lines that store a pair of rows."""
    assert spec.vertical is not None
    number, horizontal = STORAGES[spec.bands].number, spec.horizontal
    last = spec.vertical.schedule.last
    streams, lines = [], []
    for m, name in enumerate("pq"):
        letter, factor = "ad"[m], spec.vertical.factors[m]
        if horizontal is None:
            parts = [(letter + "a", "width", "column", "V", "bands_t", "k", factor)]
        else:
            parts = [
                (letter + "a", "low_width", "pair", "P", "pairs_t", locate_member(0), factor * horizontal.factors[0]),
                (letter + "d", "high_width", "pair", "P", "pairs_t", locate_member(1), factor * horizontal.factors[1]),
            ]
        for band, width, column, count, packed, source, scale in parts:
            begin = f"image_{band} + ((offset_t)(first - ({last})) * {width} + {column}) * INNER"
            streams.append(_Stream(f"to_{band}", "band_t", begin, f"(offset_t){width} * INNER"))
            times = "" if scale == 1 else f"{format_number(scale, number)} * "
            value = f"WRITE_BAND({times}{name}[{source}])"
            lines.append(_store(spec, f"to_{band}", count, packed, value))
    return streams, "\n".join(lines)


def _emit_samples(spec: SweepSpec) -> tuple[list[_Stream], str]:
    """Return the pointers that samples are stored to, and the lines that scale and store a pair of rows."""
    assert spec.vertical is not None
    number = STORAGES[spec.bands].number
    across = spec.horizontal.factors if spec.horizontal is not None else (1.0, 1.0)
    last = spec.vertical.schedule.last
    streams, lines = [], []
    for m, name in enumerate("pq"):
        begin = f"image_at + ((offset_t)(2 * (first - ({last})) + {m}) * width + column) * INNER"
        streams.append(_Stream(f"to_row{m}", "sample_t", begin, "2 * (offset_t)width * INNER"))
        lines.append(render_row(spec, name, is_inside=True))
        for h in (0, 1):
            scale = spec.vertical.factors[m] * across[h]
            if scale != 1:
                lines.append(
                    f"UNROLL for (int k = 0; k < P; ++k) {name}[{locate_member(h)}] *= {format_number(scale, number)};"
                )
        lines.append(_store(spec, f"to_row{m}", "V", "samples_t", f"WRITE_SAMPLE({name}[k])"))
    return streams, "\n".join(line for line in lines if line)


def _store(spec: SweepSpec, goal: str, count: str, packed: str, value: str) -> str:
    if spec.is_aligned:
        return f"""\
if (is_wanted) {{
    {packed} packed;
    UNROLL for (int k = 0; k < {count}; ++k) packed.v[k] = {value};
    *(GLOBAL {packed} *){goal} = packed;
}}"""
    return f"if (is_wanted) UNROLL for (int k = 0; k < {count}; ++k) {goal}[OFFSET(k)] = {value};"

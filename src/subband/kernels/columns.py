"""Kernel text of the walk down the rows: a pair of rows comes in, steps run in registers, a pair goes out."""

from __future__ import annotations

from textwrap import indent

from subband.kernels.numbers import format_number, format_step
from subband.schedule.axis import AxisProgram

__all__ = ["render_outputs", "render_shift", "render_steps", "render_walk"]


def render_walk(
    program: AxisProgram, number: str, ahead: int, *, load: str, read: tuple[str, str], along: str, emit: str
) -> str:
    """Return the walk of a group from the pair ``start`` to ``stop``.

    Pairs are on their way, as they lie in memory, while `ahead` others are computed.

    Parameters
    ----------
    program : AxisProgram
        What happens down the columns.
    number : str
        The C type of numbers.
    ahead : int
        How many pairs are on their way.
    load : str
        Lines that bring row ``m`` of the pair ``newest`` to ``held``.
    read : tuple of str
        Lines that turn ``held`` into the numbers ``u``, for the two rows of a pair.
    along : str
        Lines that run what happens along the rows ``rows[0][0]`` and ``rows[1][0]``.
    emit : str
        Lines that take the rows ``p`` and ``q`` of the pair ``n``.
    """
    schedule = program.schedule
    reading = "\n".join(
        f"{{ T *u = rows[{m}][0]; const HELD *held = STAGE(at_slot, {m});\n{indent(read[m], '    ')}\n}}"
        for m in (0, 1)
    )
    return f"""\
enum {{ DEPTH = {schedule.depth}, AHEAD = {ahead} }};
T rows[2][DEPTH][V];
UNROLL for (int k = 0; k < DEPTH; ++k)
    UNROLL for (int c = 0; c < V; ++c) rows[0][k][c] = rows[1][k][c] = 0;
const int first = start + ({schedule.first}), end = stop + ({schedule.last});
int slot = 0;
for (int at = first - AHEAD; at < end; ++at) {{
    const int newest = at + AHEAD;
    if (newest < end) {{
        UNROLL for (int m = 0; m < 2; ++m) {{
            HELD *held = STAGE(slot, m);
{indent(load, " " * 12)}
        }}
    }}
    COMMIT;
    AWAIT({ahead});
    slot = slot == AHEAD ? 0 : slot + 1;
    const int at_slot = slot;
    if (AHEAD > 0 && at < first) continue;
{indent(render_shift(), " " * 4)}
{indent(reading, " " * 4)}
{indent(along, " " * 4)}
{indent(render_steps(program, number, is_inside=False), " " * 4)}
    const int n = at - ({schedule.last});
    IF_ALL_AGREE(n >= start) {{
{indent(render_outputs(program, number), " " * 8)}
{indent(emit, " " * 8)}
    }}
}}"""


def render_shift() -> str:
    """Return the lines that make every pair of rows one older."""
    return """\
UNROLL for (int k = DEPTH - 1; k > 0; --k)
    UNROLL for (int c = 0; c < V; ++c) {
        rows[0][k][c] = rows[0][k - 1][c];
        rows[1][k][c] = rows[1][k - 1][c];
    }"""


def render_steps(program: AxisProgram, number: str, *, is_inside: bool = True) -> str:
    """Return the lifting steps; ages of rows count from the newest pair. If `is_inside`, no row is beyond the ends."""
    lines = []
    for index, entry in enumerate(program.steps):
        step, lag = entry.step, entry.lag
        sources = [f"rows[{1 - step.target}][{lag - step.start - j}][c]" for j in range(len(step.taps))]
        total = format_step(entry, sources, number)
        target = f"rows[{step.target}][{lag}][c]"
        lines.append(f"UNROLL for (int c = 0; c < V; ++c) {target} = {target} {total};")
        is_read = index + 1 < len(program.steps) and lag + 1 < program.schedule.depth
        if program.repeats_sources and not is_inside and is_read:
            lines.append(_render_repetition(step.target, lag))
    return "\n".join(lines)


def _render_repetition(member: int, lag: int) -> str:
    """Return the lines that give rows beyond the ends what a step has made of the outermost ones."""
    rows = f"rows[{member}]"
    return f"""\
if (at - {lag} == 0) {{
    UNROLL for (int k = {lag + 1}; k < DEPTH; ++k)
        UNROLL for (int c = 0; c < V; ++c) {rows}[k][c] = {rows}[{lag}][c];
}}
if (at - {lag} >= low_height) {{
    UNROLL for (int c = 0; c < V; ++c) {rows}[{lag}][c] = {rows}[{lag + 1}][c];
}}"""


def render_outputs(program: AxisProgram, number: str) -> str:
    """Return the lines that declare the rows ``p`` and ``q`` that are ready."""
    last = program.schedule.last
    lines = ["T p[V], q[V];", "UNROLL for (int c = 0; c < V; ++c) {"]
    for index, name in enumerate("pq"):
        if program.taps:
            terms = [
                f"{format_number(weight, number)} * rows[{tap.member}][{last - tap.pair}][c]"
                for tap in program.taps
                if (weight := getattr(tap, name)) != 0
            ]
        else:
            output = program.outputs[index]
            terms = [f"rows[{output.member}][{last - output.shift}][c]"]
        lines.append(f"    {name}[c] = {' + '.join(terms) or '0'};")
    return "\n".join([*lines, "}"])

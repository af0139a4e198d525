"""Kernel text of lifting steps and filters along a row that is spread over the lanes of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from subband.kernels.numbers import STORAGES, format_number, format_step
from subband.schedule.axis import AxisProgram

if TYPE_CHECKING:
    from subband.kernels.sweep import SweepSpec

__all__ = ["locate_member", "render_row"]


def locate_member(member: int) -> str:
    """Return the index in a lane of element ``k`` of the first or second members of its pairs, channel by channel."""
    return f"(2 * (k / C) + {member}) * C + k % C"


class _Row:
    """A channel of a row of pairs, a few in each lane, and what a lane has fetched of its neighbours."""

    def __init__(self, name: str, pairs: int, channels: int, channel: int) -> None:
        self.name = name
        self.pairs = pairs
        self.channels = channels
        self.channel = channel
        self.lines: list[str] = []
        self._fetched: dict[tuple[int, int], str] = {}

    def fetch(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Fetch members of pairs, counted from the lane's first one, that other lanes hold."""
        beyond = sorted({(member, pair) for member, pair in wanted if not 0 <= pair < self.pairs})
        self._fetched = {}
        if not beyond:
            return
        for slot in sorted({self.find_slot(member, pair % self.pairs) for member, pair in beyond}):
            self.lines.append(f"PUBLISH({slot}, {self.name}[{slot}]);")
        self.lines.append("MEET;")
        for number, (member, pair) in enumerate(beyond):
            slot = self.find_slot(member, pair % self.pairs)
            self.lines.append(f"const T f{number} = FETCH({slot}, {self.name}[{slot}], {pair // self.pairs});")
            self._fetched[member, pair] = f"f{number}"

    def find_slot(self, member: int, pair: int) -> int:
        """Return the element of the lane that holds a member of one of its pairs."""
        return (2 * pair + member) * self.channels + self.channel

    def member(self, member: int, pair: int) -> str:
        """Return where a member of a pair is found."""
        return self._fetched.get((member, pair), f"{self.name}[{self.find_slot(member, pair)}]")

    def replace(self, outputs: Sequence[Sequence[str]]) -> None:
        """Replace the members of each pair by its two outputs, when all of them are known."""
        for k, pair in enumerate(outputs):
            self.lines += [f"const T o{2 * k + m} = {output};" for m, output in enumerate(pair)]
        for k in range(self.pairs):
            self.lines += [f"{self.name}[{self.find_slot(m, k)}] = o{2 * k + m};" for m in (0, 1)]

    def render(self) -> str:
        """Return the lines as a block of their own."""
        return "{ " + "\n  ".join(self.lines) + " }"


def render_row(spec: SweepSpec, name: str, *, is_inside: bool = False) -> str:
    """Return the steps along a row of which a lane holds the array `name`, which then holds the outputs in turn.

    If `is_inside`, no lane lies beyond the ends.
    """
    program = spec.horizontal
    if program is None:
        return ""
    number = STORAGES[spec.bands].number
    rows = (partial(_Row, name, spec.pairs, spec.channels, channel) for channel in range(spec.channels))
    if program.taps:
        return "\n".join(_render_filter(program, number, make_row) for make_row in rows)
    repeats = program.repeats_sources and not is_inside
    return "\n".join(_render_steps(program, number, make_row, repeats=repeats) for make_row in rows)


def _render_steps(program: AxisProgram, number: str, make_row: Callable[[], _Row], *, repeats: bool) -> str:
    blocks = []
    for index, entry in enumerate(program.steps):
        step, row = entry.step, make_row()
        source, pairs = 1 - step.target, range(row.pairs)
        row.fetch((source, k + step.start + j) for k in pairs for j in range(len(step.taps)))
        for k in pairs:
            total = format_step(entry, [row.member(source, k + step.start + j) for j in range(len(step.taps))], number)
            target = row.member(step.target, k)
            row.lines.append(f"{target} = {target} {total};")
        blocks.append(row.render())
        if repeats and index + 1 < len(program.steps):
            blocks.append(_render_repetition(make_row(), step.target))
    p, q = program.outputs
    if (p.member, p.shift, q.member, q.shift) != (0, 0, 1, 0):
        row = make_row()
        row.fetch((output.member, k + output.shift) for output in (p, q) for k in range(row.pairs))
        row.replace([[row.member(output.member, k + output.shift) for output in (p, q)] for k in range(row.pairs)])
        blocks.append(row.render())
    return "\n".join(blocks)


def _render_repetition(row: _Row, member: int) -> str:
    """Return the lines that give pairs beyond the ends a member of the outermost pairs."""
    slots = [row.find_slot(member, k) for k in range(row.pairs)]
    row.lines.append(f"const int last_pair = low_width - 1 - first_pair; T last_one = {row.name}[{slots[0]}];")
    row.lines += [f"if (last_pair % PAIRS == {k}) last_one = {row.name}[{slots[k]}];" for k in range(1, row.pairs)]
    row.lines.append(f"PUBLISH(0, {row.name}[{slots[0]}]); PUBLISH(1, last_one); MEET;")
    row.lines.append(f"const T head = FETCH(0, {row.name}[{slots[0]}], -first_pair / PAIRS - lane);")
    row.lines.append("const T tail = FETCH(1, last_one, last_pair / PAIRS - lane);")
    for k, slot in enumerate(slots):
        own = f"{row.name}[{slot}]"
        row.lines.append(f"{own} = pair + {k} < 0 ? head : pair + {k} >= low_width ? tail : {own};")
    return row.render()


def _render_filter(program: AxisProgram, number: str, make_row: Callable[[], _Row]) -> str:
    row = make_row()
    row.fetch((tap.member, k + tap.pair) for tap in program.taps for k in range(row.pairs))

    def total(output: str, k: int) -> str:
        terms = [
            f"{format_number(weight, number)} * {row.member(tap.member, k + tap.pair)}"
            for tap in program.taps
            if (weight := getattr(tap, output)) != 0
        ]
        return " + ".join(terms) or "0"

    row.replace([[total(output, k) for output in "pq"] for k in range(row.pairs)])
    return row.render()

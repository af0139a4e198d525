"""Steps and filters along a row that lies spread over the lanes of a group."""

from __future__ import annotations

from collections.abc import Iterable

from subband.kernels.axis import AxisProgram
from subband.kernels.numbers import spell, spell_step

__all__ = ["render_row"]


class _Row:
    """A row of pairs, a few of them in each lane, and what a lane has fetched of its neighbours."""

    def __init__(self, name: str, pairs: int) -> None:
        self.name = name
        self.pairs = pairs
        self.lines: list[str] = []
        self._fetched: dict[tuple[int, int], str] = {}

    def fetch(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Fetch members of pairs, counted from the lane's first one, that other lanes hold."""
        beyond = sorted({(member, pair) for member, pair in wanted if not 0 <= pair < self.pairs})
        self._fetched = {}
        if not beyond:
            return
        for slot in sorted({2 * (pair % self.pairs) + member for member, pair in beyond}):
            self.lines.append(f"PUBLISH({slot}, {self.name}[{slot}]);")
        self.lines.append("MEET;")
        for number, (member, pair) in enumerate(beyond):
            slot = 2 * (pair % self.pairs) + member
            self.lines.append(f"const T f{number} = FETCH({slot}, {self.name}[{slot}], {pair // self.pairs});")
            self._fetched[member, pair] = f"f{number}"

    def member(self, member: int, pair: int) -> str:
        """Return where a member of a pair is found."""
        return self._fetched.get((member, pair), f"{self.name}[{2 * pair + member}]")


def render_row(program: AxisProgram | None, name: str, number: str, pairs: int) -> str:
    """Return the process along a row of which a lane holds the array `name`, which then holds the outputs in turn."""
    if program is None:
        return ""
    return (_render_filter if program.taps else _render_steps)(program, name, number, pairs)


def _render_steps(program: AxisProgram, name: str, number: str, pairs: int) -> str:
    blocks = []
    for entry in program.steps:
        step, row = entry.step, _Row(name, pairs)
        source = 1 - step.target
        row.fetch((source, k + step.start + j) for k in range(pairs) for j in range(len(step.taps)))
        for k in range(pairs):
            total = spell_step(entry, [row.member(source, k + step.start + j) for j in range(len(step.taps))], number)
            target = f"{name}[{2 * k + step.target}]"
            row.lines.append(f"{target} = {target} {total};")
        blocks.append("{ " + "\n  ".join(row.lines) + " }")
    p, q = program.outputs
    if (p.member, p.shift, q.member, q.shift) != (0, 0, 1, 0):
        row = _Row(name, pairs)
        row.fetch((output.member, k + output.shift) for output in (p, q) for k in range(pairs))
        row.lines += [
            f"const T o{2 * k + place} = {row.member(output.member, k + output.shift)};"
            for k in range(pairs)
            for place, output in enumerate((p, q))
        ]
        row.lines += [f"{name}[{c}] = o{c};" for c in range(2 * pairs)]
        blocks.append("{ " + "\n  ".join(row.lines) + " }")
    return "\n".join(blocks)


def _render_filter(program: AxisProgram, name: str, number: str, pairs: int) -> str:
    row = _Row(name, pairs)
    row.fetch((tap.member, k + tap.pair) for tap in program.taps for k in range(pairs))
    for k in range(pairs):
        for place, output in enumerate("pq"):
            terms = [
                f"{spell(weight, number)} * {row.member(tap.member, k + tap.pair)}"
                for tap in program.taps
                if (weight := getattr(tap, output)) != 0
            ]
            row.lines.append(f"const T o{2 * k + place} = {' + '.join(terms) or '0'};")
    row.lines += [f"{name}[{c}] = o{c};" for c in range(2 * pairs)]
    return "{ " + "\n  ".join(row.lines) + " }"

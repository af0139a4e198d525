"""Kernel text of steps inside a tile of two planes: down the columns and along the rows.

A group of lanes holds a few pairs of rows, spread over its lanes. Steps down the columns take what lies beyond from the
neighbouring groups through local memory, steps along the rows from the neighbouring lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from subband.kernels.dialects import LANES
from subband.kernels.numbers import STORAGES, format_step
from subband.pairs import Output

if TYPE_CHECKING:
    from subband.kernels.volume import VolumeSpec
    from subband.schedule.axis import AxisProgram

__all__ = ["count_beside", "count_local", "count_meetings", "count_slots", "render_across", "render_down"]

#: A member of a pair, counted from the first one that is held.
_Member = tuple[int, int]


def count_beside(vertical: AxisProgram, rows: int) -> int:
    """Return how many groups away the farthest is that a group takes rows from."""
    pairs = [pair for wanted in _list_wanted(vertical, rows) for _, pair in wanted]
    return max(abs(pair // rows) for pair in pairs)


def count_meetings(vertical: AxisProgram, rows: int) -> int:
    """Return how often groups that hold `rows` pairs of rows each wait for each other in a pair of planes."""
    return sum(bool(_list_beyond(wanted, rows)) for wanted in _list_wanted(vertical, rows))


def count_slots(vertical: AxisProgram, rows: int) -> int:
    """Return how many rows of a plane a group hands over at most at a time."""
    return max(len(_list_slots(_list_beyond(wanted, rows), rows)) for wanted in _list_wanted(vertical, rows))


def count_local(vertical: AxisProgram, groups: int, rows: int, pairs: int, ahead: int, size: int) -> tuple[int, int]:
    """Return how many bytes of local memory a block takes: for planes on their way, and for rows handed over.

    Both are of two planes; what is handed over lies in two halves that are taken in turn.
    """
    lanes = LANES * (groups + 2 * count_beside(vertical, rows))
    return (
        8 * ahead * rows * pairs * LANES * groups * size,
        8 * count_slots(vertical, rows) * pairs * lanes * max(4, size),
    )


def render_down(spec: VolumeSpec) -> str:
    """Return the steps down the columns of the planes ``u``: both, so that they share the waiting."""
    number, rows, blocks = STORAGES[spec.storage].number, spec.rows, []
    is_even = count_meetings(spec.vertical, rows) % 2 == 0
    turn = 0

    def fetch(wanted: Iterable[_Member]) -> tuple[list[str], Callable[[int, int], str]]:
        nonlocal turn
        beyond = _list_beyond(wanted, rows)
        slots = _list_slots(beyond, rows)
        if not beyond:
            return [], _locate
        half = str(turn % 2) if is_even else "turn"
        turn += 1
        each = "UNROLL for (int m = 0; m < 2; ++m) UNROLL for (int c = 0; c < V; ++c)"
        # the first and last groups read what nobody has written: only rows that serve the others are made of it
        lines = [f"const int middle = thread + {LANES * count_beside(spec.vertical, rows)};"]
        lines += [
            f"{each} meeting[{half}][{slot}][m][middle].v[c] = {_locate(member, pair)};"
            for slot, (member, pair) in enumerate(slots)
        ]
        lines.append("BARRIER;")
        names = {}
        for k, (member, pair) in enumerate(beyond):
            slot = slots.index((member, pair % rows))
            beside = f"middle + ({pair // rows * LANES})"
            lines.append(f"numbers_t f{k}[2];")
            lines.append(f"UNROLL for (int m = 0; m < 2; ++m) f{k}[m] = meeting[{half}][{slot}][m][{beside}];")
            names[member, pair] = f"f{k}[m].v[c]"
        if not is_even:
            lines.append("turn ^= 1;")
        return lines, lambda member, pair: names.get((member, pair)) or _locate(member, pair)

    each = "UNROLL for (int m = 0; m < 2; ++m) UNROLL for (int c = 0; c < V; ++c)"
    for entry in spec.vertical.steps:
        step = entry.step
        source, count = 1 - step.target, len(step.taps)
        lines, locate = fetch(_list_sources(step.target, step.start, count, rows))
        for k in range(rows):
            total = format_step(entry, [locate(source, k + step.start + j) for j in range(count)], number)
            target = _locate(step.target, k)
            lines.append(f"{each} {target} = {target} {total};")
        blocks.append(lines)
    outputs = spec.vertical.outputs
    if not _are_plain(outputs):
        lines, locate = fetch((output.member, k + output.shift) for output in outputs for k in range(rows))
        lines.append(f"{each} {{")
        for k in range(rows):
            for index, output in enumerate(outputs):
                lines.append(f"    const T o{2 * k + index} = {locate(output.member, k + output.shift)};")
        lines += [f"    {_locate(k % 2, k // 2)} = o{k};" for k in range(2 * rows)]
        lines.append("}")
        blocks.append(lines)
    return "\n".join("{ " + "\n  ".join(lines) + " }" for lines in blocks)


def render_across(spec: VolumeSpec) -> str:
    """Return the steps along all rows of the planes ``u``."""
    number, pairs, blocks = STORAGES[spec.storage].number, spec.pairs, []

    def exchange(wanted: Iterable[_Member]) -> tuple[list[str], list[str], Callable[[int, int], str]]:
        beyond = _list_beyond(wanted, pairs)
        before, fetched, names = [], [], {}
        if beyond:
            slots = [2 * pair + member for member, pair in _list_slots(beyond, pairs)]
            before = [f"EACH_ROW {{ PUBLISH(k * V + {slot}, u[k * V + {slot}]); }}" for slot in slots] + ["MEET;"]
        for n, (member, pair) in enumerate(beyond):
            slot = 2 * (pair % pairs) + member
            fetched.append(f"const T f{n} = FETCH(k * V + {slot}, u[k * V + {slot}], {pair // pairs});")
            names[member, pair] = f"f{n}"
            if spec.is_mirrored and pairs > 1:
                # what a lane at an end sees in itself is not what its neighbour would have asked it for
                edge, own = (0, -1 - pair) if pair < 0 else (LANES - 1, 2 * pairs - 1 - pair)
                fetched.append(f"const T m{n} = lane == {edge} ? u[k * V + {2 * own + member}] : f{n};")
                names[member, pair] = f"m{n}"
        return before, fetched, lambda member, pair: names.get((member, pair)) or f"u[k * V + {2 * pair + member}]"

    for entry in spec.horizontal.steps:
        step = entry.step
        source, count = 1 - step.target, len(step.taps)
        before, lines, locate = exchange(_list_sources(step.target, step.start, count, pairs))
        for pair in range(pairs):
            total = format_step(entry, [locate(source, pair + step.start + j) for j in range(count)], number)
            target = f"u[k * V + {2 * pair + step.target}]"
            lines.append(f"{target} = {target} {total};")
        blocks.append([*before, "EACH_ROW {", *(f"    {line}" for line in lines), "}"])
    outputs = spec.horizontal.outputs
    if not _are_plain(outputs):
        before, lines, locate = exchange((o.member, pair + o.shift) for o in outputs for pair in range(pairs))
        for pair in range(pairs):
            for index, output in enumerate(outputs):
                lines.append(f"const T o{2 * pair + index} = {locate(output.member, pair + output.shift)};")
        lines += [f"u[k * V + {c}] = o{c};" for c in range(2 * pairs)]
        blocks.append([*before, "EACH_ROW {", *(f"    {line}" for line in lines), "}"])
    return "\n".join("\n".join(lines) for lines in blocks)


def _locate(member: int, pair: int) -> str:
    """Return where a member of a pair of rows lies."""
    return f"u[(m * ROWS + {2 * pair + member}) * V + c]"


def _list_wanted(program: AxisProgram, held: int) -> list[list[_Member]]:
    """Return what each step, and at last the outputs, read."""
    wanted = [_list_sources(e.step.target, e.step.start, len(e.step.taps), held) for e in program.steps]
    wanted.append([(output.member, k + output.shift) for output in program.outputs for k in range(held)])
    return wanted


def _list_sources(target: int, start: int, count: int, held: int) -> list[_Member]:
    return [(1 - target, k + start + j) for k in range(held) for j in range(count)]


def _list_beyond(wanted: Iterable[_Member], held: int) -> list[_Member]:
    return sorted({(member, pair) for member, pair in wanted if not 0 <= pair < held})


def _list_slots(beyond: Iterable[_Member], held: int) -> list[_Member]:
    return sorted({(member, pair % held) for member, pair in beyond})


def _are_plain(outputs: tuple[Output, Output]) -> bool:
    p, q = outputs
    return (p.member, p.shift, q.member, q.shift) == (0, 0, 1, 0)

"""The magnitude refinement pass of the decoder, of one block or of two at the same time."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, choose, count_trailing
from subband.codecs.jpeg2000.blocks.loops.groups import FIELDS, FIRST, READY, SECOND, THIRD
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import decode_evenly, put, take

__all__ = ["decode_refinement"]


@nb.njit(**OPTIONS)
def decode_refinement(arrays, groups, count, other_arrays, other_groups, other_count, half, data):
    """Decode the pass of two blocks: as many coefficients of each as its list has."""
    _, _, magnitudes, states, contexts, registers = arrays
    _, _, magnitudes2, _, contexts2, registers2 = other_arrays
    interval, code, waiting = take(registers)
    interval2, code2, waiting2 = take(registers2)
    group, group2 = nb.int64(0), nb.int64(0)
    ready, ready2 = nb.int64(groups[READY]), nb.int64(other_groups[READY])
    both = min(count, other_count)
    for _ in range(both):
        group, ready, interval, code, waiting = _refine(
            groups, group, ready, half, magnitudes, states, contexts, interval, code, waiting, registers, data
        )
        group2, ready2, interval2, code2, waiting2 = _refine(
            other_groups, group2, ready2, half, magnitudes2, states, contexts2, interval2, code2, waiting2, registers2,
            data,
        )  # fmt: skip
    for _ in range(both, count):
        group, ready, interval, code, waiting = _refine(
            groups, group, ready, half, magnitudes, states, contexts, interval, code, waiting, registers, data
        )
    for _ in range(both, other_count):
        group2, ready2, interval2, code2, waiting2 = _refine(
            other_groups, group2, ready2, half, magnitudes2, states, contexts2, interval2, code2, waiting2, registers2,
            data,
        )  # fmt: skip
    put(registers, interval, code, waiting)
    put(registers2, interval2, code2, waiting2)


@nb.njit(forceinline=True, **OPTIONS)
def _refine(groups, group, ready, half, magnitudes, states, contexts, interval, code, waiting, registers, data):
    """Refine a coefficient; return the group of the next one, and what is left of it."""
    shift = count_trailing(ready)
    context = 14 + (groups[group + SECOND] >> shift & 1) + 2 * (groups[group + THIRD] >> shift & 1)
    symbol, interval, code, waiting = decode_evenly(
        context, nb.int64(-1), states, contexts, interval, code, waiting, registers, data
    )
    magnitudes[groups[group + FIRST] + shift] += nb.uint32((2 * half & symbol) - half)
    ready &= ready - 1
    is_last = ready == 0
    group += FIELDS * nb.int64(is_last)
    return group, choose(is_last, nb.int64(groups[group + READY]), ready), interval, code, waiting

"""One level of a transform of chunks: from which samples each chunk of coefficients comes, and the way back.

Coefficients are cut so that a chunk of them needs nothing from behind the samples that it comes from, and only from
before; and samples the other way round. So a chunk asks one neighbour along each axis, and not two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from subband.boundary import Extension, extend
from subband.integrations.dask.windows import Edges, Window, open_window
from subband.pairs import align
from subband.plan import AxisPlan
from subband.stationary import StationaryAxisPlan

__all__ = ["AxisCut", "cut_coefficients", "cut_samples", "cut_stationary", "find_reach"]


@dataclass(frozen=True)
class AxisCut:
    """The chunks of results along one axis.

    Attributes
    ----------
    edges : tuple of int
        Where the chunks begin, and where the axis ends; of low coefficients, or of samples.
    low, high : list of Window
        What each chunk is made of: of samples, or of low and of high coefficients.
    low_parts, high_parts : list of slice
        What counts of the result of each window.
    """

    edges: Edges
    low: list[Window]
    high: list[Window]
    low_parts: list[slice]
    high_parts: list[slice]


def find_reach(plan: AxisPlan) -> int:
    """Return how many samples a chunk should have at least, so that it asks no more than its next neighbour.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> find_reach(axis_plan(Wavelet("db4"), "symmetric", 100))
    8
    """
    return _find_margin(plan) if plan.integer is not None else plan.wavelet.dec_len + 2 * _spread(plan)


def cut_coefficients(plan: AxisPlan, edges: Edges) -> AxisCut:
    """Cut the coefficients of an axis whose samples are cut at `edges`.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> cut = cut_coefficients(axis_plan(Wavelet("db2"), "symmetric", 20), (0, 10, 20))
    >>> cut.edges, [window.runs for window in cut.low]
    ((0, 5, 11), [((0, 10),), ((8, 20),)])
    """
    shift, delay = _shifts(plan)
    inner = [(edge - delay) // 2 - max(shift) for edge in edges[1:-1]]
    # the last chunk must have a high coefficient too, if there is one at all
    cuts = _clean(inner, plan.low, last=min(plan.low, max(plan.high, 1)))
    windows, lows, highs = [], [], []
    for begin, end in pairwise(cuts):
        if plan.integer is not None:
            margin = _find_margin(plan)
            start, stop = 2 * begin - margin, 2 * end + margin
            first = (margin // 2,) * 2
        else:
            start = 2 * (begin + min(shift)) + delay + 2 - plan.wavelet.dec_len
            start -= (start - delay) % 2
            stop = 2 * (end - 1 + max(shift)) + delay + 2
            first = begin + shift[0] + (delay - start) // 2, begin + shift[1] + (delay - start) // 2
        windows.append(open_window(plan.extend_samples, plan.length, start, stop))
        lows.append(slice(first[0], first[0] + end - begin))
        highs.append(slice(first[1], first[1] + min(end, plan.high) - min(begin, plan.high)))
    return AxisCut(cuts, windows, windows, lows, highs)


def cut_samples(plan: AxisPlan, coefficient_edges: Edges, edges: Edges | None = None) -> AxisCut:
    """Cut the samples of an axis whose coefficients are cut at `coefficient_edges`, or at the `edges` that are given.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> cut = cut_samples(axis_plan(Wavelet("db2"), "symmetric", 20), (0, 5, 11))
    >>> cut.edges, [window.runs for window in cut.low]
    ((0, 10, 20), [((0, 6),), ((5, 11),)])
    """
    shift, delay = _shifts(plan)
    if edges is None:
        edges = _clean([2 * (edge + max(shift)) + delay for edge in coefficient_edges[1:-1]], plan.length, plan.length)
    low, high, parts = [], [], []
    for begin, end in pairwise(edges):
        if plan.integer is not None:
            margin = _find_margin(plan) // 2
            first, count = begin // 2 - margin, (end + 1) // 2 - begin // 2 + 2 * margin
            starts = first, first
            at = begin - 2 * first
        else:
            pair = (begin - delay) // 2
            at = begin - delay - 2 * pair
            count = -(-(end - delay - 2 * pair + plan.wavelet.dec_len - 2) // 2)
            starts = pair - shift[0], pair - shift[1]
        low.append(open_window(_extend_branch(plan, 0), plan.low, starts[0], starts[0] + count))
        high.append(open_window(_extend_branch(plan, 1), plan.high, starts[1], starts[1] + count))
        parts.append(slice(at, at + end - begin))
    return AxisCut(edges, low, high, parts, parts)


def cut_stationary(plan: StationaryAxisPlan, edges: Edges, *, is_inverse: bool) -> AxisCut:
    """Cut an axis of an undecimated level; results lie where the samples are.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> cut = cut_stationary(StationaryAxisPlan(Wavelet("haar"), 100, 2), (0, 50, 100), is_inverse=False)
    >>> [window.runs for window in cut.low]
    [((0, 52),), ((0, 2), (50, 100))]
    """
    taps = plan.wavelet.rec_len if is_inverse else plan.wavelet.dec_len
    ahead = taps // 2 - is_inverse
    before, behind = plan.step * (taps - 1 - ahead), plan.step * ahead

    def wrap(start: int, stop: int) -> Extension:
        return extend("periodic", plan.length, start, stop)

    windows, parts = [], []
    for begin, end in pairwise(edges):
        windows.append(open_window(wrap, plan.length, begin - before, end + behind))
        parts.append(slice(before, before + end - begin))
    return AxisCut(edges, windows, windows, parts, parts)


def _shifts(plan: AxisPlan) -> tuple[tuple[int, int], int]:
    """Return from where low and high coefficients are counted, and how much later the signal is read."""
    if plan.integer is not None:
        return (0, 0), 0
    alignment = align(plan.wavelet, plan.mode)
    return (alignment.low, alignment.high), alignment.delay


def _spread(plan: AxisPlan) -> int:
    (low, high), _ = _shifts(plan)
    return abs(low - high)


def _find_margin(plan: AxisPlan) -> int:
    """Return an even number of samples that covers the reach of all integer steps."""
    assert plan.integer is not None
    return 2 * sum(len(step.taps) + abs(step.start) for step in plan.integer.steps)


def _clean(inner: list[int], end: int, last: int) -> Edges:
    """Return edges that rise, from what may lie outside or coincide."""
    kept = [0]
    for edge in inner:
        if kept[-1] < edge < last:
            kept.append(edge)
    return (*kept, end)


def _extend_branch(plan: AxisPlan, branch: int) -> Callable[[int, int], Extension]:
    """Return how low (0) or high (1) coefficients go on: both are every second of one sequence, which is mirrored."""
    count = (plan.low, plan.high)[branch]

    def extend_part(start: int, stop: int) -> Extension:
        both = plan.extend_coefficients(2 * start, 2 * stop)
        index = (both.index[branch::2] // 2).clip(0, max(count - 1, 0))
        return Extension(index, both.weight[branch::2], both.first[branch::2], both.last[branch::2])

    return extend_part

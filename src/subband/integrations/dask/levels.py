"""One level of a transform of chunks: from which samples each chunk of coefficients comes, and the way back.

Coefficients are cut so that a chunk of them needs nothing from behind the samples that it comes from, and only from
before; and samples the other way round. So a chunk asks one neighbour along each axis, and not two.

A block begins at an even sample and is transformed in the boundary mode of the array, so that its coefficients are
those of the array from half that sample on. What it computes at ends that are not those of the array is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.integrations.dask.blocks import compact
from subband.integrations.dask.windows import Edges, Window, clip_run, wrap_window
from subband.pairs import align
from subband.plan import AxisPlan, LevelPlan, TransformPlan, transform_plan
from subband.stationary import StationaryAxisPlan, StationaryPlan, stationary_plan
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["AxisCut", "Merge", "Share", "Split", "cut_axis", "find_reach", "list_axes", "name_band"]

Plan = LevelPlan | StationaryPlan


def list_axes(plan: Plan) -> list[tuple[int, AxisPlan | StationaryAxisPlan]]:
    """Return the transformed axes, and how each is transformed."""
    return list(zip(plan.axes, plan.plans, strict=True))


@dataclass(frozen=True)
class AxisCut:
    """The chunks of results along one axis.

    Attributes
    ----------
    edges : tuple of int
        Where the chunks begin, and where the axis ends; of low coefficients, or of samples.
    low, high : list of Window
        What each chunk is made of: of samples, or of low and of high coefficients.
    inner, inner_high : list of slice
        What counts of the result of each window: of samples, or of low and of high coefficients.
    lengths : list of int
        Samples of each block.
    """

    edges: Edges
    low: list[Window]
    high: list[Window]
    inner: list[slice]
    inner_high: list[slice]
    lengths: list[int]

    @classmethod
    def collect(cls, edges: Edges, pieces: Iterator[tuple[Window, Window, slice, slice, int]]) -> AxisCut:
        """Make one from what is known of each chunk."""
        return cls(edges, *map(list, zip(*pieces, strict=True)))

    @property
    def high_count(self) -> int:
        """Number of high coefficients along the axis."""
        return sum(part.stop - part.start for part in self.inner_high)


def find_reach(plan: AxisPlan | StationaryAxisPlan) -> int:
    """Return how many samples a chunk should have at least, so that it asks no more than its next neighbour.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> find_reach(axis_plan(Wavelet("db4"), "symmetric", 100))
    8
    """
    if isinstance(plan, StationaryAxisPlan):
        return plan.step * (plan.wavelet.dec_len // 2)
    if plan.integer is not None:
        return _find_margin(plan)
    (low, high), _ = _find_shifts(plan)
    return plan.wavelet.dec_len + 2 * abs(low - high)


def cut_axis(plan: AxisPlan | StationaryAxisPlan, edges: Edges, goal: Edges | None = None) -> AxisCut:
    """Cut the coefficients of an axis whose samples are cut at `edges`.

    Parameters
    ----------
    plan : AxisPlan or StationaryAxisPlan
        The level along the axis.
    edges : tuple of int
        Of the samples.
    goal : tuple of int, optional
        For the way back: cut the samples there, or, if it is empty, where coefficients that are cut at `edges` suggest.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> plan = axis_plan(Wavelet("db2"), "symmetric", 20)
    >>> there, back = cut_axis(plan, (0, 10, 20)), cut_axis(plan, (0, 5, 11), ())
    >>> there.edges, there.low
    ((0, 5, 11), [((0, 10),), ((8, 20),)])
    >>> back.edges, back.low
    ((0, 10, 20), [((0, 6),), ((5, 11),)])
    >>> cut_axis(StationaryAxisPlan(Wavelet("haar"), 100, 2), (0, 50, 100)).low
    [((0, 52),), ((50, 100), (0, 2))]
    """
    if isinstance(plan, StationaryAxisPlan):
        edges = goal or edges
        return AxisCut.collect(edges, _cut_stationary(plan, edges, is_inverse=goal is not None))
    shift, delay = _find_shifts(plan)
    if goal is None:
        inner = [(edge - delay) // 2 - max(shift) for edge in edges[1:-1]]
        # the last chunk must have a high coefficient too, if there is one at all
        edges = _clean(inner, plan.low, last=min(plan.low, max(plan.high, 1)))
        return AxisCut.collect(edges, _cut_coefficients(plan, edges))
    if not goal:
        goal = _clean([2 * (edge + max(shift)) + delay for edge in edges[1:-1]], plan.length, plan.length)
    return AxisCut.collect(goal, _cut_samples(plan, goal))


def _cut_coefficients(plan: AxisPlan, edges: Edges) -> Iterator[tuple[Window, Window, slice, slice, int]]:
    shift, delay = _find_shifts(plan)
    for begin, end in pairwise(edges):
        if plan.integer is not None:
            margin = _find_margin(plan)
            start, stop = 2 * begin - margin, 2 * end + margin
        else:
            start = 2 * (begin + min(shift)) + delay + 2 - plan.wavelet.dec_len
            stop = 2 * (end - 1 + max(shift)) + delay + 2
        period = plan.length + (plan.length % 2 if plan.forward_mode == "periodization" else 0)
        is_periodic = plan.forward_mode in ("periodic", "periodization")
        first, window = _open(start - start % 2, stop, plan.length, period if is_periodic else None, step=2)
        low, high = ((begin - first // 2, min(end, n) - first // 2) for n in (plan.low, plan.high))
        yield window, window, slice(*low), slice(min(begin, plan.high) - first // 2, high[1]), _measure(window)


def _cut_samples(plan: AxisPlan, edges: Edges) -> Iterator[tuple[Window, Window, slice, slice, int]]:
    shift, delay = _find_shifts(plan)
    for begin, end in pairwise(edges):
        if plan.integer is not None:
            margin = _find_margin(plan) // 2
            start, stop = begin // 2 - margin, (end + 1) // 2 + margin
        else:
            pair = (begin - delay) // 2
            count = -(-(end - delay - 2 * pair + plan.wavelet.dec_len - 2) // 2)
            start, stop = pair - max(shift), pair - min(shift) + count
        first, low = _open(start, stop, plan.low, plan.low if plan.inverse_mode == "periodic" else None)
        high = tuple((min(a, plan.high), min(b, plan.high)) for a, b in low)
        length = _measure(low) + _measure(high)
        if low == ((0, plan.low),):
            length = plan.length
        elif plan.inverse_mode == "zero" and plan.integer is None:
            # an expansive mode: as many samples as all filters over the coefficients of the block lie in
            length -= plan.wavelet.dec_len - 2
        part = slice(begin - 2 * first, end - 2 * first)
        yield low, high, part, part, length


def _cut_stationary(
    plan: StationaryAxisPlan, edges: Edges, *, is_inverse: bool
) -> Iterator[tuple[Window, Window, slice, slice, int]]:
    taps = plan.wavelet.rec_len if is_inverse else plan.wavelet.dec_len
    ahead = taps // 2 - is_inverse
    before, behind = plan.step * (taps - 1 - ahead), plan.step * ahead
    for begin, end in pairwise(edges):
        first, window = _open(begin - before, end + behind, plan.length, plan.length)
        part = slice(begin - first, end - first)
        yield window, window, part, part, _measure(window)


def _open(start: int, stop: int, length: int, period: int | None, step: int = 1) -> tuple[int, Window]:
    """Return where the block for a range of samples begins, at a multiple of `step`, and its window."""
    if period is not None and stop - start >= period:
        return 0, ((0, length),)
    if period is not None and (start < 0 or stop > length):
        return start, wrap_window(start, stop, length, period)
    begin, end = clip_run(start, stop, length)
    begin -= begin % step
    return begin, ((begin, end),)


def _measure(window: Window) -> int:
    return sum(end - begin for begin, end in window)


def _find_shifts(plan: AxisPlan) -> tuple[tuple[int, int], int]:
    """Return from where low and high coefficients are counted, and how much later the signal is read."""
    if plan.integer is not None:
        return (0, 0), 0
    alignment = align(plan.wavelet, plan.mode)
    return (alignment.low, alignment.high), alignment.delay


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


@dataclass(frozen=True)
class Share:
    """What counts of a block.

    Attributes
    ----------
    inner, inner_high : tuple of slice
        Along each axis: of samples, or of low and of high coefficients.
    lengths : tuple of int
        Samples of the block along the transformed axes.
    """

    inner: tuple[slice, ...]
    inner_high: tuple[slice, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class _LevelWork:
    """One level or several of a block; several if the block has all samples along the transformed axes.

    Attributes
    ----------
    axes, wavelets, modes : tuple
        Which axes, and how.
    level : int
        How many levels.
    step : int
        Distance of the taps in an undecimated level; 0 in a decimated one.
    is_reversible : bool
        Whether the numbers are whole ones.
    engine : Engine, str or None
        The engine that computes; that of the block's device if None.
    """

    axes: tuple[int, ...]
    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    level: int
    step: int
    is_reversible: bool
    engine: Engine | str | None

    @classmethod
    def of(cls, plans: Sequence[Plan], engine: Engine | str | None, **others: Any) -> Any:
        """Return the work of some levels, the finest first."""
        first = plans[0]
        wavelets = tuple(own.wavelet for own in first.plans)
        if isinstance(first, StationaryPlan):
            return cls(first.axes, wavelets, (), 1, first.plans[0].step, False, engine, **others)
        modes = tuple(own.mode for own in first.plans)
        is_reversible = first.plans[0].integer is not None
        return cls(first.axes, wavelets, modes, len(plans), 0, is_reversible, engine, **others)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return all that makes it, in a form that has the same token in every process."""
        banks = tuple((wavelet.name, tuple(map(tuple, wavelet.filter_bank))) for wavelet in self.wavelets)
        about = self.axes, self.modes, self.level, self.step, self.is_reversible, str(self.engine)
        return type(self).__name__, banks, about

    def _plan(self, shape: tuple[int, ...]) -> TransformPlan:
        return transform_plan(shape, self.axes, self.wavelets, self.modes, self.level, self.is_reversible)

    def _plan_stationary(self, shape: tuple[int, ...]) -> StationaryPlan:
        return stationary_plan(shape, self.axes, self.wavelets, self.step.bit_length())


@dataclass(frozen=True)
class Split(_LevelWork):
    """Transforms a block."""

    def __call__(self, share: Share, block: Any) -> Bands:
        """Return the block's share of all bands."""
        samples = block if self.is_reversible else as_computable(block)
        engine = engine_for(samples, self.engine)
        shape = tuple(samples.shape)
        if self.step:
            bands = engine.stationary_forward(self._plan_stationary(shape), samples)
        else:
            approximation, details = engine.forward_all(self._plan(shape), samples)
            bands = {name_band("a" * len(self.axes), self.level, self.level): approximation}
            for number, own in enumerate(reversed(details), 1):
                bands.update({name_band(key, number, self.level): band for key, band in own.items()})
        return {
            key: compact(cast(self._crop(band, key, share), samples.dtype), band.size) for key, band in bands.items()
        }

    def _crop(self, band: Array, key: str, share: Share) -> Array:
        inner = list(share.inner)
        for axis, letter in zip(self.axes, key, strict=False):
            if letter == "d":
                inner[axis] = share.inner_high[axis]
        return band[tuple(inner)]


@dataclass(frozen=True)
class Merge(_LevelWork):
    """Transforms the bands of a block back.

    Attributes
    ----------
    keys : tuple of str
        Which bands these are, as `name_band` names them.
    """

    keys: tuple[str, ...]

    def __call__(self, share: Share, *blocks: Any) -> Array:
        """Return the samples of a block."""
        bands: Mapping[str, Any] = dict(zip(self.keys, blocks, strict=True))
        engine = engine_for(blocks[0], self.engine)
        shape = list(blocks[0].shape)
        for axis, length in zip(self.axes, share.lengths, strict=True):
            shape[axis] = length
        if self.step:
            return engine.stationary_inverse(self._plan_stationary(tuple(shape)), bands)
        plan = self._plan(tuple(shape))
        if self.level == 1:
            return engine.inverse(plan.levels[0], bands)
        details = [
            {key: bands[name_band(key, number, self.level)] for key in level.band_shapes if "d" in key}
            for number, level in reversed(list(enumerate(plan.levels, 1)))
        ]
        approximation = bands[name_band("a" * len(self.axes), self.level, self.level)]
        block: Array = cast(engine.inverse_all(plan, approximation, details), approximation.dtype)
        return block


def name_band(letters: str, number: int, level: int) -> str:
    """Return the name of a band among those of several levels, of which the first is the finest.

    Examples
    --------
    >>> name_band("da", 1, 1), name_band("da", 1, 3)
    ('da', 'da1')
    """
    return letters if level == 1 else f"{letters}{number}"

"""One level of a transform of chunks: from which samples each chunk of coefficients comes, and the way back.

Coefficients are cut so that a chunk of them needs nothing from behind the samples that it comes from, and only from
before; and samples the other way round. So a chunk asks one neighbour along each axis, and not two.

A block begins at an even sample and is transformed in the boundary mode of the array, so that its coefficients are
those of the array from half that sample on. What it computes at ends that are not those of the array is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.integrations.dask.blocks import compact
from subband.integrations.dask.windows import Edges, Window, clip_run, wrap_window
from subband.pairs import align
from subband.plan import AxisPlan, LevelPlan, TransformPlan, transform_plan
from subband.stationary import StationaryAxisPlan, StationaryPlan, stationary_plan
from subband.typing import Array, Bands

__all__ = ["Cut", "Merge", "Share", "Split", "cut_axis", "find_reach", "list_axes", "name_band"]

Plan = LevelPlan | StationaryPlan


def list_axes(plan: Plan) -> list[tuple[int, AxisPlan | StationaryAxisPlan]]:
    """Return the transformed axes, and how each is transformed."""
    return list(zip(plan.axes, plan.plans, strict=True))


class Cut(NamedTuple):
    """One chunk of results along one axis.

    Attributes
    ----------
    low, high : Window
        What it is made of: of samples, or of low and of high coefficients.
    inner, inner_high : slice
        What counts of the result of the window: of samples, or of low and of high coefficients.
    length : int
        Samples of the block.
    """

    low: Window
    high: Window
    inner: slice
    inner_high: slice
    length: int


def find_reach(plan: AxisPlan | StationaryAxisPlan) -> int:
    """Return how many samples a chunk should have at least, so that it asks no more than its next neighbour.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> find_reach(axis_plan(Wavelet("db4"), "symmetric", 100))
    8
    """
    if isinstance(plan, StationaryAxisPlan):
        return plan.step * (plan.wavelet.dec_len // 2)
    if plan.integer is not None:
        return _find_margin(plan)
    (low, high), _ = _find_shifts(plan)
    return plan.wavelet.dec_len + 2 * abs(low - high)


def cut_axis(plan: AxisPlan | StationaryAxisPlan, edges: Edges, goal: Edges | None = None) -> tuple[Edges, list[Cut]]:
    """Cut the coefficients of an axis whose samples are cut at `edges`.

    Parameters
    ----------
    plan : AxisPlan or StationaryAxisPlan
        The level along the axis.
    edges : tuple of int
        Of the samples.
    goal : tuple of int, optional
        For the way back: cut the samples there, or, if it is empty, where coefficients that are cut at `edges` suggest.

    Returns
    -------
    edges : tuple of int
        Of low coefficients, or of samples.
    cuts : list of Cut
        The chunks between them.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = axis_plan(Wavelet("db2"), "symmetric", 20)
    >>> edges, there = cut_axis(plan, (0, 10, 20))
    >>> edges, [cut.low for cut in there]
    ((0, 5, 11), [((0, 10),), ((8, 20),)])
    >>> edges, back = cut_axis(plan, (0, 5, 11), ())
    >>> edges, [cut.low for cut in back]
    ((0, 10, 20), [((0, 6),), ((5, 11),)])
    >>> [cut.low for cut in cut_axis(StationaryAxisPlan(Wavelet("haar"), 100, 2), (0, 50, 100))[1]]
    [((0, 52),), ((50, 100), (0, 2))]
    """
    if isinstance(plan, StationaryAxisPlan):
        edges, cut = goal or edges, partial(_cut_stationary, plan, is_inverse=goal is not None)
    elif goal is None:
        shift, delay = _find_shifts(plan)
        inner = [(edge - delay) // 2 - max(shift) for edge in edges[1:-1]]
        # the last chunk must have a high coefficient too, if there is one at all
        edges, cut = _clean(inner, plan.low, last=min(plan.low, max(plan.high, 1))), partial(_cut_coefficients, plan)
    else:
        shift, delay = _find_shifts(plan)
        inner = [2 * (edge + max(shift)) + delay for edge in edges[1:-1]]
        edges, cut = goal or _clean(inner, plan.length, plan.length), partial(_cut_samples, plan)
    return edges, [cut(begin, end) for begin, end in pairwise(edges)]


def _cut_coefficients(plan: AxisPlan, begin: int, end: int) -> Cut:
    shift, delay = _find_shifts(plan)
    if plan.integer is not None:
        margin = _find_margin(plan)
        start, stop = 2 * begin - margin, 2 * end + margin
    else:
        start = 2 * (begin + min(shift)) + delay + 2 - plan.wavelet.dec_len
        stop = 2 * (end - 1 + max(shift)) + delay + 2
    period = plan.length + (plan.length % 2 if plan.forward_mode == "periodization" else 0)
    is_periodic = plan.forward_mode in ("periodic", "periodization")
    first, window = _open(start - start % 2, stop, plan.length, period if is_periodic else None, step=2)
    low, high = (slice(min(begin, count) - first // 2, min(end, count) - first // 2) for count in (plan.low, plan.high))
    return Cut(window, window, low, high, _measure(window))


def _cut_samples(plan: AxisPlan, begin: int, end: int) -> Cut:
    shift, delay = _find_shifts(plan)
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
    inner = slice(begin - 2 * first, end - 2 * first)
    return Cut(low, high, inner, inner, length)


def _cut_stationary(plan: StationaryAxisPlan, begin: int, end: int, *, is_inverse: bool) -> Cut:
    taps = plan.wavelet.rec_len if is_inverse else plan.wavelet.dec_len
    ahead = taps // 2 - is_inverse
    first, window = _open(
        begin - plan.step * (taps - 1 - ahead), end + plan.step * ahead, plan.length, period=plan.length
    )
    inner = slice(begin - first, end - first)
    return Cut(window, window, inner, inner, _measure(window))


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
    plan : TransformPlan or StationaryPlan
        Of the whole array.
    engine : Engine, str or None
        The engine that computes; that of the block's device if None.
    """

    plan: TransformPlan | StationaryPlan
    engine: Engine | str | None

    @property
    def level(self) -> int:
        """How many levels."""
        return 1 if isinstance(self.plan, StationaryPlan) else self.plan.level

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return all that makes it, in a form that has the same token in every process."""
        plan = self.plan
        own = plan.plans if isinstance(plan, StationaryPlan) else plan.levels[0].plans
        banks = tuple((each.wavelet.name, tuple(map(tuple, each.wavelet.filter_bank))) for each in own)
        about = tuple((getattr(each, "step", 0), getattr(each, "mode", "")) for each in own)
        is_integer = not isinstance(plan, StationaryPlan) and plan.reversible
        return type(self).__name__, plan.shape, plan.axes, banks, about, self.level, is_integer, str(self.engine)

    def _fit(self, shape: tuple[int, ...]) -> TransformPlan:
        """Return the plan for a block."""
        plan = self.plan
        assert isinstance(plan, TransformPlan)
        return transform_plan(shape, plan.axes, plan.wavelets, plan.modes, plan.level, plan.reversible)

    def _fit_stationary(self, shape: tuple[int, ...], plan: StationaryPlan) -> StationaryPlan:
        """Return the plan of an undecimated level for a block."""
        wavelets = tuple(own.wavelet for own in plan.plans)
        return stationary_plan(shape, plan.axes, wavelets, plan.plans[0].step.bit_length())


@dataclass(frozen=True)
class Split(_LevelWork):
    """Transforms a block."""

    @property
    def is_reversible(self) -> bool:
        """Whether the numbers are whole ones."""
        return isinstance(self.plan, TransformPlan) and self.plan.reversible

    def __call__(self, share: Share, block: Any) -> Bands:
        """Return the block's share of all bands."""
        samples = block if self.is_reversible else as_computable(block)
        engine = engine_for(samples, self.engine)
        shape = tuple(samples.shape)
        if isinstance(self.plan, StationaryPlan):
            bands = engine.stationary_forward(self._fit_stationary(shape, self.plan), samples)
        else:
            approximation, details = engine.forward_all(self._fit(shape), samples)
            bands = {name_band("a" * len(self.plan.axes), self.level, self.level): approximation}
            for number, own in enumerate(reversed(details), 1):
                bands.update({name_band(key, number, self.level): band for key, band in own.items()})
        return {
            key: compact(cast(self._crop(band, key, share), samples.dtype), band.size) for key, band in bands.items()
        }

    def _crop(self, band: Array, key: str, share: Share) -> Array:
        if self.level > 1:
            # of several levels there is one block, all of which counts
            return band
        inner = list(share.inner)
        for axis, letter in zip(self.plan.axes, key, strict=False):
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
        for axis, length in zip(self.plan.axes, share.lengths, strict=True):
            shape[axis] = length
        if isinstance(self.plan, StationaryPlan):
            return engine.stationary_inverse(self._fit_stationary(tuple(shape), self.plan), bands)
        plan = self._fit(tuple(shape))
        if self.level == 1:
            return engine.inverse(plan.levels[0], bands)
        details = [
            {key: bands[name_band(key, number, self.level)] for key in level.band_shapes if "d" in key}
            for number, level in reversed(list(enumerate(plan.levels, 1)))
        ]
        approximation = bands[name_band("a" * len(plan.axes), self.level, self.level)]
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

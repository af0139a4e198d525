"""The stages of an enhancer as graphs: transformed by the engine of Dask, band by band, and back.

What has to be known about the whole array, such as the strength of noise, is found out in passes of their own; then
everything is read again, and computed chunk by chunk. The source is read twice or more rather than kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import prod
from operator import add
from typing import Any

from dask.delayed import Delayed

from subband.boundary import is_expansive
from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.median import FEW
from subband.enhance.blockwise import (
    BandShrink,
    BandTally,
    BandTallyWork,
    Findings,
    GuideWork,
    NoiseSearch,
    Reach,
    SpatialWork,
    average,
    reach_of_spatial,
)
from subband.enhance.methods import DecidingMethod, find_method
from subband.enhance.models import Gaussian
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import ROUNDS, LevelRule, list_rules
from subband.enhance.stages import SPIN, Blur, Denoise, Sharpen, Shrink, Spatial, Stage
from subband.errors import ArgumentError
from subband.integrations.dask.decomposition import extend_array
from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.graphs import BlockMap, draw_array, draw_bundle, draw_statistic
from subband.integrations.dask.grids import find_grid
from subband.integrations.dask.margins import Blocks
from subband.integrations.dask.passes import Flow
from subband.integrations.dask.windows import Edges, Window
from subband.plan import transform_plan
from subband.stationary import stationary_plan

__all__ = ["StageWork"]


@dataclass(frozen=True)
class _Way:
    """Planes that were transformed.

    Attributes
    ----------
    plans : sequence of LevelPlan or StationaryPlan
        Of each level, the finest first.
    details : list of dict
        The bands of each level, but for the approximation.
    approximation : Band or dask array
        The coarsest.
    edges : list
        Where what each level has split is cut into chunks.
    """

    plans: Sequence[Any]
    details: list[dict[str, Any]]
    approximation: Any
    edges: Sequence[Sequence[Edges]]


@dataclass(frozen=True)
class StageWork:
    """What stages do to planes.

    Attributes
    ----------
    space : tuple of int
        Lengths of the axes of space, which are the last ones.
    before : int
        Number of axes before those.
    engine : str, Engine or None
        The engine that computes.
    joint : int
        How many planes are the colours of one image, the first its brightness.
    """

    space: tuple[int, ...]
    before: int
    engine: str | Engine | None
    joint: int = 1

    def run(self, stage: Stage, flow: Flow, findings: Findings, model: Any) -> Any:
        """Return planes that went through a stage.

        Parameters
        ----------
        stage : Stage
            What is done.
        flow : Flow
            The planes; they are read anew if something had to be found out first.
        findings : Findings
            What is known already.
        model : NoiseModel
            Of the noise in the image.
        """
        if isinstance(stage, Blur | Sharpen):
            return self._filter(flow.planes, [stage])
        roundtrip = self.find_roundtrip(stage)
        if roundtrip.level == 0:
            return flow.planes
        method = find_method(stage.method) if isinstance(stage, Denoise) else None
        if isinstance(method, DecidingMethod) and (obstacle := method.find_obstacle(str(stage.form))):
            raise ArgumentError(f"{obstacle}; use form='spun' or 'decimated', or compute() the array first")
        if stage.form == "dual-tree":
            raise ArgumentError(
                "form='dual-tree' has two trees that meet at the borders of the whole array; use form='spun', "
                "'decimated' or 'undecimated', or compute() the array first"
            )
        if isinstance(stage, Denoise):
            findings = self.learn(stage, flow, findings, flow.wait)
        result = self._run_positions(roundtrip, flow.planes, findings)
        if isinstance(stage, Denoise) and find_method(stage.method).is_guide:
            return self._run_guided(stage, flow.planes, result, findings, model)
        return result

    def find_roundtrip(self, stage: Denoise | Shrink) -> Roundtrip:
        """Return the transform of a stage for a single plane."""
        engine = get_engine("cpu")
        if isinstance(stage, Denoise) and find_method(stage.method).is_guide:
            # with a second step to come, filters of space wait for that
            stage = replace(stage, filters=())
        return Roundtrip(stage, (1, *self.space), engine, find_filters(engine))

    def learn(
        self,
        stage: Denoise,
        flow: Flow,
        findings: Findings,
        resolve: Callable[..., Sequence[Any]],
        *,
        is_noise_enough: bool = False,
    ) -> Findings:
        """Return what has to be known about all planes.

        Parameters
        ----------
        stage : Denoise
            What is to be done.
        flow : Flow
            The planes.
        findings : Findings
            What is known already.
        resolve : callable
            Returns what small results have come to: their values, or themselves, for which the planes then wait.
        is_noise_enough : bool
            Leave out what the method decides about whole bands.
        """
        roundtrip = self.find_roundtrip(stage)
        if roundtrip.level == 0:
            return findings
        noise: Any = findings.noise
        statistic: Any = findings.statistic
        method = find_method(stage.method)
        is_deciding = isinstance(method, DecidingMethod)
        if noise is None:
            aims: Any = self._draw_aims(roundtrip, flow) if is_deciding else None
            (aims,) = resolve(aims)
            noise = self._draw_noise(roundtrip, flow, aims)
            if isinstance(method, DecidingMethod) and method.needs_noise:
                (noise,) = resolve(noise)
        if is_deciding and statistic is None and not is_noise_enough:
            statistic = self._decide(stage, roundtrip, flow.planes, noise)
        noise, statistic = resolve(noise, statistic)
        return Findings(noise, statistic)

    def _draw_aims(self, roundtrip: Roundtrip, flow: Flow) -> Delayed | None:
        """Draw the sketches after which noise is measured exactly; None where that is not needed.

        A decision about a whole band may turn with the last bit of the noise, and then the band changes visibly.
        """
        look, search = self._search_noise(roundtrip, flow.planes, flow.known)
        if prod(edges[-1] for edges in look.edges[self.before :]) <= FEW:
            return None
        return draw_statistic([{"": look}], "sketch", search.merge, search.aim)

    def _draw_noise(self, roundtrip: Roundtrip, flow: Flow, aims: Any) -> Delayed:
        """Draw the measurement of noise: from sketches, or where `aims` say that medians are to be looked for."""
        look, search = self._search_noise(roundtrip, flow.planes, flow.known)
        if aims is None:
            return draw_statistic([{"": look}], "sketch", search.merge, search.find)
        return draw_statistic([{"": look}], "sketch", search.merge, search.pick, given=[aims], facts=[aims])

    def _search_noise(self, roundtrip: Roundtrip, planes: Any, known: Any) -> tuple[BlockMap, NoiseSearch]:
        """Return how the finest diagonal band is looked at, and who does."""
        diagonal = "d" * len(roundtrip.axes)
        band = self._forward(roundtrip, planes, 1).details[0][diagonal]
        is_decimated = roundtrip.stage.form != "undecimated"
        search = NoiseSearch(
            planes.shape[: self.before],
            len(self.space),
            combine_gains(roundtrip.wavelets, 1, diagonal),
            roundtrip.axes,
            max(wavelet.dec_len for wavelet in roundtrip.wavelets),
            2 if is_decimated else 1,
        )
        blocks = self._make_blocks(band)
        if known is None:
            return blocks.map(search.look, band), search
        # what lies outside is a mirror image, as far as coefficients look
        margin = 0 if is_decimated else roundtrip.margin
        for axis in search.axes:
            last = search.step * (band.shape[self.before + axis] - 1) - margin + search.reach
            behind = max(0, last + 1 - known.shape[axis])
            known = extend_array(known, axis, "reflect", margin + search.reach, behind)
        marks = [
            [_find_samples(search, axis, begin, end) for begin, end in pairwise(own)]
            for axis, own in enumerate(blocks.edges[self.before :])
        ]
        return blocks.map(search.look_at_known, band, (known, marks)), search

    def _decide(self, stage: Denoise, roundtrip: Roundtrip, planes: Any, noise: Any) -> Delayed:
        """Draw what the method decides about whole bands."""
        method = find_method(stage.method)
        given = noise if isinstance(method, DecidingMethod) and method.needs_noise else None
        groups = []
        for position, (x, _) in enumerate(self._list_positions(roundtrip, planes)):
            details = self._forward(roundtrip, x, roundtrip.level).details
            for rule, bands in zip(self._list_rules(roundtrip), details, strict=True):
                looks = {
                    key: self._look_at_band(roundtrip, rule, key, band, position)
                    for key, band in bands.items()
                    if rule.method is not None and rule.find_weight(key) != 0 and 0 not in band.shape
                }
                groups += [looks] if looks else []
        return draw_statistic(groups, "statistic", BandTally.merge, BandTally.decide, given=[given], facts=[given])

    def _look_at_band(self, roundtrip: Roundtrip, rule: LevelRule, key: str, band: Any, position: int) -> BlockMap:
        """Return how a band is looked at for what the method has to know."""
        dimensions, leading = len(self.space), band.shape[: self.before]
        tally = BandTally(rule, key, position, prod(band.shape[self.before :]), leading, dimensions)
        return self._make_blocks(band, rule, roundtrip).map(BandTallyWork(dimensions, self.engine, tally), band)

    def _list_positions(self, roundtrip: Roundtrip, planes: Any) -> Iterator[tuple[Any, list[Edges]]]:
        """Yield planes for each position of the image, and where their chunks are in what comes back."""
        margin = roundtrip.margin if roundtrip.stage.form == "undecimated" else 0
        margins = [margin if axis in roundtrip.axes else 0 for axis in range(len(self.space))]
        yield planes, self._move_edges(planes, margins)
        steps = [min(SPIN, length - 1) for length in self.space]
        if roundtrip.stage.form == "spun" and any(steps):
            moved = planes
            for axis, step in enumerate(steps, self.before):
                moved = extend_array(moved, axis, "reflect", step, 0)
            yield moved, self._move_edges(planes, steps)

    def _move_edges(self, planes: Any, steps: Sequence[int]) -> list[Edges]:
        """Return where the chunks of planes are in an array with some samples more before each axis of space."""
        moved = (*((0,) * self.before), *steps)
        return [tuple(e + step for e in own) for own, step in zip(find_grid(planes).edges, moved, strict=True)]

    def _list_rules(self, roundtrip: Roundtrip) -> tuple[LevelRule, ...]:
        """Return what happens on each level, the finest first."""
        shift = max((w.dec_len - 3) // 2 for w in roundtrip.wavelets) if any(map(is_expansive, roundtrip.modes)) else 0
        is_decimated = roundtrip.stage.form != "undecimated"
        return list_rules(
            roundtrip.stage, roundtrip.wavelets, roundtrip.level, shift, prod(self.space), is_decimated=is_decimated
        )

    def _run_positions(self, roundtrip: Roundtrip, planes: Any, findings: Findings) -> Any:
        """Draw the way there and back, averaged over all positions of the image."""
        results = [
            self._run_position(roundtrip, x, edges, position, findings.noise, findings.statistic)
            for position, (x, edges) in enumerate(self._list_positions(roundtrip, planes))
        ]
        if len(results) == 1:
            return results[0]
        return draw_array(self._make_blocks(planes).map(average, *results), "denoised")

    def _run_position(
        self, roundtrip: Roundtrip, x: Any, edges: Sequence[Edges], position: int, noise: Any, statistic: Any
    ) -> Any:
        """Draw the way there and back, for one position of the image."""
        way = self._forward(roundtrip, x, roundtrip.level)
        approximation, details = way.approximation, []
        for rule, bands in zip(self._list_rules(roundtrip), way.details, strict=True):
            has_parents = rule.takes_parent and rule.level < len(way.details)
            parents = way.details[rule.level] if has_parents else {}
            if any(rule.weights):
                looks = {
                    key: self._shrink(roundtrip, rule, key, band, parents.get(key), position)
                    for key, band in bands.items()
                }
                bands = draw_bundle(looks, "shrunk", [noise, statistic]).list_bands()
            details.append(bands)
        for spatial in roundtrip.stage.filters:
            if spatial.at == "approximation":
                approximation = self._filter(approximation, [spatial])
            elif spatial.at == "details":
                for level, bands in enumerate(details, 1):
                    if spatial.levels is None or level in spatial.levels:
                        looks = {key: self._look_through(spatial, band) for key, band in bands.items()}
                        details[level - 1] = draw_bundle(looks, "filtered").list_bands()
        engine = DaskEngine(self.engine, joins=False)
        inverse: Any = engine.stationary_inverse if roundtrip.stage.form == "undecimated" else engine.inverse
        goals = [edges, *way.edges[1:]]
        for plan, bands, goal in reversed(list(zip(way.plans, details, goals, strict=True))):
            approximation = inverse(plan, {"a" * len(roundtrip.axes): approximation, **bands}, goal)
        return approximation

    def _shrink(
        self, roundtrip: Roundtrip, rule: LevelRule, key: str, band: Any, parent: Any, position: int
    ) -> BlockMap:
        """Return how a band is shrunk."""
        blocks = self._make_blocks(band, rule, roundtrip)
        sources: list[Any] = [band]
        if parent is not None:
            windows = list(blocks.windows)
            if rule.is_decimated:
                for axis in roundtrip.axes:
                    own, length = axis + self.before, parent.shape[axis + self.before]
                    windows[own] = [_find_parents(window, length, rule.shift) for window in windows[own]]
            sources.append((parent, windows))
        return blocks.map(BandShrink(len(self.space), self.engine, rule, key, position), *sources)

    def _forward(self, roundtrip: Roundtrip, x: Any, levels: int) -> _Way:
        """Draw the way there, level by level."""
        axes = tuple(axis + self.before for axis in roundtrip.axes)
        engine = DaskEngine(self.engine, joins=False)
        between = [spatial for spatial in roundtrip.stage.filters if spatial.at == "between"]
        plans: Sequence[Any]
        if roundtrip.stage.form == "undecimated":
            for axis in axes:
                x = extend_array(x, axis, "reflect", roundtrip.margin, roundtrip.margin)
            shape = tuple(x.shape)
            plans = [stationary_plan(shape, axes, roundtrip.wavelets, number) for number in range(1, levels + 1)]
        else:
            plans = transform_plan(tuple(x.shape), axes, roundtrip.wavelets, roundtrip.modes, levels).levels
        details, edges = [], []
        for plan in plans:
            edges.append(find_grid(x).edges)
            bands = engine.split(plan, x).list_bands()
            x = self._filter(bands.pop("a" * len(axes)), between)
            details.append(bands)
        return _Way(plans, details, x, edges)

    def _run_guided(self, stage: Denoise, planes: Any, guess: Any, findings: Findings, model: Any) -> Any:
        """Draw the second step of a method whose result is a guide."""
        engine, noise = get_engine("cpu"), findings.noise
        passes = find_method(stage.method).list_passes(len(self.space))
        if passes:
            reach = reduce(add, (Reach(each.margin, each.margin, each.step) for each in passes))
            result = self._draw_guided(replace(stage, filters=()), planes, guess, noise, model, reach)
            if not stage.filters:
                return result
            # a round trip that shrinks nothing
            still = Roundtrip(replace(stage, strength=0.0), (1, *self.space), engine, find_filters(engine))
            return self._run_positions(still, result, findings)
        haar = replace(stage, wavelet="haar", form="undecimated", boundary=None)
        level = Roundtrip(haar, (1, *self.space), engine, find_filters(engine)).level
        margin = 2 ** (level + 1) + sum(
            reach_of_spatial(each).before * (level if each.at == "between" else 1) for each in stage.filters
        )
        return self._draw_guided(replace(stage, level=level), planes, guess, noise, model, Reach(margin, margin))

    def _draw_guided(self, stage: Denoise, planes: Any, guess: Any, noise: Any, model: Any, reach: Reach) -> Any:
        """Draw the rounds of that step, block by block."""
        before, after = model.stabilised_sigma, model.refined_sigma
        is_refined = not isinstance(model, Gaussian) and None not in (before, after) and before != after
        blocks = Blocks(find_grid(planes).edges, [reach] * len(self.space))
        for left in reversed(range(ROUNDS if is_refined else 1)):
            own = replace(stage, filters=() if left else stage.filters)
            weaker = before / after if is_refined else 1.0
            work = GuideWork(len(self.space), self.engine, own, weaker, model if is_refined else None, self.joint)
            guess = draw_array(blocks.map(work, planes, guess), "guided", [noise])
        return guess

    def _filter(self, x: Any, filters: Sequence[Spatial]) -> Any:
        """Draw filters of space on planes or on a band."""
        for spatial in filters:
            x = draw_array(self._look_through(spatial, x), "filtered")
        return x

    def _look_through(self, spatial: Spatial, x: Any) -> BlockMap:
        """Return how planes or a band are filtered."""
        blocks = Blocks(find_grid(x).edges, [reach_of_spatial(spatial)] * len(self.space))
        return blocks.map(SpatialWork(len(self.space), self.engine, spatial), x)

    def _make_blocks(self, x: Any, rule: LevelRule | None = None, roundtrip: Roundtrip | None = None) -> Blocks:
        """Return the chunks of an array; for those of a band, with what lies around them and has a say."""
        reaches = [Reach(0, 0)] * len(self.space)
        if rule is not None and roundtrip is not None:
            half = rule.window // 2
            for axis in roundtrip.axes:
                # from an even one on, so that parents stay theirs
                reaches[axis] = Reach(half, half, 2)
        return Blocks(find_grid(x).edges, reaches)


def _find_parents(window: Window, length: int, shift: int) -> Window:
    """Return the window of the parents of coefficients along one axis."""
    ((start, stop),) = window
    if length == 0 or start == stop:
        return ((0, 0),)
    first = min(start // 2, length - 1)
    return ((first, max(min((stop - 1 + shift) // 2 + 1, length), first + 1)),)


def _find_samples(search: NoiseSearch, axis: int, begin: int, end: int) -> Window:
    """Return the samples that coefficients of an axis look at, counted from the outermost that the first looks at."""
    if axis not in search.axes or end <= begin:
        return ((begin, max(begin, end)),)
    return ((search.step * begin, search.step * (end - 1) + 2 * search.reach + 1),)

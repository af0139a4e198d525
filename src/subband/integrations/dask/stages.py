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

from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.base import choose_margins
from subband.engines.filters.median import FEW
from subband.enhance.blockwise import (
    BandShrink,
    BandTally,
    BandTallyWork,
    CellSearch,
    Findings,
    GuideWork,
    NoiseSearch,
    Reach,
    SpatialWork,
    average,
    reach_of_spatial,
)
from subband.enhance.blockwise.smooth import FEW_CELLS
from subband.enhance.methods import DecidingMethod, find_method
from subband.enhance.models import Gaussian
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import ROUNDS, LevelRule, cut_finest, list_rules
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Spatial, Stage
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
class _Split:
    """A level of planes that were transformed, and those below it.

    Attributes
    ----------
    plan : LevelPlan or StationaryPlan
        Of this level.
    edges : list
        Where what it has split is cut into chunks.
    position : int
        Which of several positions of what the finer levels left this is.
    bands : dict
        Of this level, but for the approximation.
    approximation : Band or dask array
        What it left.
    below : list of (_Split, tuple of int)
        What became of that, once for each position, and how many samples were put before it.
    """

    plan: Any
    edges: Sequence[Edges]
    position: int
    bands: dict[str, Any]
    approximation: Any
    below: list[tuple[_Split, tuple[int, ...]]]

    def walk(self, level: int = 1) -> Iterator[tuple[int, _Split]]:
        """Yield all levels and what is there, the finest first."""
        yield level, self
        for below, _ in self.below:
            yield from below.walk(level + 1)


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
        look, search = self._search_noise(roundtrip, flow)
        if isinstance(search, CellSearch):
            is_few = search.cells.total <= FEW_CELLS
        else:
            is_few = prod(edges[-1] for edges in look.edges[self.before :]) <= FEW
        return None if is_few else draw_statistic([{"": look}], "sketch", search.merge, search.aim)

    def _draw_noise(self, roundtrip: Roundtrip, flow: Flow, aims: Any) -> Delayed:
        """Draw the measurement of noise: from sketches, or where `aims` say that a second look is worth while."""
        look, search = self._search_noise(roundtrip, flow, is_second=aims is not None)
        if aims is None:
            return draw_statistic([{"": look}], "sketch", search.merge, search.find)
        return draw_statistic([{"": look}], "sketch", search.merge, search.pick, given=[aims], facts=[aims])

    def _search_noise(
        self, roundtrip: Roundtrip, flow: Flow, *, is_second: bool = False
    ) -> tuple[BlockMap, NoiseSearch | CellSearch]:
        """Return how the finest bands are looked at, for the first time or with aims, and who does."""
        planes, known = flow.planes, flow.known
        diagonal = "d" * len(roundtrip.axes)
        bands = dict(self._forward(roundtrip, planes, 1).bands)
        is_decimated = roundtrip.stage.form != "undecimated"
        gains = {key: combine_gains(roundtrip.wavelets, 1, key) for key in (diagonal, *bands)}
        band = bands.pop(diagonal)
        search = NoiseSearch(
            planes.shape[: self.before],
            len(self.space),
            gains[diagonal],
            roundtrip.axes,
            max(wavelet.dec_len for wavelet in roundtrip.wavelets),
            2 if is_decimated else 1,
        )
        blocks = self._make_blocks(band)
        cells = cut_finest(roundtrip, band.shape[self.before :])
        smooth = None if cells is None else CellSearch(cells, tuple(gains.values()), search)
        edges = blocks.edges[self.before :]
        runs = [
            [(begin, end) if smooth is None else smooth.find_window(axis, begin, end) for begin, end in pairwise(own)]
            for axis, own in enumerate(edges)
        ]
        windows = [*blocks.windows[: self.before], *([(run,) for run in own] for own in runs)]
        parts = [(each, windows) for each in (band, *bands.values())]
        if smooth is not None:
            parts.insert(0, self._align_samples(smooth, planes, runs, windows))
        if known is None:
            if smooth is not None:
                return blocks.map(smooth.count if is_second else smooth.look, *parts), smooth
            return blocks.map(search.look, band), search
        # what lies outside is a mirror image, as far as coefficients look
        margin = 0 if is_decimated else roundtrip.margin
        for axis in search.axes:
            last = search.step * (band.shape[self.before + axis] - 1) - margin + search.reach
            behind = max(0, last + 1 - known.shape[axis])
            known = extend_array(known, axis, "reflect", margin + search.reach, behind)
        marks, around = (
            [[_find_samples(search, axis, *run) for run in own] for axis, own in enumerate(each)]
            for each in ([list(pairwise(own)) for own in edges], runs)
        )
        if smooth is not None:
            work = smooth.count_known if is_second else smooth.look_at_known
            return blocks.map(work, band, (known, marks), (known, around), *parts), smooth
        return blocks.map(search.look_at_known, band, (known, marks)), search

    def _align_samples(
        self, search: CellSearch, planes: Any, runs: Sequence[Sequence[tuple[int, int]]], windows: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """Return the samples that bands begin and end with, and those of the cells of each block."""
        found = [[search.find_samples(axis, *run) for run in own] for axis, own in enumerate(runs)]
        for axis, own in enumerate(found):
            before = search.count_ahead(axis)
            behind = max(0, max(end for _, end in own) - before - planes.shape[self.before + axis])
            planes = extend_array(planes, self.before + axis, "constant", before, behind)
        return planes, [*windows[: self.before], *([(run,) for run in own] for own in found)]

    def _decide(self, stage: Denoise, roundtrip: Roundtrip, planes: Any, noise: Any) -> Delayed:
        """Draw what the method decides about whole bands."""
        method = find_method(stage.method)
        given = noise if isinstance(method, DecidingMethod) and method.needs_noise else None
        groups = []
        for position, (x, _) in enumerate(self._list_positions(roundtrip, planes)):
            rules = self._list_rules(roundtrip)
            for level, split in self._forward(roundtrip, x, roundtrip.level, position).walk():
                rule = rules[level - 1]
                looks = {
                    key: self._look_at_band(roundtrip, rule, key, band, split.position)
                    for key, band in split.bands.items()
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
        steps = roundtrip.choose_steps(self.space)
        if any(steps):
            yield self._extend(planes, choose_margins(steps)), self._move_edges(planes, steps)

    def _extend(self, x: Any, margins: Sequence[tuple[int, int]]) -> Any:
        """Return an array with more samples before and behind each axis of space, mirrored."""
        for axis, (before, behind) in enumerate(margins, self.before):
            x = extend_array(x, axis, "reflect", before, behind)
        return x

    def _move_edges(self, planes: Any, steps: Sequence[int]) -> list[Edges]:
        """Return where the chunks of planes are in an array with some samples more before each axis of space."""
        moved = (*((0,) * self.before), *steps)
        return [tuple(e + step for e in own) for own, step in zip(find_grid(planes).edges, moved, strict=True)]

    def _list_rules(self, roundtrip: Roundtrip) -> tuple[LevelRule, ...]:
        """Return what happens on each level, the finest first."""
        settings = roundtrip.stage, roundtrip.wavelets, roundtrip.level, roundtrip.shift, prod(self.space)
        return list_rules(*settings, is_decimated=roundtrip.stage.form != "undecimated")

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
        split = self._forward(roundtrip, x, roundtrip.level, position)
        return self._undo(roundtrip, split, edges, self._list_rules(roundtrip), [noise, statistic])

    def _undo(
        self,
        roundtrip: Roundtrip,
        split: _Split,
        edges: Sequence[Edges],
        rules: Sequence[LevelRule],
        found: Sequence[Any],
    ) -> Any:
        """Draw the way back from a level, with bands that have shrunk; `edges` are those of the result."""
        rule, below, approximation = rules[0], split.below, split.approximation
        bands = split.bands
        if any(rule.weights):
            parents = below[0][0].bands if rule.takes_parent and below else {}
            looks = {
                key: self._shrink(roundtrip, rule, key, band, parents.get(key), split.position)
                for key, band in bands.items()
            }
            bands = draw_bundle(looks, "shrunk", found).list_bands()
        for spatial in roundtrip.stage.filters:
            if spatial.at == "approximation" and not below:
                approximation = self._filter(approximation, [spatial])
            elif spatial.at == "details" and (spatial.levels is None or rule.level in spatial.levels):
                looks = {key: self._look_through(spatial, band) for key, band in bands.items()}
                bands = draw_bundle(looks, "filtered").list_bands()
        if len(below) == 1:
            approximation = self._undo(roundtrip, below[0][0], below[0][0].edges, rules[1:], found)
        elif below:
            blocks = self._make_blocks(approximation)
            results = [
                self._undo(roundtrip, own, self._move_edges(approximation, steps), rules[1:], found)
                for own, steps in below
            ]
            approximation = draw_array(blocks.map(average, *results), "averaged")
        engine = DaskEngine(self.engine, joins=False)
        inverse: Any = engine.stationary_inverse if roundtrip.stage.form == "undecimated" else engine.inverse
        return inverse(split.plan, {"a" * len(roundtrip.axes): approximation, **bands}, edges)

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

    def _forward(self, roundtrip: Roundtrip, x: Any, levels: int, position: int = 0) -> _Split:
        """Draw the way there, level by level."""
        if roundtrip.stage.form == "undecimated":
            margins = [roundtrip.margin if axis in roundtrip.axes else 0 for axis in range(len(self.space))]
            x = self._extend(x, [(margin, margin) for margin in margins])
        return self._split(roundtrip, x, 1, levels, position)

    def _split(self, roundtrip: Roundtrip, x: Any, level: int, levels: int, position: int) -> _Split:
        """Draw a level and those below it."""
        shape, axes = tuple(x.shape), tuple(axis + self.before for axis in roundtrip.axes)
        plan: Any
        if roundtrip.stage.form == "undecimated":
            plan = stationary_plan(shape, axes, roundtrip.wavelets, level)
        else:
            plan = transform_plan(shape, axes, roundtrip.wavelets, roundtrip.modes, 1).levels[0]
        bands = DaskEngine(self.engine, joins=False).split(plan, x).list_bands()
        between = [spatial for spatial in roundtrip.stage.filters if spatial.at == "between"]
        rest = self._filter(bands.pop("a" * len(axes)), between)
        steps = roundtrip.choose_steps(tuple(rest.shape)[self.before :], level + 1)
        moved: list[tuple[Any, tuple[int, ...]]] = []
        if level < levels and any(steps):
            whole = draw_array(self._make_blocks(rest).map(average, rest), "approximation")
            margins = choose_margins(steps)
            moved = [
                (self._extend(whole, [(0, sum(own)) for own in margins]), (0,) * len(steps)),
                (self._extend(whole, margins), steps),
            ]
        elif level < levels:
            moved = [(rest, (0,) * len(steps))]
        below = [
            (self._split(roundtrip, own, level + 1, levels, position + (number << level)), begin)
            for number, (own, begin) in enumerate(moved)
        ]
        return _Split(plan, find_grid(x).edges, position, bands, rest, below)

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
            # parents of so many are those of the inner ones, and those beside these
            half = max(rule.window // 2, 3 if rule.takes_parent else 0)
            for axis in roundtrip.axes:
                # from an even one on, so that parents stay theirs
                reaches[axis] = Reach(half, half, 2)
        return Blocks(find_grid(x).edges, reaches)


def _find_parents(window: Window, length: int, shift: int) -> Window:
    """Return the window of the parents of coefficients along one axis, and of one more, which is beside the last."""
    ((start, stop),) = window
    if length == 0 or start == stop:
        return ((0, 0),)
    first = min(start // 2, length - 1)
    return ((first, max(min((stop - 1 + shift) // 2 + 2, length), first + 1)),)


def _find_samples(search: NoiseSearch, axis: int, begin: int, end: int) -> Window:
    """Return the samples that coefficients of an axis look at, counted from the outermost that the first looks at."""
    if axis not in search.axes or end <= begin:
        return ((begin, max(begin, end)),)
    return ((search.step * begin, search.step * (end - 1) + 2 * search.reach + 1),)

"""The stages of an enhancer as graphs: level by level, on blocks with margins, or without decimation.

What has to be known about the whole array, such as the strength of noise, is found out in passes of their own; then
everything is read again, and computed chunk by chunk. The source is read twice or more rather than kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import TaskRef

from subband.boundary import is_expansive
from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.median import FEW
from subband.enhance.methods import DecidingMethod, find_method
from subband.enhance.models import Gaussian
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import ROUNDS
from subband.enhance.stages import SPIN, Blur, Denoise, Sharpen, Shrink, Stage, weigh_levels
from subband.errors import ArgumentError
from subband.integrations.dask.decisions import draw_decisions, draw_stationary_decisions
from subband.integrations.dask.findings import Findings
from subband.integrations.dask.graphs import Draft, Grid, find_grid, make_array, rename
from subband.integrations.dask.margins import draw_blocks
from subband.integrations.dask.noise import count_diagonal, draw_noise
from subband.integrations.dask.passes import read_again
from subband.integrations.dask.planes import BlockStage
from subband.integrations.dask.rules import LevelShrink
from subband.integrations.dask.shrinkage import draw_forward, draw_inverse, draw_shrinkage, draw_spin
from subband.integrations.dask.stationary import run_stationary
from subband.pipeline.reach import Reach, find_border_obstacle, measure_reach
from subband.plan import transform_plan

__all__ = ["Flow", "StageWork"]


@dataclass
class Flow:
    """An array on its way through the stages.

    Attributes
    ----------
    planes : dask array
        Leading axes, then those of space.
    pixels, known : dask array or None
        What has gaps, and where it has none; as they are read in the same pass as the planes.
    settled : list of Delayed
        What was decided in earlier passes, and must not be computed again in this one.
    """

    planes: Any
    pixels: Any
    known: Any
    settled: list[Delayed]

    def wait(self, *found: Any) -> None:
        """Read everything once more, and not before all is found, so that nothing has to be kept in the meantime."""
        # by what they are: Dask would draw a comparison as well
        done = set(map(id, self.settled))
        waited = [each for each in found if isinstance(each, Delayed) and id(each) not in done]
        if not waited:
            return
        if self.known is None:
            (self.planes,) = read_again([self.planes], waited, self.settled)
        else:
            everything = [self.planes, self.pixels, self.known]
            self.planes, self.pixels, self.known = read_again(everything, waited, self.settled)
        self.settled += waited


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
        Who computes.
    """

    space: tuple[int, ...]
    before: int
    engine: str | Engine | None

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
            Of the noise in the picture.
        """
        if isinstance(stage, Blur | Sharpen):
            reach = _reach_of_spatial(stage)
            return self._run_blocks(stage, flow.planes, [reach] * len(self.space), None)
        passage = self.find_passage(stage)
        if passage.level == 0:
            return flow.planes
        if obstacle := _find_form_obstacle(stage):
            raise ArgumentError(obstacle)
        if stage.filters and (obstacle := _find_obstacle(stage)):
            raise ArgumentError(obstacle)
        noise, statistic = self._learn(stage, passage, flow, findings)
        if stage.form == "undecimated":
            shrinks = self._list_shrinks(stage, passage)
            result = run_stationary(passage, flow.planes, noise, statistic, shrinks, self.engine)
        elif stage.filters:
            result = self._run_in_blocks(stage, passage, flow.planes, noise, statistic)
        else:
            result = self._run_levels(stage, passage, flow.planes, noise, statistic)
        if isinstance(stage, Denoise) and find_method(stage.method).is_guide:
            return self._run_guided(stage, flow.planes, result, noise, model)
        return result

    def find_passage(self, stage: Denoise | Shrink) -> Roundtrip:
        """Return the transform of a stage for a single plane."""
        engine = get_engine("cpu")
        return Roundtrip(stage, (1, *self.space), engine, find_filters(engine))

    def _learn(self, stage: Denoise | Shrink, passage: Roundtrip, flow: Flow, findings: Findings) -> tuple[Any, Any]:
        """Return what has to be known about all planes, which are read again when it is."""
        if isinstance(stage, Shrink):
            return None, None
        noise: Any = findings.noise
        statistic: Any = findings.statistic
        is_measured = noise is None
        if is_measured:
            aims = self.draw_aims(stage, passage, flow.planes, flow.known)
            if aims is not None:
                flow.wait(aims)
            noise = self.draw_noise(passage, flow.planes, flow.known, aims)
        method = find_method(stage.method)
        if isinstance(method, DecidingMethod) and statistic is None:
            if is_measured and method.needs_noise:
                flow.wait(noise)
            statistic = self.decide(stage, passage, flow.planes, noise)
        flow.wait(noise, statistic)
        return noise, statistic

    def draw_aims(self, stage: Denoise, passage: Roundtrip, planes: Any, known: Any) -> Delayed | None:
        """Draw the sketches after which noise is measured exactly; None where that is not needed.

        A decision about a whole band may turn with the last bit of the noise, and then the band changes visibly.
        """
        decides = isinstance(find_method(stage.method), DecidingMethod)
        if not decides or count_diagonal(passage, self.space) <= FEW:
            return None
        return draw_noise(planes, passage, len(self.space), self.engine, known, is_aiming=True)

    def draw_noise(self, passage: Roundtrip, planes: Any, known: Any, aims: Any = None) -> Delayed:
        """Draw the measurement of noise."""
        return draw_noise(planes, passage, len(self.space), self.engine, known, aims=aims)

    def decide(self, stage: Denoise, passage: Roundtrip, planes: Any, noise: Any) -> Delayed:
        """Draw what the method decides about whole bands."""
        shrinks = self._list_shrinks(stage, passage)
        method = find_method(stage.method)
        given = noise if isinstance(method, DecidingMethod) and method.needs_noise else None
        if stage.form == "undecimated":
            return draw_stationary_decisions(planes, passage, self.engine, shrinks, given)
        return draw_decisions(planes, passage, self.engine, self._find_steps(stage), shrinks, given)

    def _find_steps(self, stage: Denoise | Shrink) -> dict[int, int]:
        """Return how far each axis is moved for the second position of a spun picture."""
        if stage.form != "spun":
            return {}
        return {axis + self.before: min(SPIN, length - 1) for axis, length in enumerate(self.space)}

    def _list_shrinks(self, stage: Denoise | Shrink, passage: Roundtrip) -> list[LevelShrink]:
        """Return what happens on each level, the finest first."""
        weights = weigh_levels(stage, passage.level) * stage.strength if isinstance(stage, Denoise) else None
        shift = max((w.dec_len - 3) // 2 for w in passage.wavelets) if any(map(is_expansive, passage.modes)) else 0
        return [
            LevelShrink(
                stage,
                passage.wavelets,
                number,
                passage.level,
                1.0 if weights is None else float(weights[number - 1]),
                shift,
                len(self.space),
                prod(self.space),
                stage.form != "undecimated",
                engine=self.engine,
            )
            for number in range(1, passage.level + 1)
        ]

    def _run_levels(self, stage: Denoise | Shrink, passage: Roundtrip, planes: Any, noise: Any, statistic: Any) -> Any:
        """Draw a stage level by level."""
        before = self.before
        axes = tuple(axis + before for axis in passage.axes)
        shrinks = self._list_shrinks(stage, passage)
        token = tokenize(planes.name, repr(stage), self.space, passage.modes, passage.level, str(noise), str(statistic))
        draft = Draft(f"subband-levels-{token}")
        grid = find_grid(planes)
        known, decided = (TaskRef(each.key) if isinstance(each, Delayed) else each for each in (noise, statistic))

        def draw(source: Grid, position: int, edges: Any, others: Grid | None) -> Grid:
            plan = transform_plan(source.shape, axes, passage.wavelets, passage.modes, passage.level)
            levels = draw_forward(draft, source, plan, position, self.engine)
            placed = [replace(each, position=position) for each in shrinks]
            shrunk = draw_shrinkage(draft, levels, placed, known, decided)
            return draw_inverse(draft, levels, shrunk, edges, position, self.engine, others)

        result = draw(grid, 0, grid.edges, None)
        steps = self._find_steps(stage)
        if any(steps.values()):
            moved = [tuple(edge + steps.get(axis, 0) for edge in own) for axis, own in enumerate(grid.edges)]
            result = draw(draw_spin(draft, grid, steps), 1, moved, result)
        return _finish(draft, planes, result, grid, [noise, statistic])

    def _run_in_blocks(
        self, stage: Denoise | Shrink, passage: Roundtrip, planes: Any, noise: Any, statistic: Any
    ) -> Any:
        """Draw a stage that is run on blocks with margins as wide as it reaches."""
        fixed = replace(stage, level=passage.level)
        shrinks = tuple(self._list_shrinks(fixed, passage))
        # windows are wider here than in volumes, for which a reach is measured
        beside = max(shrink.window // 2 for shrink in shrinks) * 2**passage.level
        # and Laplacians, which are those of slices there, look along all axes
        beside += sum(2 ** (passage.level + 1) for each in stage.filters if isinstance(each, Sharpen))
        reach = measure_reach(fixed, passage.level) + Reach(SPIN + beside, SPIN + beside)
        block = BlockStage(fixed, len(self.space), prod(self.space), shrinks=shrinks, engine=self.engine)
        return draw_blocks(planes, None, block, [reach] * len(self.space), noise, statistic)

    def _run_guided(self, stage: Denoise, planes: Any, guess: Any, noise: Any, model: Any) -> Any:
        """Draw the second step of the method ``'wiener'``."""
        engine = get_engine("cpu")
        haar = replace(stage, wavelet="haar", form="undecimated", boundary=None)
        level = Roundtrip(haar, (1, *self.space), engine, find_filters(engine)).level
        margin = 2 ** (level + 1) + sum(
            _reach_of_spatial(each).before * (level if each.at == "between" else 1) for each in stage.filters
        )
        before, after = model.stabilised_sigma, model.refined_sigma
        is_refined = not isinstance(model, Gaussian) and None not in (before, after) and before != after
        rounds = ROUNDS if is_refined else 1
        for left in reversed(range(rounds)):
            own = replace(stage, level=level, filters=() if left else stage.filters)
            block = BlockStage(
                own,
                len(self.space),
                prod(self.space),
                "guide",
                before / after if is_refined else 1.0,
                model if is_refined else None,
                engine=self.engine,
            )
            guess = draw_blocks(planes, guess, block, [Reach(margin, margin)] * len(self.space), noise)
        return guess

    def _run_blocks(self, stage: Stage, planes: Any, reaches: Sequence[Reach], noise: Any) -> Any:
        block = BlockStage(stage, len(self.space), prod(self.space), engine=self.engine)
        return draw_blocks(planes, None, block, reaches, noise)


def _finish(draft: Draft, planes: Any, result: Grid, grid: Grid, others: Sequence[Any]) -> Any:
    """Return the array of a draft, in the chunks of the planes."""
    graph = draft.finish([planes, *(each for each in others if isinstance(each, Delayed))])
    name = draft.name.replace("-levels-", "-denoised-")
    tasks = rename(Grid(name, grid.edges), result)
    return make_array(graph, draft.name, name, Grid(name, grid.edges), tasks, planes._meta)


def _find_form_obstacle(stage: Denoise | Shrink) -> str:
    """Say why a method cannot decide about arrays of Dask in the form of a stage."""
    method = find_method(stage.method) if isinstance(stage, Denoise) else None
    if not isinstance(method, DecidingMethod) or not (obstacle := method.find_obstacle(str(stage.form))):
        return ""
    return f"{obstacle}; use form='spun' or 'decimated', or compute() the array first"


def _find_obstacle(stage: Denoise | Shrink) -> str:
    """Say why the filters of a stage keep it from chunks, and the way out; nothing if they do not."""
    way = "put the filters behind the stage, as stages of their own, or give x.compute()"
    if stage.form == "undecimated":
        return f"form='undecimated' with filters is not there for arrays of Dask; use 'decimated' or 'spun', or {way}"
    method = find_method(stage.method) if isinstance(stage, Denoise) else None
    if isinstance(method, DecidingMethod) and any(each.at == "between" for each in stage.filters):
        return (
            f"method={method.name!r} decides by all coefficients of a band, and filters at='between' change them "
            f"on the way from level to level, in blocks that have only their own; use at='details', {way}"
        )
    obstacle = find_border_obstacle(stage)
    return f"{obstacle}, and filters between the transforms need blocks; use another boundary" if obstacle else ""


def _reach_of_spatial(stage: Blur | Sharpen) -> Reach:
    if isinstance(stage, Blur):
        half = len(stage.taps) // 2
        return Reach(half, half)
    return Reach(1, 1)

"""`denoise` and `Enhancer` for arrays of Dask.

What has to be known about the whole array, such as the strength of noise, is found out in a pass of its own; then
everything is read again, and computed chunk by chunk. The source is read twice rather than kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, prod, sqrt
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask._task_spec import TaskRef
from dask.base import tokenize
from dask.delayed import Delayed
from dask.graph_manipulation import bind

from subband.arrays import computed_dtype, to_host
from subband.boundary import is_expansive
from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import Layout, find_layout
from subband.enhance.models import Gaussian, Speckle
from subband.enhance.passage import Passage
from subband.enhance.program import Program
from subband.enhance.stages import SPIN, Blur, Denoise, Sharpen, Shrink, Stage, weigh_levels
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.integrations.dask.graphs import Draft, Grid, find_grid, make_array, rename
from subband.integrations.dask.margins import draw_blocks
from subband.integrations.dask.noise import draw_noise, draw_statistics
from subband.integrations.dask.planes import BlockStage, LevelShrink, PixelForm
from subband.integrations.dask.shrinkage import draw_forward, draw_inverse, draw_shrinkage, draw_spin
from subband.integrations.dask.undecimated import run_undecimated
from subband.integrations.dask.waves import compute_last
from subband.pipeline.reach import Reach, find_obstacle, measure_reach
from subband.plan import transform_plan
from subband.typing import Array

__all__ = ["enhance", "measure_noise"]

# How often a noise model that can do so refines noise and filters again, as in memory.
_ROUNDS = 3


def enhance(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: str = "refuse",
    engine: str | Engine | None = None,
    *,
    noise: Array | None = None,
) -> Any:
    """Do what `Enhancer.apply` does, lazily, for arrays of Dask.

    What `measure_noise` has found can be given as `noise`, so that it is not looked for again.

    Examples
    --------
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 500), chunks=(200, 250))
    >>> result = enhance(Enhancer(Denoise()), noisy)
    >>> result.chunks == noisy.chunks, bool(result.std().compute() < 2)
    (True, True)
    """
    if mask is not None or nonfinite != "refuse":
        raise ArgumentError(
            "mask and nonfinite='mask' need the whole picture, which an array of Dask is not to be; fill the gaps "
            "first, as with dask.array.nan_to_num(x), or give x.compute()"
        )
    if 0 in image.shape or image.ndim == 0:
        raise ShapeError(f"image has shape {image.shape}; it needs at least 1 pixel, and 1 axis")
    computed_dtype(image.dtype, "image")
    if image.dtype.kind == "c":
        raise DtypeError(f"image has dtype {image.dtype}; a picture is real: give image.real or abs(image)")
    layout = find_layout(tuple(image.shape), axes, channel_axis)
    if layout.has_alpha:
        inner = enhance(enhancer, image[..., :-1], layout.space, layout.channel, None, nonfinite, engine, noise=noise)
        return da.concatenate([inner, image[..., -1:]], axis=-1).rechunk(image.chunks)
    work, pixels, order = _arrange(enhancer, image, layout, engine)
    result = work.run(pixels, noise)
    if order != tuple(range(image.ndim)):
        result = result.transpose(np.argsort(order).tolist())
    return result.rechunk(image.chunks)


def measure_noise(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    *,
    engine: str | Engine | None = None,
    client: Any = None,
) -> Array | None:
    """Compute how strong noise is in each plane of an array, as `enhance` would do.

    Returns
    -------
    ndarray or None
        None if it is known already, or if it can only be found out on the way.

    Examples
    --------
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 500), chunks=(200, 250))
    >>> round(float(measure_noise(Enhancer(Denoise()), noisy)))
    10
    """
    layout = find_layout(tuple(image.shape), axes, channel_axis)
    if layout.has_alpha:
        image, layout = image[..., :-1], replace(layout, has_alpha=False)
    work, pixels, _ = _arrange(enhancer, image, layout, engine)
    delayed = work.draw_noise(pixels)
    if delayed is None:
        return None
    found: Array = compute_last(delayed) if client is None else client.compute(delayed).result()
    return found


def _arrange(enhancer: Enhancer, image: Any, layout: Layout, engine: Any) -> tuple[_Work, Any, tuple[int, ...]]:
    """Return the work on an array, the array with the axes of space at last, and their order."""
    others = [axis for axis in range(image.ndim) if axis not in layout.space and axis != layout.channel]
    is_colour = layout.channel is not None and image.shape[layout.channel] == 3
    leading = others if layout.channel is None else [*others, layout.channel]
    order = (*leading, *layout.space)
    pixels = image if order == tuple(range(image.ndim)) else image.transpose(order)
    if is_colour:
        pixels = pixels.rechunk({len(leading) - 1: -1})
    space = tuple(image.shape[axis] for axis in layout.space)
    return _Work(enhancer, space, tuple(pixels.shape[: len(leading)]), is_colour, engine), pixels, order


@dataclass(frozen=True)
class _Work:
    """An enhancer made ready for an array: leading axes, then those of space."""

    enhancer: Enhancer
    space: tuple[int, ...]
    leading: tuple[int, ...]
    is_colour: bool
    engine: str | Engine | None

    def run(self, pixels: Any, measured: Array | None) -> Any:
        """Draw all stages."""
        noise = self._prepare_noise() if measured is None else measured
        form, planes = self._enter(pixels)
        for stage in self.enhancer.stages:
            planes = self._run_stage(stage, planes, noise, form.enhancer.model)
        kept = _result_dtype(pixels.dtype)
        return planes.map_blocks(form.leave, dtype=kept, meta=_as_meta(pixels, kept))

    def draw_noise(self, pixels: Any) -> Delayed | None:
        """Draw the measurement of noise, if that is what a single stage at the beginning asks for."""
        stages = self.enhancer.stages
        stage = stages[0] if stages else None
        if not isinstance(stage, Denoise) or self._prepare_noise() is not None:
            return None
        if any(isinstance(each, Denoise) for each in stages[1:]):
            return None
        engine = get_engine("cpu")
        passage = Passage(stage, (1, *self.space), engine, find_filters(engine))
        if passage.level == 0 or stage.form == "undecimated":
            return None
        return draw_noise(self._enter(pixels)[1], passage, len(self.space), self.engine)

    def _enter(self, pixels: Any) -> tuple[PixelForm, Any]:
        """Return planes, and the form in which they were pixels."""
        enhancer = self.enhancer
        model = enhancer.model
        if isinstance(model, Speckle) and model.floor is None and pixels.dtype.kind == "f":
            # one number of the whole array, which all chunks wait for
            brightest = float(pixels.max().compute())
            model = replace(model, floor=model.choose_floor(np.array([brightest], pixels.dtype)))
        bare = replace(enhancer, stages=(), sigma=None, noise=model)
        form = PixelForm(bare, self.space, 3 if self.is_colour else 1, pixels.dtype, self.engine)
        wide = np.float64 if _is_wide(pixels.dtype) else np.float32
        return form, pixels.map_blocks(form.enter, dtype=wide, meta=_as_meta(pixels, wide))

    def _prepare_noise(self) -> Array | None:
        """Return the strength of noise in all planes, if it is known."""
        sigma = self.enhancer.sigma
        if sigma is None:
            sigma = self.enhancer.model.stabilised_sigma
        if sigma is None:
            return None
        if self.is_colour:
            bare = replace(self.enhancer, stages=())
            numbers = to_host(Program(bare, self.space, 3, get_engine("cpu"), True)._noise)
        else:
            numbers = np.asarray(sigma, np.float64)
        if numbers.ndim and (not self.leading or len(numbers) != self.leading[-1]):
            raise ShapeError(
                f"sigma has {len(numbers)} entries, and the picture has {(*self.leading, 1)[-1]} channels; give one "
                "for each"
            )
        return np.ascontiguousarray(np.broadcast_to(numbers, self.leading))

    def _run_stage(self, stage: Stage, planes: Any, noise: Array | None, model: Any) -> Any:
        if isinstance(stage, Blur | Sharpen):
            reach = _reach_of_spatial(stage)
            return self._run_blocks(stage, planes, [reach] * len(self.space), None)
        engine = get_engine("cpu")
        passage = Passage(stage, (1, *self.space), engine, find_filters(engine))
        if passage.level == 0:
            return planes
        if isinstance(stage, Denoise) and stage.method in ("sure", "neigh"):
            raise ArgumentError(
                f"method={stage.method!r} looks at all coefficients of a band before the first is changed, and an "
                "array of Dask is not to be in memory at once; use 'bivariate', 'wiener', 'bayes' or 'visu', or give "
                "x.compute()"
            )
        if stage.form == "undecimated":
            shrinks = self._list_shrinks(stage, passage)
            result, planes, known = run_undecimated(stage, passage, planes, noise, shrinks, self.engine)
        else:
            planes, known, statistic = self._learn(stage, passage, planes, noise)
            if stage.filters:
                result = self._run_in_blocks(stage, passage, planes, known)
            else:
                result = self._run_levels(stage, passage, planes, known, statistic)
        if isinstance(stage, Denoise) and stage.method == "wiener":
            return self._run_guided(stage, planes, result, known, model)
        return result

    def _learn(self, stage: Denoise | Shrink, passage: Passage, planes: Any, noise: Any) -> tuple[Any, Any, Any]:
        """Return planes to be read once they are needed, and what has to be known about all of them before."""
        if isinstance(stage, Shrink):
            return planes, None, None
        known, statistic = noise, None
        if known is None:
            known = draw_noise(planes, passage, len(self.space), self.engine)
        if stage.method == "bayes" and not stage.filters:
            steps = self._find_steps(stage)
            statistic = draw_statistics(planes, passage, len(self.space), self.engine, steps)
        waited = [each for each in (known, statistic) if isinstance(each, Delayed)]
        # read once more, and not before, so that nothing has to be kept in the meantime
        return bind(planes, waited) if waited else planes, known, statistic

    def _find_steps(self, stage: Denoise | Shrink) -> dict[int, int]:
        """Return how far each axis is moved for the second position of a spun picture."""
        if stage.form != "spun":
            return {}
        return {axis + len(self.leading): min(SPIN, length - 1) for axis, length in enumerate(self.space)}

    def _list_shrinks(self, stage: Denoise | Shrink, passage: Passage) -> list[LevelShrink]:
        """Return what happens on each level, the finest first."""
        weights = weigh_levels(stage, passage.level) * stage.strength if isinstance(stage, Denoise) else None
        shift = max((w.dec_len - 3) // 2 for w in passage.wavelets) if any(map(is_expansive, passage.modes)) else 0
        threshold = sqrt(2 * log(max(prod(self.space), 2)))
        return [
            LevelShrink(
                stage,
                passage.wavelets,
                number,
                passage.level,
                1.0 if weights is None else float(weights[number - 1]),
                shift,
                len(self.space),
                threshold,
                stage.form != "undecimated",
                engine=self.engine,
            )
            for number in range(1, passage.level + 1)
        ]

    def _run_levels(self, stage: Denoise | Shrink, passage: Passage, planes: Any, noise: Any, statistic: Any) -> Any:
        """Draw a stage level by level."""
        before = len(self.leading)
        axes = tuple(axis + before for axis in passage.axes)
        shrinks = self._list_shrinks(stage, passage)
        token = tokenize(planes.name, repr(stage), self.space, passage.modes, passage.level, str(noise), str(statistic))
        draft = Draft(f"subband-levels-{token}")
        grid = find_grid(planes)
        known, powers = (TaskRef(each.key) if isinstance(each, Delayed) else each for each in (noise, statistic))

        def draw(source: Grid, position: int, edges: Any, others: Grid | None) -> Grid:
            plan = transform_plan(source.shape, axes, passage.wavelets, passage.modes, passage.level)
            levels = draw_forward(draft, source, plan, position, self.engine)
            placed = [replace(each, position=position) for each in shrinks]
            shrunk = draw_shrinkage(draft, levels, placed, known, powers)
            return draw_inverse(draft, levels, shrunk, edges, position, self.engine, others)

        result = draw(grid, 0, grid.edges, None)
        steps = self._find_steps(stage)
        if any(steps.values()):
            moved = [tuple(edge + steps.get(axis, 0) for edge in own) for axis, own in enumerate(grid.edges)]
            result = draw(draw_spin(draft, grid, steps), 1, moved, result)
        return _finish(draft, planes, result, grid, [noise, statistic])

    def _run_in_blocks(self, stage: Denoise | Shrink, passage: Passage, planes: Any, noise: Any) -> Any:
        """Draw a stage that is run on blocks with margins as wide as it reaches."""
        fixed = replace(stage, level=passage.level)
        if obstacle := find_obstacle(stage):
            raise ArgumentError(f"{obstacle}, and filters between the transforms need blocks; use another boundary")
        reach = measure_reach(fixed, passage.level) + Reach(SPIN, SPIN)
        return self._run_blocks(fixed, planes, [reach] * len(self.space), noise)

    def _run_guided(self, stage: Denoise, planes: Any, guess: Any, noise: Any, model: Any) -> Any:
        """Draw the second step of the method ``'wiener'``."""
        engine = get_engine("cpu")
        haar = replace(stage, wavelet="haar", form="undecimated", boundary=None)
        level = Passage(haar, (1, *self.space), engine, find_filters(engine)).level
        margin = 2 ** (level + 1)
        before, after = model.stabilised_sigma, model.refined_sigma
        is_refined = not isinstance(model, Gaussian) and None not in (before, after) and before != after
        rounds = _ROUNDS if is_refined else 1
        for left in reversed(range(rounds)):
            own = replace(stage, level=level, filters=() if left else stage.filters)
            block = BlockStage(
                own,
                len(self.space),
                prod(self.space),
                "guide",
                before / after if is_refined else 1.0,
                model if is_refined else None,
                self.engine,
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


def _reach_of_spatial(stage: Blur | Sharpen) -> Reach:
    if isinstance(stage, Blur):
        half = len(stage.taps) // 2
        return Reach(half, half)
    return Reach(1, 1)


def _is_wide(dtype: np.dtype[Any]) -> bool:
    """Tell whether pixels are computed in double precision, as in memory."""
    return dtype == np.float64 or (dtype.name not in ("float16", "float32") and dtype.itemsize > 2)


def _result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the result for pixels of some dtype."""
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        return np.dtype(dtype).newbyteorder("=")
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return np.dtype(dtype).newbyteorder("=")
    return np.dtype(np.float64 if dtype.itemsize > 2 else np.float32)


def _as_meta(x: Any, dtype: Any) -> Any:
    return x._meta.astype(dtype)

"""`denoise` and `Enhancer` for arrays of Dask.

Axes are put in order, gaps are filled, pixels become planes; then come the stages, and the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.delayed import Delayed

from subband.arrays import computed_dtype, to_host
from subband.engines import Engine, get_engine
from subband.enhance.blockwise import Findings, PixelForm
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import Layout, find_layout
from subband.enhance.models import Speckle
from subband.enhance.program import Program
from subband.enhance.stages import Denoise
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.integrations.dask.gaps import draw_filled, draw_filling, find_known, restore
from subband.integrations.dask.graphs import draw_array
from subband.integrations.dask.grids import find_grid
from subband.integrations.dask.jobs import compute_decision
from subband.integrations.dask.margins import Blocks
from subband.integrations.dask.passes import Flow, read_again
from subband.integrations.dask.stages import StageWork
from subband.typing import Array

__all__ = ["enhance", "measure", "measure_noise"]


def enhance(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: str = "refuse",
    engine: str | Engine | None = None,
    *,
    findings: Findings | None = None,
) -> Any:
    """Do what `Enhancer.apply` does, lazily, for arrays of Dask.

    Parameters
    ----------
    enhancer : Enhancer
        What is done.
    image : dask array
        As in `Enhancer.apply`.
    axes, channel_axis, engine
        As in `Enhancer.apply`.
    mask : array of bool, optional
        Which pixels are known, of the shape of space: of Dask, or in memory.
    nonfinite : {"refuse", "mask"}
        What is done with NaN and infinite pixels: an error when they are met, or as with those outside `mask`.
    findings : Findings, optional
        What `measure` has found, so that it is not looked for again.

    Notes
    -----
    Known noise and a method that looks at each coefficient and what is around it need one pass over the array. Each
    of these needs a pass before that: to measure noise; to decide about whole bands (``'sure'`` and ``'neigh'``, which
    have to know the noise first, and ``'bayes'``, which has not, and goes with the pass that measures it); and to fill
    gaps. Nothing is kept in memory from one pass to the next but what was decided.

    Results are those of memory to rounding, whatever the chunks: sums over bands are the same, added in another order.
    Of more than 16384 cells of 4 × 4 coefficients, noise is measured within a few parts of a thousand; a method that
    decides about whole bands has it measured exactly, in one pass more.

    Examples
    --------
    >>> import dask.array as da
    >>> from subband import Enhancer
    >>> from subband.enhance import Denoise
    >>> from subband.integrations.dask import enhance
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 500), chunks=(200, 250))
    >>> result = enhance(Enhancer(Denoise()), noisy)
    >>> result.chunks == noisy.chunks, bool(result.std().compute() < 2)
    (True, True)
    """
    work, image, known = _begin(enhancer, image, axes, channel_axis, mask, nonfinite, engine)
    result = work.run(image, known, Findings() if findings is None else findings)
    return result.rechunk(image.chunks)


def measure(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: str = "refuse",
    *,
    engine: str | Engine | None = None,
    client: Any = None,
) -> Findings:
    """Compute what has to be known about a whole array before its first chunk, as `enhance` would do.

    What can only be found out on the way, as by the second of two stages that measure noise, is left out.

    Examples
    --------
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 500), chunks=(200, 250))
    >>> found = measure(Enhancer(Denoise("sure", level=1)), noisy)
    >>> round(float(found.noise)), sorted(found.statistic)
    (10, [(0, 1, 'ad'), (0, 1, 'da'), (0, 1, 'dd')])
    """
    work, image, known = _begin(enhancer, image, axes, channel_axis, mask, nonfinite, engine)
    return work.measure(image, known, client)


def measure_noise(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: str = "refuse",
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
    >>> import dask.array as da
    >>> from subband import Enhancer
    >>> from subband.enhance import Denoise
    >>> from subband.integrations.dask import measure_noise
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 500), chunks=(200, 250))
    >>> round(float(measure_noise(Enhancer(Denoise()), noisy)))
    10
    """
    work, image, known = _begin(enhancer, image, axes, channel_axis, mask, nonfinite, engine)
    return work.measure(image, known, client, is_noise_enough=True).noise


def _begin(
    enhancer: Enhancer,
    image: Any,
    axes: Sequence[int] | None,
    channel_axis: int | Literal["auto"] | None,
    mask: Any,
    nonfinite: str,
    engine: str | Engine | None,
) -> tuple[_Work, Any, Any]:
    """Check an array, and return the work on it, the array, and which of its pixels are known."""
    if 0 in image.shape or image.ndim == 0:
        raise ShapeError(f"image has shape {image.shape}; it needs at least 1 pixel, and 1 axis")
    computed_dtype(image.dtype, "image")
    if image.dtype.kind == "c":
        raise DtypeError(f"image has dtype {image.dtype}; an image is real: give image.real or abs(image)")
    if (model := enhancer.model).needs_image or not model.is_pointwise:
        raise ArgumentError(
            f"noise={model.name!r} is looked for in a whole image, and this one is in chunks; name another model, as "
            "find_noise finds it in a part that fits into memory"
        )
    layout = find_layout(tuple(image.shape), axes, channel_axis)
    known = find_known(image, layout, mask, nonfinite)
    return _Work(enhancer, layout, tuple(image.shape), engine), image, known


@dataclass(frozen=True)
class _Work:
    """An enhancer made ready for an array."""

    enhancer: Enhancer
    layout: Layout
    shape: tuple[int, ...]
    engine: str | Engine | None

    @cached_property
    def space(self) -> tuple[int, ...]:
        """Lengths of the axes of space."""
        return tuple(self.shape[axis] for axis in self.layout.space)

    @cached_property
    def is_colour(self) -> bool:
        """Whether three channels belong together."""
        return self.layout.channel is not None and self._shape[self.layout.channel] == 3

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The axes of the array, those of space last, and channels before them."""
        others = [axis for axis in range(len(self.shape)) if axis not in (*self.layout.space, self.layout.channel)]
        return (*others, *([] if self.layout.channel is None else [self.layout.channel]), *self.layout.space)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """Lengths of the axes before those of space."""
        return tuple(self._shape[axis] for axis in self.order[: len(self.order) - len(self.space)])

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """Lengths of all axes, without an alpha channel."""
        return (*self.shape[:-1], self.shape[-1] - 1) if self.layout.has_alpha else self.shape

    @property
    def _stages(self) -> StageWork:
        return StageWork(self.space, len(self.leading), self.engine, self._joint)

    @cached_property
    def _joint(self) -> int:
        """How many planes are the colours of one image."""
        if not self.is_colour:
            return 1
        return Program(replace(self.enhancer, stages=(), sigma=None), self.space, 3, get_engine("cpu"), True).joint

    def run(self, image: Any, known: Any, findings: Findings) -> Any:
        """Draw all stages."""
        alpha = image[..., -1:] if self.layout.has_alpha else None
        pixels = self._arrange(image)
        form, flow = self._enter(pixels, known, findings)
        noise = self._prepare_noise() if findings.noise is None else findings.noise
        for stage in self.enhancer.weighed_stages:
            flow.planes = self._stages.run(stage, flow, replace(findings, noise=noise), form.enhancer.model)
        result = _draw_each(form.leave, flow.planes, "pixels", form.result_dtype)
        if known is not None:
            result = restore(result, flow.pixels, flow.known)
        if self.order != tuple(range(len(self.order))):
            result = result.transpose(np.argsort(self.order).tolist())
        return result if alpha is None else da.concatenate([result, alpha], axis=-1)

    def measure(self, image: Any, known: Any, client: Any, *, is_noise_enough: bool = False) -> Findings:
        """Compute what a single stage at the beginning has to know, and what gaps are filled from."""

        def compute(*drawn: Any) -> list[Any]:
            run = compute_decision if client is None else lambda delayed: client.compute(delayed).result()
            return [run(each) if isinstance(each, Delayed) else each for each in drawn]

        pixels = self._arrange(image)
        filling = None if known is None else compute(draw_filling(pixels, known))[0]
        stages = self.enhancer.weighed_stages
        stage = stages[0] if stages else None
        if not isinstance(stage, Denoise) or any(isinstance(each, Denoise) for each in stages[1:]):
            return Findings(filling=filling)
        flow = self._enter(pixels, known, Findings(filling=filling))[1]
        given = self._prepare_noise()
        found = self._stages.learn(stage, flow, Findings(given), compute, is_noise_enough=is_noise_enough)
        return replace(found, noise=found.noise if given is None else None, filling=filling)

    def _arrange(self, image: Any) -> Any:
        """Return pixels with the axes of space at last, and without an alpha channel."""
        pixels = image[..., :-1] if self.layout.has_alpha else image
        if self.order != tuple(range(len(self.order))):
            pixels = pixels.transpose(self.order)
        return pixels.rechunk({len(self.leading) - 1: -1}) if self.is_colour else pixels

    def _enter(self, pixels: Any, known: Any, findings: Findings) -> tuple[PixelForm, Flow]:
        """Return planes, and the form in which they were pixels."""
        enhancer, dtype = self.enhancer, pixels.dtype
        facts: list[Delayed] = []
        whole = pixels
        if known is not None:
            filling = findings.filling
            if filling is None:
                filling = draw_filling(pixels, known)
                pixels, known = read_again([pixels, known], [filling])
                facts.append(filling)
            whole = draw_filled(pixels, known, filling)
        model = enhancer.model
        if isinstance(model, Speckle) and model.floor is None and dtype.kind == "f":
            # one number of the whole array, which all chunks wait for
            brightest = float(whole.max().compute())
            model = replace(model, floor=model.choose_floor(np.array([brightest], dtype)))
        bare = replace(enhancer, stages=(), sigma=None, noise=model)
        form = PixelForm(bare, self.space, 3 if self.is_colour else 1, dtype, self.engine)
        planes = _draw_each(form.enter, whole, "planes", form.plane_dtype)
        return form, Flow(planes, pixels, known, facts)

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
                f"sigma has {len(numbers)} entries, and the image has {(*self.leading, 1)[-1]} channels; give one "
                "for each"
            )
        return np.array(np.broadcast_to(numbers, self.leading))


def _draw_each(work: Callable[..., Any], x: Any, title: str, dtype: np.dtype[Any]) -> Any:
    """Draw work on each chunk by itself."""
    return draw_array(Blocks(find_grid(x).edges, ()).map(work, x), title, meta=meta_from_array(x, dtype=dtype))

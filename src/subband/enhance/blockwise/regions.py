"""Regions of an image, enhanced one by one: each is what the whole image would have there."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.enhance.blockwise.reach import Reach, find_obstacle, measure_reach, widen
from subband.enhance.enhancer import Enhancer
from subband.enhance.methods import find_method
from subband.enhance.program import prepare_program
from subband.enhance.stages import Denoise, Shrink
from subband.typing import Array

__all__ = ["Noise", "Regions", "fit_to_part", "run_planes"]

#: The standard deviation of noise in each plane; None where nobody has to know it.
Noise = tuple[float, ...] | None


class Regions:
    """An enhancer for regions of an image.

    Parameters
    ----------
    enhancer : Enhancer
        What is to be done; its stages say how many levels they have.
    shape : tuple of int
        Of the whole image: rows × columns, or rows × columns × 3.
    engine : Engine
        The engine that computes.

    Attributes
    ----------
    obstacle : str
        Why regions cannot be computed one by one; empty if they can.
    reach : Reach
        What a region needs around it, along both axes.

    Examples
    --------
    >>> from subband import data
    >>> from subband.engines import get_engine
    >>> image, enhancer = data.camera(), Enhancer(Denoise(level=3))
    >>> regions = Regions(enhancer, image.shape, get_engine("cpu"))
    >>> noise = regions.find_noise(image)
    >>> part = regions.compute(image, (200, 264), (96, 224), noise)
    >>> whole = enhancer.apply(image)[200:264, 96:224]
    >>> part.shape, int(np.abs(part.astype(int) - whole).max()) <= 1
    ((64, 128), True)
    """

    def __init__(self, enhancer: Enhancer, shape: tuple[int, ...], engine: Engine) -> None:
        self.enhancer = enhancer
        self.shape = shape
        self.engine = engine
        self.obstacle = _find_obstacle(enhancer)
        self.reach = Reach(0, 0)
        self._fewest = 1
        if self.obstacle:
            return
        model = enhancer.model
        is_refined = model.stabilised_sigma != model.refined_sigma
        for stage in enhancer.stages:
            level = (stage.level or 0) if isinstance(stage, Denoise | Shrink) else 0
            self.reach += measure_reach(stage, level, is_refined, dimensions=2)
        # a region at the end of an axis must be long enough for all levels, too
        self._fewest = self.reach.before + self.reach.behind + 2 * self.reach.step

    def find_noise(self, pixels: Array) -> Noise:
        """Return what has to be known of the whole image before the first region of it is computed."""
        noise: Noise = _call(self.enhancer, pixels, self.engine, None, lambda program, given: program.find_noise(given))
        return noise

    def compute(self, pixels: Array, rows: tuple[int, int], columns: tuple[int, int], noise: Noise) -> Array:
        """Return a region of the result.

        Parameters
        ----------
        pixels : ndarray
            The whole image.
        rows, columns : tuple of int
            First and end.
        noise : tuple of float or None
            As `find_noise` found it.
        """
        top, bottom = widen(*rows, self.shape[0], self.reach, self._fewest)
        left, right = widen(*columns, self.shape[1], self.reach, self._fewest)
        block = np.ascontiguousarray(pixels[top:bottom, left:right])
        enhancer = fit_to_part(self.enhancer, prod(self.shape[:2]), (bottom - top) * (right - left))
        result = run_planes(enhancer, block, self.engine, noise)
        return result[rows[0] - top : rows[1] - top, columns[0] - left : columns[1] - left]


def run_planes(enhancer: Enhancer, pixels: Array, engine: Engine, noise: Noise) -> Array:
    """Return what an enhancer makes of an image whose noise is known plane by plane."""
    result: Array = _call(enhancer, pixels, engine, noise, lambda program, given: program.run(given))
    return result.reshape(pixels.shape)


def _call(enhancer: Enhancer, pixels: Array, engine: Engine, noise: Noise, work: Any) -> Any:
    """Call some work with a program and pixels on the device of the engine."""
    channels = pixels.shape[2] if pixels.ndim == 3 else 1

    def run(arranged: Any) -> Any:
        program = prepare_program(enhancer, pixels.shape[:2], channels, engine_for(arranged, engine), True, noise)
        return work(program, arranged)

    return call_natively(run, {0: "image"}, (pixels.reshape(*pixels.shape[:2], channels),), {}, engine)


def fit_to_part(enhancer: Enhancer, whole: int, part: int) -> Enhancer:
    """Return the enhancer for a part of an image: some thresholds grow with the number of samples."""
    stages = tuple(
        replace(stage, strength=stage.strength * find_method(stage.method).compensate_part(whole, part))
        if isinstance(stage, Denoise)
        else stage
        for stage in enhancer.stages
    )
    return replace(enhancer, stages=stages)


def _find_obstacle(enhancer: Enhancer) -> str:
    if enhancer.temporal:
        return "frames are averaged along their motion"
    if any(isinstance(stage, Denoise) and stage.level is None for stage in enhancer.stages):
        return "the number of levels depends on the size"
    if sum(isinstance(stage, Denoise) for stage in enhancer.stages) > 1:
        return "noise would have to be measured twice"
    return next(filter(None, map(find_obstacle, enhancer.stages)), "")

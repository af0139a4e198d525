"""Editing planes of the host sample by sample, compiled, for several threads."""

# ruff: noqa: D102 - the contract stands in planes.py

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from subband.edit import plane_loops
from subband.edit.planes import RULES, PlanePainter
from subband.engines.filters.launch import Kernel, cut_tasks
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["CompiledPainter"]


class CompiledPainter(PlanePainter):
    """Works on planes of the host with compiled loops; what is seldom needed, with NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> painter = CompiledPainter()
    >>> painter.differ(np.array([[[4.0, -1.0]]]), np.array([[[3.0, 3.0]]]), "max", 1.0)
    array([[[0., 4.]]])
    """

    def differ(self, own: Array, other: Array, rule: str, strength: float) -> Array:
        out = allocate(own.shape, own.dtype)
        _run(plane_loops.differ, (out, own, other), (strength,), (RULES.index(rule),))
        return out

    def add(self, planes: Array, difference: Array) -> Array:
        _run(plane_loops.add, (planes[: len(difference)], difference), (), ())
        return planes

    def measure_brightness(self, planes: Array, weights: Sequence[float], power: float, white: float) -> Array:
        out = allocate((1, *planes.shape[1:]), planes.dtype)
        count = prod(planes.shape[1:])
        _run(plane_loops.measure_brightness, (out, planes), (power, white, *weights), (count, len(planes)), out.size)
        return out

    def raise_to(self, planes: Array, power: float, white: float) -> Array:
        if power == 1:
            return planes
        out = allocate(planes.shape, planes.dtype)
        _run(plane_loops.raise_to, (out, planes), (power, white), ())
        return out

    def temper(self, light: Array, power: float, white: float, floor: float, level: float, strength: float) -> Array:
        _run(plane_loops.temper, (light,), (power, white, floor, level, strength), ())
        return light

    def divide(self, planes: Array, light: Array, scale: float) -> Array:
        return _weigh(planes, light, scale, 0)

    def multiply(self, planes: Array, light: Array, scale: float) -> Array:
        return _weigh(planes, light, scale, 1)

    def copy(self, planes: Array) -> Array:
        out = allocate(planes.shape, planes.dtype)
        _run(plane_loops.copy, (out, planes), (), ())
        return out


def _run(
    kernel: Kernel, arrays: Sequence[Array], numbers: Sequence[float], sizes: Sequence[int], count: int | None = None
) -> None:
    """Run a kernel over all samples of the first array, or over so many of them."""
    count = arrays[0].size if count is None else count
    kernel(cut_tasks(1, 1, count), arrays, numbers, sizes, count)


def _weigh(planes: Array, light: Array, scale: float, is_product: int) -> Array:
    count = prod(planes.shape[1:])
    sizes = (count, int(len(light) > 1), is_product)
    plane_loops.weigh(cut_tasks(len(planes), 1, count), (planes, light), (scale,), sizes, planes.size)
    return planes

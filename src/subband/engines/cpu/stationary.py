"""Undecimated levels on the CPU: one axis after the other, every output a weighted sum of shifted rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from subband.compiled import Kernel, Kernels
from subband.engines.cpu.inputs import as_readable, fill_in, find_dtype
from subband.engines.cpu.jobs import Job
from subband.engines.memory import allocate
from subband.schedule.sweeps import merge_in_turn, split_in_turn
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands

__all__ = ["stationary_forward", "stationary_inverse"]

_loops = Kernels("subband.engines.cpu.stationary_kernels")

#: Rows shorter than this are not worth a loop of their own.
_SHORT_ROW = 64


def stationary_forward(plan: StationaryPlan, x: Array) -> Bands:
    """Return the bands of one undecimated level."""
    passes = _prepare(plan, x.dtype)
    x = as_readable(x)
    return passes[0].split(x) if len(passes) == 1 else split_in_turn(x, [each.split for each in passes])


def stationary_inverse(plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
    """Return the array of which `bands` are the undecimated bands."""
    dtype = find_dtype(bands)
    passes = _prepare(plan, dtype)
    whole = fill_in(plan.band_shapes, bands, dtype)
    if len(passes) == 1:
        return passes[0].merge(whole)
    x: Array = merge_in_turn(whole, [(1, each.merge) for each in passes])
    return x


class _Pass:
    """One axis of an undecimated level, forward and back."""

    def __init__(self, plan: StationaryAxisPlan, axis: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._plan, self._axis, self._shape = plan, axis, shape
        # a complex number is two columns of real ones
        self._parts, self._real = (2 if dtype.kind == "c" else 1), np.zeros(0, dtype).real.dtype

    @cached_property
    def _split(self) -> Job:
        wavelet = self._plan.wavelet
        shifts = self._plan.step * (wavelet.dec_len // 2 - np.arange(wavelet.dec_len))
        weights = np.array([wavelet.dec_lo, wavelet.dec_hi], self._real).ravel()
        return self._make_job(_loops.split_rows, _loops.split_images, shifts, weights)

    @cached_property
    def _merge(self) -> Job:
        wavelet = self._plan.wavelet
        shifts = self._plan.step * (wavelet.rec_len // 2 - 1 - np.arange(wavelet.rec_len))
        weights = np.array([wavelet.rec_lo, wavelet.rec_hi], self._real).ravel() / 2
        return self._make_job(_loops.merge_rows, _loops.merge_images, shifts, weights, is_inverse=True)

    def split(self, x: Array) -> Bands:
        low, high = allocate(x.shape, x.dtype), allocate(x.shape, x.dtype)
        self._split.run(x, low, high)
        return {"a": low, "d": high}

    def merge(self, bands: Bands) -> Array:
        low, high = bands["a"], bands["d"]
        y = allocate(low.shape, low.dtype)
        self._merge.run(y, low, high)
        return y

    def _make_job(self, along: Kernel, down: Kernel, shifts: Array, weights: Array, *, is_inverse: bool = False) -> Job:
        """Return the job that shifts whole rows down, or, where rows are short, the one that shifts along them."""
        axis, shape = self._axis, self._shape
        inner = prod(shape[axis + 1 :]) * self._parts
        kernel, extent = down, (prod(shape[:axis]), shape[axis], inner)
        if inner < _SHORT_ROW:
            kernel, extent = along, (1, prod(shape[:axis]), shape[axis] * inner)
            shifts = shifts * inner
        sizes = *extent[1:], len(shifts)
        return Job(kernel, self._real, 3, (shifts, weights) * 2, sizes, extent, is_inverse=is_inverse)


@lru_cache(maxsize=1024)
def _prepare(plan: StationaryPlan, dtype: np.dtype[Any]) -> tuple[_Pass, ...]:
    return tuple(
        _Pass(axis_plan, axis, plan.shape, dtype) for axis, axis_plan in zip(plan.axes, plan.plans, strict=True)
    )

"""Undecimated levels on the CPU: one axis after the other, every output a weighted sum of shifted rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from subband.compiled import Kernels
from subband.engines.cpu.inputs import as_readable
from subband.engines.cpu.sweep import run_kernel
from subband.engines.memory import allocate
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands

__all__ = ["stationary_forward", "stationary_inverse"]

_loops = Kernels("subband.engines.cpu.stationary_kernels")

#: Rows shorter than this are not worth a loop of their own.
_SHORT_ROW = 64


def stationary_forward(plan: StationaryPlan, x: Array) -> Bands:
    """Return the bands of one undecimated level."""
    bands: Bands = {"": as_readable(x)}
    for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
        split: Bands = {}
        for key in list(bands):
            split[key + "a"], split[key + "d"] = _split(axis_plan, axis, bands.pop(key))
        bands = split
    return bands


def stationary_inverse(plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
    """Return the array of which `bands` are the undecimated bands."""
    dtype = np.result_type(*bands.values())
    current = {
        key: as_readable(bands[key].astype(dtype, copy=False)) if key in bands else np.zeros(plan.shape, dtype)
        for key in plan.band_shapes
    }
    for position in reversed(range(len(plan.axes))):
        merged = {}
        for key in map("".join, product("ad", repeat=position)):
            low, high = current.pop(key + "a"), current.pop(key + "d")
            merged[key] = _merge(plan.plans[position], plan.axes[position], low, high)
        current = merged
    return current[""]


def _split(plan: StationaryAxisPlan, axis: int, x: Array) -> tuple[Array, Array]:
    shifts, weights = _analysis_tables(plan, _real_dtype(x))
    low, high = allocate(x.shape, x.dtype), allocate(x.shape, x.dtype)
    _run(_loops.split_rows, _loops.split_images, (x, low, high), axis, shifts, weights)
    return low, high


def _merge(plan: StationaryAxisPlan, axis: int, low: Array, high: Array) -> Array:
    shifts, weights = _synthesis_tables(plan, _real_dtype(low))
    y = allocate(low.shape, low.dtype)
    _run(_loops.merge_rows, _loops.merge_images, (y, low, high), axis, shifts, weights)
    return y


def _run(
    along: Callable[..., object],
    down: Callable[..., object],
    arrays: tuple[Array, Array, Array],
    axis: int,
    shifts: Array,
    weights: Array,
) -> None:
    """Run the kernel that shifts whole rows down, or, where rows are short, the one that shifts along them."""
    shape = arrays[0].shape
    # a complex number is two columns of real ones
    inner = prod(shape[axis + 1 :]) * (2 if arrays[0].dtype.kind == "c" else 1)
    real = [array.view(_real_dtype(array)) for array in arrays]
    if inner < _SHORT_ROW:
        extent = 1, prod(shape[:axis]), shape[axis] * inner
        run_kernel(along, (*(r.reshape(extent) for r in real), shifts * inner, weights), extent)
    else:
        extent = prod(shape[:axis]), shape[axis], inner
        run_kernel(down, (*(r.reshape(extent) for r in real), shifts, weights), extent)


def _real_dtype(x: Array) -> np.dtype[np.generic]:
    return x.real.dtype


@lru_cache(maxsize=1024)
def _analysis_tables(plan: StationaryAxisPlan, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
    wavelet = plan.wavelet
    shifts = plan.step * (wavelet.dec_len // 2 - np.arange(wavelet.dec_len))
    return shifts, np.array([wavelet.dec_lo, wavelet.dec_hi], dtype).ravel()


@lru_cache(maxsize=1024)
def _synthesis_tables(plan: StationaryAxisPlan, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
    wavelet = plan.wavelet
    shifts = plan.step * (wavelet.rec_len // 2 - 1 - np.arange(wavelet.rec_len))
    return shifts, np.array([wavelet.rec_lo, wavelet.rec_hi], dtype).ravel() / 2

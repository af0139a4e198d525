"""Undecimated levels on the CPU: one axis after the other, every output a weighted sum of shifted rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from math import prod

import numba as nb
import numpy as np

from subband.engines.cpu.kernels import OPTIONS, blend, data
from subband.engines.cpu.sweep import run_kernel
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands

__all__ = ["stationary_forward", "stationary_inverse"]


def stationary_forward(plan: StationaryPlan, x: Array) -> Bands:
    """Return the bands of one undecimated level."""
    bands: Bands = {"": np.ascontiguousarray(x)}
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
        key: np.ascontiguousarray(bands[key], dtype) if key in bands else np.zeros(plan.shape, dtype)
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
    low, high = np.empty_like(x), np.empty_like(x)
    images = [_view_images(array, axis) for array in (x, low, high)]
    run_kernel(_split_images, (*images, shifts, weights), images[0].shape)
    return low, high


def _merge(plan: StationaryAxisPlan, axis: int, low: Array, high: Array) -> Array:
    shifts, weights = _synthesis_tables(plan, _real_dtype(low))
    y = np.empty_like(low)
    images = [_view_images(array, axis) for array in (y, low, high)]
    run_kernel(_merge_images, (*images, shifts, weights), images[0].shape)
    return y


def _real_dtype(x: Array) -> np.dtype[np.generic]:
    return x.real.dtype


def _view_images(x: Array, axis: int) -> Array:
    """Return `x` as real images whose rows are shifted as a whole; a complex number is two columns."""
    real = x.view(_real_dtype(x))
    return real.reshape(prod(x.shape[:axis]), x.shape[axis], -1)


@lru_cache(maxsize=1024)
def _analysis_tables(plan: StationaryAxisPlan, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
    wavelet = plan.wavelet
    shifts = plan.step * (wavelet.dec_len // 2 - np.arange(wavelet.dec_len))
    return shifts % plan.length, np.array([wavelet.dec_lo, wavelet.dec_hi], dtype).ravel()


@lru_cache(maxsize=1024)
def _synthesis_tables(plan: StationaryAxisPlan, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
    wavelet = plan.wavelet
    shifts = plan.step * (wavelet.rec_len // 2 - 1 - np.arange(wavelet.rec_len))
    return shifts % plan.length, np.array([wavelet.rec_lo, wavelet.rec_hi], dtype).ravel() / 2


@nb.njit(cache=True, **OPTIONS)
def _split_images(x, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the low and high images."""
    height, width = x.shape[1], x.shape[2]
    at = np.empty(shifts.size, np.int64)
    px, p, q = data(x), data(low), data(high)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            for k in range(shifts.size):
                at[k] = image + (row + shifts[k]) % height * width + c0
            place = image + row * width + c0
            blend(p, place, q, place, px, at, weights, 0, shifts.size, c1 - c0)


@nb.njit(cache=True, **OPTIONS)
def _merge_images(y, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the image that low and high images stand for."""
    height, width = y.shape[1], y.shape[2]
    count = shifts.size
    p, pl, ph = data(y), data(low), data(high)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            place = image + row * width + c0
            for k in range(count):
                at = image + (row + shifts[k]) % height * width + c0
                a, d = weights[k], weights[count + k]
                if k == 0:
                    for j in range(c1 - c0):
                        p[place + j] = a * pl[at + j] + d * ph[at + j]
                else:
                    for j in range(c1 - c0):
                        p[place + j] += a * pl[at + j] + d * ph[at + j]

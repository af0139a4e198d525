"""Undecimated levels on the CPU: one axis after the other, every output a weighted sum of shifted rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from math import prod

import numba as nb
import numpy as np

from subband.engines.cpu.kernels import OPTIONS, blend, data
from subband.engines.cpu.sweep import run_kernel
from subband.engines.memory import allocate
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands

__all__ = ["stationary_forward", "stationary_inverse"]

#: Rows shorter than this are not worth a loop of their own.
_SHORT_ROW = 64

#: Columns that are filtered at a time, so that what is read stays in the cache.
_TILE = 1024


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
    low, high = allocate(x.shape, x.dtype), allocate(x.shape, x.dtype)
    _run(_split_rows, _split_images, (x, low, high), axis, shifts, weights)
    return low, high


def _merge(plan: StationaryAxisPlan, axis: int, low: Array, high: Array) -> Array:
    shifts, weights = _synthesis_tables(plan, _real_dtype(low))
    y = allocate(low.shape, low.dtype)
    _run(_merge_rows, _merge_images, (y, low, high), axis, shifts, weights)
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


@nb.njit(**OPTIONS)
def _unroll(y, x, i, length, start, n):
    """Write `n` numbers of the periodic row at `x, i` from position `start` on."""
    done = 0
    while done < n:
        position = (start + done) % length
        count = min(n - done, length - position)
        for j in range(count):
            y[done + j] = x[i + position + j]
        done += count


@nb.njit(cache=True, **OPTIONS)
def _split_rows(x, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write columns `c0` … `c1` of the low and high rows `r0` … `r1`."""
    length, count = x.shape[2], shifts.size
    # shifts fall with the taps
    first, reach = shifts[-1], shifts[0] - shifts[-1]
    window = np.empty(_TILE + reach, x.dtype)
    places = shifts - first
    px, p, q, w = data(x), data(low), data(high), data(window)
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(w, px, row * length, length, left + first, columns + reach)
            place = row * length + left
            blend(p, place, q, place, w, data(places), data(weights), 0, count, columns)
    return window.size + places.size


@nb.njit(cache=True, **OPTIONS)
def _merge_rows(y, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write columns `c0` … `c1` of the rows `r0` … `r1` that low and high rows stand for."""
    length, count = y.shape[2], shifts.size
    first, reach = shifts[-1], shifts[0] - shifts[-1]
    window = np.empty(2 * (_TILE + reach), y.dtype)
    lows, highs = data(window), data(window[_TILE + reach :])
    p, pl, ph = data(y), data(low), data(high)
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(lows, pl, row * length, length, left + first, columns + reach)
            _unroll(highs, ph, row * length, length, left + first, columns + reach)
            for k in range(count):
                at = shifts[k] - first
                _add_pair(p, row * length + left, lows, at, highs, at, weights[k], weights[count + k], k > 0, columns)
    return window.size


@nb.njit(**OPTIONS)
def _add_pair(y, i, low, j, high, k, a, d, add, n):
    """Write, or add, ``a * low + d * high``."""
    if add:
        for m in range(n):
            y[i + m] += a * low[j + m] + d * high[k + m]
    else:
        for m in range(n):
            y[i + m] = a * low[j + m] + d * high[k + m]


@nb.njit(cache=True, **OPTIONS)
def _split_images(x, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the low and high images."""
    height, width = x.shape[1], x.shape[2]
    places = np.empty(shifts.size, np.int64)
    px, p, q, at = data(x), data(low), data(high), data(places)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            for k in range(shifts.size):
                at[k] = image + (row + shifts[k]) % height * width + c0
            place = image + row * width + c0
            blend(p, place, q, place, px, at, data(weights), 0, shifts.size, c1 - c0)
    return places.size


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
                _add_pair(p, place, pl, at, ph, at, weights[k], weights[count + k], k > 0, c1 - c0)

"""Interleaved pixels to planes and back, for any number of channels, through a block that stays in the cache."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba.extending import overload

from subband.compiled.compiling import pointed
from subband.engines.cpu.frame_loops import pass_pixels
from subband.engines.cpu.loops import OPTIONS, data, keep, keep_apart, make_room, shift
from subband.engines.cpu.program import FRAME_TABLE
from subband.engines.filters.loops.calls import stand_alone

__all__ = ["join_pixels", "pass_rows", "split_pixels"]

#: Pixels of a block.
_BLOCK = 512


@pointed(**OPTIONS)
def pass_rows(out, weights, _y, _numbers, sizes, task):
    """Let a loop of the CPU engine turn pixels into planes or back. Sizes: the table of a frame, then pixels."""
    pass_pixels(shift(out, task[3]), sizes[FRAME_TABLE], sizes, weights, 0, task[3], task[4] - task[3])


@nb.njit(**OPTIONS)
def _weigh(y, x, weights, count, pitch, n):
    """Write the weighted sum of `count` runs of numbers."""
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = weights[0] * x[k]
    for run in range(1, count):
        weight = weights[run]
        for k in range(n):
            y[k] += weight * x[run * pitch + k]


@nb.njit(**OPTIONS)
def _gather(y, x, step, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = x[step * k]


@nb.njit(**OPTIONS)
def _scatter(y, x, step, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        _store(y, step * k, x[k])


def _store(address, index, value):
    """Write a number as what is at an address; whole numbers are rounded, halves up, and clipped."""


@overload(_store)
def _overload_store(address, index, value):
    if isinstance(address.dtype, nb.types.Integer):
        top, half, zero = (_as_number(value, number) for number in (address.dtype.maxval, 0.5, 0))

        def store_rounded(address, index, value):
            address[index] = np.int32(min(max(value, zero), top) + half)

        return store_rounded

    def store(address, index, value):
        address[index] = value

    return store


def _as_number(kind, number):
    """Return a number as NumPy's scalar of one of Numba's types."""
    return np.dtype(kind.name).type(number)


@pointed(**OPTIONS)
def split_pixels(out, x, matrix, _numbers, sizes, task):
    """Turn pixels into planes. Sizes: pixels, channels, and whether there is a matrix."""
    count, channels = sizes[0], sizes[1]
    room = make_room(out, channels * _BLOCK)
    block = data(room)
    for begin in range(task[3], task[4], _BLOCK):
        n = min(_BLOCK, task[4] - begin)
        for channel in range(channels):
            goal = shift(block, channel * _BLOCK) if sizes[2] else shift(out, channel * count + begin)
            _gather(goal, shift(x, begin * channels + channel), channels, n)
        if sizes[2]:
            for plane in range(channels):
                goal = shift(out, plane * count + begin)
                _weigh(goal, block, shift(matrix, plane * channels), channels, _BLOCK, n)
    keep(room)


@pointed(**OPTIONS)
def join_pixels(out, x, matrix, _numbers, sizes, task):
    """Turn planes into pixels. Sizes: pixels, channels, and whether there is a matrix."""
    count, channels = sizes[0], sizes[1]
    room = make_room(x, _BLOCK)
    block = data(room)
    for begin in range(task[3], task[4], _BLOCK):
        n = min(_BLOCK, task[4] - begin)
        for channel in range(channels):
            line = shift(x, channel * count + begin)
            if sizes[2]:
                _weigh(block, shift(x, begin), shift(matrix, channel * channels), channels, count, n)
                line = block
            _scatter(shift(out, begin * channels + channel), line, channels, n)
    keep(room)

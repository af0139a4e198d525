"""Arithmetic that editing does sample by sample: combine coefficients, raise to powers, divide by a light."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba.extending import overload

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.filters.loops.calls import add_scaled_run, cast_like, scale_run, stand_alone

__all__ = ["differ", "measure_brightness", "raise_to", "temper", "weigh"]


@nb.njit(**OPTIONS)
def _keep_larger(y, own, other, strength, zero, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        strong, mine = strength * other[k], own[k]
        y[k] = strong - mine if abs(strong) > abs(mine) else zero


@nb.njit(**OPTIONS)
def _mix(y, own, other, strength, kept, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = strength * (other[k] - kept * own[k])


@pointed(**OPTIONS)
def differ(out, own, other, numbers, sizes, task):
    """Write what is to be added to coefficients. Numbers: strength. Sizes: the rule."""
    first, n = task[3], task[4] - task[3]
    y, x, z = shift(out, first), shift(own, first), shift(other, first)
    strength, zero, one = cast_like(out, numbers[0]), cast_like(out, 0.0), cast_like(out, 1.0)
    if sizes[0] == 0:
        _keep_larger(y, x, z, strength, zero, n)
    else:
        _mix(y, x, z, strength, zero if sizes[0] == 1 else one, n)


@nb.njit(**OPTIONS)
def _raise_single(value, power):
    """Return a power of a number of single precision, by polynomials that a vector unit computes.

    The logarithm comes from a series in (m - 1) / (m + 1) with the mantissa m around 1, the power of two from that of
    the exponential function; both are right to rounding, times the logarithm.
    """
    bits = np.float32(max(value, np.float32(1e-30))).view(np.int32)
    exponent = np.int32(np.int32(bits - np.int32(0x3F3504F3)) >> np.int32(23))
    mantissa = np.int32(bits - (exponent << np.int32(23))).view(np.float32)
    s = (mantissa - np.float32(1)) / (mantissa + np.float32(1))
    q = s * s
    series = np.float32(0.5770780164) + q * (np.float32(0.4121985831) + q * np.float32(0.3205988980))
    series = np.float32(2.885390082) + q * (np.float32(0.9617966939) + q * series)
    goal = min(max(power * (np.float32(exponent) + s * series), np.float32(-126)), np.float32(127))
    whole = np.int32(np.int32(goal + np.float32(1024.5)) - np.int32(1024))
    f = goal - np.float32(whole)
    series = np.float32(0.0096181291) + f * (np.float32(0.0013333558) + f * np.float32(0.000154035304))
    series = np.float32(0.6931471806) + f * (np.float32(0.2402265070) + f * (np.float32(0.0555041087) + f * series))
    raised = np.int32(np.float32(np.float32(1) + f * series).view(np.int32) + (whole << np.int32(23))).view(np.float32)
    return raised if value > np.float32(0) else np.float32(0)


def _raise_wrapped(value, power):
    return _raise_single(value, power)


def _raise(value, power):
    """Return a power of a number; what is negative counts as 0."""


@overload(_raise)
def _overload_raise(value, power):
    if value == nb.types.float32:
        return _raise_wrapped
    return lambda value, power: max(value, 0.0) ** power


@nb.njit(**OPTIONS)
def _add_power(y, x, weight, power, inverse, is_first, n):
    stand_alone()
    keep_apart()
    if is_first:
        for k in range(n):
            y[k] = weight * _raise(x[k] * inverse, power)
    else:
        for k in range(n):
            y[k] += weight * _raise(x[k] * inverse, power)


@pointed(**OPTIONS)
def measure_brightness(out, x, _y, numbers, sizes, task):
    """Write a weighted sum of planes. Numbers: power, white, weights. Sizes: samples of a plane, planes."""
    n, y = task[4] - task[3], shift(out, task[3])
    for plane in range(sizes[1]):
        source = shift(x, plane * sizes[0] + task[3])
        if numbers[0] == 1:
            weight = cast_like(out, numbers[2 + plane])
            if plane == 0:
                scale_run(y, source, weight, n)
            else:
                add_scaled_run(y, source, weight, n)
        else:
            weight, power = cast_like(out, numbers[2 + plane] * numbers[1]), cast_like(out, numbers[0])
            _add_power(y, source, weight, power, cast_like(out, 1 / numbers[1]), plane == 0, n)


@nb.njit(**OPTIONS)
def _mix_even(y, floor, level, strength, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = level + strength * (max(y[k], floor) - level)


@pointed(**OPTIONS)
def temper(out, _x, _y, numbers, _sizes, task):
    """Make a light ready to divide by. Numbers: power, white, floor, level, strength."""
    n, y = task[4] - task[3], shift(out, task[3])
    if numbers[0] != 1:
        _raise_run(y, cast_like(out, numbers[0]), cast_like(out, numbers[1]), cast_like(out, 1 / numbers[1]), n)
    _mix_even(y, cast_like(out, numbers[2]), cast_like(out, numbers[3]), cast_like(out, numbers[4]), n)


@nb.njit(**OPTIONS)
def _raise_run(y, power, white, inverse, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = white * _raise(y[k] * inverse, power)


@pointed(**OPTIONS)
def raise_to(out, x, _y, numbers, _sizes, task):
    """Write numbers raised to a power. Numbers: power, white."""
    n, white = task[4] - task[3], cast_like(out, numbers[1])
    power, inverse = cast_like(out, numbers[0]), cast_like(out, 1 / numbers[1])
    _add_power(shift(out, task[3]), shift(x, task[3]), white, power, inverse, True, n)


@nb.njit(**OPTIONS)
def _divide_run(y, x, scale, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] *= scale / x[k]


@nb.njit(**OPTIONS)
def _multiply_run(y, x, scale, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] *= scale * x[k]


@pointed(**OPTIONS)
def weigh(out, light, _y, numbers, sizes, task):
    """Divide or multiply planes by a light. Sizes: samples, whether each plane has its own, whether to multiply."""
    y = shift(out, task[0] * sizes[0] + task[3])
    x = shift(light, sizes[1] * task[0] * sizes[0] + task[3])
    scale = cast_like(out, numbers[0])
    if sizes[2]:
        _multiply_run(y, x, scale, task[4] - task[3])
    else:
        _divide_run(y, x, scale, task[4] - task[3])

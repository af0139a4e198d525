"""From planes of numbers around zero to samples and back: colour transforms, level shift, rounding and clipping."""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import stored

__all__ = ["join_one", "join_three", "split_one", "split_three"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@stored(**_OPTIONS)
def _clip(value, shift, low, high):
    """Return an integer as a sample."""
    return min(max(np.int64(value) + shift, low), high)


@stored(**_OPTIONS)
def _clip_number(value, shift, low, high):
    """Return a number as a sample; NaN, which damaged streams can lead to, becomes the lowest one."""
    moved = value + np.float32(shift)
    if not moved > low:
        return low
    if moved >= high:
        return high
    return np.int64(np.floor(moved + np.float32(0.5)))


@stored(**_OPTIONS)
def join_one(plane, out, start, stop, shift, low, high, is_integer):
    """Write rows of a component as samples."""
    for y in range(start, stop):
        for x in range(plane.shape[1]):
            if is_integer:
                out[y, x] = _clip(plane[y, x], shift, low, high)
            else:
                out[y, x] = _clip_number(plane[y, x], shift, low, high)


@stored(**_OPTIONS)
def join_three(planes, out, start, stop, shifts, lows, highs, is_integer):
    """Write rows of three components, whose colours are to be restored, as samples."""
    for y in range(start, stop):
        for x in range(planes.shape[2]):
            if is_integer:
                a, b, c = np.int64(planes[0, y, x]), np.int64(planes[1, y, x]), np.int64(planes[2, y, x])
                green = a - ((b + c) >> 2)
                out[y, x, 0] = _clip(c + green, shifts[0], lows[0], highs[0])
                out[y, x, 1] = _clip(green, shifts[1], lows[1], highs[1])
                out[y, x, 2] = _clip(b + green, shifts[2], lows[2], highs[2])
            else:
                u, v, w = planes[0, y, x], planes[1, y, x], planes[2, y, x]
                red = u + np.float32(1.402) * w
                mid = u - np.float32(0.344136286) * v - np.float32(0.714136286) * w
                out[y, x, 0] = _clip_number(red, shifts[0], lows[0], highs[0])
                out[y, x, 1] = _clip_number(mid, shifts[1], lows[1], highs[1])
                out[y, x, 2] = _clip_number(u + np.float32(1.772) * v, shifts[2], lows[2], highs[2])


@stored(**_OPTIONS)
def split_one(samples, plane, start, stop, shift):
    """Write rows of samples as numbers around zero."""
    for y in range(start, stop):
        for x in range(plane.shape[1]):
            plane[y, x] = samples[y, x] - shift


@stored(**_OPTIONS)
def split_three(red, green, blue, planes, start, stop, shifts, is_integer):
    """Write rows of three components as luma and two differences of colour."""
    for y in range(start, stop):
        for x in range(planes.shape[2]):
            r, g, b = red[y, x] - shifts[0], green[y, x] - shifts[1], blue[y, x] - shifts[2]
            if is_integer:
                planes[0, y, x] = (r + 2 * g + b) >> 2
                planes[1, y, x] = b - g
                planes[2, y, x] = r - g
            else:
                u, v, w = np.float32(r), np.float32(g), np.float32(b)
                planes[0, y, x] = np.float32(0.299) * u + np.float32(0.587) * v + np.float32(0.114) * w
                planes[1, y, x] = np.float32(-0.168735892) * u - np.float32(0.331264108) * v + np.float32(0.5) * w
                planes[2, y, x] = np.float32(0.5) * u - np.float32(0.418687589) * v - np.float32(0.081312411) * w

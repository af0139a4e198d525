"""From planes of numbers around zero to samples and back: colour transforms, level shift, rounding and clipping."""

from __future__ import annotations

import numpy as np

from subband.codecs.jpeg2000.loops.weaving import are_woven, unweave_row, weave_row
from subband.compiled.compiling import stored

__all__ = ["join_one", "join_three", "split_one", "split_three"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@stored(**_OPTIONS)
def _clip(value, shift, low, high):
    """Return an integer as a sample; in 32 bits, and clipped first, so that no sum leaves them."""
    bounded = min(max(np.int32(value), np.int32(low - shift)), np.int32(high - shift))
    return np.int32(bounded + np.int32(shift))


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
def _quarter(first, second):
    """Return a quarter of a sum, rounded down, without more bits than its terms have."""
    low = np.int32(np.int32(first & np.int32(3)) + np.int32(second & np.int32(3)))
    return np.int32(np.int32(np.int32(first >> np.int32(2)) + np.int32(second >> np.int32(2))) + (low >> np.int32(2)))


@stored(**_OPTIONS)
def join_three(planes, out, start, stop, shifts, lows, highs, is_integer):
    """Write rows of three components, whose colours are to be restored, as samples."""
    width = planes.shape[2]
    is_woven = are_woven(out[:, :, 0], out[:, :, 1], out[:, :, 2])
    lines = np.empty((3, width), out.dtype)
    for y in range(start, stop):
        first, second, third = planes[0, y], planes[1, y], planes[2, y]
        red, green, blue = lines[0], lines[1], lines[2]
        if is_integer:
            for x in range(width):
                a, b, c = np.int32(first[x]), np.int32(second[x]), np.int32(third[x])
                mid = np.int32(a - _quarter(b, c))
                red[x] = _clip(np.int32(c + mid), shifts[0], lows[0], highs[0])
                green[x] = _clip(mid, shifts[1], lows[1], highs[1])
                blue[x] = _clip(np.int32(b + mid), shifts[2], lows[2], highs[2])
        else:
            for x in range(width):
                u, v, w = first[x], second[x], third[x]
                mid = u - np.float32(0.344136286) * v - np.float32(0.714136286) * w
                red[x] = _clip_number(u + np.float32(1.402) * w, shifts[0], lows[0], highs[0])
                green[x] = _clip_number(mid, shifts[1], lows[1], highs[1])
                blue[x] = _clip_number(u + np.float32(1.772) * v, shifts[2], lows[2], highs[2])
        weave_row(lines, out, y, is_woven)


@stored(**_OPTIONS)
def split_one(samples, plane, start, stop, shift):
    """Write rows of samples as numbers around zero."""
    for y in range(start, stop):
        for x in range(plane.shape[1]):
            plane[y, x] = samples[y, x] - shift


@stored(**_OPTIONS)
def split_three(red, green, blue, planes, start, stop, shifts, is_integer):
    """Write rows of three components as luma and two differences of colour."""
    width = planes.shape[2]
    is_woven = are_woven(red, green, blue)
    lines = np.empty((3, width), red.dtype)
    low, mid, high = np.int32(shifts[0]), np.int32(shifts[1]), np.int32(shifts[2])
    for y in range(start, stop):
        unweave_row(red, green, blue, y, is_woven, lines)
        one, two, three = lines[0], lines[1], lines[2]
        luma, second, third = planes[0, y], planes[1, y], planes[2, y]
        for x in range(width):
            # in 32 bits: what is wider leaves half as many numbers to a vector
            r, g = np.int32(np.int32(one[x]) - low), np.int32(np.int32(two[x]) - mid)
            b = np.int32(np.int32(three[x]) - high)
            if is_integer:
                luma[x] = np.int32(np.int32(r + b) + np.int32(g + g)) >> np.int32(2)
                second[x] = np.int32(b - g)
                third[x] = np.int32(r - g)
            else:
                u, v, w = np.float32(r), np.float32(g), np.float32(b)
                luma[x] = np.float32(0.299) * u + np.float32(0.587) * v + np.float32(0.114) * w
                second[x] = np.float32(-0.168735892) * u - np.float32(0.331264108) * v + np.float32(0.5) * w
                third[x] = np.float32(0.5) * u - np.float32(0.418687589) * v - np.float32(0.081312411) * w

"""The loops over pixels that find edges, compiled.

Arrays have three axes, slices, rows and columns; an image is a volume of one slice. A gradient has one more axis in
front, as long as there are dimensions: 2 for images, 3 for volumes. `first` and `last` count rows of all slices, so
that threads can share an array.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import Any

import numba as nb
import numpy as np

from subband.compiled.compiling import stored
from subband.typing import Array

__all__ = ["combine_bands", "keep_connected", "link_scales", "mark_maxima"]


def _combine_bands(
    bands: Any, factor: float, gradient: Array, modulus: Array, is_first: bool, first: int, last: int
) -> None:
    """Scale the bands of one channel to a gradient; of several channels, the steepest counts."""
    count = len(bands)
    rows, columns = modulus.shape[1], modulus.shape[2]
    for line in range(first, last):
        s, r = line // rows, line % rows
        for c in range(columns):
            square = nb.float32(0.0)
            for axis in range(count):
                part = bands[axis][s, r, c] * factor
                square += part * part
            length = sqrt(square)
            # channels that are equal but for rounding do not take turns
            if is_first or length > nb.float32(1.0001) * modulus[s, r, c]:
                modulus[s, r, c] = length
                for axis in range(count):
                    gradient[axis, s, r, c] = bands[axis][s, r, c] * factor


def _sample(modulus: Array, s: float, r: float, c: float) -> float:
    """Interpolate between samples; the outermost ones go on outside."""
    slices, rows, columns = modulus.shape
    s0, r0, c0 = floor(s), floor(r), floor(c)
    fs, fr, fc = s - s0, r - r0, c - c0
    total = 0.0
    for ds in range(2):
        ws = fs if ds else 1.0 - fs
        if ws == 0.0:
            continue
        i = min(max(s0 + ds, 0), slices - 1)
        for dr in range(2):
            wr = fr if dr else 1.0 - fr
            if wr == 0.0:
                continue
            j = min(max(r0 + dr, 0), rows - 1)
            for dc in range(2):
                wc = fc if dc else 1.0 - fc
                if wc == 0.0:
                    continue
                k = min(max(c0 + dc, 0), columns - 1)
                total += ws * wr * wc * modulus[i, j, k]
    return total


def _sample_plane(modulus: Array, s: int, r: int, c: int, dr: float, dc: float, distance: int) -> float:
    """Interpolate in a slice where `dr` or `dc` is 1 or -1, some distance on: there only two samples count."""
    rows, columns = modulus.shape[1], modulus.shape[2]
    if abs(dr) > abs(dc):
        j = min(max(r + (distance if dr > 0 else -distance), 0), rows - 1)
        shift = dc * distance
        low = floor(shift)
        share = shift - low
        first, last = min(max(c + low, 0), columns - 1), min(max(c + low + 1, 0), columns - 1)
        value: float = (1.0 - share) * modulus[s, j, first] + share * modulus[s, j, last]
    else:
        k = min(max(c + (distance if dc > 0 else -distance), 0), columns - 1)
        shift = dr * distance
        low = floor(shift)
        share = shift - low
        first, last = min(max(r + low, 0), rows - 1), min(max(r + low + 1, 0), rows - 1)
        value = (1.0 - share) * modulus[s, first, k] + share * modulus[s, last, k]
    return value


def _mark_maxima(
    gradient: Array,
    modulus: Array,
    limits: Any,
    floor_limit: float,
    distance: int,
    prominence: float,
    marks: Array,
    first: int,
    last: int,
) -> None:
    """Mark where the modulus is above its limits and largest along its gradient.

    `limits` holds three arrays, for slices, rows and columns: their product is the limit that noise sets. The modulus
    has to be larger than beside it, and than at some `distance` by a part, `prominence`, of its limit: a ripple of
    noise where all is steep is not.
    """
    count = gradient.shape[0]
    rows, columns = modulus.shape[1], modulus.shape[2]
    for line in range(first, last):
        s, r = line // rows, line % rows
        across = limits[0][s] * limits[1][r]
        for c in range(columns):
            marks[s, r, c] = 0
            here = modulus[s, r, c]
            if not (here > floor_limit and here > across * limits[2][c]):
                continue
            gs = gradient[0, s, r, c] if count == 3 else 0.0
            gr, gc = gradient[count - 2, s, r, c], gradient[count - 1, s, r, c]
            # the neighbours along the gradient lie where it leaves the cube of the nearest ones
            steepest = max(abs(gs), abs(gr), abs(gc))
            ds, dr, dc = gs / steepest, gr / steepest, gc / steepest
            # one of two equal neighbours is the maximum, always the one on the same side
            if count == 2:
                # without branches, which a processor would guess wrong half of the time
                is_flat = abs(gc) >= abs(gr)
                down, right = (1 if gr > 0 else -1), (1 if gc > 0 else -1)
                r1, r0 = min(max(r + down, 0), rows - 1), min(max(r - down, 0), rows - 1)
                c1, c0 = min(max(c + right, 0), columns - 1), min(max(c - right, 0), columns - 1)
                share = abs(dr) if is_flat else abs(dc)
                ahead = modulus[s, r if is_flat else r1, c1 if is_flat else c]
                behind = modulus[s, r if is_flat else r0, c0 if is_flat else c]
                ahead += share * (modulus[s, r1, c1] - ahead)
                behind += share * (modulus[s, r0, c0] - behind)
                if (here <= ahead) | (here < behind):
                    continue
                if distance > 1:
                    ahead = sample_plane(modulus, s, r, c, dr, dc, distance)
                    behind = sample_plane(modulus, s, r, c, -dr, -dc, distance)
            else:
                ahead = sample(modulus, s + ds, r + dr, c + dc)
                if here <= ahead:
                    continue
                behind = sample(modulus, s - ds, r - dr, c - dc)
                if here < behind:
                    continue
                if distance > 1:
                    ds, dr, dc = ds * distance, dr * distance, dc * distance
                    ahead = sample(modulus, s + ds, r + dr, c + dc)
                    behind = sample(modulus, s - ds, r - dr, c - dc)
            drop = here - (ahead + behind) / 2
            if here >= ahead and here >= behind and drop >= prominence * across * limits[2][c]:
                marks[s, r, c] = 1


def _link_scales(
    fine: Array,
    fine_gradient: Array,
    fine_modulus: Array,
    fine_deviations: Any,
    coarse: Array,
    coarse_gradient: Array,
    coarse_modulus: Array,
    coarse_evidence: Array,
    reach: int,
    cosine: float,
    evidence: Array,
    first: int,
    last: int,
) -> None:
    """Join maxima of one scale to those of the next that lie near and look the same way.

    `fine` becomes the number of scales that the chain goes through, from this one on; `evidence` the largest modulus
    in the chain, in standard deviations of the noise of its scale, which are the product of three arrays.
    """
    count = fine_gradient.shape[0]
    slices, rows, columns = fine.shape
    for line in range(first, last):
        s, r = line // rows, line % rows
        for c in range(columns):
            if not fine[s, r, c]:
                continue
            longest = 0
            best = 0.0
            for i in range(max(s - reach, 0), min(s + reach + 1, slices)):
                for j in range(max(r - reach, 0), min(r + reach + 1, rows)):
                    for k in range(max(c - reach, 0), min(c + reach + 1, columns)):
                        if not coarse[i, j, k]:
                            continue
                        dot = 0.0
                        for axis in range(count):
                            dot += fine_gradient[axis, s, r, c] * coarse_gradient[axis, i, j, k]
                        if dot < cosine * fine_modulus[s, r, c] * coarse_modulus[i, j, k]:
                            continue
                        length = coarse[i, j, k]
                        if length > longest or (length == longest and coarse_evidence[i, j, k] > best):
                            longest = length
                            best = coarse_evidence[i, j, k]
            fine[s, r, c] = 1 + longest
            deviation = fine_deviations[0][s] * fine_deviations[1][r] * fine_deviations[2][c]
            evidence[s, r, c] = max(best, fine_modulus[s, r, c] / deviation)


def _keep_connected(flat: Array, slices: int, rows: int, columns: int, shortest: int) -> None:
    """Keep groups of touching marks that hold a strong one, 2, and are not too small; the others become 0."""
    size = flat.size
    group = np.empty(size, np.int64)  # a group's marks in the order in which they are found
    for start in range(size):
        if flat[start] != 2:
            continue
        group[0] = start
        flat[start] = 3
        done, found = 0, 1
        while done < found:
            index = group[done]
            done += 1
            s, r, c = index // (rows * columns), index // columns % rows, index % columns
            for i in range(max(s - 1, 0), min(s + 2, slices)):
                for j in range(max(r - 1, 0), min(r + 2, rows)):
                    for k in range(max(c - 1, 0), min(c + 2, columns)):
                        other = (i * rows + j) * columns + k
                        if flat[other] == 1 or flat[other] == 2:
                            flat[other] = 3
                            group[found] = other
                            found += 1
        if found < shortest:
            for k in range(found):
                flat[group[k]] = 0
    for index in range(size):
        flat[index] = flat[index] == 3


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

sample = stored(**_OPTIONS)(_sample)
sample_plane = stored(**_OPTIONS)(_sample_plane)
combine_bands = stored(**_OPTIONS)(_combine_bands)
mark_maxima = stored(**_OPTIONS)(_mark_maxima)
link_scales = stored(**_OPTIONS)(_link_scales)
keep_connected = stored(**_OPTIONS)(_keep_connected)

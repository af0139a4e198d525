"""Parts of planes: cut out, added up, or reaching over the borders, where planes are mirrored."""

from __future__ import annotations

import numba as nb

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.filters.loops.calls import add_scaled_run, cast_like, copy_run, reflect, scale_run, stand_alone

__all__ = ["average_shifts", "blend_part"]


@pointed(**OPTIONS)
def blend_part(out, x, _y, numbers, sizes, task):
    """Write, or add, a part of planes times a weight; what lies outside is mirrored at the outermost samples.

    Sizes: three of a plane, three of the part, three where it begins, and whether to add. Numbers: the weight.
    """
    depth, height, width = sizes[0], sizes[1], sizes[2]
    plane, z = task[0] // sizes[3], task[0] % sizes[3]
    weight, add = cast_like(x, numbers[0]), sizes[9]
    slices = plane * depth + reflect(z + sizes[6], depth)
    first, n = task[3] + sizes[8], task[4] - task[3]
    begin = min(max(0, -first), n)
    end = max(min(n, width - first), begin)
    for row in range(task[1], task[2]):
        line = shift(x, (slices * height + reflect(row + sizes[7], height)) * width)
        goal = shift(out, (task[0] * sizes[4] + row) * sizes[5] + task[3])
        inner, y = shift(line, first + begin), shift(goal, begin)
        if add:
            add_scaled_run(y, inner, weight, end - begin)
        elif numbers[0] == 1:
            copy_run(y, inner, end - begin)
        else:
            scale_run(y, inner, weight, end - begin)
        k = end if begin == 0 else 0
        while k < n:
            value = weight * line[reflect(first + k, width)]
            goal[k] = goal[k] + value if add else value
            k = end if k + 1 == begin else k + 1


@nb.njit(**OPTIONS)
def _average_runs(y, a, b, half, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = half * (a[k] + b[k])


@pointed(**OPTIONS)
def average_shifts(out, x, y, _numbers, sizes, task):
    """Write the mean of the beginning of some planes and of a part of others.

    Sizes: three of a plane of either, three of the result, and where the part begins in the others.
    """
    half, n = cast_like(x, 0.5), task[4] - task[3]
    plane, z = task[0] // sizes[6], task[0] % sizes[6]
    for row in range(task[1], task[2]):
        first = ((plane * sizes[0] + z) * sizes[1] + row) * sizes[2] + task[3]
        other = ((plane * sizes[3] + z + sizes[9]) * sizes[4] + row + sizes[10]) * sizes[5] + sizes[11] + task[3]
        goal = shift(out, (task[0] * sizes[7] + row) * sizes[8] + task[3])
        _average_runs(goal, shift(x, first), shift(y, other), half, n)

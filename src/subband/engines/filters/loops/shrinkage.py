"""Shrinkage of single coefficients: by a threshold, or by a guide, the coefficients of a first denoised image."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.frame_loops import shrink_row
from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.filters.loops.calls import cast_like, stand_alone

__all__ = ["shrink_by_guide", "shrink_by_threshold"]


@pointed(**OPTIONS)
def shrink_by_threshold(out, values, _y, _numbers, sizes, task):
    """Shrink planes by a threshold, in place.

    Sizes: samples of a plane, and the address of the loop. Values of a plane: as
    `subband.engines.cpu.frame_tables.tabulate_thresholds` makes them.
    """
    shrink_row(sizes[1], shift(out, task[0] * sizes[0] + task[3]), shift(values, 4 * task[0]), task[4] - task[3])


@nb.njit(**OPTIONS)
def _shrink_by_guide(y, guide, inverse, one, most, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        signal = guide[k] * inverse
        # without a limit, a strong signal would be infinity over infinity
        energy = min(signal * signal, most)
        y[k] *= energy / (energy + one)


@pointed(**OPTIONS)
def shrink_by_guide(out, guide, _y, numbers, sizes, task):
    """Multiply planes by the Wiener gain g² / (g² + n²), in place.

    Sizes: samples of a plane. Numbers of a plane: one over n; where there is no noise, infinity.
    """
    if not np.isinf(numbers[task[0]]):
        start = task[0] * sizes[0] + task[3]
        inverse, one, most = cast_like(out, numbers[task[0]]), cast_like(out, 1.0), cast_like(out, 1e30)
        _shrink_by_guide(shift(out, start), shift(guide, start), inverse, one, most, task[4] - task[3])

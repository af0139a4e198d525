"""Maxima of the gradient joined to chains across scales, and those that stand out from the noise."""

from __future__ import annotations

from math import sqrt

import numpy as np

from subband.compiled import Kernels
from subband.edit.edge_scales import Scale, share_lines
from subband.typing import Array

__all__ = ["chain_scales", "keep_connected"]

_loops = Kernels("subband.edit.edge_loops")

#: Maxima of two scales belong together if their gradients differ by less than this angle of 45 degrees.
_COSINE = sqrt(0.5)

#: What maxima of fine scales are to have in images and in volumes, in standard deviations of the noise.
_FAINT = {2: 2.0, 3: 3.0}

#: How much a maximum is to stand out from its surroundings, as a part of what it is to have at all.
_PROMINENCE = 0.4


def chain_scales(scales: list[Scale], low: float, least: float, high: float | None) -> tuple[Array, Array, Scale]:
    """Return how many scales the chain of each maximum goes through, its evidence, and the finest of the scales.

    If `high` is given, the chains end where noise of so many standard deviations would hide most edges.
    """
    tiny = float(np.finfo(np.float32).tiny)
    lengths: Array | None = None
    evidence: Array | None = None
    above: Scale | None = None
    height = 0.0
    for scale in reversed(scales):
        if high is not None and above is not None and 2 * high * scale.deviation > height:
            break
        marks = np.empty(scale.modulus.shape, np.uint8)
        found = np.zeros(scale.modulus.shape, np.float32)
        # at fine scales noise hides what coarse ones show, so little is asked of them
        limits = scale.spread_noise(low if above is None else min(low, _FAINT[len(scale.gradient)]), 0.0)
        share_lines(marks, lambda *lines, s=scale, t=limits, m=marks: _loops.mark_maxima(
            s.gradient, s.modulus, t, max(least, tiny), 1 << (s.level - 1), _PROMINENCE, m, *lines
        ))  # fmt: skip
        # without noise everything stands out, by a number that can still be written down
        deviations = scale.spread_noise(1.0, max(1e-6 * least, 1e-30))
        if above is None or lengths is None or evidence is None:
            whole = deviations[0][:, None, None] * deviations[1][:, None] * deviations[2]
            np.divide(scale.modulus, whole, out=found, where=marks != 0)
            clear = scale.modulus[(marks != 0) & (found > (high or 0))]
            height = float(np.median(clear)) if clear.size else 0.0
        else:
            reach = 1 << (scale.level - 1)
            options = (reach, _COSINE, found)
            before = (lengths, above.gradient, above.modulus, evidence)
            share_lines(marks, lambda *lines, s=scale, d=deviations, m=marks, b=before, o=options: (
                _loops.link_scales(m, s.gradient, s.modulus, d, *b, *o, *lines)
            ))  # fmt: skip
        lengths, evidence, above = marks, found, scale
    if lengths is None or evidence is None or above is None:
        raise AssertionError
    return lengths, evidence, above


def keep_connected(marks: Array, shortest: int) -> None:
    """Keep groups of touching marks, in place: those that hold a strong one, 2, and are not too small."""
    _loops.keep_connected(marks.reshape(-1), *marks.shape, shortest)

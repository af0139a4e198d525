"""How motion between frames of video is found and followed: the numbers that loops of the CPU and kernels share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from subband.typing import Array

__all__ = [
    "AGREE",
    "ALIKE",
    "BLOCK",
    "CLOSE",
    "CUT",
    "DOUBT",
    "DRIFT_SLACK",
    "DRIFT_WORTH",
    "ENOUGH",
    "GROWTH",
    "HOLD",
    "LIGHT_ROUNDS",
    "LIGHT_SPREAD",
    "LIGHT_WORTH",
    "LINE",
    "MARGIN",
    "MEMORY",
    "MORE",
    "MOST_GAIN",
    "NEAR",
    "NEW",
    "OWN_WORTH",
    "PATCH",
    "PATCH_SLACK",
    "PATCH_WORTH",
    "PHASES",
    "RADIUS",
    "REACH",
    "SAME",
    "SCALES",
    "SLACKS",
    "SPREADS",
    "STEPS",
    "STRAIGHT",
    "SURE",
    "TAPS",
    "TURN_WORTH",
    "UNSEEN",
    "WHOLE",
    "WINDOW",
    "WORTH",
    "measure_gain",
    "tabulate_taps",
]

#: Samples of a block along each axis, at each scale.
BLOCK = 8

#: Samples along each axis that are compared, around a block: those of the block alone are too few in noise.
WINDOW = 16

#: Samples beyond the borders, on each side, that motion may lead to; the outermost ones are repeated there.
MARGIN = 24

#: Fractions of a sample that are told apart, and taps of the filter that interpolates there.
PHASES, TAPS = 32, 8

#: Scales of the search; samples around nothing that are looked at at the coarsest, and steps from a guess at others.
SCALES, RADIUS, STEPS = 5, 4, 3

#: Weights along each axis of the means that a scale is made of: smooth enough for linear interpolation.
_WEIGHTS = np.array([1, 5, 10, 10, 5, 1]) / 32

#: Motion that differs by less from the common one, in samples of the finest scale, counts for that.
REACH = 0.25

#: Samples of the finest scale by which blocks may be off a common motion that turns or zooms, round by round of its
#: fit: at first all of them count, in the end those that move so.
SPREADS = (2.0, 1.0, 0.5, 0.25, 0.25)

#: Samples of the finest scale by which blocks that follow it are off, nearly. The search for it begins there if so many
#: times as many follow it as one that is the same everywhere; and half a sum of squares over what is left that it has
#: to gain over that.
NEAR, MORE, TURN_WORTH = 0.0625, 1.5, 40.0

#: Samples of the finest scale by which the motion of blocks beside each other may differ to go over into each other.
AGREE = 0.375

#: A common motion that is so near to whole samples of a frame, in samples of the finest scale, is taken for that.
WHOLE = 0.025

#: Noise of smoothed samples is that of fewer ones, of so many times the variance.
ALIKE = 3.0

#: Half a sum of squares over the noise that other blocks' motion, or whole samples around, have to gain to be
#: preferred; and that a block's own has to gain over the common one.
WORTH, OWN_WORTH = 4.0, 24.0

#: A mean square of differences, over what noise makes of it, that leaves nothing to look for.
ENOUGH = 1.3

#: Samples that a displacement may be off by without a search: so far from the best one, it is what slopes explain.
CLOSE = 0.1

#: Samples along both axes by which a candidate has to differ to be looked at: a step along the slopes does the rest.
SAME = 0.3

#: How hard it is to leave the motion of the coarser scale: one over the variance of what is expected, in samples.
HOLD = 64.0

#: Frames that an average lasts for, at most: longer ones gain little, and keep what is wrong for longer.
MEMORY = 16

#: Mean energy of 5 × 5 samples, 3 × 3 and a single one, and that of the sum of a line of them, over that of noise, from
#: which a prediction counts as off.
SLACKS = (1.5, 2.3, 13.0, 10.0)

#: Weight from which a sample counts as new, and part of a frame that has to be new for all of it to count so: a cut.
NEW, CUT = 0.6, 0.5

#: Variance over that of a frame of what was never seen.
UNSEEN = 1e4

#: What a prediction is off by around a sample, it is off by more at edges: so many times as much counts.
DOUBT = 2.0

#: Excess from which a prediction is not only doubtful but wrong: hardly anything of it is to be left, and samples
#: beside it are doubted too. So much faster doubt grows from there.
SURE, GROWTH = 0.5, 3.0

#: Samples of a line that is looked at by itself, and how much its excess counts: a thin edge that has moved on is off
#: by the same sign all along, which noise hardly ever is.
LINE, STRAIGHT = 5, 3.0

#: Rounds of the fit of a change of light; half a sum of squares over the noise that it has to gain; the part of the
#: contrast of blocks that it may leave, or most of the frame is another one; and the strongest gain, either way.
LIGHT_ROUNDS, LIGHT_WORTH, LIGHT_SPREAD, MOST_GAIN = 8, 20.0, 0.1, 4.0

#: Squared mean of 3 × 3 blocks, over its noise, from which it counts as drift, and how much more than the energy of
#: single samples: what follows removes noise, and no drift.
DRIFT_SLACK, DRIFT_WORTH = 10.0, 10.0

#: Rows and columns of samples whose sum is looked at; energy of such sums, over that of noise, from which it counts
#: where most of 3 × 3 blocks have as much, and how much it counts. Residuals of texture that has changed are alike
#: beside each other, and those of noise are not, so that it shows where it is much weaker than noise.
PATCH, PATCH_SLACK, PATCH_WORTH = 4, 1.5, 1.0


@lru_cache(maxsize=32)
def measure_gain(scale: int) -> float:
    """Return the variance of white noise of variance one at a scale of the search; the frame itself is 0.

    Examples
    --------
    >>> measure_gain(0), round(measure_gain(1), 4)
    (1.0, 0.0606)
    """
    taps = np.ones(1)
    for number in range(scale):
        wide = np.zeros((len(_WEIGHTS) - 1) * 2**number + 1)
        wide[:: 2**number] = _WEIGHTS
        taps = np.convolve(taps, wide)
    return float(np.square(taps).sum() ** 2)


@lru_cache(maxsize=1)
def tabulate_taps() -> Array:
    """Return the filters that interpolate at each fraction of a sample: a sinc under a window.

    Examples
    --------
    >>> tabulate_taps().shape, tabulate_taps()[0].tolist()
    ((32, 8), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    """
    distance = np.arange(TAPS) - (TAPS // 2 - 1) - np.arange(PHASES)[:, np.newaxis] / PHASES
    taps = np.sinc(distance) * np.sinc(distance / (TAPS // 2))
    taps[0] = np.arange(TAPS) == TAPS // 2 - 1
    return np.ascontiguousarray(taps / taps.sum(axis=1, keepdims=True), np.float32)

"""Which coding passes go into which quality layer, so that every byte buys as much as it can.

Each block offers a curve: bytes spent against squared error removed. Only the corners of its convex hull are worth
stopping at. All segments of all hulls, sorted by their slope, give one list; a layer is everything up to a position in
that list: where the file is as large, or the image as accurate, as was asked for.

References
----------
D. Taubman, High performance scalable image compression with EBCOT, IEEE Transactions on Image Processing 9, 2000,
doi:10.1109/83.847830.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from subband.compiled import Kernels
from subband.typing import Array

__all__ = ["Curves", "Target", "allocate_passes", "trace_curves"]

_hulls = Kernels("subband.codecs.jpeg2000.loops.hulls")

#: Measures how large the file is with so many layers, given the passes that each layer keeps.
Measure = Callable[[Array], int]

# Measurements that follow the estimate before plain halving takes over.
_ESTIMATES = 8


@dataclass(frozen=True)
class Target:
    """What ends a layer; without either, it takes everything.

    Attributes
    ----------
    size : int, optional
        Bytes of the file up to and with this layer.
    error : float, optional
        Squared error that may be left, over all samples of all components.
    """

    size: int | None = None
    error: float | None = None


@dataclass(frozen=True)
class Curves:
    """The hulls of all blocks, as segments from the steepest to the flattest.

    Attributes
    ----------
    slopes, gains, sizes : ndarray of float64
        Squared error removed a byte; squared error removed; bytes.
    owners : ndarray of int32
        Three rows: block, passes before the segment, passes behind it.
    passes : ndarray of int32
        All passes of each block, those beyond the hull too.
    """

    slopes: Array
    gains: Array
    sizes: Array
    owners: Array
    passes: Array


def trace_curves(passes: Array, ends: Array, gains: Array, weights: Array) -> Curves:
    """Return the hulls of blocks.

    Parameters
    ----------
    passes : ndarray of int32
        Of each block.
    ends, gains : ndarray
        Blocks × passes: bytes, and squared error removed in units of steps, both up to and with each pass.
    weights : ndarray of float64
        What a squared error of one step in each block means in the image.

    Examples
    --------
    >>> curves = trace_curves(
    ...     np.array([3], np.int32), np.array([[10, 20, 30]], np.int32), np.array([[100.0, 110.0, 160.0]]), np.ones(1)
    ... )
    >>> curves.slopes.tolist(), curves.owners[2].tolist()
    ([10.0, 3.0], [1, 3])
    """
    values, owners, count = _hulls.list_segments(passes, ends, gains, weights)
    # a stable order keeps the segments of a block one behind the other where slopes are equal
    order = np.argsort(-values[0, :count], kind="stable")
    return Curves(values[0][order], values[1][order], values[2][order], owners[:, order], passes)


def allocate_passes(curves: Curves, targets: Sequence[Target], error: float, measure: Measure) -> Array:
    """Choose the passes of each layer.

    Parameters
    ----------
    curves : Curves
        Of all blocks of the image.
    targets : sequence of Target
        One for each layer, from the coarsest to the finest.
    error : float
        The squared error that is left when all passes are kept.
    measure : callable
        Takes int32 layers × blocks, the passes kept up to and with each layer, and returns the bytes of the file.

    Returns
    -------
    ndarray of int32
        Layers × blocks: passes kept up to and with each layer. No layer is larger than its target, unless the target
        is too small for headers alone.
    """
    kept = np.zeros((len(targets), len(curves.passes)), np.int32)
    floor = np.zeros(len(curves.passes), np.int32)
    bodies = np.concatenate([[0.0], np.cumsum(curves.sizes)])
    for number, target in enumerate(targets):
        layers = kept[: number + 1]
        if target.size is not None:
            _fit_size(curves, bodies, floor, layers, target.size, measure)
        elif target.error is not None:
            _fit_error(curves, floor, layers[-1], target.error - error)
        else:
            layers[-1] = curves.passes
        floor = layers[-1]
    return kept


def _fit_error(curves: Curves, floor: Array, kept: Array, allowed: float) -> None:
    """Keep the fewest segments that leave no more than the error that is allowed."""
    left = np.concatenate([np.cumsum(curves.gains[::-1])[::-1], [0.0]])
    count = int(np.searchsorted(-left, -max(allowed, 0.0)))
    _hulls.keep_first(count, curves.owners, floor, kept)


def _fit_size(curves: Curves, bodies: Array, floor: Array, layers: Array, size: int, measure: Measure) -> None:
    """Keep the most segments that fit, and then what else does."""
    kept = layers[-1]
    fits = 0
    # the bytes of blocks alone are a bound; what headers add is measured, and hardly changes from one guess to the next
    fails = int(np.searchsorted(bodies, size, side="right"))
    guess = fails - 1
    left = None
    for attempt in range(64):
        if fails - fits <= 1:
            break
        _hulls.keep_first(guess, curves.owners, floor, kept)
        found = measure(layers)
        if found <= size:
            fits, left = guess, size - found
        else:
            fails = guess
        if attempt < _ESTIMATES:
            guess = int(np.searchsorted(bodies, size - (found - bodies[guess]), side="right")) - 1
        else:
            guess = (fits + fails) // 2
        guess = min(max(guess, fits + 1), fails - 1)
    _hulls.keep_first(fits, curves.owners, floor, kept)
    if left is None:
        left = size - measure(layers)
    plain = kept.copy()
    while left > 4:
        _hulls.fill_up(fits, curves.owners, curves.sizes, left, kept)
        if measure(layers) <= size:
            break
        kept[:] = plain
        left //= 2

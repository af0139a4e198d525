"""The motion that most blocks of a frame have: that of a camera which moves, turns and zooms.

Three numbers for each direction say where a block was before: that of the frame's middle, and how it grows from there
to the last row and to the last column. Motion of single blocks says roughly what they are, and one step along the
slopes of the image, of all blocks that move nearly so, exactly. A camera that hardly turns is taken for one that does
not, so that what it sees is moved alike everywhere.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from subband.compiled import Kernels
from subband.engines.temporal.sharing import share_rows
from subband.tracking import ALIKE, BLOCK, MORE, NEAR, PHASES, REACH, SPREADS, TURN_WORTH, WHOLE, tabulate_taps
from subband.typing import Array

__all__ = ["find_common"]

_loops = Kernels("subband.engines.temporal.motion_loops")


def find_common(new: Array, old: Array, motion: Array) -> Array:
    """Return where blocks were before if they move as most of them do.

    Parameters
    ----------
    new, old : ndarray of float32
        Both frames at the finest scale, with margins.
    motion : ndarray of float32, of shape (blocks, blocks, 2)
        Where each block was before, by itself.

    Returns
    -------
    ndarray of float32, of the shape of `motion`
    """
    positions = _list_positions(*motion.shape[:2])
    found = np.reshape(motion, (-1, 2)).T.astype(np.float64, order="C")
    start = _begin(found, positions)
    begun = np.rint(start @ positions * PHASES)
    sums = np.zeros((7, *motion.shape[:2]))
    phases = begun.astype(np.int64).reshape(2, *motion.shape[:2])
    share_rows(len(motion), partial(_loops.balance, new, old, motion, phases, tabulate_taps(), REACH, sums))
    common = _step(start, positions, begun / PHASES - start @ positions, sums.reshape(7, -1))
    return np.ascontiguousarray((common @ positions).T, np.float32).reshape(motion.shape)


def _list_positions(rows: int, columns: int) -> Array:
    """Return what the numbers of a motion count for in each block: one, and its row and column between -1 and 1."""
    down, right = ((2 * np.arange(count) + 1 - count) / count for count in (rows, columns))
    return np.stack([np.ones(rows * columns), np.repeat(down, columns), np.tile(right, rows)])


def _begin(found: Array, positions: Array) -> Array:
    """Return the motion that is nearest to that of most blocks; the same everywhere, unless many more follow it."""
    alike = np.zeros((2, 3))
    alike[:, :1] = np.rint(_fit(found, positions[:1]) * PHASES) / PHASES
    fit = _fit(found, positions)
    return fit if _count_near(found, positions, fit) > MORE * _count_near(found, positions, alike) else alike


def _count_near(found: Array, positions: Array, common: Array) -> Any:
    """Return how many blocks follow a motion; the further off, the less they count.

    What lies between two layers is not far from either, but what one of them has is hit.
    """
    return np.sum(NEAR**2 / (NEAR**2 + np.square(found - common @ positions).sum(axis=0)))


def _fit(found: Array, positions: Array) -> Array:
    """Return the motion that most blocks nearly have; what moves by itself counts less and less."""
    fit = np.zeros((2, len(positions)))
    fit[:, 0] = np.median(found, axis=1)
    for spread in SPREADS:
        weights = np.square(spread**2 / (spread**2 + np.square(found - fit @ positions).sum(axis=0)))
        weighted = weights * positions
        fit = np.linalg.solve(_stabilise(weighted @ positions.T), weighted @ found.T).T
    return fit


def _stabilise(matrix: Array) -> Array:
    """Return the matrix of equations with something added, so that what they leave open is 0."""
    diagonal = np.diag(matrix)
    return np.asarray(matrix + np.diag(np.where(diagonal > 0, 1e-6 * diagonal, 1.0)))


def _step(start: Array, positions: Array, rest: Array, sums: Array) -> Array:
    """Return a motion after one step along the slopes of blocks.

    `sums` are those of `balance`, where blocks were moved by `rest` more than `start` says.
    """
    slopes = sums[[0, 1, 1, 2]].reshape(2, 2, -1)
    pulls = sums[3:5] + (slopes * rest).sum(axis=1)
    products = (positions[:, np.newaxis] * positions).reshape(9, -1)
    matrix = _stabilise((slopes.reshape(4, -1) @ products.T).reshape(2, 2, 3, 3).transpose(0, 2, 1, 3).reshape(6, 6))
    right = (pulls @ positions.T).ravel()
    step = np.linalg.solve(matrix, right)
    # what is gained over the best motion that is the same everywhere
    bent, middles = start.ravel().copy(), [0, 3]
    bent[middles] = 0
    right = right + matrix @ bent
    alike = np.linalg.solve(matrix[np.ix_(middles, middles)], right[middles])
    gain = 0.5 * ((bent + step) @ right - alike @ right[middles])
    # a few blocks that move by themselves say nothing about the camera
    is_much = 3 * sums[6].sum() > BLOCK**2 * positions.shape[1]
    if is_much and gain * sums[6].sum() > TURN_WORTH * ALIKE * sums[5].sum():
        step = step.reshape(2, 3)
        return np.asarray(start + step * REACH / max(REACH, np.abs(step).sum(axis=1).max()))
    common = np.zeros((2, 3))
    moved = start[:, 0] + np.clip(alike, -REACH, REACH)
    whole = np.round(2 * moved) / 2
    common[:, 0] = np.where(np.abs(moved - whole) < WHOLE, whole, moved)
    return common

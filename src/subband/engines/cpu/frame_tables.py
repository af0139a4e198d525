"""Tables of a frame, appended to those of its rows: how a sweep converts its pixels and shrinks its coefficients."""

from __future__ import annotations

from typing import Literal

import numpy as np

from subband.compiled import Kernels
from subband.engines.cpu.program import ADDRESS, BYTES, CHANNELS, FRAME, PIXELS, TONES, Program
from subband.typing import Array

__all__ = [
    "attach_frame",
    "find_pixel_loop",
    "find_shrink_loop",
    "point_to",
    "tabulate_frame",
    "tabulate_thresholds",
]

_loops = Kernels("subband.engines.cpu.frame_loops")

_PIXEL_LOOPS = {
    ("split", 1): _loops.split_one,
    ("split", 3): _loops.split_three,
    ("join", 1): _loops.join_one,
    ("join", 3): _loops.join_three,
}

_SHRINK_LOOPS = {
    "soft": _loops.shrink_softly,
    "hard": _loops.keep_large,
    "garrote": _loops.shrink_by_garrote,
    "firm": _loops.shrink_firmly,
}


def tabulate_frame(shape: tuple[int, ...], matrix: Array, values: Array | None = None, mode: str = "soft") -> Program:
    """Return the tables of a frame.

    Parameters
    ----------
    shape : tuple of int
        Of its planes: channels × rows × columns.
    matrix : ndarray
        Three by three, to change colours with.
    values : ndarray, optional
        Bands × channels × 4, for a sweep that shrinks coefficients.
    mode : str
        How they shrink.

    Examples
    --------
    >>> tabulate_frame((1, 20, 30), np.eye(3)).ints
    array([ 0,  0,  0,  1, 20, 30,  0])
    """
    loop = 0 if values is None else find_shrink_loop(mode, "float32")
    numbers = np.concatenate([matrix.ravel(), [] if values is None else values.ravel()])
    return Program(np.array([0, 0, 0, *shape, loop], np.int64), numbers.astype(np.float32))


def attach_frame(program: Program, frame: Program) -> Program:
    """Return the program of the rows of a frame, with the tables of the frame behind."""
    ints = np.concatenate([program.ints, frame.ints])
    ints[[FRAME, TONES]] = program.ints.size, program.numbers.size
    return Program(ints, np.concatenate([program.numbers, frame.numbers]), program.ladder)


def point_to(pixels: Array, task: Literal["split", "join"], ints: Array, offset: int = 0) -> Array:
    """Return a table of integers that splits or joins pixels: these must be kept for as long as it is used.

    The table of the frame begins at `offset` in it.
    """
    pointed = ints.copy()
    frame = pointed[offset:]
    channels = int(frame[CHANNELS])
    frame[[PIXELS, ADDRESS, BYTES]] = (
        find_pixel_loop(task, channels, pixels.dtype.name),
        pixels.ctypes.data,
        channels * pixels.itemsize,
    )
    return pointed


def find_pixel_loop(task: str, channels: int, storage: str) -> int:
    """Return the address of the loop that splits pixels into planes, or joins planes."""
    return _PIXEL_LOOPS[task, channels].find_address(f"float32*, int64, {storage}*, float32*, int64")


def find_shrink_loop(mode: str, dtype: str) -> int:
    """Return the address of the loop that shrinks coefficients."""
    return _SHRINK_LOOPS[mode].find_address(f"{dtype}*, {dtype}*, int64")


def tabulate_thresholds(low: Array, high: Array, gain: Array) -> Array:
    """Return what a loop over coefficients takes as values: both thresholds, steepness and gain, along a new last axis.

    Examples
    --------
    >>> tabulate_thresholds(np.array(1.0), np.array(3.0), np.array(2.0)).tolist()
    [1.0, 3.0, 1.5, 2.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steepness = np.where(np.isinf(high), 1, high / (high - low))
    # where both thresholds are the same, nothing lies between them
    steepness = np.where(high == low, 0, steepness)
    return np.stack([low, high, steepness, gain], axis=-1)

"""What a sweep does to the pixels and coefficients of a frame, as tables that stand behind those of its rows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from subband.engines.cpu.frame_loops import find_pixel_loop, find_shrink_loop
from subband.engines.cpu.program import ADDRESS, BYTES, CHANNELS, FRAME, PIXELS, TONES, Program
from subband.typing import Array

__all__ = ["attach_frame", "point_to", "tabulate_frame"]


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
    return Program(ints, np.concatenate([program.numbers, frame.numbers]))


def point_to(pixels: Array, task: Literal["split", "join"], ints: Array, place: int = 0) -> Array:
    """Return a table of integers that splits or joins pixels: these must be kept for as long as it is used.

    The table of the frame stands at `place` in it.
    """
    pointed = ints.copy()
    frame = pointed[place:]
    channels = int(frame[CHANNELS])
    frame[[PIXELS, ADDRESS, BYTES]] = (
        find_pixel_loop(task, channels, pixels.dtype.name),
        pixels.ctypes.data,
        channels * pixels.itemsize,
    )
    return pointed

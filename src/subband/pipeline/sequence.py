"""Frames that follow each other in time: each is enhanced with what is known from those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.engines.temporal import Past
from subband.enhance.enhancer import Enhancer
from subband.enhance.program import Program

__all__ = ["Sequence"]

#: How far apart two frames may be that still belong together: players leave some out.
_GAP = 9


class Sequence:
    """An enhancer for the frames of one video, of one shape, in their order; for one thread at a time.

    It holds what is known of two frames, however long the video is.

    Parameters
    ----------
    enhancer : Enhancer
        What is done; it averages over time.
    engine : Engine
        The engine that computes.
    steps : tuple of int
        Rows and columns of pixels that share a sample, for planes of chroma.

    Examples
    --------
    >>> from subband.data import camera
    >>> from subband.engines import get_engine
    >>> sequence = Sequence(Enhancer(sigma=20.0, temporal=True), get_engine("cpu"))
    >>> noisy = [camera()[:64, :96] + np.random.default_rng(n).normal(0, 20, (64, 96)) for n in range(6)]
    >>> results = [sequence.apply(frame.clip(0, 255).astype(np.uint8)) for frame in noisy]
    >>> results[5].shape, sequence.past.motion is None
    ((64, 96), False)
    """

    def __init__(self, enhancer: Enhancer, engine: Engine, steps: tuple[int, int] = (1, 1)) -> None:
        self._enhancer = enhancer
        self._engine = engine
        self._steps = steps
        self._program: Program | None = None
        self._number: int | None = None
        #: What is known before the frame that came last, and after it.
        self._before: Past | None = None
        self.past: Past | None = None

    def apply(self, frame: Any, number: int | None = None, lead: Past | None = None) -> Any:
        """Enhance the next frame; parameters are those of `follow`."""
        return self.follow(frame, number, lead)()

    def follow(self, frame: Any, number: int | None = None, lead: Past | None = None) -> Callable[[], Any]:
        """Average the next frame with those before it, and return what enhances the average.

        The next frame does not wait for that: another thread may do it meanwhile.

        Parameters
        ----------
        frame : array
            Rows × columns, or rows × columns × channels; of NumPy, or on the device of the engine, where the result is
            then too.
        number : int, optional
            Its number, where frames may be repeated, left out or in another order: the same one again gives the same
            result, and what does not follow begins anew. If left out, it follows the last one.
        lead : Past, optional
            What is known of the brightness after this frame, if these are its planes of chroma.
        """
        program = self._look_back(frame, number)
        motion = None if lead is None else lead.motion
        if lead is not None and motion is None:
            # after a cut, colours are new too
            self._before = None
        whole = np.asarray(frame, frame.dtype.newbyteorder("=")) if isinstance(frame, np.ndarray) else frame
        shaped = whole.reshape(*program.space, program.channels)
        past = self.past = program.follow(shaped, self._before, motion, self._steps)
        if past.motion is None:
            # enhanced from its samples, which may be overwritten by those of the next frame before that is done
            shaped = shaped.copy()
        return lambda: program.finish(shaped, past).reshape(frame.shape)

    def _look_back(self, frame: Any, number: int | None) -> Program:
        """Find out what is known before a frame, and return what is prepared for its shape."""
        space, channels = frame.shape[:2], frame.shape[2] if frame.ndim == 3 else 1
        if self._program is None or (self._program.space, self._program.channels) != (space, channels):
            self._program = Program(self._enhancer, space, channels, self._engine)
            self.past = self._number = None
        if number is None or self._number is None:
            self._before = self.past
        elif number != self._number:
            self._before = self.past if 0 < number - self._number <= _GAP else None
        self._number = number
        return self._program

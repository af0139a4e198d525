"""Y'CbCr of video whose chroma has fewer samples: each plane through the wavelet domain at its own size.

Sources repeat chroma up to the size of the brightness, so that frames are arrays of three equal channels. Noise cannot
be measured there: the samples between are copies. Here the planes are taken out as they are in the file, treated each
by itself, and put together again; at a quarter of the size, chroma also takes a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import tee

import numpy as np

from subband.engines import Engine
from subband.enhance.enhancer import Enhancer
from subband.pipeline.frames import Pipeline
from subband.pipeline.sequence import Sequence
from subband.pipeline.units import pick_plane
from subband.typing import Array

__all__ = ["PlaneWork", "join_planes", "take_plane"]


def take_plane(pixels: Array, channel: int, steps: tuple[int, int]) -> Array:
    """Return a channel without repeated samples.

    Examples
    --------
    >>> take_plane(np.arange(24).reshape(2, 4, 3), 1, (2, 2))
    array([[1, 7]])
    """
    down, across = steps if channel else (1, 1)
    return np.ascontiguousarray(pixels[::down, ::across, channel])


def join_planes(planes: tuple[Array, Array, Array], steps: tuple[int, int]) -> Array:
    """Return Y'CbCr with chroma repeated.

    Examples
    --------
    >>> join_planes((np.zeros((2, 3)), np.ones((1, 2)), np.ones((1, 2))), (2, 2)).shape
    (2, 3, 3)
    """
    down, across = steps
    bright = planes[0]
    pixels = np.empty((*bright.shape, 3), bright.dtype)
    pixels[..., 0] = bright
    for channel in (1, 2):
        for row in range(down):
            for column in range(across):
                part = pixels[row::down, column::across, channel]
                part[...] = planes[channel][: part.shape[0], : part.shape[1]]
    return pixels


class PlaneWork:
    """What turns frames of Y'CbCr into enhanced ones, plane by plane; a `Work` of `subband.pipeline.relay`.

    Parameters
    ----------
    enhancer : Enhancer
        For full size; its sigma counts in the units of the planes.
    steps : tuple of int
        Rows and columns of pixels that share their chroma.
    engine : str, optional
        The engine that computes.
    """

    def __init__(self, enhancer: Enhancer, steps: tuple[int, int], *, engine: str | Engine | None = None) -> None:
        self._steps = steps
        self._enhancer = enhancer
        self._pipelines = [
            Pipeline(pick_plane(enhancer, channel, steps if channel else (1, 1)), engine=engine) for channel in range(3)
        ]

    def __call__(self, frames: Iterator[Array]) -> Iterator[Array]:
        """Apply the enhancer to frames."""
        if self._enhancer.temporal:
            yield from self._follow(frames)
            return
        planes = [self._process(channel, copies) for channel, copies in enumerate(tee(frames, 3))]
        try:
            # strict: whichever plane met an error of the source tells of it when the others have ended
            for results in zip(*planes, strict=True):
                yield join_planes(results, self._steps)
        finally:
            for each in planes:
                each.close()

    def _follow(self, frames: Iterator[Array]) -> Iterator[Array]:
        """Apply the enhancer to frames, with what is known from those before; chroma moves as the brightness does."""
        sequences = [
            Sequence(pipeline.enhancer, pipeline.engine, self._steps if channel else (1, 1))
            for channel, pipeline in enumerate(self._pipelines)
        ]
        for frame in frames:
            bright = sequences[0].apply(take_plane(frame, 0, self._steps))
            first, second = (
                sequences[channel].apply(take_plane(frame, channel, self._steps), leader=sequences[0])
                for channel in (1, 2)
            )
            yield join_planes((bright, first, second), self._steps)

    def _process(self, channel: int, frames: Iterator[Array]) -> Generator[Array, None, None]:
        return self._pipelines[channel].process(take_plane(frame, channel, self._steps) for frame in frames)

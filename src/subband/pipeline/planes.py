"""Y'CbCr of video whose chroma has fewer samples: each plane through the wavelet domain at its own size.

Sources repeat chroma up to the size of the brightness, so that frames are arrays of three equal channels. Noise cannot
be measured there: the samples between are copies. Here the planes are taken out as they are in the file, treated each
by itself, and put together again; at a quarter of the size, chroma also takes a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import tee

import numpy as np

from subband.engines import Engine
from subband.enhance.enhancer import Enhancer
from subband.media.video_pixels import allocate_planar, repeat_blocks
from subband.pipeline.ahead import count_ahead, run_ahead
from subband.pipeline.frames import Pipeline
from subband.pipeline.sequence import Sequence
from subband.pipeline.units import pick_plane
from subband.typing import Array

__all__ = ["CHROMA", "PlaneWork", "join_planes", "take_plane"]

#: Channels of Y'CbCr that are at the size of chroma.
CHROMA = slice(1, 3)


def take_plane(pixels: Array, channel: int | slice, steps: tuple[int, int]) -> Array:
    """Return a channel, or those of chroma, without repeated samples.

    Examples
    --------
    >>> take_plane(np.arange(24).reshape(2, 4, 3), 1, (2, 2))
    array([[1, 7]])
    >>> take_plane(np.arange(24).reshape(2, 4, 3), CHROMA, (2, 2)).tolist()
    [[[1, 2], [7, 8]]]
    """
    down, across = (1, 1) if channel == 0 else steps
    part = pixels[::down, ::across, channel]
    if part.ndim == 2:
        return np.ascontiguousarray(part)
    # samples of one channel beside each other
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(part, -1, 0)), 0, -1)


def join_planes(planes: tuple[Array, Array, Array], steps: tuple[int, int]) -> Array:
    """Return Y'CbCr with chroma repeated.

    Examples
    --------
    >>> join_planes((np.zeros((2, 3)), np.ones((1, 2)), np.ones((1, 2))), (2, 2)).shape
    (2, 3, 3)
    """
    bright = planes[0]
    pixels = allocate_planar((*bright.shape, 3), bright.dtype)
    pixels[..., 0] = bright
    for channel in (1, 2):
        repeat_blocks(pixels[..., channel], planes[channel], steps)
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
            yield from run_ahead(self._follow(frames), count_ahead(self._pipelines[0].engine))
            return
        planes = [self._process(channel, copies) for channel, copies in enumerate(tee(frames, 3))]
        try:
            # strict: whichever plane met an error of the source tells of it when the others have ended
            for results in zip(*planes, strict=True):
                yield join_planes(results, self._steps)
        finally:
            for each in planes:
                each.close()

    def _follow(self, frames: Iterator[Array]) -> Iterator[Callable[[], Array]]:
        """Yield what finishes each frame, with what is known from those before; chroma moves as the brightness does."""
        engine = self._pipelines[0].engine
        bright = Sequence(self._pipelines[0].enhancer, engine)
        colour = Sequence(pick_plane(self._enhancer, CHROMA, self._steps), engine, self._steps)
        for frame in frames:
            finish = bright.follow(take_plane(frame, 0, self._steps))
            chroma = take_plane(frame, CHROMA, self._steps)
            yield partial(self._finish, finish, colour.follow(chroma, None, bright.past))

    def _finish(self, bright: Callable[[], Array], colour: Callable[[], Array]) -> Array:
        chroma = colour()
        return join_planes((bright(), chroma[..., 0], chroma[..., 1]), self._steps)

    def _process(self, channel: int, frames: Iterator[Array]) -> Generator[Array, None, None]:
        return self._pipelines[channel].process(take_plane(frame, channel, self._steps) for frame in frames)

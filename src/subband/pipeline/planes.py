"""Y'CbCr of video whose chroma has fewer samples: each plane through the wavelet domain at its own size.

Sources repeat chroma up to the size of the brightness, so that frames are arrays of three equal channels. Noise cannot
be measured there: the samples between are copies. Here the planes are taken out as they are in the file, treated each
by itself, and put together again; at a quarter of the size, chroma also takes a quarter of the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import tee

import numpy as np

from subband.engines import Engine
from subband.engines.device_engine import DeviceEngine
from subband.enhance.enhancer import Enhancer
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
        """Apply the enhancer to frames, with what is known from those before; chroma moves as the brightness does.

        It needs no more than that motion, so that another thread computes it beside the brightness of the next frame;
        a device has one thing to do at a time.
        """
        engine = self._pipelines[0].engine
        ahead = 0 if isinstance(engine, DeviceEngine) else 1
        bright = Sequence(self._pipelines[0].enhancer, engine)
        colour = Sequence(pick_plane(self._enhancer, CHROMA, self._steps), engine, self._steps)
        waiting: deque[tuple[Array, Future[Array]]] = deque()
        failure: Exception | None = None

        def finish() -> Array:
            result, future = waiting.popleft()
            chroma = future.result()
            return join_planes((result, chroma[..., 0], chroma[..., 1]), self._steps)

        with ThreadPoolExecutor(1, "subband chroma") as helper:
            try:
                for frame in frames:
                    result = bright.apply(take_plane(frame, 0, self._steps))
                    chroma = take_plane(frame, CHROMA, self._steps)
                    waiting.append((result, helper.submit(colour.apply, chroma, None, bright.past)))
                    if len(waiting) > ahead:
                        yield finish()
            except Exception as error:  # noqa: BLE001 - raised below, after the frame that is on its way
                failure = error
            if waiting:
                yield finish()
        if failure is not None:
            raise failure

    def _process(self, channel: int, frames: Iterator[Array]) -> Generator[Array, None, None]:
        return self._pipelines[channel].process(take_plane(frame, channel, self._steps) for frame in frames)

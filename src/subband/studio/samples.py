"""Images and a video that come with subband, to try the studio on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from subband import data
from subband.enhance import Blur, Enhancer
from subband.media import Frame, Source, SourceInfo
from subband.studio.noise import add_noise
from subband.typing import Array

__all__ = ["SAMPLES", "ArraySource", "Sample"]


class ArraySource(Source):
    """An image in memory as a source of one frame.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.zeros((4, 6), np.uint8))
    >>> source.info.kind, [frame.pixels.shape for frame in source]
    ('still', [(4, 6)])
    """

    def __init__(self, pixels: Array) -> None:
        self._pixels = pixels
        colours = "rgb" if pixels.ndim == 3 else "grey"
        self.info = SourceInfo("still", pixels.shape, pixels.dtype, colours, count=1)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Frame]:
        yield Frame(self._pixels)


@dataclass(frozen=True)
class Sample:
    """Something to try things on.

    Attributes
    ----------
    name, title : str
        By which programs and people know it.
    kind : {"still", "film"}
        What it is.
    width, height : int
        Pixels.
    load : callable
        Returns the image, or where the video lies.
    """

    name: str
    title: str
    kind: str
    width: int
    height: int
    load: Callable[[], Array | Path]


@lru_cache(maxsize=1)
def _scan_phantom() -> Array:
    """Return the image of a scanner, computed once."""
    return data.ultrasound().scan(seed=1, cell=(0.6, 0.9))


@lru_cache(maxsize=1)
def _blur_photograph() -> Array:
    return np.asarray(Enhancer((Blur(3.0),)).apply(data.photograph()))


def _focus(is_left: bool) -> Array:
    """Return the photograph sharp in one half."""
    image, blurred = data.photograph(), _blur_photograph()
    half = slice(256, None) if is_left else slice(None, 256)
    image[:, half] = blurred[:, half]
    return image


def _expose(light: float) -> Array:
    """Return the photograph as another exposure would have made it."""
    bright: Array = np.clip(np.rint(data.photograph() * light), 0, 255).astype(np.uint8)
    return bright


def _add_noise() -> Array:
    """Return the photograph as a small sensor would have taken it at night."""
    return add_noise(data.photograph(), "gaussian", 20.0)


#: All samples by their names, in the order in which they are shown.
SAMPLES = {
    sample.name: sample
    for sample in (
        Sample("clip", "Big Buck Bunny, video", "film", 640, 360, data.clip_path),
        Sample("photograph", "Astronaut, colour", "still", 512, 512, data.photograph),
        Sample("noisy", "Astronaut, with noise", "still", 512, 512, _add_noise),
        Sample("camera", "Man with a camera", "still", 512, 512, data.camera),
        Sample("ascent", "Stairway", "still", 512, 512, data.ascent),
        Sample("aero", "Aerial photograph", "still", 512, 512, data.aero),
        Sample("ultrasound", "Ultrasound phantom with speckle", "still", 512, 512, _scan_phantom),
        Sample("near", "Astronaut, left in focus", "still", 512, 512, partial(_focus, is_left=True)),
        Sample("far", "Astronaut, right in focus", "still", 512, 512, partial(_focus, is_left=False)),
        Sample("dark", "Astronaut, too dark", "still", 512, 512, partial(_expose, 0.35)),
        Sample("bright", "Astronaut, too bright", "still", 512, 512, partial(_expose, 2.2)),
    )
}

"""Encoding frames for the page: raw, or compressed where the link is too slow for that."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass

import numpy as np
from PIL import Image

from subband.typing import Array

__all__ = ["FORMATS", "Link", "Part", "encode_image"]

#: What a page may ask for; ``auto`` is chosen by `Link`.
FORMATS = ("auto", "raw", "jpeg", "webp", "png")

_JPEG_QUALITY = 90
_WEBP_QUALITY = 85

#: Between what ``auto`` chooses.
_TRIED = ("raw", "jpeg")
#: Frames that a measurement of a link rests on.
_MEMORY = 9
#: Among so many frames, the slower format is tried a few times again; more rarely if it is many times as slow.
_OFTEN, _RARELY, _TRIES = 120, 480, 3
_HOPELESS = 4.0
#: The other format is taken if it needs less than this part of the time.
_BETTER = 0.85
#: Pixels that are sent raw before it is known how long that takes.
_LARGEST_AT_FIRST = 2**22
#: Seconds that an exact frame may take where nothing moves.
_MOMENT = 0.4


@dataclass(frozen=True)
class Part:
    """An image of a frame, ready to be sent.

    Attributes
    ----------
    role : {"result", "before", "analysis"}
        What it shows.
    format : {"rgb", "grey", "jpeg", "webp", "png"}
        How `data` is to be read.
    width, height : int
        Pixels.
    data : bytes
        The image.
    """

    role: str
    format: str
    width: int
    height: int
    data: bytes

    def describe(self) -> dict[str, str | int]:
        """Return what the header of a frame says about it."""
        return {
            "role": self.role,
            "format": self.format,
            "width": self.width,
            "height": self.height,
            "length": len(self.data),
        }


def encode_image(role: str, pixels: Array, wanted: str) -> Part:
    """Return an image as bytes.

    Parameters
    ----------
    role : str
        What it shows.
    pixels : ndarray of uint8
        Rows × columns, or rows × columns × 3.
    wanted : {"raw", "jpeg", "webp", "png"}
        As what. Raw colours have three bytes per pixel, and the page adds the fourth of its canvas: that costs it less
        than to receive it.

    Examples
    --------
    >>> part = encode_image("result", np.zeros((4, 6, 3), np.uint8), "raw")
    >>> part.format, len(part.data)
    ('rgb', 72)
    """
    height, width = pixels.shape[:2]
    pixels = np.ascontiguousarray(pixels)
    if wanted == "raw":
        return Part(role, "grey" if pixels.ndim == 2 else "rgb", width, height, pixels.tobytes())
    stream = io.BytesIO()
    image = Image.fromarray(pixels)
    if wanted == "jpeg":
        image.save(stream, "JPEG", quality=_JPEG_QUALITY)
    elif wanted == "webp":
        image.save(stream, "WEBP", quality=_WEBP_QUALITY, method=0)
    else:
        image.save(stream, "PNG", compress_level=1)
    return Part(role, wanted, width, height, stream.getvalue())


class Link:
    """What is known about the way to a page: how long it takes a frame until it is drawn, by its format.

    Parameters
    ----------
    is_near : bool
        Whether the page seems to be on this machine, and stills are sent raw at first. A tunnel looks like that too,
        which the first frame shows.

    Notes
    -----
    Raw frames are exact and cost no time to encode, but a browser takes long to get that many bytes from its socket,
    even on the same machine. Which is faster depends on both ends and on what lies between them, so both are tried, the
    slower one again now and then. Where nothing moves, a frame is sent raw if that takes no longer than a moment.

    Examples
    --------
    >>> link = Link(is_near=True)
    >>> link.choose("auto", 100_000, is_moving=True), link.choose("auto", 100_000, is_moving=False)
    ('jpeg', 'raw')
    >>> for _ in range(30):
    ...     name = link.choose("auto", 100_000, is_moving=True)
    ...     link.note(name, 100_000, 0.01 if name == "raw" else 0.02)
    >>> link.choose("auto", 100_000, is_moving=True)
    'raw'
    """

    def __init__(self, *, is_near: bool) -> None:
        self._is_near = is_near
        self._notes: dict[str, deque[float]] = {name: deque(maxlen=_MEMORY) for name in _TRIED}
        # a browser takes less time to decode a frame than to receive it raw
        self._best = "jpeg"
        self._count = 0

    def note(self, name: str, pixels: int, seconds: float) -> None:
        """Remember how long a frame of so many pixels took, from encoding it to the answer that it is drawn."""
        if name in self._notes:
            self._notes[name].append(max(seconds, 1e-6) / max(pixels, 1))

    def measure(self, name: str) -> float | None:
        """Return the seconds that a pixel takes in some format; None before the first frames."""
        notes = self._notes[name]
        # one of the shorter times, because frames often wait for something else
        return sorted(notes)[len(notes) // 4] if notes else None

    def choose(self, wanted: str, pixels: int, *, is_moving: bool) -> str:
        """Return the format for the next frame.

        Parameters
        ----------
        wanted : str
            What the page asked for; all but ``auto`` is obeyed.
        pixels : int
            Of the frame.
        is_moving : bool
            Whether the next frame follows at once.
        """
        if wanted != "auto":
            return wanted if wanted in FORMATS else "raw"
        raw = self.measure("raw")
        if not is_moving:
            if raw is None:
                return "raw" if self._is_near and pixels <= _LARGEST_AT_FIRST else "jpeg"
            return "raw" if raw * pixels < _MOMENT else "jpeg"
        self._count += 1
        other = next(name for name in _TRIED if name != self._best)
        own, rival = self.measure(self._best), self.measure(other)
        if rival is None and self._count > _MEMORY:
            return other
        if own is not None and rival is not None and rival < _BETTER * own:
            self._best, other, own, rival = other, self._best, rival, own
        is_hopeless = own is not None and rival is not None and rival > _HOPELESS * own
        if self._count % (_RARELY if is_hopeless else _OFTEN) < _TRIES and self._count > _OFTEN:
            return other
        return self._best

"""Levels: from the numbers of an image to the shades of a screen, through a window.

Images of 8 bits are shown as they are. Deeper ones hold measurements, of 12 bits in 16 or in Hounsfield units, whose
black and white nobody has written down: a window says which of them are black and white.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from subband.studio.controls import Settings
from subband.typing import Array

__all__ = ["COLOUR_MAPS", "PLAIN", "Levels", "Window", "as_pixels", "find_percentiles", "measure_levels"]

#: Titles of colour maps for images of one channel, and the colours that each goes through at equal distances.
COLOUR_MAPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "grey": ("Grey", ("000000", "ffffff")),
    "inverse": ("Inverse grey", ("ffffff", "000000")),
    "viridis": (
        "Viridis",
        ("440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725"),
    ),
    "inferno": (
        "Inferno",
        ("000004", "1b0c41", "4a0c6b", "781c6d", "a52c60", "cf4446", "ed6925", "fb9b06", "f7d13d", "fcffa4"),
    ),
    "hot": ("Hot iron", ("000000", "800000", "ff0000", "ff8000", "ffff00", "ffff80", "ffffff")),
}

#: Percent of the pixels that may be black, and as many white, where a window is found automatically.
_CUT = 0.2
#: Pixels that percentiles are measured in, at most.
_MOST_MEASURED = 2**18
#: The largest float of an image in which 1 is white: light sources are brighter than white.
_BRIGHTEST = 16.0


@dataclass(frozen=True)
class Levels:
    """What the numbers of a source mean to the eye.

    Attributes
    ----------
    low, high : float
        What is black and what is white as long as nobody chooses.
    span : float
        The numbers from black to white that settings of 255 shades stand for; thresholds are scaled by it.
    """

    low: float = 0.0
    high: float = 255.0
    span: float = 255.0

    @property
    def scale(self) -> float:
        """What a number that counts from 0 to 255 is multiplied by to count as the pixels do."""
        return self.span / 255.0


#: Those of 8 bits.
PLAIN = Levels()


def as_pixels(pixels: Array) -> Array:
    """Return the pixels of a frame in a dtype that tools take: uint8, uint16 or float32, and finite.

    Examples
    --------
    >>> as_pixels(np.array([[-5, 1000]], np.int16)).dtype
    dtype('float32')
    """
    if pixels.dtype in (np.uint8, np.uint16):
        return pixels
    return np.nan_to_num(pixels.astype(np.float32, copy=False))


def find_percentiles(pixels: Array) -> tuple[float, float]:
    """Return the numbers between which all but a few pixels lie.

    Examples
    --------
    >>> find_percentiles(np.arange(1001, dtype=np.float32))
    (2.0, 998.0)
    """
    step = max(1, round((pixels.size / _MOST_MEASURED) ** 0.5))
    low, high = np.percentile(pixels[::step, ::step] if pixels.ndim > 1 else pixels, (_CUT, 100 - _CUT))
    return float(low), float(high)


def measure_levels(pixels: Array, window: tuple[float, float] | None = None) -> Levels:
    """Find out what is black and white in a frame.

    What its file says comes first. Else an image that fills more than half of what its dtype holds, from 0 to 65535 or
    from 0 to 1, is shown whole. In others, black and white are found from their percentiles.

    Examples
    --------
    >>> measure_levels(np.array([[0, 60_000]], np.uint16))
    Levels(low=0.0, high=65535.0, span=65535.0)
    >>> measure_levels(np.arange(4000, dtype=np.uint16).reshape(40, 100)).span
    4095.0
    >>> measure_levels(np.linspace(-1000, 1000, 2001, dtype=np.float32).reshape(3, 667))
    Levels(low=-996.0, high=996.0, span=1990.0)
    >>> measure_levels(np.zeros((3, 4), np.float32), (-160.0, 240.0))
    Levels(low=-160.0, high=240.0, span=400.0)
    """
    if pixels.dtype == np.uint8:
        return PLAIN
    least, most = float(pixels.min()), float(pixels.max())
    white = None
    if pixels.dtype == np.uint16:
        white = 2.0 ** max(int(most).bit_length(), 8) - 1
        if window is None and (white == 65535 or pixels.ndim == 3):
            return Levels(0.0, white, white)
    elif window is None and least >= 0 and 0.5 <= most <= _BRIGHTEST:
        return Levels(0.0, 1.0, 1.0)
    low, high = window or find_percentiles(pixels)
    if high <= low:
        low, high = (least, most) if most > least else (least, least + 1)
    # a short number, because it is part of printed thresholds
    return Levels(low, high, float(f"{high - low:.3g}") if white is None else white)


@dataclass(frozen=True)
class Window:
    """How numbers become shades.

    Attributes
    ----------
    low, high : float
        What is black and what is white.
    gamma : float
        Above 1, what is between them becomes brighter.
    colours : str
        One of `COLOUR_MAPS`, for images of one channel.

    Examples
    --------
    >>> Window(100.0, 300.0).show(np.array([[0, 100, 200, 300, 4000]], np.uint16))
    array([[  0,   0, 128, 255, 255]], dtype=uint8)
    """

    low: float = 0.0
    high: float = 255.0
    gamma: float = 1.0
    colours: str = "grey"

    @classmethod
    def read(cls, settings: Settings, levels: Levels) -> Window:
        """Return the window of settings: the one that was chosen, or that of the levels."""
        chosen = str(settings.get("display_window", ""))
        low, high = (float(part) for part in chosen.split(":")) if chosen else (levels.low, levels.high)
        return cls(low, high, float(settings.get("display_gamma", 1.0)), str(settings.get("display_colours", "grey")))

    def fit(self, levels: Levels) -> Window:
        """Return the window for shades of 8 bits that levels were shown in.

        Examples
        --------
        >>> Window(0.0, 2000.0).fit(Levels(0.0, 4000.0, 4095.0)).high
        127.5
        """
        parts = [255 * (each - levels.low) / (levels.high - levels.low) for each in (self.low, self.high)]
        return replace(self, low=parts[0], high=parts[1])

    def show(self, pixels: Array) -> Array:
        """Return the shades of pixels: rows × columns, or with three channels."""
        is_grey = pixels.ndim == 2
        if pixels.dtype == np.uint8 and self == Window(colours=self.colours if not is_grey else "grey"):
            return pixels
        if pixels.dtype.kind == "u":
            shades = _list_shades(self.low, self.high, self.gamma, np.iinfo(pixels.dtype).max + 1)[pixels]
        else:
            shades = _shade(pixels, self.low, self.high, self.gamma)
        return list_colours(self.colours)[shades] if is_grey and self.colours != "grey" else shades


def _shade(values: Array, low: float, high: float, gamma: float) -> Array:
    parts = np.clip((values - low) / max(high - low, 1e-30), 0, 1)
    return np.rint(255 * (parts if gamma == 1 else parts ** (1 / gamma))).astype(np.uint8)


@lru_cache(maxsize=4)
def _list_shades(low: float, high: float, gamma: float, count: int) -> Array:
    return _shade(np.arange(count, dtype=np.float64), low, high, gamma)


@lru_cache(maxsize=8)
def list_colours(name: str) -> Array:
    """Return the 256 colours of a map, each as red, green and blue."""
    stops = np.array([[int(colour[at : at + 2], 16) for at in (0, 2, 4)] for colour in COLOUR_MAPS[name][1]], float)
    positions = np.linspace(0, len(stops) - 1, 256)
    columns = [np.interp(positions, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    colours: Array = np.rint(np.stack(columns, axis=1)).astype(np.uint8)
    return colours

"""A still image in memory: its pixels, its opacity, and what its file says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from subband.media.base import fit_pixels
from subband.typing import Array

__all__ = ["Still"]


@dataclass(frozen=True)
class Still:
    """An image. Functions that take arrays take its pixels.

    Attributes
    ----------
    pixels : ndarray of uint8, uint16 or float32
        Rows × columns for grey, rows × columns × 3 for red, green and blue.
    alpha : ndarray or None
        How opaque each pixel is, rows × columns, of the same dtype, if the file says so.
    icc : bytes or None
        The colour profile.
    exif : bytes or None
        What the camera says about the image, which is upright already.
    metadata : mapping
        Resolution, texts and the like; see `subband.media.still_metadata`.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.media import Still
    >>> still = Still(np.zeros((4, 6, 3), np.uint8))
    >>> still.peak, still.is_colour
    (255, True)
    >>> np.mean(still)
    np.float64(0.0)
    """

    pixels: Array
    alpha: Array | None = None
    icc: bytes | None = None
    exif: bytes | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def peak(self) -> int:
        """The largest value that a sample can have; 1 for floating point."""
        return int(np.iinfo(self.pixels.dtype).max) if self.pixels.dtype.kind in "iu" else 1

    @property
    def is_colour(self) -> bool:
        """Whether there are three channels."""
        return self.pixels.ndim == 3

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the pixels."""
        return tuple(self.pixels.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the pixels."""
        return self.pixels.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.pixels, dtype, copy=copy)

    def replace_pixels(self, values: Array) -> Still:
        """Return an image of other values, rounded and clipped to the same depth, with the same transparency."""
        pixels = fit_pixels(np.asarray(values), self.pixels.dtype)
        same_size = pixels.shape[:2] == self.pixels.shape[:2]
        # A profile of grey does not describe colours, nor the other way round.
        icc = self.icc if pixels.ndim == self.pixels.ndim else None
        return replace(self, pixels=pixels, alpha=self.alpha if same_size else None, icc=icc)

"""Large images: what a page sees of them is computed first, at the resolution of its screen, and then block by block.

A region that is seen pixel by pixel is computed with the margin that makes it equal to the whole
(`subband.enhance.blockwise.Regions`). Where more pixels are seen than the screen has, the reduced image is filtered
first, which is nearly the result (`subband.studio.reduction`). Then one block after the other is computed as the whole
image has it, those that are seen first. A session asks for each block by itself, so that whatever the page does next is
answered after one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor, log2
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.enhance import Denoise, Enhancer
from subband.enhance.blockwise import Noise, Regions, run_planes
from subband.enhance.methods import find_method
from subband.media.base import fit_pixels
from subband.studio.protocol import ProtocolError, read_number
from subband.studio.reduction import reduce_enhancer, reduce_mean, reduce_pixels, reduce_quickly
from subband.typing import Array

__all__ = ["LARGE", "Crop", "LargeImage", "Original", "View"]

#: Pixels of an image from which on it is large.
LARGE = 2**22

#: Rows and columns of what is noted as computed or not, of a block, and of one where patches are compared.
_CELL = 64
_BLOCK, _SLOW_BLOCK = 16 * _CELL, 4 * _CELL
#: Around what is looked at pixel by pixel where only the whole image tells the result.
_GLANCE = 128
#: The screen of a page that has not said what it has.
_USUAL = (1280, 800)
_LARGEST_SCREEN = 2**14


@dataclass(frozen=True)
class Crop:
    """A region of an image, at a fraction of its size.

    Attributes
    ----------
    rows, columns : tuple of int
        First and end; the first are multiples of ``2**steps``.
    steps : int
        How often the sides are halved.

    Examples
    --------
    >>> Crop((0, 8), (4, 8), 1).cut(np.ones((8, 8), np.uint8)).shape
    (4, 2)
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    steps: int

    @property
    def extent(self) -> list[int]:
        """Left, top, right and bottom."""
        return [self.columns[0], self.rows[0], self.columns[1], self.rows[1]]

    def cut(self, pixels: Array) -> Array:
        """Return what an image has there."""
        return reduce_pixels(pixels[slice(*self.rows), slice(*self.columns)], self.steps)

    def cut_quickly(self, pixels: Array) -> Array:
        """Return the same for a frame of a video, where a shade more or less is not seen."""
        part = pixels[slice(*self.rows), slice(*self.columns)]
        return reduce_quickly(np.ascontiguousarray(part), self.steps)

    def intersect(self, other: Crop) -> Crop | None:
        """Return what both have in common, at this one's size; None if that is nothing."""
        rows, columns = (
            (max(own[0], its[0]), min(own[1], its[1]))
            for own, its in ((self.rows, other.rows), (self.columns, other.columns))
        )
        return Crop(rows, columns, self.steps) if rows[0] < rows[1] and columns[0] < columns[1] else None

    def locate(self, part: Crop) -> list[int]:
        """Return where a part of it lies, in pixels of its own size: column and row."""
        return [(part.columns[0] - self.columns[0]) >> self.steps, (part.rows[0] - self.rows[0]) >> self.steps]


@dataclass(frozen=True)
class View:
    """What a page sees.

    Attributes
    ----------
    width, height : int
        Of the image on the screen at most, in pixels of the screen.
    region : tuple of float, optional
        Left, top, right and bottom of what is seen, in pixels of the image; all of it if left out.

    Examples
    --------
    >>> View(900, 600).crop((4000, 6000))
    Crop(rows=(0, 4000), columns=(0, 6000), steps=2)
    >>> View(900, 600, (1000.5, 10, 1900.5, 610)).crop((4000, 6000))
    Crop(rows=(10, 610), columns=(1000, 1901), steps=0)
    """

    width: int = _USUAL[0]
    height: int = _USUAL[1]
    region: tuple[float, float, float, float] | None = None

    @classmethod
    def read(cls, message: dict[str, Any]) -> View:
        """Read what a page says.

        Raises
        ------
        ProtocolError
            If it makes no sense.
        """
        width, height = (int(read_number(message, name)) for name in ("width", "height"))
        if not (0 < width <= _LARGEST_SCREEN and 0 < height <= _LARGEST_SCREEN):
            raise ProtocolError(f"a view of {width} × {height} pixels is none; a screen has 1 to {_LARGEST_SCREEN}")
        if "left" not in message:
            return cls(width, height)
        left, top, right, bottom = (read_number(message, name) for name in ("left", "top", "right", "bottom"))
        return cls(width, height, (left, top, right, bottom))

    def crop(self, shape: tuple[int, ...]) -> Crop:
        """Return the region of an image that is seen, with at least as many pixels as the screen has for it."""
        length, breadth = shape[:2]
        left, top, right, bottom = self.region or (0, 0, breadth, length)
        # a page may speak of the image before this one
        left, top = min(max(left, 0), breadth - 1), min(max(top, 0), length - 1)
        right, bottom = min(max(right, left + 1), breadth), min(max(bottom, top + 1), length)
        ratio = max((right - left) / self.width, (bottom - top) / self.height)
        steps = max(0, min(floor(log2(ratio)), 6))
        unit = 2**steps
        return Crop(
            (floor(top / unit) * unit, min(-floor(-bottom / unit) * unit, length)),
            (floor(left / unit) * unit, min(-floor(-right / unit) * unit, breadth)),
            steps,
        )


class Original:
    """An image before it is filtered, and what was found out about it: that stays while a slider is moved.

    Parameters
    ----------
    pixels : ndarray
        Of uint8, uint16 or float32.
    """

    def __init__(self, pixels: Array) -> None:
        self.pixels = pixels
        self._reduced: dict[int, Array] = {}
        self._noise: dict[Any, Noise] = {}

    def reduce(self, steps: int) -> Array:
        """Return the image at a fraction of its size, in float32."""
        if steps not in self._reduced:
            nearest = max((known for known in self._reduced if known < steps), default=0)
            image = self._reduced[nearest] if nearest else self.pixels
            self._reduced[steps] = reduce_mean(image, steps - nearest)
        return self._reduced[steps]

    def find_noise(self, regions: Regions) -> Noise:
        """Return its noise, measured once for all strengths of a filter."""
        enhancer = regions.enhancer
        first = next((stage for stage in enhancer.stages if isinstance(stage, Denoise)), None)
        key = (
            None if first is None else (first.wavelet, first.boundary, enhancer.colour, enhancer.noise, enhancer.sigma)
        )
        if key not in self._noise:
            self._noise[key] = regions.find_noise(self.pixels)
        return self._noise[key]


class LargeImage:
    """A large image under one filter: what of the result is there, and what comes next.

    Parameters
    ----------
    original : Original
        The image.
    enhancer : Enhancer
        The filter.
    engine : Engine
        The engine that computes.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> from subband.enhance import Blur
    >>> original = Original(np.zeros((1500, 2000), np.uint8))
    >>> image = LargeImage(original, Enhancer(Blur(2.0)), get_engine("cpu"))
    >>> crop = View(500, 400).crop(original.pixels.shape)
    >>> sketch, is_exact = image.show(crop)
    >>> sketch.shape, is_exact, image.count, image.left
    ((375, 500), False, 4, 4)
    >>> while image.left:
    ...     block = image.advance(crop)
    >>> image.show(crop)[1]
    True
    """

    def __init__(self, original: Original, enhancer: Enhancer, engine: Engine) -> None:
        self.original = original
        self.result = np.empty_like(original.pixels)
        self._regions = Regions(enhancer, original.pixels.shape, engine)
        self._engine = engine
        rows, columns = original.pixels.shape[:2]
        self._done = np.zeros((-(-rows // _CELL), -(-columns // _CELL)), bool)
        self._all = self._list_blocks()
        self._blocks = self._all
        self.count = len(self._blocks)

    @property
    def left(self) -> int:
        """How many blocks are not computed yet."""
        return len(self._blocks)

    @cached_property
    def _noise(self) -> Noise:
        return self.original.find_noise(self._regions)

    def show(self, crop: Crop) -> tuple[Array, bool]:
        """Return what is to be seen in a crop at once, and whether that is what the whole image has there."""
        if not self._done[_find_cells(crop)].all():
            if crop.steps or self._regions.obstacle:
                return self._paste_done(crop, self._sketch(crop)), False
            self._compute(crop)
        return crop.cut(self.result), True

    def advance(self, crop: Crop) -> Crop:
        """Compute a further block, one that is seen in a crop if there is such a one, and return which."""
        middle = [sum(side) / 2 for side in (crop.rows, crop.columns)]

        def rank(block: Crop) -> tuple[bool, float]:
            away = [sum(side) / 2 - at for side, at in zip((block.rows, block.columns), middle, strict=True)]
            return block.intersect(crop) is None, abs(away[0]) + abs(away[1])

        block = min(self._blocks, key=rank)
        self._compute(block)
        return block

    def _compute(self, crop: Crop) -> None:
        """Compute a crop as the whole image has it, and what else belongs to the same cells."""
        if self._regions.obstacle:
            self.result[...] = self._regions.enhancer.apply(self.original.pixels, engine=self._engine)
            self._done[...] = True
        else:
            shape = self.original.pixels.shape
            rows, columns = (
                (side[0] // _CELL * _CELL, min(-(-side[1] // _CELL) * _CELL, length))
                for side, length in ((crop.rows, shape[0]), (crop.columns, shape[1]))
            )
            part = self._regions.compute(self.original.pixels, rows, columns, self._noise)
            self.result[slice(*rows), slice(*columns)] = part
            self._done[_find_cells(crop)] = True
        self._blocks = [block for block in self._blocks if not self._done[_find_cells(block)].all()]

    def _sketch(self, crop: Crop) -> Array:
        """Return what is nearly the result in a crop: that of the reduced image, or of the region by itself."""
        enhancer, dtype, unit = self._regions.enhancer, self.original.pixels.dtype, 2**crop.steps
        noise = None if self._noise is None else tuple(each / unit for each in self._noise)
        image = self.original.reduce(crop.steps) if crop.steps else self.original.pixels
        smaller = Regions(reduce_enhancer(enhancer, crop.steps), image.shape, self._engine)
        rows, columns = ((side[0] // unit, -(-side[1] // unit)) for side in (crop.rows, crop.columns))
        if not smaller.obstacle:
            return fit_pixels(smaller.compute(image, rows, columns, noise), dtype)
        top, left = max(rows[0] - _GLANCE, 0), max(columns[0] - _GLANCE, 0)
        part = np.ascontiguousarray(image[top : rows[1] + _GLANCE, left : columns[1] + _GLANCE])
        found = run_planes(smaller.enhancer, part, self._engine, noise)
        return fit_pixels(found[rows[0] - top : rows[1] - top, columns[0] - left : columns[1] - left], dtype)

    def _paste_done(self, crop: Crop, sketch: Array) -> Array:
        """Return a sketch with all blocks that are computed already, which do not come again."""
        for block in self._all:
            part = crop.intersect(block)
            if part is not None and self._done[_find_cells(block)].all():
                column, row = crop.locate(part)
                exact = part.cut(self.result)
                sketch[row : row + exact.shape[0], column : column + exact.shape[1]] = exact
        return sketch

    def _list_blocks(self) -> list[Crop]:
        rows, columns = self.original.pixels.shape[:2]
        if self._regions.obstacle:
            return [Crop((0, rows), (0, columns), 0)]
        is_slow = any(
            isinstance(stage, Denoise) and find_method(stage.method).is_guide for stage in self._regions.enhancer.stages
        )
        size = _SLOW_BLOCK if is_slow else _BLOCK
        return [
            Crop((row, min(row + size, rows)), (column, min(column + size, columns)), 0)
            for row in range(0, rows, size)
            for column in range(0, columns, size)
        ]


def _find_cells(crop: Crop) -> tuple[slice, slice]:
    rows, columns = (slice(side[0] // _CELL, -(-side[1] // _CELL)) for side in (crop.rows, crop.columns))
    return rows, columns

"""A file as an array of which only what is looked at is read and decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import lcm
from operator import index
from os import PathLike
from types import EllipsisType
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.decoder import decode_file
from subband.codecs.jpeg2000.header import Header, OpenFile, open_file
from subband.engines import Engine
from subband.errors import ArgumentError, ArgumentTypeError
from subband.typing import Array

__all__ = ["LazyImage", "open_image"]

Entry = int | slice | EllipsisType

#: Rows and columns that are worth being decoded at a time where the file itself has only one tile.
_PIECE = 2048


@dataclass(frozen=True)
class _Axis:
    """Rows or columns: from where to where they lie on the reference grid, and how samples and tiles divide it.

    `step` is that of the finest component, and `period` how many samples of that lie between two positions where
    all components have one.
    """

    start: int
    stop: int
    step: int
    period: int
    tile_start: int
    tile: int
    reduce: int

    @property
    def length(self) -> int:
        """Samples that there are."""
        return self._count(self.stop) - self._count(self.start)

    @property
    def chunks(self) -> tuple[int, ...]:
        """The samples of each tile; of a single tile, pieces that are worth being decoded at a time."""
        edges = [edge for edge in range(self.tile_start, self.stop, self.tile) if edge > self.start]
        positions = [self._count(edge) - self._count(self.start) for edge in (self.start, *edges, self.stop)]
        if not edges:
            positions = [*range(0, self.length, _PIECE), self.length]
        return tuple(after - before for before, after in pairwise(positions) if after > before)

    def widen(self, first: int, last: int) -> tuple[int, tuple[int, int]]:
        """Return from which sample on to decode for a range of them, and the part of the image that this is."""
        if self.period > 1:
            # one period more, for a component may have its first sample behind the start, and its last before the end
            first = max(0, first // self.period - 1) * self.period
            last = -(-last // self.period) * self.period
        scale = self.step << self.reduce
        return first, (first * scale, min(last * scale, self.stop - self.start))

    def _count(self, position: int) -> int:
        """Return how many samples lie before a position."""
        sample = -(-position // self.step)
        return -(-sample >> self.reduce)


@dataclass(frozen=True, eq=False)
class LazyImage:
    """A JPEG 2000 file as an array: slices of it are decoded when they are taken, from the bytes that they need.

    It has what Dask asks of an array: ``dask.array.from_array(image, chunks=image.chunks)`` is a view of the file.

    Attributes
    ----------
    file : OpenFile
        The file, with its headers read.
    reduce : int
        Levels that are left out: each halves columns and rows.
    layers : int or None
        Layers of quality that are decoded, all by default.
    engine : str, Engine or None
        The engine of the wavelet transform.
    most_pixels : int or None
        Samples that a slice may have, in all components together; 2^28 by default.
    """

    file: OpenFile
    reduce: int = 0
    layers: int | None = None
    engine: str | Engine | None = None
    most_pixels: int | None = None

    @property
    def header(self) -> Header:
        """What the file says about its image."""
        return self.file.header

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, and channels if there are several."""
        return (*(axis.length for axis in self._axes), *self._corner.shape[2:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the samples."""
        dtype: np.dtype[Any] = self._corner.dtype
        return dtype

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the pieces along each axis that are cheap to decode: those of tiles, where there are several."""
        return (*(axis.chunks for axis in self._axes), *((count,) for count in self.shape[2:]))

    @property
    def resolutions(self) -> tuple[LazyImage, ...]:
        """The image at each resolution that the file has, from this one to the coarsest."""
        return tuple(replace(self, reduce=level) for level in range(self.reduce, self.header.levels + 1))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Entry | tuple[Entry, ...]) -> Array:
        """Decode a part: integers, slices and ``...`` as for an array of NumPy."""
        entries = self._complete(key if isinstance(key, tuple) else (key,))
        ranges = [_list_positions(entry, self.shape[axis], axis) for axis, entry in enumerate(entries[:2])]
        if not all(ranges):
            nothing: Array = np.broadcast_to(np.zeros((), self.dtype), self.shape)[tuple(entries)].copy()
            return nothing
        bounds = [(min(each), max(each) + 1) for each in ranges]
        inside = [
            _shift(each, -first) if isinstance(entry, slice) else 0
            for entry, each, (first, _) in zip(entries, ranges, bounds, strict=False)
        ]
        return self._read(*bounds)[(*inside, *entries[2:])]

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        return np.array(self[...], dtype, copy=copy)

    def __repr__(self) -> str:
        size = " × ".join(map(str, self.shape))
        return f"LazyImage({size}, {self.dtype}, {self.header.levels - self.reduce} levels, reduce={self.reduce})"

    @cached_property
    def _axes(self) -> tuple[_Axis, _Axis]:
        size = self.file.stream.size
        rows = [component.dy for component in size.components]
        columns = [component.dx for component in size.components]
        return (
            _Axis(size.y0, size.y1, min(rows), lcm(*rows) // min(rows), size.tile_y0, size.tile_height, self.reduce),
            _Axis(
                size.x0,
                size.x1,
                min(columns),
                lcm(*columns) // min(columns),
                size.tile_x0,
                size.tile_width,
                self.reduce,
            ),
        )

    @cached_property
    def _corner(self) -> Array:
        """The first sample, which tells dtype and channels whatever palettes and definitions do to components."""
        return self._read((0, 1), (0, 1))

    def _read(self, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
        (top, (y0, y1)), (left, (x0, x1)) = (
            axis.widen(*bounds) for axis, bounds in zip(self._axes, (rows, columns), strict=True)
        )
        decoded = decode_file(
            self.file,
            reduce=self.reduce,
            region=(y0, x0, y1, x1),
            layers=self.layers,
            engine=self.engine,
            most_pixels=self.most_pixels,
        )
        return decoded.show()[rows[0] - top : rows[1] - top, columns[0] - left : columns[1] - left]

    def _complete(self, entries: tuple[Any, ...]) -> list[Any]:
        """Return an entry for each axis."""
        dots = [number for number, entry in enumerate(entries) if entry is Ellipsis]
        if len(dots) > 1 or len(entries) - len(dots) > self.ndim:
            raise ArgumentError(f"{len(entries)} indices are too many for an image of {self.ndim} axes")
        at = dots[0] if dots else len(entries)
        missing = [slice(None)] * (self.ndim - len(entries) + len(dots))
        return [*entries[:at], *missing, *entries[at + 1 :]]


def open_image(
    data: bytes | bytearray | memoryview | str | PathLike[str],
    *,
    reduce: int = 0,
    layers: int | None = None,
    engine: str | Engine | None = None,
    most_pixels: int | None = None,
) -> LazyImage:
    """Open a JP2 file or a codestream as an array that is decoded where it is looked at.

    Tiles, precincts and code-blocks that a slice does not need are neither read nor decoded; ``tile``, ``plt=True`` and
    ``tlm=True`` of `encode` make that cheapest.

    Parameters
    ----------
    data : bytes or path
        The file, or where it lies; of a path, only what is needed is read.
    reduce : int
        Levels to leave out: each halves columns and rows.
    layers : int, optional
        Layers of quality to decode, all by default.
    engine : str or Engine, optional
        The engine of the wavelet transform; see `subband.set_engine`.
    most_pixels : int, optional
        Samples that are acceptable in a slice, in all components together; 2^28 by default.

    Returns
    -------
    LazyImage
        With `shape`, `dtype`, `chunks` and slices; ``numpy.asarray`` decodes all of it.

    Raises
    ------
    CodecError
        If there is no image.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs import jpeg2000
    >>> image = np.arange(256 * 320, dtype=np.uint16).reshape(256, 320)
    >>> lazy = jpeg2000.open(jpeg2000.encode(image, tile=(64, 64), tlm=True))
    >>> lazy.shape, lazy.chunks[0]
    ((256, 320), (64, 64, 64, 64))
    >>> bool((lazy[100:110, 50:300:2] == image[100:110, 50:300:2]).all())
    True
    >>> lazy.resolutions[2].shape
    (64, 80)
    """
    return LazyImage(open_file(data), reduce, layers, engine, most_pixels)


def _list_positions(entry: Any, length: int, axis: int) -> range:
    """Return the rows or columns that an entry of an index names."""
    if isinstance(entry, slice):
        return range(length)[entry]
    # True is an integer to Python, and a mask to NumPy
    number: Any = None if isinstance(entry, bool) else entry
    try:
        position = index(number)
    except TypeError:
        raise ArgumentTypeError(
            f"an index of type {type(entry).__name__} is not for images that are decoded in parts; "
            "take integers and slices, or numpy.asarray(image) first"
        ) from None
    if not -length <= position < length:
        # the built-in error is what ends a loop over rows
        raise IndexError(f"index {position} is out of bounds for axis {axis} with {length} samples")
    return range(position % length, position % length + 1)


def _shift(positions: range, by: int) -> slice:
    """Return the slice of positions, moved."""
    stop = positions[-1] + by + positions.step
    return slice(positions[0] + by, stop if stop >= 0 else None, positions.step)

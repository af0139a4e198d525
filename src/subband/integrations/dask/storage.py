"""Arrays in files as arrays of Dask: Zarr, OME-Zarr, HDF5, TIFF stacks and other volumes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize

from subband.errors import ArgumentError, FormatError
from subband.media.faults import require
from subband.media.stores import Axis, RegionReader, find_axes, guess_axes, is_zarr, open_cached_volume

__all__ = ["StoredArray", "open_array"]

# Chunks that are read at once have about so many samples, unless the user says otherwise.
_SAMPLES = 2**21


@dataclass(frozen=True)
class StoredArray:
    """An array in a file, as Dask has it.

    Attributes
    ----------
    array : dask array
        Reads each chunk when it is needed.
    path : str
        Of the file, and of the array in it.
    axes : tuple of Axis
        What each axis is, with the size of a step along it.
    """

    array: Any
    path: str
    axes: tuple[Axis, ...]

    @property
    def space(self) -> tuple[int, ...]:
        """The axes of space, the last three at most."""
        return tuple(number for number, axis in enumerate(self.axes) if axis.kind == "space")[-3:]


def open_array(path: Path | str, chunks: Sequence[int] | None = None) -> StoredArray:
    """Open an array to be read lazily.

    Parameters
    ----------
    path : path
        A Zarr array of format 2 or 3, an OME-Zarr group, whose finest level it is; an HDF5 file, perhaps with the name
        of a dataset, ``file.h5:data``; a TIFF stack or another volume that `subband.media` reads.
    chunks : sequence of int, optional
        How it is cut; what the file suggests if left out.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If it holds no array.
    MissingExtraError
        If Zarr is needed and not installed.
    """
    if is_zarr(path):
        return _open_stored_zarr(Path(path), chunks)
    volume = open_cached_volume(os.fspath(path))
    size, groups = volume.info.voxel_size, volume.info.groups
    shape = tuple(volume.shape)
    axes = guess_axes(len(shape), None if size is None else tuple(size), volume.info.voxel_unit)
    # slices of such files lie one behind the other
    suggested = (1, *shape[1:])
    if groups > 1:
        # times and channels are no space, so that nothing is filtered across them
        shape, suggested = (groups, shape[0] // groups, *shape[1:]), (1, *suggested)
        axes = (Axis("c", "channel"), *axes)
    reader = RegionReader(os.fspath(path), shape, np.dtype(volume.info.dtype), None, is_grouped=groups > 1)
    return StoredArray(_cut(reader, suggested, chunks), os.fspath(path), axes)


def _open_stored_zarr(path: Path, chunks: Sequence[int] | None) -> StoredArray:
    zarr = require("zarr", "reading Zarr", "dask")
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:
        raise FormatError(f"{str(path)!r} holds neither a Zarr array nor a group: {error}") from error
    part, axes = "", None
    if isinstance(found, zarr.Group):
        part, axes = find_axes(dict(found.attrs), str(path))
        try:
            found = found[part]
        except KeyError:
            raise FormatError(f"{str(path)!r} names a level {part!r} that is not there") from None
    if axes is None:
        axes = guess_axes(found.ndim, None, None)
    reader = RegionReader(str(path), tuple(found.shape), np.dtype(found.dtype), part)
    return StoredArray(_cut(reader, tuple(found.chunks), chunks), str(path), axes)


def _cut(reader: RegionReader, suggested: tuple[int, ...], chunks: Sequence[int] | None) -> Any:
    """Return an array that is cut as the user says, or in multiples of what the file suggests."""
    if chunks is None:
        cut = _enlarge(reader.shape, suggested)
    else:
        given = tuple(chunks) * (reader.ndim if len(chunks) == 1 else 1)
        if len(given) != reader.ndim or min(given, default=1) < 1:
            raise ArgumentError(
                f"chunks={tuple(chunks)} do not fit an array of shape {reader.shape}; give one positive number, or "
                f"{reader.ndim} of them"
            )
        cut = tuple(min(size, length) for size, length in zip(given, reader.shape, strict=True))
    token = tokenize(reader.path, reader.part, reader.shape, str(reader.dtype), cut)
    meta = np.empty((0,) * reader.ndim, reader.dtype)
    return da.from_array(reader, cut, name=f"read-{token}", asarray=False, meta=meta, inline_array=True)


def _enlarge(shape: tuple[int, ...], suggested: tuple[int, ...]) -> tuple[int, ...]:
    """Return multiples of small chunks, the shortest axis first, that are worth a task."""
    sizes = [min(size, length) for size, length in zip(suggested, shape, strict=True)]
    while prod(sizes) < _SAMPLES:
        short = [axis for axis, length in enumerate(shape) if sizes[axis] < length]
        if not short:
            break
        axis = min(short, key=lambda each: sizes[each])
        sizes[axis] = min(2 * sizes[axis], shape[axis])
    return tuple(sizes)

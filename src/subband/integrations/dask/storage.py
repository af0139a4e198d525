"""Arrays in files, read and written region by region: Zarr, OME-Zarr, HDF5, TIFF stacks and other volumes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize

from subband.errors import ArgumentError, FormatError
from subband.integrations.dask.multiscales import Axis, find_axes, guess_axes
from subband.media.faults import explain_output_error, require
from subband.media.formats import find_format, split_dataset
from subband.typing import Array

__all__ = ["StoredArray", "Target", "compute_checksum", "is_zarr", "open_array"]

# Chunks that are read at once have about so many samples, unless the user says otherwise.
_SAMPLES = 2**21

# A number of bytes that tells a chunk from any other.
_DIGEST = 8


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


class _Reader:
    """What Dask slices: it opens its file where it is asked to read, which may be another process."""

    def __init__(
        self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any], part: str | None, *, is_grouped: bool = False
    ) -> None:
        self.path, self.part, self.is_grouped = path, part, is_grouped
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    def __getitem__(self, slices: Any) -> Array:
        if self.part is None:
            volume = _open_volume(self.path, _stamp(self.path))
            return self._read(self._read_volumes if self.is_grouped else volume.read_block, slices)
        stored = _open_zarr(self.path, self.part, _stamp(self.path, self.part))
        shape = tuple(part.stop - part.start for part in slices)
        block = np.empty(shape, self.dtype)
        # one stored chunk at a time: an error says which, and leaves nothing behind that is still being read
        steps = stored.shards or stored.chunks
        for region in product(*map(_walk, slices, steps)):
            goal = tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(region, slices, strict=True))
            block[goal] = self._read(stored.__getitem__, region)
        return block

    def _read_volumes(self, region: tuple[slice, ...]) -> Array:
        """Return a block of several volumes, whose slices lie one behind the other in the file."""
        depth = self.shape[1]
        read = _open_volume(self.path, _stamp(self.path)).read_block
        return np.stack(
            [
                read((slice(group * depth + region[1].start, group * depth + region[1].stop), *region[2:]))
                for group in range(region[0].start, region[0].stop)
            ]
        )

    def _read(self, read: Callable[[Any], Any], region: tuple[slice, ...]) -> Array:
        try:
            return np.asarray(read(region))
        except Exception as error:
            # what a damaged chunk raises depends on who has compressed it
            where = ", ".join(f"{part.start} to {part.stop}" for part in region)
            raise FormatError(f"{self.path!r} cannot be read at {where}: {error}") from error


def _walk(part: slice, step: int) -> Iterator[slice]:
    """Yield the parts of a range that lie in one stored chunk each."""
    start = part.start
    while start < part.stop:
        stop = min((start // step + 1) * step, part.stop)
        yield slice(start, stop)
        start = stop


def is_zarr(path: Path | str) -> bool:
    """Tell whether a name is that of a Zarr store, there or to be made.

    Examples
    --------
    >>> is_zarr("volume.zarr"), is_zarr("volume.tiff")
    (True, False)
    """
    form = find_format(Path(path))
    return (form is not None and form.is_store) or any(
        Path(path, name).is_file() for name in ("zarr.json", ".zarray", ".zgroup")
    )


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
    volume = _open_volume(os.fspath(path), _stamp(os.fspath(path)))
    size, groups = volume.info.voxel_size, volume.info.groups
    shape = tuple(volume.shape)
    axes = guess_axes(len(shape), None if size is None else tuple(size), volume.info.voxel_unit)
    # slices of such files lie one behind the other
    suggested = (1, *shape[1:])
    if groups > 1:
        # times and channels are no space, so that nothing is filtered across them
        shape, suggested = (groups, shape[0] // groups, *shape[1:]), (1, *suggested)
        axes = (Axis("c", "channel"), *axes)
    reader = _Reader(os.fspath(path), shape, np.dtype(volume.info.dtype), None, is_grouped=groups > 1)
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
    reader = _Reader(str(path), tuple(found.shape), np.dtype(found.dtype), part)
    return StoredArray(_cut(reader, tuple(found.chunks), chunks), str(path), axes)


def _cut(reader: _Reader, suggested: tuple[int, ...], chunks: Sequence[int] | None) -> Any:
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


@dataclass(frozen=True)
class Target:
    """An array of a Zarr store that is written chunk by chunk.

    Attributes
    ----------
    path : str
        Of the store.
    part : str
        Of the array in it; nothing if the store is the array.
    """

    path: str
    part: str = ""

    def create(self, x: Any, axes: Sequence[Axis]) -> None:
        """Make the array, of the chunks that a Dask array has, all but the last of which must be equally long."""
        zarr = require("zarr", "writing Zarr", "dask")
        chunks = tuple(lengths[0] for lengths in x.chunks)
        try:
            zarr.create_array(
                self.path,
                name=self.part or None,
                shape=x.shape,
                chunks=chunks,
                dtype=x.dtype,
                dimension_names=[axis.name for axis in axes],
                overwrite=True,
            )
        except OSError as error:
            raise explain_output_error(Path(self.path), error) from error

    def write(self, block: Any, region: tuple[slice, ...]) -> str:
        """Write a chunk, and return its checksum."""
        values = np.ascontiguousarray(block.get() if hasattr(block, "get") else block)
        try:
            _open_writable(self.path, self.part, _stamp(self.path, self.part))[region] = values
        except OSError as error:
            raise explain_output_error(Path(self.path), error) from error
        return compute_checksum(values)

    def check(self, region: tuple[slice, ...], checksum: str) -> bool:
        """Tell whether a chunk is there as it was written."""
        try:
            stored = _open_zarr(self.path, self.part, _stamp(self.path, self.part))
            return compute_checksum(np.asarray(stored[region])) == checksum
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it has to be computed again
            return False


def compute_checksum(values: Array) -> str:
    """Return a number, in letters, that changes with any bit of an array.

    Examples
    --------
    >>> compute_checksum(np.arange(3, dtype=np.uint8))
    'e879c20168a0a436'
    """
    return blake2b(np.ascontiguousarray(values).view(np.uint8).data, digest_size=_DIGEST).hexdigest()


def _stamp(path: str, part: str | None = None) -> tuple[int, ...]:
    """Return what tells a file from another that has replaced it, which an open one would not see."""
    if part is None:
        dataset = split_dataset(path)
        names = [Path(path if dataset is None else dataset[0])]
    else:
        names = [Path(path, part, name) for name in ("zarr.json", ".zarray")]
    for name in names:
        with suppress(OSError):
            found = name.stat()
            return found.st_ino, found.st_mtime_ns, found.st_size
    return ()


@lru_cache(maxsize=32)
def _open_zarr(path: str, part: str, _stamp: tuple[int, ...]) -> Any:
    zarr = require("zarr", "reading Zarr", "dask")
    return zarr.open_array(path, path=part or None, mode="r")


@lru_cache(maxsize=32)
def _open_writable(path: str, part: str, _stamp: tuple[int, ...]) -> Any:
    zarr = require("zarr", "writing Zarr", "dask")
    return zarr.open_array(path, path=part or None, mode="r+")


@lru_cache(maxsize=8)
def _open_volume(path: str, _stamp: tuple[int, ...]) -> Any:
    from subband.media.registry import open_volume

    return open_volume(path)

"""Arrays in files, read and written region by region: Zarr, HDF5, TIFF stacks and other volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.faults import require
from subband.media.formats import find_format, split_dataset
from subband.media.stores.multiscales import Axis
from subband.outputs import explain_output_error
from subband.typing import Array

__all__ = ["RegionReader", "Target", "compute_checksum", "create_group", "is_zarr", "open_cached_volume"]

# A number of bytes that tells a chunk from any other.
_DIGEST = 8


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


class RegionReader:
    """An array in a file that is sliced: opened where it is asked to read, which may be another process."""

    def __init__(
        self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any], part: str | None, *, is_grouped: bool = False
    ) -> None:
        self.path, self.part, self.is_grouped = path, part, is_grouped
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    def __getitem__(self, slices: Any) -> Array:
        if self.part is None:
            volume = open_cached_volume(self.path)
            return self._read(self._read_volumes if self.is_grouped else volume.read_block, slices)
        stored = _open_zarr(self.path, self.part)
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
        read = open_cached_volume(self.path).read_block
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
            _open_zarr(self.path, self.part, "r+")[region] = values
        except OSError as error:
            raise explain_output_error(Path(self.path), error) from error
        return compute_checksum(values)

    def check(self, region: tuple[slice, ...], checksum: str) -> bool:
        """Tell whether a chunk is there as it was written."""
        try:
            stored = _open_zarr(self.path, self.part)
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


def open_cached_volume(path: str) -> Any:
    """Open a volume, or return the one that is open."""
    return _open(path, None, "r", _stamp(path))


def _open_zarr(path: str, part: str, mode: str = "r") -> Any:
    return _open(path, part, mode, _stamp(path, part))


@lru_cache(maxsize=32)
def _open(path: str, part: str | None, mode: str, _stamp: tuple[int, ...]) -> Any:
    """Open an array of a store, or a volume; a file that has been replaced has another stamp."""
    if part is None:
        from subband.media.registry import open_volume

        return open_volume(path)
    return require("zarr", "stores of chunks", "dask").open_array(path, path=part or None, mode=mode)


def create_group(path: Path, attributes: dict[str, Any]) -> None:
    """Make a Zarr group with attributes, as of `describe_multiscales`."""
    zarr = require("zarr", "writing Zarr", "dask")
    try:
        zarr.create_group(str(path), zarr_format=3, attributes=attributes)
    except OSError as error:
        raise explain_output_error(path, error) from error

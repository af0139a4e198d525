"""A JPEG 2000 file as a group of Zarr, without a copy: arrays ``0``, ``1``, ``2`` … are its resolutions.

The group describes itself as OME-Zarr does, so that viewers of large images find the levels.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from itertools import product
from typing import Any

import numpy as np
import zarr
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from subband.codecs.jpeg2000 import LazyImage
from subband.media.stores import Axis, describe_multiscales

__all__ = ["ImageStore", "open_zarr"]

_ABOUT = "zarr.json"


def open_zarr(image: LazyImage) -> zarr.Group:
    """Return a file as a group of Zarr whose chunks are decoded when they are read.

    Parameters
    ----------
    image : LazyImage
        From `subband.codecs.jpeg2000.open`.

    Returns
    -------
    zarr.Group
        Arrays ``"0"``, ``"1"``, ``"2"`` … are the resolutions of the file, from the one that was opened on.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs import jpeg2000
    >>> from subband.integrations.zarr import open_zarr
    >>> image = np.arange(256 * 320, dtype=np.uint16).reshape(256, 320)
    >>> group = open_zarr(jpeg2000.open(jpeg2000.encode(image, tile=(64, 64))))
    >>> group["2"].shape, int(group["0"][100, 200]) == int(image[100, 200])
    ((64, 80), True)
    """
    return zarr.open_group(ImageStore(image), mode="r", zarr_format=3)


class ImageStore(Store):  # type: ignore[misc]  # Zarr is not looked into for types
    """What Zarr reads from: descriptions of arrays, and chunks that are slices of an image.

    Parameters
    ----------
    image : LazyImage
        The finest resolution.
    """

    def __init__(self, image: LazyImage) -> None:
        super().__init__(read_only=True)
        self._levels = image.resolutions
        self._about = {_ABOUT: _describe_group(self._levels)} | {
            f"{number}/{_ABOUT}": _describe_array(level) for number, level in enumerate(self._levels)
        }

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageStore) and other._levels[0].file is self._levels[0].file

    def __hash__(self) -> int:
        return id(self._levels[0].file)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return a description, or decode a chunk."""
        data = self._read(key)
        return None if data is None else prototype.buffer.from_bytes(_cut(data, byte_range))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return several."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Return whether there is something under a key."""
        return key in self._about or self._find_chunk(key) is not None

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys."""
        for key in self._about:
            yield key
        for number, level in enumerate(self._levels):
            for position in product(
                *(range(-(-a // b)) for a, b in zip(level.shape, _find_chunks(level), strict=True))
            ):
                yield f"{number}/c/{'/'.join(map(str, position))}"

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin so."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield what lies directly below a key."""
        start = f"{prefix.rstrip('/')}/" if prefix else ""
        seen = set()
        async for key in self.list_prefix(start):
            name = key[len(start) :].split("/")[0]
            if name not in seen:
                seen.add(name)
                yield name

    async def set(self, key: str, value: Buffer) -> None:  # noqa: ARG002 - as all stores
        """Refuse to write."""
        self._check_writable()

    async def delete(self, key: str) -> None:  # noqa: ARG002 - as all stores
        """Refuse to delete."""
        self._check_writable()

    def _read(self, key: str) -> bytes | None:
        if key in self._about:
            return self._about[key]
        found = self._find_chunk(key)
        if found is None:
            return None
        level, position = found
        shape = _find_chunks(level)
        part = level[tuple(slice(at * side, (at + 1) * side) for at, side in zip(position, shape, strict=True))]
        chunk = np.zeros(shape, level.dtype.newbyteorder("<"))
        chunk[tuple(map(slice, part.shape))] = part
        return chunk.tobytes()

    def _find_chunk(self, key: str) -> tuple[LazyImage, tuple[int, ...]] | None:
        """Return the resolution and the index of a chunk, or None if no chunk has that key."""
        name, *rest = key.split("/")
        if not name.isdecimal() or int(name) >= len(self._levels) or rest[:1] != ["c"]:
            return None
        level, position = self._levels[int(name)], rest[1:]
        if len(position) != level.ndim or not all(each.isdecimal() for each in position):
            return None
        numbers = tuple(map(int, position))
        is_inside = all(
            at * side < length for at, side, length in zip(numbers, _find_chunks(level), level.shape, strict=True)
        )
        return (level, numbers) if is_inside else None


def _find_chunks(level: LazyImage) -> tuple[int, ...]:
    """Return the sides of chunks: those of the largest tile."""
    return tuple(max(lengths) for lengths in level.chunks)


def _describe_array(level: LazyImage) -> bytes:
    about: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": level.shape,
        "data_type": level.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": _find_chunks(level)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": ["y", "x", "c"][: level.ndim],
        "attributes": {},
    }
    return json.dumps(about).encode()


def _describe_group(levels: tuple[LazyImage, ...]) -> bytes:
    names = [("y", "space"), ("x", "space"), ("c", "channel")][: levels[0].ndim]
    axes = [
        [Axis(name, kind, scale=2.0**number if kind == "space" else 1.0) for name, kind in names]
        for number in range(len(levels))
    ]
    attributes = describe_multiscales("image", axes)
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}).encode()


def _cut(data: bytes, byte_range: ByteRequest | None) -> bytes:
    """Return a part of what lies under a key."""
    match byte_range:
        case RangeByteRequest(start, end):
            return data[start:end]
        case OffsetByteRequest(offset):
            return data[offset:]
        case SuffixByteRequest(suffix):
            return data[-suffix:]
    return data

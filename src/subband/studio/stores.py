"""Zarr and OME-Zarr as volumes: the slices of all times and channels, one behind the other."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.faults import explain_damage, require
from subband.media.stores import Axis, find_axes, guess_axes
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["open_store"]

#: Bytes of a chunk, unpacked: one is unpacked whole, however small the part of it is that is shown.
_LARGEST_CHUNK = 512 * 2**20


def open_store(path: Path, most_pixels: int) -> VolumeSource:
    """Open the finest level of an OME-Zarr image, or a plain array of at least two axes.

    The last two axes of space are rows and columns, one before them are slices; all others, such as times and channels,
    count volumes. ``info.metadata["axes"]`` has their names and lengths, the slices last.

    Raises
    ------
    MissingExtraError
        If zarr is not installed.
    FormatError
        If it describes no image, or one whose slices or chunks are too large.
    """
    zarr = require("zarr", "reading Zarr", "dask")
    with explain_damage(path, "Zarr", KeyError, TypeError, ValueError, OSError):
        found = zarr.open(str(path), mode="r")
        if isinstance(found, zarr.Group):
            name, axes = find_axes(dict(found.attrs), str(path))
            array = found[name]
        else:
            array, axes = found, guess_axes(found.ndim, None, None)
    if not isinstance(array, zarr.Array) or array.ndim < 2 or array.ndim != len(axes) or 0 in array.shape:
        raise FormatError(f"{str(path)!r} holds no image of rows and columns")
    if prod(array.shards or array.chunks) * array.dtype.itemsize > _LARGEST_CHUNK:
        raise FormatError(f"{str(path)!r} has chunks of more than {_LARGEST_CHUNK // 2**20} MiB, too large to show")
    rows, columns = array.shape[-2:]
    if rows * columns > most_pixels:
        raise FormatError(f"{str(path)!r} has slices of {rows * columns} pixels, and the studio shows {most_pixels}")
    return _walk_array(array, axes, path)


def _walk_array(array: Any, axes: tuple[Axis, ...], path: Path) -> VolumeSource:
    before = list(range(array.ndim - 2))
    slices = [axis for axis in before if axes[axis].name == "z" or axes[axis].kind == "space"][-1:]
    order = [axis for axis in before if axis not in slices] + slices
    lengths = [array.shape[axis] for axis in order]
    names = [axes[axis].name for axis in order]
    depth = lengths[-1] if slices else 1
    groups = prod(lengths) // depth
    info = describe_volume(
        (groups * depth, *array.shape[-2:]),
        array.dtype,
        origin=path,
        groups=groups,
        voxel_size=tuple(axes[axis].scale for axis in (*slices, -2, -1)) if slices else None,
        container="zarr",
        metadata={"axes": list(zip(names, lengths, strict=True))},
    )

    def read_slice(number: int) -> Array:
        index = dict(zip(order, np.unravel_index(number, lengths), strict=True)) if order else {}
        return np.asarray(array[tuple(int(index[axis]) for axis in before)])

    return VolumeSource(info, read_slice)

"""Planes of a volume: the three that cross in a point, and the volume turned to be walked along another axis."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.media.volumes import VolumeSource
from subband.studio.encoding import encode_image
from subband.studio.levels import Window, as_pixels
from subband.typing import Array

__all__ = ["draw_planes", "load_volume", "turn_volume"]

#: Bytes of a volume that is kept in memory.
_LARGEST = 2**30
#: The longest side of a plane in the overview.
_LONGEST = 256


def load_volume(source: VolumeSource, group: int = 0) -> Array:
    """Return one of the volumes of a source, whole.

    Raises
    ------
    ArgumentError
        If it is too large.
    """
    depth = source.shape[0] // source.info.groups
    size = depth * prod(source.info.shape) * source.info.dtype.itemsize
    if size > _LARGEST:
        raise ArgumentError(
            f"the volume has {size / 2**30:.2g} GiB, and other planes are cut from up to {_LARGEST / 2**30:g} GiB; "
            "look at its slices"
        )
    return source.read_block(slice(group * depth, (group + 1) * depth))


def cut_plane(volume: Array, axis: int, number: int) -> Array:
    """Return a plane across an axis; the last slice lies on top, as heads do in a scan.

    Examples
    --------
    >>> volume = np.arange(24).reshape(2, 3, 4)
    >>> cut_plane(volume, 1, 0)
    array([[12, 13, 14, 15],
           [ 0,  1,  2,  3]])
    """
    plane = volume.take(number, axis)
    return np.ascontiguousarray(plane if axis == 0 else plane[::-1])


def turn_volume(source: VolumeSource, volume: Array, axis: int) -> VolumeSource:
    """Return a volume as a source whose slices lie across an axis.

    Examples
    --------
    >>> from subband.media.volumes import describe_volume
    >>> volume = np.zeros((2, 3, 4), np.float32)
    >>> source = VolumeSource(describe_volume(volume.shape, volume.dtype, voxel_size=(5, 1, 1)), volume.__getitem__)
    >>> turned = turn_volume(source, volume, 2)
    >>> turned.shape, turned.info.voxel_size
    ((4, 2, 3), (1.0, 5.0, 1.0))
    """
    order = [axis, *(each for each in range(3) if each != axis)]
    size = source.info.voxel_size
    info = replace(
        source.info,
        shape=tuple(volume.shape[each] for each in order[1:]) + volume.shape[3:],
        count=volume.shape[axis],
        groups=1,
        voxel_size=None if size is None else (size[order[0]], size[order[1]], size[order[2]]),
        metadata={key: value for key, value in source.info.metadata.items() if key != "axes"},
    )
    return VolumeSource(info, lambda number: cut_plane(volume, axis, number))


def draw_planes(
    volume: Array, point: Sequence[int], window: Window, voxel_size: Sequence[float] | None = None
) -> list[dict[str, Any]]:
    """Return the three planes that cross in a point, as the page draws them.

    Parameters
    ----------
    volume : ndarray
        Slices × rows × columns, or with colours.
    point : sequence of int
        Slice, row and column.
    window : Window
        What is black and white.
    voxel_size : sequence of float, optional
        The distances of slices, rows and columns; alike where nothing is known.

    Returns
    -------
    list of dict
        For each axis, its ``position`` and ``count``, the ``image`` as an address, and its ``shape`` in space: how wide
        it is for its height.
    """
    drawn = []
    sides = [length * size for length, size in zip(volume.shape[:3], voxel_size or (1.0,) * 3, strict=True)]
    for axis, position in enumerate(point):
        plane = window.show(as_pixels(cut_plane(volume, axis, position)))
        step = max(1, -(-max(plane.shape[:2]) // _LONGEST))
        part = encode_image("plane", np.ascontiguousarray(plane[::step, ::step]), "png")
        image = f"data:image/png;base64,{base64.b64encode(part.data).decode()}"
        down, across = (side for each, side in enumerate(sides) if each != axis)
        shape = float(f"{across / down:.4g}")
        drawn.append({"position": int(position), "count": volume.shape[axis], "image": image, "shape": shape})
    return drawn

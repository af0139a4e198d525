"""Pixels of Y'CbCr, components side by side, as the planes that are coded, and back: bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.codecs.vc2.sequence import SAMPLINGS, VideoFormat
from subband.compiled import Kernels
from subband.engines.threads import run_tasks
from subband.typing import Array

__all__ = ["join_planes", "split_pixels"]

_loops = Kernels("subband.codecs.vc2.loops.pixels")

# Rows of one task.
_TOGETHER = 64


def split_pixels(pixels: Array, video: VideoFormat) -> list[Array]:
    """Return the planes of an image: chroma is the mean of the pixels that share it.

    Parameters
    ----------
    pixels : ndarray
        Rows × columns × 3 of a video all of whose components have the same bits. uint8, or uint16 of which the highest
        bits count; the others are rounded.
    video : VideoFormat
        Of the planes.

    Examples
    --------
    >>> video = VideoFormat(2, 1, "4:2:2", VideoFormat.make_signal(10))
    >>> [plane.tolist() for plane in split_pixels(np.array([[[64, 128, 640], [6400, 256, 640]]], np.uint16), video)]
    [[[1, 100]], [[3]], [[10]]]
    """
    down, across = SAMPLINGS[video.sampling]
    bits = max(video.bits)
    dtype = np.uint8 if bits <= 8 else np.uint16
    planes = [np.empty(shape, dtype) for shape in video.plane_shapes]
    flat = np.ascontiguousarray(pixels).reshape(-1).view()
    flat.flags.writeable = False
    drop = 8 * pixels.dtype.itemsize - bits

    def work(first: int, last: int) -> None:
        _loops.split_pixels(
            flat, video.columns, down, across, drop, (1 << bits) - 1, *(plane.reshape(-1) for plane in planes), first,
            last,
        )  # fmt: skip

    run_tasks(work, _share(video.rows // down))
    return planes


def join_planes(planes: Sequence[Array], video: VideoFormat, dtype: np.dtype[Any]) -> Array:
    """Return the pixels of an image; undoes `split_pixels`.

    Examples
    --------
    >>> video = VideoFormat(2, 1, "4:2:2", VideoFormat.make_signal(10))
    >>> planes = [np.array(plane, np.uint16) for plane in ([[1, 100]], [[3]], [[10]])]
    >>> join_planes(planes, video, np.dtype(np.uint16)).tolist()
    [[[64, 192, 640], [6400, 192, 640]]]
    """
    down, across = SAMPLINGS[video.sampling]
    pixels = np.empty((video.rows, video.columns, 3), dtype)
    flat = [np.ascontiguousarray(plane).reshape(-1) for plane in planes]
    bits = 8 * dtype.itemsize - max(video.bits)

    def work(first: int, last: int) -> None:
        _loops.join_planes(*flat, video.columns, down, across, bits, pixels.reshape(-1), first, last)

    run_tasks(work, _share(video.rows))
    return pixels


def _share(rows: int) -> list[tuple[int, int]]:
    return [(first, min(first + _TOGETHER, rows)) for first in range(0, rows, _TOGETHER)]

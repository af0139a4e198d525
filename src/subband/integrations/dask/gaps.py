"""Unknown pixels in arrays of Dask: found chunk by chunk, filled for the work, and put back as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.delayed import Delayed, delayed

from subband.arrays import namespace, to_host
from subband.enhance.blockwise import GapFilling, Reach
from subband.enhance.layout import Layout, check_pixels
from subband.errors import ArgumentError, ShapeError
from subband.integrations.dask.graphs import BlockMap, draw_array, draw_statistic
from subband.integrations.dask.grids import find_grid
from subband.integrations.dask.margins import Blocks

__all__ = ["draw_filled", "draw_filling", "find_known", "restore"]


def find_known(image: Any, layout: Layout, mask: Any, nonfinite: str) -> Any:
    """Return which pixels are known, as a Dask array of uint8 of the shape of space; None if all are.

    Parameters
    ----------
    image : dask array
        The pixels.
    layout : Layout
        Which of its axes are space.
    mask : array, dask array or None
        Not 0 where pixels are known.
    nonfinite : {"refuse", "mask"}
        What is done with NaN and infinite pixels.

    Raises
    ------
    ShapeError
        If the mask does not fit.
    ArgumentError
        If it leaves nothing, as far as that can be seen without reading anything.
    """
    if nonfinite not in ("refuse", "mask"):
        raise ArgumentError(f"nonfinite={nonfinite!r} is not known; use 'refuse' or 'mask'")
    chunks = tuple(image.chunks[axis] for axis in layout.space)
    known = None if mask is None else _open_mask(mask, chunks)
    if nonfinite == "mask" and image.dtype.kind == "f":
        others = tuple(axis for axis in range(image.ndim) if axis not in layout.space)
        finite = image.map_blocks(_is_finite, dtype=bool, meta=meta_from_array(image, dtype=bool))
        if others:
            finite = finite.all(axis=others)
        finite = finite.transpose(np.argsort(np.argsort(layout.space)).tolist()).rechunk(chunks)
        known = finite if known is None else finite.map_blocks(_both, known, dtype=bool, meta=meta_from_array(finite))
    return None if known is None else known.astype(np.uint8)


def _open_mask(mask: Any, chunks: tuple[tuple[int, ...], ...]) -> Any:
    space = tuple(map(sum, chunks))
    if not isinstance(mask, da.Array):
        mask = to_host(mask) != 0
    if mask.shape != space:
        raise ShapeError(f"mask has shape {mask.shape}, and the image has {space}; give one value for each pixel")
    if isinstance(mask, da.Array):
        return (mask != 0).rechunk(chunks)
    if not mask.any():
        raise ArgumentError("mask leaves no pixel; at least one has to be known")
    return None if mask.all() else da.from_array(mask, chunks)


def _is_finite(block: Any) -> Any:
    return namespace(block, "an image").isfinite(block)


def _both(a: Any, b: Any) -> Any:
    return a & namespace(a, "a mask").asarray(b)


def draw_filling(pixels: Any, known: Any) -> Delayed:
    """Return the image at a small size, without gaps: leading axes, then those of space.

    Parameters
    ----------
    pixels : dask array
        Leading axes, then those of space.
    known : dask array
        Not 0 where pixels are known; of the shape of space.
    """
    small = GapFilling.find(pixels.shape, known.ndim)
    halves = _map(small, small.halve, pixels, known)
    return draw_statistic([{"": halves}], "filling", small.merge, small.join)


def draw_filled(pixels: Any, known: Any, filling: Any) -> Any:
    """Return pixels whose gaps are filled, in the dtype in which they are read.

    Parameters
    ----------
    pixels, known : dask array
        As in `draw_filling`.
    filling : Delayed or array
        What that gave.
    """
    small = GapFilling.find(pixels.shape, known.ndim)
    if not isinstance(filling, Delayed):
        # a task of its own: on a cluster each task travels by itself, and would bring all of it along
        filling = delayed(filling, pure=True)
    meta = meta_from_array(pixels, dtype=check_pixels(np.empty(1, pixels.dtype), "image").dtype)
    return draw_array(_map(small, small.fill, pixels, known), "filled", [filling], meta)


def _map(small: GapFilling, work: Callable[..., Any], pixels: Any, known: Any) -> BlockMap:
    """Return work on blocks that hold the whole of all squares that their chunks have a part of."""
    blocks = Blocks(find_grid(pixels).edges, [Reach(0, small.cell - 1, small.cell)] * known.ndim)
    return blocks.map(work, pixels, (known, blocks.windows[pixels.ndim - known.ndim :]))


def restore(result: Any, pixels: Any, known: Any) -> Any:
    """Return a result, with pixels as they were where they are not known; the axes of `known` are the last ones."""
    count = result.ndim - known.ndim
    marks = known[(np.newaxis,) * count]
    meta = meta_from_array(result)
    return da.map_blocks(_put_back, result, pixels.rechunk(result.chunks), marks, dtype=result.dtype, meta=meta)


def _put_back(result: Any, pixels: Any, known: Any) -> Any:
    xp = namespace(result, "an image")
    return xp.where(xp.asarray(known) != 0, result, pixels.astype(result.dtype))

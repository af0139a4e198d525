"""Pixels that are not known, in arrays of Dask: found chunk by chunk, filled for the work, and put back as they were.

A gap is filled from the picture at half the size, where known pixels are averaged, and so on. A chunk does the first
steps by itself, on a block that begins and ends where squares of the small picture do. The picture that comes of it is
small enough for one task, which does the other steps; then chunks are filled from that, down the same steps. So gaps of
any width are filled as in memory, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.delayed import Delayed, delayed

from subband.arrays import namespace, to_host
from subband.enhance.blockwise import Block, Reach, flatten
from subband.enhance.layout import Layout, check_pixels, fill_known, halve_known
from subband.errors import ArgumentError, ShapeError
from subband.integrations.dask.blocks import stay_with
from subband.integrations.dask.graphs import BlockMap, draw_array, draw_statistic, find_grid
from subband.integrations.dask.margins import Blocks

__all__ = ["draw_filled", "draw_filling", "find_known", "restore"]

#: Samples of the small picture, at most, of all planes together.
_SMALL = 1 << 22

#: Steps that a chunk does by itself, at least: where it ends in the middle of a square it reads on to its end.
_FEWEST = 3


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
        raise ShapeError(f"mask has shape {mask.shape}, and the picture has {space}; give one value for each pixel")
    if isinstance(mask, da.Array):
        return (mask != 0).rechunk(chunks)
    if not mask.any():
        raise ArgumentError("mask leaves no pixel; at least one has to be known")
    return None if mask.all() else da.from_array(mask, chunks)


def _is_finite(block: Any) -> Any:
    return namespace(block, "a picture").isfinite(block)


def _both(a: Any, b: Any) -> Any:
    return a & namespace(a, "a mask").asarray(b)


@dataclass(frozen=True)
class _Small:
    """The array at a small size, and how blocks get there and back.

    Attributes
    ----------
    steps : int
        How often sizes are halved.
    dimensions : int
        Number of axes of space.
    shape : tuple of int
        Of the array.
    """

    steps: int
    dimensions: int
    shape: tuple[int, ...]

    @classmethod
    def find(cls, shape: tuple[int, ...], dimensions: int) -> _Small:
        """Choose how small."""
        leading, space = prod(shape[: len(shape) - dimensions]), shape[len(shape) - dimensions :]
        steps = _FEWEST
        while leading * prod(-(-n // 2**steps) for n in space) > _SMALL and 2**steps < max(space):
            steps += 1
        return cls(steps, dimensions, shape)

    @property
    def cell(self) -> int:
        """Length of the squares that become one sample."""
        return int(2**self.steps)

    def map(self, work: Callable[..., Any], pixels: Any, known: Any) -> BlockMap:
        """Return work on blocks that hold the whole of all squares that their chunks have a part of."""
        blocks = Blocks(find_grid(pixels).edges, [Reach(0, self.cell - 1, self.cell)] * self.dimensions)
        return blocks.map(work, pixels, (known, blocks.windows[pixels.ndim - known.ndim :]))

    def halve(self, block: Block, pixels: Any, known: Any) -> dict[Any, Any]:
        """Return a block at the small size, and where something is known of it, by its place there."""
        values, weight = _begin(pixels, known)
        for _ in range(self.steps):
            values, weight = halve_known(values, weight)
        # a square behind those of the chunk may be incomplete
        ends = [-(-inner.stop // self.cell) for inner in block.inner]
        whole = tuple(slice(end) for end in ends)
        starts = [start // self.cell for start in block.starts]
        place = *block.planes, *((start, start + end) for start, end in zip(starts, ends, strict=True))
        return {place: (values[whole], weight[whole][..., 0])}

    @staticmethod
    def merge(several: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
        """Put small blocks side by side."""
        return {place: block for own in several for place, block in own.items()}

    def join(self, blocks: dict[Any, Any]) -> Any:
        """Return the small array of all blocks, in which what is left of gaps is filled."""
        first, _ = next(iter(blocks.values()))
        with stay_with(first):
            xp = namespace(first, "a picture")
            before = len(self.shape) - self.dimensions
            space = tuple(-(-length // self.cell) for length in self.shape[before:])
            values = xp.zeros((*self.shape[:before], *space))
            weight = xp.zeros(space)
            for place, (own, mark) in blocks.items():
                part = tuple(slice(*each) for each in place)
                values[part] = xp.moveaxis(own, -1, 0).reshape(values[part].shape)
                weight[part[before:]] = mark
            if not bool((weight > 0).any()):
                raise ArgumentError(
                    "mask leaves no pixel, or all pixels are NaN or infinite; at least one has to be known"
                )
            flat = xp.moveaxis(values.reshape(-1, *space), 0, -1)
            filled = fill_known(flat, weight[..., np.newaxis])
            return xp.ascontiguousarray(xp.moveaxis(filled, -1, 0)).reshape(values.shape)

    def fill(self, block: Block, pixels: Any, known: Any, filling: Any) -> Any:
        """Return a block without gaps, in the dtype in which it is read."""
        pixels = check_pixels(pixels, "image")
        xp = namespace(pixels, "a picture")
        values, weight = _begin(pixels, known)
        if bool((weight > 0).all()):
            return pixels.copy()
        lengths = pixels.shape[pixels.ndim - self.dimensions :]
        part = tuple(
            slice(start // self.cell, -(-(start + length) // self.cell))
            for start, length in zip(block.starts, lengths, strict=True)
        )
        small = flatten(xp.asarray(filling[(*block.leading, *part)]), self.dimensions)
        filled = fill_known(values, weight, xp.moveaxis(small, 0, -1), self.steps)
        if pixels.dtype.kind in "iu":
            filled = xp.rint(filled)
        return xp.moveaxis(filled.astype(pixels.dtype), -1, 0).reshape(pixels.shape)


def draw_filling(pixels: Any, known: Any) -> Delayed:
    """Return the picture at a small size, without gaps: leading axes, then those of space.

    Parameters
    ----------
    pixels : dask array
        Leading axes, then those of space.
    known : dask array
        Not 0 where pixels are known; of the shape of space.
    """
    small = _Small.find(pixels.shape, known.ndim)
    return draw_statistic([{"": small.map(small.halve, pixels, known)}], "filling", small.merge, small.join)


def draw_filled(pixels: Any, known: Any, filling: Any) -> Any:
    """Return pixels whose gaps are filled, in the dtype in which they are read.

    Parameters
    ----------
    pixels, known : dask array
        As in `draw_filling`.
    filling : Delayed or array
        What that gave.
    """
    small = _Small.find(pixels.shape, known.ndim)
    if not isinstance(filling, Delayed):
        # a task of its own: on a cluster each task travels by itself, and would bring all of it along
        filling = delayed(filling, pure=True)
    meta = meta_from_array(pixels, dtype=check_pixels(np.empty(1, pixels.dtype), "image").dtype)
    return draw_array(small.map(small.fill, pixels, known), "filled", [filling], meta)


def restore(result: Any, pixels: Any, known: Any) -> Any:
    """Return a result, with pixels as they were where they are not known; the axes of `known` are the last ones."""
    count = result.ndim - known.ndim
    marks = known[(np.newaxis,) * count]
    meta = meta_from_array(result)
    return da.map_blocks(_put_back, result, pixels.rechunk(result.chunks), marks, dtype=result.dtype, meta=meta)


def _put_back(result: Any, pixels: Any, known: Any) -> Any:
    xp = namespace(result, "a picture")
    return xp.where(xp.asarray(known) != 0, result, pixels.astype(result.dtype))


def _begin(block: Any, known: Any) -> tuple[Any, Any]:
    """Return space × planes of float64 with zeros in gaps, and weights of 0 or 1."""
    xp = namespace(block, "a picture")
    marks = xp.asarray(known) != 0
    planes = xp.where(marks, block, 0).astype(np.float64)
    if block.dtype.kind == "f" and not np.isfinite(float(planes.sum())):
        count = int((~xp.isfinite(planes)).any(axis=tuple(range(planes.ndim - marks.ndim))).sum())
        if count:
            raise ArgumentError(
                f"image has {count} pixels in one chunk that are NaN or infinite and not masked; use nonfinite='mask' "
                "to leave them as they are, or replace them"
            )
    return xp.moveaxis(flatten(planes, marks.ndim), 0, -1), marks.astype(np.float64)[..., np.newaxis]

"""Pixels that are not known, in arrays of Dask: found chunk by chunk, filled for the work, and put back as they were.

A gap is filled from the picture at half the size, where known pixels are averaged, and so on. A chunk does the first
steps by itself, on a block that begins and ends where squares of the small picture do. The picture that comes of it is
small enough for one task, which does the other steps; then chunks are filled from that, down the same steps. So gaps of
any width are filled as in memory, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import DataNode, TaskRef

from subband.arrays import namespace, to_host
from subband.enhance.layout import Layout, _fill, _halve, check_pixels
from subband.errors import ArgumentError, ShapeError
from subband.integrations.dask.blocks import Recipe, fetch, share_cores, stay_with
from subband.integrations.dask.graphs import Draft, Grid, find_grid, list_windows, make_array, rename
from subband.integrations.dask.planes import flatten
from subband.integrations.dask.windows import Edges, Window, plain_window

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
        finite = image.map_blocks(_is_finite, dtype=bool, meta=image._meta.astype(bool))
        if others:
            finite = finite.all(axis=others)
        finite = finite.transpose(np.argsort(np.argsort(layout.space)).tolist()).rechunk(chunks)
        known = finite if known is None else finite.map_blocks(_both, known, dtype=bool, meta=finite._meta)
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
    """How large the small picture is, and where chunks are cut for it.

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
        leading, space = prod(shape[: len(shape) - dimensions]), shape[len(shape) - dimensions :]
        steps = _FEWEST
        while leading * prod(-(-n // 2**steps) for n in space) > _SMALL and 2**steps < max(space):
            steps += 1
        return cls(steps, dimensions, shape)

    @property
    def cell(self) -> int:
        """Length of the squares that become one sample."""
        return int(2**self.steps)

    def align(self, edges: Sequence[Edges]) -> tuple[Edges, ...]:
        """Return edges of chunks, moved so that no square is cut."""
        return tuple(
            own if axis < len(edges) - self.dimensions else (0, *sorted({self._up(edge, own[-1]) for edge in own[1:]}))
            for axis, own in enumerate(edges)
        )

    def cover(self, begin: int, end: int, length: int) -> tuple[int, int]:
        """Return a range that begins and ends where squares do, or at the end of the axis."""
        return begin // self.cell * self.cell, self._up(end, length)

    def _up(self, edge: int, length: int) -> int:
        return min(-(-edge // self.cell) * self.cell, length)


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
    grid, marks = find_grid(pixels), find_grid(known)
    token = tokenize(pixels.name, known.name)
    draft = Draft(f"subband-filling-{token}")
    before = pixels.ndim - known.ndim
    edges = small.align(grid.edges)
    keys, places = [], []
    for index in Grid(draft.name, edges).walk():
        ranges = [(own[at], own[at + 1]) for own, at in zip(edges, index, strict=True)]
        windows = [plain_window(*each) for each in ranges]
        recipe, pieces = draft.request(grid, windows)
        mark, own = draft.request(marks, windows[before:])
        keys.append(draft.add(index, _shrink_block, small, recipe, pieces, mark, own))
        places.append(
            tuple(ranges[:before]) + tuple((a // small.cell, -(-b // small.cell)) for a, b in ranges[before:])
        )
    name = f"subband-small-{token}"
    draft.tasks[name] = (_fill_small, keys, {"places": places}, small)
    return Delayed(name, draft.finish([pixels, known]), layer=draft.name)


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
    grid, marks = find_grid(pixels), find_grid(known)
    name = f"subband-filled-{tokenize(pixels.name, known.name)}"
    draft = Draft(f"{name}-work")
    before = pixels.ndim - known.ndim
    if not isinstance(filling, Delayed):
        # a task of its own: on a cluster each task travels by itself, and would bring all of it along
        draft.tasks[f"{name}-small"] = DataNode(f"{name}-small", filling)
    given = TaskRef(filling.key if isinstance(filling, Delayed) else f"{name}-small")
    carried = [list_windows(own) for own in grid.edges[:before]]
    for index in grid.walk():
        windows: list[Window] = [own[at] for own, at in zip(carried, index, strict=False)]
        crop, part = [slice(None)] * before, [slice(*_edge(grid.edges[axis], index[axis])) for axis in range(before)]
        for axis in range(before, pixels.ndim):
            begin, end = _edge(grid.edges[axis], index[axis])
            start, stop = small.cover(begin, end, pixels.shape[axis])
            windows.append(plain_window(start, stop))
            crop.append(slice(begin - start, end - start))
            part.append(slice(start // small.cell, -(-stop // small.cell)))
        recipe, pieces = draft.request(grid, windows)
        mark, own = draft.request(marks, windows[before:])
        task = _FillTask(small, recipe, mark, tuple(crop), tuple(part))
        draft.add(index, task.run, pieces, own, given)
    waited = [pixels, known, *([filling] if isinstance(filling, Delayed) else [])]
    results = Grid(name, grid.edges)
    tasks = rename(results, Grid(draft.name, grid.edges))
    meta = pixels._meta.astype(check_pixels(np.empty(1, pixels.dtype), "image").dtype)
    return make_array(draft.finish(waited), draft.name, name, results, tasks, meta)


def restore(result: Any, pixels: Any, known: Any) -> Any:
    """Return a result, with pixels as they were where they are not known; the axes of `known` are the last ones."""
    count = result.ndim - known.ndim
    marks = known[(np.newaxis,) * count]
    return da.map_blocks(_put_back, result, pixels.rechunk(result.chunks), marks, dtype=result.dtype, meta=result._meta)


def _put_back(result: Any, pixels: Any, known: Any) -> Any:
    xp = namespace(result, "a picture")
    return xp.where(xp.asarray(known) != 0, result, pixels.astype(result.dtype))


def _edge(edges: Edges, at: int) -> tuple[int, int]:
    return edges[at], edges[at + 1]


def _shrink_block(small: _Small, recipe: Recipe, pieces: Sequence[Any], mark: Recipe, known: Sequence[Any]) -> Any:
    """Return a block at the small size, and where something is known of it."""
    with share_cores(), stay_with(pieces[0]):
        values, weight, _ = _begin(fetch(recipe, pieces), fetch(mark, known))
        for _ in range(small.steps):
            values, weight = _step_down(values, weight)
        return values, weight[..., 0]


def _fill_small(blocks: list[Any], where: dict[str, Any], small: _Small) -> Any:
    """Put small blocks together, and fill what is left of gaps."""
    with stay_with(blocks[0][0]):
        return _join_small(blocks, where["places"], small)


def _join_small(blocks: list[Any], where: Sequence[Any], small: _Small) -> Any:
    xp = namespace(blocks[0][0], "a picture")
    before = len(small.shape) - small.dimensions
    space = tuple(-(-length // small.cell) for length in small.shape[before:])
    values = xp.zeros((*small.shape[:before], *space))
    weight = xp.zeros(space)
    for (own, mark), places in zip(blocks, where, strict=True):
        part = tuple(slice(*place) for place in places)
        values[part] = xp.moveaxis(own, -1, 0).reshape(values[part].shape)
        weight[part[before:]] = mark
    if not bool((weight > 0).any()):
        raise ArgumentError("mask leaves no pixel, or all pixels are NaN or infinite; at least one has to be known")
    flat = xp.moveaxis(values.reshape(-1, *space), 0, -1)
    filled = _fill(flat, weight[..., np.newaxis], xp)
    return xp.ascontiguousarray(xp.moveaxis(filled, -1, 0)).reshape(values.shape)


@dataclass(frozen=True)
class _FillTask:
    """How a chunk is filled.

    Attributes
    ----------
    small : _Small
        The small picture.
    recipe, mark : Recipe
        Of pixels, and of what is known of them.
    crop : tuple of slice
        What counts of the block.
    part : tuple of slice
        Where it is in the small picture.
    """

    small: _Small
    recipe: Recipe
    mark: Recipe
    crop: tuple[slice, ...]
    part: tuple[slice, ...]

    def run(self, pieces: Sequence[Any], known: Sequence[Any], filling: Any) -> Any:
        """Return the chunk without gaps."""
        with share_cores(), stay_with(pieces[0]):
            block, marks = check_pixels(fetch(self.recipe, pieces), "image"), fetch(self.mark, known)
            xp = namespace(block, "a picture")
            values, weight, shape = _begin(block, marks)
            if bool((weight > 0).all()):
                return block[self.crop].copy()
            below = filling[self.part]
            below = xp.moveaxis(flatten(xp.asarray(below), self.small.dimensions), 0, -1)
            filled = _fill_down(values, weight, below, self.small.steps)
            if block.dtype.kind in "iu":
                filled = xp.rint(filled)
            back = xp.moveaxis(filled.astype(block.dtype), -1, 0).reshape(shape)
            return xp.ascontiguousarray(back[self.crop])


def _begin(block: Any, known: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Return space × planes of float64 with zeros in gaps, weights of 0 or 1, and the shape of the block."""
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
    flat = planes.reshape(-1, *planes.shape[planes.ndim - marks.ndim :])
    return xp.moveaxis(flat, 0, -1), marks.astype(np.float64)[..., np.newaxis], tuple(block.shape)


def _step_down(values: Any, weight: Any) -> tuple[Any, Any]:
    """Return the known values at half the size, averaged, and where there are any."""
    xp = namespace(values, "a picture")
    coarse, share = values * weight, weight
    for axis in range(values.ndim - 1):
        coarse, share = (_halve(x, axis, xp) for x in (coarse, share))
    with np.errstate(divide="ignore", invalid="ignore"):
        coarse = xp.where(share > 0, coarse / share, 0)
    return coarse, (share > 0).astype(np.float64)


def _fill_down(values: Any, weight: Any, below: Any, steps: int) -> Any:
    """Return values where weight is 1, and else those of the picture below, so many steps down."""
    xp = namespace(values, "a picture")
    if steps:
        below = _fill_down(*_step_down(values, weight), below, steps - 1)
        for axis, length in enumerate(values.shape[:-1]):
            below = xp.take(below, xp.arange(length) // 2, axis)
    return xp.where(weight > 0, values, below)

"""Gaps in an array that is larger than memory: filled block by block, to the same bits as in memory.

A gap is filled from the image at half the size, where known pixels are averaged, and so on. A block does the first
steps by itself, if it begins and ends where squares of the small image do. The image that comes of it is small enough
to be filled in one piece; then blocks are filled from that, down the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from subband.arrays import find_owner, namespace
from subband.enhance.blockwise.statistics import Block, flatten
from subband.enhance.gaps import fill_known, halve_known
from subband.enhance.layout import check_pixels
from subband.errors import ArgumentError

__all__ = ["GapFilling"]

#: Samples of the small image, at most, of all planes together.
_SMALL = 1 << 22

#: Steps that a block does by itself, at least: where it ends in the middle of a square it reads on to its end.
_FEWEST = 3


@dataclass(frozen=True)
class GapFilling:
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
    def find(cls, shape: tuple[int, ...], dimensions: int) -> GapFilling:
        """Choose how small."""
        leading, space = prod(shape[: len(shape) - dimensions]), shape[len(shape) - dimensions :]
        steps = _FEWEST
        while leading * prod(-(-n // 2**steps) for n in space) > _SMALL and 2**steps < max(space):
            steps += 1
        return cls(steps, dimensions, shape)

    @property
    def cell(self) -> int:
        """Length of the squares, or cubes, that become one sample: blocks hold the whole of all that they touch."""
        return int(2**self.steps)

    def halve(self, block: Block, pixels: Any, known: Any) -> dict[Any, Any]:
        """Return a block at the small size, and where something is known of it, by its region there."""
        values, weight = _begin(pixels, known)
        for _ in range(self.steps):
            values, weight = halve_known(values, weight)
        # a square behind those of the chunk may be incomplete
        ends = [-(-inner.stop // self.cell) for inner in block.inner]
        whole = tuple(slice(end) for end in ends)
        starts = [start // self.cell for start in block.starts]
        region = *block.planes, *((start, start + end) for start, end in zip(starts, ends, strict=True))
        return {region: (values[whole], weight[whole][..., 0])}

    @staticmethod
    def merge(several: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
        """Put small blocks side by side."""
        return {region: block for own in several for region, block in own.items()}

    def join(self, blocks: dict[Any, Any]) -> Any:
        """Return the small array of all blocks, in which what is left of gaps is filled."""
        first, _ = next(iter(blocks.values()))
        owner = find_owner([("image", first)])
        assert owner is not None
        with owner.enter():
            xp = namespace(first, "an image")
            before = len(self.shape) - self.dimensions
            space = tuple(-(-length // self.cell) for length in self.shape[before:])
            values = xp.zeros((*self.shape[:before], *space))
            weight = xp.zeros(space)
            for region, (own, mark) in blocks.items():
                part = tuple(slice(*each) for each in region)
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
        xp = namespace(pixels, "an image")
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


def _begin(block: Any, known: Any) -> tuple[Any, Any]:
    """Return space × planes of float64 with zeros in gaps, and weights of 0 or 1."""
    xp = namespace(block, "an image")
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

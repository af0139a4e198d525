"""The components of an image: arrays of samples with their depth, their sign and their position on the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["Component", "as_components"]

#: Bits of a sample that 32-bit arithmetic can transform without a loss.
MOST_BITS = 24

_MOST_COMPONENTS = 16384


@dataclass(frozen=True, eq=False)
class Component:
    """One component.

    Attributes
    ----------
    samples : ndarray of int
        Rows × columns.
    precision : int
        Bits of a sample.
    is_signed : bool
        Whether samples can be negative.
    dx, dy : int
        Every how many columns and rows of the grid there is a sample.
    """

    samples: Array
    precision: int
    is_signed: bool = False
    dx: int = 1
    dy: int = 1

    @property
    def level_shift(self) -> int:
        """What is subtracted so that samples lie around zero."""
        return 0 if self.is_signed else 1 << (self.precision - 1)

    @property
    def peak(self) -> int:
        """How far the largest sample is from the smallest."""
        return (1 << self.precision) - 1


def as_components(
    image: Any,
    *,
    bits: int | Sequence[int] | None = None,
    subsampling: Sequence[tuple[int, int]] | None = None,
    origin: tuple[int, int] = (0, 0),
) -> tuple[list[Component], tuple[int, int]]:
    """Return the components of an image, and its rows and columns on the grid.

    Parameters
    ----------
    image : array_like of int or bool, or list of arrays
        Rows × columns, rows × columns × components, or a list of components of different sizes.
    bits : int or sequence of int, optional
        Bits of a sample, of all or of each component; those of the dtype if left out.
    subsampling : sequence of (int, int), optional
        Every how many rows and columns each component has a sample; found from the sizes if left out.
    origin : (int, int)
        Row and column of the first sample on the grid.

    Raises
    ------
    ArgumentError
        If samples do not fit `bits`, or sizes do not fit `subsampling`.
    DtypeError
        If samples are not integers.
    ShapeError
        If the shape is that of no image.

    Examples
    --------
    >>> components, size = as_components([np.zeros((5, 7), np.uint8), np.zeros((3, 4), np.int16)])
    >>> size, [(each.precision, each.is_signed, each.dy, each.dx) for each in components]
    ((5, 7), [(8, False, 1, 1), (16, True, 2, 2)])
    """
    planes = _split(image)
    depths = _spread_bits(bits, planes)
    if subsampling is None:
        rows, columns = max(len(plane) for plane in planes), max(plane.shape[1] for plane in planes)
        steps = [
            (_find_step(plane.shape[0], rows, origin[0]), _find_step(plane.shape[1], columns, origin[1]))
            for plane in planes
        ]
    else:
        steps = [(index(dy), index(dx)) for dy, dx in subsampling]
        if len(steps) != len(planes) or any(not (1 <= dy <= 255 and 1 <= dx <= 255) for dy, dx in steps):
            raise ArgumentError(
                f"subsampling={subsampling!r} does not give {len(planes)} components two numbers from 1 to 255 each"
            )
        rows, columns = _find_size(planes, steps, origin)
    components = []
    for number, (plane, depth, (dy, dx)) in enumerate(zip(planes, depths, steps, strict=True)):
        expected = (_count(rows, dy, origin[0]), _count(columns, dx, origin[1]))
        if dy == 0 or dx == 0 or plane.shape != expected:
            raise ShapeError(
                f"component {number} has shape {plane.shape}; an image of {rows} × {columns} with a sample every "
                f"{dy} rows and {dx} columns has {expected[0]} × {expected[1]}"
            )
        _check_range(plane, depth, number)
        components.append(Component(plane, depth, plane.dtype.kind == "i", dx, dy))
    return components, (rows, columns)


def _split(image: Any) -> list[Array]:
    """Return the components as integer arrays of two axes."""
    if isinstance(image, list | tuple) and image and all(hasattr(each, "shape") for each in image):
        planes = [np.asarray(each) for each in image]
    else:
        whole = np.asarray(image)
        if whole.ndim == 2:
            planes = [whole]
        elif whole.ndim == 3:
            planes = [whole[..., number] for number in range(whole.shape[2])]
        else:
            raise ShapeError(f"image has shape {whole.shape}; it needs rows × columns, with or without components")
    if not 1 <= len(planes) <= _MOST_COMPONENTS:
        raise ShapeError(f"image has {len(planes)} components; from 1 to {_MOST_COMPONENTS} are allowed")
    for number, plane in enumerate(planes):
        if plane.dtype.kind not in "biu":
            raise DtypeError(f"component {number} holds {plane.dtype}; scale it to integers, such as uint8 or uint16")
        if plane.ndim != 2 or 0 in plane.shape:
            raise ShapeError(f"component {number} has shape {plane.shape}; it needs rows × columns, one at least")
    return [plane.view(np.uint8) if plane.dtype.kind == "b" else plane for plane in planes]


def _spread_bits(bits: int | Sequence[int] | None, planes: Sequence[Array]) -> list[int]:
    """Return the bits of each component."""
    if bits is None:
        depths = [8 * plane.dtype.itemsize for plane in planes]
        for number, plane in enumerate(planes):
            if depths[number] > MOST_BITS:
                raise ArgumentError(f"component {number} holds {plane.dtype}; say how many bits it uses, as in bits=16")
        return depths
    depths = [index(each) for each in bits] if isinstance(bits, Sequence) else [index(bits)] * len(planes)
    if len(depths) != len(planes) or any(not 1 <= depth <= MOST_BITS for depth in depths):
        raise ArgumentError(f"bits={bits!r} is not a number from 1 to {MOST_BITS}, or one for each component")
    return depths


def _check_range(plane: Array, bits: int, number: int) -> None:
    is_signed = plane.dtype.kind == "i"
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    limits = np.iinfo(plane.dtype)
    if limits.min >= lowest and limits.max <= highest:
        return
    low, high = int(plane.min()), int(plane.max())
    if low < lowest or high > highest:
        raise ArgumentError(
            f"component {number} holds {low} to {high}, and {bits} bits hold {lowest} to {highest}; use more bits"
        )


def _count(length: int, step: int, first: int) -> int:
    """Return how many samples lie at multiples of `step`."""
    return -(-(first + length) // step) - -(-first // step) if step else 0


def _find_step(count: int, length: int, first: int) -> int:
    """Return the least step that leaves so many samples, or 0."""
    return next((step for step in range(1, 256) if _count(length, step, first) == count), 0)


def _find_size(planes: Sequence[Array], steps: Sequence[tuple[int, int]], origin: tuple[int, int]) -> tuple[int, int]:
    """Return the largest rows and columns that fit all components."""
    sizes = []
    for axis in (0, 1):
        first = origin[axis]
        longest = min(
            (-(-first // step[axis]) + plane.shape[axis]) * step[axis] - first
            for plane, step in zip(planes, steps, strict=True)
        )
        sizes.append(longest)
    return sizes[0], sizes[1]

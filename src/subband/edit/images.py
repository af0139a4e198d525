"""Images as callers hand them to editing tools: grey or in colour, of any depth, with what is transparent kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.arrays import is_opencl, namespace
from subband.engines import Engine
from subband.engines.dispatch import call_natively
from subband.enhance.layout import Layout, arrange, as_dtype, check_mask, check_pixels, find_layout
from subband.errors import ArgumentError, ShapeError

__all__ = ["Image", "edit_image", "fit_pixels", "match_channels", "take_image"]


@dataclass(frozen=True)
class Image:
    """Pixels as engines take them, and the way back to the array that they come from.

    Attributes
    ----------
    pixels : array
        Rows × columns × channels, one or three, C-contiguous.
    put_back : callable
        Returns the array for changed pixels, with the alpha channel it had.
    white : float
        The number that stands for white.
    is_flat : bool
        Whether the array has no axis for channels.
    is_whole : bool
        Whether it holds integers.
    """

    pixels: Any
    put_back: Callable[[Any], Any]
    white: float
    is_flat: bool
    is_whole: bool

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.pixels.shape[0], self.pixels.shape[1]

    @property
    def channels(self) -> int:
        """One for grey, three for colour."""
        return int(self.pixels.shape[2])


def take_image(image: Any, name: str, white: float | None = None) -> Image:
    """Check that a native array is an image, and return its pixels as rows × columns × channels.

    Parameters
    ----------
    image : array
        Rows × columns for grey, rows × columns × 3 for colour or × 4 with an alpha channel; of any real dtype.
    name : str
        What errors call it.
    white : float, optional
        What white is, unless it is an image of 8 or 16 bits; if left out, the largest number of a dtype of integers
        of up to 32 bits, and 1 for floating point.

    Raises
    ------
    ShapeError
        If it has other axes.
    DtypeError
        If it holds no real numbers.
    ArgumentError
        If pixels are not finite, or are integers of 64 bits and `white` is left out.

    Examples
    --------
    >>> image = take_image(np.zeros((4, 6, 4), np.uint16), "image")
    >>> image.pixels.shape, image.white, image.put_back(image.pixels).shape
    ((4, 6, 3), 65535.0, (4, 6, 4))
    """
    pixels = check_pixels(image, name)
    shape = tuple(pixels.shape)
    is_single = len(shape) == 3 and shape[2] == 1
    if not (len(shape) == 2 or is_single or (len(shape) == 3 and shape[2] in (3, 4))):
        raise ShapeError(
            f"{name} has shape {shape}; an image is rows × columns, rows × columns × 3, or × 4 with an alpha channel"
        )
    layout = Layout((0, 1), 2) if is_single else find_layout(shape, None, "auto")
    try:
        check_mask(pixels, layout, None, "refuse")
    except ArgumentError:
        raise ArgumentError(
            f"{name} has pixels that are NaN or infinite; replace them, as with numpy.nan_to_num"
        ) from None
    arranged = arrange(pixels, layout)
    given = image.dtype if hasattr(image, "dtype") else np.asarray(image).dtype

    def put_back(result: Any) -> Any:
        return as_dtype(arranged.put_back(result), given)

    kind = given if isinstance(given, np.dtype) else pixels.dtype
    is_whole = kind.kind in "iu"
    if white is None or kind in (np.uint8, np.uint16):
        if is_whole and kind.itemsize > 4:
            # numbers of that size come from sums and lists, and their largest was never meant to be white
            raise ArgumentError(
                f"{name} holds {kind}, which does not say what white is; give uint8 or uint16, or a white such as 255"
            )
        white = float(np.iinfo(kind).max) if is_whole else 1.0
    return Image(arranged.pixels, put_back, float(white), len(shape) == 2, is_whole)


def edit_image(
    work: Callable[[Any, float], Any], image: Any, name: str, white: float | None, engine: str | Engine | None
) -> Any:
    """Return an image after ``work(pixels, white)`` on an engine: of the same kind, shape and dtype."""

    def edit(native: Any) -> Any:
        taken = take_image(native, name, white)
        return taken.put_back(call_natively(work, {0: name}, (taken.pixels, taken.white), {}, engine))

    # arranged where it is, whatever engine computes then
    return call_natively(edit, {0: name}, (image,), {}, "cpu")


def match_channels(pixels: Any, channels: int, name: str) -> Any:
    """Return grey pixels as coloured ones where those are needed; colour where grey is needed is left as it is."""
    if pixels.shape[2] == channels or channels == 1:
        return pixels
    xp = namespace(pixels, f"{name} in grey beside an image in colour")
    return xp.ascontiguousarray(xp.broadcast_to(pixels, (*pixels.shape[:2], channels)))


def fit_pixels(pixels: Any, size: tuple[int, int], fit: str, name: str) -> Any:
    """Return pixels of another number of rows and columns.

    Parameters
    ----------
    pixels : array
        Rows × columns × channels.
    size : pair of int
        Rows and columns of the result.
    fit : {"tile", "mirror", "stretch", "crop"}
        Repeat them; repeat them with every other copy mirrored, which leaves no seam; stretch them; or take their
        middle.
    name : str
        What errors call them.

    Raises
    ------
    ShapeError
        If they are to be cropped and are too small.

    Examples
    --------
    >>> fit_pixels(np.array([[[1], [2], [3]]]), (1, 8), "tile", "texture")[0, :, 0].tolist()
    [1, 2, 3, 1, 2, 3, 1, 2]
    >>> fit_pixels(np.array([[[1], [2], [3]]]), (1, 8), "mirror", "texture")[0, :, 0].tolist()
    [1, 2, 3, 3, 2, 1, 1, 2]
    >>> fit_pixels(np.array([[[1.0], [3.0]]]), (1, 4), "stretch", "texture")[0, :, 0].tolist()
    [1.0, 1.5, 2.5, 3.0]
    >>> fit_pixels(np.array([[[1], [2], [3]]]), (1, 1), "crop", "texture")[0, :, 0].tolist()
    [2]
    """
    if tuple(pixels.shape[:2]) == size:
        return pixels
    if is_opencl(pixels):
        raise ShapeError(
            f"{name} has {pixels.shape[0]} × {pixels.shape[1]} pixels, and {size[0]} × {size[1]} are needed; arrays of "
            "PyOpenCL are not fitted: give one of that size"
        )
    xp = namespace(pixels, name)
    if fit == "crop" and any(have < need for have, need in zip(pixels.shape[:2], size, strict=True)):
        raise ShapeError(
            f"{name} has {pixels.shape[0]} × {pixels.shape[1]} pixels, and {size[0]} × {size[1]} are needed; "
            "use fit='tile', 'mirror' or 'stretch'"
        )
    dtype = pixels.dtype
    for axis, need in enumerate(size):
        have = pixels.shape[axis]
        if fit == "stretch":
            pixels = _stretch(pixels, axis, need, xp)
        else:
            indices = xp.arange(need) + (have - need) // 2 if fit == "crop" else xp.arange(need)
            if fit == "mirror":
                indices = indices % (2 * have)
                indices = xp.minimum(indices, 2 * have - 1 - indices)
            pixels = xp.take(pixels, indices % have, axis)
    if dtype.kind in "iu" and pixels.dtype != dtype:
        pixels = xp.rint(pixels)
    return xp.ascontiguousarray(pixels.astype(dtype))


def _stretch(pixels: Any, axis: int, need: int, xp: Any) -> Any:
    """Interpolate between neighbours along an axis; where there are too many, average them first."""
    have = pixels.shape[axis]
    if have == need:
        return pixels
    values = pixels.astype(np.float64)
    if have > need:
        # the mean over the stretch of each result, as the difference of two running sums
        sums = xp.concatenate([xp.zeros_like(xp.take(values, xp.arange(1), axis)), xp.cumsum(values, axis)], axis)
        edges = _interpolate(sums, axis, xp.arange(need + 1) * (have / need), xp)
        ends, begins = xp.take(edges, xp.arange(1, need + 1), axis), xp.take(edges, xp.arange(need), axis)
        return (ends - begins) * (need / have)
    return _interpolate(values, axis, (xp.arange(need) + 0.5) * (have / need) - 0.5, xp)


def _interpolate(values: Any, axis: int, positions: Any, xp: Any) -> Any:
    last = values.shape[axis] - 1
    positions = xp.clip(positions, 0, last)
    low = xp.minimum(xp.floor(positions).astype(np.int64), last)
    share = (positions - low).reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    return xp.take(values, low, axis) * (1 - share) + xp.take(values, xp.minimum(low + 1, last), axis) * share

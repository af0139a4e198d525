"""The axes of an image: which are space and which are channels, and its conversion to pixels × channels and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any, Literal

import numpy as np

from subband.arrays import as_numbers, is_finite_sum, is_functional, is_opencl, namespace, to_host
from subband.errors import ArgumentError, ArgumentTypeError, AxesError, DtypeError, ShapeError
from subband.typing import Array

__all__ = [
    "Arranged",
    "Layout",
    "arrange",
    "as_dtype",
    "check_mask",
    "check_pixels",
    "find_layout",
    "find_stack",
    "map_stack",
    "round_to",
]

#: Channels of a pixel of grey with an alpha channel, of colour, and of colour with an alpha channel.
_GREY_WITH_ALPHA, _COLOUR, _WITH_ALPHA = 2, 3, 4

_DTYPES = ("uint8", "uint16", "float16", "float32", "float64")

#: Integers of more bytes are not exact as the doubles in which they are computed.
_MOST_BYTES = 4


@dataclass(frozen=True)
class Layout:
    """The axes of an image.

    Attributes
    ----------
    space : tuple of int
        One to three axes.
    channel : int or None
        Where the channels of a pixel are.
    has_alpha : bool
        Whether the last channel says how transparent a pixel is.
    """

    space: tuple[int, ...]
    channel: int | None
    has_alpha: bool = False


@dataclass(frozen=True)
class Arranged:
    """Pixels, and the way back to the array that they come from.

    Attributes
    ----------
    pixels : array
        Space × channels, C-contiguous.
    put_back : callable
        Returns the array for enhanced pixels.
    is_colour : bool
        Whether the channels are red, green and blue of the same image.
    """

    pixels: Any
    put_back: Callable[[Any], Any]
    is_colour: bool = False


def check_pixels(image: Any, name: str) -> Any:
    """Return an array that holds real numbers and is not empty, of a dtype that filters read."""
    if is_opencl(image):
        pixels = image
        if pixels.dtype.name not in _DTYPES:
            raise DtypeError(f"{name} has dtype {pixels.dtype}; an array of PyOpenCL needs one of {', '.join(_DTYPES)}")
    else:
        pixels = as_numbers(image, name)
        if pixels.dtype.kind == "c":
            raise DtypeError(f"{name} has dtype {pixels.dtype}; an image is real: give {name}.real or abs({name})")
        if pixels.dtype.name not in _DTYPES:
            # integers of other sizes are exact as doubles, or nearly so, and would not be as floats
            pixels = pixels.astype(np.float64 if pixels.dtype.itemsize > 2 else np.float32)
        elif not pixels.dtype.isnative:
            pixels = pixels.astype(pixels.dtype.newbyteorder("="))
    if pixels.ndim == 0 or pixels.size == 0:
        raise ShapeError(f"{name} has shape {tuple(pixels.shape)}; it needs at least 1 pixel, and 1 axis")
    return pixels


def find_layout(
    shape: tuple[int, ...], axes: Sequence[int] | None, channel_axis: int | Literal["auto"] | None
) -> Layout:
    """Return which axes are space and which are channels, as the caller says or as the shape suggests.

    Examples
    --------
    >>> find_layout((480, 640, 3), None, "auto")
    Layout(space=(0, 1), channel=2, has_alpha=False)
    >>> find_layout((64, 64, 64), None, "auto")
    Layout(space=(0, 1, 2), channel=None, has_alpha=False)
    >>> find_layout((10, 480, 640), (1, 2), None)
    Layout(space=(1, 2), channel=None, has_alpha=False)
    """
    count = len(shape)
    named = None
    if axes is not None:
        named = tuple(_check_axis("axes", axis, count) for axis in np.atleast_1d(np.asarray(axes)).tolist())
    if channel_axis == "auto":
        if count == 3 and named is None and shape[-1] == _GREY_WITH_ALPHA:
            # a grey image with an alpha channel, two channels and two slices have the same shape
            raise ShapeError(
                f"image has shape {shape}, whose last axis may hold grey and alpha, two channels or two slices; take "
                "image[..., 0] without its alpha, channel_axis=-1 for channels, or channel_axis=None for a volume"
            )
        is_pixel = count == 3 and shape[-1] in (_COLOUR, _WITH_ALPHA) and (named is None or count - 1 not in named)
        channel = count - 1 if is_pixel else None
        has_alpha = is_pixel and shape[-1] == _WITH_ALPHA
    else:
        channel = None if channel_axis is None else _check_axis("channel_axis", channel_axis, count)
        has_alpha = False
    if named is None:
        space = tuple(axis for axis in range(count) if axis != channel)
    else:
        space = named
        if len(set(space)) != len(space) or channel in space:
            raise AxesError(f"axes={axes} name an axis twice, or that of the channels, {channel}; name each once")
    if not 1 <= len(space) <= 3:
        raise ShapeError(
            f"image of shape {shape} has {len(space)} axes of space; it can have 1 to 3: name them with axes, such as "
            "axes=(1, 2) for a stack of images"
        )
    return Layout(space, channel, has_alpha)


def arrange(pixels: Any, layout: Layout) -> Arranged:
    """Return pixels as programs take them: space first, then one axis for everything else."""
    shape = tuple(pixels.shape)
    count = len(shape)
    if layout.channel is None and layout.space == tuple(range(count)):
        return Arranged(_as_contiguous(pixels).reshape(*shape, 1), lambda result: result.reshape(shape))
    others = [axis for axis in range(count) if axis not in layout.space and axis != layout.channel]
    is_colour = layout.channel is not None and not others and shape[layout.channel] == _COLOUR
    if layout.channel == count - 1 and layout.space == tuple(range(count - 1)) and not layout.has_alpha:
        return Arranged(_as_contiguous(pixels), lambda result: result, is_colour)
    xp = namespace(pixels, "an image with an alpha channel, or whose channels are not its last axis,")
    if layout.has_alpha:
        inner = arrange(pixels[..., :-1], replace(layout, has_alpha=False))
        return replace(
            inner, put_back=lambda result: xp.concatenate([inner.put_back(result), pixels[..., -1:]], axis=-1)
        )
    # what is not space, channels last, becomes one axis
    if layout.channel is not None:
        others.append(layout.channel)
    order = (*layout.space, *others)
    moved = xp.transpose(pixels, order)
    flat = xp.ascontiguousarray(moved.reshape(*moved.shape[: len(layout.space)], -1))

    def put_back(result: Any) -> Any:
        return xp.ascontiguousarray(xp.transpose(result.reshape(moved.shape), np.argsort(order).tolist()))

    return Arranged(flat, put_back, is_colour)


def check_mask(pixels: Any, layout: Layout, mask: Any, nonfinite: str) -> Array | None:
    """Return which pixels are known, as an array of the host of the shape of space; None if all are.

    Raises
    ------
    ShapeError
        If the mask does not fit.
    ArgumentError
        If nothing is known, or pixels are not finite and that was not expected.
    """
    if nonfinite not in ("refuse", "mask"):
        raise ArgumentError(f"nonfinite={nonfinite!r} is not known; use 'refuse' or 'mask'")
    known: Array | None = None
    if mask is not None:
        space = tuple(pixels.shape[axis] for axis in layout.space)
        given = to_host(mask)
        if given.shape != space:
            raise ShapeError(f"mask has shape {given.shape}, and the image has {space}; give one value for each pixel")
        known = given != 0
    bad = _find_nonfinite(pixels, layout) if pixels.dtype.kind == "f" else None
    if bad is not None:
        unexpected = bad if known is None else bad & known
        if nonfinite == "refuse" and unexpected.any():
            index = tuple(int(i) for i in np.argwhere(unexpected)[0])
            raise ArgumentError(
                f"image has {int(unexpected.sum())} pixels that are NaN or infinite, the first at {index}; use "
                "nonfinite='mask' to leave them as they are, or replace them"
            )
        known = ~bad if known is None else known & ~bad
    if known is None or known.all():
        return None
    if not known.any():
        raise ArgumentError("mask leaves no pixel; at least one has to be known")
    return known


def find_stack(shape: tuple[int, ...], layout: Layout) -> int | None:
    """Return an axis that is a stack of colour images; None if there is none.

    Examples
    --------
    >>> find_stack((5, 480, 640, 3), Layout((1, 2), 3))
    0
    >>> find_stack((480, 640, 3), Layout((0, 1), 2)) is None
    True
    """
    if layout.channel is None or shape[layout.channel] != 3:
        return None
    others = [axis for axis in range(len(shape)) if axis not in layout.space and axis != layout.channel]
    return others[0] if others else None


def map_stack(pixels: Any, axis: int, layout: Layout, work: Callable[[Any, tuple[int, ...], int], Any]) -> Any:
    """Apply `work` to each image of a stack, with its spatial and channel axes, and stack the results."""
    xp = namespace(pixels, "a stack of colour images")
    assert layout.channel is not None
    space = tuple(old - (old > axis) for old in layout.space)
    channel = layout.channel - (layout.channel > axis)
    results = [work(image, space, channel) for image in xp.moveaxis(pixels, axis, 0)]
    return xp.ascontiguousarray(xp.moveaxis(xp.stack(results), 0, axis))


def as_dtype(pixels: Any, dtype: Any) -> Any:
    """Return pixels as integers, rounded and clipped, if those went in; others stay.

    Examples
    --------
    >>> as_dtype(np.array([1.6, -40000.0]), np.dtype(np.int16))
    array([     2, -32768], dtype=int16)
    """
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or dtype.itemsize > _MOST_BYTES:
        return pixels
    if is_opencl(pixels) or pixels.dtype.kind in "iu":
        return pixels
    return round_to(pixels, dtype)


def round_to(pixels: Any, dtype: np.dtype[Any]) -> Any:
    """Return floating-point pixels as integers of any size, rounded and clipped.

    Examples
    --------
    >>> round_to(np.array([-0.6, 1e10], np.float32), np.dtype(np.int32))
    array([        -1, 2147483520], dtype=int32)
    """
    xp = namespace(pixels, "an image")
    limits = np.iinfo(dtype)
    most = pixels.dtype.type(limits.max)
    if float(most) > limits.max:
        # what floating point makes of the largest integer would wrap around
        most = np.nextafter(most, pixels.dtype.type(0))
    return xp.clip(xp.rint(pixels), limits.min, most).astype(dtype.newbyteorder("="))


def _find_nonfinite(pixels: Any, layout: Layout) -> Array | None:
    """Return which pixels of space are not finite in any channel; None if all are, or if that cannot be known."""
    if is_functional(pixels):
        return None
    if is_opencl(pixels):
        # nothing times infinity is not a number, and neither is a sum with one
        if is_finite_sum(pixels * 0):
            return None
        pixels = to_host(pixels)
    xp = namespace(pixels, "an image")
    finite = xp.isfinite(pixels)
    if bool(finite.all()):
        return None
    others = tuple(axis for axis in range(pixels.ndim) if axis not in layout.space)
    return to_host(~finite.all(axis=others)).transpose(np.argsort(np.argsort(layout.space)))


def _check_axis(name: str, axis: Any, count: int) -> int:
    try:
        number = index(axis)
    except TypeError:
        raise ArgumentTypeError(f"{name}={axis!r} is not the number of an axis") from None
    if not -count <= number < count:
        raise AxesError(f"{name}={number} is not an axis of an array of {count} axes")
    return number % count


def _as_contiguous(pixels: Any) -> Any:
    if is_opencl(pixels):
        if not pixels.flags.c_contiguous:
            raise ArgumentTypeError("image is an array of PyOpenCL that is not C-contiguous; give a copy, x.copy()")
        return pixels
    xp = namespace(pixels, "an image")
    return xp.ascontiguousarray(pixels)

"""Views of an enhancement as images: its result, and the bands of its transform side by side with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from subband.arrays import to_host
from subband.engines import Engine, get_engine
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.filters import find_filters
from subband.enhance.layout import arrange, check_mask, check_pixels, find_layout
from subband.enhance.program import prepare_program
from subband.errors import ShapeError
from subband.pyramid import Pyramid
from subband.typing import Array

if TYPE_CHECKING:
    from subband.enhance.enhancer import Enhancer

__all__ = ["VIEWS", "Region", "draw_bands", "draw_mosaic", "label_bands"]

VIEWS = ("synthesis", "analysis", "filtered-analysis")

#: A band of a mosaic: its name, first row, first column, rows and columns.
Region: TypeAlias = tuple[str, int, int, int, int]

#: How much details are amplified, so that they can be seen.
_GAIN = 2.0


def draw_mosaic(enhancer: Enhancer, image: Any, view: str, engine: str | Engine | None) -> Array:
    """Return a view of an image; see `Enhancer.view`."""
    pixels = check_pixels(image, "image") if isinstance(image, np.ndarray | list | tuple) else image
    layout = find_layout(tuple(pixels.shape), None, "auto")
    if len(layout.space) != 2:
        raise ShapeError(
            f"image has shape {tuple(pixels.shape)}; a view needs rows × columns, with or without channels"
        )
    if view == "synthesis":
        return _as_bytes(to_host(enhancer.apply(image, engine=engine)))
    return label_bands(*draw_bands(enhancer, image, view, engine))


def draw_bands(
    enhancer: Enhancer, image: Any, view: str, engine: str | Engine | None = None
) -> tuple[Array, list[Region]]:
    """Return the bands of an image side by side without their names, and where each of them is.

    Parameters
    ----------
    enhancer : Enhancer
        With a stage that transforms.
    image : array
        Of two axes of space, with or without channels.
    view : {"analysis", "filtered-analysis"}
        Before or after the last stage that transforms.
    engine : str, optional
        The engine that computes.

    Examples
    --------
    >>> from subband.enhance import Enhancer, Shrink
    >>> mosaic, regions = draw_bands(Enhancer(Shrink(level=1)), np.zeros((48, 64), np.uint8), "analysis")
    >>> mosaic.shape, regions[0], regions[-1]
    ((48, 64), ('aa1', 0, 0, 24, 32), ('dd1', 24, 32, 24, 32))
    """
    found: list[tuple[Array, Array | None, list[Region]]] = []
    # the result is on the host already, and must not be fetched from a device as results are
    call_natively(lambda own: found.append(_analyse(enhancer, own, view, engine)), {0: "image"}, (image,), {}, engine)
    planes, back, regions = found[0]
    # the filters of the host mix colours, round and clip in one pass
    shades = find_filters(get_engine("cpu")).write_pixels(planes, back, np.dtype(np.uint8))
    return shades[..., 0] if shades.shape[2] == 1 else shades, regions


def label_bands(mosaic: Array, shapes: list[Region]) -> Array:
    """Write the name of each band into its corner, if there is room.

    Parameters
    ----------
    mosaic : ndarray of uint8
        A mosaic.
    shapes : list of (str, int, int, int, int)
        Name, first row, first column, rows and columns of each band.
    """
    # imported here, because only images need it
    from PIL import Image, ImageDraw

    canvas = Image.fromarray(mosaic)
    pen = ImageDraw.Draw(canvas)
    white, black = (255, 0) if mosaic.ndim == 2 else ((255, 255, 255), (0, 0, 0))
    for name, row, column, height, width in shapes:
        left, top, right, bottom = pen.textbbox((column + 3, row + 2), name)
        if right < column + width and bottom < row + height:
            pen.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=black)
            pen.text((column + 3, row + 2), name, fill=white)
    return np.asarray(canvas)


def _analyse(
    enhancer: Enhancer, image: Any, view: str, engine: str | Engine | None
) -> tuple[Array, Array | None, list[Region]]:
    """Return the mosaic of each plane in shades of 0 to 255, the matrix back to colours, and where the bands are."""
    pixels = check_pixels(image, "image")
    layout = find_layout(tuple(pixels.shape), None, "auto")
    check_mask(pixels, layout, None, "refuse")
    arranged = arrange(pixels, layout).pixels
    program = prepare_program(enhancer, arranged.shape[:-1], arranged.shape[-1], engine_for(arranged, engine))
    coefficients, roundtrip, back = program.analyse(arranged, is_filtered=view == "filtered-analysis")
    shape = (program.channels, *program.space)
    bands = [{key: to_host(band) for key, band in level.items()} for level in reversed(coefficients.details)]
    pyramid = Pyramid(roundtrip.plan(shape), to_host(coefficients.approximation), bands)
    scale = 255.0 / (np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else _find_white(arranged))
    grown = 2.0 ** (roundtrip.level * len(roundtrip.axes) / 2)

    def shade(band: Array, level: int, key: str) -> Array:
        if "d" not in key:
            return np.asarray(band * (scale / grown))
        return np.asarray(band * (scale * _GAIN / 2.0 ** (level * len(roundtrip.axes) / 2)))

    mosaic = pyramid.map(shade).mosaic()
    if mosaic.dtype == np.float16:
        # the filters of the host compute in single precision
        mosaic = mosaic.astype(np.float32)
    regions = _list_regions(mosaic.shape[1:], roundtrip.level, roundtrip.axes)
    # details are around zero, and are shown around mid-grey; in planes of colours, mid-grey of all channels
    middle = np.full(len(mosaic), 127.5)
    if back is not None:
        middle = np.linalg.solve(back, middle)
    _, _, _, height, width = regions[0]
    for plane, grey in zip(mosaic, middle, strict=True):
        corner = plane[:height, :width].copy()
        plane += grey
        plane[:height, :width] = corner
    return mosaic, back, regions


def _list_regions(shape: tuple[int, ...], level: int, axes: tuple[int, ...]) -> list[Region]:
    """Return the region of each band in a mosaic, the approximation first."""
    height, width = shape
    regions = []
    for number in range(1, level + 1):
        low = [(length + 1) // 2 if axis in axes else length for axis, length in enumerate((height, width))]
        for down in (0, 1) if 0 in axes else (0,):
            for across in (0, 1) if 1 in axes else (0,):
                if down or across:
                    letters = ["ad"[one] for axis, one in ((0, down), (1, across)) if axis in axes]
                    regions.append(
                        (
                            f"{''.join(letters)}{number}",
                            low[0] * down,
                            low[1] * across,
                            height - low[0] if down else low[0],
                            width - low[1] if across else low[1],
                        )
                    )
        height, width = low
    return [("a" * len(axes) + str(level), 0, 0, height, width), *regions]


def _find_white(pixels: Any) -> float:
    """Return the white level of an image of floats: the first of 1, 255 and 65535 that is not exceeded."""
    largest = float(to_host(pixels).max())
    return next((white for white in (1.0, 255.0, 65535.0) if largest <= white * 1.5), largest)


def _as_bytes(pixels: Array) -> Array:
    """Return any image as one of 8 bits."""
    if pixels.dtype == np.uint8:
        return pixels
    white = np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else _find_white(pixels)
    return np.clip(np.rint(pixels * (255.0 / white)), 0, 255).astype(np.uint8)

"""TIFF stacks, with the voxel sizes of ImageJ and OME."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError, SubbandError
from subband.media.faults import BROKEN, require
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["count_pages", "describe_imagej", "open_tiff"]

# How ImageJ and OME write micrometres.
_MICRO = {"\\u00B5m": "um", "µm": "um", "μm": "um", "micron": "um", "microns": "um"}


def count_pages(path: Path) -> int:
    """Return how many slices a TIFF file holds.

    Raises
    ------
    MissingExtraError
        If tifffile is not installed.
    FormatError
        If it is damaged, its pages have different sizes, or it has channels or other axes besides slices.
    """
    tifffile = require("tifffile", f"reading the pages of {path.name!r}", "volumes")
    try:
        with tifffile.TiffFile(path) as file:
            return _survey(path, file)[0][0]
    except BROKEN as error:
        if isinstance(error, SubbandError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as TIFF: {error}") from error


def open_tiff(path: Path) -> VolumeSource:
    """Open a TIFF stack, whose pages are read one by one, or mapped into memory where they lie bare in the file.

    Raises
    ------
    MissingExtraError
        If tifffile is not installed.
    FormatError
        If it is damaged, its pages have different sizes, or it has channels or other axes besides slices.
    """
    tifffile = require("tifffile", f"reading the pages of {path.name!r}", "volumes")
    path.open("rb").close()
    try:
        file = tifffile.TiffFile(path)
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as TIFF: {error}") from error
    try:
        series = file.series[0]
        flat, pages = _survey(path, file)
        colour = 1 if file.pages[0].samplesperpixel > 1 else 0
        if len(flat) != 3 + colour or (colour and flat[-1] != 3):
            raise FormatError(f"{str(path)!r} has the shape {series.shape}; a volume has slices, rows and columns")
        size, unit = _find_voxel_size(file)
        info = describe_volume(flat, series.dtype, origin=path, voxel_size=size, voxel_unit=unit, container="tiff")
        mapped = _map_pages(path, file, series, flat) if pages is series.pages else None
    except BROKEN as error:
        file.close()
        if isinstance(error, SubbandError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as TIFF: {error}") from error
    if mapped is not None:
        file.close()
        return VolumeSource(info, mapped.__getitem__, mapped.__getitem__)

    def read_page(number: int) -> Array:
        if len(pages) == 1 and flat[0] > 1:
            # ImageJ writes one page and the other slices behind it.
            return np.asarray(series.asarray().reshape(flat)[number])
        return np.asarray(pages[number].asarray())

    return VolumeSource(info, read_page, None, file.close)


def _survey(path: Path, file: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape of a stack, slices first, and its pages; refuse what is no single stack."""
    series = file.series[0]
    named = list(zip(series.axes, series.shape, strict=True))
    stacked = [(axis, int(length)) for axis, length in named if axis not in "YXS" and length > 1]
    # A lone axis is that of the slices, whatever it is called, unless it is that of the channels.
    if len(stacked) > 1 or any(axis == "C" for axis, _ in stacked):
        raise FormatError(
            f"{str(path)!r} has the axes {series.axes}; split channels and times first: a volume has slices, rows and "
            "columns"
        )
    count = stacked[0][1] if stacked else 1
    own = tuple(int(length) for axis, length in named if axis in "YXS")
    if len(file.pages) <= count:
        return (count, *own), series.pages
    # Smaller copies and masks are marked as such, and belong to another page.
    pages = [page for page in map(file.pages.get, range(len(file.pages))) if not page.subfiletype & 5]
    if len({(page.shape, page.dtype) for page in pages}) > 1:
        raise FormatError(f"{str(path)!r} holds pages of different sizes; split it first")
    if len(pages) <= count:
        return (count, *own), series.pages
    if count > 1:
        raise FormatError(f"{str(path)!r} holds several stacks; split it first")
    return (len(pages), *own), pages


def _map_pages(path: Path, file: Any, series: Any, shape: Sequence[int]) -> Array | None:
    """Map slices into memory that follow each other bare; None if they do not."""
    if series.dataoffset is None:
        return None
    dtype = np.dtype(file.byteorder + series.dtype.char)
    if series.dataoffset + dtype.itemsize * int(np.prod(shape, dtype=np.int64)) > path.stat().st_size:
        raise FormatError(f"{str(path)!r} is cut off: {shape[0]} slices do not fit into its size")
    return np.memmap(path, dtype, "r", series.dataoffset, tuple(shape))


def _find_voxel_size(file: Any) -> tuple[tuple[float, float, float] | None, str]:
    """Return the distance of slices, rows and columns as ImageJ or OME says it, and the unit."""
    if file.is_ome:
        found = dict(re.findall(r'PhysicalSize([XYZ])="([^"]+)"', file.ome_metadata or ""))
        unit = re.search(r'PhysicalSizeXUnit="([^"]+)"', file.ome_metadata or "")
        if "X" in found:
            column = float(found["X"])
            row = float(found.get("Y", column))
            return (float(found.get("Z", column)), row, column), _name_unit(unit[1] if unit else "um")
    if file.is_imagej:
        known = file.imagej_metadata or {}
        tags = file.pages[0].tags
        sides = [_invert(tags.get(name)) for name in ("YResolution", "XResolution")]
        if "spacing" in known or any(side is not None for side in sides):
            row, column = (1.0 if side is None else side for side in sides)
            return (float(known.get("spacing", 1.0)), row, column), _name_unit(str(known.get("unit", "pixel")))
    return None, "mm"


def _invert(tag: Any) -> float | None:
    """Turn pixels in a unit into units of a pixel."""
    if tag is None or not tag.value[0]:
        return None
    return float(tag.value[1] / tag.value[0])


def _name_unit(unit: str) -> str:
    return _MICRO.get(unit, unit)


def describe_imagej(count: int, voxel_size: Sequence[float] | None, unit: str) -> str:
    r"""Return what ImageJ wants to read in the first page of a stack.

    Examples
    --------
    >>> describe_imagej(5, (2.5, 1, 1), "um")
    'ImageJ=1.54\nimages=5\nslices=5\nspacing=2.5\nunit=um\nloop=false\n'
    """
    spacing = f"spacing={float(voxel_size[0])!r}\nunit={unit}\n" if voxel_size is not None else ""
    return f"ImageJ=1.54\nimages={count}\nslices={count}\n{spacing}loop=false\n"

"""TIFF stacks, read and written with the axes and the voxel sizes of ImageJ and OME."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from subband.errors import FormatError
from subband.media.base import Frame
from subband.media.display import describe_display
from subband.media.faults import explain_damage, require
from subband.media.lengths import convert_lengths, find_unit, name_unit
from subband.media.tiff_layout import TiffLayout, describe_copy, describe_imagej, find_layout
from subband.media.volume_sinks import VolumeSink
from subband.media.volumes import VolumeSource, describe_volume
from subband.outputs import Unfinished
from subband.typing import Array

__all__ = ["TiffSink", "is_stack", "open_tiff"]

# Offsets of plain TIFF end at 4 GiB; some are needed for what is not pixels.
_BIG_TIFF = 2**32 - 2**25

# Where OME names no unit.
_OME_UNIT = "µm"


def is_stack(path: Path) -> bool:
    """Tell whether a TIFF file is a volume: several pages, more channels than an image has, or numbers of no image.

    Raises
    ------
    MissingExtraError
        If tifffile is not installed.
    FormatError
        If it is damaged, its pages have different sizes, or it does not say which of its axes are slices.
    """
    tifffile = require("tifffile", f"reading the pages of {path.name!r}", "volumes")
    with explain_damage(path, "TIFF"), tifffile.TiffFile(path) as file:
        if _survey(path, file)[0].pages > 1:
            return True
        page = file.pages[0]
        # floating point is an image as well, and images of 1 bit are
        is_integer = np.dtype(page.dtype).kind in "iu"
        return page.samplesperpixel > 4 or (is_integer and page.dtype not in (np.uint8, np.uint16))


def open_tiff(path: Path) -> VolumeSource:
    """Open a TIFF stack, whose pages are read one by one, or mapped into memory where they lie bare in the file.

    Times and channels are volumes of their own, one behind the other.

    Raises
    ------
    MissingExtraError
        If tifffile is not installed.
    FormatError
        If it is damaged, its pages have different sizes, or it does not say which of its axes are slices.
    """
    tifffile = require("tifffile", f"reading the pages of {path.name!r}", "volumes")
    with explain_damage(path, "TIFF"):
        file = tifffile.TiffFile(path)
        try:
            return _open_pages(path, file)
        except BaseException:
            file.close()
            raise


def _open_pages(path: Path, file: Any) -> VolumeSource:
    series = file.series[0]
    layout, pages = _survey(path, file)
    size, unit = _find_voxel_size(path, file)
    info = describe_volume(
        (layout.pages * layout.samples, *layout.shape),
        layout.dtype,
        origin=path,
        voxel_size=size,
        voxel_unit=unit,
        groups=layout.groups,
        container="tiff",
        metadata={"tiff": layout, **_find_display(file)},
    )
    # small values are white there, as in fax
    is_inverted = file.pages[0].photometric == 0 and layout.dtype.kind == "u"
    mapped = _map_pages(path, file, series, layout) if pages is series.pages and not is_inverted else None
    order = layout.order
    if mapped is not None:
        file.close()
        if np.array_equal(order, np.arange(len(order))):
            return VolumeSource(info, mapped.__getitem__, mapped.__getitem__)
        return VolumeSource(info, lambda number: mapped[order[number]])

    def read_page(number: int) -> Array:
        page, sample = divmod(int(order[number]), layout.samples)
        if len(pages) == 1 and layout.pages > 1:
            # ImageJ writes one page and the other slices behind it.
            values = np.asarray(series.asarray()).reshape(layout.pages, *layout.shape)[page]
        else:
            values = np.asarray(pages[page].asarray())
        if layout.samples > 1:
            values = values[sample] if layout.is_planar else values[..., sample]
        elif layout.is_planar and values.ndim == 3:
            values = np.moveaxis(values, 0, -1)
        return np.asarray(np.iinfo(values.dtype).max - values) if is_inverted else values

    return VolumeSource(info, read_page, None, file.close)


def _survey(path: Path, file: Any) -> tuple[TiffLayout, Any]:
    """Return how slices lie in the pages of a file, and its pages; refuse what is no single stack."""
    series = file.series[0]
    named = [(axis, int(length)) for axis, length in zip(series.axes, series.shape, strict=True)]
    stacked = [(axis, length) for axis, length in named if axis not in "YXS" and length > 1]
    samples = _count_samples(path, file.pages[0])
    count = int(np.prod([length for _, length in stacked], dtype=np.int64))
    missing = sum(page is None for page in series.pages) if file.is_ome else 0
    if missing:
        raise FormatError(f"{missing} of the {count} pages that {str(path)!r} speaks of in its OME-XML are missing")
    if len(file.pages) <= count:
        return find_layout(path, file, stacked, samples, is_whole=True), series.pages
    # Smaller copies and masks are marked as such, and belong to another page.
    pages = [page for page in map(file.pages.get, range(len(file.pages))) if not page.subfiletype & 5]
    if len({(page.shape, page.dtype) for page in pages}) > 1:
        raise FormatError(f"{str(path)!r} holds pages of different sizes; split it first")
    if len(pages) <= count:
        return find_layout(path, file, stacked, samples, is_whole=True), series.pages
    if count > 1:
        raise FormatError(f"{str(path)!r} holds several stacks; split it first")
    is_plain = not (file.is_imagej or file.is_ome or file.is_shaped)
    return find_layout(path, file, [("I", len(pages))], samples, is_whole=is_plain), pages


def _count_samples(path: Path, page: Any) -> int:
    """Return how many channels of a page are volumes of their own: none of grey, nor of red, green and blue."""
    samples = int(page.samplesperpixel)
    is_colour = page.photometric in (2, 6)
    if is_colour and samples == 4:
        raise FormatError(f"{str(path)!r} holds slices in colour with opacity; save it without opacity")
    return 1 if is_colour and samples == 3 else samples


def _map_pages(path: Path, file: Any, series: Any, layout: TiffLayout) -> Array | None:
    """Map slices into memory that follow each other bare; None if they do not."""
    is_apart = layout.samples > 1 and not layout.is_planar
    if series.dataoffset is None or is_apart or (layout.is_planar and len(layout.shape) == 3):
        return None
    dtype = np.dtype(file.byteorder + series.dtype.char)
    shape = (layout.pages * layout.samples, *layout.shape)
    if series.dataoffset + dtype.itemsize * int(np.prod(shape, dtype=np.int64)) > path.stat().st_size:
        raise FormatError(f"{str(path)!r} is cut off: {shape[0]} slices do not fit into its size")
    return np.memmap(path, dtype, "r", series.dataoffset, shape)


def _find_display(file: Any) -> dict[str, Any]:
    """Return what ImageJ says of black and white."""
    known = (file.imagej_metadata or {}) if file.is_imagej else {}
    return describe_display(known.get("min"), known.get("max"))


def _find_voxel_size(path: Path, file: Any) -> tuple[Sequence[float] | None, str]:
    """Return the distance of slices, rows and columns as ImageJ or OME says it, and the unit."""
    if file.is_ome:
        return _find_ome_size(path, file.ome_metadata or "")
    if file.is_imagej:
        known = file.imagej_metadata or {}
        tags = file.pages[0].tags
        sides = [_invert(tags.get(name)) for name in ("YResolution", "XResolution")]
        if "spacing" in known or any(side is not None for side in sides):
            row, column = (1.0 if side is None else side for side in sides)
            unit = name_unit(str(known.get("unit", "pixel")))
            size = convert_lengths((float(known.get("spacing", 1.0)), row, column), (unit,) * 3, find_unit(unit))
            return size, find_unit(unit)
    return None, "mm"


def _find_ome_size(path: Path, text: str) -> tuple[Sequence[float] | None, str]:
    """Return the size of voxels that OME-XML gives, each side of which may have a unit of its own."""
    found = {axis: _read_length(number) for axis, number in re.findall(r'PhysicalSize([XYZ])="([^"]*)"', text)}
    units = dict(re.findall(r'PhysicalSize([XYZ])Unit="([^"]*)"', text))
    if not found.get("X"):
        return None, "mm"
    # a side that is not given is as long as the one before
    sides, names = [found["X"]], [units.get("X", _OME_UNIT)]
    for axis in "YZ":
        is_given = bool(found.get(axis))
        sides.append(found[axis] if is_given else sides[-1])
        names.append(units.get(axis, _OME_UNIT) if is_given else names[-1])
    unit = find_unit(names[0])
    size = convert_lengths([side or 0.0 for side in sides[::-1]], names[::-1], unit)
    if size is None:
        warnings.warn(
            f"{str(path)!r} gives the size of its voxels in {', '.join(names)}, which do not go together: not kept",
            UserWarning,
            stacklevel=2,
        )
        return None, "mm"
    return size, unit


def _read_length(text: str) -> float | None:
    try:
        length = float(text)
    except ValueError:
        return None
    return length if isfinite(length) and length > 0 else None


def _invert(tag: Any) -> float | None:
    """Turn pixels in a unit into units of a pixel."""
    if tag is None or not tag.value[0] or not tag.value[1]:
        return None
    return float(tag.value[1] / tag.value[0])


class TiffSink(VolumeSink):
    """A TIFF stack that ImageJ opens with its voxel size; a BigTIFF where it gets too large for a plain one.

    What comes from a TIFF file is written as it was: the order of pages, with times and channels, compression, tiles,
    resolution, the description, be it OME-XML, ImageJ's or any other.
    """

    _writer: Any = None
    _shelf: IO[bytes] | None = None

    def _begin(self, unfinished: Unfinished) -> None:
        tifffile = require("tifffile", "writing TIFF stacks", "volumes")
        self._comment, self._make_tags = tifffile.tiffcomment, tifffile.tifffile.imagej_metadata_tag
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * self.info.dtype.itemsize * (self.info.count or 2**40)
        known = self.info.metadata.get("tiff")
        self._layout: TiffLayout | None = known if known is not None and known.fits(self.info) else None
        self._slices_of_pages: Any = None
        self._pages = 0
        if self._layout is not None:
            order = self._layout.order
            if not np.array_equal(order, np.arange(len(order))) or self._layout.samples > 1:
                # slices come volume by volume, and wait here until the others of their page are there
                self._slices_of_pages = np.argsort(order).reshape(-1, self._layout.samples)
                self._shelf = TemporaryFile(dir=unfinished.part.parent)  # noqa: SIM115 - closed with the sink
            if self._layout.loss:
                warnings.warn(
                    f"{str(self.info.origin)!r} is packed with a loss, as {self._layout.loss}; {self.path.name!r} is "
                    "packed without, and larger",
                    UserWarning,
                    stacklevel=2,
                )
        self._file = unfinished.open()
        self._writer = tifffile.TiffWriter(self._file, bigtiff=nbytes > _BIG_TIFF)

    def _append(self, frame: Frame) -> None:
        pixels = np.ascontiguousarray(frame.pixels)
        if self._slices_of_pages is None or self._layout is None:
            self._write_page(pixels)
            return
        assert self._shelf is not None
        self._shelf.seek(self.count * pixels.nbytes)
        self._shelf.write(pixels.data)
        while self._pages < len(self._slices_of_pages) and self._slices_of_pages[self._pages].max() <= self.count:
            samples = [self._take(int(number)) for number in self._slices_of_pages[self._pages]]
            is_planar = self._layout.is_planar
            self._write_page(samples[0] if len(samples) == 1 else np.stack(samples, axis=0 if is_planar else -1))

    def _take(self, number: int) -> Array:
        assert self._shelf is not None
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * self.info.dtype.itemsize
        self._shelf.seek(number * nbytes)
        return np.frombuffer(self._shelf.read(nbytes), self.info.dtype).reshape(self.info.shape)

    def _write_page(self, pixels: Array) -> None:
        options: dict[str, Any] = (
            {"photometric": "rgb", "planarconfig": "contig"} if self.info.is_colour else {"photometric": "minisblack"}
        )
        layout, size = self._layout, self.info.voxel_size
        if layout is not None and (layout.samples > 1 or self.info.is_colour):
            options["planarconfig"] = "separate" if layout.is_planar else "contig"
            pixels = np.moveaxis(pixels, -1, 0) if self.info.is_colour and layout.is_planar else pixels
        if size is not None:
            options |= {"resolution": (1 / size[2], 1 / size[1]), "resolutionunit": "none"}
        if layout is not None:
            is_same = layout.dtype == self.info.dtype
            names = set(layout.options) - (set() if is_same else {"predictor", "colormap", "photometric"})
            options |= {name: layout.options[name] for name in names}
        if self._pages == 0:
            options |= self._describe()
        self._writer.write(pixels, contiguous=False, metadata=None, **options)
        self._pages += 1

    def _describe(self) -> dict[str, Any]:
        """Return what is said in the first page about all of them."""
        layout, info = self._layout, self.info
        if layout is None or (not layout.description and layout.samples == 1):
            depth = (info.count or 0) // info.groups
            text = describe_imagej(
                info.count or 0, info.voxel_size, info.voxel_unit, slices=depth or None, frames=info.groups
            )
            return {"description": text.encode("ascii", "replace")}
        options: dict[str, Any] = {"description": describe_copy(layout, info.dtype).encode()}
        if tags := layout.first_options.get("ij"):
            options["extratags"] = self._make_tags(tags, "<")
        return options

    def _end(self) -> None:
        self._close()
        if self.count != self.info.count:
            text = describe_imagej(self._pages, self.info.voxel_size, self.info.voxel_unit)
            self._file.seek(0)
            self._comment(self._file, text.encode("ascii", "replace"))

    def _close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()
        if self._writer is not None:
            self._writer.close()

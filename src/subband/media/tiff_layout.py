"""How the slices of a volume lie in the pages of a TIFF file, and what else is kept when it is written again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any
from uuid import uuid4

import numpy as np

from subband.errors import FormatError
from subband.media.base import SourceInfo
from subband.typing import Array

__all__ = ["TiffLayout", "describe_copy", "describe_imagej", "find_layout"]

# Axes whose steps belong together: depth, and those whose meaning a file does not say.
_DEPTH, _UNKNOWN = "Z", "IQ"

# Packed without loss, and how the writer calls it.
_LOSSLESS = {
    1: None, 5: "lzw", 8: "adobe_deflate", 32946: "adobe_deflate", 32773: "packbits", 34925: "lzma", 50000: "zstd"
}  # fmt: skip

# What ImageJ keeps in tags of its own.
_IMAGEJ_TAGS = ("Info", "Labels", "Ranges", "LUTs", "Overlays", "ROI", "Plot", "Properties")


@dataclass(frozen=True)
class TiffLayout:
    """What a TIFF file says about its pages, in ``info.metadata["tiff"]``.

    Attributes
    ----------
    axes : tuple of (str, int)
        The axes along which pages follow each other, and their lengths, the slowest first.
    samples : int
        Channels within each page that are volumes of their own; 1 for grey and for red, green and blue.
    shape, dtype
        Of a slice.
    options : mapping
        For the writer of each page: compression, tiles, resolution and the like.
    first_options : mapping
        For the writer of the first page besides: tags of ImageJ.
    description : str
        Of the first page; OME-XML for OME.
    is_planar : bool
        Whether channels follow each other within a page.
    loss : str
        How pages are packed, if that is with a loss, which is not repeated.
    """

    axes: tuple[tuple[str, int], ...]
    samples: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    first_options: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    is_planar: bool = False
    loss: str = ""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return prod(length for _, length in self.axes)

    @cached_property
    def groups(self) -> int:
        """How many volumes: the times, channels and the like."""
        depth = self._find_depth()
        return prod(length for axis, (_, length) in enumerate(self.axes) if axis != depth) * self.samples

    @cached_property
    def order(self) -> Array:
        """Where each slice is, volume by volume: the number of its page times `samples`, and of its channel."""
        lengths = [length for _, length in self.axes] + [self.samples]
        depth = self._find_depth()
        turned = [axis for axis in range(len(lengths)) if axis != depth] + ([] if depth is None else [depth])
        return np.arange(prod(lengths)).reshape(lengths).transpose(turned).ravel()

    def fits(self, info: SourceInfo) -> bool:
        """Tell whether a volume can be written as this one was."""
        return (self.shape, self.pages * self.samples, self.groups) == (info.shape, info.count, info.groups)

    def _find_depth(self) -> int | None:
        """Return the index of the axis of slices: depth, else the one whose meaning is not known."""
        names = [name for name, _ in self.axes]
        if _DEPTH in names:
            return names.index(_DEPTH)
        return next((axis for axis, name in enumerate(names) if name in _UNKNOWN), None)


def find_layout(path: Any, file: Any, axes: Sequence[tuple[str, int]], samples: int, *, is_whole: bool) -> TiffLayout:
    """Return the layout of an open TIFF file.

    Parameters
    ----------
    path : Path
        For messages.
    file : tifffile.TiffFile
        The file.
    axes : sequence of (str, int)
        Along which its pages follow each other.
    samples : int
        Channels within each page that are volumes of their own.
    is_whole : bool
        Whether the description of the first page speaks about all pages.

    Raises
    ------
    FormatError
        If there are several axes whose meaning is not known, or pages are numbers of a palette.
    """
    names = [name for name, _ in axes]
    if len([name for name in names if name in _UNKNOWN]) > (0 if _DEPTH in names else 1):
        raise FormatError(
            f"{str(path)!r} has the axes {file.series[0].axes}, and does not say which of them are slices; save it "
            "with the axes named, such as TZYX, or split it"
        )
    page = file.pages[0]
    is_imagej = bool(file.is_imagej)
    if page.photometric == 3 and not is_imagej:
        raise FormatError(f"{str(path)!r} holds numbers of a palette, which cannot be filtered; convert it to RGB")
    shape = (page.imagelength, page.imagewidth, *((page.samplesperpixel,) if page.samplesperpixel > samples else ()))
    known = file.imagej_metadata or {} if is_imagej else {}
    return TiffLayout(
        tuple(axes),
        samples,
        shape,
        np.dtype(page.dtype).newbyteorder("="),
        _find_options(page),
        {"ij": {name: known[name] for name in _IMAGEJ_TAGS if name in known}},
        (page.description or "") if is_whole else "",
        page.planarconfig == 2,
        "" if int(page.compression) in _LOSSLESS else str(getattr(page.compression, "name", page.compression)),
    )


def _find_options(page: Any) -> dict[str, Any]:
    """Return how the pages of a file were written."""
    options: dict[str, Any] = {}
    compression = int(page.compression)
    if name := _LOSSLESS.get(compression, "adobe_deflate"):
        options["compression"] = name
        if int(page.predictor) in (2, 3) and compression in _LOSSLESS:
            options["predictor"] = int(page.predictor)
    if page.is_tiled:
        options["tile"] = (page.tilelength, page.tilewidth)
    tags = [page.tags.get(name) for name in ("XResolution", "YResolution", "ResolutionUnit")]
    if tags[0] is not None and tags[1] is not None and all(tag.value[0] and tag.value[1] for tag in tags[:2]):
        options["resolution"] = tuple(tag.value for tag in tags[:2])
        options["resolutionunit"] = int(tags[2].value) if tags[2] is not None else 1
    if page.iccprofile:
        options["iccprofile"] = page.iccprofile
    if page.photometric == 3 and page.colormap is not None:
        options |= {"photometric": "palette", "colormap": page.colormap}
    return options


def describe_copy(layout: TiffLayout, dtype: np.dtype[Any]) -> str:
    """Return what the first page of a copy says about all pages, if these have become numbers of some dtype."""
    text = layout.description
    if "<OME" in text or ":OME" in text:
        return _renew_ome(text, layout.pages, None if dtype == layout.dtype else dtype)
    if text.startswith("ImageJ=") and dtype != layout.dtype:
        # the range that was shown
        return re.sub(r"^(?:min|max)=.*\n", "", text, flags=re.MULTILINE)
    return text


def _renew_ome(text: str, pages: int, dtype: np.dtype[Any] | None) -> str:
    """Return the OME-XML for a file in which all pages lie, in the same order.

    Examples
    --------
    >>> text = '<OME UUID="urn:uuid:1"><Pixels Type="int8"><TiffData IFD="5"/><TiffData IFD="7"/></Pixels></OME>'
    >>> _renew_ome(text, 2, np.dtype("float32"))
    '<OME UUID="urn:uuid:..."><Pixels Type="float"><TiffData IFD="0" PlaneCount="2"/></Pixels></OME>'
    """
    if dtype is not None:
        name = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
        text = re.sub(r'(<(?:\w+:)?Pixels\b[^>]*?\bType=")[^"]*"', rf'\g<1>{name}"', text, count=1)
        text = re.sub(r'\sSignificantBits="[^"]*"', "", text)
    found = re.search(r"<((?:\w+:)?)TiffData\b", text)
    prefix = found[1] if found else ""
    one = f'<{prefix}TiffData IFD="0" PlaneCount="{pages}"/>'
    rest = re.compile(rf"\s*<{prefix}TiffData\b(?:[^>]*/>|.*?</{prefix}TiffData>)", re.DOTALL)
    start = found.start() if found else len(text)
    head, tail = text[:start], rest.sub("", text[start:])
    fresh = re.sub(r'(<(?:\w+:)?OME\b[^>]*?\bUUID=")[^"]*"', rf'\g<1>urn:uuid:{uuid4()}"', head, count=1)
    return f"{fresh}{one}{tail}" if found else fresh


def describe_imagej(
    count: int, voxel_size: Sequence[float] | None, unit: str, *, slices: int | None = None, frames: int = 1
) -> str:
    r"""Return what ImageJ wants to read in the first page of a stack.

    Examples
    --------
    >>> describe_imagej(5, (2.5, 1, 1), "um")
    'ImageJ=1.54\nimages=5\nslices=5\nspacing=2.5\nunit=um\nloop=false\n'
    >>> describe_imagej(6, None, "mm", slices=3, frames=2)
    'ImageJ=1.54\nimages=6\nslices=3\nframes=2\nhyperstack=true\nloop=false\n'
    """
    spacing = f"spacing={float(voxel_size[0])!r}\nunit={unit}\n" if voxel_size is not None else ""
    times = f"frames={frames}\nhyperstack=true\n" if frames > 1 else ""
    return f"ImageJ=1.54\nimages={count}\nslices={slices or count}\n{times}{spacing}loop=false\n"

"""What a page may open: samples, the media of the command line, and what was uploaded; by name, never by path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media import Source, SourceInfo, open_source
from subband.media.formats import find_format, list_endings, list_formats
from subband.media.limits import TooLargeError, refuse_bomb
from subband.media.stores import is_zarr
from subband.studio.levels import Window, as_pixels, measure_levels
from subband.studio.protocol import format_error
from subband.studio.samples import SAMPLES, ArraySource
from subband.studio.stores import open_store
from subband.typing import Array

__all__ = ["MOST_PIXELS", "Item", "Library", "as_bytes", "describe_info"]

#: Rows × columns of a frame that the studio shows without further permission.
MOST_PIXELS = 2**25
#: What the axes of OME are called for people.
_AXES = {"t": "time", "c": "channel", "z": "slice"}
#: Files of a folder that are offered.
_MOST_FILES = 200


@dataclass(frozen=True)
class Item:
    """Something that can be opened, as often as one likes.

    Attributes
    ----------
    kind : {"sample", "media", "upload"}
        Where it is from.
    name : str
        By which a page asks for it.
    title : str
        By which people know it.
    path : Path or None
        The file; None for an image in memory, and for live video.
    most_pixels : int
        Rows × columns of a frame that are allowed.
    opener : callable, optional
        Opens live video.
    """

    kind: str
    name: str
    title: str
    path: Path | None
    most_pixels: int = MOST_PIXELS
    opener: Callable[[], Source] | None = None

    @property
    def file_name(self) -> str:
        """What the file is called; what it would be for an image in memory."""
        if self.path is None:
            return f"{self.name}.png"
        return self.title if self.kind == "upload" else self.path.name

    def hide_path(self, text: str) -> str:
        """Return a message with the title instead of where the file lies."""
        return text if self.path is None else text.replace(str(self.path), self.title)

    def open(self, *, quick: bool = True, colours: Literal["rgb", "ycbcr"] = "rgb", trim: str | None = None) -> Source:
        """Open it, or a part of it; colours of video are converted quickly for the eye, or carefully for files.

        Raises
        ------
        FormatError, OSError
            If it cannot be read.
        """
        if self.opener is not None:
            return self.opener()
        if self.path is None:
            pixels = SAMPLES[self.name].load()
            assert not isinstance(pixels, Path)
            return ArraySource(pixels)
        if is_zarr(self.path):
            return open_store(self.path, self.most_pixels)
        try:
            # damage must not stop a video that somebody looks at
            source = open_source(
                self.path, colours=colours, quick=quick, tolerant=quick, most_pixels=self.most_pixels, trim=trim
            )
            rows, columns = source.info.shape[:2]
            refuse_bomb(str(self.path), rows, columns, self.most_pixels)
        except TooLargeError as error:
            raise FormatError(
                f"{self.title!r} has {error.pixels} pixels, and the studio shows {self.most_pixels}; "
                f"start it with --most-pixels {error.pixels}"
            ) from error
        except FormatError as error:
            if not self.path.is_dir():
                raise
            raise FormatError(f"{self.title!r} is a folder without images, video or slices of a volume") from error
        return source

    def describe(self) -> dict[str, Any]:
        """Return what the page says to open it."""
        key = "id" if self.kind == "upload" else "name"
        return {"kind": self.kind, key: self.name}


class Library:
    """All that can be opened.

    Parameters
    ----------
    media : sequence of Path or Item
        What stands on the command line; of a folder, the files in it, unless they are the slices of one volume. An item
        is taken as it is.
    most_pixels : int
        Rows × columns of a frame that are allowed.

    Examples
    --------
    >>> library = Library([])
    >>> library.find({"kind": "sample", "name": "camera"}).title
    'Man with a camera'
    >>> library.find({"kind": "media", "name": "../../etc/passwd"})
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: there is no media '../../etc/passwd' here; open one of those that the page lists
    """

    def __init__(self, media: Sequence[Path | Item], most_pixels: int = MOST_PIXELS) -> None:
        self.most_pixels = most_pixels
        self._items: dict[tuple[str, str], Item] = {}
        self._media: list[dict[str, Any]] | None = None
        self._problems: list[str] = []
        self._lock = Lock()
        for sample in SAMPLES.values():
            path = sample.load() if sample.kind == "film" else None
            assert path is None or isinstance(path, Path)
            self._add(Item("sample", sample.name, sample.title, path, most_pixels))
        for item in (given for given in media if isinstance(given, Item)):
            self._add(item)
        for path in (file for given in media if isinstance(given, Path) for file in _list_files(given)):
            name = path.name or str(path)
            number = 2
            while ("media", name) in self._items:
                name = f"{path.name} ({number})"
                number += 1
            self._add(Item("media", name, name, path.resolve(), most_pixels))

    def add_upload(self, name: str, title: str, path: Path) -> Item:
        """Add a file that came from a page, under a name that nobody can guess."""
        return self._add(Item("upload", name, title, path, self.most_pixels))

    def has_upload(self, name: str) -> bool:
        """Tell whether a file that came from a page is still there."""
        return ("upload", name) in self._items

    def remove_upload(self, name: str) -> None:
        """Forget a file that came from a page."""
        self._items.pop(("upload", name), None)

    def find(self, source: Any) -> Item:
        """Return what a page asks for.

        Raises
        ------
        ArgumentError
            If there is nothing of that name.
        """
        if not isinstance(source, dict):
            raise ArgumentError(f"source={str(source)[:100]!r} names nothing; it has a kind, and a name or an id")
        kind, name = source.get("kind"), source.get("name", source.get("id"))
        found = self._items.get((kind, name)) if isinstance(kind, str) and isinstance(name, str) else None
        if found is None:
            kind, name = str(kind)[:20], str(name)[:100]
            raise ArgumentError(f"there is no {kind} {name!r} here; open one of those that the page lists")
        return found

    def load(self, text: str) -> Array:
        """Return the first frame of ``kind:name``, for tools that take a further image.

        Raises
        ------
        ArgumentError
            If there is nothing of that name.
        """
        kind, _, name = text.partition(":")
        with self.find({"kind": kind, "name": name}).open() as source:
            frame = next(iter(source), None)
            if frame is None:
                raise FormatError(f"{text[:100]!r} holds no frame")
            return as_bytes(frame.pixels, source.info.metadata.get("window"))

    def list_samples(self) -> list[dict[str, Any]]:
        """Return what the page shows of the samples."""
        keys = ("name", "title", "kind", "width", "height")
        return [{key: getattr(sample, key) for key in keys} for sample in SAMPLES.values()]

    def list_media(self) -> list[dict[str, Any]]:
        """Return what the page shows of the media of the command line; `list_problems` has what cannot be read."""
        with self._lock:
            if self._media is None:
                # opening many videos takes its time, and pages come often
                self._media = self._look_at_media()
            return self._media

    def list_problems(self) -> list[str]:
        """Return a sentence for each of the media of the command line that cannot be read."""
        self.list_media()
        return self._problems

    def _look_at_media(self) -> list[dict[str, Any]]:
        entries = []
        for item in list(self._items.values()):
            if item.kind != "media":
                continue
            try:
                with item.open() as source:
                    info = describe_info(source.info, item)
            except (SubbandError, OSError) as error:
                text = item.hide_path(format_error(error))
                self._problems.append(text if item.title in text else f"{item.title!r} cannot be read: {text}")
                continue
            entries.append({key: info[key] for key in ("name", "title", "kind", "width", "height")})
        return entries

    def _add(self, item: Item) -> Item:
        self._items[item.kind, item.name] = item
        return item


def _list_files(path: Path) -> list[Path]:
    """Return what a name of the command line stands for: a file, a folder that is one volume, or its files."""
    if not path.is_dir() or find_format(path) is not None:
        return [path]
    files = sorted(child for child in path.iterdir() if child.is_file() and not child.name.startswith("."))
    known = [file for file in files if (form := find_format(file)) is not None and not form.is_series]
    return known[:_MOST_FILES] or [path]


def describe_info(info: SourceInfo, item: Item) -> dict[str, Any]:
    """Return what the page is told about a source."""
    is_video = info.kind in ("film", "sequence")
    endings = list_endings("video") if is_video else _list_still_endings(str(info.dtype))
    kind = "volume" if info.kind == "volume" and info.count != 1 else "still"
    return {
        "name": item.name,
        "title": item.title,
        "kind": "film" if is_video else kind,
        "width": info.shape[1],
        "height": info.shape[0],
        "channels": info.shape[2] if len(info.shape) == 3 else 1,
        "rate": float(info.rate) if info.rate else None,
        "count": info.count,
        "duration": info.duration,
        "bits": info.bits,
        "unit": info.metadata.get("unit", ""),
        "aspect": _find_aspect(info),
        "axes": _list_axes(info) if kind == "volume" else [],
        # outside the studio volumes are filtered in three dimensions, and not slice by slice
        "endings": [] if info.kind == "volume" else endings,
    }


def _find_aspect(info: SourceInfo) -> float:
    """Return how many times as far apart rows are as columns, in space."""
    if info.voxel_size is None:
        return 1.0
    _, row, column = info.voxel_size
    return float(f"{row / column:.4g}") if row > 0 and column > 0 else 1.0


def _list_axes(info: SourceInfo) -> list[list[Any]]:
    """Return names and lengths of what a slice of a file is chosen by, such as times, channels and slices."""
    known = info.metadata.get("axes") or [("volume", info.groups), ("slice", (info.count or 1) // info.groups)]
    return [[_AXES.get(name, name), int(length)] for name, length in known if length > 1]


def _list_still_endings(dtype: str) -> list[str]:
    """Return the usual ending of each format that holds such pixels, or those of 8 bits that tools may make of them."""
    return [form.written[0] for form in list_formats("still") if form.written and {dtype, "uint8"} & set(form.dtypes)]


def as_bytes(pixels: Array, window: tuple[float, float] | None = None) -> Array:
    """Return the pixels of a frame in 8 bits, as a screen shows them, between the black and white that its file names.

    Raises
    ------
    FormatError
        If they are no image.

    Examples
    --------
    >>> import numpy as np
    >>> as_bytes(np.array([[0, 65535]], np.uint16))
    array([[  0, 255]], dtype=uint8)
    """
    if pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise FormatError(f"a frame has the shape {pixels.shape}, which is no image")
    values = as_pixels(pixels)
    return Window.read({}, measure_levels(values, window)).show(values)

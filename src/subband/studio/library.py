"""What a page may open: samples, the media of the command line, and what was uploaded; by name, never by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media import Source, SourceInfo, open_source
from subband.media.formats import find_format, list_endings, list_formats
from subband.studio.samples import SAMPLES, ArraySource
from subband.typing import Array

__all__ = ["MOST_PIXELS", "Item", "Library", "as_bytes", "describe_info"]

#: Rows × columns of a frame that the studio shows without further permission.
MOST_PIXELS = 2**25


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
        The file; None for an image in memory.
    most_pixels : int
        Rows × columns of a frame that are allowed.
    """

    kind: str
    name: str
    title: str
    path: Path | None
    most_pixels: int = MOST_PIXELS

    @property
    def file_name(self) -> str:
        """What the file is called; what it would be for an image in memory."""
        if self.path is None:
            return f"{self.name}.png"
        return self.title if self.kind == "upload" else self.path.name

    def hide_path(self, text: str) -> str:
        """Return a message with the title instead of where the file lies."""
        return text if self.path is None else text.replace(str(self.path), self.title)

    def open(self, *, quick: bool = True, colours: Literal["rgb", "ycbcr"] = "rgb") -> Source:
        """Open it; colours of video are converted quickly for the eye, or carefully for files.

        Raises
        ------
        ArgumentError
            If it is a volume.
        FormatError, OSError
            If it cannot be read.
        """
        if self.path is None:
            pixels = SAMPLES[self.name].load()
            assert not isinstance(pixels, Path)
            return ArraySource(pixels)
        form = find_format(self.path)
        if form is not None and form.kinds == ("volume",):
            # some of these are unpacked whole by whoever opens them
            raise self._refuse_volume()
        # damage must not stop a video that somebody looks at
        source = open_source(self.path, colours=colours, quick=quick, tolerant=quick, most_pixels=self.most_pixels)
        if source.info.kind == "volume":
            source.close()
            raise self._refuse_volume()
        return source

    def _refuse_volume(self) -> ArgumentError:
        return ArgumentError(f"{self.title!r} is a volume, and the studio shows images and video; use subband denoise")

    def describe(self) -> dict[str, Any]:
        """Return what the page says to open it."""
        key = "id" if self.kind == "upload" else "name"
        return {"kind": self.kind, key: self.name}


class Library:
    """All that can be opened.

    Parameters
    ----------
    media : sequence of Path
        What stands on the command line.
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

    def __init__(self, media: Sequence[Path], most_pixels: int = MOST_PIXELS) -> None:
        self.most_pixels = most_pixels
        self._items: dict[tuple[str, str], Item] = {}
        self._media: list[dict[str, Any]] | None = None
        self._lock = Lock()
        for sample in SAMPLES.values():
            path = sample.load() if sample.kind == "film" else None
            assert path is None or isinstance(path, Path)
            self._add(Item("sample", sample.name, sample.title, path, most_pixels))
        for path in media:
            name = path.name
            number = 2
            while ("media", name) in self._items:
                name = f"{path.name} ({number})"
                number += 1
            self._add(Item("media", name, name, path.resolve(), most_pixels))

    def add_upload(self, name: str, title: str, path: Path) -> Item:
        """Add a file that came from a page, under a name that nobody can guess."""
        return self._add(Item("upload", name, title, path, self.most_pixels))

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
            return as_bytes(frame.pixels)

    def list_samples(self) -> list[dict[str, Any]]:
        """Return what the page shows of the samples."""
        keys = ("name", "title", "kind", "width", "height")
        return [{key: getattr(sample, key) for key in keys} for sample in SAMPLES.values()]

    def list_media(self) -> list[dict[str, Any]]:
        """Return what the page shows of the media of the command line; what cannot be read is left out."""
        with self._lock:
            if self._media is None:
                # opening many videos takes its time, and pages come often
                self._media = self._look_at_media()
            return self._media

    def _look_at_media(self) -> list[dict[str, Any]]:
        entries = []
        for item in list(self._items.values()):
            if item.kind != "media":
                continue
            try:
                with item.open() as source:
                    info = describe_info(source.info, item)
            except (SubbandError, OSError):
                continue
            entries.append({key: info[key] for key in ("name", "title", "kind", "width", "height")})
        return entries

    def _add(self, item: Item) -> Item:
        self._items[item.kind, item.name] = item
        return item


def describe_info(info: SourceInfo, item: Item) -> dict[str, Any]:
    """Return what the page is told about a source."""
    is_video = info.kind in ("film", "sequence")
    return {
        "name": item.name,
        "title": item.title,
        "kind": "film" if is_video else "still",
        "width": info.shape[1],
        "height": info.shape[0],
        "channels": info.shape[2] if len(info.shape) == 3 else 1,
        "rate": float(info.rate) if info.rate else None,
        "count": info.count,
        "duration": info.duration,
        "bits": info.bits,
        "endings": list_endings("video") if is_video else _list_still_endings(str(info.dtype)),
    }


def _list_still_endings(dtype: str) -> list[str]:
    """Return the usual ending of each format that holds such pixels, or those of 8 bits that tools may make of them."""
    return [form.written[0] for form in list_formats("still") if form.written and {dtype, "uint8"} & set(form.dtypes)]


def as_bytes(pixels: Array) -> Array:
    """Return the pixels of a frame in 8 bits, as a screen shows them.

    Raises
    ------
    FormatError
        If they are no image.

    Examples
    --------
    >>> as_bytes(np.array([[0, 65535]], np.uint16))
    array([[  0, 255]], dtype=uint8)
    """
    if pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise FormatError(f"a frame has the shape {pixels.shape}, which is no image")
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == np.uint16:
        return ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if pixels.dtype.kind in "iu":
        limits = np.iinfo(pixels.dtype)
        return ((pixels.astype(np.float64) - limits.min) * (255.0 / (limits.max - limits.min))).astype(np.uint8)
    return np.clip(np.rint(np.nan_to_num(pixels) * 255.0), 0, 255).astype(np.uint8)

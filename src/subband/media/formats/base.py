"""What a file format is: a record of its names, of what it holds, and of the functions that read and write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias

from subband.media.base import Sink, Source, SourceInfo
from subband.media.still import Still
from subband.media.volumes import VolumeSource

__all__ = ["Format", "Holding", "Reading", "Writing"]

#: What a file can hold; one of several kinds is asked which of them it is.
Holding: TypeAlias = Literal["still", "animation", "video", "volume"]


@dataclass(frozen=True)
class Reading:
    """How a file is opened, as the caller of `subband.media.open_source` asked.

    Attributes
    ----------
    colours, quick, tolerant, most_pixels, series
        As in `subband.media.open_source`.
    dataset : str or None
        The array that was named behind the file, as in ``volume.h5:ct``.
    """

    colours: Literal["rgb", "ycbcr"] = "rgb"
    quick: bool = False
    tolerant: bool = False
    most_pixels: int | None = None
    series: str | None = None
    dataset: str | None = None

    @property
    def video(self) -> dict[str, Any]:
        """What every source of video takes."""
        return {name: getattr(self, name) for name in ("colours", "quick", "tolerant", "most_pixels")}


@dataclass(frozen=True)
class Writing:
    """How a file is written, as the caller of `subband.media.open_sink` asked.

    Attributes
    ----------
    overwrite, keep_partial, quality, audio
        As in `subband.media.open_sink`.
    dataset : str or None
        The array that was named behind the file, as in ``volume.h5:ct``.
    video : mapping
        What else is for video, such as codec and preset.
    """

    overwrite: bool = False
    keep_partial: bool = False
    quality: float | None = None
    audio: bool = True
    dataset: str | None = None
    video: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kept(self) -> dict[str, Any]:
        """What every sink that grows beside its name takes."""
        return {"overwrite": self.overwrite, "keep_partial": self.keep_partial}


@dataclass(frozen=True)
class Format:
    """A file format.

    A format of stills needs `read` and `write` only; their sources and sinks of frames, numbered series among them, are
    made of these. One that holds something else has `open` or `open_volume`, and `create`.

    Attributes
    ----------
    name : str
        By which people know it; that of Pillow, in any case of letters, where Pillow reads or writes it.
    endings : tuple of str
        Of its files, with their dots and in small letters; the most common first.
    kinds : tuple of str
        What its files hold: ``"still"``, ``"animation"``, ``"video"``, ``"volume"``.
    dtypes : tuple of str
        What the pixels of its stills can be.
    keeps : frozenset of str
        Kinds of metadata that a still keeps in it; see `subband.media.still_metadata`.
    kept, about : str
        For the documentation: what is kept of a source, if `keeps` does not say it; and what else to know.
    extra : str
        What has to be installed with the package, as in ``subband[volumes]``.
    rank : int
        Formats of low rank are listed and offered first.
    only_read : tuple of str
        Those of `endings` that are not written, of a format that is.
    starts : tuple of bytes
        What its files begin with, whatever their name.
    recognise : callable, optional
        Instead of `starts`: takes a file and its first bytes, and tells whether it is of this format. A format without
        either is known by its ending.
    read : callable, optional
        Takes a file and the number of pixels that are allowed, and returns a `Still`.
    write : callable, optional
        Takes a file, a `Still` and a quality from 0 to 100 or None, and writes the file.
    open : callable, optional
        Takes a file and a `Reading`, and returns its frames; None if the file holds a still.
    open_volume : callable, optional
        Takes a file and a `Reading`, and returns the volume.
    create : callable, optional
        Takes a file, what frames there will be, and a `Writing`, and returns what they are written to; None if that is
        a still.
    dataset_endings : tuple of str
        Those of `endings` behind which the name of an array can stand, as in ``volume.h5:ct``.
    is_series : bool
        Whether a folder of such files is one volume, and their names need not have an ending.
    is_store : bool
        Whether it is a store of chunks, which Dask reads and writes.

    Examples
    --------
    >>> from subband.media.formats import Format
    >>> bare = Format("Bare", (".bare",), ("still",), dtypes=("uint8", "uint16"), read=lambda path, most_pixels: ...)
    >>> bare.is_read, bare.writes("photo.bare"), bare.samples
    (True, False, '8, 16')
    """

    name: str
    endings: tuple[str, ...]
    kinds: tuple[Holding, ...]
    dtypes: tuple[str, ...] = ("uint8",)
    keeps: frozenset[str] = frozenset()
    kept: str = ""
    about: str = ""
    extra: str = ""
    rank: int = 100
    only_read: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()
    recognise: Callable[[Path, bytes], bool] | None = None
    read: Callable[[Path, int], Still] | None = None
    write: Callable[[Path, Still, float | None], None] | None = None
    open: Callable[[Path, Reading], Source | None] | None = None
    open_volume: Callable[[Path, Reading], VolumeSource] | None = None
    create: Callable[[Path, SourceInfo, Writing], Sink | None] | None = None
    dataset_endings: tuple[str, ...] = ()
    is_series: bool = False
    is_store: bool = False

    @property
    def is_read(self) -> bool:
        """Whether `subband.media` reads it."""
        return any(each is not None for each in (self.read, self.open, self.open_volume))

    @property
    def written(self) -> tuple[str, ...]:
        """Those of `endings` that can be written; the first is the one to offer."""
        is_written = self.is_store or self.write is not None or self.create is not None
        return tuple(ending for ending in self.endings if is_written and ending not in self.only_read)

    def recognises(self, path: Path, head: bytes) -> bool | None:
        """Tell by its first bytes whether a file is of this format; None if it is known by its ending only."""
        if self.recognise is not None:
            return self.recognise(path, head)
        return head.startswith(self.starts) if self.starts else None

    def writes(self, name: PurePath | str) -> bool:
        """Tell whether a file of such a name can be written."""
        return PurePath(name).name.lower().endswith(self.written)

    @property
    def samples(self) -> str:
        """The bits of samples, for the documentation."""
        words = {"uint8": "8", "uint16": "16", "float32": "float"}
        return ", ".join(words.get(each, each) for each in self.dtypes)

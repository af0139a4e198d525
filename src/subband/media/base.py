"""The contract of sources and sinks of frames.

A **source** is opened, says in `Source.info` what it holds, and is walked once, from the first frame to the last. It
reads ahead by a few frames at most, so that a video of any length and a volume larger than memory pass through it.
Frames belong to whoever gets them: a source never writes again to the pixels that it has handed out. Damage shows
where it lies: the frames before it come out, then a `subband.media.DamagedError`.

A **sink** is opened for frames of one shape and dtype, takes them in order, and is ended in one of two ways.
`Sink.finish` completes the file and moves it to its name; before that, whoever looks there finds what was there
before. `Sink.abort` leaves nothing, or what was written so far under another name if that was asked for. As context
managers, sinks finish when their block ends well and abort when it does not.

What **pixels** mean:

* ``uint8`` goes from 0 to 255, ``uint16`` from 0 to 65535, whatever the number of bits in the file; video of 10 bits
  is widened when it is read and rounded when it is written, which gives back what was there. `SourceInfo.bits` keeps
  the number of bits.
* ``float32`` is taken as it stands; 1 is white where an image has a white.
* Volumes may also hold other numbers, such as ``int16``; no sink but that of a volume takes them.
* Grey is rows × columns. Colour is rows × columns × 3, and `SourceInfo.colours` says whether that is red, green and
  blue, or the Y'CbCr of video as it stands in the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["ColourTags", "Colours", "FieldOrder", "Frame", "Kind", "Sink", "Source", "SourceInfo", "fit_pixels"]

#: What a source is.
Kind: TypeAlias = Literal["still", "film", "camera", "volume", "sequence"]

#: What the channels of a frame are.
Colours: TypeAlias = Literal["grey", "rgb", "ycbcr"]

#: Which field of interlaced frames comes first.
FieldOrder: TypeAlias = Literal["progressive", "top", "bottom"]


def fit_pixels(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return values as pixels of a dtype: rounded and clipped if it is one of integers.

    Examples
    --------
    >>> fit_pixels(np.array([-3.0, 254.6, 300.0]), np.dtype("uint8"))
    array([  0, 255, 255], dtype=uint8)
    """
    if values.dtype == dtype:
        return values
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


@dataclass(frozen=True)
class Frame:
    """One image of a source.

    Attributes
    ----------
    pixels : ndarray
        Rows × columns, or rows × columns × 3.
    number : int
        Counted from 0.
    time : float
        Seconds since the beginning; 0 where there is no time.
    alpha : ndarray or None
        How opaque each pixel is, rows × columns, of the same dtype, if the source says so.
    metadata : mapping
        What else is known about this frame; ``"fields"`` of an interlaced one, with the field that comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.media import Frame
    >>> frame = Frame(np.zeros((4, 6), np.uint8), number=3, time=0.12)
    >>> frame.replace_pixels(np.full((4, 6), 300.0)).pixels.max()
    np.uint8(255)
    """

    pixels: Array
    number: int = 0
    time: float = 0.0
    alpha: Array | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def replace_pixels(self, values: Array) -> Frame:
        """Return the frame with other values, rounded and clipped to the same dtype."""
        pixels = fit_pixels(np.asarray(values), self.pixels.dtype)
        keeps_size = pixels.shape[:2] == self.pixels.shape[:2]
        return replace(self, pixels=pixels, alpha=self.alpha if keeps_size else None)


@dataclass(frozen=True)
class ColourTags:
    """How the numbers of video are to be understood, in the numbers of ITU-T H.273 (as FFmpeg has them).

    Attributes
    ----------
    matrix : int
        From red, green and blue to Y'CbCr: 1 for BT.709, 5 or 6 for BT.601, 9 for BT.2020, 2 for not known.
    full_range : bool or None
        Whether 8 bits go from 0 to 255, not from 16 to 235; None for not known.
    primaries, transfer : int
        2 for not known.
    """

    matrix: int = 2
    full_range: bool | None = None
    primaries: int = 2
    transfer: int = 2


@dataclass(frozen=True)
class SourceInfo:
    """What a source holds; what a sink is to hold.

    Attributes
    ----------
    kind : {"still", "film", "camera", "volume", "sequence"}
        What it is.
    shape : tuple of int
        Of a frame: (rows, columns) or (rows, columns, 3).
    dtype : numpy.dtype
        Of the pixels.
    colours : {"grey", "rgb", "ycbcr"}
        What the channels are.
    bits : int
        Bits of a sample in the file; 10 for many videos whose frames come as uint16.
    rate : Fraction or None
        Frames in a second.
    count : int or None
        Number of frames, as far as the file says so.
    groups : int
        How many volumes follow each other, each of ``count // groups`` slices: the times or channels of a file, which
        are filtered apart.
    duration : float or None
        Seconds.
    voxel_size : tuple of float or None
        Distance of slices, of rows and of columns, in `voxel_unit`.
    voxel_unit : str
        ``"mm"`` if nothing else is known.
    has_alpha, has_audio, has_extras : bool
        Whether frames say how opaque they are; whether the file has sound; whether it has subtitles, chapters or
        attachments.
    origin : Path or None
        The file, from which a sink copies the sound.
    container, codec, pixel_format : str
        What the file is, in FFmpeg's words; empty where that says nothing.
    tags : ColourTags
        Of video.
    chroma_steps : tuple of int
        Rows and columns of pixels that share their chroma, which is repeated for them; of video as Y'CbCr.
    field_order : {"progressive", "top", "bottom"}
        Which field comes first, if frames are interlaced: that of the first, or of the second row.
    time_base : Fraction or None
        What times of the file are multiples of, in seconds.
    span : tuple of Fraction
        First second of `origin` that the frames are taken from, and its end, or None for that of the file.
    pixel_aspect : Fraction
        Width of a pixel by its height.
    metadata : mapping
        What else is known: ``"icc"`` and ``"exif"`` of stills, the title of a video, the ``"affine"`` of a volume (see
        `subband.media.geometry`).

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from subband.media import SourceInfo
    >>> info = SourceInfo("film", (720, 1280, 3), np.dtype("uint8"), rate=Fraction(25), count=132)
    >>> info.peak, info.is_colour
    (255.0, True)
    """

    kind: Kind
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    colours: Colours = "rgb"
    bits: int = 8
    rate: Fraction | None = None
    count: int | None = None
    groups: int = 1
    duration: float | None = None
    voxel_size: tuple[float, float, float] | None = None
    voxel_unit: str = "mm"
    has_alpha: bool = False
    has_audio: bool = False
    has_extras: bool = False
    origin: Path | None = None
    container: str = ""
    codec: str = ""
    pixel_format: str = ""
    tags: ColourTags = ColourTags()
    chroma_steps: tuple[int, int] = (1, 1)
    field_order: FieldOrder = "progressive"
    time_base: Fraction | None = None
    span: tuple[Fraction, Fraction | None] = (Fraction(0), None)
    pixel_aspect: Fraction = Fraction(1)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def peak(self) -> float:
        """The largest value of a pixel: 255, 65535, or 1 for floating point."""
        return float(np.iinfo(self.dtype).max) if self.dtype.kind in "iu" else 1.0

    @property
    def is_colour(self) -> bool:
        """Whether frames have three channels."""
        return len(self.shape) == 3

    def check_frame(self, frame: Frame) -> None:
        """Refuse a frame of another shape or dtype.

        Raises
        ------
        ShapeError, DtypeError
            That name the frame.
        """
        if frame.pixels.shape != self.shape:
            raise ShapeError(
                f"frame {frame.number} has the shape {frame.pixels.shape}; this sink was opened for {self.shape}"
            )
        if frame.pixels.dtype != self.dtype:
            raise DtypeError(
                f"frame {frame.number} has the dtype {frame.pixels.dtype}; this sink was opened for {self.dtype}"
            )


class Source(ABC):
    """Frames, one after the other; see the top of this module.

    Attributes
    ----------
    info : SourceInfo
        Known as soon as the source is open.
    """

    info: SourceInfo

    @abstractmethod
    def __iter__(self) -> Iterator[Frame]:
        """Walk through the frames; each source is walked once."""

    def close(self) -> None:  # noqa: B027 - a source that holds nothing open has nothing to close
        """Close the file or device; may be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Sink(ABC):
    """Takes frames in order; see the top of this module.

    Attributes
    ----------
    path : Path
        Where the result will be.
    count : int
        Number of frames written so far.
    """

    path: Path
    count: int = 0
    _is_open: bool = True

    def write(self, frame: Frame) -> None:
        """Take a frame of the shape and dtype that the sink was opened for.

        Raises
        ------
        ShapeError, DtypeError
            If it is another.
        OutputError
            If the disk is full, or the like.
        """
        self._check_open()
        self._write(frame)
        self.count += 1

    def finish(self) -> Path:
        """Complete the file, move it to its name, and return that.

        Raises
        ------
        ArgumentError
            If no frame was written, or the sink has ended before.
        OutputError
            If the disk is full, or the like; the sink is then aborted.
        """
        self._check_open()
        if self.count == 0:
            self.abort()
            raise ArgumentError(f"{str(self.path)!r} would hold no frame; write one before finish()")
        try:
            self._finish()
        except BaseException:
            self.abort()
            raise
        self._is_open = False
        return self.path

    def abort(self) -> None:
        """Give the file up; may be called at any time, and again."""
        if self._is_open:
            self._is_open = False
            self._abort()

    @abstractmethod
    def _write(self, frame: Frame) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...

    @abstractmethod
    def _abort(self) -> None: ...

    def _check_open(self) -> None:
        if not self._is_open:
            raise ArgumentError(f"{str(self.path)!r} has been finished or given up; open another sink")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        if kind is None:
            self.finish()
        else:
            self.abort()

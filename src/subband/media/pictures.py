"""Single pictures, moving ones, and numbered series of them, as sources and sinks of frames."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.base import Frame, Sink, Source, SourceInfo
from subband.media.faults import DamagedError, DamageWarning
from subband.media.limits import choose_most_pixels
from subband.media.outputs import Unfinished, check_output, defer_signals
from subband.media.stills import Still, list_broken, open_image, read_still, split_image, write_still

__all__ = [
    "AnimationSource",
    "SequenceSink",
    "SequenceSource",
    "StillSink",
    "StillSource",
    "is_moving",
    "is_numbered",
    "list_series",
]

_NUMBER = re.compile(r"%(?:0(\d+))?d")


def is_numbered(path: Path) -> bool:
    """Tell whether a name stands for a series, such as ``frame%04d.png``.

    Examples
    --------
    >>> is_numbered(Path("frame%04d.png")), is_numbered(Path("frame.png"))
    (True, False)
    """
    return len(_NUMBER.findall(path.name)) == 1


def list_series(path: Path) -> list[tuple[int, Path]]:
    """List the files of a series with their numbers, in the order of these; none if the folder has none.

    Examples
    --------
    >>> list_series(Path("no-such-folder/frame%04d.png"))
    []
    """
    if not path.parent.is_dir():
        return []
    before, digits, after = _NUMBER.split(path.name)
    pattern = re.compile(f"{re.escape(before)}(\\d{{{digits or 1},}}){re.escape(after)}")
    found = [(match, child) for child in path.parent.iterdir() if (match := pattern.fullmatch(child.name))]
    return sorted((int(match[1]), child) for match, child in found)


def is_moving(path: Path, most_pixels: int | None = None) -> bool:
    """Tell whether a file holds several pictures, as Pillow sees it."""
    with open_image(path, choose_most_pixels(most_pixels)) as image:
        try:
            return bool(getattr(image, "is_animated", False))
        except list_broken():
            return False


class StillSource(Source):
    """One picture, as a source of one frame.

    Parameters
    ----------
    path : Path
        See `subband.media.read_still`.
    most_pixels : int, optional
        Rows × columns that are allowed.
    """

    def __init__(self, path: Path, *, most_pixels: int | None = None) -> None:
        self._still = read_still(path, most_pixels=most_pixels)
        self.info = _describe(self._still, path)

    def __iter__(self) -> Iterator[Frame]:
        yield Frame(self._still.pixels, 0, 0.0, self._still.alpha, self.info.metadata)


class StillSink(Sink):
    """One picture; a second frame is refused.

    Parameters
    ----------
    path : Path
        See `subband.media.write_still`.
    info : SourceInfo
        Of the frame; its ``"icc"`` and ``"exif"`` go into the file.
    quality : float, optional
        Of JPEG and WebP.
    overwrite : bool
        Whether a file of that name may be replaced.
    """

    def __init__(self, path: Path, info: SourceInfo, *, quality: float | None = None, overwrite: bool = False) -> None:
        check_output(path, overwrite=overwrite)
        if info.colours == "ycbcr":
            raise ArgumentError("pictures hold red, green and blue; open the source with colours='rgb'")
        self.path, self.info = path, info
        self._quality, self._overwrite = quality, overwrite
        self._still: Still | None = None

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        if self._still is not None:
            raise ArgumentError(
                f"{self.path.name!r} holds one picture, and this is a second; take a name of film such as film.mp4, "
                f"or a numbered one such as {self.path.stem}%04d{self.path.suffix}"
            )
        self._still = _make_still(frame, self.info)

    def _finish(self) -> None:
        assert self._still is not None
        write_still(self.path, self._still, quality=self._quality, overwrite=self._overwrite)

    def _abort(self) -> None:
        self._still = None


class AnimationSource(Source):
    """The pictures of a moving GIF, WebP or PNG.

    Parameters
    ----------
    path : Path
        The file.
    most_pixels : int, optional
        Rows × columns that are allowed.
    tolerant : bool
        End at damage with a warning, not with an error.
    """

    def __init__(self, path: Path, *, most_pixels: int | None = None, tolerant: bool = False) -> None:
        self._path, self._tolerant = path, tolerant
        self._image = open_image(path, choose_most_pixels(most_pixels))
        try:
            self._image.load()
            first = split_image(self._image)
        except list_broken() as error:
            self._image.close()
            raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error
        self._wait = Fraction(round(float(self._image.info.get("duration") or 100)), 1000)
        try:
            count: int | None = int(self._image.n_frames)
        except list_broken():
            # Counting goes through the whole file, and so over its damage.
            count = None
        # Moving pictures turn to colour when a later one has it, so all of them come as colour.
        shape = (*first.pixels.shape[:2], 3)
        self.info = SourceInfo(
            "film",
            shape,
            np.dtype(np.uint8),
            rate=1 / self._wait,
            count=count,
            duration=None if count is None else float(count * self._wait),
            has_alpha=first.alpha is not None,
            origin=path,
            container=str(self._image.format or "").lower(),
        )

    def __iter__(self) -> Iterator[Frame]:
        time = Fraction(0)
        for number in itertools.count():
            if number == self.info.count:
                return
            try:
                self._image.seek(number)
                pixels = np.array(self._image.convert("RGBA"))
            except list_broken() as error:
                message = f"{str(self._path)!r} is damaged after frame {number}: {error}"
                if not self._tolerant:
                    raise DamagedError(message, number) from error
                warnings.warn(message, DamageWarning, stacklevel=2)
                return
            alpha = np.ascontiguousarray(pixels[..., 3]) if self.info.has_alpha else None
            yield Frame(np.ascontiguousarray(pixels[..., :3]), number, float(time), alpha)
            time += Fraction(round(float(self._image.info.get("duration") or 100)), 1000)

    def close(self) -> None:
        """Let go of the file."""
        self._image.close()


class SequenceSource(Source):
    """Pictures with numbers in their names, in the order of these.

    Parameters
    ----------
    path : Path
        With one ``%d`` or ``%04d`` in its name.
    rate : Fraction or float
        Frames in a second.
    most_pixels : int, optional
        Rows × columns that are allowed.

    Raises
    ------
    FileNotFoundError
        If there is no such picture.
    """

    def __init__(self, path: Path, *, rate: Fraction | float = 25, most_pixels: int | None = None) -> None:
        self._files = list_series(path)
        if not self._files:
            raise FileNotFoundError(f"there is no picture {str(path)!r}")
        self._most_pixels = most_pixels
        rate = Fraction(rate).limit_denominator(1001)
        first = _describe(read_still(self._files[0][1], most_pixels=most_pixels), path)
        count = len(self._files)
        metadata = {**first.metadata, "file_numbers": tuple(number for number, _ in self._files)}
        self.info = replace(
            first, kind="sequence", rate=rate, count=count, duration=float(count / rate), metadata=metadata
        )

    def __iter__(self) -> Iterator[Frame]:
        rate = self.info.rate or Fraction(25)
        for number, (file_number, file) in enumerate(self._files):
            try:
                still = read_still(file, most_pixels=self._most_pixels)
            except FormatError as error:
                raise DamagedError(f"frame {number}: {error}", number) from error
            if still.pixels.shape != self.info.shape or still.pixels.dtype != self.info.dtype:
                raise DamagedError(
                    f"{str(file)!r} is {still.pixels.shape} of {still.pixels.dtype}, and the first of the series "
                    f"{self.info.shape} of {self.info.dtype}",
                    number,
                )
            metadata = {"file": file, "file_number": file_number, "icc": still.icc, "exif": still.exif}
            yield Frame(still.pixels, number, float(number / rate), still.alpha, metadata)


class SequenceSink(Sink):
    """Pictures with numbers in their names; all of them appear when the last is complete.

    Until then each has a ``.part`` name, so that a series can replace the one that it is made of. Frames of a series
    keep the numbers of their files; others are counted from 0.

    Parameters
    ----------
    path : Path
        With one ``%d`` or ``%04d`` in its name, for the number of the frame.
    info : SourceInfo
        Of the frames.
    quality : float, optional
        Of JPEG and WebP.
    overwrite : bool
        Whether files of these names may be replaced.
    keep_partial : bool
        Keep the pictures there are, under their ``.part`` names, when the sink is aborted.
    """

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        *,
        quality: float | None = None,
        overwrite: bool = False,
        keep_partial: bool = False,
    ) -> None:
        self.path, self.info = path, info
        self._quality, self._overwrite, self._keep_partial = quality, overwrite, keep_partial
        self._unfinished: list[Unfinished] = []
        self._next = 0
        expected = info.metadata.get("file_numbers") or range(info.count or 1)
        check_output(self._name(expected[0]), overwrite=overwrite)
        # one look at the folder, not one for each of many thousand frames
        taken = {number: file for number, file in list_series(path) if file.name == self._name(number).name}
        for number in sorted(taken.keys() & set(expected)):
            check_output(taken[number], overwrite=overwrite)

    def _name(self, number: int) -> Path:
        return self.path.with_name(self.path.name % number)

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        # never one that was written already, whatever frames are put together
        number = max(frame.metadata.get("file_number", self._next), self._next)
        unfinished = Unfinished(self._name(number), overwrite=self._overwrite)
        try:
            write_still(unfinished.part, _make_still(frame, self.info), quality=self._quality)
        except BaseException:
            unfinished.remove()
            raise
        self._unfinished.append(unfinished)
        self._next = number + 1

    def _finish(self) -> None:
        # all are checked before the first is moved
        for unfinished in self._unfinished:
            check_output(unfinished.path, overwrite=self._overwrite)
        # half a series under its name would look like a whole one
        with defer_signals():
            while self._unfinished:
                self._unfinished[0].place(is_complete=True)
                del self._unfinished[0]

    def _abort(self) -> None:
        for unfinished in self._unfinished:
            (unfinished.keep if self._keep_partial else unfinished.remove)()


def _describe(still: Still, path: Path) -> SourceInfo:
    metadata = {name: value for name, value in (("icc", still.icc), ("exif", still.exif)) if value}
    return SourceInfo(
        "still",
        still.pixels.shape,
        still.pixels.dtype,
        colours="rgb" if still.is_colour else "grey",
        bits=8 * still.pixels.dtype.itemsize,
        count=1,
        has_alpha=still.alpha is not None,
        origin=path,
        metadata=metadata,
    )


def _make_still(frame: Frame, info: SourceInfo) -> Still:
    known = frame.metadata if "icc" in frame.metadata or "exif" in frame.metadata else info.metadata
    icc, exif = known.get("icc"), known.get("exif")
    if isinstance(icc, bytes) and icc[16:20] != (b"RGB " if frame.pixels.ndim == 3 else b"GRAY"):
        icc = None
    return Still(frame.pixels, frame.alpha, icc, exif)

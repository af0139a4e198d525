"""Single images and numbered series of them, as sources and sinks of frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from subband.errors import ArgumentError, FormatError
from subband.media.base import Frame, Sink, Source, SourceInfo
from subband.media.faults import DamagedError
from subband.media.still_metadata import KEPT
from subband.media.stills import Still, check_format, read_still, save_still, tell_losses, write_still
from subband.media.tiff_stills import pick_profile
from subband.outputs import Unfinished, check_output, defer_signals

__all__ = [
    "SequenceSink",
    "SequenceSource",
    "StillSink",
    "StillSource",
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


class StillSource(Source):
    """One image, as a source of one frame.

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
    """One image; a second frame is refused.

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
            raise ArgumentError("images hold red, green and blue; open the source with colours='rgb'")
        # what a format cannot hold is told before anything is computed
        check_format(path, info.dtype, is_colour=info.is_colour)
        self.path, self.info = path, info
        self._quality, self._overwrite = quality, overwrite
        self._still: Still | None = None

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        if self._still is not None:
            raise ArgumentError(
                f"{self.path.name!r} holds one image, and this is a second; take a name of a video such as video.mp4, "
                f"of an animation such as video.apng, or a numbered one such as {self.path.stem}%04d{self.path.suffix}"
            )
        self._still = _make_still(frame, self.info)

    def _finish(self) -> None:
        assert self._still is not None
        write_still(self.path, self._still, quality=self._quality, overwrite=self._overwrite)

    def _abort(self) -> None:
        self._still = None


class SequenceSource(Source):
    """Images with numbers in their names, in the order of these.

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
        If there is no such image.
    """

    def __init__(self, path: Path, *, rate: Fraction | float = 25, most_pixels: int | None = None) -> None:
        self._files = list_series(path)
        if not self._files:
            raise FileNotFoundError(f"there is no image {str(path)!r}")
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
            metadata = {
                "file": file,
                "file_number": file_number,
                "icc": still.icc,
                "exif": still.exif,
                **still.metadata,
            }
            yield Frame(still.pixels, number, float(number / rate), still.alpha, metadata)


class SequenceSink(Sink):
    """Images with numbers in their names; all of them appear when the last is complete.

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
        Keep the images there are, under their ``.part`` names, when the sink is aborted.
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
        check_format(path, info.dtype, is_colour=info.is_colour)
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
        still = _make_still(frame, self.info)
        if self.count == 0:
            # once, not for every frame
            tell_losses(self.path, still)
        try:
            save_still(unfinished.part, still, quality=self._quality, overwrite=True)
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
    metadata = {
        **still.metadata,
        **{name: value for name, value in (("icc", still.icc), ("exif", still.exif)) if value},
    }
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
    icc, exif = pick_profile(known.get("icc"), is_colour=frame.pixels.ndim == 3), known.get("exif")
    return Still(frame.pixels, frame.alpha, icc, exif, {name: known[name] for name in KEPT if name in known})

"""Volumes that are written slice by slice."""

from __future__ import annotations

import contextlib
import gzip
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.faults import BROKEN
from subband.media.geometry import PlaceWarning, find_affine
from subband.outputs import Unfinished, defer_signals

__all__ = ["HeadedSink", "VolumeSink", "split_groups"]


class VolumeSink(Sink):
    """What the sinks of volumes share: the file that is not finished yet.

    Parameters
    ----------
    path : Path
        Where the volume is to appear; until then it grows beside it under a ``.part`` name.
    info : SourceInfo
        Of the slices, with their voxel size.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_partial : bool
        Keep what there is under its ``.part`` name when the sink is aborted.
    """

    #: Whether the file can say where its voxels lie.
    keeps_position = False

    def __init__(self, path: Path, info: SourceInfo, *, overwrite: bool = False, keep_partial: bool = False) -> None:
        if info.colours == "ycbcr":
            raise ArgumentError("volumes hold red, green and blue; open the source with colours='rgb'")
        self.path, self.info = path, info
        self._keep_partial = keep_partial
        if not self.keeps_position and find_affine(info) is not None:
            warnings.warn(
                f"{path.name!r} cannot say where its voxels lie in space, and {str(info.origin)!r} does; write to "
                ".nii, .nrrd, .mha, .dcm or .h5 to keep that",
                PlaceWarning,
                stacklevel=2,
            )
        self._unfinished = Unfinished(path, overwrite=overwrite)
        try:
            with self._explain():
                self._begin(self._unfinished)
        except BaseException:
            self.abort()
            raise

    @abstractmethod
    def _begin(self, unfinished: Unfinished) -> None:
        """Open the file."""

    @abstractmethod
    def _append(self, frame: Frame) -> None:
        """Write a slice."""

    @abstractmethod
    def _end(self) -> None:
        """Complete the file; `count` is the number of its slices."""

    def _close(self) -> None:
        """Close a file that will not be completed."""

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        with self._explain():
            self._append(frame)

    def _finish(self) -> None:
        with self._explain():
            self._end()
        self._unfinished.place()

    @contextlib.contextmanager
    def _explain(self) -> Iterator[None]:
        """Tell why a file could not be written, whatever its library made of that; Ctrl-C waits for the library."""
        try:
            with defer_signals():
                yield
        except BROKEN as error:
            raise self._unfinished.explain(error) from error
        self._unfinished.check()

    def _abort(self) -> None:
        keep = self._keep_partial and self.count > 0
        with defer_signals():
            with contextlib.suppress(Exception):
                if keep:
                    self._end()
            with contextlib.suppress(Exception):
                self._close()
        (self._unfinished.keep if keep else self._unfinished.remove)()


def split_groups(info: SourceInfo, count: int) -> tuple[int, ...]:
    """Return how many volumes of how many slices there are, or how many slices, if there is one volume or a torn one.

    Examples
    --------
    >>> info = SourceInfo("volume", (3, 4), np.dtype("int16"), count=20, groups=5)
    >>> split_groups(info, 20), split_groups(info, 7)
    ((5, 4), (7,))
    """
    depth = (info.count or 0) // info.groups
    if info.groups == 1 or not depth or count % depth:
        return (count,)
    return count // depth, depth


class HeadedSink(VolumeSink):
    """A header, and bare samples behind it, the smallest byte first.

    Parameters
    ----------
    path, info, overwrite, keep_partial
        As those of `VolumeSink`.
    describe : callable
        Takes what the volume is and its number of slices, and returns the header.
    keeps_position : bool
        Whether the header says where voxels lie.
    can_grow : bool
        Whether the header is as long for any number of slices, so that it can be written again when that is known.
    is_packed : bool
        Whether all of it goes through gzip.
    """

    _file: BinaryIO | gzip.GzipFile

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        describe: Callable[[SourceInfo, int], bytes],
        *,
        keeps_position: bool = True,
        can_grow: bool = False,
        is_packed: bool = False,
        **options: bool,
    ) -> None:
        self.keeps_position = keeps_position
        self._describe, self._can_grow, self._is_packed = describe, can_grow and not is_packed, is_packed
        super().__init__(path, info, **options)

    def _begin(self, unfinished: Unfinished) -> None:
        if not self.info.count and not self._can_grow:
            raise ArgumentError(
                f"{self.path.name!r} has to know its number of slices; write to .npy or .nii, or set info.count"
            )
        opened = unfinished.open()
        self._file = gzip.GzipFile("", "wb", compresslevel=4, fileobj=opened) if self._is_packed else opened
        self._file.write(self._describe(self.info, self.info.count or 1))

    def _append(self, frame: Frame) -> None:
        self._file.write(np.ascontiguousarray(frame.pixels, self.info.dtype.newbyteorder("<")).data)

    def _end(self) -> None:
        if self.count != self.info.count:
            if not self._can_grow:
                raise ArgumentError(f"{self.path.name!r} got {self.count} slices, and info.count={self.info.count}")
            self._file.seek(0)
            self._file.write(self._describe(self.info, self.count))
        self._close()

    def _close(self) -> None:
        if self._is_packed:
            self._file.close()

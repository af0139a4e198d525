"""DICOM written: a folder of slices for a folder of slices, or one file."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.dicom_datasets import DatasetMaker
from subband.media.dicom_jpeg2000 import Packing
from subband.media.faults import BROKEN, explain_output_error
from subband.media.volume_sinks import VolumeSink
from subband.outputs import Unfinished, open_output

__all__ = ["DicomFolderSink", "DicomSink"]

# The length of pixels in a file has 32 bits.
_MOST_BYTES = 2**32 - 2


class DicomSink(VolumeSink):
    """One DICOM file: an image with the header of the one that it comes from, or a multi-frame file of all slices.

    A multi-frame file is a secondary capture, with position, slope and intercept of each frame, and with the patient
    and the study of its source. What is no integer of 16 bits is stored as such, with a slope for each frame.
    """

    keeps_position = True
    _packing: Packing | None = None
    _shelf: IO[bytes] | None = None

    def __init__(self, path: Path, info: SourceInfo, *, packing: Packing | None = None, **options: Any) -> None:
        self._packing = packing
        super().__init__(path, info, **options)

    def _begin(self, unfinished: Unfinished) -> None:
        self._maker = DatasetMaker(self.info)
        self._planes: list[tuple[float, float]] = []
        self._single: Any = None
        # what is packed is small, and its lengths stand before all of it
        self._packed: list[bytes] = []
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * min(self.info.dtype.itemsize, 2)
        if nbytes * (self.info.count or 0) > _MOST_BYTES:
            raise ArgumentError(f"{self.path.name!r} cannot hold more than 4 GiB; write to .nii, .tiff or .h5")
        self._stored = np.dtype(np.uint8) if self.info.dtype == np.uint8 else np.dtype(np.uint16)
        self._file = unfinished.open()
        self._shelf = TemporaryFile(dir=unfinished.part.parent)  # noqa: SIM115 - closed with the sink

    def _append(self, frame: Frame) -> None:
        assert self._shelf is not None
        if self.info.count == 1:
            with _explain_headers(self.info):
                self._single = self._maker.make_single(0, frame.pixels, self._packing)
            return
        plane = self._maker.find_plane(self.count, frame.pixels)
        if plane.stored.dtype.itemsize > self._stored.itemsize:
            plane = self._maker.scale_plane(frame.pixels)
        values, intercept = plane.stored, plane.intercept
        if values.dtype.kind == "i":
            # such files hold no sign
            low = np.iinfo(values.dtype).min
            values, intercept = values.astype(np.int64) - low, intercept + plane.slope * low
        values = np.ascontiguousarray(values, self._stored)
        if self._packing is not None:
            self._packed.append(self._packing.pack(values, 8 * self._stored.itemsize))
        else:
            self._shelf.write(values.astype(self._stored.newbyteorder("<"), copy=False).data)
        self._planes.append((plane.slope, intercept))

    def _end(self) -> None:
        assert self._shelf is not None
        with _explain_headers(self.info):
            data = self._single or self._make_multiframe(self._shelf)
            data.save_as(self._file, enforce_file_format=True)
        self._close()

    def _make_multiframe(self, shelf: IO[bytes]) -> Any:
        data = self._maker.make_multiframe(self._planes, self._stored)
        if self._packing is not None:
            size = int(np.prod(self.info.shape, dtype=np.int64)) * self._stored.itemsize
            self._maker.set_packed(data, self._packing, self._packed, size * len(self._packed))
            return data
        if shelf.tell() % 2:
            shelf.write(b"\0")
        shelf.flush()
        shelf.seek(0)
        data.PixelData = shelf
        data["PixelData"].VR = "OB" if self._stored.itemsize == 1 else "OW"
        return data

    def _close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()


class DicomFolderSink(Sink):
    """A new series of DICOM files in a new folder, each with the header and the name of the slice that it comes from.

    Parameters
    ----------
    path : Path
        The folder; until it is complete, it grows beside it under a ``.part`` name.
    info : SourceInfo
        Of a source of DICOM.
    packing : Packing, optional
        How pixels are packed; they are not if it is left out.
    keep_partial : bool
        Keep what there is when the sink is aborted.

    Raises
    ------
    ArgumentError
        If there is a file or folder of that name.
    OutputError
        If no folder can be made there.
    """

    def __init__(
        self, path: Path, info: SourceInfo, *, packing: Packing | None = None, keep_partial: bool = False
    ) -> None:
        if path.exists():
            raise ArgumentError(f"{str(path)!r} is there already, and series are not mixed; take another name")
        if not path.parent.is_dir():
            raise ArgumentError(f"the folder {str(path.parent)!r} of {path.name!r} does not exist; make it first")
        self.path, self.info = path, info
        self._keep_partial = keep_partial
        self._packing = packing
        self._maker = DatasetMaker(info)
        known = self._maker.known
        names = [] if known is None else [each.file.name for each in known.slices]
        self._names = names if len(set(names)) == len(names) else []
        try:
            self._part = _make_folder(path)
        except OSError as error:
            raise explain_output_error(path, error) from error

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        name = self._names[self.count] if self.count < len(self._names) else f"{self.count + 1:05d}.dcm"
        with open_output(self._part / name, overwrite=True) as file, _explain_headers(self.info):
            made = self._maker.make_single(self.count, frame.pixels, self._packing)
            made.save_as(file, enforce_file_format=True)

    def _finish(self) -> None:
        if self.path.exists():
            raise ArgumentError(f"{str(self.path)!r} has appeared meanwhile; take another name")
        try:
            self._part.rename(self.path)
        except OSError as error:
            raise explain_output_error(self.path, error) from error

    def _abort(self) -> None:
        if not (self._keep_partial and self.count):
            with contextlib.suppress(OSError):
                shutil.rmtree(self._part)


@contextlib.contextmanager
def _explain_headers(info: SourceInfo) -> Iterator[None]:
    """Say that odd values of a source, which do not matter for its pixels, cannot be copied."""
    try:
        yield
    except BROKEN as error:
        if isinstance(error, SubbandError | OSError):
            raise
        raise FormatError(
            f"the headers of {str(info.origin)!r} cannot be written again: {error}; write to .nii, .nrrd or .tiff"
        ) from error


def _make_folder(path: Path) -> Path:
    """Make a folder under the first ``.part`` name that is free."""
    for number in itertools.count(1):
        part = path.with_name(f"{path.name}.part{'' if number == 1 else number}")
        with contextlib.suppress(FileExistsError):
            part.mkdir()
            return part
    raise AssertionError

"""NumPy's own files: arrays of one file, mapped into memory, and archives of them."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media.base import Frame
from subband.media.faults import BROKEN
from subband.media.formats.base import Format, Reading
from subband.media.outputs import Unfinished
from subband.media.volume_sinks import VolumeSink, split_groups
from subband.media.volumes import VolumeSource, open_array
from subband.typing import Array

__all__ = ["FORMATS", "NpySink", "open_npy", "open_npz"]

_BROKEN_ARCHIVE: tuple[type[Exception], ...] = (*BROKEN, BadZipFile)


def open_npy(path: Path) -> VolumeSource:
    """Open a volume of NumPy's own format, mapped into memory.

    Raises
    ------
    FormatError
        If the file is damaged, holds Python objects, has another number of axes, or is a picture in colour.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as an array: {error}") from error
    _refuse_picture(array, path)
    return open_array(array, path, "npy")


def open_npz(path: Path, name: str | None = None) -> VolumeSource:
    """Open an array of one of NumPy's archives; it is read into memory.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        Which of its arrays; may be left out if there is only one.

    Raises
    ------
    ArgumentError
        If there is no such array, or more than one to choose from; it names them.
    FormatError
        If the file is damaged, holds Python objects, or the array is no volume.
    """
    path.open("rb").close()
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if name is None and len(names) != 1:
                raise ArgumentError(
                    f"{str(path)!r} holds the arrays {', '.join(names) or 'none'}; name one, as in {path.name}:NAME"
                )
            chosen = names[0] if name is None else name
            if chosen not in names:
                raise ArgumentError(f"{str(path)!r} has no array {chosen!r}; it has {', '.join(names) or 'none'}")
            array = archive[chosen]
    except _BROKEN_ARCHIVE as error:
        if isinstance(error, SubbandError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as an archive of arrays: {error}") from error
    _refuse_picture(array, path)
    return open_array(array, path, "npz", {"dataset": chosen})


def _refuse_picture(array: Array, path: Path) -> None:
    if array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype == np.uint8:
        raise FormatError(
            f"{str(path)!r} has the shape {array.shape}, which is that of a picture in colour, not of slices, rows and "
            "columns; save it as a picture, such as .png"
        )


class NpySink(VolumeSink):
    """A volume in NumPy's own format; it has no place for the voxel size.

    The one slice of an array that had only rows and columns is written as such an array again.
    """

    _file: BinaryIO | None = None

    def _begin(self, unfinished: Unfinished) -> None:
        self._file = unfinished.open()
        self._write_header(self.info.count or 0)

    def _write_header(self, count: int) -> None:
        # NumPy leaves room in the header for a first axis that grows, so a later header takes the same place.
        assert self._file is not None
        is_flat = self.info.metadata.get("is_flat") is True and count == self.info.count == 1
        header = {
            "descr": np.lib.format.dtype_to_descr(self.info.dtype),
            "fortran_order": False,
            "shape": self.info.shape if is_flat else (*split_groups(self.info, count), *self.info.shape),
        }
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, header)

    def _append(self, frame: Frame) -> None:
        assert self._file is not None
        self._file.write(np.ascontiguousarray(frame.pixels).data)

    def _end(self) -> None:
        self._write_header(self.count)


def _open(path: Path, reading: Reading) -> VolumeSource:
    return open_npz(path, reading.dataset) if path.suffix.lower() == ".npz" else open_npy(path)


FORMATS = (
    Format(
        "NumPy",
        (".npy", ".npz"),
        ("volume",),
        only_read=(".npz",),
        about="`.npy` is mapped into memory; `file.npz:name` names an array of an archive",
        open_volume=_open,
        create=lambda path, info, writing: NpySink(path, info, **writing.kept),
        dataset_endings=(".npz",),
    ),
)

"""Which volumes from a page are let in: what a header claims is checked before anything is unpacked or allocated.

A few bytes can claim a slice that fills the memory, or unpack to a thousand times their size. Formats that are read
slice by slice, and whose headers say what a slice takes, are let in; others are named on the command line by whoever
trusts them.
"""

from __future__ import annotations

import gzip
import struct
from math import prod
from pathlib import Path

import numpy as np

from subband.errors import FormatError
from subband.media.formats import find_format
from subband.media.stores import is_zarr

__all__ = ["check_volume"]

#: Slices, and bytes of a voxel.
_MOST_SLICES = 2**16
_WIDEST = 16
_DEFLATED = "1.2.840.10008.1.2.1.99"


def check_volume(path: Path, title: str, most_pixels: int) -> None:
    """Refuse a volume from a page whose header claims too much, or that would be unpacked whole.

    Parameters
    ----------
    path : Path
        A file, a Zarr store, or a folder of slices.
    title : str
        What the user calls it.
    most_pixels : int
        Rows × columns of a slice that are allowed.

    Raises
    ------
    FormatError
        If it is refused; files that are no volumes are not looked at.
    """
    if path.is_dir() and not is_zarr(path):
        for file in path.iterdir():
            _check_dicom(file, title, most_pixels)
        return
    form = find_format(path)
    if form is None or form.kinds != ("volume",) or form.is_store:
        return
    check = {"DICOM": _check_dicom, "NIfTI": _check_nifti, "NumPy": _check_npy}.get(form.name, _refuse)
    check(path, title, most_pixels)


def _refuse(path: Path, title: str, most_pixels: int) -> None:  # noqa: ARG001 - as all checks
    raise FormatError(f"{title!r} is a volume that is unpacked whole; name it on the command line: subband studio FILE")


def _check_shape(title: str, rows: int, columns: int, slices: int, most_pixels: int) -> None:
    if min(rows, columns, slices) < 1 or rows * columns > most_pixels or slices > _MOST_SLICES:
        raise FormatError(
            f"{title!r} claims to be a volume of {slices} slices of {columns} × {rows}; the studio shows up to "
            f"{_MOST_SLICES} slices of {most_pixels} pixels"
        )


def _check_dicom(path: Path, title: str, most_pixels: int) -> None:
    from subband.media.faults import require

    pydicom = require("pydicom", "reading DICOM", "volumes")
    try:
        syntax = pydicom.filereader.read_file_meta_info(path).get("TransferSyntaxUID", "")
        if syntax == _DEFLATED:
            raise FormatError(f"{title!r} is a deflated DICOM volume; name it on the command line: subband studio FILE")
        tags = ("Rows", "Columns", "NumberOfFrames")
        header = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=tags)
        rows, columns = int(header.get("Rows", 0)), int(header.get("Columns", 0))
        frames = int(header.get("NumberOfFrames", 1) or 1)
    except FormatError:
        raise
    except Exception as error:
        raise FormatError(f"{title!r} holds no DICOM slice of a volume: {error}") from error
    _check_shape(title, rows, columns, frames, most_pixels)


def _check_nifti(path: Path, title: str, most_pixels: int) -> None:
    opener = gzip.open if path.name.lower().endswith(".gz") else Path.open
    try:
        with opener(path, "rb") as file:
            head = bytes(file.read(80))
        order = next(order for order in "<>" if struct.unpack(f"{order}i", head[:4])[0] in (348, 540))
        is_first = struct.unpack(f"{order}i", head[:4])[0] == 348
        lengths = struct.unpack(f"{order}8h", head[40:56]) if is_first else struct.unpack(f"{order}8q", head[16:80])
    except (OSError, EOFError, StopIteration, struct.error) as error:
        raise FormatError(f"{title!r} holds no volume that can be read as NIfTI") from error
    used = [max(length, 1) for length in lengths[1 : 1 + min(max(lengths[0], 0), 7)]]
    columns, rows, *rest = [*used, 1, 1][: max(len(used), 2)]
    _check_shape(title, rows, columns, prod(rest), most_pixels)


def _check_npy(path: Path, title: str, most_pixels: int) -> None:
    try:
        # mapped, and not read; objects are refused
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(f"{title!r} holds no volume that can be read as NumPy's") from error
    if not isinstance(array, np.ndarray):
        _refuse(path, title, most_pixels)
    if array.ndim < 2 or array.dtype.itemsize > _WIDEST:
        raise FormatError(f"{title!r} holds no volume of numbers")
    *rest, rows, columns = array.shape if array.shape[-1] != 3 or array.ndim < 4 else array.shape[:-1]
    _check_shape(title, rows, columns, prod(rest), most_pixels)

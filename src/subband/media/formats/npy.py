"""NumPy's own files: arrays of one file, mapped into memory, and archives of them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from subband.errors import FormatError
from subband.media.base import SourceInfo
from subband.media.faults import explain_damage
from subband.media.formats.base import Format, Reading
from subband.media.volume_sinks import HeadedSink, split_groups
from subband.media.volumes import VolumeSource, choose_dataset, open_array
from subband.typing import Array

__all__ = ["FORMATS", "describe_npy", "open_npy", "open_npz"]


def open_npy(path: Path) -> VolumeSource:
    """Open a volume of NumPy's own format, mapped into memory.

    Raises
    ------
    FormatError
        If the file is damaged, holds Python objects, has another number of axes, or is an image in colour.
    """
    with explain_damage(path, "an array"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    _refuse_image(array, path)
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
    with explain_damage(path, "an archive of arrays", BadZipFile), np.load(path, allow_pickle=False) as archive:
        chosen = choose_dataset(path, "array", archive.files, name)
        array = archive[chosen]
    _refuse_image(array, path)
    return open_array(array, path, "npz", {"dataset": chosen})


def _refuse_image(array: Array, path: Path) -> None:
    if array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype == np.uint8:
        raise FormatError(
            f"{str(path)!r} has the shape {array.shape}, which is that of a colour image, not of slices, rows and "
            "columns; save it as an image, such as .png"
        )


def describe_npy(info: SourceInfo, count: int) -> bytes:
    """Return the header of an array of so many slices, with room for more of them; it says no voxel size.

    The one slice of an array that had only rows and columns is such an array again.
    """
    is_flat = info.metadata.get("is_flat") is True and count == info.count == 1
    header = {
        "descr": np.lib.format.dtype_to_descr(info.dtype.newbyteorder("<")),
        "fortran_order": False,
        "shape": info.shape if is_flat else (*split_groups(info, count), *info.shape),
    }
    file = BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


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
        create=lambda path, info, writing: HeadedSink(
            path, info, describe_npy, keeps_position=False, can_grow=True, **writing.kept
        ),
        dataset_endings=(".npz",),
    ),
)

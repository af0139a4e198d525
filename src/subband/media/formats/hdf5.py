"""Volumes as datasets of HDF5 files, through h5py."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import Frame, SourceInfo
from subband.media.faults import BROKEN, explain_damage, require
from subband.media.formats.base import Format
from subband.media.geometry import find_affine
from subband.media.volume_sinks import VolumeSink, split_groups
from subband.media.volumes import VolumeSource, choose_dataset, open_array
from subband.outputs import Unfinished

__all__ = ["FORMATS", "Hdf5Sink", "open_hdf5"]

# Bytes of a file that are copied at once.
_PIECE = 2**20


def open_hdf5(path: Path, dataset: str | None = None) -> VolumeSource:
    """Open a volume in an HDF5 file.

    Parameters
    ----------
    path : Path
        The file.
    dataset : str, optional
        Which of its datasets; may be left out if there is only one volume.

    Raises
    ------
    MissingExtraError
        If h5py is not installed.
    ArgumentError
        If there is no such dataset, or more than one to choose from; it names them.
    FormatError
        If the file is damaged.
    """
    h5py = require("h5py", "reading HDF5", "volumes")
    with explain_damage(path, "HDF5"):
        file = h5py.File(path, "r")
        try:
            source = _open_dataset(path, h5py, file, dataset)
        except BaseException:
            file.close()
            raise
    source.close_with(file.close)
    return source


def _open_dataset(path: Path, h5py: Any, file: Any, dataset: str | None) -> VolumeSource:
    found: dict[str, Any] = {}
    file.visititems(
        lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) and item.ndim >= 3 else None
    )
    name = choose_dataset(path, "volume", sorted(found), None if dataset is None else dataset.strip("/"))
    volume = found[name]
    size, unit = volume.attrs.get("voxel_size"), str(volume.attrs.get("voxel_unit", "mm"))
    if size is None and "element_size_um" in volume.attrs:
        size, unit = volume.attrs["element_size_um"], "um"
    metadata: dict[str, Any] = {"dataset": name}
    affine = np.asarray(volume.attrs.get("affine", ()))
    if affine.shape == (4, 4):
        metadata["affine"] = affine
    return open_array(volume, path, "hdf5", metadata, voxel_size=size, voxel_unit=unit)


class Hdf5Sink(VolumeSink):
    """A volume as a dataset of an HDF5 file, in chunks of a slice.

    Parameters
    ----------
    path, info, overwrite, keep_partial
        As those of `VolumeSink`.
    dataset : str, optional
        The name of the dataset. All else in a file that is there stays as it is; a dataset of that name is replaced. If
        left out, the file is one of its own, with a dataset ``volume``.
    """

    keeps_position = True
    _file: Any = None

    def __init__(self, path: Path, info: SourceInfo, *, dataset: str | None = None, **options: bool) -> None:
        self._is_whole = dataset is None
        self._dataset = "volume" if dataset is None else dataset.strip("/")
        if not self._dataset:
            raise ArgumentError(
                f"{dataset!r} names no dataset of {str(path)!r}; take a name such as {path.name}:volume"
            )
        super().__init__(path, info, **options)

    def _begin(self, unfinished: Unfinished) -> None:
        h5py = require("h5py", "writing HDF5", "volumes")
        # Not by its name, and quietly: HDF5 ends the process if it cannot write what it has to before it closes a file.
        file = unfinished.open(quiet=True)
        if self._is_whole or not self.path.is_file():
            self._file = h5py.File(file, "w")
        else:
            with self.path.open("rb") as source:
                shutil.copyfileobj(source, file, _PIECE)
            unfinished.check()
            file.seek(0)
            try:
                self._file = h5py.File(file, "r+")
            except BROKEN as error:
                raise ArgumentError(
                    f"{str(self.path)!r} is no HDF5 file that a dataset can be added to ({error}); take another name"
                ) from error
            self._make_room(h5py)
        shape = self.info.shape
        lengths = split_groups(self.info, self.info.count or 0)
        self._volume = self._file.create_dataset(
            self._dataset,
            (*lengths, *shape),
            self.info.dtype,
            maxshape=(None, *lengths[1:], *shape),
            chunks=(*(1,) * len(lengths), *shape),
        )
        if self.info.voxel_size is not None:
            self._volume.attrs["voxel_size"] = self.info.voxel_size
            self._volume.attrs["voxel_unit"] = self.info.voxel_unit
        affine = find_affine(self.info)
        if affine is not None:
            self._volume.attrs["affine"] = affine

    def _make_room(self, h5py: Any) -> None:
        """Remove the dataset that is replaced, and nothing else."""
        *groups, _ = names = self._dataset.split("/")
        for count in range(1, len(groups) + 1):
            group = "/".join(names[:count])
            if self._file.get(group, getlink=True) is not None and not isinstance(self._file.get(group), h5py.Group):
                raise ArgumentError(f"{group!r} of {str(self.path)!r} is no group; name the dataset otherwise")
        if isinstance(self._file.get(self._dataset), h5py.Group):
            raise ArgumentError(f"{self._dataset!r} of {str(self.path)!r} is a group; name a dataset in it, or another")
        if self._file.get(self._dataset, getlink=True) is not None:
            del self._file[self._dataset]

    def _append(self, frame: Frame) -> None:
        index = self._find_index(self.count)
        if index[0] >= self._volume.shape[0]:
            self._volume.resize(index[0] + 1, axis=0)
        self._volume[index] = frame.pixels

    def _end(self) -> None:
        self._volume.resize(self._find_index(self.count - 1)[0] + 1, axis=0)
        self._close()

    def _find_index(self, number: int) -> tuple[int, ...]:
        is_grouped = self._volume.ndim > len(self.info.shape) + 1
        return divmod(number, self._volume.shape[1]) if is_grouped else (number,)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


_ENDINGS = (".h5", ".hdf5", ".he5", ".hdf")

FORMATS = (
    Format(
        "HDF5",
        _ENDINGS,
        ("volume",),
        about="`file.h5:dataset`",
        kept="voxel size and affine; other datasets of the file",
        extra="volumes",
        open_volume=lambda path, reading: open_hdf5(path, reading.dataset),
        create=lambda path, info, writing: Hdf5Sink(path, info, dataset=writing.dataset, **writing.kept),
        dataset_endings=_ENDINGS,
    ),
)

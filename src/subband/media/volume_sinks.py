"""Volumes that are written slice by slice."""

from __future__ import annotations

import contextlib
import gzip
import shutil
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.faults import BROKEN, require
from subband.media.outputs import Unfinished, defer_signals
from subband.media.volume_tiff import describe_imagej

__all__ = ["Hdf5Sink", "NiftiSink", "NpySink", "TiffSink", "VolumeSink"]

# Offsets of plain TIFF end at 4 GiB; some are needed for what is not pixels.
_BIG_TIFF = 2**32 - 2**25
# The header of NIfTI-1 and the four bytes after it.
_NIFTI_HEADER = 352
# Bytes of a file that are copied at once.
_PIECE = 2**20


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

    def __init__(self, path: Path, info: SourceInfo, *, overwrite: bool = False, keep_partial: bool = False) -> None:
        if info.colours == "ycbcr":
            raise ArgumentError("volumes hold red, green and blue; open the source with colours='rgb'")
        self.path, self.info = path, info
        self._keep_partial = keep_partial
        self._unfinished = Unfinished(path, overwrite=overwrite)
        try:
            with self._explain():
                self._begin(self._unfinished.part)
        except BaseException:
            self.abort()
            raise

    @abstractmethod
    def _begin(self, part: Path) -> None:
        """Open the file: by ``self._unfinished.open()`` where the library takes an open one, else by its name."""

    @abstractmethod
    def _append(self, frame: Frame) -> None:
        """Write a slice."""

    @abstractmethod
    def _end(self) -> None:
        """Complete the file; `count` is the number of its slices."""

    def _close(self) -> None:
        """Let go of a file that will not be completed."""

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


class NpySink(VolumeSink):
    """A volume in NumPy's own format; it has no place for the voxel size.

    The one slice of an array that had only rows and columns is written as such an array again.
    """

    _file: BinaryIO | None = None

    def _begin(self, part: Path) -> None:  # noqa: ARG002 - opened by `Unfinished.open`
        self._file = self._unfinished.open()
        self._write_header(self.info.count or 0)

    def _write_header(self, count: int) -> None:
        # NumPy leaves room in the header for a first axis that grows, so a later header takes the same place.
        assert self._file is not None
        is_flat = self.info.metadata.get("is_flat") is True and count == self.info.count == 1
        header = {
            "descr": np.lib.format.dtype_to_descr(self.info.dtype),
            "fortran_order": False,
            "shape": self.info.shape if is_flat else (count, *self.info.shape),
        }
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, header)

    def _append(self, frame: Frame) -> None:
        assert self._file is not None
        self._file.write(np.ascontiguousarray(frame.pixels).data)

    def _end(self) -> None:
        self._write_header(self.count)


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

    _file: Any = None

    def __init__(self, path: Path, info: SourceInfo, *, dataset: str | None = None, **options: bool) -> None:
        self._is_whole = dataset is None
        self._dataset = "volume" if dataset is None else dataset.strip("/")
        if not self._dataset:
            raise ArgumentError(
                f"{dataset!r} names no dataset of {str(path)!r}; take a name such as {path.name}:volume"
            )
        super().__init__(path, info, **options)

    def _begin(self, part: Path) -> None:  # noqa: ARG002 - opened by `Unfinished.open`
        h5py = require("h5py", "writing HDF5", "volumes")
        # Not by its name, and quietly: HDF5 ends the process if it cannot write what it has to before it closes a file.
        file = self._unfinished.open(quiet=True)
        if self._is_whole or not self.path.is_file():
            self._file = h5py.File(file, "w")
        else:
            with self.path.open("rb") as source:
                shutil.copyfileobj(source, file, _PIECE)
            self._unfinished.check()
            file.seek(0)
            try:
                self._file = h5py.File(file, "r+")
            except BROKEN as error:
                raise ArgumentError(
                    f"{str(self.path)!r} is no HDF5 file that a dataset can be added to ({error}); take another name"
                ) from error
            self._make_room(h5py)
        shape = self.info.shape
        self._volume = self._file.create_dataset(
            self._dataset, (self.info.count or 0, *shape), self.info.dtype, maxshape=(None, *shape), chunks=(1, *shape)
        )
        if self.info.voxel_size is not None:
            self._volume.attrs["voxel_size"] = self.info.voxel_size
            self._volume.attrs["voxel_unit"] = self.info.voxel_unit

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
        if self.count >= self._volume.shape[0]:
            self._volume.resize(self.count + 1, axis=0)
        self._volume[self.count] = frame.pixels

    def _end(self) -> None:
        self._volume.resize(self.count, axis=0)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


class TiffSink(VolumeSink):
    """A TIFF stack that ImageJ opens with its voxel size; a BigTIFF where it gets too large for a plain one."""

    _writer: Any = None

    def _begin(self, part: Path) -> None:  # noqa: ARG002 - opened by `Unfinished.open`
        tifffile = require("tifffile", "writing TIFF stacks", "volumes")
        self._comment = tifffile.tiffcomment
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * self.info.dtype.itemsize * (self.info.count or 2**40)
        self._file = self._unfinished.open()
        self._writer = tifffile.TiffWriter(self._file, bigtiff=nbytes > _BIG_TIFF)

    def _append(self, frame: Frame) -> None:
        size = self.info.voxel_size
        options: dict[str, Any] = (
            {"photometric": "rgb", "planarconfig": "contig"} if self.info.is_colour else {"photometric": "minisblack"}
        )
        if size is not None:
            options |= {"resolution": (1 / size[2], 1 / size[1]), "resolutionunit": "none"}
        text = describe_imagej(self.info.count or 0, size, self.info.voxel_unit) if self.count == 0 else None
        self._writer.write(
            np.ascontiguousarray(frame.pixels), contiguous=False, metadata=None, description=text, **options
        )

    def _end(self) -> None:
        self._close()
        if self.count != self.info.count:
            text = describe_imagej(self.count, self.info.voxel_size, self.info.voxel_unit)
            self._file.seek(0)
            self._comment(self._file, text.encode())

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class NiftiSink(VolumeSink):
    """A NIfTI volume, packed if its name ends in ``.gz``.

    The affine of a NIfTI source is kept, unless the voxel size was changed; else it is made of the voxel size.
    """

    _file: BinaryIO | gzip.GzipFile | None = None

    def _begin(self, part: Path) -> None:  # noqa: ARG002 - opened by `Unfinished.open`
        nibabel = require("nibabel", "writing NIfTI", "volumes")
        if self.info.is_colour:
            raise ArgumentError(f"{self.path.name!r} holds no colours; write to .tiff, .npy or .h5")
        is_packed = self.path.suffix.lower() == ".gz"
        if is_packed and not self.info.count:
            raise ArgumentError("a packed NIfTI has to know its number of slices; write to .nii, or set info.count")
        self._make_header = nibabel.Nifti1Header
        self._nibabel = nibabel
        opened = self._unfinished.open()
        self._file = gzip.GzipFile("", "wb", compresslevel=4, fileobj=opened) if is_packed else opened
        self._write_header(self.info.count or 1)

    def _write_header(self, count: int) -> None:
        assert self._file is not None
        rows, columns = self.info.shape
        known = self.info.metadata.get("nifti_header")
        header = self._make_header() if known is None else self._make_header.from_header(known)
        header.set_data_dtype(self.info.dtype)
        header.set_data_shape((columns, rows, count))
        size = self.info.voxel_size or (1.0, 1.0, 1.0)
        unit = {"um": "micron", "m": "meter"}.get(self.info.voxel_unit, self.info.voxel_unit)
        header.set_xyzt_units(unit if unit in ("mm", "micron", "meter") else "unknown")
        affine = self.info.metadata.get("affine")
        if affine is None or not np.allclose(self._nibabel.affines.voxel_sizes(affine), size[::-1], rtol=1e-4):
            affine = np.diag([*size[::-1], 1.0])
        header.set_zooms(size[::-1])
        header.set_sform(affine, code=int(header["sform_code"]) or 1)
        header.set_qform(affine, code=int(header["qform_code"]))
        header.set_slope_inter(1, 0)
        header["vox_offset"] = _NIFTI_HEADER
        header["magic"] = b"n+1"
        self._file.write(header.binaryblock + bytes(_NIFTI_HEADER - len(header.binaryblock)))

    def _append(self, frame: Frame) -> None:
        assert self._file is not None
        self._file.write(np.ascontiguousarray(frame.pixels).data)

    def _end(self) -> None:
        assert self._file is not None
        if self.count != self.info.count:
            if isinstance(self._file, gzip.GzipFile):
                raise ArgumentError(f"{self.path.name!r} got {self.count} slices, and info.count={self.info.count}")
            self._file.seek(0)
            self._write_header(self.count)
        self._close()

    def _close(self) -> None:
        if isinstance(self._file, gzip.GzipFile):
            self._file.close()

"""Volumes that are written slice by slice."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.faults import BROKEN, require
from subband.media.outputs import Unfinished, defer_signals
from subband.media.tiff_layout import TiffLayout, describe_copy, describe_imagej
from subband.media.volume_meta import describe_meta
from subband.media.volume_nifti import make_nifti_header
from subband.media.volume_nrrd import describe_nrrd
from subband.typing import Array

__all__ = ["Hdf5Sink", "HeadedSink", "NiftiSink", "NpySink", "TiffSink", "VolumeSink"]

# Offsets of plain TIFF end at 4 GiB; some are needed for what is not pixels.
_BIG_TIFF = 2**32 - 2**25
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
        place = self._find_place(self.count)
        if place[0] >= self._volume.shape[0]:
            self._volume.resize(place[0] + 1, axis=0)
        self._volume[place] = frame.pixels

    def _end(self) -> None:
        self._volume.resize(self._find_place(self.count - 1)[0] + 1, axis=0)
        self._close()

    def _find_place(self, number: int) -> tuple[int, ...]:
        is_grouped = self._volume.ndim > len(self.info.shape) + 1
        return divmod(number, self._volume.shape[1]) if is_grouped else (number,)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


class TiffSink(VolumeSink):
    """A TIFF stack that ImageJ opens with its voxel size; a BigTIFF where it gets too large for a plain one.

    What comes from a TIFF file is written as it was: the order of pages, with times and channels, compression, tiles,
    resolution, the description, be it OME-XML, ImageJ's or any other.
    """

    _writer: Any = None
    _shelf: IO[bytes] | None = None

    def _begin(self, unfinished: Unfinished) -> None:
        tifffile = require("tifffile", "writing TIFF stacks", "volumes")
        self._comment, self._make_tags = tifffile.tiffcomment, tifffile.tifffile.imagej_metadata_tag
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * self.info.dtype.itemsize * (self.info.count or 2**40)
        known = self.info.metadata.get("tiff")
        self._layout: TiffLayout | None = known if known is not None and known.fits(self.info) else None
        self._places: Any = None
        self._pages = 0
        if self._layout is not None:
            order = self._layout.order
            if not np.array_equal(order, np.arange(len(order))) or self._layout.samples > 1:
                # slices come volume by volume, and wait here until the others of their page are there
                self._places = np.argsort(order).reshape(-1, self._layout.samples)
                self._shelf = TemporaryFile(dir=unfinished.part.parent)  # noqa: SIM115 - closed with the sink
            if self._layout.loss:
                warnings.warn(
                    f"{str(self.info.origin)!r} is packed with a loss, as {self._layout.loss}; {self.path.name!r} is "
                    "packed without, and larger",
                    UserWarning,
                    stacklevel=2,
                )
        self._file = unfinished.open()
        self._writer = tifffile.TiffWriter(self._file, bigtiff=nbytes > _BIG_TIFF)

    def _append(self, frame: Frame) -> None:
        pixels = np.ascontiguousarray(frame.pixels)
        if self._places is None or self._layout is None:
            self._write_page(pixels)
            return
        assert self._shelf is not None
        self._shelf.seek(self.count * pixels.nbytes)
        self._shelf.write(pixels.data)
        while self._pages < len(self._places) and self._places[self._pages].max() <= self.count:
            samples = [self._take(int(number)) for number in self._places[self._pages]]
            is_planar = self._layout.is_planar
            self._write_page(samples[0] if len(samples) == 1 else np.stack(samples, axis=0 if is_planar else -1))

    def _take(self, number: int) -> Array:
        assert self._shelf is not None
        nbytes = int(np.prod(self.info.shape, dtype=np.int64)) * self.info.dtype.itemsize
        self._shelf.seek(number * nbytes)
        return np.frombuffer(self._shelf.read(nbytes), self.info.dtype).reshape(self.info.shape)

    def _write_page(self, pixels: Array) -> None:
        options: dict[str, Any] = (
            {"photometric": "rgb", "planarconfig": "contig"} if self.info.is_colour else {"photometric": "minisblack"}
        )
        layout, size = self._layout, self.info.voxel_size
        if layout is not None and (layout.samples > 1 or self.info.is_colour):
            options["planarconfig"] = "separate" if layout.is_planar else "contig"
            pixels = np.moveaxis(pixels, -1, 0) if self.info.is_colour and layout.is_planar else pixels
        if size is not None:
            options |= {"resolution": (1 / size[2], 1 / size[1]), "resolutionunit": "none"}
        if layout is not None:
            is_same = layout.dtype == self.info.dtype
            names = set(layout.options) - (set() if is_same else {"predictor", "colormap", "photometric"})
            options |= {name: layout.options[name] for name in names}
        if self._pages == 0:
            options |= self._describe()
        self._writer.write(pixels, contiguous=False, metadata=None, **options)
        self._pages += 1

    def _describe(self) -> dict[str, Any]:
        """Return what is said in the first page about all of them."""
        layout, info = self._layout, self.info
        if layout is None or (not layout.description and layout.samples == 1):
            depth = (info.count or 0) // info.groups
            text = describe_imagej(
                info.count or 0, info.voxel_size, info.voxel_unit, slices=depth or None, frames=info.groups
            )
            return {"description": text.encode("ascii", "replace")}
        options: dict[str, Any] = {"description": describe_copy(layout, info.dtype).encode()}
        if tags := layout.first_options.get("ij"):
            options["extratags"] = self._make_tags(tags, "<")
        return options

    def _end(self) -> None:
        self._close()
        if self.count != self.info.count:
            text = describe_imagej(self._pages, self.info.voxel_size, self.info.voxel_unit)
            self._file.seek(0)
            self._comment(self._file, text.encode("ascii", "replace"))

    def _close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()
        if self._writer is not None:
            self._writer.close()


class NiftiSink(VolumeSink):
    """A NIfTI volume, packed if its name ends in ``.gz``.

    The header and the extensions of a NIfTI source are kept, and the affine of any source that has one. Where there is
    none, the file says that its place is not known.
    """

    _file: BinaryIO | gzip.GzipFile | None = None

    def _begin(self, unfinished: Unfinished) -> None:
        require("nibabel", "writing NIfTI", "volumes")
        if self.info.is_colour:
            raise ArgumentError(f"{self.path.name!r} holds no colours; write to .tiff, .npy or .h5")
        is_packed = self.path.suffix.lower() == ".gz"
        if is_packed and not self.info.count:
            raise ArgumentError("a packed NIfTI has to know its number of slices; write to .nii, or set info.count")
        opened = unfinished.open()
        self._file = gzip.GzipFile("", "wb", compresslevel=4, fileobj=opened) if is_packed else opened
        self._write_header(self.info.count or 1)

    def _write_header(self, count: int) -> None:
        assert self._file is not None
        header = make_nifti_header(self.info, count)
        self._file.write(header.binaryblock + bytes([bool(header.extensions), 0, 0, 0]))
        header.extensions.write_to(self._file, byteswap=False)

    def _append(self, frame: Frame) -> None:
        assert self._file is not None
        self._file.write(np.ascontiguousarray(frame.pixels, self.info.dtype.newbyteorder("<")).data)

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


class HeadedSink(VolumeSink):
    """An NRRD file or a MetaImage: a header in text, and bare data behind it."""

    _file: BinaryIO | None = None

    def _begin(self, unfinished: Unfinished) -> None:
        if not self.info.count:
            raise ArgumentError(
                f"{self.path.name!r} has to know its number of slices; write to .npy, or set info.count"
            )
        self._describe = describe_nrrd if self.path.suffix.lower() == ".nrrd" else describe_meta
        self._file = unfinished.open()
        self._file.write(self._describe(self.info, self.info.count))

    def _append(self, frame: Frame) -> None:
        assert self._file is not None
        self._file.write(np.ascontiguousarray(frame.pixels, self.info.dtype.newbyteorder("<")).data)

    def _end(self) -> None:
        if self.count != self.info.count:
            raise ArgumentError(f"{self.path.name!r} got {self.count} slices, and info.count={self.info.count}")

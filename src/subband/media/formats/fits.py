"""FITS, the files of astronomy, through Astropy: images and cubes, whose numbers are measurements."""

from __future__ import annotations

import warnings
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.base import Frame, SourceInfo
from subband.media.faults import explain_damage, require
from subband.media.formats.base import Format, Reading, Writing
from subband.media.volume_sinks import HeadedSink, split_groups
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["FORMATS", "FitsSink", "describe_fits", "open_fits"]

# Header and data are padded to a multiple of that many bytes.
_BLOCK: Final = 2880

# Cards that say how samples are stored, or that no longer hold once samples have changed.
_STORAGE: Final = (
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS*", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "INHERIT", "BSCALE", "BZERO",
    "BLANK", "CHECKSUM", "DATASUM", "DATAMIN", "DATAMAX",
)  # fmt: skip

# FITS has bytes without and other integers with a sign; others are shifted by their sign bit, as its standard says.
_NATIVE: Final = ("uint8", "int16", "int32", "int64", "float32", "float64")


def open_fits(path: Path, name: str | None = None) -> VolumeSource:
    """Open an image or a cube of a FITS file; slices are read when they are asked for.

    Values are physical ones: scaled integers become floating point, with NaN for those that are blank, and integers
    that are only shifted, as unsigned ones are, stay integers. The header stays in ``info.metadata`` for a sink that
    writes FITS.

    Parameters
    ----------
    path : Path
        The file, also compressed in tiles or by gzip.
    name : str, optional
        Which of its images, by name or by number, as in ``file.fits:SCI``; the first one if left out.

    Raises
    ------
    MissingExtraError
        If Astropy is not installed.
    ArgumentError
        If it has no such image; it names those that there are.
    FormatError
        If it is damaged, or holds no image.
    """
    fits = require("astropy.io.fits", "reading FITS", "fits")
    with explain_damage(path, "FITS"), warnings.catch_warnings():
        # headers of observatories bend the standard in ways that do no harm
        warnings.simplefilter("ignore")
        file = fits.open(path)
        try:
            source = _open_image(path, file, name)
        except BaseException:
            file.close()
            raise
    source.close_with(file.close)
    return source


def _open_image(path: Path, file: Any, name: str | None) -> VolumeSource:
    images = {str(number): hdu for number, hdu in enumerate(file) if hdu.is_image and hdu.header["NAXIS"] >= 2}
    if not images:
        raise FormatError(f"{str(path)!r} holds no image of two or more axes")
    chosen = next(iter(images)) if name is None else name
    found = images.get(chosen) or next((hdu for hdu in images.values() if hdu.name == chosen.upper()), None)
    if found is None:
        known = ", ".join(f"{number} ({hdu.name})" if hdu.name else number for number, hdu in images.items())
        raise ArgumentError(f"{str(path)!r} has no image {name!r}; it has {known}")
    section, shape = found.section, tuple(int(length) for length in found.shape)
    before = shape[:-2]

    def read_slice(number: int) -> Array:
        index = tuple(int(each) for each in np.unravel_index(number, before)) if before else ()
        return np.asarray(section[(*index, slice(None), slice(None))])

    header = found.header.copy()
    if found is not file[0]:
        # what is said of the whole file holds for its images
        header.extend(file[0].header, unique=True)
    info = describe_volume(
        (prod(before), *shape[-2:]),
        read_slice(0).dtype,
        origin=path,
        groups=prod(before[:-1]),
        container="fits",
        metadata={"fits_header": header, "fits_shape": shape},
    )
    return VolumeSource(info, read_slice, (lambda block: np.asarray(section[block])) if len(before) == 1 else None)


def describe_fits(info: SourceInfo, count: int) -> bytes:
    """Return the header of a file whose bare data follow, with what the header of a FITS source says besides."""
    fits = require("astropy.io.fits", "writing FITS", "fits")
    shape = info.metadata.get("fits_shape", info.shape if info.metadata.get("is_flat") is True else ())
    if prod(shape) != count * prod(info.shape):
        shape = (*split_groups(info, count), *info.shape)
    bits = 8 * info.dtype.itemsize
    cards = [
        ("SIMPLE", True, "conforms to the FITS standard"),
        ("BITPIX", -bits if info.dtype.kind == "f" else bits, "bits of a sample"),
        ("NAXIS", len(shape), "number of axes"),
        *((f"NAXIS{number}", length) for number, length in enumerate(reversed(shape), start=1)),
    ]
    if info.dtype.name not in _NATIVE:
        zero = -128 if info.dtype == np.int8 else 1 << (bits - 1)
        cards += [("BSCALE", 1), ("BZERO", zero, "samples are shifted by their sign bit")]
    header = fits.Header(cards)
    known = info.metadata.get("fits_header", fits.Header()).copy()
    for name in _STORAGE:
        known.remove(name, ignore_missing=True, remove_all=True)
    header.extend(known, strip=False, end=True)
    return bytes(header.tostring().encode("ascii"))


class FitsSink(HeadedSink):
    """A FITS file of one image or cube, the largest byte of a sample first.

    Parameters
    ----------
    path, info, **options
        As those of `HeadedSink`.
    """

    def __init__(self, path: Path, info: SourceInfo, **options: bool) -> None:
        super().__init__(
            path,
            info,
            describe_fits,
            keeps_position=False,
            can_grow=True,
            is_packed=path.suffix.lower() == ".gz",
            **options,
        )

    def _append(self, frame: Frame) -> None:
        samples = np.ascontiguousarray(frame.pixels)
        if samples.dtype.name not in _NATIVE:
            bits = samples.view(f"u{samples.itemsize}")
            samples = (bits ^ bits.dtype.type(1 << (8 * bits.itemsize - 1))).view(f"i{bits.itemsize}")
        self._file.write(samples.astype(samples.dtype.newbyteorder(">")).data)

    def _end(self) -> None:
        size = self.count * prod(self.info.shape) * self.info.dtype.itemsize
        self._file.write(bytes(-size % _BLOCK))
        super()._end()


def _create(path: Path, info: SourceInfo, writing: Writing) -> FitsSink:
    """Write an image or a cube; the cards of a FITS source are kept, but for those about how it was stored."""
    require("astropy.io.fits", "writing FITS", "fits")
    if info.is_colour:
        raise ArgumentError(f"{path.name!r} holds no colours; write to .tiff, .npy or .h5")
    if writing.dataset is not None:
        raise ArgumentError(f"{path.name!r} is written as a whole; leave out :{writing.dataset} behind its name")
    return FitsSink(path, info, **writing.kept)


def _open(path: Path, reading: Reading) -> VolumeSource:
    return open_fits(path, reading.dataset)


FORMATS = (
    Format(
        "FITS",
        (".fits", ".fit", ".fts", ".fits.gz", ".fits.fz"),
        ("volume",),
        only_read=(".fits.fz",),
        about="an image is a volume of one slice; `file.fits:SCI` or `file.fits:1` names one of several; scaled "
        "integers come as floating point, blank ones as NaN",
        kept="from FITS to FITS: header, axes",
        extra="fits",
        open_volume=_open,
        create=_create,
        dataset_endings=(".fits", ".fit", ".fts", ".fits.gz", ".fits.fz"),
    ),
)

"""Pyramids of images on disk: what `Pyramid.save` writes, and beside it what belongs to the image alone."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from subband.errors import ArgumentError, MissingExtraError
from subband.media import Still, place_output
from subband.pyramid import Pyramid
from subband.pyramid_files import HDF5_SUFFIXES, read_pyramid_file

__all__ = ["check_name", "load_coefficients", "save_coefficients"]

# Names that no band has: those begin with a number.
_DEPTH, _ALPHA, _BITS = "picture_depth", "picture_alpha", "fixed_bits"


def check_name(path: Path) -> None:
    """Refuse names that do not say in which format coefficients are saved.

    Raises
    ------
    ArgumentError
        If the name ends otherwise.
    MissingExtraError
        If it asks for HDF5, and h5py is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in (".npz", *HDF5_SUFFIXES):
        raise ArgumentError(
            f"{path.name!r} does not end in .npz or .h5; coefficients are saved as {path.stem}.npz or {path.stem}.h5"
        )
    if suffix in HDF5_SUFFIXES and find_spec("h5py") is None:
        raise MissingExtraError("coefficients in HDF5", "volumes")


def save_coefficients(
    path: Path, pyramid: Pyramid, still: Still, *, bits: int | None = None, overwrite: bool = False
) -> None:
    """Write the pyramid of an image, with its depth, its transparency, and the bits of fixed point.

    Raises
    ------
    ArgumentError
        If the name does not end in ``.npz``, ``.h5`` or ``.hdf5``, or a file is there that must stay.
    """
    check_name(path)
    extra = {_DEPTH: np.array(still.pixels.dtype.itemsize * 8)}
    if still.alpha is not None:
        extra[_ALPHA] = still.alpha
    if bits is not None:
        extra[_BITS] = np.array(bits)
    with place_output(path, overwrite=overwrite) as unfinished:
        pyramid.save(unfinished, extra)


def load_coefficients(path: Path) -> tuple[Pyramid, Still, int | None]:
    """Read the pyramid of an image, an empty image of its size, depth and transparency, and the bits of fixed point.

    A pyramid that `Pyramid.save` wrote by itself is taken for one of 8 bits, unless it holds integers of 16.

    Raises
    ------
    FormatError
        If the file is not a saved pyramid.
    ArgumentError
        If it is not that of an image.
    """
    pyramid = Pyramid.load(path)
    if len(pyramid.shape) not in (2, 3) or pyramid.shape[2:] not in ((), (3,)):
        raise ArgumentError(
            f"{str(path)!r} holds an array of shape {pyramid.shape}, which is no image; "
            "use subband.Pyramid.load and subband.reconstruct in Python"
        )
    extra = read_pyramid_file(path, has_bands=False).extra
    depth = int(extra.get(_DEPTH, 16 if pyramid.dtype == np.uint16 else 8))
    empty = np.zeros(pyramid.shape, np.uint16 if depth == 16 else np.uint8)
    return pyramid, Still(empty, extra.get(_ALPHA)), int(extra[_BITS]) if _BITS in extra else None

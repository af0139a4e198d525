"""Pyramids of pictures on disk: what `Pyramid.save` writes, and beside it what belongs to the picture alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from subband.errors import ArgumentError
from subband.media import Still, place_output
from subband.pyramid import Pyramid
from subband.typing import Array

__all__ = ["load_coefficients", "save_coefficients"]

# Names that no band has: those begin with a number.
_DEPTH, _ALPHA = "picture_depth", "picture_alpha"


def save_coefficients(path: Path, pyramid: Pyramid, still: Still, *, overwrite: bool = False) -> None:
    """Write the pyramid of a picture, with its depth and its transparency.

    Raises
    ------
    ArgumentError
        If the name does not end in ``.npz``, or a file is there that must stay.
    """
    if path.suffix.lower() != ".npz":
        raise ArgumentError(f"{path.name!r} does not end in .npz; coefficients are saved as {path.stem}.npz")
    beside = {_DEPTH: np.array(still.pixels.dtype.itemsize * 8)}
    if still.alpha is not None:
        beside[_ALPHA] = still.alpha
    with place_output(path, overwrite=overwrite) as unfinished:
        pyramid.save(unfinished)
        with zipfile.ZipFile(unfinished, "a") as archive:
            for name, array in beside.items():
                with archive.open(f"{name}.npy", "w") as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)


def load_coefficients(path: Path) -> tuple[Pyramid, Still]:
    """Read the pyramid of a picture, and an empty picture of its size, depth and transparency.

    A pyramid that `Pyramid.save` wrote by itself is taken for one of 8 bits, unless it holds integers of 16.

    Raises
    ------
    FormatError
        If the file is not a saved pyramid.
    ArgumentError
        If it is not that of a picture.
    """
    pyramid = Pyramid.load(path)
    if len(pyramid.shape) not in (2, 3) or pyramid.shape[2:] not in ((), (3,)):
        raise ArgumentError(
            f"{str(path)!r} holds an array of shape {pyramid.shape}, which is no picture; "
            "use subband.Pyramid.load and subband.reconstruct in Python"
        )
    beside: dict[str, Array] = {}
    with np.load(path, allow_pickle=False) as file:
        beside = {name: file[name] for name in (_DEPTH, _ALPHA) if name in file}
    depth = int(beside.get(_DEPTH, 16 if pyramid.dtype == np.uint16 else 8))
    empty = np.zeros(pyramid.shape, np.uint16 if depth == 16 else np.uint8)
    return pyramid, Still(empty, beside.get(_ALPHA))

"""Where the voxels of a volume lie in space: one affine, whatever file it comes from.

The affine of a volume is a matrix of 4 × 4, ``info.metadata["affine"]``. It takes the index (column, row, slice, 1) of
a voxel to where its centre lies, in `SourceInfo.voxel_unit`. Axes are those of NIfTI: positive towards the right, the
front and the head of the patient (right, anterior, superior: "RAS"). DICOM and MetaImage count towards the left and
the back ("LPS"), so that the first two axes change their sign. A volume without that entry has no known position, and
what is written says so as far as its format can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.media.base import SourceInfo
from subband.typing import Array

__all__ = ["PlaceWarning", "find_affine", "flip_sides", "make_affine", "measure_steps"]


class PlaceWarning(UserWarning):
    """A file does not say, or does not say clearly, where its voxels lie; what is written does not claim to know."""


def make_affine(steps: Any, origin: Any) -> Array:
    """Return the affine with the given steps and origin.

    Parameters
    ----------
    steps : sequence of 3 vectors
        From a voxel to the next column, to the next row and to the next slice.
    origin : sequence of float
        Where the centre of the first voxel lies.

    Examples
    --------
    >>> make_affine([(0.5, 0, 0), (0, 0.5, 0), (0, 0, 2)], (10, 20, 30)) @ [1, 1, 1, 1]
    array([10.5, 20.5, 32. ,  1. ])
    """
    affine = np.eye(4)
    affine[:3, :3] = np.array(steps, float).T
    affine[:3, 3] = origin
    return affine


def flip_sides(affine: Array) -> Array:
    """Turn an affine from left and posterior (DICOM) to right and anterior (NIfTI), or back.

    Examples
    --------
    >>> flip_sides(np.eye(4)).diagonal()
    array([-1., -1.,  1.,  1.])
    """
    return np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine


def measure_steps(affine: Array) -> tuple[float, float, float]:
    """Return the distance of slices, of rows and of columns.

    Examples
    --------
    >>> measure_steps(make_affine([(0, 0.5, 0), (0.25, 0, 0), (0, 0, 2)], (0, 0, 0)))
    (2.0, 0.25, 0.5)
    """
    column, row, between = np.sqrt(np.square(affine[:3, :3]).sum(axis=0)).tolist()
    return between, row, column


def find_affine(info: SourceInfo) -> Array | None:
    """Return the affine of a volume, if it has one that goes with its voxel size.

    Examples
    --------
    >>> find_affine(SourceInfo("volume", (3, 4), np.dtype("int16"))) is None
    True
    """
    affine: Array | None = info.metadata.get("affine")
    if affine is None or (info.voxel_size is not None and not _agree(measure_steps(affine), info.voxel_size)):
        return None
    return affine


def _agree(one: Sequence[float], other: Sequence[float]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-4))

"""Finding the grid in a mesh: which of its vertices are rows and which are columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subband.errors import FormatError
from subband.typing import Array

__all__ = ["find_grid", "find_lattice", "is_lattice"]

_WAY_OUT = (
    "only grids can be transformed: give a mesh whose vertices are stored row by row and joined by quads or pairs of "
    "triangles"
)


def find_grid(count: int, faces: Sequence[Array], name: str) -> tuple[tuple[int, int], tuple[bool, bool]]:
    """Return rows and columns of a mesh, and which of them are closed.

    Parameters
    ----------
    count : int
        Number of vertices.
    faces : sequence of ndarray of int
        Faces × 3 and faces × 4: the vertices of triangles and of quads.
    name : str
        Of the file, for messages.

    Raises
    ------
    FormatError
        If the mesh is no grid.

    Examples
    --------
    >>> find_grid(6, [np.array([[0, 1, 4, 3], [1, 2, 5, 4]])], "two.obj")
    ((2, 3), (False, False))
    """
    faces = [each for each in faces if len(each)]
    if not faces:
        raise FormatError(f"{name!r} holds {count} vertices and no faces; say how many rows there are")
    low, high = min(int(each.min()) for each in faces), max(int(each.max()) for each in faces)
    if low < 0 or high >= count:
        raise FormatError(f"{name!r} has a face with vertex {high if high >= count else low} of {count}; it is damaged")
    for columns in _list_candidates(count, faces):
        closed = _match_grid(count, columns, faces)
        if closed is not None:
            return (count // columns, columns), closed
    number = sum(map(len, faces))
    raise FormatError(
        f"{name!r} holds {count} vertices and {number} faces that are no grid of rows and columns; {_WAY_OUT}"
    )


def find_lattice(points: Array, name: str) -> tuple[int, int]:
    """Return rows and columns of heights over a lattice, stored row by row.

    Raises
    ------
    FormatError
        If the points do not lie so.

    Examples
    --------
    >>> find_lattice(np.array([[0, 0, 5], [1, 0, 5], [0, 1, 5], [1, 1, 7.0]]), "four.ply")
    (2, 2)
    """
    count = len(points)
    for axis in (1, 0):
        changes = np.nonzero(points[:, axis] != points[0, axis])[0]
        columns = int(changes[0]) if len(changes) else count
        if 2 <= columns <= count // 2 and count % columns == 0:
            grid = points.reshape(-1, columns, 3)
            if (grid[..., axis] == grid[:, :1, axis]).all() and (grid[..., 1 - axis] == grid[:1, :, 1 - axis]).all():
                return count // columns, columns
    raise FormatError(
        f"{name!r} holds {count} vertices and no faces, and x and y are no lattice; say how many rows there are"
    )


def is_lattice(points: Array) -> bool:
    """Tell whether a grid is one of heights: x the same along columns, y along rows, both in even steps.

    Examples
    --------
    >>> y, x = np.mgrid[:3, :4]
    >>> is_lattice(np.stack([x, -y, x * y], axis=-1).astype(float))
    True
    """
    x, y = points[..., 0], points[..., 1]
    # files have as few as six digits
    size = max(float(np.ptp(x)), float(np.ptp(y)))
    tolerance = 1e-4 * size / max(points.shape[:2])
    if not (np.abs(x - x[:1]).max() <= tolerance and np.abs(y - y[:, :1]).max() <= tolerance):
        return False
    steps = np.diff(x[0]), np.diff(y[:, 0])
    return all(float(np.ptp(step)) <= 4 * tolerance and abs(float(step[0])) > tolerance for step in steps)


def _list_candidates(count: int, faces: Sequence[Array]) -> list[int]:
    """Return numbers of columns to try: neighbours of a column are that far apart in the list, most of them."""
    apart = np.concatenate([np.abs(each - np.roll(each, 1, axis=1)).ravel() for each in faces])
    distances, frequency = np.unique(apart, return_counts=True)
    order = np.argsort(-frequency, kind="stable")
    candidates = [int(distance) for distance in distances[order] if distance > 1]
    # a strip of two columns has no other distance
    return [columns for columns in (*candidates[:8], 2) if count % columns == 0 and columns <= count // 2]


def _match_grid(count: int, columns: int, faces: Sequence[Array]) -> tuple[bool, bool] | None:
    """Return which directions are closed if the faces are the cells of such a grid, each once."""
    rows = count // columns
    corner_cells: list[Array] = []
    shares: list[Array] = []
    wraps = [False, False]
    for each in faces:
        positions = []
        for axis, (numbers, size) in enumerate(((each // columns, rows), (each % columns, columns))):
            low, high = numbers.min(axis=1, keepdims=True), numbers.max(axis=1, keepdims=True)
            is_wrapped = (high - low == size - 1) & (size > 2)
            if not ((high - low == 1) | is_wrapped).all():
                return None
            start = np.where(is_wrapped, high, low)
            # 0 for the corner where the cell begins, 1 for the next
            offset = (numbers - start) % size
            if offset.max() > 1:
                return None
            wraps[axis] |= bool(is_wrapped.any())
            positions.append((start[:, 0], offset))
        (row, down), (column, right) = positions
        corners = np.sort(down * 2 + right, axis=1)
        if (np.diff(corners, axis=1) == 0).any():
            return None
        corner_cells.append(row * columns + column)
        shares.append(np.full(len(each), 2 if each.shape[1] == 4 else 1))
    filled = np.bincount(np.concatenate(corner_cells), np.concatenate(shares), minlength=count).reshape(rows, columns)
    expected = np.full((rows, columns), 2.0)
    if not wraps[0]:
        expected[-1] = 0
    if not wraps[1]:
        expected[:, -1] = 0
    return (wraps[0], wraps[1]) if (filled == expected).all() else None

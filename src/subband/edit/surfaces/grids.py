"""Surfaces as grids of points: rows × columns × (x, y, z), and what is closed about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["Mesh", "Surface", "check_counts", "check_surface", "make_mesh", "measure_normals", "triangulate"]


@dataclass(frozen=True, eq=False)
class Surface:
    """A grid of points in space: those of the surface itself, or the control points of a NURBS surface.

    Parameters
    ----------
    points : ndarray of float
        Rows × columns × 3, at least 2 of each.
    closed : pair of bool
        Whether the last row is followed by the first, and the last column by the first. A point is not repeated.
    degrees : pair of int, optional
        Of the splines along rows' and columns' numbers, if these are control points.
    weights : ndarray of float, optional
        Rows × columns, positive: the weights of control points.
    knots : pair of arrays, optional
        Of control points, one more than rows and the degree together; evenly spaced if left out. Closed directions
        have none.
    poles : pair of bool
        Whether the first and the last row are single points, such as the crown of a head.
    is_heights : bool
        Whether x and y only say where a height z is.
    name : str
        For messages.

    Raises
    ------
    ShapeError
        If the shapes do not go together.
    ArgumentError
        If a number is not finite, or a weight not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.edit import Surface
    >>> Surface.from_heights(np.zeros((4, 5))).shape
    (4, 5)
    """

    points: Array
    closed: tuple[bool, bool] = (False, False)
    degrees: tuple[int, int] | None = None
    weights: Array | None = None
    knots: tuple[Array, Array] | None = None
    poles: tuple[bool, bool] = (False, False)
    is_heights: bool = False
    name: str = "surface"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _as_points(self.points))
        for name in ("closed", "poles"):
            try:
                first, second = getattr(self, name)
            except (TypeError, ValueError):
                raise ArgumentTypeError(
                    f"{name}={getattr(self, name)!r} is no pair; give two, such as (False, True)"
                ) from None
            object.__setattr__(self, name, (bool(first), bool(second)))
        for is_closed, count, word in zip(self.closed, self.shape, ("rows", "columns"), strict=True):
            if is_closed and count < 3:
                raise ShapeError(f"closed={self.closed} is said of {count} {word}; going around takes at least 3")
        if self.closed[0] and any(self.poles):
            raise ArgumentError(f"poles={self.poles} are ends of rows, and closed={self.closed} says there are none")
        if self.degrees is None and (self.weights is not None or self.knots is not None):
            raise ArgumentError("weights and knots belong to control points; give their degrees too, such as (3, 3)")
        if self.degrees is not None:
            _check_net(self)

    @classmethod
    def from_heights(cls, heights: Any, spacing: float | tuple[float, float] = 1.0, name: str = "heights") -> Surface:
        """Make a surface of heights over a regular grid, its middle at the origin.

        Parameters
        ----------
        heights : array_like
            Rows × columns.
        spacing : float or pair of float
            Distance of rows and of columns.

        Examples
        --------
        >>> from subband.edit import Surface
        >>> Surface.from_heights([[0, 1], [2, 3]], spacing=2.0).points[1, 1]
        array([ 1., -1.,  3.])
        """
        z = np.asarray(heights)
        if z.ndim != 2:
            raise ShapeError(f"heights have the shape {z.shape}; give rows × columns")
        if z.dtype.kind not in "iuf":
            raise DtypeError(f"heights hold {z.dtype}; give real numbers")
        try:
            steps = np.broadcast_to(np.asarray(spacing, np.float64), 2)
        except (TypeError, ValueError):
            steps = np.zeros(2)
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            raise ArgumentError(f"spacing={spacing} is not a distance; give a positive number, or two")
        down, right = ((np.arange(count) - (count - 1) / 2) * step for count, step in zip(z.shape, steps, strict=True))
        # rows go down the image, as y goes down the page
        y, x = np.meshgrid(-down, right, indexing="ij")
        return cls(np.stack([x, y, z.astype(np.float64)], axis=-1), is_heights=True, name=name)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.points.shape[0], self.points.shape[1]

    @property
    def is_net(self) -> bool:
        """Whether the points are control points."""
        return self.degrees is not None

    def replace_points(self, points: Array) -> Surface:
        """Return the surface with other points."""
        return replace(self, points=points)

    def __repr__(self) -> str:
        kind = f"control net of degrees {self.degrees}" if self.is_net else "heights" if self.is_heights else "points"
        closed = ", closed" if any(self.closed) else ""
        return f"<Surface {self.name!r}: {self.shape[0]} × {self.shape[1]} {kind}{closed}>"


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices, normals and triangles, for drawing.

    Attributes
    ----------
    vertices : ndarray of float32
        Rows × columns × 3.
    normals : ndarray of float32
        Of the same shape, of length 1.
    triangles : ndarray of int32
        Numbers of three vertices each, counted row by row.
    """

    vertices: Array
    normals: Array
    triangles: Array


def check_counts(name: str, counts: Any, least: int) -> tuple[int, int]:
    """Return numbers of rows and columns, or refuse them.

    Examples
    --------
    >>> check_counts("size", [480, 640], 1)
    (480, 640)
    """
    try:
        rows, columns = map(index, counts)
    except (TypeError, ValueError):
        rows = columns = least - 1
    if min(rows, columns) < least:
        raise ShapeError(f"{name}={counts!r} is not rows and columns; give two integers of at least {least}")
    return rows, columns


def check_surface(surface: Any) -> None:
    """Check that an object is a surface."""
    if not isinstance(surface, Surface):
        raise ArgumentTypeError(f"surface is a {type(surface).__name__}; make a Surface of its points")


def make_mesh(points: Array, closed: tuple[bool, bool], poles: tuple[bool, bool] = (False, False)) -> Mesh:
    """Make a mesh of the points of a surface.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.edit import Surface
    >>> from subband.edit.surfaces import make_mesh
    >>> mesh = make_mesh(Surface.from_heights(np.zeros((3, 4))).points, (False, False))
    >>> mesh.triangles.shape, mesh.normals.shape
    ((12, 3), (3, 4, 3))
    """
    vertices = np.ascontiguousarray(points, np.float32)
    return Mesh(vertices, measure_normals(vertices, closed, poles), triangulate(vertices.shape[:2], closed))


def measure_normals(points: Array, closed: tuple[bool, bool], poles: tuple[bool, bool] = (False, False)) -> Array:
    """Return the normals at the points of a grid, from the differences of neighbours, in the points' own dtype."""
    down, right = (_differentiate(points, axis, closed[axis]) for axis in (0, 1))
    normals = _cross(down, right)
    for row, is_pole in zip((0, -1), poles, strict=True):
        if is_pole:
            # the differences along a pole are 0, so it takes the mean of the ring beside it
            beside = 1 if row == 0 else -2
            normals[row] = normals[beside].sum(axis=0)
    lengths = np.sqrt(np.einsum("ijk,ijk->ij", normals, normals))
    flat = lengths <= np.finfo(normals.dtype).tiny
    lengths[flat] = 1
    normals /= lengths[..., None]
    normals[flat] = (0, 0, 1)
    return normals


@lru_cache(maxsize=16)
def _triangulate(shape: tuple[int, int], closed: tuple[bool, bool]) -> Array:
    rows, columns = shape
    numbers = np.arange(rows * columns, dtype=np.int32).reshape(shape)
    if closed[0]:
        numbers = np.concatenate([numbers, numbers[:1]], axis=0)
    if closed[1]:
        numbers = np.concatenate([numbers, numbers[:, :1]], axis=1)
    a, b, c, d = (part.ravel() for part in (numbers[:-1, :-1], numbers[1:, :-1], numbers[1:, 1:], numbers[:-1, 1:]))
    triangles = np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)
    triangles.setflags(write=False)
    return triangles


def triangulate(shape: tuple[int, ...], closed: tuple[bool, bool]) -> Array:
    """Return two triangles for each cell of a grid; the array is kept, and not to be written to.

    Examples
    --------
    >>> triangulate((2, 2), (False, False))
    array([[0, 2, 3],
           [0, 3, 1]], dtype=int32)
    """
    rows, columns = shape
    return _triangulate((rows, columns), closed)


def _differentiate(points: Array, axis: int, is_closed: bool) -> Array:
    """Return the difference of the two neighbours of each point; at an open end, that of the point and its one."""
    x = np.swapaxes(points, 0, axis)
    result = np.empty_like(x)
    np.subtract(x[2:], x[:-2], out=result[1:-1])
    if is_closed:
        result[0], result[-1] = x[1] - x[-1], x[0] - x[-2]
    else:
        result[0], result[-1] = x[1] - x[0], x[-1] - x[-2]
    return np.swapaxes(result, 0, axis)


def _cross(a: Array, b: Array) -> Array:
    """Do what numpy.cross does, with fewer copies."""
    result = np.empty(a.shape, a.dtype)
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        np.multiply(a[..., i], b[..., j], out=result[..., axis])
        result[..., axis] -= a[..., j] * b[..., i]
    return result


def _as_points(points: Any) -> Array:
    try:
        array = np.asarray(points)
    except ValueError:
        raise ShapeError("points have rows of unequal length; a grid needs as many points in every row") from None
    if array.dtype.kind == "O":
        raise ShapeError("points hold no numbers, or rows of unequal length; a grid needs as many in every row")
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"points hold {array.dtype}; give real numbers")
    if array.ndim != 3 or array.shape[2] != 3:
        raise ShapeError(f"points have the shape {array.shape}; give rows × columns × 3, for x, y and z")
    if min(array.shape[:2]) < 2:
        raise ShapeError(f"points of shape {array.shape} are a line; a surface needs 2 rows and 2 columns")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(array.sum(dtype=np.float64)):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            row, column, axis = bad[0].tolist()
            raise ArgumentError(
                f"points hold {len(bad)} coordinates that are not finite, the first at row {row}, column {column}, "
                f"{'xyz'[axis]}; fill such holes before"
            )
    return array


def _as_numbers(name: str, values: Any) -> Array:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} hold no real numbers; give an array of floating point") from None


def _check_net(surface: Surface) -> None:
    """Refuse degrees, weights and knots that do not belong to the points."""
    shape = surface.shape
    try:
        first, second = map(index, surface.degrees or ())
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"degrees={surface.degrees!r} are not two integers; give a pair such as (3, 3)"
        ) from None
    degrees = first, second
    for degree, count, word in zip(degrees, shape, ("rows", "columns"), strict=True):
        if not 1 <= degree < count:
            raise ArgumentError(f"degree {degree} does not go with {count} {word}; use 1 to {count - 1}")
    object.__setattr__(surface, "degrees", degrees)
    if surface.weights is not None:
        weights = _as_numbers("weights", surface.weights)
        if weights.shape != shape:
            raise ShapeError(f"weights have the shape {weights.shape}, and the points {shape}; give one for each")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ArgumentError("weights hold numbers that are not positive; a NURBS surface needs all above 0")
        object.__setattr__(surface, "weights", None if (weights == weights.flat[0]).all() else weights)
    if surface.knots is not None:
        if any(surface.closed):
            raise ArgumentError("knots of closed directions are evenly spaced; leave knots out")
        try:
            down, right = surface.knots
        except (TypeError, ValueError):
            raise ArgumentTypeError("knots are no pair; give those along rows and those along columns") from None
        vectors = (_as_numbers("knots", down), _as_numbers("knots", right))
        for vector, degree, count, word in zip(vectors, degrees, shape, ("rows", "columns"), strict=True):
            wanted = count + degree + 1
            if vector.shape != (wanted,):
                raise ShapeError(
                    f"knots along {word} are {vector.size}; {count} points of degree {degree} need {wanted}"
                )
            if not np.isfinite(vector).all() or (np.diff(vector) < 0).any() or vector[degree] >= vector[count]:
                raise ArgumentError(f"knots along {word} must be finite, must not fall, and must span something")
        object.__setattr__(surface, "knots", vectors)

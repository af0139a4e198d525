"""NURBS surfaces: evaluating nets of control points, and exchanging them with geomdl.

Both directions of a net are evaluated one after the other, for all points at once: at each parameter only `degree + 1`
control points count, whose weights are the same for all curves of the other direction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from subband.edit.surfaces.grids import Surface, check_counts, check_surface
from subband.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from subband.typing import Array

__all__ = ["evaluate", "from_geomdl", "make_knots", "measure_basis", "to_geomdl"]


def evaluate(surface: Surface, shape: tuple[int, int] | None = None) -> Array:
    """Return points of the surface: those of the grid itself, or those that a net of control points makes.

    Parameters
    ----------
    surface : Surface
        If its points are not control points, they are returned.
    shape : pair of int, optional
        How many rows and columns of points of a NURBS surface; as many as control points if left out. Their
        parameters are evenly spaced, from end to end where the surface is open.

    Returns
    -------
    ndarray of float
        Rows × columns × 3, of the dtype of the points.

    Examples
    --------
    >>> from subband.edit import Surface
    >>> from subband.edit.surfaces import evaluate
    >>> corners = [[[0, 0, 0], [2, 0, 0]], [[0, 2, 0], [2, 2, 4]]]
    >>> evaluate(Surface(corners, degrees=(1, 1)), (3, 3))[1, 1]
    array([1., 1., 1.])
    """
    check_surface(surface)
    if surface.degrees is None:
        return surface.points
    shape = surface.shape if shape is None else check_counts("shape", shape, 2)
    values = surface.points
    if surface.weights is not None:
        weights = surface.weights[..., None].astype(values.dtype)
        values = np.concatenate([values * weights, weights], axis=-1)
    for axis in (0, 1):
        # knots as tuples, so that what they lead to can be kept
        knots = None if surface.knots is None else tuple(surface.knots[axis].tolist())
        basis = _plan_axis(surface.shape[axis], surface.degrees[axis], surface.closed[axis], knots, shape[axis])
        values = _apply_axis(values, axis, *basis)
    if surface.weights is not None:
        values = values[..., :3] / values[..., 3:]
    return np.ascontiguousarray(values)


def make_knots(count: int, degree: int) -> Array:
    """Return evenly spaced knots from 0 to 1 that let the surface end at its outermost control points.

    Examples
    --------
    >>> make_knots(5, 3)
    array([0. , 0. , 0. , 0. , 0.5, 1. , 1. , 1. , 1. ])
    """
    inner = np.linspace(0, 1, count - degree + 1)
    return np.concatenate([np.zeros(degree), inner, np.ones(degree)])


def measure_basis(knots: Array, degree: int, parameters: Array) -> tuple[Array, Array]:
    """Return the B-splines that are not zero at some parameters, and the first control point of each.

    Parameters
    ----------
    knots : ndarray of float
        Not falling.
    degree : int
        Of the splines.
    parameters : ndarray of float
        Between the knots number `degree` and number `degree` from the end.

    Returns
    -------
    first : ndarray of int
        Number of the first control point that counts, for each parameter.
    weights : ndarray of float
        Parameters × (degree + 1); each row sums to 1.

    Notes
    -----
    The recursion of Cox and de Boor, for all parameters at once.

    Examples
    --------
    >>> first, weights = measure_basis(make_knots(4, 2), 2, np.array([0.0, 0.25, 1.0]))
    >>> first, weights[1]
    (array([0, 0, 1]), array([0.25 , 0.625, 0.125]))
    """
    last = len(knots) - degree - 2
    span = np.clip(np.searchsorted(knots, parameters, side="right") - 1, degree, last)
    # the last parameter belongs to the last span that is not empty
    while (empty := (knots[span] == knots[span + 1]) & (span > degree)).any():
        span = span - empty
    weights = np.zeros((len(parameters), degree + 1))
    weights[:, 0] = 1
    for order in range(1, degree + 1):
        saved = np.zeros(len(parameters))
        for index in range(order):
            right = knots[span + index + 1] - parameters
            left = parameters - knots[span + 1 - order + index]
            width = right + left
            share = np.divide(weights[:, index], width, out=np.zeros(len(parameters)), where=width > 0)
            weights[:, index] = saved + right * share
            saved = left * share
        weights[:, order] = saved
    return span - degree, weights


def to_geomdl(surface: Surface) -> Any:
    """Return the surface as geomdl knows it.

    Closed directions are written out: their first control points are repeated behind the last.

    Returns
    -------
    geomdl.BSpline.Surface or geomdl.NURBS.Surface
        Of which the second has weights.

    Raises
    ------
    ArgumentError
        If the points are not control points.
    MissingExtraError
        If geomdl is not installed.

    Examples
    --------
    >>> from subband.edit.surfaces import shapes, to_geomdl
    >>> to_geomdl(shapes.head((32, 32))).degree_u
    3
    """
    if surface.degrees is None:
        raise ArgumentError(f"{surface.name!r} holds points of the surface itself; control points have degrees")
    library = _load_geomdl()
    points, weights, knots = repeat_closed(surface)
    is_rational = weights is not None
    made = library.NURBS.Surface(normalize_kv=False) if is_rational else library.BSpline.Surface(normalize_kv=False)
    made.degree_u, made.degree_v = surface.degrees
    rows, columns = points.shape[:2]
    if weights is not None:
        points = np.concatenate([points * weights[..., None], weights[..., None]], axis=-1)
    made.set_ctrlpts(points.reshape(rows * columns, -1).tolist(), rows, columns)
    made.knotvector_u, made.knotvector_v = (vector.tolist() for vector in knots)
    return made


def from_geomdl(source: Any, closed: tuple[bool, bool] = (False, False)) -> Surface:
    """Return a surface of geomdl as ours.

    Parameters
    ----------
    source : geomdl.BSpline.Surface or geomdl.NURBS.Surface
        With control points and knots.
    closed : pair of bool
        Which directions repeat their first control points behind the last, as `to_geomdl` does.

    Raises
    ------
    ArgumentTypeError
        If it is no surface of geomdl.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.edit.surfaces import from_geomdl, shapes, to_geomdl
    >>> head = shapes.head((32, 32))
    >>> np.allclose(from_geomdl(to_geomdl(head), head.closed).points, head.points)
    True
    """
    try:
        rows, columns = source.ctrlpts_size_u, source.ctrlpts_size_v
        points = np.asarray(source.ctrlpts, np.float64).reshape(rows, columns, -1)
        weights = np.asarray(source.weights, np.float64).reshape(rows, columns) if source.rational else None
        degrees = (int(source.degree_u), int(source.degree_v))
        knots = (np.asarray(source.knotvector_u, np.float64), np.asarray(source.knotvector_v, np.float64))
    except (AttributeError, TypeError, ValueError) as error:
        raise ArgumentTypeError(f"source is a {type(source).__name__} and no complete surface of geomdl") from error
    return fold_up(points, weights, knots, degrees, closed)


def repeat_closed(surface: Surface) -> tuple[Array, Array | None, tuple[Array, Array]]:
    """Return points, weights and knots in which closed directions repeat their first control points at the end."""
    if surface.degrees is None:
        raise ArgumentError(f"{surface.name!r} holds points of the surface itself; control points have degrees")
    points, weights = surface.points, surface.weights
    vectors = []
    for axis, (degree, closed) in enumerate(zip(surface.degrees, surface.closed, strict=True)):
        count = surface.shape[axis]
        if closed:
            numbers = np.arange(count + degree) % count
            points = np.take(points, numbers, axis)
            weights = None if weights is None else np.take(weights, numbers, axis)
            vectors.append(_make_closed_knots(count, degree))
        else:
            vectors.append(make_knots(count, degree) if surface.knots is None else surface.knots[axis])
    return points, weights, (vectors[0], vectors[1])


def fold_up(
    points: Array,
    weights: Array | None,
    knots: tuple[Array, Array],
    degrees: tuple[int, int],
    closed: tuple[bool, bool],
    **settings: Any,
) -> Surface:
    """Undo `repeat_closed`."""
    for axis, (degree, is_closed) in enumerate(zip(degrees, closed, strict=True)):
        if is_closed:
            count = points.shape[axis] - degree
            if count < 2:
                raise ArgumentError(f"closed={closed} is said of {points.shape[axis]} control points; that is too few")
            # in floating point the ends are equal only as nearly as they were written
            repeated = np.take(points, np.arange(count, count + degree), axis)
            start = np.take(points, np.arange(degree) % count, axis)
            if not np.allclose(repeated, start, rtol=1e-6):
                raise ArgumentError(
                    f"closed={closed} is said of control points whose last {degree} along axis {axis} do not repeat "
                    "the first; leave closed out"
                )
            points = np.take(points, np.arange(count), axis)
            weights = None if weights is None else np.take(weights, np.arange(count), axis)
    is_even = all(
        is_closed or _is_even(vector, count, degree)
        for vector, count, degree, is_closed in zip(knots, points.shape[:2], degrees, closed, strict=True)
    )
    if not is_even and any(closed):
        raise ArgumentError("knots are uneven in an open direction beside a closed one, which is not known here")
    return Surface(points, closed, degrees, weights, None if is_even else knots, **settings)


def _is_even(knots: Array, count: int, degree: int) -> bool:
    """Tell whether knots are those of `make_knots` but for where they begin and end."""
    if not 1 <= degree < count or knots.shape != (count + degree + 1,) or not knots[-1] > knots[0]:
        return False
    return np.allclose((knots - knots[0]) / (knots[-1] - knots[0]), make_knots(count, degree))


def _make_closed_knots(count: int, degree: int) -> Array:
    """Return evenly spaced knots of a direction that comes back to its beginning."""
    return (np.arange(count + 2 * degree + 1) - degree) / count


@lru_cache(maxsize=64)
def _plan_axis(
    count: int, degree: int, closed: bool, knots: tuple[float, ...] | None, outputs: int
) -> tuple[Array, Array]:
    """Return which control points count for each of the outputs along an axis, and their weights."""
    if closed:
        parameters = np.arange(outputs) / outputs
        first, weights = measure_basis(_make_closed_knots(count, degree), degree, parameters)
    else:
        vector = make_knots(count, degree) if knots is None else np.asarray(knots)
        parameters = np.linspace(vector[degree], vector[count], outputs)
        first, weights = measure_basis(vector, degree, parameters)
    return (first[:, None] + np.arange(degree + 1)) % count, weights


def _apply_axis(values: Array, axis: int, numbers: Array, weights: Array) -> Array:
    """Mix the control points along one axis."""
    along = [1, 1, 1]
    along[axis] = -1
    result: Array | None = None
    for index in range(numbers.shape[1]):
        part = np.take(values, numbers[:, index], axis)
        part *= weights[:, index].astype(values.dtype).reshape(along)
        if result is None:
            result = part
        else:
            result += part
    if result is None:
        raise AssertionError
    return result


def _load_geomdl() -> Any:
    try:
        import geomdl.BSpline
        import geomdl.NURBS
    except ImportError:
        raise MissingExtraError("exchanging surfaces with geomdl", "surfaces") from None
    return geomdl

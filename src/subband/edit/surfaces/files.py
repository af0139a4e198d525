"""Surfaces in files: meshes that are grids as OBJ and PLY, and nets of control points as JSON.

The JSON is that of geomdl, whose programs read it too. Closed directions are repeated in it, and a note beside says
so.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from subband.edit.surfaces import mesh_files
from subband.edit.surfaces.grid_search import find_grid, find_lattice, is_lattice
from subband.edit.surfaces.grids import Surface, check_surface
from subband.edit.surfaces.nurbs import evaluate, fold_up, repeat_closed
from subband.errors import ArgumentError, FormatError, ShapeError, SubbandError
from subband.outputs import place_output
from subband.typing import Array

__all__ = ["ENDINGS", "read_surface", "write_surface"]

#: What surfaces are written to.
ENDINGS = (".json", ".obj", ".ply")

_NET = (
    "it is to have rows of points, as in "
    '{"points": [[[x, y, z], ...], ...], "degrees": [3, 3], "closed": [false, true]}'
)

#: Where our notes stand in a file of geomdl's.
_NOTES = "subband"


def read_surface(path: str | os.PathLike[str], *, rows: int | None = None) -> Surface:
    """Read a surface.

    Parameters
    ----------
    path : path
        OBJ or PLY: a mesh whose vertices are stored row by row, joined by quads or pairs of triangles, or by nothing.
        JSON: a net of control points.
    rows : int, optional
        How many rows there are, where no faces tell.

    Returns
    -------
    Surface
        Whether it is closed, is one of heights, or begins or ends in a point is seen from the mesh. A last row or
        column that repeats the first is left out, and the direction is closed.

    Raises
    ------
    FormatError
        If the file cannot be read, or its mesh is no grid.
    ArgumentError
        If the ending is not known, or a coordinate is not finite.

    Examples
    --------
    >>> import tempfile
    >>> from subband.edit import read_surface
    >>> from subband.edit.surfaces import shapes, write_surface
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_surface(f"{folder}/ring.obj", shapes.ring((16, 16)))
    ...     read_surface(f"{folder}/ring.obj").closed
    (True, True)
    """
    path = Path(path)
    ending = _check_ending(path)
    if ending == ".json":
        return _read_net(path)
    vertices, faces = (mesh_files.read_obj if ending == ".obj" else mesh_files.read_ply)(path)
    count, closed = len(vertices), (False, False)
    if any(map(len, faces)):
        shape, closed = find_grid(count, faces, str(path))
        if rows is not None and rows != shape[0]:
            raise ArgumentError(f"rows={rows} is said of {str(path)!r}, whose faces make {shape[0]}; leave rows out")
    elif rows is not None:
        if rows < 2 or count % rows or count // rows < 2:
            raise ArgumentError(f"rows={rows} does not divide the {count} vertices of {str(path)!r} into a grid")
        shape = (rows, count // rows)
    else:
        shape = find_lattice(vertices, str(path))
    points = vertices.reshape(*shape, 3)
    return _make_surface(path, points, closed)


def write_surface(path: str | os.PathLike[str], surface: Surface, *, points: tuple[int, int] | None = None) -> None:
    """Write a surface; the file appears under its name only when it is complete.

    Parameters
    ----------
    path : path
        OBJ and PLY hold points of the surface, JSON what it is made of.
    surface : Surface
        Of control points, a mesh of points is made for OBJ and PLY.
    points : pair of int, optional
        Rows and columns of those; as many as control points if left out.

    Raises
    ------
    ArgumentError
        If the ending is not known, or the folder does not exist.
    OutputError
        If the disk is full, or the folder takes no files.
    """
    path = Path(path)
    ending = _check_ending(path)
    check_surface(surface)
    with place_output(path, overwrite=True) as unfinished:
        if ending == ".json":
            unfinished.write_text(json.dumps(_describe(surface)) + "\n", encoding="utf-8")
        else:
            write = mesh_files.write_obj if ending == ".obj" else mesh_files.write_ply
            write(unfinished, evaluate(surface, points), surface.closed)


def _check_ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ArgumentError(f"{path.name!r} has an ending that is not one of surfaces; use {', '.join(ENDINGS)}")
    return ending


def _make_surface(path: Path, points: Array, closed: tuple[bool, bool]) -> Surface:
    """Make a surface of the points of a mesh, and see what is special about it."""
    if points.ndim != 3:
        raise ShapeError(f"points have the shape {points.shape}; give rows × columns × 3, for x, y and z")
    for axis in (0, 1):
        # many programs repeat the first points where a surface is closed, to hang another texture on them
        if not closed[axis] and points.shape[axis] > 3 and _is_repeated(points, axis):
            points = np.delete(points, -1, axis)
            closed = (True, closed[1]) if axis == 0 else (closed[0], True)
    surface = Surface(points, closed, name=path.stem)
    if not any(closed) and is_lattice(surface.points):
        return Surface(points, is_heights=True, name=path.stem)
    if closed[0]:
        return surface
    size = float(np.ptp(surface.points, axis=(0, 1)).max())
    first, last = (bool(np.ptp(surface.points[row], axis=0).max() <= 1e-6 * size) and closed[1] for row in (0, -1))
    return Surface(points, closed, poles=(first, last), name=path.stem)


def _is_repeated(points: Array, axis: int) -> bool:
    """Tell whether the last row or column is the first one again, and a loop lies between."""
    ends = np.take(points, 0, axis) - np.take(points, -1, axis)
    size = float(np.ptp(points, axis=(0, 1)).max())
    return bool(np.abs(ends).max() <= 1e-6 * size) and float(np.ptp(points, axis=axis).max()) > 1e-3 * size


def _describe(surface: Surface) -> dict[str, Any]:
    """Return a surface as what JSON can hold."""
    notes: dict[str, Any] = {"closed": surface.closed, "poles": surface.poles, "name": surface.name}
    if surface.degrees is None:
        # to those who know only nets, a net of degree one through all points
        notes["kind"] = "heights" if surface.is_heights else "points"
        net = Surface(surface.points, surface.closed, (1, 1))
    else:
        notes["kind"] = "net"
        net = surface
    points, weights, knots = repeat_closed(net)
    rows, columns = points.shape[:2]
    control: dict[str, Any] = {"points": points.reshape(-1, 3).tolist()}
    if weights is not None:
        control["weights"] = weights.ravel().tolist()
    data = {
        "type": "spline",
        "rational": weights is not None,
        "dimension": 3,
        "degree_u": (net.degrees or (1, 1))[0],
        "degree_v": (net.degrees or (1, 1))[1],
        "knotvector_u": knots[0].tolist(),
        "knotvector_v": knots[1].tolist(),
        "size_u": rows,
        "size_v": columns,
        "control_points": control,
        _NOTES: notes,
    }
    return {"shape": {"type": "surface", "count": 1, "data": [data]}}


def _read_net(path: Path) -> Surface:
    """Read a net of control points: the JSON of geomdl, or of points row by row."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{str(path)!r} is no JSON: {error}") from None
    try:
        if isinstance(content, dict) and "shape" in content:
            shape = content["shape"]
            if shape.get("type") != "surface" or len(shape["data"]) != 1:
                raise FormatError(f"{str(path)!r} holds {shape.get('type')!r} × {len(shape['data'])}; give one surface")
            return _read_geomdl(path, shape["data"][0])
        if isinstance(content, dict) and "points" in content:
            return _read_plain(path, content)
        if isinstance(content, list):
            return _make_surface(path, _as_grid(content), (False, False))
    except SubbandError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"{str(path)!r} is no control net: {type(error).__name__} {error}; {_NET}") from error
    raise FormatError(f"{str(path)!r} is no control net; {_NET}")


def _read_geomdl(path: Path, data: dict[str, Any]) -> Surface:
    notes = data.get(_NOTES, {})
    rows, columns = int(data["size_u"]), int(data["size_v"])
    points = np.asarray(data["control_points"]["points"], np.float64)
    if points.shape != (rows * columns, 3):
        raise FormatError(
            f"{str(path)!r} has control points of shape {points.shape}, and {rows} × {columns} are promised"
        )
    weights = data["control_points"].get("weights")
    surface = fold_up(
        points.reshape(rows, columns, 3),
        None if weights is None else np.asarray(weights, np.float64).reshape(rows, columns),
        (np.asarray(data["knotvector_u"], np.float64), np.asarray(data["knotvector_v"], np.float64)),
        (int(data["degree_u"]), int(data["degree_v"])),
        _read_pair(notes.get("closed")),
        poles=_read_pair(notes.get("poles")),
        name=str(notes.get("name", path.stem)),
    )
    kind = notes.get("kind", "net")
    if kind == "net":
        return surface
    return Surface(surface.points, surface.closed, poles=surface.poles, is_heights=kind == "heights", name=surface.name)


def _read_plain(path: Path, content: dict[str, Any]) -> Surface:
    degrees = content.get("degrees")
    weights = content.get("weights")
    return Surface(
        _as_grid(content["points"]),
        _read_pair(content.get("closed")),
        None if degrees is None else (int(degrees[0]), int(degrees[1])),
        None if weights is None else np.asarray(weights, np.float64),
        poles=_read_pair(content.get("poles")),
        name=path.stem,
    )


def _as_grid(rows: Any) -> Array:
    """Return rows of points as an array, or say which row is not as long as the first."""
    lengths = [len(row) for row in rows]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            raise ShapeError(
                f"row {number} has {length} points, and row 0 has {lengths[0]}; a grid needs as many in every row"
            )
    return np.asarray(rows, np.float64)


def _read_pair(value: Any) -> tuple[bool, bool]:
    if value is None:
        return False, False
    first, second = value
    return bool(first), bool(second)

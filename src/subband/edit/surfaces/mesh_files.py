"""Meshes in files: Wavefront OBJ, and PLY in text and in both orders of bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from subband.edit.surfaces.grids import triangulate
from subband.errors import FormatError
from subband.typing import Array

__all__ = ["read_obj", "read_ply", "write_obj", "write_ply"]

_PLY_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_PLY_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_MOST_HEADER = 64 * 1024


def read_obj(path: Path) -> tuple[Array, list[Array]]:
    """Return the vertices of an OBJ file, and its triangles and quads.

    Raises
    ------
    FormatError
        If a line cannot be read, or a face has more than four corners.
    """
    vertices: list[list[float]] = []
    faces: dict[int, list[list[int]]] = {3: [], 4: []}
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
                if len(vertices[-1]) != 3:
                    raise ValueError
            elif words[0] == "f":
                corners = [int(word.split("/", 1)[0]) for word in words[1:]]
                # negative ones count from the last vertex so far
                found = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
                if len(found) not in faces:
                    raise FormatError(
                        f"{str(path)!r} has a face of {len(found)} corners in line {number}; grids have 3 or 4"
                    )
                faces[len(found)].append(found)
            elif words[0] in ("surf", "cstype"):
                raise FormatError(
                    f"{str(path)!r} holds free-form surfaces, in line {number}; give control nets as JSON"
                )
        except ValueError as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{str(path)!r}: line {number} cannot be read: {line.strip()[:60]!r}") from None
    if not vertices:
        raise FormatError(f"{str(path)!r} holds no vertices, and so no surface")
    return np.asarray(vertices), _tabulate(path, faces)


def write_obj(path: Path, points: Array, closed: tuple[bool, bool]) -> None:
    """Write a grid of points as quads."""
    rows, columns = points.shape[:2]
    # nine digits give back every bit of single precision, seventeen those of double
    digits = "%.9g" if points.dtype == np.float32 else "%.17g"
    lines = [f"# a grid of {rows} rows and {columns} columns"]
    lines += [f"v {digits} {digits} {digits}" % tuple(point) for point in points.reshape(-1, 3).tolist()]
    lines += ["f {} {} {} {}".format(*quad) for quad in (_list_quads((rows, columns), closed) + 1).tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_ply(path: Path) -> tuple[Array, list[Array]]:
    """Return the vertices of a PLY file, and its triangles and quads.

    Raises
    ------
    FormatError
        If it is no PLY file, is cut off, or has no coordinates.
    """
    content = path.read_bytes()
    order, elements, body = _read_ply_header(path, content)
    try:
        tables = (
            _read_ply_text(content[body:], elements) if not order else _read_ply_bytes(content, body, elements, order)
        )
        vertices = np.stack([np.asarray(tables["vertex"][axis], np.float64) for axis in "xyz"], axis=-1)
    except (KeyError, IndexError):
        raise FormatError(f"{str(path)!r} has no vertices with x, y and z") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"{str(path)!r} is cut off, or its numbers cannot be read") from error
    if vertices.ndim != 2 or not len(vertices):
        raise FormatError(f"{str(path)!r} holds no vertices, and so no surface")
    faces: dict[int, list[Any]] = {3: [], 4: []}
    table = tables.get("face", {})
    lists = table.get("vertex_indices", table.get("vertex_index", []))
    if len(lists) and np.ndim(lists[0]) != 1:
        raise FormatError(f"{str(path)!r} has faces that are no lists of vertices")
    if isinstance(lists, np.ndarray) and lists.shape[1] in faces:
        return vertices, [lists.astype(np.int64)]
    for face in lists:
        if len(face) not in faces:
            raise FormatError(f"{str(path)!r} has a face of {len(face)} corners; grids have 3 or 4")
        faces[len(face)].append(face)
    return vertices, _tabulate(path, faces)


def write_ply(path: Path, points: Array, closed: tuple[bool, bool]) -> None:
    """Write a grid of points as quads, in bytes of little order."""
    quads = _list_quads(points.shape[:2], closed)
    kind, dtype = ("float", "<f4") if points.dtype == np.float32 else ("double", "<f8")
    rows, columns = points.shape[:2]
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"comment a grid of {rows} rows and {columns} columns",
        f"element vertex {rows * columns}",
        *(f"property {kind} {axis}" for axis in "xyz"),
        f"element face {len(quads)}",
        "property list uchar int vertex_indices",
        "end_header",
    ]
    table = np.empty(len(quads), np.dtype([("count", "u1"), ("corners", "<i4", 4)]))
    table["count"], table["corners"] = 4, quads
    with path.open("wb") as file:
        file.write(("\n".join(header) + "\n").encode("ascii"))
        file.write(points.astype(dtype).tobytes())
        file.write(table.tobytes())


def _tabulate(path: Path, faces: dict[int, list[Any]]) -> list[Array]:
    """Return the vertices of faces as tables, one for each number of corners."""
    try:
        return [np.asarray(each, np.int64).reshape(-1, size) for size, each in faces.items()]
    except OverflowError:
        raise FormatError(f"{str(path)!r} has a face with a vertex beyond all there are; it is damaged") from None


def _list_quads(shape: tuple[int, ...], closed: tuple[bool, bool]) -> Array:
    """Return the four corners of each cell, in the order of its two triangles."""
    pairs = triangulate(shape, closed).reshape(-1, 6)
    return np.ascontiguousarray(pairs[:, [0, 1, 2, 5]])


#: Of each element its name, its number, and name and types of its properties; lists have two types.
_Elements = list[tuple[str, int, list[tuple[str, tuple[str, ...]]]]]


def _read_ply_header(path: Path, content: bytes) -> tuple[str, _Elements, int]:
    """Return the order of bytes, what there is, and where it begins."""
    end = content.find(b"end_header", 0, _MOST_HEADER)
    stop = content.find(b"\n", end)
    if not content.startswith(b"ply") or end < 0 or stop < 0:
        raise FormatError(f"{str(path)!r} is no PLY file, or its header is cut off")
    order: str | None = None
    elements: _Elements = []
    for line in content[:end].decode("ascii", "replace").splitlines():
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = _PLY_ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append((words[1], int(words[2]), []))
            elif words[:2] == ["property", "list"]:
                elements[-1][2].append((words[4], (_PLY_TYPES[words[2]], _PLY_TYPES[words[3]])))
            elif words[:1] == ["property"]:
                elements[-1][2].append((words[2], (_PLY_TYPES[words[1]],)))
        except (KeyError, IndexError, ValueError):
            raise FormatError(f"{str(path)!r} has a header line that cannot be read: {line[:60]!r}") from None
    if order is None:
        raise FormatError(f"{str(path)!r} does not say its format")
    if any(count < 0 or count > len(content) for _, count, _ in elements):
        raise FormatError(f"{str(path)!r} promises more than it holds; it is cut off")
    return order, elements, stop + 1


def _read_ply_text(body: bytes, elements: _Elements) -> dict[str, dict[str, Any]]:
    lines = iter([line for line in body.decode("ascii", "replace").splitlines() if line.strip()])
    tables: dict[str, dict[str, Any]] = {}
    for name, count, properties in elements:
        table: dict[str, Any] = {title: [] for title, _ in properties}
        for _ in range(count):
            line = next(lines, None)
            if line is None:
                raise ValueError(name)
            words = line.split()
            for title, types in properties:
                length = 1
                if len(types) == 2:
                    length = int(words.pop(0)) if words else 0
                    table[title].append([int(float(word)) for word in words[:length]])
                else:
                    table[title] += [float(word) for word in words[:1]]
                if not 0 <= length <= len(words):
                    raise ValueError(line)
                del words[:length]
        tables[name] = table
    return tables


def _read_ply_bytes(content: bytes, offset: int, elements: _Elements, order: str) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for name, count, properties in elements:
        if all(len(types) == 1 for _, types in properties):
            dtype = np.dtype([(title, order + types[0]) for title, types in properties])
            rows = np.frombuffer(content, dtype, count, offset)
            tables[name] = {title: rows[title] for title, _ in properties}
            offset += dtype.itemsize * count
            continue
        if len(properties) == 1 and (lists := _read_equal_lists(content, offset, count, properties[0][1], order)):
            tables[name] = {properties[0][0]: lists[0]}
            offset = lists[1]
            continue
        table: dict[str, Any] = {title: [] for title, _ in properties}
        for _ in range(count):
            for title, types in properties:
                length = 1
                if len(types) == 2:
                    length = int(np.frombuffer(content, order + types[0], 1, offset)[0])
                    offset += np.dtype(types[0]).itemsize
                values = np.frombuffer(content, order + types[-1], length, offset)
                offset += values.nbytes
                table[title].append(values if len(types) == 2 else values[0])
        tables[name] = table
    return tables


def _read_equal_lists(
    content: bytes, offset: int, count: int, types: tuple[str, ...], order: str
) -> tuple[Array, int] | None:
    """Return lists of one length as a table, and where they end; None if their lengths differ."""
    if count == 0:
        return None
    length = int(np.frombuffer(content, order + types[0], 1, offset)[0])
    dtype = np.dtype([("count", order + types[0]), ("values", order + types[1], (length,))])
    if offset + dtype.itemsize * count > len(content):
        return None
    rows = np.frombuffer(content, dtype, count, offset)
    return (rows["values"], offset + dtype.itemsize * count) if (rows["count"] == length).all() else None

"""NRRD files, as 3D Slicer and Teem write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.base import SourceInfo
from subband.media.faults import explain_damage, require
from subband.media.formats.base import Format
from subband.media.geometry import find_affine, make_affine
from subband.media.lengths import convert_lengths, find_unit
from subband.media.volume_sinks import HeadedSink
from subband.media.volumes import VolumeSource, open_array
from subband.typing import Array

__all__ = ["FORMATS", "describe_nrrd", "open_nrrd"]

# What turns the axes of a space into right, anterior and superior.
_SPACES = {
    "right-anterior-superior": (1, 1, 1), "ras": (1, 1, 1), "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1),
}  # fmt: skip
_SPACE_KINDS = ("domain", "space")
_COLOUR_KINDS = ("3-color", "rgb-color")

_TYPES = {
    "int8": "int8", "uint8": "uint8", "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32",
    "int64": "int64", "uint64": "uint64", "float32": "float", "float64": "double",
}  # fmt: skip


def open_nrrd(path: Path) -> VolumeSource:
    """Open an NRRD file, with its data in it or beside it; it is read into memory.

    An axis that is no space, such as the directions of a diffusion scan, counts volumes.

    Raises
    ------
    MissingExtraError
        If pynrrd is not installed.
    FormatError
        If it is damaged, or has several axes that are no space.
    """
    nrrd = require("nrrd", "reading NRRD", "volumes")
    with explain_damage(path, "NRRD", nrrd.NRRDError, StopIteration):
        array, header = nrrd.read(str(path), index_order="C")
        steps, spatial, colour = _find_axes(path, header)
        array = _turn(path, array, spatial, colour)
        size, unit, affine = _find_position(header, steps, spatial)
    metadata = {} if affine is None else {"affine": affine}
    return open_array(array, path, "nrrd", metadata, voxel_size=size, voxel_unit=unit)


def _find_axes(path: Path, header: Any) -> tuple[list[Array | None], list[int], int | None]:
    """Return the step along each axis, which axes are space, the fastest first, and which is colour."""
    count = int(header["dimension"])
    kinds = [str(kind).lower() for kind in header.get("kinds", [""] * count)]
    given = header.get("space directions")
    steps: list[Array | None] = [None] * count
    if given is not None:
        for axis, step in enumerate(given):
            vector = np.array([] if step is None else step, float)
            steps[axis] = vector if vector.size == 3 and np.isfinite(vector).all() else None
    spatial = [axis for axis in range(count) if steps[axis] is not None]
    if not spatial:
        spatial = [axis for axis in range(count) if kinds[axis] in _SPACE_KINDS]
    colour = next((axis for axis in range(count) if kinds[axis] in _COLOUR_KINDS and header["sizes"][axis] == 3), None)
    if len(spatial) < 2:
        # nothing is said about axes: the first three are space
        spatial = [axis for axis in range(count) if axis != colour][:3]
    rest = [axis for axis in range(count) if axis not in spatial and axis != colour]
    if len(spatial) > 3 or sum(int(header["sizes"][axis]) > 1 for axis in rest) > 1 or (colour is not None and rest):
        raise FormatError(f"{str(path)!r} has the sizes {list(map(int, header['sizes']))}; a volume has three axes")
    return steps, spatial, colour


def _turn(path: Path, array: Array, spatial: Sequence[int], colour: int | None) -> Array:
    """Return the array as volumes × slices × rows × columns, or slices × rows × columns × 3."""
    count = array.ndim
    rest = [axis for axis in range(count) if axis not in spatial and axis != colour]
    single = [axis for axis in rest if array.shape[count - 1 - axis] == 1]
    counting = [axis for axis in rest if axis not in single]
    order = [*single, *counting, *sorted(spatial, reverse=True), *([] if colour is None else [colour])]
    turned: Array = array.transpose([count - 1 - axis for axis in order])[(0,) * len(single)]
    if counting and len(spatial) == 2:
        turned = turned[:, np.newaxis]
    if colour is not None and turned.ndim == 3:
        turned = turned[np.newaxis]
    if turned.ndim == 4 and counting and turned.shape[3] == 3:
        raise FormatError(f"{str(path)!r} holds volumes that are 3 columns wide, which are taken for colours")
    return turned


def _find_position(
    header: Any, steps: Sequence[Array | None], spatial: Sequence[int]
) -> tuple[Sequence[float] | None, str, Array | None]:
    """Return the size of voxels, their unit and the affine, as far as the header says so."""
    vectors = [steps[axis] for axis in spatial]
    if len(spatial) == 3 and all(vector is not None for vector in vectors):
        units = [str(unit) for unit in header.get("space units", ["mm"] * 3)]
        unit = find_unit(units[0])
        scales = convert_lengths((1.0,) * 3, units, unit) or (1.0,) * 3
        scaled = np.array(vectors, float) * scales
        sides = np.sqrt(np.square(scaled).sum(axis=1))
        signs = _SPACES.get(str(header.get("space", "")).lower().removesuffix("-time").removesuffix("t"))
        origin = np.array(header.get("space origin", [np.nan] * 3), float)
        affine = None
        if signs is not None and origin.shape == (3,):
            affine = make_affine(scaled * signs, np.nan_to_num(origin) * scales * signs)
        return sides[::-1].tolist(), unit, affine
    spacings = np.array(header.get("spacings", []), float)
    if len(spatial) == 3 and len(spacings) > max(spatial) and np.isfinite(spacings[spatial]).all():
        units = [str(unit) for unit in header.get("units", [])]
        named = [units[axis] for axis in spatial] if len(units) > max(spatial) and all(units) else ["mm"] * 3
        unit = find_unit(named[0])
        size = convert_lengths(np.abs(spacings[spatial]).tolist()[::-1], named[::-1], unit)
        return size, unit if size is not None else "mm", None
    return None, "mm", None


def describe_nrrd(info: SourceInfo, count: int) -> bytes:
    """Return the header of an NRRD file whose bare data follow, for so many slices of all groups."""
    depth = count // info.groups
    rows, columns = info.shape[:2]
    before = ["3"] if info.is_colour else []
    behind = [str(info.groups)] if info.groups > 1 else []
    sizes = [*before, str(columns), str(rows), str(depth), *behind]
    lines = ["NRRD0005", f"type: {_TYPES[info.dtype.name]}", f"dimension: {len(sizes)}"]
    affine = find_affine(info)
    none = [["none"] * len(each) for each in (before, behind)]
    if affine is not None:
        vectors = [_write_vector(affine[:3, axis]) for axis in range(3)]
        lines += [
            "space: right-anterior-superior",
            f"sizes: {' '.join(sizes)}",
            f"space directions: {' '.join([*none[0], *vectors, *none[1]])}",
            "space units: " + " ".join([f'"{info.voxel_unit}"'] * 3),
            f"space origin: {_write_vector(affine[:3, 3])}",
        ]
    else:
        lines.append(f"sizes: {' '.join(sizes)}")
        if info.voxel_size is not None:
            unknown = [["nan"] * len(each) for each in (before, behind)]
            sides = [repr(side) for side in info.voxel_size[::-1]]
            lines.append(f"spacings: {' '.join([*unknown[0], *sides, *unknown[1]])}")
            empty = [['""'] * len(each) for each in (before, behind)]
            named = [f'"{info.voxel_unit}"'] * 3
            lines.append(f"units: {' '.join([*empty[0], *named, *empty[1]])}")
    kinds = [*(["RGB-color"] if before else []), *["domain"] * 3, *(["list"] if behind else [])]
    lines += [f"kinds: {' '.join(kinds)}", "endian: little", "encoding: raw", "", ""]
    return "\n".join(lines).encode()


def _write_vector(numbers: Array) -> str:
    return f"({','.join(repr(float(number)) for number in numbers)})"


FORMATS = (
    Format(
        "NRRD",
        (".nrrd", ".nhdr"),
        ("volume",),
        only_read=(".nhdr",),
        about="bare and packed",
        kept="space directions and origin",
        extra="volumes",
        open_volume=lambda path, _: open_nrrd(path),
        create=lambda path, info, writing: HeadedSink(path, info, describe_nrrd, **writing.kept),
    ),
)

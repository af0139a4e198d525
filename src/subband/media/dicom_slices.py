"""The slices of a DICOM series: what their headers say, in which order they lie, and where in the patient."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.geometry import PlaceWarning, flip_sides, make_affine
from subband.typing import Array

__all__ = ["Arrangement", "DicomSeries", "Slice", "arrange_slices", "find_numbers", "find_text", "list_slices"]

# Projections, photographs and the like: several of them are several images, not slices of one body.
_PLANAR = {"CR", "DX", "ES", "GM", "IO", "IVUS", "MG", "OP", "PX", "RF", "SM", "US", "XA", "XC"}

# How much the distance of slices may vary: positions are rounded, and tables do not move exactly.
_UNEVEN = 0.05


@dataclass(frozen=True)
class Slice:
    """One image of a series.

    Attributes
    ----------
    file, frame
        Where it is.
    position, directions
        Of its first voxel, and of its rows and columns, as the patient lies (LPS), if the file says so.
    spacing
        The distance of rows and of columns.
    depth
        The distance to the next slice that the file names.
    slope, intercept
        What turns stored values into those that are meant.
    order
        What tells images at the same position apart: time, echo, acquisition, number.
    """

    file: Path
    frame: int
    position: tuple[float, ...] | None
    directions: tuple[float, ...] | None
    spacing: tuple[float, ...] | None
    depth: float | None
    slope: float
    intercept: float
    order: tuple[float, ...]
    number: int | None
    is_moment: bool


@dataclass(frozen=True)
class Arrangement:
    """Slices in order, the volumes that they make, and where these lie."""

    slices: tuple[Slice, ...]
    groups: int
    affine: Array | None
    voxel_size: tuple[float, float, float] | None


@dataclass(frozen=True)
class DicomSeries:
    """What a sink that writes DICOM again has to know, in ``info.metadata["dicom"]``.

    Attributes
    ----------
    slices : tuple of Slice
        In the order of the frames.
    stored : numpy.dtype
        Of the values in the files.
    limits : tuple of int
        The least and the largest stored value.
    is_inverted : bool
        Whether small values were meant to be bright (MONOCHROME1), and have been turned.
    is_scaled : bool
        Whether stored values were multiplied by slopes.
    """

    slices: tuple[Slice, ...]
    stored: np.dtype[Any]
    limits: tuple[int, int]
    is_inverted: bool
    is_scaled: bool


def find_numbers(dataset: Any, name: str, count: int = 1) -> tuple[float, ...] | None:
    """Return numbers of a header; None if they are missing, empty, of another count or no numbers."""
    try:
        value = dataset.get(name)
        if value is None or value == "":
            return None
        values = (value,) if count == 1 and not hasattr(value, "__len__") else tuple(value)
        numbers = tuple(float(each) for each in values)
    except Exception:  # noqa: BLE001 - what odd values raise depends on their kind
        return None
    return numbers if len(numbers) == count and all(map(isfinite, numbers)) else None


def find_text(dataset: Any, name: str) -> str:
    """Return a text of a header; nothing if it is missing or cannot be read."""
    try:
        return str(dataset.get(name) or "").strip()
    except Exception:  # noqa: BLE001 - what odd values raise depends on their kind
        return ""


def list_slices(file: Path, head: Any) -> Iterator[Slice]:
    """Return the images of a file: one, or the frames of a multi-frame file with what is said about each."""
    frames = int((find_numbers(head, "NumberOfFrames") or (1,))[0])
    offsets = find_numbers(head, "GridFrameOffsetVector", frames) if frames > 1 else None
    is_moment = _has_any(head, "FrameTime", "FrameTimeVector", "CineRate", "RecommendedDisplayFrameRate")
    number = find_numbers(head, "InstanceNumber")
    order = tuple(
        (find_numbers(head, name) or (0.0,))[0]
        for name in ("TemporalPositionIdentifier", "EchoNumbers", "AcquisitionNumber", "InstanceNumber")
    )
    own, shared = (_get_sequence(head, f"{name}FunctionalGroupsSequence") for name in ("PerFrame", "Shared"))
    for frame in range(max(frames, 1)):
        groups = _FunctionalGroups(head, [*own[frame : frame + 1], *shared[:1]])
        position = groups.find("PlanePositionSequence", "ImagePositionPatient", 3)
        directions = groups.find("PlaneOrientationSequence", "ImageOrientationPatient", 6)
        if frames > 1 and not groups:
            # a position of the whole file is that of its first frame, unless it says how far the others are
            position = _move(position, directions, None if offsets is None else offsets[frame])
        depth = groups.find("PixelMeasuresSequence", "SpacingBetweenSlices", 1) or groups.find(
            "PixelMeasuresSequence", "SliceThickness", 1
        )
        slope = (groups.find("PixelValueTransformationSequence", "RescaleSlope", 1) or (1.0,))[0]
        if slope == 0:
            raise FormatError(f"{str(file)!r} says RescaleSlope 0, which makes all voxels equal; correct the file")
        time = (groups.find("FrameContentSequence", "TemporalPositionIndex", 1) or (0.0,))[0]
        yield Slice(
            file,
            frame,
            position,
            directions,
            _find_spacing(groups, head),
            abs(depth[0]) if depth and depth[0] else None,
            slope,
            (groups.find("PixelValueTransformationSequence", "RescaleIntercept", 1) or (0.0,))[0],
            (time, *order, frame),
            None if number is None else int(number[0]),
            is_moment and frames > 1,
        )


class _FunctionalGroups:
    """What a multi-frame file says about a frame: about this one, about all, or in the header as single images do."""

    def __init__(self, head: Any, groups: Sequence[Any]) -> None:
        self._head, self._groups = head, groups

    def __bool__(self) -> bool:
        return bool(self._groups)

    def find(self, group: str, name: str, count: int) -> tuple[float, ...] | None:
        for own in self._groups:
            for item in _get_sequence(own, group)[:1]:
                if (numbers := find_numbers(item, name, count)) is not None:
                    return numbers
        return find_numbers(self._head, name, count)


def _get_sequence(dataset: Any, name: str) -> list[Any]:
    try:
        return list(dataset.get(name) or ())
    except Exception:  # noqa: BLE001 - what odd values raise depends on their kind
        return []


def _has_any(head: Any, *names: str) -> bool:
    return any(name in head for name in names)


def _move(
    position: tuple[float, ...] | None, directions: tuple[float, ...] | None, offset: float | None
) -> tuple[float, ...] | None:
    if position is None or directions is None or offset is None:
        return None
    return tuple(np.array(position) + offset * np.cross(directions[:3], directions[3:]))


def _find_spacing(groups: _FunctionalGroups, head: Any) -> tuple[float, ...] | None:
    found = groups.find("PixelMeasuresSequence", "PixelSpacing", 2)
    for name in ("ImagerPixelSpacing", "NominalScannedPixelSpacing"):
        found = found or find_numbers(head, name, 2)
    return found if found is not None and min(found) > 0 else None


def arrange_slices(slices: Sequence[Slice], name: str, modality: str) -> Arrangement:
    """Put slices into the order in which they lie, and find where.

    Images at the same positions are volumes of their own, one behind the other. Where positions are missing, the
    numbers of the images give the order, and a warning says that the position is not known.

    Raises
    ------
    FormatError
        If slices are missing, or lie in different directions or beside each other.
    """
    if all(_has_position(each) for each in slices):
        return _arrange_by_position(slices, name)
    if len(slices) > 1 or modality not in _PLANAR:
        warnings.warn(
            f"{name!r} does not say where its slices lie: left and right are not known, and the result is marked so",
            PlaceWarning,
            stacklevel=2,
        )
    ordered = sorted(slices, key=lambda each: (each.number or 0, each.file.name, each.frame))
    is_apart = modality in _PLANAR or any(each.is_moment for each in ordered)
    if not is_apart:
        _refuse_missing_numbers(ordered, name)
    return Arrangement(tuple(ordered), len(ordered) if is_apart else 1, None, _find_size(ordered[0], None))


def _has_position(each: Slice) -> bool:
    """Tell whether position and directions are there, and the directions are such."""
    if each.position is None or each.directions is None:
        return False
    row, column = np.array(each.directions[:3]), np.array(each.directions[3:])
    return bool(np.allclose([row @ row, column @ column, row @ column], [1, 1, 0], atol=0.01))


def _refuse_missing_numbers(ordered: Sequence[Slice], name: str) -> None:
    numbers = [each.number for each in ordered if each.number is not None]
    if len(numbers) != len(ordered) or len(set(numbers)) != len(numbers):
        return
    steps = np.diff(numbers)
    if len(steps) > 1 and steps.max() != steps.min():
        gap = int(np.argmax(steps))
        raise FormatError(
            f"slices of {name!r} are missing between number {numbers[gap]} ({ordered[gap].file.name}) and "
            f"{numbers[gap + 1]} ({ordered[gap + 1].file.name}); complete the series"
        )


def _arrange_by_position(slices: Sequence[Slice], name: str) -> Arrangement:
    directions = np.array([each.directions for each in slices])
    if not np.allclose(directions, directions[0], atol=1e-3):
        raise FormatError(f"the slices of {name!r} lie in different directions; split the series")
    row, column = directions[0, :3], directions[0, 3:]
    normal = np.cross(row, column)
    heights = np.array([each.position for each in slices]) @ normal
    stacks = _stack([slices[number] for number in np.argsort(heights, kind="stable")], np.sort(heights), name)
    groups = len(stacks[0])
    positions = np.array([stack[0].position for stack in stacks])
    step = _find_step(stacks, positions, normal, name)
    first = stacks[0][0]
    ordered = tuple(stack[group] for group in range(groups) for stack in stacks)
    size = _find_size(first, float(np.linalg.norm(step)))
    if first.spacing is None:
        warnings.warn(
            f"{name!r} does not say how far its rows and columns are apart, so that its position is not known; the "
            "result is marked so",
            PlaceWarning,
            stacklevel=2,
        )
        return Arrangement(ordered, groups, None, size)
    affine = flip_sides(make_affine([row * first.spacing[1], column * first.spacing[0], step], positions[0]))
    return Arrangement(ordered, groups, affine, size)


def _stack(slices: Sequence[Slice], heights: Array, name: str) -> list[list[Slice]]:
    """Return the images at each height, in the order of time; there have to be as many at each."""
    steps = np.diff(heights)
    largest = float(steps.max(initial=0.0))
    stacks = [[slices[0]]]
    for each, step in zip(slices[1:], steps, strict=True):
        if step > max(0.01 * largest, 1e-4):
            stacks.append([each])
        else:
            stacks[-1].append(each)
    counts = [len(stack) for stack in stacks]
    if min(counts) != max(counts):
        few, many = stacks[counts.index(min(counts))], stacks[counts.index(max(counts))]
        raise FormatError(
            f"slices of {name!r} are missing: it has {len(many)} images at the position of {many[0].file.name}, and "
            f"{len(few)} at that of {few[0].file.name}; complete or split the series"
        )
    return [sorted(stack, key=lambda each: (each.order, each.file.name)) for stack in stacks]


def _find_step(stacks: Sequence[Sequence[Slice]], positions: Array, normal: Array, name: str) -> Array:
    """Return the way from one slice to the next; refuse gaps, and slices that are not one behind the other."""
    if len(stacks) == 1:
        return normal * (stacks[0][0].depth or 1.0)
    gaps = np.diff(positions @ normal)
    if gaps.max() - gaps.min() > _UNEVEN * float(np.median(gaps)):
        at = int(np.argmax(gaps))
        before, behind = (stacks[number][0].file.name for number in (at, at + 1))
        raise FormatError(
            f"slices of {name!r} are missing: they lie {gaps.min():g} mm apart, and {gaps[at]:g} mm between {before} "
            f"and {behind}; complete the series"
        )
    step: Array = (positions[-1] - positions[0]) / (len(positions) - 1)
    strayed = np.abs(positions - (positions[0] + np.arange(len(positions))[:, np.newaxis] * step)).max()
    if strayed > _UNEVEN * float(np.linalg.norm(step)) + 1e-3:
        raise FormatError(f"the slices of {name!r} do not lie in one line behind each other; split the series")
    return step


def _find_size(first: Slice, distance: float | None) -> tuple[float, float, float] | None:
    if first.spacing is None:
        return None
    return distance or first.depth or 1.0, first.spacing[0], first.spacing[1]

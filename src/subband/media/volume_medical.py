"""NIfTI files and series of DICOM files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media.faults import BROKEN, require
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["open_dicom", "open_nifti"]


def open_nifti(path: Path) -> VolumeSource:
    """Open a NIfTI volume; its slices lie along the third axis, its columns along the first.

    The affine and the header stay in ``info.metadata`` for a sink that writes NIfTI.

    Raises
    ------
    MissingExtraError
        If nibabel is not installed.
    FormatError
        If it is damaged, or has more than three axes.
    """
    nibabel = require("nibabel", "reading NIfTI", "volumes")
    path.open("rb").close()
    try:
        # Kept open, because unpacking a file anew for every slice takes the square of the time.
        image = nibabel.load(path, keep_file_open=True)
        proxy, header = image.dataobj, image.header
        axes = tuple(int(length) for length in image.shape)
        while len(axes) > 3 and axes[-1] == 1:
            axes = axes[:-1]
        if len(axes) != 3:
            raise FormatError(f"{str(path)!r} has {len(axes)} axes; a volume has three, so save one of its volumes")
        first = np.asarray(proxy[(slice(None), slice(None), 0) + (0,) * (len(image.shape) - 3)])
    except (*BROKEN, nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError) as error:
        if isinstance(error, SubbandError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as NIfTI: {error}") from error
    # Scaled values come as float64, which says nothing about their precision.
    dtype = np.dtype(np.float32) if first.dtype == np.float64 and header.get_data_dtype().kind != "f" else first.dtype
    zooms = [float(zoom) for zoom in header.get_zooms()[:3]]
    unit = header.get_xyzt_units()[0] if hasattr(header, "get_xyzt_units") else "mm"
    info = describe_volume(
        axes[::-1],
        dtype,
        origin=path,
        voxel_size=zooms[::-1],
        voxel_unit={"unknown": "mm", "micron": "um", "meter": "m"}.get(unit, unit),
        container="nifti",
        metadata={"affine": np.array(image.affine), "nifti_header": header.copy()},
    )
    rest = (0,) * (len(image.shape) - 3)

    def read_slice(number: int) -> Array:
        return np.asarray(proxy[(slice(None), slice(None), number, *rest)]).T

    def read_slices(block: tuple[slice, ...]) -> Array:
        return np.asarray(proxy[(*block[::-1], *rest)]).T

    return VolumeSource(info, read_slice, read_slices)


def open_dicom(path: Path, series: str | None = None) -> VolumeSource:
    """Open a series of DICOM files: a folder of slices, or one file.

    Slices are ordered by their position in space, else by their number, and their values are those that the files
    mean: stored value × slope + intercept, as float32, where there are such.

    Parameters
    ----------
    path : Path
        A folder, or a file.
    series : str, optional
        The unique name of a series, if the folder holds several.

    Raises
    ------
    MissingExtraError
        If pydicom is not installed.
    FormatError
        If there is no readable slice, or slices are missing or of different sizes.
    ArgumentError
        If there are several series to choose from; it names them.
    """
    pydicom = require("pydicom", "reading DICOM", "volumes")
    files = sorted(child for child in path.iterdir() if child.is_file()) if path.is_dir() else [path]
    found: dict[str, list[tuple[Path, Any]]] = defaultdict(list)
    for file in files:
        try:
            head = pydicom.dcmread(file, stop_before_pixels=True)
        except (pydicom.errors.InvalidDicomError, *BROKEN):
            continue
        if "Rows" in head:
            found[str(head.get("SeriesInstanceUID", ""))].append((file, head))
    if not found:
        raise FormatError(f"{str(path)!r} holds no picture of DICOM")
    if series is None and len(found) > 1:
        raise ArgumentError(f"{str(path)!r} holds {len(found)} series; pass series=, one of {', '.join(sorted(found))}")
    name = next(iter(found)) if series is None else series
    if name not in found:
        raise ArgumentError(f"{str(path)!r} has no series {name!r}; it has {', '.join(sorted(found))}")
    slices = sorted(found[name], key=lambda item: _find_place(item[1]))
    head = slices[0][1]
    shape = (int(head.Rows), int(head.Columns))
    if any((int(each.Rows), int(each.Columns)) != shape for _, each in slices):
        raise FormatError(f"the slices of {str(path)!r} have different sizes")
    frames = int(head.get("NumberOfFrames", 1) or 1)
    is_scaled = float(head.get("RescaleSlope", 1)) != 1 or float(head.get("RescaleIntercept", 0)) != 0
    stored = np.dtype(f"{'i' if int(head.get('PixelRepresentation', 0)) else 'u'}{int(head.BitsAllocated) // 8}")
    spacing = [float(side) for side in head.get("PixelSpacing", (1, 1))]
    info = describe_volume(
        (len(slices) * frames, *shape),
        np.float32 if is_scaled else stored,
        origin=path,
        voxel_size=(_find_distance(slices), *spacing),
        container="dicom",
        metadata={"patient_position": str(head.get("PatientPosition", "")), "modality": str(head.get("Modality", ""))},
    )

    def read_slice(number: int) -> Array:
        file = slices[number // frames][0]
        dataset = pydicom.dcmread(file)
        values = dataset.pixel_array
        values = values[number % frames] if frames > 1 else values
        if not is_scaled:
            return np.asarray(values)
        slope, intercept = float(dataset.get("RescaleSlope", 1)), float(dataset.get("RescaleIntercept", 0))
        return np.asarray(values * np.float32(slope) + np.float32(intercept), np.float32)

    return VolumeSource(info, read_slice)


def _find_place(head: Any) -> float:
    """Return where a slice lies along the direction in which slices are stacked."""
    position, directions = head.get("ImagePositionPatient"), head.get("ImageOrientationPatient")
    if position is None or directions is None:
        return float(head.get("InstanceNumber", 0) or 0)
    normal = np.cross(np.array(directions[:3], float), np.array(directions[3:], float))
    return float(np.dot(normal, np.array(position, float)))


def _find_distance(slices: list[tuple[Path, Any]]) -> float:
    """Return the distance of slices, which is not their thickness."""
    head = slices[0][1]
    if len(slices) > 1 and head.get("ImagePositionPatient") is not None:
        places = np.array([_find_place(each) for _, each in slices])
        distance = float(np.median(np.diff(places)))
        if distance > 0:
            return distance
    return float(head.get("SpacingBetweenSlices", 0) or head.get("SliceThickness", 0) or 1)

"""NIfTI files, of one volume or of several, such as the times of a functional scan."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import SourceInfo
from subband.media.display import describe_display
from subband.media.faults import explain_damage, require
from subband.media.formats.base import Format, Writing
from subband.media.geometry import find_affine, measure_steps
from subband.media.lengths import convert_lengths
from subband.media.volume_sinks import HeadedSink
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["FORMATS", "describe_nifti", "open_nifti"]

# The largest length of an axis in NIfTI-1, whose header has 16 bits for it.
_LONGEST = 2**15 - 1


def open_nifti(path: Path) -> VolumeSource:
    """Open a NIfTI file; slices lie along the third axis, columns along the first, volumes along all that follow.

    The affine and the header with its extensions stay in ``info.metadata`` for a sink that writes NIfTI.

    Raises
    ------
    MissingExtraError
        If nibabel is not installed.
    FormatError
        If it is damaged.
    """
    nibabel = require("nibabel", "reading NIfTI", "volumes")
    errors = nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError
    with explain_damage(path, "NIfTI", *errors):
        # Kept open, because unpacking a file anew for every slice takes the square of the time.
        image = nibabel.load(path, keep_file_open=True)
        proxy, header = image.dataobj, image.header
        lengths = tuple(int(length) for length in image.shape)
        axes = (*lengths, *(1,) * (3 - len(lengths)))
        rest = lengths[3:]
        first = np.asarray(proxy[(slice(None), slice(None), *(0,) * (len(lengths) - 2))])
        unit = header.get_xyzt_units()[0] if hasattr(header, "get_xyzt_units") else "mm"
        # Without both codes, the affine that nibabel makes up is a guess.
        is_placed = any(int(header.get(name, 0)) for name in ("sform_code", "qform_code"))
        zooms = [float(zoom) for zoom in (*header.get_zooms(), 1.0)[2::-1]]
        affine = np.array(image.affine)
    # Scaled values come as float64, which says nothing about their precision.
    dtype = np.dtype(np.float32) if first.dtype == np.float64 and header.get_data_dtype().kind != "f" else first.dtype
    info = describe_volume(
        (axes[2] * prod(rest), axes[1], axes[0]),
        dtype,
        origin=path,
        groups=prod(rest),
        voxel_size=measure_steps(affine) if is_placed else zooms,
        voxel_unit={"unknown": "mm", "micron": "um", "meter": "m"}.get(unit, unit),
        container="nifti",
        metadata={
            "nifti_header": header.copy(),
            **({"affine": affine} if is_placed else {}),
            **describe_display(header.get("cal_min", 0), header.get("cal_max", 0)),
        },
    )

    def read_slice(number: int) -> Array:
        group, own = divmod(number, axes[2])
        index = (own, *(int(each) for each in np.unravel_index(group, rest, order="F"))) if rest else (own,)
        return np.asarray(proxy[(slice(None), slice(None), *index[: len(lengths) - 2])]).T

    def read_slices(block: tuple[slice, ...]) -> Array:
        return np.asarray(proxy[block[::-1]]).T

    return VolumeSource(info, read_slice, read_slices if len(lengths) == 3 else None)


def _make_header(info: SourceInfo, count: int) -> Any:
    """Return the header for so many slices of all groups, with all that is known of their position.

    The header of a NIfTI source is kept, with its extensions. Where the position of the volume is not known, the header
    says so.
    """
    nibabel = require("nibabel", "writing NIfTI", "volumes")
    rows, columns = info.shape
    known = info.metadata.get("nifti_header")
    # a torn file is a stack of what there is
    is_whole = count == info.count
    lengths = (columns, rows, *((count // info.groups, *_find_rest(info, known)) if is_whole else (count,)))
    is_large = max(lengths) > _LONGEST or isinstance(known, nibabel.Nifti2Header)
    kind = nibabel.Nifti2Header if is_large else nibabel.Nifti1Header
    header = kind(endianness="<") if known is None else kind.from_header(known)
    extensions = list(header.extensions)
    header = header.as_byteswapped("<")
    header.extensions[:] = extensions
    info, unit = _fit_unit(info)
    own = [float(step) for step in header.get_zooms()] if known is not None else []
    header.set_data_dtype(info.dtype.newbyteorder("<"))
    header.set_data_shape(lengths)
    # What a NIfTI source says besides its affine, and steps beyond space, such as seconds, stay as they are.
    size = (info.voxel_size or (1.0, 1.0, 1.0))[::-1]
    steps = own[:3] if len(own) >= 3 and find_affine(info) is not None else size
    header.set_zooms([*steps, *own[3:], *(1.0,) * len(lengths)][: len(lengths)])
    header.set_xyzt_units(unit, header.get_xyzt_units()[1])
    _set_position(header, info, nibabel)
    header.set_slope_inter(1, 0)
    header["vox_offset"] = header.single_vox_offset + header.extensions.get_sizeondisk()
    header["magic"] = header.single_magic
    return header


def _fit_unit(info: SourceInfo) -> tuple[SourceInfo, str]:
    """Return a volume in a unit that NIfTI has, and its name there."""
    names = {"mm": "mm", "um": "micron", "m": "meter"}
    if info.voxel_unit in names:
        return info, names[info.voxel_unit]
    scale = convert_lengths((1.0,), (info.voxel_unit,), "um")
    if scale is None:
        return info, "unknown"
    depth, row, column = (side * scale[0] for side in info.voxel_size or (1.0, 1.0, 1.0))
    affine = info.metadata.get("affine")
    metadata = info.metadata if affine is None else {**info.metadata, "affine": np.diag([*scale * 3, 1.0]) @ affine}
    return replace(info, voxel_size=(depth, row, column), voxel_unit="um", metadata=metadata), "micron"


def _find_rest(info: SourceInfo, known: Any) -> tuple[int, ...]:
    """Return the lengths of the axes behind the third: those of the source, or one of all volumes."""
    own = () if known is None else tuple(int(length) for length in known.get_data_shape()[3:])
    if own and prod(own) == info.groups:
        return own
    return (info.groups,) if info.groups > 1 else ()


def _set_position(header: Any, info: SourceInfo, nibabel: Any) -> None:
    affine = find_affine(info)
    if affine is None:
        header.set_sform(None, code=0)
        header.set_qform(None, code=0)
    elif not (int(header["sform_code"]) or int(header["qform_code"])):
        header.set_sform(affine, code="scanner")
        try:
            header.set_qform(affine, code="scanner", strip_shears=False)
        except nibabel.spatialimages.HeaderDataError:
            # slices of a tilted gantry are sheared, which only the first form can say
            header.set_qform(None, code=0)


def describe_nifti(info: SourceInfo, count: int) -> bytes:
    """Return the header of a file whose bare data follow, with its extensions."""
    header, extensions = _make_header(info, count), BytesIO()
    header.extensions.write_to(extensions, byteswap=False)
    return bytes(header.binaryblock + bytes([bool(header.extensions), 0, 0, 0]) + extensions.getvalue())


def _create(path: Path, info: SourceInfo, writing: Writing) -> HeadedSink:
    """Write a NIfTI volume, packed if its name says so.

    The header and the extensions of a NIfTI source are kept, and the affine of any source that has one. Where there is
    none, the file says that its position is not known.
    """
    require("nibabel", "writing NIfTI", "volumes")
    if info.is_colour:
        raise ArgumentError(f"{path.name!r} holds no colours; write to .tiff, .npy or .h5")
    is_packed = path.suffix.lower() == ".gz"
    return HeadedSink(path, info, describe_nifti, can_grow=True, is_packed=is_packed, **writing.kept)


FORMATS = (
    Format(
        "NIfTI",
        (".nii", ".nii.gz"),
        ("volume",),
        about="NIfTI-1 and 2, of any number of axes",
        kept="from NIfTI to NIfTI: header, both affines, extensions",
        extra="volumes",
        open_volume=lambda path, _: open_nifti(path),
        create=_create,
    ),
)

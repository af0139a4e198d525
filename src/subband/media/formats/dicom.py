"""Series of DICOM files: folders of slices, multi-frame files and single images."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.base import Sink, SourceInfo
from subband.media.dicom_jpeg2000 import PLUGIN, choose_packing, is_available, register_decoders
from subband.media.dicom_slices import DicomSeries, Slice, arrange_slices, find_numbers, find_text, list_slices
from subband.media.display import find_dicom_display
from subband.media.faults import BROKEN, explain_damage, require
from subband.media.formats.base import Format, Writing
from subband.media.volume_dicom_sink import DicomFolderSink, DicomSink
from subband.media.volumes import VolumeSource, describe_volume
from subband.typing import Array

__all__ = ["FORMATS", "open_dicom"]

_MAGIC, _MAGIC_OFFSET = b"DICM", 128
# The tags of pixels in floating point, in both orders of bytes.
_FLOATS = {b"\xe0\x7f\x08\x00": "f4", b"\x7f\xe0\x00\x08": "f4", b"\xe0\x7f\x09\x00": "f8", b"\x7f\xe0\x00\x09": "f8"}


def open_dicom(path: Path, series: str | None = None) -> VolumeSource:
    """Open a series of DICOM files: a folder of slices, or one file.

    Slices are ordered by their position in space, else by their number, and their values are those that the files
    mean: stored value × slope + intercept, as float32, where there are such. Where small values are to be shown bright
    (MONOCHROME1), they are turned, so that bright is bright. Images at the same positions, such as times, are volumes
    of their own.

    Parameters
    ----------
    path : Path
        A folder, or a file.
    series : str, optional
        The unique identifier or the number of a series, if the folder holds several.

    Raises
    ------
    MissingExtraError
        If pydicom is not installed.
    FormatError
        If there is no image, or slices are missing or of different sizes or directions.
    ArgumentError
        If there are several series to choose from; it names them.
    """
    pydicom = require("pydicom", "reading DICOM", "volumes")
    require("pydicom.pixels", "reading DICOM", "volumes")
    register_decoders(pydicom)
    if not path.is_dir():
        path.open("rb").close()
    found: dict[str, list[tuple[Path, Any, bytes]]] = defaultdict(list)
    reasons: list[str] = []
    for file in sorted(child for child in path.iterdir() if child.is_file()) if path.is_dir() else [path]:
        try:
            head, tag = _read_head(pydicom, file)
        except (pydicom.errors.InvalidDicomError, pydicom.errors.BytesLengthException, *BROKEN) as error:
            reasons.append(f"{file.name} cannot be read as DICOM: {error}")
            continue
        if tag and find_numbers(head, "Rows") and find_numbers(head, "Columns"):
            found[find_text(head, "SeriesInstanceUID")].append((file, head, tag))
        else:
            reasons.append(f"{file.name} has no pixels")
    if not found:
        reason = f": {reasons[0]}" if len(reasons) == 1 else ""
        raise FormatError(f"{str(path)!r} holds no DICOM image{reason}")
    chosen = _choose_series(path, found, series)
    with explain_damage(path, "DICOM"):
        return _open_series(pydicom, path, found[chosen], chosen)


def _read_head(pydicom: Any, file: Path) -> tuple[Any, bytes]:
    """Return what stands before the pixels, and the tag of these; nothing if there are none."""
    with file.open("rb") as stream:
        head = pydicom.dcmread(stream, stop_before_pixels=True)
        tag = stream.read(4)
    if find_text(getattr(head, "file_meta", {}), "TransferSyntaxUID") == pydicom.uid.DeflatedExplicitVRLittleEndian:
        # packed as a whole, so that the offset in the file says nothing
        whole = pydicom.dcmread(file)
        tag = b"\xe0\x7f\x10\x00" if "PixelData" in whole else b""
    return head, tag


def _choose_series(path: Path, found: dict[str, list[tuple[Path, Any, bytes]]], series: str | None) -> str:
    numbers = {uid: find_text(files[0][1], "SeriesNumber") for uid, files in found.items()}
    if series is None and len(found) == 1:
        return next(iter(found))
    matches = [uid for uid in found if series is not None and series in (uid, numbers[uid])]
    if len(matches) == 1:
        return matches[0]
    offer = ", ".join(_describe_series(uid, numbers[uid], found[uid]) for uid in sorted(found))
    if series is None:
        raise ArgumentError(f"{str(path)!r} holds {len(found)} series; choose one by its number or identifier: {offer}")
    fault = "several series" if matches else "no series"
    raise ArgumentError(f"{str(path)!r} has {fault} {series!r}; it has {offer}")


def _describe_series(uid: str, number: str, files: list[tuple[Path, Any, bytes]]) -> str:
    about = [f"number {number}"] if number else []
    about += [text for text in [find_text(files[0][1], "SeriesDescription")] if text]
    return f"{uid} ({', '.join([*about, f'{len(files)} files'])})"


def _open_series(pydicom: Any, path: Path, files: list[tuple[Path, Any, bytes]], uid: str) -> VolumeSource:
    head, tag = files[0][1:]
    shape = _find_shape(head)
    if any(_find_shape(other) != shape for _, other, _ in files):
        raise FormatError(f"the slices of {str(path)!r} have different sizes")
    photometric = find_text(head, "PhotometricInterpretation")
    if photometric.startswith("PALETTE"):
        raise FormatError(f"{str(path)!r} holds numbers of a palette, which cannot be filtered; convert it to RGB")
    if "MOSAIC" in find_text(head, "ImageType"):
        raise FormatError(
            f"{str(path)!r} holds mosaics, whose slices lie side by side in one image; convert it, as with: dcm2niix"
        )
    stored, limits = _find_type(path, head, tag)
    is_inverted = photometric == "MONOCHROME1"
    for _, other, own in files:
        dtype, extent = _find_type(path, other, own)
        is_same = dtype == stored and find_text(other, "PhotometricInterpretation") == photometric
        if not is_same or (is_inverted and extent != limits):
            raise FormatError(f"the slices of {str(path)!r} hold different kinds of numbers; split the series")
        limits = min(limits[0], extent[0]), max(limits[1], extent[1])
    slices = [each for file, other, _ in files for each in list_slices(file, other)]
    modality = find_text(head, "Modality")
    arranged = arrange_slices(slices, str(path), modality)
    is_scaled = any((each.slope, each.intercept) != (1, 0) for each in slices)
    known = DicomSeries(arranged.slices, stored, limits, is_inverted, is_scaled)
    metadata = {
        "modality": modality,
        "patient_position": find_text(head, "PatientPosition"),
        "series": uid,
        "dicom": known,
        **find_dicom_display(head, is_inverted=is_inverted),
        **({} if arranged.affine is None else {"affine": arranged.affine}),
    }
    info = describe_volume(
        (len(arranged.slices), *shape),
        np.float32 if is_scaled else stored,
        groups=arranged.groups,
        origin=path,
        voxel_size=arranged.voxel_size,
        container="dicom",
        metadata=metadata,
    )

    def read_slice(number: int) -> Array:
        each = arranged.slices[number]
        values = _read_pixels(pydicom, each)
        if is_inverted:
            values = np.clip(sum(limits) - values.astype(np.int64), *limits).astype(stored)
        if not is_scaled:
            return values
        return np.asarray(values * np.float32(each.slope) + np.float32(each.intercept), np.float32)

    return VolumeSource(info, read_slice)


def _find_shape(head: Any) -> tuple[int, ...]:
    rows, columns, samples = (
        int((find_numbers(head, name) or (1,))[0]) for name in ("Rows", "Columns", "SamplesPerPixel")
    )
    return (rows, columns) if samples == 1 else (rows, columns, samples)


def _find_type(path: Path, head: Any, tag: bytes) -> tuple[np.dtype[Any], tuple[int, int]]:
    """Return the dtype of stored values, and their limits."""
    if tag in _FLOATS:
        return np.dtype(_FLOATS[tag]), (0, 1)
    allocated = find_numbers(head, "BitsAllocated")
    if allocated is None or allocated[0] not in (1, 8, 16, 32, 64):
        said = find_text(head, "BitsAllocated")
        raise FormatError(f"{str(path)!r} says {said or 'nothing'} about its BitsAllocated; 8, 16 or 32 are read")
    bits = int((find_numbers(head, "BitsStored") or allocated)[0]) or int(allocated[0])
    is_signed = bool((find_numbers(head, "PixelRepresentation") or (0,))[0])
    stored = np.dtype(f"{'i' if is_signed else 'u'}{max(int(allocated[0]) // 8, 1)}")
    low = -(1 << bits - 1) if is_signed else 0
    return stored, (low, low + (1 << bits) - 1)


def _read_pixels(pydicom: Any, each: Slice) -> Array:
    plugin = PLUGIN if is_available(_find_syntax(pydicom, each.file)) else ""
    try:
        return np.asarray(pydicom.pixels.pixel_array(each.file, index=each.frame, decoding_plugin=plugin))
    except pydicom.errors.BytesLengthException as error:
        raise ValueError(str(error)) from error
    except RuntimeError as error:
        syntax = pydicom.filereader.read_file_meta_info(each.file).TransferSyntaxUID
        if not syntax.is_compressed:
            raise
        raise FormatError(
            f"{str(each.file)!r} is packed as {syntax.name}, and cannot be unpacked: {str(error).splitlines()[0]}; "
            "install pylibjpeg with its plug-ins, or unpack it first, as with: gdcmconv --raw"
        ) from error


def _find_syntax(pydicom: Any, file: Path) -> str:
    """Return the transfer syntax of a file, or nothing if it does not say."""
    try:
        return find_text(pydicom.filereader.read_file_meta_info(file), "TransferSyntaxUID")
    except (pydicom.errors.InvalidDicomError, *BROKEN):
        return ""


def _create(path: Path, info: SourceInfo, writing: Writing) -> Sink:
    """Write a folder of slices for one, under a name without an ending of its own; else one file."""
    packing = choose_packing(writing.video.get("codec"), writing.quality)
    if path.suffix.lower() != _ENDING and info.origin is not None and info.origin.is_dir():
        return DicomFolderSink(path, info, packing=packing, keep_partial=writing.keep_partial)
    return DicomSink(path, info, packing=packing, **writing.kept)


_ENDING = ".dcm"

FORMATS = (
    Format(
        "DICOM",
        (_ENDING,),
        ("volume",),
        about="a folder of slices, or a file of any ending: series, multi-frame and enhanced files, single images; a "
        "folder is written for a folder; `--codec jpeg2000`, `htj2k` or `htj2k-rpcl` packs pixels",
        kept="from DICOM to DICOM: headers of slices, or patient, study and geometry",
        extra="volumes",
        recognise=lambda _, head: head[_MAGIC_OFFSET:].startswith(_MAGIC),
        open_volume=lambda path, reading: open_dicom(path, reading.series),
        create=_create,
        is_series=True,
    ),
)

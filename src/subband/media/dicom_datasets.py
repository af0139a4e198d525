"""Data sets of DICOM for derived images: what is kept of their sources, and what is new."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.media.base import SourceInfo
from subband.media.dicom_jpeg2000 import Packing
from subband.media.dicom_slices import DicomSeries, Slice, find_text
from subband.media.faults import require
from subband.media.geometry import PlaceWarning, find_affine, flip_sides
from subband.media.lengths import convert_lengths
from subband.typing import Array

__all__ = ["DatasetMaker", "Plane", "find_series"]

# What is said about the patient, the study and the equipment, which images of another kind take over.
_KEPT = (
    "SpecificCharacterSet", "StudyDate", "StudyTime", "AccessionNumber", "Modality", "Manufacturer", "InstitutionName",
    "ReferringPhysicianName", "StudyDescription", "SeriesDescription", "ManufacturerModelName", "PatientName",
    "PatientID", "PatientBirthDate", "PatientSex", "PatientAge", "PatientSize", "PatientWeight", "BodyPartExamined",
    "ProtocolName", "PatientPosition", "StudyInstanceUID", "StudyID", "SeriesNumber", "Laterality",
    "FrameOfReferenceUID", "PositionReferenceIndicator", "BurnedInAnnotation", "RescaleType", "WindowCenter",
    "WindowWidth", "LossyImageCompression", "LossyImageCompressionRatio", "LossyImageCompressionMethod",
)  # fmt: skip

# What has to be there, even if nothing is known.
_EMPTY = (
    "StudyDate", "StudyTime", "AccessionNumber", "ReferringPhysicianName", "PatientName", "PatientID",
    "PatientBirthDate", "PatientSex", "StudyID", "SeriesNumber",
)  # fmt: skip

# What spoke about the pixels that were there before.
_STALE = (
    "SmallestImagePixelValue", "LargestImagePixelValue", "SmallestPixelValueInSeries", "LargestPixelValueInSeries",
    "IconImageSequence", "DigitalSignaturesSequence", "MACParametersSequence", "PixelDataProviderURL",
    "ExtendedOffsetTable", "ExtendedOffsetTableLengths",
)  # fmt: skip

_LEAST, _LARGEST = 0, 65535


@dataclass(frozen=True)
class Plane:
    """The stored values of a slice, and what turns them into those that are meant."""

    stored: Array
    slope: float = 1.0
    intercept: float = 0.0


def find_series(info: SourceInfo) -> DicomSeries | None:
    """Return the series that a volume comes from, if its slices are still those."""
    known = info.metadata.get("dicom")
    return known if isinstance(known, DicomSeries) and len(known.slices) == info.count else None


class DatasetMaker:
    """Makes the data sets of one new series.

    Parameters
    ----------
    info : SourceInfo
        Of the volume.

    Raises
    ------
    MissingExtraError
        If pydicom is not installed.
    ArgumentError
        If the volume is one in colours that are not of 8 bits.
    """

    def __init__(self, info: SourceInfo) -> None:
        self.pydicom = require("pydicom", "writing DICOM", "volumes")
        if info.is_colour and info.dtype != np.uint8:
            raise ArgumentError("DICOM holds colours of 8 bits; write to .tiff, .npy or .h5")
        self.info = info
        self.known = find_series(info)
        # what is no longer the same kind of number, such as a mask, is stored in its own way
        self._is_same = self.known is not None and info.dtype == self._find_own_dtype(self.known)
        self.series_uid = self.pydicom.uid.generate_uid()
        self._study_uid = self.pydicom.uid.generate_uid()
        self._frame_uid = self.pydicom.uid.generate_uid()
        self._affine = self._find_affine()

    @staticmethod
    def _find_own_dtype(known: DicomSeries) -> np.dtype[Any]:
        return np.dtype(np.float32) if known.is_scaled else known.stored

    @property
    def _stores_same(self) -> bool:
        return self._is_same and self.known is not None and self.known.stored.kind in "iu"

    @property
    def depth(self) -> int:
        """Slices of each volume."""
        return max((self.info.count or 0) // self.info.groups, 1)

    def _find_affine(self) -> Array | None:
        """Return the affine in millimetres, towards left, posterior and superior, if DICOM can say it."""
        affine, scale = find_affine(self.info), convert_lengths((1.0,), (self.info.voxel_unit,), "mm")
        if affine is None or scale is None:
            return None
        lps: Array = np.diag([*scale * 3, 1.0]) @ flip_sides(affine)
        row, column = (lps[:3, axis] / np.linalg.norm(lps[:3, axis]) for axis in (0, 1))
        if abs(float(row @ column)) > 1e-3:
            warnings.warn(
                "rows and columns are not at right angles, which DICOM cannot say; the result has no position in space",
                PlaceWarning,
                stacklevel=2,
            )
            return None
        return lps

    def find_plane(self, number: int, pixels: Array) -> Plane:
        """Return the numbers to be stored for a slice: those of its source's kind, or of 16 bits if it has none."""
        known = self.known
        if known is not None and self._stores_same:
            own = known.slices[number]
            slope, intercept = (own.slope, own.intercept) if known.is_scaled else (1.0, 0.0)
            values = (pixels.astype(np.float64) - intercept) / slope if known.is_scaled else pixels
            return Plane(np.clip(np.rint(values), *known.limits).astype(known.stored), slope, intercept)
        if pixels.dtype in (np.uint8, np.uint16, np.int16):
            return Plane(pixels)
        return self.scale_plane(pixels)

    def scale_plane(self, pixels: Array) -> Plane:
        """Return 16 bits that span the values of a slice."""
        values = np.nan_to_num(pixels.astype(np.float64), posinf=0.0, neginf=0.0)
        low, high = float(values.min()), float(values.max())
        # as they are written, in sixteen characters, so that they are read as they were used
        intercept = self._round(low)
        slope = self._round(max((high - intercept) / _LARGEST, 0.0)) or 1.0
        stored = np.clip(np.rint((values - intercept) / slope), _LEAST, _LARGEST)
        return Plane(stored.astype(np.uint16), slope, intercept)

    def _round(self, number: float) -> float:
        return float(self.pydicom.valuerep.format_number_as_ds(number))

    def make_single(self, number: int, pixels: Array, packing: Packing | None = None) -> Any:
        """Return the data set of one slice, with the header of the one that it comes from, and perhaps packed."""
        source, plane = self._find_source(number), self.find_plane(number, pixels)
        known = self.known
        head = None if source is None else self._read(source.file)
        if head is None or not self._is_plain(head):
            data = self._make_new(head, self.pydicom.uid.SecondaryCaptureImageStorage)
            self._set_position(data, number)
        else:
            data = head
            for name in _STALE:
                if name in data:
                    delattr(data, name)
        if known is not None and known.is_inverted:
            self._turn_window(data, plane, sum(known.limits))
        self._set_pixels(data, plane, is_same_kind=self._stores_same and data is head)
        if plane.slope != 1 or plane.intercept != 0 or "RescaleSlope" in data:
            data.RescaleSlope, data.RescaleIntercept = self._write(plane.slope), self._write(plane.intercept)
        data.InstanceNumber = number + 1
        self._derive(data, [] if source is None else [source])
        if packing is not None:
            bits = int(data.BitsStored)
            self.set_packed(data, packing, [packing.pack(plane.stored, bits)], plane.stored.nbytes)
        return data

    def set_packed(self, data: Any, packing: Packing, frames: list[bytes], size: int) -> None:
        """Set the pixels of a data set that are packed, and were so many bytes before."""
        data.PixelData = self.pydicom.encaps.encapsulate(frames)
        data["PixelData"].VR, data["PixelData"].is_undefined_length = "OB", True
        data.file_meta.TransferSyntaxUID = self.pydicom.uid.UID(packing.syntax)
        if self.info.is_colour:
            data.PhotometricInterpretation, data.PlanarConfiguration = packing.colours, 0
        if packing.is_lossy:
            data.LossyImageCompression = "01"
            ratios, methods = (
                [*([known] if isinstance(known := data.get(name), str | float) else known or [])]
                for name in ("LossyImageCompressionRatio", "LossyImageCompressionMethod")
            )
            data.LossyImageCompressionRatio = [*ratios, self._write(round(size / sum(map(len, frames)), 2))]
            data.LossyImageCompressionMethod = [*methods, packing.method]

    def make_multiframe(self, planes: list[tuple[float, float]], stored: np.dtype[Any]) -> Any:
        """Return the data set of all slices, without their pixels.

        Parameters
        ----------
        planes : list of (float, float)
            Slope and intercept of each.
        stored : numpy.dtype
            Of the numbers, uint8 or uint16.
        """
        uid = self.pydicom.uid
        kind = (
            uid.MultiFrameTrueColorSecondaryCaptureImageStorage
            if self.info.is_colour
            else uid.MultiFrameGrayscaleByteSecondaryCaptureImageStorage
            if stored.itemsize == 1
            else uid.MultiFrameGrayscaleWordSecondaryCaptureImageStorage
        )
        source = self._find_source(0)
        data = self._make_new(None if source is None else self._read(source.file), kind)
        if self.known is not None and self.known.is_inverted:
            self._turn_window(data, Plane(np.empty(0), *planes[0]), sum(self.known.limits))
        self._set_pixels(data, Plane(np.empty((0, *self.info.shape), stored)), is_same_kind=False)
        data.Rows, data.Columns = self.info.shape[:2]
        data.NumberOfFrames, data.InstanceNumber = len(planes), 1
        data.FrameIncrementPointer = self.pydicom.tag.Tag("PerFrameFunctionalGroupsSequence")
        if not self.info.is_colour and len(set(planes)) == 1:
            data.RescaleSlope, data.RescaleIntercept = map(self._write, planes[0])
            data.RescaleType = find_text(data, "RescaleType") or "US"
        self._set_groups(data, planes)
        slices = [] if self.known is None else list({each.file: each for each in self.known.slices}.values())
        self._derive(data, slices)
        return data

    def _set_groups(self, data: Any, planes: list[tuple[float, float]]) -> None:
        """Say of all frames, and of each, where it lies and what its numbers mean."""
        make = self.pydicom.dataset.Dataset
        shared, frames = make(), []
        first = make()
        self._set_position(first, 0)
        if "PixelSpacing" in first:
            measures = make()
            measures.PixelSpacing, measures.SliceThickness = first.PixelSpacing, first.SliceThickness
            measures.SpacingBetweenSlices = first.SpacingBetweenSlices
            shared.PixelMeasuresSequence = [measures]
        if "ImageOrientationPatient" in first:
            plane = make()
            plane.ImageOrientationPatient = first.ImageOrientationPatient
            shared.PlaneOrientationSequence = [plane]
        for number, (slope, intercept) in enumerate(planes):
            frame, own, content = make(), make(), make()
            self._set_position(own, number)
            if "ImagePositionPatient" in own:
                position = make()
                position.ImagePositionPatient = own.ImagePositionPatient
                frame.PlanePositionSequence = [position]
            content.StackID, content.InStackPositionNumber = "1", number % self.depth + 1
            content.TemporalPositionIndex = number // self.depth + 1
            frame.FrameContentSequence = [content]
            if not self.info.is_colour:
                scale = make()
                scale.RescaleSlope, scale.RescaleIntercept = self._write(slope), self._write(intercept)
                scale.RescaleType = "US"
                frame.PixelValueTransformationSequence = [scale]
            frames.append(frame)
        data.SharedFunctionalGroupsSequence = [shared]
        data.PerFrameFunctionalGroupsSequence = frames

    def _set_position(self, data: Any, number: int) -> None:
        size, scale = self.info.voxel_size, convert_lengths((1.0,), (self.info.voxel_unit,), "mm")
        if size is not None and scale is not None:
            depth, row, column = (self._write(side * scale[0]) for side in size)
            data.PixelSpacing, data.SliceThickness, data.SpacingBetweenSlices = [row, column], depth, depth
        if self._affine is not None:
            steps = self._affine[:3, :2] / np.linalg.norm(self._affine[:3, :2], axis=0)
            position = self._affine @ [0, 0, number % self.depth, 1]
            data.ImageOrientationPatient = [self._write(each) for each in steps.T.ravel()]
            data.ImagePositionPatient = [self._write(each) for each in position[:3]]

    @staticmethod
    def _is_plain(head: Any) -> bool:
        """Tell whether a header can be that of one image: of a single frame, and not in the retired order of bytes."""
        is_single = not any(name in head for name in ("NumberOfFrames", "PerFrameFunctionalGroupsSequence"))
        return is_single and head.original_encoding[1] is not False

    def _find_source(self, number: int) -> Slice | None:
        return None if self.known is None else self.known.slices[number]

    def _read(self, file: Path) -> Any:
        return self.pydicom.dcmread(file, stop_before_pixels=True)

    def _make_new(self, head: Any, kind: Any) -> Any:
        """Return a data set with what is known about the patient and the study."""
        data = self.pydicom.dataset.Dataset()
        for name in _KEPT:
            if head is not None and name in head:
                data[name] = head[name]
        for name in _EMPTY:
            if name not in data:
                setattr(data, name, None)
        data.SOPClassUID = kind
        data.Modality = find_text(data, "Modality") or "OT"
        data.ConversionType = "WSD"
        if "StudyInstanceUID" not in data:
            data.StudyInstanceUID = self._study_uid
        if "FrameOfReferenceUID" not in data and self._affine is not None:
            data.FrameOfReferenceUID, data.PositionReferenceIndicator = self._frame_uid, None
        return data

    def _set_pixels(self, data: Any, plane: Plane, *, is_same_kind: bool) -> None:
        stored = plane.stored
        bits = 8 * stored.dtype.itemsize
        if stored.ndim:
            data.Rows, data.Columns = self.info.shape[:2]
        data.SamplesPerPixel = 3 if self.info.is_colour else 1
        data.PhotometricInterpretation = "RGB" if self.info.is_colour else "MONOCHROME2"
        if self.info.is_colour:
            data.PlanarConfiguration = 0
        if "PresentationLUTShape" in data:
            data.PresentationLUTShape = "IDENTITY"
        data.BitsAllocated = bits
        if not is_same_kind:
            data.BitsStored, data.HighBit = bits, bits - 1
            data.PixelRepresentation = int(stored.dtype.kind == "i")
            for name in ("WindowCenter", "WindowWidth", "VOILUTSequence", "PixelPaddingValue"):
                if name in data and not self._is_same:
                    delattr(data, name)
        if stored.size:
            content = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<")).tobytes()
            data.PixelData = content + b"\0" * (len(content) % 2)
            data["PixelData"].VR = "OB" if bits == 8 else "OW"

    def _turn_window(self, data: Any, plane: Plane, total: int) -> None:
        """Mirror what is shown, as the values have been, which small ones were bright in."""
        centres = data.get("WindowCenter")
        if centres is not None and centres != "":
            values = centres if isinstance(centres, self.pydicom.multival.MultiValue) else [centres]
            middle = plane.slope * total + 2 * plane.intercept
            data.WindowCenter = [self._write(middle - float(each)) for each in values]
        for name in ("VOILUTSequence", "PixelPaddingValue", "PixelPaddingRangeLimit"):
            if name in data:
                delattr(data, name)

    def _derive(self, data: Any, sources: list[Slice]) -> None:
        """Mark a data set as derived, with names of its own."""
        references = []
        for source in sources:
            head = self._read(source.file)
            reference = self.pydicom.dataset.Dataset()
            if not (find_text(head, "SOPClassUID") and find_text(head, "SOPInstanceUID")):
                continue
            reference.ReferencedSOPClassUID, reference.ReferencedSOPInstanceUID = head.SOPClassUID, head.SOPInstanceUID
            references.append(reference)
        if references:
            data.SourceImageSequence = references
        kinds = data.get("ImageType")
        rest = [str(each) for each in kinds][1:] if kinds and not isinstance(kinds, str) else []
        data.ImageType = ["DERIVED", *(rest or ["SECONDARY"])]
        data.DerivationDescription = "Filtered in the wavelet domain by subband"
        data.SeriesDescription = f"{find_text(data, 'SeriesDescription')[:52]} (filtered)".strip()
        data.SeriesInstanceUID, data.SOPInstanceUID = self.series_uid, self.pydicom.uid.generate_uid()
        now = datetime.now()
        data.InstanceCreationDate, data.InstanceCreationTime = now.strftime("%Y%m%d"), now.strftime("%H%M%S")
        if not find_text(data, "SOPClassUID"):
            data.SOPClassUID = self.pydicom.uid.SecondaryCaptureImageStorage
        meta = self.pydicom.dataset.FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = data.SOPClassUID, data.SOPInstanceUID
        meta.TransferSyntaxUID = self.pydicom.uid.ExplicitVRLittleEndian
        data.file_meta = meta

    def _write(self, number: float) -> str:
        return str(self.pydicom.valuerep.format_number_as_ds(float(number)))

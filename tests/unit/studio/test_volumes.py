"""Volumes of the command line: DICOM series and single slices, NIfTI and stacks, slice by slice in their own units."""

import numpy as np
import pytest

from subband.studio.library import Library
from subband.studio.preview import Preview

WHY = "not installed: pip install 'subband[volumes]'"

#: Hounsfield units of a head in air.
radius = np.hypot(*np.mgrid[-1:1:40j, -1:1:48j])
VOLUME = np.stack([-1000 + 1040 * (radius < 0.4 + 0.1 * each) for each in range(6)]).astype(np.int16)


def write_dicom(folder):
    pydicom = pytest.importorskip("pydicom", reason=f"pydicom is {WHY}")
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    folder.mkdir()
    uid = generate_uid()
    for number, pixels in enumerate(VOLUME):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = CTImageStorage, generate_uid()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        slab = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        slab.SOPClassUID, slab.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
        slab.SeriesInstanceUID, slab.Modality, slab.InstanceNumber = uid, "CT", number
        slab.Rows, slab.Columns, slab.PixelSpacing, slab.SliceThickness = *pixels.shape, [0.5, 0.5], 2
        slab.ImagePositionPatient, slab.ImageOrientationPatient = [0, 0, 2 * number], [1, 0, 0, 0, 1, 0]
        slab.SamplesPerPixel, slab.PhotometricInterpretation = 1, "MONOCHROME2"
        slab.BitsAllocated = slab.BitsStored = 16
        slab.HighBit, slab.PixelRepresentation = 15, 0
        slab.RescaleSlope, slab.RescaleIntercept = 1, -1024
        slab.PixelData = (pixels + 1024).astype(np.uint16).tobytes()
        pydicom.dcmwrite(folder / f"{number}.dcm", slab)
    return folder


def write_nifti(path):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    nibabel.save(nibabel.Nifti1Image(VOLUME.transpose(2, 1, 0), np.eye(4)), path)
    return path


def write_stack(path):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    tifffile.imwrite(path, VOLUME.astype(np.float32), imagej=True)
    return path


@pytest.mark.parametrize(
    ("name", "write"), [("series", write_dicom), ("head.nii.gz", write_nifti), ("stack.tif", write_stack)]
)
def test_a_volume_is_opened_in_its_middle_and_walked_in_its_own_units(tmp_path, name, write):
    library = Library([write(tmp_path / name)])
    assert library.list_problems() == []
    assert [(each["name"], each["kind"]) for each in library.list_media()] == [(name, "volume")]
    preview = Preview()
    preview.open(library.find({"kind": "media", "name": name}))
    info = preview.describe_source()["info"]
    assert (info["count"], info["endings"]) == (6, [])
    assert not preview.is_playing
    assert preview.frame.number == 3
    for number in (3, 0, 5, 2):
        preview.seek(number, lambda: True)
        assert preview.frame.number == number
        np.testing.assert_array_equal(preview.frame.pixels, VOLUME[number])
    preview.step(is_back=True)
    np.testing.assert_array_equal(preview.frame.pixels, VOLUME[1])
    assert (preview.levels.low, preview.levels.high) == (-1000, 40)
    preview.close()


def test_a_single_slice_is_a_still(tmp_path):
    folder = write_dicom(tmp_path / "series")
    library = Library([folder / "4.dcm"])
    assert [each["kind"] for each in library.list_media()] == ["still"]
    preview = Preview()
    preview.open(library.find({"kind": "media", "name": "4.dcm"}))
    np.testing.assert_array_equal(preview.frame.pixels, VOLUME[4])
    preview.close()


def test_a_folder_stands_for_its_files_and_an_empty_one_is_told(tmp_path):
    from PIL import Image

    for name in ("mixed", "nothing"):
        (tmp_path / name).mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "mixed" / "b.png")
    Image.new("L", (8, 8)).save(tmp_path / "mixed" / "a.png")
    (tmp_path / "mixed" / "notes.txt").write_text("no image")
    (tmp_path / "nothing" / "notes.txt").write_text("no image")
    library = Library([tmp_path / "mixed", tmp_path / "nothing"])
    assert [each["name"] for each in library.list_media()] == ["a.png", "b.png"]
    (problem,) = library.list_problems()
    assert "'nothing' is a folder without images" in problem
    assert str(tmp_path) not in problem

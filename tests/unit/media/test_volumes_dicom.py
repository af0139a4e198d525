"""DICOM: slices in order and in their place, whatever the series looks like; and written again."""

from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.enhance import Enhancer
from subband.errors import ArgumentError, FormatError
from subband.media import open_sink, open_source, open_volume
from subband.media.geometry import PlaceWarning
from subband.pipeline.files import enhance_file

WHY = "not installed: pip install 'subband[volumes]'"
pydicom = pytest.importorskip("pydicom", reason=f"pydicom is {WHY}")
nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")

SHAPE = (5, 4, 6)
SPACING = (0.5, 0.25)
STEP = 2.5
TILT = np.cos(0.3), np.sin(0.3)
DIRECTIONS = {
    "axial": (1, 0, 0, 0, 1, 0),
    "axial, feet first": (-1, 0, 0, 0, 1, 0),
    "sagittal": (0, 1, 0, 0, 0, -1),
    "coronal": (1, 0, 0, 0, 0, -1),
    "oblique": (TILT[0], TILT[1], 0, -TILT[1] * TILT[0], TILT[0] * TILT[0], -TILT[1]),
}
PLAIN = np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def make_slice(pixels, *, meta=True, **attributes):
    """Make a data set of DICOM around pixels; what is None is left out."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    head = FileMetaDataset()
    head.MediaStorageSOPClassUID, head.MediaStorageSOPInstanceUID = CTImageStorage, generate_uid()
    head.TransferSyntaxUID = ExplicitVRLittleEndian
    slab = FileDataset(None, {}, file_meta=head, preamble=b"\0" * 128)
    bits = 8 * pixels.dtype.itemsize
    values = {
        "SOPClassUID": head.MediaStorageSOPClassUID,
        "SOPInstanceUID": head.MediaStorageSOPInstanceUID,
        "StudyInstanceUID": "1.2.3",
        "SeriesInstanceUID": "1.2.3.4",
        "FrameOfReferenceUID": "1.2.3.9",
        "PatientName": "Doe^Jane",
        "PatientID": "4711",
        "ImageType": ["ORIGINAL", "PRIMARY", "AXIAL"],
        "Modality": "CT",
        "Rows": pixels.shape[-2],
        "Columns": pixels.shape[-1],
        "PixelSpacing": list(SPACING),
        "SliceThickness": 9,
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        **attributes,
    }
    for name, value in values.items():
        if value is not None:
            setattr(slab, name, value)
    slab.PixelData = pixels.tobytes()
    return slab


def find_positions(directions, count=SHAPE[0], step=STEP, origin=(-31.0, 17.5, 400.25)):
    normal = np.cross(directions[:3], directions[3:])
    return [np.array(origin) + number * step * normal for number in range(count)]


def write_series(folder, volume=PLAIN, name="axial", ending=".dcm", skip=(), **attributes):
    """Write slices in no order, and return where each of their voxels lies: LPS, by value."""
    folder.mkdir(exist_ok=True)
    directions = DIRECTIONS[name]
    places = {}
    count = len(volume)
    for number, (pixels, position) in enumerate(zip(volume, find_positions(directions, count), strict=True)):
        if number in skip:
            continue
        slab = make_slice(
            pixels,
            ImagePositionPatient=[f"{each:.10g}" for each in position],
            ImageOrientationPatient=[f"{each:.10g}" for each in directions],
            InstanceNumber=count - number,
            **attributes,
        )
        pydicom.dcmwrite(folder / f"IM{(number * 3) % count}{ending}", slab)
        for (row, column), value in np.ndenumerate(pixels):
            along = np.array(directions[:3]) * SPACING[1] * column + np.array(directions[3:]) * SPACING[0] * row
            places[int(value)] = position + along
    return places


def check_places(image, places, scale=1.0, offset=0.0):
    """See that every voxel of a NIfTI image lies where the headers of the slices put it."""
    values = np.asarray(image.dataobj)
    assert values.size == len(places)
    for index, value in np.ndenumerate(values):
        ras = image.affine @ [*index[:3], 1]
        lps = np.array([-ras[0], -ras[1], ras[2]])
        np.testing.assert_allclose(lps, places[round((value - offset) / scale)], atol=1e-3)


@pytest.mark.parametrize("name", DIRECTIONS)
@pytest.mark.parametrize("ending", [".dcm", ""])
def test_every_voxel_of_a_series_lies_where_its_header_says(tmp_path, name, ending):
    places = write_series(tmp_path / "series", name=name, ending=ending)
    result = run("denoise", "--strength", 0, tmp_path / "series", tmp_path / "volume.nii")
    assert result.exit_code == 0, result.output
    image = nibabel.load(tmp_path / "volume.nii")
    check_places(image, places)
    assert (int(image.header["sform_code"]), int(image.header["qform_code"])) == (1, 1)
    np.testing.assert_allclose(image.header.get_qform(), image.affine, atol=1e-4)
    assert image.header.get_xyzt_units()[0] == "mm"


def test_slices_of_a_tilted_gantry_are_sheared(tmp_path):
    places = {}
    (tmp_path / "series").mkdir()
    for number, pixels in enumerate(PLAIN):
        position = np.array([3.0, 0.8 * number, STEP * number])
        slab = make_slice(
            pixels, ImagePositionPatient=position.tolist(), ImageOrientationPatient=list(DIRECTIONS["axial"])
        )
        pydicom.dcmwrite(tmp_path / "series" / f"{number}.dcm", slab)
        for (row, column), value in np.ndenumerate(pixels):
            places[int(value)] = position + np.array([SPACING[1] * column, SPACING[0] * row, 0])
    assert run("denoise", "--strength", 0, tmp_path / "series", tmp_path / "volume.nii").exit_code == 0
    image = nibabel.load(tmp_path / "volume.nii")
    check_places(image, places)
    assert int(image.header["qform_code"]) == 0


@pytest.mark.parametrize("skip", [(1,), (2,), (1, 2)])
def test_missing_slice_is_an_error_that_names_the_gap(tmp_path, skip):
    write_series(tmp_path / "series", np.zeros((7, 4, 6), np.int16), skip=skip)
    gap = f"{STEP * (len(skip) + 1):g} mm between IM{(skip[0] - 1) * 3 % 7}.dcm and IM{(skip[-1] + 1) * 3 % 7}.dcm"
    with pytest.raises(FormatError, match=f"slices of .* are missing: they lie 2.5 mm apart, and {gap}"):
        open_source(tmp_path / "series")
    result = run("denoise", tmp_path / "series", tmp_path / "volume.nii")
    assert result.exit_code == 2
    assert not (tmp_path / "volume.nii").exists()


def test_missing_number_is_an_error_where_positions_are_not_known(tmp_path):
    for number in (1, 2, 4, 5):
        pydicom.dcmwrite(tmp_path / f"{number}", make_slice(PLAIN[0], InstanceNumber=number))
    with (
        pytest.warns(PlaceWarning, match="left and right are not known"),
        pytest.raises(FormatError, match=r"missing between number 2 \(2\) and 4 \(4\)"),
    ):
        open_source(tmp_path)


@pytest.mark.filterwarnings("default::subband.media.geometry.PlaceWarning")
def test_unknown_place_is_marked(tmp_path):
    for number, pixels in enumerate(PLAIN):
        pydicom.dcmwrite(tmp_path / f"{number}.dcm", make_slice(pixels, InstanceNumber=number + 1))
    result = run("denoise", "--strength", 0, tmp_path, tmp_path / "volume.nii")
    assert result.exit_code == 0, result.output
    assert "warning:" in result.output
    assert "left and right are not known" in result.output
    header = nibabel.load(tmp_path / "volume.nii").header
    assert (int(header["sform_code"]), int(header["qform_code"])) == (0, 0)
    np.testing.assert_allclose(header.get_zooms(), [0.25, 0.5, 9])


def test_slices_in_different_directions_are_refused(tmp_path):
    for number, name in enumerate(DIRECTIONS):
        slab = make_slice(PLAIN[0], ImagePositionPatient=[0, 0, number], ImageOrientationPatient=list(DIRECTIONS[name]))
        pydicom.dcmwrite(tmp_path / f"{number}.dcm", slab)
    with pytest.raises(FormatError, match="lie in different directions; split the series"):
        open_source(tmp_path)


@pytest.mark.parametrize("series", ["7", "1.2.3.7"])
def test_series_is_chosen_on_the_command_line(tmp_path, series):
    write_series(tmp_path / "all", SeriesNumber=3, SeriesDescription="scout")
    places = write_series(tmp_path / "other", PLAIN + 500, SeriesNumber=7, SeriesInstanceUID="1.2.3.7")
    for file in (tmp_path / "other").iterdir():
        file.rename(tmp_path / "all" / f"b{file.name}")
    with pytest.raises(ArgumentError, match=r"2 series; .* 1\.2\.3\.4 \(number 3, scout, 5 files\), 1\.2\.3\.7 \(num"):
        open_source(tmp_path / "all")
    with pytest.raises(ArgumentError, match="no series '5'"):
        open_volume(tmp_path / "all", series="5")
    commands = (("denoise", "--strength", 0), ("filter", "--denoise", "visu", "--level", 0), ("noise", "--sigma", 0))
    for command in commands:
        result = run(*command, "--force", "--series", series, tmp_path / "all", tmp_path / "volume.nii")
        assert result.exit_code == 0, result.output
        check_places(nibabel.load(tmp_path / "volume.nii"), places)
    assert run("compare", "--series", series, tmp_path / "all", tmp_path / "volume.nii").exit_code == 0
    assert run("edges", "--series", series, tmp_path / "all", tmp_path / "mask.nii").exit_code == 0


def test_series_is_found_again_for_volumes_larger_than_memory(tmp_path):
    noise = np.random.default_rng(0).normal(500, 10, (60, 32, 32)).astype(np.int16)
    write_series(tmp_path / "all", noise, SeriesNumber=3)
    write_series(tmp_path / "all", noise, SeriesNumber=4, SeriesInstanceUID="1.2.3.7", ending="")
    result = run("denoise", "--series", 3, "--level", 1, "--memory", 0.0035, tmp_path / "all", tmp_path / "volume.nii")
    assert result.exit_code == 0, result.output
    assert np.std(np.asarray(nibabel.load(tmp_path / "volume.nii").dataobj)) < 7


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16"])
@pytest.mark.parametrize("stored", [None, 6])
def test_what_is_to_be_shown_bright_is_bright(tmp_path, dtype, stored):
    pixels = np.arange(24, dtype=dtype).reshape(4, 6)
    bits = stored or 8 * pixels.dtype.itemsize
    slab = make_slice(pixels, PhotometricInterpretation="MONOCHROME1", BitsStored=bits, HighBit=bits - 1)
    slab.ImagePositionPatient, slab.ImageOrientationPatient = [0, 0, 0], [1, 0, 0, 0, 1, 0]
    pydicom.dcmwrite(tmp_path / "chest", slab)
    with open_source(tmp_path / "chest") as source:
        (frame,) = source
    expected = (-1 if dtype == "int16" else 2**bits - 1) - pixels.astype(int)
    np.testing.assert_array_equal(frame.pixels, expected)
    assert frame.pixels.dtype == pixels.dtype


def test_single_slice_is_read_with_and_without_its_ending(tmp_path):
    slab = make_slice(PLAIN[0], ImagePositionPatient=[1, 2, 3], ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    for name in ("one.dcm", "one", "1.2.840.7"):
        pydicom.dcmwrite(tmp_path / name, slab)
        for function in (open_source, open_volume):
            with function(tmp_path / name) as source:
                assert source.shape == (1, 4, 6)
                assert source.info.voxel_size == (9, *SPACING)
                np.testing.assert_array_equal(next(iter(source)).pixels, PLAIN[0])


def make_enhanced(volume, order, *, times=1, step=STEP):
    """Make a multi-frame file whose frames lie in the given order, with what functional groups say."""
    from pydicom.dataset import Dataset

    frames = np.stack([volume[place] for place in order])
    slab = make_slice(frames, PixelSpacing=None, SliceThickness=None, NumberOfFrames=len(frames))
    shared, measures, plane = Dataset(), Dataset(), Dataset()
    measures.PixelSpacing, measures.SliceThickness = list(SPACING), 9
    plane.ImageOrientationPatient = list(DIRECTIONS["sagittal"])
    shared.PixelMeasuresSequence, shared.PlaneOrientationSequence = [measures], [plane]
    slab.SharedFunctionalGroupsSequence = [shared]
    places, own = {}, []
    depth = len(volume) // times
    positions = find_positions(DIRECTIONS["sagittal"], depth, step)
    for place in order:
        time, number = divmod(place, depth)
        item, position, content, scale = Dataset(), Dataset(), Dataset(), Dataset()
        position.ImagePositionPatient = positions[number].tolist()
        content.TemporalPositionIndex = time + 1
        scale.RescaleSlope, scale.RescaleIntercept = 2, -100
        item.PlanePositionSequence, item.FrameContentSequence = [position], [content]
        item.PixelValueTransformationSequence = [scale]
        own.append(item)
        for (row, column), value in np.ndenumerate(volume[place]):
            along = np.array([0, SPACING[1] * column, -SPACING[0] * row])
            places[int(value)] = positions[number] + along
    slab.PerFrameFunctionalGroupsSequence = own
    return slab, places


def test_frames_of_an_enhanced_file_are_put_in_their_place(tmp_path):
    slab, places = make_enhanced(PLAIN, [3, 0, 4, 1, 2])
    pydicom.dcmwrite(tmp_path / "enhanced", slab)
    assert run("denoise", "--strength", 0, tmp_path / "enhanced", tmp_path / "volume.nii").exit_code == 0
    check_places(nibabel.load(tmp_path / "volume.nii"), places, scale=2, offset=-100)
    with open_source(tmp_path / "enhanced") as source:
        np.testing.assert_allclose([frame.pixels for frame in source], PLAIN * 2.0 - 100)


def test_times_of_an_enhanced_file_are_volumes_of_their_own(tmp_path):
    volume = np.arange(6 * 24, dtype=np.int16).reshape(6, 4, 6)
    slab, places = make_enhanced(volume, [3, 0, 5, 1, 4, 2], times=2)
    pydicom.dcmwrite(tmp_path / "enhanced.dcm", slab)
    with open_source(tmp_path / "enhanced.dcm") as source:
        assert (source.info.count, source.info.groups) == (6, 2)
        np.testing.assert_allclose([frame.pixels for frame in source], volume * 2.0 - 100)
    assert run("denoise", "--strength", 0, tmp_path / "enhanced.dcm", tmp_path / "volume.nii").exit_code == 0
    image = nibabel.load(tmp_path / "volume.nii")
    assert image.shape == (6, 4, 3, 2)
    check_places(image, places, scale=2, offset=-100)


def test_images_at_the_same_positions_are_volumes_of_their_own(tmp_path):
    write_series(tmp_path / "series", TemporalPositionIdentifier=2)
    write_series(tmp_path / "series", PLAIN + 500, TemporalPositionIdentifier=1, ending="")
    with open_source(tmp_path / "series") as source:
        assert (source.info.count, source.info.groups) == (10, 2)
        np.testing.assert_array_equal([frame.pixels for frame in source], np.concatenate([PLAIN + 500, PLAIN]))
    (tmp_path / "series" / "IM0").unlink()
    with pytest.raises(FormatError, match=r"2 images at the position of IM.*, and 1 at that of IM0\.dcm"):
        open_source(tmp_path / "series")


@pytest.mark.filterwarnings("ignore:Invalid value for VR")
@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"BitsAllocated": None}, "says nothing about its BitsAllocated"),
        ({"BitsAllocated": 12}, "says 12 about its BitsAllocated"),
        ({"Rows": None}, "has no pixels"),
        ({"PixelData": None}, "has no pixels"),
        ({"RescaleSlope": 0}, "says RescaleSlope 0"),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "palette"),
        ({"ImageType": ["ORIGINAL", "PRIMARY", "M", "MOSAIC"]}, "mosaics, whose slices lie side by side"),
    ],
)
def test_odd_files_are_refused_in_one_line(tmp_path, attributes, message):
    slab = make_slice(PLAIN[0], ImagePositionPatient=[0, 0, 0], ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    for name, value in attributes.items():
        if value is None:
            delattr(slab, name)
        else:
            setattr(slab, name, value)
    slab.save_as(tmp_path / "odd.dcm")
    with pytest.raises(FormatError, match=message):
        open_source(tmp_path / "odd.dcm")
    result = run("denoise", tmp_path / "odd.dcm", tmp_path / "volume.nii")
    assert result.exit_code == 2
    assert isinstance(result.exception, FormatError | SystemExit)


@pytest.mark.parametrize(
    "empty", ["RescaleSlope", "RescaleIntercept", "NumberOfFrames", "InstanceNumber", "SliceThickness", "BitsStored"]
)
def test_empty_values_are_as_if_they_were_missing(tmp_path, empty):
    slab = make_slice(
        PLAIN[0], ImagePositionPatient=[0, 0, 0], ImageOrientationPatient=[1, 0, 0, 0, 1, 0], InstanceNumber=1
    )
    setattr(slab, empty, None if empty == "BitsStored" else "")
    slab.save_as(tmp_path / "odd.dcm")
    with open_source(tmp_path / "odd.dcm") as source:
        assert (source.shape, source.info.dtype) == ((1, 4, 6), np.int16)


def test_files_without_pixels_among_slices_are_passed_over(tmp_path):
    write_series(tmp_path / "series")
    report = make_slice(PLAIN[0], Rows=None, Columns=None)
    del report.PixelData
    report.save_as(tmp_path / "series" / "report")
    with open_source(tmp_path / "series") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], PLAIN)


def test_moving_images_and_projections_are_filtered_apart(tmp_path):
    cine = make_slice(np.zeros((3, 4, 6), np.uint8), NumberOfFrames=3, FrameTime=40, Modality="US")
    cine.save_as(tmp_path / "cine.dcm")
    with pytest.warns(PlaceWarning), open_source(tmp_path / "cine.dcm") as source:
        assert source.info.groups == source.info.count == 3


def test_positions_of_slices_are_those_within_their_volume(tmp_path):
    write_series(tmp_path / "series")
    with open_source(tmp_path / "series") as source:
        positions = [frame.metadata["position"] for frame in source]
    assert all(after - before == pytest.approx(STEP) for before, after in pairwise(positions))


def read_all(folder):
    files = sorted(folder.iterdir(), key=lambda file: float(pydicom.dcmread(file).ImagePositionPatient[2]))
    return [pydicom.dcmread(file) for file in files]


@pytest.mark.parametrize("name", DIRECTIONS)
@pytest.mark.parametrize("syntax", ["ImplicitVRLittleEndian", "ExplicitVRLittleEndian", "ExplicitVRBigEndian"])
def test_series_becomes_a_series(tmp_path, name, syntax):
    places = write_series(tmp_path / "series", name=name, RescaleSlope=2, RescaleIntercept=-1024, WindowCenter=40)
    for file in (tmp_path / "series").iterdir():
        slab = pydicom.dcmread(file)
        if syntax.endswith("BigEndian"):
            slab.PixelData = slab.pixel_array.astype(">i2").tobytes()
        slab.file_meta.TransferSyntaxUID = getattr(pydicom.uid, syntax)
        list(slab.iterall())
        pydicom.dcmwrite(file, slab, enforce_file_format=True)
    result = run("denoise", "--strength", 0, tmp_path / "series", tmp_path / "clean")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "clean" / "series"
    assert {file.name for file in folder.iterdir()} == {file.name for file in (tmp_path / "series").iterdir()}
    uids, values = set(), set()
    for file in folder.iterdir():
        old, new = pydicom.dcmread(tmp_path / "series" / file.name), pydicom.dcmread(file)
        for kept in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing"):
            np.testing.assert_allclose(np.array(old[kept].value, float), np.array(new[kept].value, float), atol=1e-6)
        for kept in (
            "PatientName",
            "PatientID",
            "StudyInstanceUID",
            "FrameOfReferenceUID",
            "RescaleSlope",
            "WindowCenter",
        ):
            assert old[kept].value == new[kept].value
        if not syntax.endswith("BigEndian"):
            assert new.ImageType == ["DERIVED", "PRIMARY", "AXIAL"]
            assert new.SOPClassUID == old.SOPClassUID
        assert "subband" in new.DerivationDescription
        assert new.SourceImageSequence[0].ReferencedSOPInstanceUID == old.SOPInstanceUID
        assert new.SOPInstanceUID not in (old.SOPInstanceUID, *values)
        assert new.SeriesInstanceUID != old.SeriesInstanceUID
        values.add(new.SOPInstanceUID)
        uids.add(new.SeriesInstanceUID)
        np.testing.assert_array_equal(old.pixel_array, new.pixel_array)
    assert len(uids) == 1
    assert run("denoise", "--strength", 0, folder, tmp_path / "volume.nii").exit_code == 0
    check_places(nibabel.load(tmp_path / "volume.nii"), places, scale=2, offset=-1024)


@pytest.mark.parametrize("name", ["axial", "oblique"])
@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint8"])
def test_series_becomes_a_multi_frame_file(tmp_path, name, dtype):
    places = write_series(tmp_path / "series", PLAIN.astype(dtype), name=name)
    assert run("denoise", "--strength", 0, tmp_path / "series", tmp_path / "all.dcm").exit_code == 0
    data = pydicom.dcmread(tmp_path / "all.dcm")
    assert (data.NumberOfFrames, data.PatientName, data.StudyInstanceUID) == (5, "Doe^Jane", "1.2.3")
    assert len(data.SourceImageSequence) == 5
    scaled = data.pixel_array * float(data.RescaleSlope) + float(data.RescaleIntercept)
    np.testing.assert_array_equal(scaled, PLAIN)
    assert run("denoise", "--strength", 0, tmp_path / "all.dcm", tmp_path / "volume.nii").exit_code == 0
    check_places(nibabel.load(tmp_path / "volume.nii"), places)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_volumes_of_other_files_become_dicom(tmp_path, dtype, groups):
    values = np.random.default_rng(0).normal(100, 30, (6, 4, 6)).astype(dtype)
    shape = (3, 2, 4, 6) if groups == 2 else (6, 4, 6)
    affine = np.array([[0, -0.5, 0, 3], [0.25, 0, 0, 4], [0, 0, 2.5, 5], [0, 0, 0, 1]])
    stack = values.reshape(2, 3, 4, 6) if groups == 2 else values.reshape(shape)
    nibabel.save(nibabel.Nifti1Image(stack.T, affine, dtype=dtype), tmp_path / "a.nii")
    assert run("denoise", "--strength", 0, "--level", 0, tmp_path / "a.nii", tmp_path / "a.dcm").exit_code == 0
    assert run("denoise", "--strength", 0, "--level", 0, tmp_path / "a.dcm", tmp_path / "b.nii").exit_code == 0
    image = nibabel.load(tmp_path / "b.nii")
    # slices may come back in the order of their positions, and stay where they are
    np.testing.assert_allclose(np.abs(np.linalg.det(image.affine)), 0.25 * 0.5 * 2.5, rtol=1e-5)
    found = np.asarray(image.dataobj)
    for index in np.ndindex(found.shape):
        ras = image.affine @ [*index[:3], 1]
        own = np.rint(np.linalg.inv(affine) @ ras).astype(int)
        expected = stack.T[(*own[:3], *index[3:])]
        assert found[index] == pytest.approx(expected, abs=0 if dtype in ("uint8", "int16") else 0.01)


def test_single_image_stays_one_with_its_header(tmp_path):
    pixels = np.arange(24, dtype=np.uint16).reshape(4, 6)
    slab = make_slice(
        pixels, PhotometricInterpretation="MONOCHROME1", BitsStored=12, HighBit=11, Modality="DX", WindowCenter=95
    )
    slab.PresentationLUTShape = "INVERSE"
    slab.save_as(tmp_path / "IM1", enforce_file_format=True)
    result = run("denoise", "--strength", 0, tmp_path / "IM1", tmp_path / "clean")
    assert result.exit_code == 0, result.output
    new = pydicom.dcmread(tmp_path / "clean" / "IM1")
    assert (new.PhotometricInterpretation, new.PresentationLUTShape) == ("MONOCHROME2", "IDENTITY")
    assert (new.BitsStored, new.WindowCenter) == (12, 4000)
    np.testing.assert_array_equal(new.pixel_array, 4095 - pixels)


def test_mask_of_a_series_is_a_series(tmp_path):
    write_series(tmp_path / "series", RescaleSlope=2, RescaleIntercept=-1024, WindowCenter=40)
    result = run("edges", tmp_path / "series", tmp_path / "masks")
    assert result.exit_code == 0, result.output
    for file in (tmp_path / "masks" / "series").iterdir():
        mask = pydicom.dcmread(file)
        assert (mask.BitsAllocated, mask.RescaleSlope, mask.RescaleIntercept) == (8, 1, 0)
        assert "WindowCenter" not in mask
        assert set(np.unique(mask.pixel_array)) <= {0, 255}


def test_folders_of_slices_are_complete_or_not_there(tmp_path):
    write_series(tmp_path / "series")
    with open_source(tmp_path / "series") as source:
        frames = list(source)
        sink = open_sink(tmp_path / "clean", source.info)
        sink.write(frames[0])
        assert not (tmp_path / "clean").exists()
        sink.abort()
        assert {path.name for path in tmp_path.iterdir()} == {"series"}
        with open_sink(tmp_path / "clean", source.info) as sink:
            for frame in frames:
                sink.write(frame)
        with pytest.raises(ArgumentError, match="is there already, and series are not mixed"):
            open_sink(tmp_path / "clean", source.info)
    assert {path.name for path in tmp_path.iterdir()} == {"series", "clean"}


def test_headers_that_cannot_be_written_again_are_told(tmp_path):
    write_series(tmp_path / "series")
    file = tmp_path / "series" / "IM0.dcm"
    content = file.read_bytes()
    assert content.count(b"PN\x08\x00Doe^Jane") == 1
    file.write_bytes(content.replace(b"PN\x08\x00Doe^Jane", b"C\\\x08\x00Doe^Jane"))
    result = run("denoise", tmp_path / "series", tmp_path / "all.dcm")
    assert result.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["series"]
    with pytest.raises(FormatError, match="cannot be written again"):
        enhance_file(tmp_path / "series", tmp_path / "all.dcm", Enhancer(()))


def test_packed_slices_are_read_and_written_bare(tmp_path):
    places = write_series(tmp_path / "series")
    for file in (tmp_path / "series").iterdir():
        slab = pydicom.dcmread(file)
        slab.compress(pydicom.uid.RLELossless)
        slab.save_as(file)
    assert run("denoise", "--strength", 0, tmp_path / "series", tmp_path / "clean").exit_code == 0
    for file in (tmp_path / "clean" / "series").iterdir():
        assert pydicom.dcmread(file).file_meta.TransferSyntaxUID == pydicom.uid.ExplicitVRLittleEndian
    assert run("denoise", "--strength", 0, tmp_path / "clean" / "series", tmp_path / "volume.nii").exit_code == 0
    check_places(nibabel.load(tmp_path / "volume.nii"), places)


def test_colours_of_moving_images(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (3, 4, 6, 3), dtype=np.uint8)
    cine = make_slice(frames, NumberOfFrames=3, FrameTime=40, Modality="US", Rows=4, Columns=6, SamplesPerPixel=3)
    cine.PhotometricInterpretation, cine.PlanarConfiguration = "RGB", 0
    cine.save_as(tmp_path / "cine.dcm")
    with pytest.warns(PlaceWarning):
        enhance_file(tmp_path / "cine.dcm", tmp_path / "clean.dcm", Enhancer(()))
    clean = pydicom.dcmread(tmp_path / "clean.dcm")
    assert clean.SOPClassUID == pydicom.uid.MultiFrameTrueColorSecondaryCaptureImageStorage
    np.testing.assert_array_equal(clean.pixel_array, frames)


def test_enhanced_files_become_multi_frame_files(tmp_path):
    volume = np.arange(6 * 24, dtype=np.int16).reshape(6, 4, 6)
    slab, places = make_enhanced(volume, [3, 0, 5, 1, 4, 2], times=2)
    pydicom.dcmwrite(tmp_path / "enhanced", slab)
    assert run("denoise", "--strength", 0, tmp_path / "enhanced", tmp_path / "clean").exit_code == 0
    assert run("denoise", "--strength", 0, tmp_path / "clean" / "enhanced", tmp_path / "volume.nii").exit_code == 0
    image = nibabel.load(tmp_path / "volume.nii")
    assert image.shape == (6, 4, 3, 2)
    check_places(image, places, scale=2, offset=-100)


@pytest.mark.parametrize("other", [{"PixelRepresentation": 0}, {"PhotometricInterpretation": "MONOCHROME1"}])
def test_slices_of_different_kinds_are_refused(tmp_path, other):
    write_series(tmp_path / "series")
    file = tmp_path / "series" / "IM3.dcm"
    slab = pydicom.dcmread(file)
    for name, value in other.items():
        setattr(slab, name, value)
    slab.save_as(file)
    with pytest.raises(FormatError, match="hold different kinds of numbers"):
        open_source(tmp_path / "series")

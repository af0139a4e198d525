"""DICOM whose pixels are JPEG 2000 or HTJ2K: read whoever wrote them, and written for others to read."""

import warnings

import numpy as np
import pytest

from subband.enhance import Enhancer
from subband.errors import ArgumentError, FormatError
from subband.media import open_sink, open_source
from subband.media.base import Frame, SourceInfo
from subband.media.geometry import PlaceWarning
from subband.pipeline import enhance_file

pydicom = pytest.importorskip("pydicom")
imagecodecs = pytest.importorskip("imagecodecs")

SYNTAXES = {
    "jpeg2000": "1.2.840.10008.1.2.4.90",
    "htj2k": "1.2.840.10008.1.2.4.201",
    "htj2k-rpcl": "1.2.840.10008.1.2.4.202",
}
RNG = np.random.default_rng(0)
Y, X = np.mgrid[:40, :50]
SMOOTH = 1000 + 700 * np.sin(X / 8) * np.cos(Y / 7)


def draw(dtype, count=3, channels=None):
    """Return slices of waves and noise that use a part of the range of a dtype."""
    shape = (count, 40, 50) if channels is None else (count, 40, 50, channels)
    waves = SMOOTH if channels is None else SMOOTH[..., None]
    values = waves + RNG.normal(0, 30, shape) - (1000 if np.dtype(dtype).kind == "i" else 0)
    limits = np.iinfo(dtype)
    return np.clip(values / (8 if limits.bits == 8 else 1), limits.min, limits.max).astype(dtype)


def make_file(path, frames, syntax, *, bits=None, is_signed=None, colours="MONOCHROME2", count=1, shape=(40, 50)):
    """Write codestreams as a DICOM file, as others do."""
    from pydicom.dataset import FileMetaDataset

    head = FileMetaDataset()
    head.TransferSyntaxUID = pydicom.uid.UID(syntax)
    head.MediaStorageSOPClassUID, head.MediaStorageSOPInstanceUID = pydicom.uid.CTImageStorage, "1.2.3.4.5"
    data = pydicom.Dataset()
    data.file_meta = head
    data.SOPClassUID, data.SOPInstanceUID = head.MediaStorageSOPClassUID, head.MediaStorageSOPInstanceUID
    data.SeriesInstanceUID, data.Modality = "1.2.3", "US"
    data.Rows, data.Columns = shape
    data.SamplesPerPixel = 1 if colours.startswith("MONO") else 3
    data.PhotometricInterpretation = colours
    if data.SamplesPerPixel == 3:
        data.PlanarConfiguration = 0
    data.BitsAllocated = 8 if bits <= 8 else 16
    data.BitsStored, data.HighBit, data.PixelRepresentation = bits, bits - 1, int(is_signed or False)
    if count > 1:
        data.NumberOfFrames, data.FrameTime = count, 40
    data.PixelData = pydicom.encaps.encapsulate(frames)
    data["PixelData"].VR, data["PixelData"].is_undefined_length = "OB", True
    data.save_as(path, enforce_file_format=True)


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaceWarning)
        with open_source(path) as source:
            return source.info, [frame.pixels for frame in source]


@pytest.mark.parametrize("syntax", [".90", ".91"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.uint8, 8), (np.uint16, 12), (np.uint16, 16), (np.int16, 16)])
def test_what_openjpeg_packs(tmp_path, dtype, bits, syntax):
    (values,) = draw(dtype, 1)
    options = {"bitspersample": bits} if np.dtype(dtype).kind == "u" else {}
    stream = imagecodecs.jpeg2k_encode(values, reversible=True, level=0, codecformat="j2k", **options)
    is_signed = np.dtype(dtype).kind == "i"
    make_file(tmp_path / "a.dcm", [stream], f"1.2.840.10008.1.2.4{syntax}", bits=bits, is_signed=is_signed)
    info, (found,) = read(tmp_path / "a.dcm")
    assert info.dtype == dtype
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("syntax", [".201", ".202", ".203"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_what_openjph_packs(tmp_path, dtype, syntax):
    frames = draw(dtype)
    streams = [imagecodecs.htj2k_encode(values, reversible=True) for values in frames]
    bits = 8 * np.dtype(dtype).itemsize
    make_file(tmp_path / "a.dcm", streams, f"1.2.840.10008.1.2.4{syntax}", bits=bits, count=3)
    for values, found in zip(frames, read(tmp_path / "a.dcm")[1], strict=True):
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("colours", ["YBR_RCT", "RGB"])
def test_colours_of_others(tmp_path, colours):
    (values,) = draw(np.uint8, 1, 3)
    stream = imagecodecs.jpeg2k_encode(values, reversible=True, level=0, codecformat="j2k", mct=colours != "RGB")
    make_file(tmp_path / "a.dcm", [stream], SYNTAXES["jpeg2000"], bits=8, colours=colours)
    np.testing.assert_array_equal(read(tmp_path / "a.dcm")[1][0], values)


def test_a_sign_that_the_codestream_does_not_have(tmp_path):
    # some writers pack what they have without the sign that the header says
    (values,) = draw(np.int16, 1)
    stream = imagecodecs.jpeg2k_encode((values & 0xFFF).astype(np.uint16), reversible=True, level=0, bitspersample=12,
                                       codecformat="j2k")  # fmt: skip
    make_file(tmp_path / "a.dcm", [stream], SYNTAXES["jpeg2000"], bits=12, is_signed=True)
    np.testing.assert_array_equal(read(tmp_path / "a.dcm")[1][0], values)


def write(path, frames, **options):
    info = SourceInfo("volume", frames.shape[1:], frames.dtype, count=len(frames))
    with open_sink(path, info, **options) as sink:
        for number, pixels in enumerate(frames):
            sink.write(Frame(pixels, number))


@pytest.mark.parametrize("codec", SYNTAXES)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("dtype", "channels"), [(np.uint8, None), (np.uint16, None), (np.uint8, 3)])
def test_every_bit_comes_back(tmp_path, codec, dtype, channels, count):
    frames = draw(dtype, count, channels)
    write(tmp_path / "a.dcm", frames, codec=codec)
    data = pydicom.dcmread(tmp_path / "a.dcm")
    assert data.file_meta.TransferSyntaxUID == SYNTAXES[codec]
    assert data.get("LossyImageCompression", "00") == "00"
    for number, (values, found) in enumerate(zip(frames, read(tmp_path / "a.dcm")[1], strict=True)):
        np.testing.assert_array_equal(found, values)
        stream = pydicom.encaps.get_frame(data.PixelData, number, number_of_frames=count)
        judge = imagecodecs.jpeg2k_decode if codec == "jpeg2000" else imagecodecs.htj2k_decode
        options = {} if codec == "jpeg2000" else {"planar": False}
        np.testing.assert_array_equal(judge(stream, **options), values)
    if codec == "jpeg2000":
        theirs = pydicom.pixels.pixel_array(data, decoding_plugin="pillow")
        np.testing.assert_array_equal(theirs.reshape(frames.shape), frames)
    if channels:
        assert data.PhotometricInterpretation == "YBR_RCT"


@pytest.mark.parametrize(("codec", "syntax"), [("jpeg2000", ".91"), ("htj2k", ".203")])
def test_a_quality_is_told(tmp_path, codec, syntax):
    frames = draw(np.uint16)
    write(tmp_path / "a.dcm", frames, codec=codec, quality=50)
    data = pydicom.dcmread(tmp_path / "a.dcm")
    assert data.file_meta.TransferSyntaxUID == f"1.2.840.10008.1.2.4{syntax}"
    assert data.LossyImageCompression == "01"
    assert data.LossyImageCompressionMethod == ("ISO_15444_1" if codec == "jpeg2000" else "ISO_15444_15")
    assert float(data.LossyImageCompressionRatio) > 2
    error = np.mean((np.array(read(tmp_path / "a.dcm")[1], float) - frames) ** 2)
    assert 10 * np.log10(65535**2 / error) >= 50


def test_a_series_stays_one_with_its_headers(tmp_path):
    stored = draw(np.int16, 4)
    (tmp_path / "series").mkdir()
    for number, values in enumerate(stored):
        stream = imagecodecs.jpeg2k_encode(values, reversible=True, level=0, codecformat="j2k")
        path = tmp_path / "series" / f"{number}.dcm"
        make_file(path, [stream], SYNTAXES["jpeg2000"], bits=16, is_signed=True)
        data = pydicom.dcmread(path)
        data.SOPInstanceUID = data.file_meta.MediaStorageSOPInstanceUID = f"1.2.3.4.{number}"
        data.ImagePositionPatient, data.ImageOrientationPatient = [0, 0, 2 * number], [1, 0, 0, 0, 1, 0]
        data.PixelSpacing, data.InstanceNumber, data.PatientName = [1, 1], number, "Doe^Jane"
        data.RescaleSlope, data.RescaleIntercept = 2, -1024
        data.save_as(path, enforce_file_format=True)
    with (
        open_source(tmp_path / "series") as source,
        open_sink(tmp_path / "packed", source.info, codec="htj2k") as sink,
    ):
        for frame in source:
            sink.write(frame)
    for number, values in enumerate(stored):
        data = pydicom.dcmread(tmp_path / "packed" / f"{number}.dcm")
        assert (data.PatientName, data.file_meta.TransferSyntaxUID) == ("Doe^Jane", SYNTAXES["htj2k"])
        stream = pydicom.encaps.get_frame(data.PixelData, 0, number_of_frames=1)
        np.testing.assert_array_equal(imagecodecs.htj2k_decode(stream), values)
    for values, found in zip(stored, read(tmp_path / "packed")[1], strict=True):
        np.testing.assert_array_equal(found, values * 2.0 - 1024)


def test_packed_pixels_are_written_bare_unless_asked_for(tmp_path):
    write(tmp_path / "a.dcm", draw(np.uint16), codec="htj2k")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaceWarning)
        enhance_file(tmp_path / "a.dcm", tmp_path / "b.dcm", Enhancer(()))
    assert pydicom.dcmread(tmp_path / "b.dcm").file_meta.TransferSyntaxUID == pydicom.uid.ExplicitVRLittleEndian


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codec": "h264"}, "use one of jpeg2000, htj2k, htj2k-rpcl"),
        ({"codec": "htj2k-rpcl", "quality": 50}, "loses nothing"),
        ({"codec": "jpeg2000", "quality": 120}, "not between 0 and 100"),
        ({"codec": "jpeg2000", "preset": "fast"}, "apply to video only"),
    ],
)
def test_what_cannot_be_packed(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        write(tmp_path / "a.dcm", draw(np.uint16), **options)
    assert not list(tmp_path.iterdir())


def test_damaged_frames_are_told(tmp_path):
    make_file(tmp_path / "a.dcm", [b"\xff\x4f\xff\x51" + bytes(60)], SYNTAXES["htj2k"], bits=8)
    with pytest.raises(FormatError, match=r"a\.dcm"):
        read(tmp_path / "a.dcm")
    # a codestream that is larger than its header says takes no memory
    huge = imagecodecs.jpeg2k_encode(np.zeros((400, 500), np.uint8), reversible=True, level=0, codecformat="j2k")
    make_file(tmp_path / "b.dcm", [huge], SYNTAXES["jpeg2000"], bits=8)
    with pytest.raises(FormatError, match=r"b\.dcm"):
        read(tmp_path / "b.dcm")

"""Raw files of cameras are developed, or refused with a way out; never is their thumbnail taken for the picture."""

import io
import sys

import numpy as np
import pytest
from PIL import Image

from subband.errors import ArgumentError, FormatError, MissingExtraError
from subband.media import TooLargeError, open_sink, open_source, read_still
from subband.media.formats import find_format, recognise_format

tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed: pip install 'subband[volumes]'")

IDENTITY = [number for place in range(9) for number in (int(place % 4 == 0), 1)]
DNG = [
    (50706, "B", 4, bytes([1, 4, 0, 0]), True),
    (50708, "s", 0, "Maker Model", True),
    (50721, "2i", 9, tuple(IDENTITY), True),
    (50728, "2I", 3, (1, 1, 1, 1, 1, 1), True),
    (50778, "H", 1, 21, True),
]


@pytest.fixture
def rawpy():
    return pytest.importorskip("rawpy", reason="rawpy is not installed: pip install 'subband[raw]'")


def make_raw(path, *, is_dng, maker="NIKON CORPORATION"):
    """Write a thumbnail of 24 × 16 with a mosaic of 96 × 64 below it, as most cameras do."""
    mosaic = np.full((64, 96), 8000, np.uint16)
    mosaic[:, 48:] = 30000
    about = [(271, "s", 0, maker, True), (272, "s", 0, "Model", True), *(DNG if is_dng else [])]
    pattern = [(33421, "H", 2, (2, 2), True), (33422, "B", 4, bytes([0, 1, 1, 2]), True)]
    with tifffile.TiffWriter(path) as writer:
        thumbnail = np.full((16, 24, 3), 77, np.uint8)
        writer.write(
            thumbnail, photometric="rgb", subifds=1, subfiletype=1, metadata=None, software=False, extratags=about
        )
        writer.write(mosaic, photometric="cfa", metadata=None, extratags=pattern)
    return path


@pytest.mark.parametrize("name", ["image.nef", "image.dng", "image.tif", "image"])
def test_raw_is_developed(tmp_path, rawpy, name):
    path = make_raw(tmp_path / name, is_dng=name.endswith("dng"))
    still = read_still(path)
    assert still.pixels.shape == (64, 96, 3)
    assert still.pixels.dtype == np.uint16
    exif = Image.Exif()
    exif.load(still.exif)
    assert (exif[271], exif[272]) == ("NIKON CORPORATION", "Model")
    with open_source(path) as source:
        assert (source.info.kind, source.info.shape) == ("still", (64, 96, 3))


def test_light_is_that_of_the_mosaic(tmp_path, rawpy):
    pixels = read_still(make_raw(tmp_path / "image.nef", is_dng=False)).pixels / 65535
    light = np.array([8000, 30000]) / 65535
    # the curve of BT.709, which LibRaw applies unless it is told otherwise
    expected = 1.099 * light**0.45 - 0.099
    np.testing.assert_allclose(pixels[32, 16], expected[0], atol=2e-3)
    np.testing.assert_allclose(pixels[32, 80], expected[1], atol=2e-3)


@pytest.mark.parametrize("name", ["image.nef", "image.dng", "image.tif", "image"])
def test_without_the_library_the_way_out_is_named(tmp_path, monkeypatch, name):
    path = make_raw(tmp_path / name, is_dng=name.endswith("dng"))
    monkeypatch.setitem(sys.modules, "rawpy", None)
    for read in (read_still, open_source):
        with pytest.raises(MissingExtraError, match=rf"'{name}', the raw file of a camera.*subband\[raw\]"):
            read(path)


STARTS = {
    "raf": b"FUJIFILMCCD-RAW 0201",
    "orf": b"IIRO\x08\0\0\0",
    "rw2": b"IIU\0\x18\0\0\0",
    "x3f": b"FOVb\x02\0\x03\0",
    "mrw": b"\0MRM\0\x01\0\0",
    "crw": b"II\x1a\0\0\0HEAPCCDR",
    "cr2": b"II*\0\x10\0\0\0CR\x02\0",
    "cr3": b"\0\0\0\x18ftypcrx \0\0\0\x01crx isom",
}


@pytest.mark.parametrize("ending", STARTS)
def test_makers_are_known_by_their_first_bytes(tmp_path, rawpy, ending):
    path = tmp_path / "image.bin"
    path.write_bytes(STARTS[ending] + bytes(2000))
    assert recognise_format(path) is find_format("image.nef")
    for read in (read_still, open_source):
        with pytest.raises(FormatError, match=r"raw file of a camera, and cannot be developed: .*darktable"):
            read(path)


def test_thumbnail_of_a_maker_that_hides_its_mosaic(tmp_path):
    file = io.BytesIO()
    tifffile.imwrite(file, np.zeros((16, 24, 3), np.uint8), photometric="rgb", metadata=None)
    (tmp_path / "image.3fr").write_bytes(file.getvalue())
    (tmp_path / "image.tif").write_bytes(file.getvalue())
    assert recognise_format(tmp_path / "image.3fr") is find_format("image.3fr")
    assert recognise_format(tmp_path / "image.tif") is find_format("image.tif")


def test_a_name_alone_makes_no_raw_file(tmp_path):
    for ending in find_format("image.nef").endings:
        Image.new("RGB", (4, 3), (1, 2, 3)).save(tmp_path / f"image{ending}", format="png")
        assert read_still(tmp_path / f"image{ending}").pixels.shape == (3, 4, 3)


def test_cut_raw_file(tmp_path, rawpy):
    path = make_raw(tmp_path / "image.nef", is_dng=False)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(FormatError, match=r"image\.nef"):
        read_still(path)


def test_large_raw_file(tmp_path, rawpy):
    with pytest.raises(TooLargeError, match="96 × 64"):
        read_still(make_raw(tmp_path / "image.nef", is_dng=False), most_pixels=6000)


def test_raw_is_not_written(tmp_path, rawpy):
    with open_source(make_raw(tmp_path / "image.nef", is_dng=False)) as source:
        with pytest.raises(ArgumentError, match=r"take a name such as image\.png"):
            open_sink(tmp_path / "copy.nef", source.info)
        with open_sink(tmp_path / "copy.png", source.info) as sink:
            for frame in source:
                sink.write(frame)
    assert read_still(tmp_path / "copy.png").pixels.dtype == np.uint16

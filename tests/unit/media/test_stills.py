"""Pictures come back as they were, or with a clear error."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from subband.errors import ArgumentError, FormatError
from subband.media import Still, place_output, read_still, write_still

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)
GREY = COLOUR[..., 0].copy()
ALPHA = COLOUR[..., 1].copy()
DEEP = RNG.integers(0, 65536, (12, 17), dtype=np.uint16)


@pytest.mark.parametrize("ending", ["png", "tiff"])
@pytest.mark.parametrize(
    "still",
    [Still(GREY), Still(COLOUR), Still(DEEP), Still(GREY, ALPHA), Still(COLOUR, ALPHA)],
    ids=["grey", "colour", "deep", "grey-alpha", "colour-alpha"],
)
def test_round_trip(tmp_path, still, ending):
    path = tmp_path / f"picture.{ending}"
    write_still(path, still)
    read = read_still(path)
    assert read.pixels.dtype == still.pixels.dtype
    np.testing.assert_array_equal(read.pixels, still.pixels)
    if still.alpha is None:
        assert read.alpha is None
    else:
        np.testing.assert_array_equal(read.alpha, still.alpha)


@pytest.mark.parametrize(("mode", "shape"), [("1", (12, 17)), ("P", (12, 17, 3)), ("CMYK", (12, 17, 3))])
def test_other_kinds_are_converted(tmp_path, mode, shape):
    path = tmp_path / "picture.tiff"
    Image.fromarray(COLOUR).convert(mode).save(path)
    assert read_still(path).pixels.shape == shape


def test_camera_held_upright(tmp_path):
    path = tmp_path / "picture.jpg"
    image = Image.fromarray(COLOUR)
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(path, exif=exif)
    assert read_still(path).pixels.shape == (17, 12, 3)


def test_transparency_is_left_out_where_there_is_no_place(tmp_path):
    path = tmp_path / "picture.jpg"
    write_still(path, Still(COLOUR, ALPHA))
    assert read_still(path).alpha is None


def test_pixels_are_rounded_and_clipped():
    still = Still(GREY, ALPHA).replace_pixels(np.array([[-3.0, 254.6, 300.0]]))
    assert still.pixels.tolist() == [[0, 255, 255]]
    assert still.alpha is None
    assert Still(GREY, ALPHA).replace_pixels(GREY).alpha is ALPHA


def make_deep_colour():
    """Encode a PNG file of 16 bits in colour, which Pillow does not write."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = zlib.compress((b"\0" + bytes(2 * 6)) * 2)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"hello", "not a picture"), (b"", "not a picture"), (make_deep_colour(), "16 bits in colour")],
)
def test_what_cannot_be_read(tmp_path, content, message):
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_still(path)


def test_truncated_file(tmp_path):
    path = tmp_path / "picture.png"
    write_still(path, Still(RNG.integers(0, 256, (64, 64), dtype=np.uint8)))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(FormatError, match="cannot be read"):
        read_still(path)


def test_floating_point_is_refused(tmp_path):
    path = tmp_path / "picture.tiff"
    Image.fromarray(GREY.astype(np.float32)).save(path)
    with pytest.raises(FormatError, match="floating"):
        read_still(path)


def test_folder_is_not_a_picture(tmp_path):
    with pytest.raises(ArgumentError, match="folder"):
        read_still(tmp_path)


@pytest.mark.parametrize(("name", "still"), [("a.foo", Still(GREY)), ("a.jpg", Still(DEEP))])
def test_what_cannot_be_written(tmp_path, name, still):
    with pytest.raises(ArgumentError, match=name):
        write_still(tmp_path / name, still)
    assert not list(tmp_path.iterdir())


def write_and_fail(path):
    with place_output(path) as unfinished:
        unfinished.write_text("half")
        raise RuntimeError


def test_failed_output_leaves_what_was_there(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("before")
    with pytest.raises(RuntimeError):
        write_and_fail(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_output_needs_a_folder(tmp_path):
    with pytest.raises(ArgumentError, match="does not exist"), place_output(tmp_path / "no" / "a.txt"):
        pass
    with pytest.raises(ArgumentError, match="is a folder"), place_output(tmp_path):
        pass

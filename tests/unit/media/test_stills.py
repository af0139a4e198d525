"""Pictures come back as they were, or with a clear error."""

import contextlib
import io
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from subband.codecs.jpeg2000 import CodecWarning
from subband.errors import ArgumentError, FormatError, MissingExtraError, ShapeError
from subband.media import (
    LossWarning,
    Still,
    TooLargeError,
    imread,
    imwrite,
    place_output,
    read_still,
    write_still,
)
from subband.media.deep_stills import turn_upright

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)
GREY = COLOUR[..., 0].copy()
ALPHA = COLOUR[..., 1].copy()
DEEP = RNG.integers(0, 65536, (12, 17), dtype=np.uint16)
DEEP_COLOUR = RNG.integers(0, 65536, (12, 17, 3), dtype=np.uint16)
SMOOTH = (np.mgrid[:48, :64][0] * 3 + np.mgrid[:48, :64][1])[..., None] // np.array([1, 2, 3])
SMOOTH = SMOOTH.clip(0, 255).astype(np.uint8)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


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
    with pytest.warns(LossWarning, match=r"'picture\.jpg' cannot hold opacity, which is left out"):
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
    [(b"hello", "not an image"), (b"", "not an image")],
)
def test_what_cannot_be_read(tmp_path, content, message):
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_still(path)


def test_truncated_deep_colour(tmp_path, av):
    path = tmp_path / "picture.png"
    path.write_bytes(make_deep_colour()[:50])
    with pytest.raises(FormatError, match="cannot be read"):
        read_still(path)


def test_truncated_file(tmp_path):
    path = tmp_path / "picture.png"
    write_still(path, Still(RNG.integers(0, 256, (64, 64), dtype=np.uint8)))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(FormatError, match="cannot be read"):
        read_still(path)


def test_folder_is_not_a_picture(tmp_path):
    with pytest.raises(ArgumentError, match="folder"):
        read_still(tmp_path)


@pytest.mark.parametrize(
    ("name", "still"),
    [
        ("a.foo", Still(GREY)),
        ("a.jpg", Still(DEEP)),
        ("a.bmp", Still(DEEP_COLOUR)),
        ("a.png", Still(GREY.astype(np.float32))),
        ("a.xbm", Still(GREY.astype(np.int16))),
    ],
)
def test_what_cannot_be_written(tmp_path, name, still):
    with pytest.raises(ArgumentError, match=r"a\.|int16"):
        write_still(tmp_path / name, still)
    assert not list(tmp_path.iterdir())


def write_and_fail(path):
    with place_output(path, overwrite=True) as unfinished:
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


@pytest.mark.parametrize(
    ("name", "still"),
    [
        ("a.bmp", Still(COLOUR)),
        ("a.webp", Still(COLOUR, ALPHA)),
        ("a.jp2", Still(COLOUR)),
        ("a.jp2", Still(COLOUR, ALPHA)),
        ("a.jp2", Still(DEEP)),
        ("a.gif", Still(GREY)),
    ],
)
def test_formats_without_loss(tmp_path, name, still):
    write_still(tmp_path / name, still, quality=100)
    read = read_still(tmp_path / name)
    visible = ... if still.alpha is None else still.alpha > 0
    pixels = read.pixels[..., 0] if read.is_colour and not still.is_colour else read.pixels
    np.testing.assert_array_equal(pixels[visible], still.pixels[visible])
    if still.alpha is not None:
        np.testing.assert_array_equal(read.alpha, still.alpha)


@pytest.mark.parametrize(("name", "most"), [("a.jpg", 3), ("a.jpeg", 3), ("a.webp", 8)])
def test_formats_with_loss(tmp_path, name, most):
    write_still(tmp_path / name, Still(SMOOTH))
    assert np.abs(read_still(tmp_path / name).pixels.astype(int) - SMOOTH).mean() < most
    large = (tmp_path / name).stat().st_size
    write_still(tmp_path / name, Still(SMOOTH), quality=10, overwrite=True)
    assert (tmp_path / name).stat().st_size < large


@pytest.mark.parametrize("alpha", [None, DEEP])
def test_deep_colour_in_png(tmp_path, av, alpha):
    path = tmp_path / "deep.png"
    write_still(path, Still(DEEP_COLOUR, alpha, PROFILE))
    read = read_still(path)
    np.testing.assert_array_equal(read.pixels, DEEP_COLOUR)
    assert read.icc == PROFILE
    if alpha is not None:
        np.testing.assert_array_equal(read.alpha, alpha)
    # FFmpeg, which knows nothing of how it was written, agrees.
    with av.open(str(path)) as container:
        decoded = next(container.decode(video=0)).to_ndarray(format="rgb48le")
    np.testing.assert_array_equal(decoded, DEEP_COLOUR)


def test_deep_grey_with_transparency(tmp_path, av):
    write_still(tmp_path / "deep.png", Still(DEEP, DEEP[::-1]))
    read = read_still(tmp_path / "deep.png")
    np.testing.assert_array_equal(read.pixels, DEEP)
    np.testing.assert_array_equal(read.alpha, DEEP[::-1])


def test_deep_colour_without_the_library(tmp_path, monkeypatch):
    write_still(tmp_path / "deep.png", Still(DEEP_COLOUR))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"subband\[video\]"):
        read_still(tmp_path / "deep.png")
    monkeypatch.setitem(sys.modules, "tifffile", None)
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        write_still(tmp_path / "deep.tiff", Still(DEEP_COLOUR))
    assert not (tmp_path / "deep.tiff").exists()


@pytest.mark.parametrize("turn", range(1, 9))
def test_turning_is_that_of_pillow(turn):
    image = Image.fromarray(COLOUR)
    exif = image.getexif()
    exif[0x0112] = turn
    file = io.BytesIO()
    image.save(file, "png", exif=exif)
    with Image.open(file) as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
    np.testing.assert_array_equal(turn_upright(COLOUR, turn), expected)


@pytest.mark.parametrize("pixels", [DEEP_COLOUR, COLOUR.astype(np.float32) / 255, GREY.astype(np.float32) / 7])
def test_deep_and_floating_tiff(tmp_path, pixels):
    if pixels.ndim == 3:
        pytest.importorskip("tifffile", reason="tifffile is not installed: pip install 'subband[volumes]'")
    write_still(tmp_path / "deep.tiff", Still(pixels, icc=PROFILE if pixels.ndim == 3 else None))
    read = read_still(tmp_path / "deep.tiff")
    assert read.pixels.dtype == pixels.dtype
    np.testing.assert_array_equal(read.pixels, pixels)
    assert read.icc == (PROFILE if pixels.ndim == 3 else None)
    assert read.peak == (65535 if pixels.dtype == np.uint16 else 1)


def test_floating_point_is_not_clipped():
    still = Still(GREY.astype(np.float32)).replace_pixels(np.array([[-3.0, 0.5, 300.0]]))
    assert still.pixels.tolist() == [[-3.0, 0.5, 300.0]]
    assert still.pixels.dtype == np.float32


def make_camera_picture(path, orientation):
    image = Image.fromarray(SMOOTH)
    exif = image.getexif()
    exif[0x0112], exif[0x010F], exif[0x0132] = orientation, "Maker", "2020:01:02 03:04:05"
    exif.get_ifd(0x8769)[0x829A] = 0.125
    # as bytes, because of an object Pillow drops parts in a TIFF file
    image.save(path, exif=exif.tobytes(), icc_profile=PROFILE, quality=95)


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tiff"])
def test_profile_and_exif_are_kept_and_the_picture_is_upright(tmp_path, ending):
    make_camera_picture(tmp_path / "camera.jpg", 6)
    still = read_still(tmp_path / "camera.jpg")
    assert still.pixels.shape == (64, 48, 3)
    write_still(tmp_path / f"copy.{ending}", still.replace_pixels(still.pixels))
    with Image.open(tmp_path / f"copy.{ending}") as copy:
        copy.load()
        assert copy.size == (48, 64)
        assert copy.info["icc_profile"] == PROFILE
        exif = copy.getexif()
        assert exif.get(0x0112, 1) == 1
        assert exif[0x010F] == "Maker"
        assert exif.get_ifd(0x8769)[0x829A] == 0.125
    again = read_still(tmp_path / f"copy.{ending}")
    assert again.pixels.shape == (64, 48, 3)
    # What a TIFF file says about its own bytes must not travel.
    write_still(tmp_path / "last.jpg", again)
    with Image.open(tmp_path / "last.jpg") as last:
        assert set(last.getexif()) <= {0x010F, 0x0132, 0x8769, 0x011A, 0x011B, 0x0128}


def test_profiles_go_only_with_their_colours(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "grey.png", icc_profile=PROFILE)
    assert read_still(tmp_path / "grey.png").icc is None
    assert Still(COLOUR, icc=PROFILE).replace_pixels(GREY).icc is None


@pytest.mark.parametrize("ending", ["jpg", "tiff"])
def test_inks_become_light(tmp_path, ending):
    inks = np.zeros((16, 16, 4), np.uint8)
    inks[..., 1:3] = 255
    Image.fromarray(inks, "CMYK").save(tmp_path / f"inks.{ending}")
    pixels = read_still(tmp_path / f"inks.{ending}").pixels
    assert pixels.shape == (16, 16, 3)
    np.testing.assert_allclose(pixels[8, 8], [255, 0, 0], atol=4)


def test_transparent_shade_of_deep_grey(tmp_path):
    deep = DEEP.copy()
    deep[2:5, 3] = 4711
    Image.fromarray(deep).save(tmp_path / "shade.png", transparency=4711)
    still = read_still(tmp_path / "shade.png")
    np.testing.assert_array_equal(still.pixels, deep)
    np.testing.assert_array_equal(still.alpha, np.where(deep == 4711, 0, 65535))


@pytest.mark.parametrize("dtype", [">u2", ">f4"])
def test_byte_swapped_arrays_are_written(tmp_path, dtype):
    swapped = DEEP.astype(dtype)
    imwrite(tmp_path / "swapped.tiff", swapped)
    read = imread(tmp_path / "swapped.tiff")
    assert read.dtype == swapped.dtype.newbyteorder("=")
    np.testing.assert_array_equal(read, swapped)


def test_palette_with_transparency(tmp_path):
    image = Image.fromarray(GREY // 64).convert("P")
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
    image.save(tmp_path / "palette.gif", transparency=3)
    still = read_still(tmp_path / "palette.gif")
    table = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]])
    opaque = GREY // 64 != 3
    np.testing.assert_array_equal(still.pixels[opaque], table[GREY // 64][opaque])
    np.testing.assert_array_equal(still.alpha, np.where(opaque, 255, 0))


def make_bomb(columns, rows):
    """Encode a white picture that is small as a file."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer = zlib.compressobj(9)
    line = b"\0" + b"\xff" * -(-columns // 8)
    content = b"".join(packer.compress(line) for _ in range(rows)) + packer.flush()
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def test_bombs_are_refused_with_a_way_out(tmp_path, monkeypatch):
    path = tmp_path / "bomb.png"
    # Only the head is real: the refusal must not need the rest.
    path.write_bytes(make_bomb(60000, 4)[:16] + struct.pack(">II", 60000, 60000) + make_bomb(60000, 4)[24:])
    head = path.read_bytes()
    path.write_bytes(head[:29] + struct.pack(">I", zlib.crc32(head[12:29])) + head[33:])
    with pytest.raises(TooLargeError, match=r"60000 × 60000.*limit of 268435456.*SUBBAND_MOST_PIXELS"):
        read_still(path)
    small = tmp_path / "small.png"
    Image.fromarray(GREY).save(small)
    with pytest.raises(TooLargeError, match="most_pixels=204"):
        read_still(small, most_pixels=200)
    monkeypatch.setenv("SUBBAND_MOST_PIXELS", "200")
    with pytest.raises(TooLargeError, match="limit of 200"):
        read_still(small)
    assert read_still(small, most_pixels=204).pixels.shape == GREY.shape
    monkeypatch.setenv("SUBBAND_MOST_PIXELS", "many")
    with pytest.raises(ArgumentError, match="SUBBAND_MOST_PIXELS=many"):
        read_still(small)


def test_large_pictures_are_read_without_a_warning(tmp_path):
    limit = Image.MAX_IMAGE_PIXELS
    (tmp_path / "wide.png").write_bytes(make_bomb(16384, 6000))
    assert limit < 16384 * 6000
    assert read_still(tmp_path / "wide.png").pixels.shape == (6000, 16384)
    assert limit == Image.MAX_IMAGE_PIXELS


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "gif", "webp", "tiff", "jp2"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_truncated_files_of_every_kind(tmp_path, ending, share):
    path = tmp_path / f"picture.{ending}"
    write_still(path, Still(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    # Those who made JPEG 2000 and GIF meant that a part of a picture is one.
    if ending in ("jp2", "gif"):
        with contextlib.suppress(FormatError, CodecWarning):
            assert read_still(path).pixels.shape == (64, 64, 3)
    else:
        with pytest.raises(FormatError, match=path.name):
            read_still(path)


def test_existing_picture_stays_if_asked(tmp_path):
    write_still(tmp_path / "a.png", Still(GREY))
    with pytest.raises(ArgumentError, match="overwrite=True"):
        write_still(tmp_path / "a.png", Still(COLOUR), overwrite=False)
    assert read_still(tmp_path / "a.png").pixels.ndim == 2


def test_picture_that_is_too_wide_for_its_format(tmp_path):
    with pytest.raises(ArgumentError, match=r"wide\.webp' cannot hold this image of 16384 × 1 pixels"):
        write_still(tmp_path / "wide.webp", Still(np.zeros((1, 16384), np.uint8)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("orientation", [1, 6])
def test_exif_of_tiff_is_kept(tmp_path, orientation):
    make_camera_picture(tmp_path / "camera.tiff", orientation)
    still = read_still(tmp_path / "camera.tiff")
    assert still.pixels.shape == ((64, 48, 3) if orientation == 6 else (48, 64, 3))
    write_still(tmp_path / "copy.jpg", still)
    with Image.open(tmp_path / "copy.jpg") as copy:
        exif = copy.getexif()
        assert exif.get(0x0112, 1) == 1
        assert exif[0x010F] == "Maker"
        assert exif.get_ifd(0x8769)[0x829A] == 0.125


def test_deep_colour_is_turned_upright(tmp_path, av):
    exif = Image.Exif()
    exif[0x0112] = 6
    write_still(tmp_path / "deep.png", Still(DEEP_COLOUR, exif=exif.tobytes()))
    still = read_still(tmp_path / "deep.png")
    np.testing.assert_array_equal(still.pixels, turn_upright(DEEP_COLOUR, 6))
    assert still.exif is None


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,)])
def test_arrays_are_images(tmp_path, channels):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, *channels)).astype(np.uint8)
    imwrite(str(tmp_path / "a.png"), image)
    np.testing.assert_array_equal(imread(str(tmp_path / "a.png")), image[..., 0] if channels == (1,) else image)
    with pytest.raises(ArgumentError, match="is there already"):
        imwrite(str(tmp_path / "a.png"), image)


@pytest.mark.parametrize("shape", [(5,), (5, 7, 5), (2, 5, 7, 3), (0, 7)])
def test_other_arrays_are_not(tmp_path, shape):
    with pytest.raises(ShapeError, match="rows × columns"):
        imwrite(tmp_path / "a.png", np.zeros(shape, np.uint8))


def test_still_is_taken_for_its_pixels():
    still = Still(COLOUR)
    assert (still.shape, still.dtype) == (COLOUR.shape, COLOUR.dtype)
    np.testing.assert_array_equal(np.asarray(still, np.float32), COLOUR.astype(np.float32))

"""TIFF of every kind comes out in the right shades and with all its channels, or is refused with a way out."""

import contextlib
import sys
import warnings

import numpy as np
import pytest
from PIL import Image, ImageCms

from subband.errors import FormatError, MissingExtraError
from subband.media import LossWarning, open_sink, open_source, read_still
from subband.media.tiff_tags import describe_tiff, read_directories

tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed: pip install 'subband[volumes]'")

RNG = np.random.default_rng(0)
GREY8 = RNG.integers(0, 256, (6, 9), dtype=np.uint8)
GREY16 = RNG.integers(0, 65536, (6, 9), dtype=np.uint16)
COLOUR8 = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)
COLOUR16 = RNG.integers(0, 65536, (6, 9, 3), dtype=np.uint16)
FLOAT = RNG.random((6, 9)).astype(np.float32)


def write(folder, values, **options):
    path = folder / "image.tif"
    tifffile.imwrite(path, values, metadata=None, **options)
    return path


def subtract_inks(inks, peak):
    inks = inks.astype(float)
    return (peak - inks[..., :3]) * (peak - inks[..., 3:4]) / peak


@pytest.mark.parametrize("values", [GREY8, GREY16, FLOAT], ids=["8", "16", "float"])
def test_white_at_zero_is_turned_round(tmp_path, values):
    peak = np.iinfo(values.dtype).max if values.dtype.kind == "u" else np.float32(1)
    read = read_still(write(tmp_path, values, photometric="miniswhite")).pixels
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, peak - values)


@pytest.mark.parametrize("photometric", ["miniswhite", "minisblack"])
def test_one_bit(tmp_path, photometric):
    bits = GREY8 > 127
    read = read_still(write(tmp_path, bits, photometric=photometric)).pixels
    np.testing.assert_array_equal(read, np.where(bits ^ (photometric == "miniswhite"), 255, 0))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_inks_are_no_opacity(tmp_path, dtype):
    inks = RNG.random((6, 9, 4))
    peak = np.iinfo(dtype).max if dtype != np.float32 else 1
    inks = (inks * peak).astype(dtype)
    still = read_still(write(tmp_path, inks, photometric="separated", planarconfig="contig"))
    assert still.alpha is None
    assert still.pixels.dtype == dtype
    np.testing.assert_allclose(still.pixels, subtract_inks(inks, peak), atol=1.01 if peak > 1 else 1e-6)


def make_ink_profile():
    """Make a profile of inks from what Pillow has: that it says CMYK, and no transform, is all that is there."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[16:20] = b"CMYK"
    return bytes(profile)


def test_inks_with_a_profile_that_cannot_be_applied(tmp_path):
    inks = RNG.integers(0, 65536, (6, 9, 4), dtype=np.uint16)
    path = write(tmp_path, inks, photometric="separated", planarconfig="contig", iccprofile=make_ink_profile())
    still = read_still(path)
    assert still.icc is None
    np.testing.assert_allclose(still.pixels, subtract_inks(inks, 65535), atol=1)


def test_inks_with_a_profile_are_converted_at_eight_bits(tmp_path, monkeypatch):
    inks = RNG.integers(0, 65536, (6, 9, 5), dtype=np.uint16)
    path = write(
        tmp_path, inks, photometric="separated", planarconfig="contig", iccprofile=make_ink_profile(),
        extrasamples=["unassalpha"],
    )  # fmt: skip
    # real profiles of inks are large; what Pillow is given, and what becomes of it, is the point here
    monkeypatch.setattr(ImageCms, "profileToProfile", lambda image, *_, **__: image.convert("RGB"))
    with pytest.warns(LossWarning, match="at 8 bits"):
        still = read_still(path)
    assert still.pixels.dtype == still.alpha.dtype == np.uint8
    np.testing.assert_allclose(still.pixels, subtract_inks(inks, 65535) / 257, atol=2)
    np.testing.assert_allclose(still.alpha, inks[..., 4] / 257, atol=0.51)


def test_inks_with_opacity(tmp_path):
    inks = RNG.integers(0, 65536, (6, 9, 5), dtype=np.uint16)
    still = read_still(
        write(tmp_path, inks, photometric="separated", planarconfig="contig", extrasamples=["unassalpha"])
    )
    np.testing.assert_array_equal(still.alpha, inks[..., 4])
    np.testing.assert_allclose(still.pixels, subtract_inks(inks, 65535), atol=1)


@pytest.mark.parametrize("bits", [10, 12, 14])
@pytest.mark.parametrize("values", [GREY16, COLOUR16], ids=["grey", "colour"])
def test_other_depths_go_to_white(tmp_path, values, bits):
    packed = values >> (16 - bits)
    packed[0, 0] = (1 << bits) - 1
    photometric = "rgb" if values.ndim == 3 else "minisblack"
    read = read_still(write(tmp_path, packed, photometric=photometric, bitspersample=bits)).pixels
    assert read.max() == 65535
    np.testing.assert_array_equal(np.rint(read / 65535 * ((1 << bits) - 1)), packed)


@pytest.mark.parametrize("colours", [COLOUR8, COLOUR16, COLOUR16.astype(np.float32) / 65535], ids=["8", "16", "float"])
def test_separate_planes(tmp_path, colours):
    path = write(
        tmp_path, np.ascontiguousarray(np.moveaxis(colours, -1, 0)), photometric="rgb", planarconfig="separate"
    )
    np.testing.assert_array_equal(read_still(path).pixels, colours)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("kind", ["assocalpha", "unassalpha"])
def test_opacity(tmp_path, dtype, channels, kind):
    peak = np.iinfo(dtype).max if dtype != np.float32 else 1
    plain = RNG.random((6, 9, channels)) * 0.5 + 0.5
    stored = plain.copy()
    if kind == "assocalpha":
        stored[..., :-1] *= stored[..., -1:]
    stored = (stored * peak).astype(dtype) if peak == 1 else np.rint(stored * peak).astype(dtype)
    photometric = "rgb" if channels == 4 else "minisblack"
    path = write(tmp_path, stored, photometric=photometric, planarconfig="contig", extrasamples=[kind])
    still = read_still(path)
    expected = plain[..., :3] if channels == 4 else plain[..., 0]
    np.testing.assert_array_equal(still.alpha, stored[..., -1])
    # dividing by half of white doubles what rounding has done
    np.testing.assert_allclose(still.pixels, expected * peak, atol=2.5 if peak > 1 else 1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("count", [4, 5])
def test_channels_beside_the_colours_are_named(tmp_path, dtype, count):
    values = RNG.integers(0, 255, (6, 9, count), dtype=dtype)
    path = write(tmp_path, values, photometric="rgb", planarconfig="contig", extrasamples=[0] * (count - 3))
    with pytest.warns(LossWarning, match=f"left out: {count - 3}"):
        still = read_still(path)
    np.testing.assert_array_equal(still.pixels, values[..., :3])
    assert still.alpha is None


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("layout", ["contig", "separate"])
def test_channels_that_are_no_colours_are_refused(tmp_path, dtype, layout):
    values = RNG.integers(0, 255, (5, 6, 9)).astype(dtype)
    values = values if layout == "separate" else np.ascontiguousarray(np.moveaxis(values, 0, -1))
    path = write(tmp_path, values, photometric="minisblack", planarconfig=layout)
    with pytest.raises(FormatError, match=r"5 channels.*Split Channels"):
        read_still(path)


@pytest.mark.parametrize("bits", [8, 16])
def test_palettes(tmp_path, bits):
    dtype = np.uint8 if bits == 8 else np.uint16
    table = RNG.integers(0, 256, (3, 1 << bits)).astype(np.uint16) * 257
    path = write(tmp_path, GREY8.astype(dtype), photometric="palette", colormap=table)
    expected = np.moveaxis(table, 0, -1)[GREY8]
    read = read_still(path).pixels
    assert read.dtype == dtype
    np.testing.assert_array_equal(read, expected // 257 if bits == 8 else expected)


@pytest.mark.parametrize(("photometric", "words"), [("cielab", r"L\*a\*b\*"), ("ycbcr", "YCbCr")])
def test_deep_colours_of_other_kinds_are_refused(tmp_path, photometric, words):
    path = write(tmp_path, COLOUR16, photometric=photometric, planarconfig="contig")
    with pytest.raises(FormatError, match=f"{words}.*convert it to RGB"):
        read_still(path)


def test_laboratory_colours_of_eight_bits(tmp_path):
    lab = np.zeros((6, 9, 3), np.uint8)
    lab[..., 0] = 255
    white = read_still(write(tmp_path, lab, photometric="cielab", planarconfig="contig")).pixels
    np.testing.assert_allclose(white, 255, atol=1)


@pytest.mark.parametrize("values", [GREY8, COLOUR8, GREY16, COLOUR16], ids=["grey8", "colour8", "grey16", "colour16"])
@pytest.mark.parametrize("ending", ["tif", "png", "jp2"])
def test_big_tiff(tmp_path, values, ending):
    photometric = "rgb" if values.ndim == 3 else "minisblack"
    path = write(tmp_path, values, photometric=photometric, bigtiff=True, description="from a large scanner")
    with open_source(path) as source, open_sink(tmp_path / f"copy.{ending}", source.info) as sink:
        for frame in source:
            sink.write(frame)
    copy = read_still(tmp_path / f"copy.{ending}")
    np.testing.assert_array_equal(copy.pixels, values)
    exif = Image.Exif()
    exif.load(copy.exif)
    assert exif[270] == "from a large scanner"


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint32, np.int32])
@pytest.mark.parametrize("photometric", ["minisblack", "rgb"])
def test_measurements_are_a_volume_of_one_slice(tmp_path, dtype, photometric):
    limits = np.iinfo(dtype)
    shape = (6, 9) if photometric == "minisblack" else (6, 9, 3)
    values = RNG.integers(limits.min, limits.max, shape, dtype=dtype)
    path = write(tmp_path, values, photometric=photometric)
    with pytest.raises(FormatError, match=rf"{np.dtype(dtype)}.*volume of one slice"):
        read_still(path)
    with open_source(path) as source, open_sink(tmp_path / "copy.tif", source.info) as sink:
        assert (source.info.kind, source.info.count, source.info.dtype) == ("volume", 1, dtype)
        for frame in source:
            sink.write(frame)
    back = tifffile.imread(tmp_path / "copy.tif")
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.reshape(shape), values)


def test_double_precision_is_rounded_aloud(tmp_path):
    with pytest.warns(LossWarning, match="float64.*rounded to float32"):
        read = read_still(write(tmp_path, FLOAT.astype(np.float64), photometric="minisblack")).pixels
    np.testing.assert_array_equal(read, FLOAT)


def test_half_precision(tmp_path):
    read = read_still(write(tmp_path, FLOAT.astype(np.float16), photometric="minisblack")).pixels
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, FLOAT.astype(np.float16))


@pytest.mark.parametrize("turn", [3, 6])
def test_deep_tiff_is_turned_with_its_opacity(tmp_path, turn):
    values = RNG.integers(0, 65536, (6, 9, 4), dtype=np.uint16)
    path = write(
        tmp_path, values, photometric="rgb", planarconfig="contig", extrasamples=["unassalpha"],
        extratags=[(274, "H", 1, turn, True)],
    )  # fmt: skip
    turned = np.rot90(values, 2 if turn == 3 else -1)
    still = read_still(path)
    np.testing.assert_array_equal(still.pixels, turned[..., :3])
    np.testing.assert_array_equal(still.alpha, turned[..., 3])


def test_rare_kinds_need_the_library_and_common_ones_do_not(tmp_path, monkeypatch):
    common = write(tmp_path, COLOUR8, photometric="rgb").rename(tmp_path / "common.tif")
    rare = write(tmp_path, GREY16, photometric="miniswhite")
    monkeypatch.setitem(sys.modules, "tifffile", None)
    np.testing.assert_array_equal(read_still(common).pixels, COLOUR8)
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        read_still(rare)


@pytest.mark.parametrize("is_big", [False, True])
def test_tags_are_those_of_tifffile(tmp_path, is_big):
    path = tmp_path / "image.tif"
    with tifffile.TiffWriter(path, bigtiff=is_big, byteorder=">") as writer:
        writer.write(COLOUR16, photometric="rgb", subifds=1, metadata=None)
        writer.write(GREY16, photometric="minisblack", subfiletype=1, metadata=None)
        writer.write(GREY8, photometric="minisblack", metadata=None)
    with tifffile.TiffFile(path) as file, path.open("rb") as raw:
        directories = read_directories(raw)
        pages = [file.pages[0], *file.pages[0].pages, file.pages[1]]
        for found, page in zip(directories, pages, strict=True):
            for tag in (256, 257, 258, 262, 277):
                assert found[tag] == tuple(np.atleast_1d(page.tags[tag].value))


def test_damaged_tags_end_in_an_error_or_an_image(tmp_path):
    path = write(tmp_path, COLOUR16, photometric="rgb")
    content = path.read_bytes()
    generator = np.random.default_rng(1)
    for _ in range(300):
        spoiled = bytearray(content)
        for place in generator.integers(0, min(len(content), 300), 4):
            spoiled[place] = generator.integers(0, 256)
        path.write_bytes(spoiled)
        describe_tiff(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(FormatError, MissingExtraError):
                assert read_still(path, most_pixels=10**6).pixels.ndim in (2, 3)

"""What a file says beside its pixels goes into every format that has a place for it; of the rest, one line tells."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from subband.errors import ArgumentError
from subband.media import LossWarning, Still, open_sink, open_source, read_still, write_still
from subband.media.formats import find_format, list_formats
from subband.media.still_metadata import KINDS

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)
DEEP_COLOUR = RNG.integers(0, 65536, (24, 32, 3), dtype=np.uint16)
ALPHA = np.where(np.arange(32) < 12, 0, 255).astype(np.uint8) * np.ones((24, 1), np.uint8)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF>sunset</rdf:RDF></x:xmpmeta>'
TEXT = {"Title": "A sunset", "Author": "Zoë"}
COMMENT = "seen from the café"
DPI = (300.0, 150.0)
# where the image lies on Earth, as GeoJP2 says it, and a text
BOXES = (("uuid", bytes.fromhex("b14bf8bd083d4b43a5ae8cd7d5a6ce03") + b"II*\0" + bytes(20)), ("xml ", b"<a/>"))


def make_exif():
    exif = Image.Exif()
    exif[270], exif[271] = "a description", "Maker"
    exif.get_ifd(0x8769)[0x829A] = 0.125
    return exif.tobytes()


def make_still(pixels=COLOUR, alpha=ALPHA, boxes=()):
    if alpha is not None and pixels.dtype == np.uint16:
        alpha = alpha.astype(np.uint16) * 257
    metadata = {"dpi": DPI, "xmp": XMP, "text": TEXT, "comment": COMMENT} | ({"boxes": boxes} if boxes else {})
    return Still(pixels, alpha, PROFILE, make_exif(), metadata)


def check_kind(kind, still):
    """Compare one kind of metadata with what `make_still` makes."""
    if kind == "alpha":
        peak = np.iinfo(still.pixels.dtype).max
        np.testing.assert_array_equal(still.alpha // peak, ALPHA // 255)
    elif kind == "icc":
        assert still.icc == PROFILE
    elif kind == "exif":
        exif = Image.Exif()
        exif.load(still.exif)
        assert (exif[270], exif[271], float(exif.get_ifd(0x8769)[0x829A])) == ("a description", "Maker", 0.125)
    elif kind == "dpi":
        assert still.metadata["dpi"] == pytest.approx(DPI, rel=1e-3)
    elif kind == "xmp":
        assert still.metadata["xmp"] == XMP
    elif kind == "text":
        assert still.metadata["text"] == TEXT
    elif kind == "boxes":
        assert still.metadata["boxes"] == BOXES
    else:
        assert still.metadata["comment"] == COMMENT


def has_kind(kind, still):
    there = {"alpha": still.alpha is not None, "icc": still.icc, "exif": still.exif}
    return bool(there.get(kind) or still.metadata.get(kind))


#: What each format holds, beside its pixels; the test below tells when this and the code part ways.
TABLE = {
    ".png": {"alpha", "icc", "exif", "dpi", "xmp", "text", "comment"},
    ".apng": {"alpha", "icc", "exif", "dpi", "xmp", "text", "comment"},
    ".tiff": {"alpha", "icc", "exif", "dpi", "xmp"},
    ".webp": {"alpha", "icc", "exif", "dpi", "xmp"},
    ".avif": {"alpha", "icc", "exif", "dpi", "xmp"},
    ".jp2": {"alpha", "icc", "exif", "dpi", "xmp", "boxes"},
    ".j2k": {"alpha"},
    ".jpg": {"icc", "exif", "dpi", "xmp", "comment"},
    ".gif": {"alpha", "comment"},
    ".bmp": {"dpi"},
    ".tga": {"alpha"},
    ".sgi": {"alpha"},
    ".qoi": {"alpha"},
    ".dds": {"alpha"},
    ".ico": {"alpha"},
    ".pam": {"alpha"},
    ".ppm": set(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", TABLE)
def test_each_kind_is_kept_or_named(tmp_path, ending, kind):
    path = tmp_path / f"image{ending}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_still(path, make_still(boxes=BOXES))
    lines = [str(warning.message) for warning in caught if warning.category is LossWarning]
    still = read_still(path)
    if kind in TABLE[ending]:
        check_kind(kind, still)
        assert not any(KINDS[kind] in line for line in lines)
    else:
        assert not has_kind(kind, still)
        assert len(lines) == 1
        assert KINDS[kind] in lines[0]
    assert len(lines) == (TABLE[ending] != set(KINDS))


def test_the_table_names_every_format():
    # the four others are written as ones that are named, in floating point only, or at the sizes of icons
    keeping = {form.name for form in list_formats("still") if form.keeps} - {"DIB", "OpenEXR", "ICNS", "MPO"}
    assert {find_format(f"image{ending}").name for ending in TABLE} >= keeping


@pytest.mark.parametrize("ending", [".png", ".tiff", ".jp2"])
@pytest.mark.parametrize("kind", KINDS)
def test_deep_colour_keeps_as_much(tmp_path, av, ending, kind):
    path = tmp_path / f"image{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossWarning)
        write_still(path, make_still(DEEP_COLOUR, boxes=BOXES))
    still = read_still(path)
    np.testing.assert_array_equal(still.pixels, DEEP_COLOUR)
    if kind in TABLE[ending]:
        check_kind(kind, still)


def test_files_of_others_are_understood(tmp_path):
    """Pillow, which knows nothing of our keys, writes; and reads what we have written."""
    info = PngInfo()
    info.add_text("Title", "A sunset")
    info.add_itxt("Author", "Zoë")
    info.add_text("Comment", "hello")
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    Image.fromarray(COLOUR).save(tmp_path / "first.png", pnginfo=info, dpi=DPI)
    with open_source(tmp_path / "first.png") as source, open_sink(tmp_path / "second.png", source.info) as sink:
        for frame in source:
            sink.write(frame)
    with Image.open(tmp_path / "second.png") as second:
        second.load()
        assert second.text["Title"] == "A sunset"
        assert second.text["Author"] == "Zoë"
        assert second.text["Comment"] == "hello"
        assert second.info["dpi"] == pytest.approx(DPI, rel=1e-3)
        assert second.info["xmp"] == XMP
    Image.fromarray(COLOUR).save(tmp_path / "first.jpg", comment=b"caf\xe9", dpi=(96, 96), xmp=XMP)
    still = read_still(tmp_path / "first.jpg")
    assert (still.metadata["comment"], still.metadata["dpi"]) == ("café", (96, 96))
    with pytest.warns(LossWarning, match="cannot hold the resolution and XMP, which are left out"):
        write_still(tmp_path / "second.gif", still)
    with Image.open(tmp_path / "second.gif") as second:
        assert second.info["comment"] == "café".encode()


def test_a_file_that_says_nothing_is_written_without_a_word(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "first.png")
    still = read_still(tmp_path / "first.png")
    assert not still.metadata
    for ending in TABLE:
        write_still(tmp_path / f"copy{ending}", still)


def test_jpeg_without_a_resolution_has_none(tmp_path):
    exif = Image.Exif()
    exif[271] = "Maker"
    Image.fromarray(COLOUR).save(tmp_path / "image.jpg", exif=exif)
    assert "dpi" not in read_still(tmp_path / "image.jpg").metadata


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd", "raw"])
@pytest.mark.parametrize("deep", [False, True])
def test_compression_of_tiff(tmp_path, compression, deep):
    Image.fromarray(COLOUR).save(tmp_path / "first.tiff", compression=compression)
    still = read_still(tmp_path / "first.tiff")
    assert still.metadata.get("compression", "raw") == compression
    pixels = DEEP_COLOUR if deep else COLOUR
    write_still(tmp_path / "second.tiff", Still(pixels, exif=make_exif(), metadata=still.metadata))
    second = read_still(tmp_path / "second.tiff")
    assert second.metadata.get("compression", "raw") == compression
    np.testing.assert_array_equal(second.pixels, pixels)
    check_kind("exif", second)


def test_lossy_compression_of_tiff_is_not_repeated(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "first.tiff", compression="jpeg")
    still = read_still(tmp_path / "first.tiff")
    write_still(tmp_path / "second.tiff", still)
    second = read_still(tmp_path / "second.tiff")
    np.testing.assert_array_equal(second.pixels, still.pixels)
    assert second.metadata["compression"] == "tiff_adobe_deflate"


@pytest.mark.parametrize("alpha", [None, ALPHA], ids=["opaque", "transparent"])
def test_lossless_webp_stays_lossless(tmp_path, alpha):
    write_still(tmp_path / "first.webp", Still(COLOUR, alpha), quality=100)
    still = read_still(tmp_path / "first.webp")
    write_still(tmp_path / "second.webp", still)
    second = read_still(tmp_path / "second.webp")
    np.testing.assert_array_equal(second.pixels, still.pixels)
    write_still(tmp_path / "third.webp", still, quality=50)
    third = read_still(tmp_path / "third.webp")
    assert "lossless" not in third.metadata
    assert np.any(third.pixels != still.pixels)
    write_still(tmp_path / "fourth.webp", third)
    assert "lossless" not in read_still(tmp_path / "fourth.webp").metadata


def test_xmp_does_not_turn_the_image_again(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    xmp = b'<rdf:Description tiff:Orientation="6"/><tiff:Orientation>6</tiff:Orientation>'
    Image.fromarray(COLOUR).save(tmp_path / "image.jpg", exif=exif, xmp=xmp)
    still = read_still(tmp_path / "image.jpg")
    assert still.pixels.shape == (32, 24, 3)
    assert still.metadata["xmp"] == xmp.replace(b"6", b"1")


@pytest.mark.parametrize("kind", ["xmp", "comment", "exif"])
def test_what_is_too_long_for_jpeg_is_named(tmp_path, kind):
    exif = Image.Exif()
    exif[270] = "x" * 70000
    still = Still(COLOUR, exif=exif.tobytes()) if kind == "exif" else Still(
        COLOUR, metadata={kind: b"x" * 70000 if kind == "xmp" else "x" * 70000}
    )  # fmt: skip
    with pytest.warns(LossWarning, match=KINDS[kind]):
        write_still(tmp_path / "image.jpg", still)
    assert not has_kind(kind, read_still(tmp_path / "image.jpg"))


def test_a_series_tells_once_and_by_its_own_name(tmp_path):
    for number in range(3):
        write_still(tmp_path / f"in{number}.png", make_still())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with open_source(tmp_path / "in%d.png") as source, open_sink(tmp_path / "out%d.jpg", source.info) as sink:
            for frame in source:
                sink.write(frame)
    assert [str(warning.message).split(" cannot ")[0] for warning in caught] == ["'out%d.jpg'"]
    for number in range(3):
        check_kind("comment", read_still(tmp_path / f"out{number}.jpg"))
        check_kind("xmp", read_still(tmp_path / f"out{number}.jpg"))


def test_opacity_between_is_named_in_gif(tmp_path):
    with pytest.warns(LossWarning, match=r"'image\.gif' knows pixels that are opaque or not there"):
        write_still(tmp_path / "image.gif", Still(COLOUR, ALPHA // 2))
    assert read_still(tmp_path / "image.gif").alpha.tolist() == ALPHA.tolist()


def test_bits_that_pillow_drops_are_named(tmp_path):
    Image.fromarray(COLOUR[..., 0].copy()).save(tmp_path / "image.sgi", bpc=2)
    with pytest.warns(LossWarning, match=r"image\.sgi' has 16 bits per sample, of which 8 are read"):
        read_still(tmp_path / "image.sgi")
    imagecodecs = pytest.importorskip(
        "imagecodecs", reason="imagecodecs is not installed: pip install 'subband[bench]'"
    )
    for bits in (10, 12):
        content = imagecodecs.avif_encode(DEEP_COLOUR >> (16 - bits), bitspersample=bits)
        (tmp_path / "image.avif").write_bytes(content)
        with pytest.warns(LossWarning, match=rf"image\.avif' has {bits} bits per sample, of which 8 are read"):
            read_still(tmp_path / "image.avif")


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "avif", "tiff", "jp2"])
@pytest.mark.parametrize("pixels", [COLOUR, DEEP_COLOUR], ids=["8", "16"])
def test_other_scripts_in_exif(tmp_path, av, pixels, ending):
    if pixels is DEEP_COLOUR and ending not in ("png", "tiff", "jp2"):
        pixels = COLOUR[..., 0].copy()
    exif = Image.Exif()
    exif[270], exif[315] = "Gruesse aus ######", "Zo##"
    exif.get_ifd(0x8769)[0xA434] = "Objektiv ##"
    # cameras write UTF-8; Pillow, which makes this file, only ASCII
    content = exif.tobytes()
    for plain, letters in (("aus ######", "aus 東京"), ("Zo##", "Zoë"), ("Objektiv ##", "Objektiv ß")):
        assert len(plain) == len(letters.encode())
        content = content.replace(plain.encode(), letters.encode())
    Image.fromarray(COLOUR).save(tmp_path / "first.png", exif=content, dpi=(300, 300))
    still = read_still(tmp_path / "first.png")
    write_still(tmp_path / f"second.{ending}", Still(pixels, exif=still.exif, metadata=still.metadata))
    found = Image.Exif()
    found.load(read_still(tmp_path / f"second.{ending}").exif)
    # every byte is a letter of Latin to Pillow, which does not know that they are UTF-8
    assert found[270].encode("latin-1").decode() == "Gruesse aus 東京"
    assert found[315].encode("latin-1").decode() == "Zoë"
    assert found.get_ifd(0x8769)[0xA434].encode("latin-1").decode() == "Objektiv ß"


def test_damaged_exif_does_not_hide_the_image(tmp_path):
    exif = Image.Exif()
    exif[271], exif[274] = "Maker", 6
    spoiled = bytearray(exif.tobytes())
    spoiled[14:] = b"\xff" * (len(spoiled) - 14)
    Image.fromarray(COLOUR).save(tmp_path / "image.png", exif=bytes(spoiled))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        still = read_still(tmp_path / "image.png")
    np.testing.assert_array_equal(still.pixels, COLOUR)


def test_shape_that_tifffile_notes_does_not_travel(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed: pip install 'subband[volumes]'")
    tifffile.imwrite(tmp_path / "image.tiff", COLOUR, photometric="rgb")
    exif = Image.Exif()
    exif.load(read_still(tmp_path / "image.tiff").exif or b"")
    assert 270 not in exif


def test_icons_keep_their_size(tmp_path):
    write_still(tmp_path / "image.ico", Still(COLOUR))
    np.testing.assert_array_equal(read_still(tmp_path / "image.ico").pixels, COLOUR)
    with pytest.raises(ArgumentError, match="icons have up to 256"):
        write_still(tmp_path / "large.ico", Still(np.zeros((257, 4), np.uint8)))


def test_metadata_goes_through_a_denoiser(tmp_path):
    from subband.enhance import Denoise, Enhancer
    from subband.pipeline import enhance_file

    write_still(tmp_path / "in.png", make_still())
    enhance_file(tmp_path / "in.png", tmp_path / "out.png", Enhancer([Denoise(level=1)]))
    still = read_still(tmp_path / "out.png")
    for kind in KINDS:
        if kind != "boxes":
            check_kind(kind, still)


@pytest.mark.parametrize("ending", [".avif", ".tga", ".qoi", ".sgi", ".ico", ".dds"])
@pytest.mark.parametrize("is_grey", [False, True])
def test_opacity_both_ways(tmp_path, ending, is_grey):
    pixels = COLOUR[..., 0].copy() if is_grey else COLOUR
    alpha = RNG.integers(0, 256, pixels.shape[:2], dtype=np.uint8)
    write_still(tmp_path / f"image{ending}", Still(pixels, alpha), quality=100)
    read = read_still(tmp_path / f"image{ending}")
    tolerance = 2 if ending == ".avif" else 0
    np.testing.assert_allclose(read.alpha.astype(int), alpha, atol=tolerance)
    if ending != ".avif":
        colours = read.pixels[..., 0] if is_grey and read.is_colour else read.pixels
        np.testing.assert_array_equal(colours, pixels)
    back = io.BytesIO()
    Image.fromarray(np.dstack([COLOUR, alpha])).save(back, "TGA")
    (tmp_path / "theirs.tga").write_bytes(back.getvalue())
    np.testing.assert_array_equal(read_still(tmp_path / "theirs.tga").alpha, alpha)

"""OpenEXR, Radiance HDR and HEIC are read, or the way out is named."""

import contextlib
import sys

import numpy as np
import pytest
from PIL import Image

from subband.errors import ArgumentError, FormatError, MissingExtraError
from subband.media import LossWarning, Still, TooLargeError, open_sink, open_source, read_still, write_still

RNG = np.random.default_rng(0)
LIGHT = (RNG.random((36, 20, 3)) * 50).astype(np.float32)
OPACITY = RNG.random((36, 20)).astype(np.float32)


@pytest.fixture
def exr():
    return pytest.importorskip("OpenEXR", reason="OpenEXR is not installed: pip install 'subband[exr]'")


def make_exr(exr, path, channels, compression="ZIP_COMPRESSION"):
    with exr.File({"compression": getattr(exr, compression), "type": exr.scanlineimage}, channels) as file:
        file.write(str(path))
    return path


def encode_radiance(light):
    """Encode a Radiance file without run lengths, one exponent for the three colours of a pixel."""
    exponents = np.frexp(light.max(axis=-1))[1]
    samples = np.floor(light * np.ldexp(256.0, -exponents)[..., None]).astype(np.uint8)
    pixels = np.dstack([samples, (exponents + 128).astype(np.uint8)])
    rows, columns = light.shape[:2]
    return f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {rows} +X {columns}\n".encode() + pixels.tobytes()


@pytest.mark.parametrize("compression", ["NO", "RLE", "ZIPS", "ZIP", "PIZ", "DWAA", "DWAB"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_openexr(tmp_path, exr, compression, dtype):
    # smooth, because two of the compressions are lossy
    smooth = np.stack(np.broadcast_arrays(np.linspace(0, 5, 36)[:, None], np.linspace(1, 2, 20), 0.5), axis=-1)
    light = LIGHT.astype(dtype) if not compression.startswith("DWA") else smooth.astype(dtype)
    path = make_exr(exr, tmp_path / "image.exr", {"RGB": light}, f"{compression}_COMPRESSION")
    with open_source(path) as source:
        assert (source.info.kind, source.info.dtype) == ("still", np.float32)
        pixels = next(iter(source)).pixels
    if compression.startswith("DWA"):
        np.testing.assert_allclose(pixels, light, atol=0.05)
    else:
        np.testing.assert_array_equal(pixels, light)


@pytest.mark.parametrize("pixels", [LIGHT, LIGHT[..., 0]], ids=["colour", "grey"])
@pytest.mark.parametrize("alpha", [None, OPACITY], ids=["opaque", "transparent"])
def test_openexr_there_and_back(tmp_path, exr, pixels, alpha):
    path = tmp_path / "image.exr"
    write_still(path, Still(pixels, alpha))
    read = read_still(path)
    if alpha is None:
        assert read.alpha is None
        np.testing.assert_array_equal(read.pixels, pixels)
        return
    np.testing.assert_array_equal(read.alpha, alpha)
    np.testing.assert_allclose(read.pixels, pixels, rtol=3e-7)
    # whoever else reads it finds colours multiplied with their opacity
    with exr.File(str(path), separate_channels=True) as file:
        name, expected = ("R", pixels[..., 0]) if pixels.ndim == 3 else ("Y", pixels)
        np.testing.assert_allclose(file.channels()[name].pixels, expected * alpha, rtol=3e-7)


def test_openexr_with_depth(tmp_path, exr):
    path = make_exr(exr, tmp_path / "image.exr", {"RGB": LIGHT, "Z": OPACITY})
    with pytest.warns(LossWarning, match="left out: Z"):
        np.testing.assert_array_equal(read_still(path).pixels, LIGHT)


def test_openexr_without_colours(tmp_path, exr):
    path = make_exr(exr, tmp_path / "image.exr", {"u": OPACITY, "v": OPACITY})
    with pytest.raises(FormatError, match=r"\['u', 'v'\], which are no colours; convert"):
        read_still(path)
    path = make_exr(exr, tmp_path / "image.exr", {"RGB": LIGHT.astype(np.uint32)})
    with pytest.raises(FormatError, match="not floating point"):
        read_still(path)


def test_radiance(tmp_path, av):
    path = tmp_path / "image.hdr"
    path.write_bytes(encode_radiance(LIGHT))
    still = read_still(path)
    assert still.pixels.dtype == np.float32
    # eight bits of the brightest colour of a pixel
    assert np.all(np.abs(still.pixels - LIGHT) <= LIGHT.max(axis=-1, keepdims=True) / 127)
    with pytest.raises(ArgumentError, match=r"take a name such as image\.png"):
        write_still(tmp_path / "copy.hdr", still)
    write_still(tmp_path / "copy.tiff", still)
    np.testing.assert_array_equal(read_still(tmp_path / "copy.tiff").pixels, still.pixels)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.7, 0.99])
@pytest.mark.parametrize("kind", ["exr", "hdr"])
def test_cut_files(tmp_path, av, exr, kind, share):
    path = tmp_path / f"image.{kind}"
    content = make_exr(exr, path, {"RGB": LIGHT}).read_bytes() if kind == "exr" else encode_radiance(LIGHT)
    path.write_bytes(content[: int(len(content) * share)])
    for read in (read_still, open_source):
        with pytest.raises(FormatError, match=rf"image\.{kind}"):
            read(path)


@pytest.mark.parametrize("kind", ["exr", "hdr"])
def test_large_and_spoiled_files(tmp_path, av, exr, kind):
    path = tmp_path / f"image.{kind}"
    content = make_exr(exr, path, {"RGB": LIGHT}).read_bytes() if kind == "exr" else encode_radiance(LIGHT)
    path.write_bytes(content)
    with pytest.raises(TooLargeError, match="20 × 36"):
        read_still(path, most_pixels=700)
    for _ in range(60):
        spoiled = bytearray(content)
        for place in RNG.integers(0, 400, 3):
            spoiled[place] = RNG.integers(0, 256)
        path.write_bytes(spoiled)
        with contextlib.suppress(FormatError):
            assert read_still(path, most_pixels=10**5).pixels.ndim in (2, 3)


def test_without_the_library(tmp_path, monkeypatch):
    (tmp_path / "image.exr").write_bytes(b"\x76\x2f\x31\x01" + bytes(100))
    (tmp_path / "image.hdr").write_bytes(b"#?RADIANCE\n" + bytes(100))
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    for name, kind, extra in (("image.exr", "OpenEXR", "exr"), ("image.hdr", "Radiance HDR", "video")):
        with pytest.raises(MissingExtraError, match=rf"{kind}.*subband\[{extra}\]"):
            open_source(tmp_path / name)


@pytest.fixture
def heif():
    return pytest.importorskip("pillow_heif", reason="pillow-heif is not installed: pip install 'subband[heic]'")


def make_heic(heif, path, values, **info):
    mode = {(2, 1): "L", (3, 1): "RGB", (4, 1): "RGBA", (3, 2): "RGB;16"}
    channels = 2 if values.ndim == 2 else values.shape[2]
    file = heif.from_bytes(mode[channels, values.itemsize], values.shape[1::-1], values.tobytes())
    file.save(path, quality=-1, chroma=444, matrix_coefficients=0, **info)


@pytest.mark.parametrize("channels", [3, 4])
def test_heic(tmp_path, heif, channels):
    values = RNG.integers(0, 256, (64, 96, channels), dtype=np.uint8)
    exif = Image.Exif()
    exif[271] = "Maker"
    make_heic(heif, tmp_path / "image.heic", values, exif=exif.tobytes())
    with open_source(tmp_path / "image.heic") as source:
        frame = next(iter(source))
    np.testing.assert_array_equal(frame.pixels, values[..., :3])
    if channels == 4:
        np.testing.assert_array_equal(frame.alpha, values[..., 3])
    found = Image.Exif()
    found.load(source.info.metadata["exif"])
    assert found[271] == "Maker"
    with open_sink(tmp_path / "copy.png", source.info) as sink:
        sink.write(frame)
    np.testing.assert_array_equal(read_still(tmp_path / "copy.png").pixels, values[..., :3])


def test_heic_of_ten_bits_goes_to_white(tmp_path, heif):
    ramp = np.broadcast_to(np.linspace(0, 65535, 96)[None, :, None], (64, 96, 3)).astype(np.uint16)
    make_heic(heif, tmp_path / "image.heic", np.ascontiguousarray(ramp))
    pixels = read_still(tmp_path / "image.heic").pixels
    assert pixels.dtype == np.uint16
    assert pixels.max() == 65535
    np.testing.assert_allclose(pixels, ramp, atol=65)


def test_heic_is_known_by_its_content(tmp_path, heif, monkeypatch):
    make_heic(heif, tmp_path / "image.heic", np.zeros((64, 64, 3), np.uint8))
    (tmp_path / "image.heic").rename(tmp_path / "photo.jpg")
    assert read_still(tmp_path / "photo.jpg").pixels.shape == (64, 64, 3)
    with pytest.raises(TooLargeError, match="64 × 64"):
        read_still(tmp_path / "photo.jpg", most_pixels=4000)
    content = (tmp_path / "photo.jpg").read_bytes()
    (tmp_path / "cut.heic").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=r"cut\.heic"):
        read_still(tmp_path / "cut.heic")
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    for read in (read_still, open_source):
        with pytest.raises(MissingExtraError, match=r"HEIC.*subband\[heic\]"):
            read(tmp_path / "photo.jpg")


def test_heic_is_not_written(tmp_path):
    with pytest.raises(ArgumentError, match=r"take a name such as image\.png"):
        write_still(tmp_path / "image.heic", Still(np.zeros((4, 4), np.uint8)))

"""Netpbm files keep their 16 bits, their opacity and their floating point."""

import numpy as np
import pytest

from subband.errors import ArgumentError, FormatError
from subband.media import LossWarning, Still, TooLargeError, open_sink, open_source, read_still, write_still

RNG = np.random.default_rng(0)
DEEP = RNG.integers(0, 65536, (5, 7), dtype=np.uint16)
DEEP_COLOUR = RNG.integers(0, 65536, (5, 7, 3), dtype=np.uint16)
FLOAT_COLOUR = RNG.normal(size=(5, 7, 3)).astype(np.float32)


@pytest.mark.parametrize("values", [DEEP, DEEP_COLOUR], ids=["pgm", "ppm"])
def test_sixteen_bits_stay(tmp_path, values):
    name = "image.ppm" if values.ndim == 3 else "image.pgm"
    magic = b"P6" if values.ndim == 3 else b"P5"
    (tmp_path / name).write_bytes(magic + b" # made by hand\n7 5\n65535\n" + values.astype(">u2").tobytes())
    with open_source(tmp_path / name) as source, open_sink(tmp_path / f"copy-{name}", source.info) as sink:
        for frame in source:
            sink.write(frame)
    read = read_still(tmp_path / f"copy-{name}").pixels
    assert read.dtype == np.uint16
    np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("values", [DEEP, DEEP_COLOUR], ids=["pgm", "ppm"])
def test_others_read_what_is_written(tmp_path, av, values):
    write_still(tmp_path / "image.pnm", Still(values))
    with av.open(str(tmp_path / "image.pnm")) as container:
        form = "gray16le" if values.ndim == 2 else "rgb48le"
        np.testing.assert_array_equal(next(container.decode(video=0)).to_ndarray(format=form), values)


@pytest.mark.parametrize("peak", [300, 1023, 4095])
def test_other_maxima_go_to_white(tmp_path, peak):
    values = RNG.integers(0, peak + 1, (5, 7, 3))
    values[0, 0] = peak
    text = " ".join(map(str, values.ravel()))
    (tmp_path / "plain.ppm").write_text(f"P3\n7 5 # a comment\n{peak}\n{text}\n")
    (tmp_path / "binary.ppm").write_bytes(f"P6 7 5 {peak}\n".encode() + values.astype(">u2").tobytes())
    for name in ("plain.ppm", "binary.ppm"):
        read = read_still(tmp_path / name).pixels
        assert read.max() == 65535
        np.testing.assert_array_equal(np.rint(read / 65535 * peak), values)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pam(tmp_path, av, dtype, channels):
    planes = RNG.integers(0, np.iinfo(dtype).max, (5, 7, channels), dtype=dtype)
    pixels = planes[..., :3] if channels > 2 else planes[..., 0]
    alpha = planes[..., -1] if channels in (2, 4) else None
    write_still(tmp_path / "image.pam", Still(pixels, alpha))
    read = read_still(tmp_path / "image.pam")
    assert read.pixels.dtype == dtype
    np.testing.assert_array_equal(read.pixels, pixels)
    if alpha is None:
        assert read.alpha is None
    else:
        np.testing.assert_array_equal(read.alpha, alpha)
    with av.open(str(tmp_path / "image.pam")) as container:
        decoded = next(container.decode(video=0)).reformat(format="rgba64le" if dtype == np.uint16 else "rgba")
        theirs = decoded.to_ndarray()
    if channels > 2:
        np.testing.assert_array_equal(theirs[..., :channels], planes)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("channels", [1, 3])
def test_floating_point_in_both_byte_orders(tmp_path, order, channels):
    values = FLOAT_COLOUR if channels == 3 else FLOAT_COLOUR[..., 0]
    header = f"{'PF' if channels == 3 else 'Pf'}\n7 5\n{'-' if order == '<' else ''}1.0\n"
    (tmp_path / "image.pfm").write_bytes(header.encode() + values[::-1].astype(f"{order}f4").tobytes())
    np.testing.assert_array_equal(read_still(tmp_path / "image.pfm").pixels, values)


@pytest.mark.parametrize("values", [FLOAT_COLOUR, FLOAT_COLOUR[..., 0]], ids=["colour", "grey"])
def test_floating_point_is_written_upside_down(tmp_path, av, values):
    write_still(tmp_path / "image.pfm", Still(values))
    np.testing.assert_array_equal(read_still(tmp_path / "image.pfm").pixels, values)
    with av.open(str(tmp_path / "image.pfm")) as container:
        frame = next(container.decode(video=0))
        np.testing.assert_array_equal(frame.to_ndarray(format=frame.format.name), values)


def test_eight_bits_as_before(tmp_path):
    write_still(tmp_path / "image.ppm", Still((DEEP_COLOUR >> 8).astype(np.uint8)))
    assert (tmp_path / "image.ppm").read_bytes().startswith(b"P6\n7 5\n255\n")
    np.testing.assert_array_equal(read_still(tmp_path / "image.ppm").pixels, DEEP_COLOUR >> 8)


def test_what_has_no_place(tmp_path):
    with pytest.warns(LossWarning, match="cannot hold opacity"):
        write_still(tmp_path / "image.ppm", Still(DEEP_COLOUR, DEEP))
    with pytest.raises(ArgumentError, match="holds floating point, and this is uint16"):
        write_still(tmp_path / "image.pfm", Still(DEEP))
    with pytest.raises(ArgumentError, match=r"cannot hold floating point; write to \.tiff, \.exr or \.pfm"):
        write_still(tmp_path / "image.pgm", Still(FLOAT_COLOUR))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"P6 7 5 65535\n" + bytes(100), "cut off"),
        (b"P5 7 5 1023\n" + b"\xff" * 70, "values up to 65535"),
        (b"P2 7 5 1023\n1 2 3", "damaged or cut off"),
        (b"P2 7 5 1023\n" + b"x " * 35, "damaged or cut off"),
        (b"P7\nWIDTH 7\nHEIGHT 5\n", "header is damaged"),
        (b"P7\nWIDTH 7\nHEIGHT five\nDEPTH 1\nMAXVAL 255\nENDHDR\n" + bytes(35), "header is damaged"),
        (b"P7\nWIDTH 7\nHEIGHT 5\nDEPTH 6\nMAXVAL 255\nTUPLTYPE SPECTRA\nENDHDR\n" + bytes(999), "6 channels"),
        (b"PF 7 5 zero\n" + bytes(420), "header is damaged"),
        (b"PF 7 5 0.0\n" + bytes(420), "scale of 0"),
        (b"PF 7 5 -1.0\n" + bytes(100), "cut off"),
        (b"Pf 7", "header is damaged"),
    ],
    ids=range(11),
)
def test_damage(tmp_path, content, message):
    path = tmp_path / "image.pnm"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_still(path)


def test_large_claims(tmp_path):
    (tmp_path / "bomb.ppm").write_bytes(b"P6 60000 60000 65535\n")
    (tmp_path / "bomb.pfm").write_bytes(b"PF 60000 60000 -1\n")
    for name in ("bomb.ppm", "bomb.pfm"):
        with pytest.raises(TooLargeError, match="60000 × 60000"):
            read_still(tmp_path / name)

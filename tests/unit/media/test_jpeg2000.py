"""JPEG 2000 as pictures of media."""

import numpy as np
import pytest

from subband.codecs.jpeg2000 import CodecWarning, imwrite
from subband.errors import FormatError
from subband.media import SourceInfo, Still, open_sink, open_source, read_still, write_still
from subband.media.base import Frame
from subband.media.limits import TooLargeError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (20, 30), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)


@pytest.mark.parametrize("ending", ["jp2", "j2k", "j2c", "jpx"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 3)])
@pytest.mark.parametrize("has_alpha", [True, False])
def test_there_and_back(tmp_path, ending, dtype, shape, has_alpha):
    pixels = RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype)
    alpha = RNG.integers(0, np.iinfo(dtype).max, shape[:2], dtype=dtype) if has_alpha else None
    write_still(tmp_path / f"a.{ending}", Still(pixels, alpha))
    still = read_still(tmp_path / f"a.{ending}")
    assert still.pixels.dtype == dtype
    np.testing.assert_array_equal(still.pixels, pixels)
    if has_alpha:
        np.testing.assert_array_equal(still.alpha, alpha)
    else:
        assert still.alpha is None


def test_other_depths_are_stretched(tmp_path):
    imwrite(tmp_path / "bits.jp2", GREY > 127, bits=1)
    np.testing.assert_array_equal(read_still(tmp_path / "bits.jp2").pixels, np.where(GREY > 127, 255, 0))
    imwrite(tmp_path / "deep.jp2", GREY.astype(np.uint16) * 16 + 15, bits=12)
    deep = read_still(tmp_path / "deep.jp2").pixels
    assert deep.dtype == np.uint16
    np.testing.assert_allclose(deep, (GREY * 16.0 + 15) / 4095 * 65535, atol=0.5)
    imwrite(tmp_path / "signed.jp2", (GREY.astype(np.int16) - 128).astype(np.int8))
    np.testing.assert_array_equal(read_still(tmp_path / "signed.jp2").pixels, GREY)


def test_luminance_and_differences_become_colours(tmp_path):
    luminance = np.full((20, 30), 100, np.uint8)
    neutral = np.full((10, 15), 128, np.uint8)
    imwrite(tmp_path / "a.jp2", [luminance, neutral, neutral], space="ycc")
    np.testing.assert_array_equal(read_still(tmp_path / "a.jp2").pixels, np.full((20, 30, 3), 100))
    imwrite(tmp_path / "red.jp2", [luminance, neutral, neutral + np.uint8(50)], space="ycc")
    assert read_still(tmp_path / "red.jp2").pixels[0, 0].tolist() == [170, 64, 100]


def test_colours_that_cannot_be_turned_into_rgb_are_no_rgb(tmp_path):
    imwrite(tmp_path / "a.jp2", COLOUR)
    data = (tmp_path / "a.jp2").read_bytes()
    (tmp_path / "a.jp2").write_bytes(data.replace(b"colr\1\0\0\0\0\0\x10", b"colr\1\0\0\0\0\0\x0e"))
    with pytest.raises(FormatError, match="CIELab"):
        read_still(tmp_path / "a.jp2")


@pytest.mark.parametrize("profile", [None, bytes(16) + b"CMYK" + bytes(108)])
def test_inks_are_neither_colours_nor_opacity(tmp_path, profile):
    inks = np.dstack([COLOUR, np.zeros_like(GREY)])
    imwrite(tmp_path / "a.jp2", inks, alpha=False, icc=profile)
    data = (tmp_path / "a.jp2").read_bytes()
    at = data.index(b"cdef") - 4
    length = int.from_bytes(data[at : at + 4], "big")
    outer = data.index(b"jp2h") - 4
    whole = int.from_bytes(data[outer : outer + 4], "big") - length
    data = data[:outer] + whole.to_bytes(4, "big") + data[outer + 4 : at] + data[at + length :]
    (tmp_path / "a.jp2").write_bytes(data.replace(b"colr\1\0\0\0\0\0\x10", b"colr\1\0\0\0\0\0\x0c"))
    still = read_still(tmp_path / "a.jp2")
    assert still.alpha is None
    assert still.icc is None
    np.testing.assert_array_equal(still.pixels, 255 - COLOUR)


def test_profiles_of_colours_that_cannot_be_turned_into_rgb(tmp_path):
    imwrite(tmp_path / "a.jp2", COLOUR, icc=bytes(16) + b"Lab " + bytes(108))
    with pytest.raises(FormatError, match="CIELab"):
        read_still(tmp_path / "a.jp2")


def test_channels_without_a_meaning_are_not_opacity(tmp_path):
    imwrite(tmp_path / "a.jp2", np.dstack([COLOUR, GREY]), alpha=False)
    still = read_still(tmp_path / "a.jp2")
    assert still.alpha is None
    np.testing.assert_array_equal(still.pixels, COLOUR)


def test_profiles_of_such_pixels_are_kept(tmp_path):
    profile = bytes(16) + b"RGB " + bytes(108)
    write_still(tmp_path / "a.jp2", Still(COLOUR, None, profile))
    assert read_still(tmp_path / "a.jp2").icc == profile
    write_still(tmp_path / "b.jp2", Still(GREY, None, profile))
    assert read_still(tmp_path / "b.jp2").icc is None


def test_sources_and_sinks(tmp_path):
    info = SourceInfo("still", COLOUR.shape, COLOUR.dtype, count=1)
    with open_sink(tmp_path / "a.jp2", info) as sink:
        sink.write(Frame(COLOUR))
    with open_source(tmp_path / "a.jp2") as source:
        (frame,) = source
    np.testing.assert_array_equal(frame.pixels, COLOUR)


def test_limits_and_damage(tmp_path):
    path = tmp_path / "a.jp2"
    write_still(path, Still(COLOUR))
    with pytest.raises(TooLargeError, match="most_pixels=600"):
        read_still(path, most_pixels=100)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.warns(CodecWarning):
        assert read_still(path).pixels.shape == COLOUR.shape
    path.write_bytes(content[:40])
    with pytest.raises(FormatError, match=r"a\.jp2"):
        read_still(path)

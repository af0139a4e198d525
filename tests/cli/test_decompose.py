"""``subband decompose`` and ``subband reconstruct``."""

import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
from subband import data
from subband.cli import app
from subband.enhance.fixed import FixedPoint, draw_bands

COLOUR = data.photograph()[100:201, 80:233]
GREY = data.camera()[:128, :96]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def save(path, pixels, alpha=None):
    image = Image.fromarray(pixels)
    if alpha is not None:
        image.putalpha(Image.fromarray(alpha))
    image.save(path)
    return path


@pytest.fixture
def picture(tmp_path):
    return save(tmp_path / "picture.png", COLOUR)


def test_mosaic_has_the_picture_in_its_corner_and_grey_around(picture, tmp_path):
    result = run("decompose", picture, "-o", tmp_path / "mosaic.png", "--level", 2)
    assert result.exit_code == 0, result.output
    mosaic = np.asarray(Image.open(tmp_path / "mosaic.png")).astype(float)
    assert mosaic.shape == COLOUR.shape
    corner, rest = mosaic[:26, :39], mosaic[51:, 77:]
    assert abs(np.median(rest) - 128) < 30
    assert rest.std() < corner.std()
    small = np.asarray(Image.fromarray(COLOUR).resize((39, 26), Image.Resampling.BOX)).astype(float)
    for channel in range(3):
        assert np.corrcoef(corner[..., channel].ravel(), small[..., channel].ravel())[0, 1] > 0.9


@pytest.mark.parametrize(
    ("name", "pixels", "alpha"),
    [
        ("colour.png", COLOUR, None),
        ("grey.png", GREY, None),
        ("deep.png", GREY.astype(np.uint16) * 257, None),
        ("deep.tiff", GREY.astype(np.uint16) * 251, None),
        ("transparent.png", COLOUR, COLOUR[..., 1].copy()),
    ],
)
@pytest.mark.parametrize(
    "options", [(), ("-w", "db4", "--boundary", "periodization", "-l", 2), ("-w", "cdf53", "--reversible")]
)
@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_picture_comes_back(tmp_path, name, pixels, alpha, options, suffix):
    source = save(tmp_path / name, pixels, alpha)
    coefficients, back = tmp_path / f"coefficients.{suffix}", tmp_path / f"back-{name}"
    result = run("decompose", source, "-o", tmp_path / "mosaic.png", "--save", coefficients, *options)
    assert result.exit_code == 0, result.output
    result = run("reconstruct", coefficients, "-o", back)
    assert result.exit_code == 0, result.output
    restored = np.asarray(Image.open(back))
    assert restored.dtype == pixels.dtype
    # float32 holds 8 bits to spare for the rounding of 16
    np.testing.assert_array_equal(restored, np.asarray(Image.open(source)))


@pytest.mark.parametrize(
    ("bits", "options"), [(8, ()), (12, ("-w", "haar")), (16, ("-w", "db2", "--boundary", "reflect"))]
)
def test_fixed_point(picture, tmp_path, bits, options):
    mosaic, back, once = (tmp_path / name for name in ("mosaic.png", "back.png", "once.png"))
    coefficients = tmp_path / "coefficients.npz"
    arguments = ("--bits", bits, "--level", 2, *options)
    result = run("decompose", picture, "-o", mosaic, "--save", coefficients, *arguments)
    assert result.exit_code == 0, result.output
    fixed = FixedPoint(options[1] if options else "cdf97", bits, options[3] if len(options) > 2 else None)
    pyramid = fixed.forward(COLOUR, 2, (0, 1))
    np.testing.assert_array_equal(np.asarray(Image.open(mosaic)), draw_bands(pyramid))
    assert run("reconstruct", coefficients, "-o", back).exit_code == 0
    np.testing.assert_array_equal(np.asarray(Image.open(back)), fixed.inverse(pyramid))
    assert run("decompose", picture, "-o", once, "--back", *arguments).exit_code == 0
    assert once.read_bytes() == back.read_bytes()


@pytest.mark.parametrize("options", [("--back",), ("--bits", 8, "--reversible"), ("--bits", 7)])
def test_fixed_point_refuses_what_does_not_go_together(picture, tmp_path, options):
    result = run("decompose", picture, "-o", tmp_path / "mosaic.png", *options)
    assert result.exit_code != 0
    assert "--" in result.stderr
    assert not (tmp_path / "mosaic.png").exists()


def test_hdf5_without_its_library_is_refused_before_anything_is_written(picture, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    result = run("decompose", picture, "-o", tmp_path / "mosaic.png", "--save", tmp_path / "coefficients.h5")
    assert result.exit_code != 0
    assert "subband[volumes]" in result.stderr
    assert list(tmp_path.iterdir()) == [picture]


def test_pyramid_saved_in_python_is_taken_for_8_bits(tmp_path):
    subband.decompose(GREY.astype(float), level=2).save(tmp_path / "pyramid.npz")
    assert run("reconstruct", tmp_path / "pyramid.npz", "-o", tmp_path / "grey.png").exit_code == 0
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "grey.png")), GREY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--wavelet", "bd4"), ["bd4", "db4"]),
        (("--level", 30), ["--level 30", "maximum"]),
        (("--level", 0), ["--level"]),
        (("--boundary", "foo"), ["foo", "symmetric"]),
        (("--wavelet", "db4", "--boundary", "whole"), ["whole", "db4"]),
        (("--wavelet", "db4", "--reversible"), ["db4", "cdf53"]),
        (("--engine", "cpux"), ["cpux", "cpu"]),
        (("--save", "coefficients.bin"), ["coefficients.npz", "coefficients.h5"]),
    ],
)
def test_bad_option_is_explained(picture, tmp_path, options, words):
    result = run("decompose", picture, "-o", tmp_path / "mosaic.png", *options)
    assert result.exit_code == 2
    for word in words:
        assert word in result.stderr
    assert list(tmp_path.iterdir()) == [picture]


def test_bad_files_are_explained(picture, tmp_path):
    text = tmp_path / "text.png"
    text.write_text("hello")
    for arguments, word in [
        (("decompose", tmp_path / "none.png", "-o", tmp_path / "mosaic.png"), "exist"),
        (("decompose", text, "-o", tmp_path / "mosaic.png"), "not an image"),
        (("decompose", picture, "-o", tmp_path / "mosaic.foo"), "mosaic.foo"),
        (("decompose", picture, "-o", tmp_path / "none" / "mosaic.png"), "exist"),
        (("reconstruct", picture, "-o", tmp_path / "back.png"), "not a pyramid"),
        (("reconstruct", tmp_path / "none.npz", "-o", tmp_path / "back.png"), "exist"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert word in " ".join(result.stderr.split())


def test_only_pictures_are_written_as_pictures(tmp_path):
    subband.decompose(np.zeros(64), level=1).save(tmp_path / "signal.npz")
    result = run("reconstruct", tmp_path / "signal.npz", "-o", tmp_path / "signal.png")
    assert result.exit_code == 2
    assert "(64,)" in result.stderr


@pytest.mark.parametrize(
    ("output", "saved", "word"),
    [
        ("mosaic.xyz", "coefficients.npz", "mosaic.xyz"),
        ("nowhere/mosaic.png", "coefficients.npz", "nowhere"),
        ("mosaic.png", "coefficients.npy", "coefficients.npz"),
        ("mosaic.png", "nowhere/coefficients.npz", "nowhere"),
    ],
)
def test_nothing_is_written_unless_both_can_be(picture, tmp_path, output, saved, word):
    result = run("decompose", picture, "-o", tmp_path / output, "--save", tmp_path / saved)
    assert result.exit_code != 0
    assert word in result.output.replace("\n", "")
    assert list(tmp_path.iterdir()) == [picture]


def test_levels_are_counted_in_words(picture, tmp_path):
    assert "1 level of" in run("decompose", picture, "-o", tmp_path / "mosaic.png", "--level", 1).output
    assert "2 levels of" in run("decompose", picture, "-o", tmp_path / "mosaic.png", "--level", 2, "--force").output

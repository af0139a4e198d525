"""``subband stylise``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.edit import stylise

PICTURE = data.photograph()[100:164, 100:181]
TEXTURE = np.ascontiguousarray(data.ascent()[200:250, 200:260])


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def load(path):
    return np.asarray(Image.open(path))


@pytest.fixture
def files(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "a.png")
    Image.fromarray(TEXTURE).save(tmp_path / "b.png")
    return tmp_path / "a.png", tmp_path / "b.png", tmp_path / "out.png"


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {}),
        (("--rule", "mix", "--strength", 0.4), {"rule": "mix", "strength": 0.4}),
        (("-w", "haar", "-l", 2, "--orientations", "h"), {"wavelet": "haar", "level": 2, "orientations": "h"}),
        (("--levels", "1,3-4"), {"levels": (1, 3, 4)}),
        (("--colour", "rgb", "--fit", "stretch"), {"colour": "rgb", "fit": "stretch"}),
        (("--engine", "reference", "--strength", 0), {"strength": 0}),
    ],
)
def test_options(files, options, settings):
    result = run("stylise", *files, *options)
    assert result.exit_code == 0, result.output
    assert "out.png" in result.output
    np.testing.assert_allclose(load(files[2]).astype(int), stylise(PICTURE, TEXTURE, **settings), atol=1)


def test_what_is_transparent_stays(files):
    alpha = np.arange(PICTURE[..., 0].size, dtype=np.uint8).reshape(PICTURE.shape[:2])
    Image.fromarray(np.dstack([PICTURE, alpha])).save(files[0])
    assert run("stylise", *files).exit_code == 0
    np.testing.assert_array_equal(load(files[2])[..., 3], alpha)


def test_film(tmp_path, files):
    assert run("filter", "test:64x48@25?count=4", tmp_path / "film.mkv").exit_code == 0
    result = run("stylise", tmp_path / "film.mkv", files[1], tmp_path / "bumpy.mkv", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["files"][0]["frames"] == 4
    assert record["style"]["rule"] == "max"
    compared = json.loads(run("compare", tmp_path / "film.mkv", tmp_path / "bumpy.mkv", "--json", "--no-ssim").stdout)
    assert len(compared["frames"]) == 4
    assert not compared["identical"]


def test_folder(tmp_path, files):
    (tmp_path / "in").mkdir()
    for name in ("one.png", "two.bmp"):
        Image.fromarray(PICTURE).save(tmp_path / "in" / name)
    assert run("stylise", tmp_path / "in", files[1], tmp_path / "results").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["one.png", "two.bmp"]


def test_dry_run_writes_nothing(files):
    result = run("stylise", *files, "--dry-run")
    assert result.exit_code == 0
    assert not files[2].exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rule", "addd"), "did you mean 'add'"),
        (("--levels", "one"), "--levels 'one'"),
        (("--levels", "1-99999999999"), "--levels '1-99999999999'"),
        (("--levels", "3-1"), "--levels '3-1'"),
        (("--levels", "0"), "--levels '0'"),
        (("--fit", "crop"), "--fit 'tile'"),
        (("--strength", -1), "--strength -1"),
        (("--level", 15), "maximum"),
    ],
)
def test_errors(files, options, words):
    result = run("stylise", *files, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not files[2].exists()


def test_files_that_stay(files):
    assert run("stylise", *files).exit_code == 0
    result = run("stylise", *files)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert run("stylise", *files, "--force").exit_code == 0
    assert "own result" in run("stylise", files[0], files[1], files[0], "--force").stderr
    assert "is read" in run("stylise", files[0], files[1], files[1], "--force").stderr
    np.testing.assert_array_equal(load(files[1]), TEXTURE)
    assert run("stylise", files[0], "missing.png", files[2], "--force").exit_code == 2

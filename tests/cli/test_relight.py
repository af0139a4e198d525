"""``subband relight``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.edit import Relighter, recombine, relight

PICTURE = np.ascontiguousarray(data.photograph()[100:164, 100:181] // 2 + 64)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def load(path):
    return np.asarray(Image.open(path))


@pytest.fixture
def source(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    return tmp_path / "in.png"


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {}),
        (("-l", 2, "-w", "haar"), {"level": 2, "wavelet": "haar"}),
        (("--gamma", 2.2, "--colour", "rgb"), {"gamma": 2.2, "colour": "rgb"}),
        (("--strength", 0.5, "--floor", 0.1, "--exposure", 0.4), {"strength": 0.5, "floor": 0.1, "exposure": 0.4}),
        (("--engine", "reference"), {}),
    ],
)
def test_both_factors(source, tmp_path, options, settings):
    decal, light = tmp_path / "decal.png", tmp_path / "light.png"
    result = run("relight", source, "--decal", decal, "--light", light, *options)
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(load(decal).astype(int), Relighter(**settings).apply(PICTURE), atol=1)
    np.testing.assert_allclose(load(light).astype(int), Relighter(output="light", **settings).apply(PICTURE), atol=1)
    again = recombine(load(decal), load(light), exposure=settings.get("exposure", 0.5))
    assert np.quantile(np.abs(again.astype(int) - PICTURE), 0.98) <= 2


def test_another_light(source, tmp_path):
    evening = np.tile(np.linspace(20, 200, 10), (5, 1)).astype(np.uint8)
    Image.fromarray(evening).save(tmp_path / "evening.png")
    out = tmp_path / "lit.png"
    assert run("relight", source, "--under", tmp_path / "evening.png", "--lit", out).exit_code == 0
    np.testing.assert_array_equal(load(out), relight(PICTURE, evening))
    assert load(out)[:, :20].mean() < load(out)[:, -20:].mean() - 50


def test_depths(tmp_path):
    grey = PICTURE[..., 0].astype(np.uint16) * 257
    Image.fromarray(grey).save(tmp_path / "deep.png")
    assert run("relight", tmp_path / "deep.png", "--decal", tmp_path / "decal.png").exit_code == 0
    assert load(tmp_path / "decal.png").max() > 255
    np.testing.assert_array_equal(load(tmp_path / "decal.png"), Relighter().apply(grey))


def test_film(tmp_path):
    film = tmp_path / "film.mkv"
    assert run("filter", "test:64x48@25?count=3", film).exit_code == 0
    result = run("relight", film, "--decal", tmp_path / "decal.mkv", "--light", tmp_path / "light.mkv", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert [entry["frames"] for entry in record["files"]] == [3, 3]
    assert record["lighting"]["gamma"] == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing is to be written"),
        (("--lit", "x.png"), "both together"),
        (("--decal", "x.png", "--light", "x.png"), "the same file"),
        (("--decal", "x.png", "--floor", 0), "zero light"),
        (("--decal", "x.png", "--colour", "lab"), "ycbcr"),
        (("--decal", "x.png", "--level", 15), "maximum"),
        (("--decal", "no/x.png"), "does not exist"),
    ],
)
def test_errors(source, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    result = run("relight", source, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.png"]


def test_files_that_stay(source, tmp_path):
    options = ("relight", source, "--decal", tmp_path / "decal.png")
    assert run(*options).exit_code == 0
    assert "--force" in run(*options).stderr
    assert run(*options, "--force").exit_code == 0
    assert "own result" in run("relight", source, "--decal", source, "--force").stderr


def test_the_light_stays(source, tmp_path):
    light = tmp_path / "light.png"
    Image.fromarray(PICTURE[..., 0]).save(light)
    result = run("relight", source, "--under", light, "--lit", light, "--force")
    assert "is read" in result.stderr
    np.testing.assert_array_equal(load(light), PICTURE[..., 0])


def test_results_of_one_name(source, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    assert "the same file" in run("relight", source, "--decal", folder, "--light", folder / source.name).stderr
    assert list(folder.iterdir()) == []


def test_a_light_with_holes(source, tmp_path):
    light = np.ones((4, 5), np.float32)
    light[1, 2] = np.nan
    Image.fromarray(light).save(tmp_path / "light.tif")
    result = run("relight", source, "--under", tmp_path / "light.tif", "--lit", tmp_path / "lit.png")
    assert result.exit_code == 2
    assert "light has pixels that are NaN" in result.stderr
    assert not (tmp_path / "lit.png").exists()

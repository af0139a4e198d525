"""``subband fuse``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.edit import fuse
from subband.enhance import Blur, Enhancer

SHARP = data.photograph()[100:164, 100:181]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def load(path):
    return np.asarray(Image.open(path))


@pytest.fixture
def stack(tmp_path):
    """Write three pictures, each in focus in another part, into a folder."""
    blurred = Enhancer(Blur(2.0)).apply(SHARP)
    (tmp_path / "stack").mkdir()
    pictures = []
    for part in range(3):
        each = blurred.copy()
        each[:, part * 27 : part * 27 + 27] = SHARP[:, part * 27 : part * 27 + 27]
        Image.fromarray(each).save(tmp_path / "stack" / f"{part}.png")
        pictures.append(each)
    return tmp_path / "stack", pictures


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {}),
        (("--rule", "exposure", "-l", 2), {"rule": "exposure", "level": 2}),
        (("--window", 3, "--consistency", 1, "-w", "haar"), {"window": 3, "consistency": 1, "wavelet": "haar"}),
        (("--strength", 0.5), {"strength": 0.5}),
    ],
)
def test_options(stack, tmp_path, options, settings):
    folder, pictures = stack
    result = run("fuse", *sorted(folder.iterdir()), tmp_path / "out.png", *options)
    assert result.exit_code == 0, result.output
    assert "3 images" in result.output
    np.testing.assert_array_equal(load(tmp_path / "out.png"), fuse(pictures, **settings))


def test_folders_and_patterns(stack, tmp_path):
    folder, pictures = stack
    for number, names in enumerate([folder, folder / "*.png", folder / "?.png"]):
        out = tmp_path / f"out{number}.png"
        result = run("fuse", names, out)
        assert result.exit_code == 0, result.output
        np.testing.assert_array_equal(load(out), fuse(pictures))


def test_json(stack, tmp_path):
    record = json.loads(run("fuse", stack[0], tmp_path / "out.png", "--json").stdout)
    assert len(record["sources"]) == 3
    assert record["fusion"]["rule"] == "focus"


def test_errors(stack, tmp_path):
    folder, _ = stack
    out = tmp_path / "out.png"
    Image.fromarray(SHARP[:50]).save(tmp_path / "small.png")
    for arguments, words in (
        ((folder / "0.png", out), "two or more"),
        ((folder / "0.png",), "IN... OUT"),
        ((folder / "0.png", tmp_path / "small.png", out), "small.png' has 50 × "),
        ((folder, out, "--rule", "focsu"), "did you mean 'focus'"),
        ((folder, out, "--window", 4), "odd number"),
        ((folder, folder / "0.png", "--force"), "one of the images"),
        ((folder / "0.png", folder / "missing.png", out), "No such file"),
        ((folder, tmp_path / "no" / "out.png"), "does not exist"),
    ):
        result = run("fuse", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
    assert not out.exists()
    assert run("fuse", folder, out).exit_code == 0
    assert "--force" in run("fuse", folder, out).stderr
    assert run("fuse", folder, out, "--force").exit_code == 0

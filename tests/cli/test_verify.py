"""``subband verify``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
from subband import data
from subband.cli import app


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    Image.fromarray(data.photograph()[:97, :128]).save(path)
    return path


@pytest.fixture
def run(picture, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["verify", str(picture), *arguments])


def test_table_holds_each_level_and_band(run):
    result = run("--level", "2")
    assert result.exit_code == 0, result.output
    for row in ("level 1 HL", "level 1 HH", "level 2 LL", "reconstruction", "within"):
        assert row in result.output


def test_json(run):
    record = json.loads(run("--json", "-w", "db4", "-l", "1", "--boundary", "periodic").output)
    assert (record["wavelet"], record["mode"], record["border"]) == ("db4", "periodic", 5)
    assert record["is_within"] is True
    assert all(entry["error"] < 0.01 for entry in record["comparisons"])


def test_exit_code_tells_of_errors(run):
    result = run("--tolerance", "1e-12")
    assert result.exit_code == 1
    assert "too large" in result.output


def test_sixteen_bits(tmp_path):
    path = tmp_path / "deep.tiff"
    Image.fromarray(data.camera()[:100, :90].astype(np.uint16) * 257).save(path)
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 0


def test_from_the_shell(picture):
    environment = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
    command = [sys.executable, "-m", "subband", "verify", str(picture), "--level", "1", "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(result.stdout)["is_within"] is True


def test_single_pixel(tmp_path):
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(tmp_path / "dot.png")
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "dot.png"), "--level", "1"])
    assert result.exit_code == 0, result.output
    assert "within" in result.output

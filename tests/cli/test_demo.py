"""``subband demo``."""

import re
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.media import open_source
from subband.quality import measure_psnr


def test_pictures_and_table(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "new" / "out"
    result = CliRunner().invoke(app, ["demo", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    names = {"original", "noisy", "denoised", "side-by-side"}
    films = {"clip-noisy.mp4", "clip-denoised.mp4"}
    assert {path.name for path in folder.iterdir()} == {f"photograph-{name}.png" for name in names} | films
    pictures = {name: np.asarray(Image.open(folder / f"photograph-{name}.png")) for name in names}
    np.testing.assert_array_equal(pictures["original"], data.photograph())
    assert pictures["side-by-side"].shape[0] == 512
    assert pictures["side-by-side"].shape[1] > 3 * 512

    before, after = (measure_psnr(pictures[name], pictures["original"], 255) for name in ("noisy", "denoised"))
    assert after > before + 5
    figures = [float(value) for value in re.findall(r"([\d.]+) dB", result.output)]
    assert figures[:2] == [round(before, 2), round(after, 2)]
    assert "frames per second" in result.output
    assert "cpu" in result.output

    with open_source(folder / "clip-denoised.mp4") as denoised, open_source(data.clip_path()) as original:
        assert denoised.info.has_audio
        assert (denoised.info.shape, denoised.info.rate) == (original.info.shape, original.info.rate)
        pairs = [(a.pixels, b.pixels) for a, b in zip(denoised, original, strict=True)]
    error = np.mean([np.square(a.astype(float) - b).mean() for a, b in pairs])
    assert figures[3] == pytest.approx(10 * np.log10(255**2 / error), abs=0.01)
    assert figures[3] > figures[2] + 3


def test_without_film_the_photograph_is_enough(tmp_path, monkeypatch):
    # what the import system answers when a library is not installed
    monkeypatch.setitem(sys.modules, "av", None)
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "the clip is left out" in result.output
    assert "subband[" in result.output
    assert len(list(tmp_path.iterdir())) == 4

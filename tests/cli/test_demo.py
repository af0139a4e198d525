"""``subband demo``."""

import re

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.bench.quality import measure_psnr
from subband.cli import app


def test_pictures_and_table(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "new" / "out"
    result = CliRunner().invoke(app, ["demo", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    names = {"original", "noisy", "denoised", "side-by-side"}
    assert {path.name for path in folder.iterdir()} == {f"photograph-{name}.png" for name in names}
    pictures = {name: np.asarray(Image.open(folder / f"photograph-{name}.png")) for name in names}
    np.testing.assert_array_equal(pictures["original"], data.photograph())
    assert pictures["side-by-side"].shape[0] == 512
    assert pictures["side-by-side"].shape[1] > 3 * 512

    before, after = (measure_psnr(pictures[name], pictures["original"], 255) for name in ("noisy", "denoised"))
    assert after > before + 5
    assert [float(value) for value in re.findall(r"([\d.]+) dB", result.output)] == [round(before, 2), round(after, 2)]
    assert "frames per second" in result.output
    assert "cpu" in result.output

"""Still images of every kind, and animations, from the command line."""

import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.media import Still, open_source, read_still, write_still

COLOUR = data.photograph()[100:164, 100:196]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def denoise(source, target, *more):
    return run("denoise", source, target, "--level", "1", "--sigma", "2", *more)


@pytest.mark.filterwarnings("always")
def test_what_is_left_out_is_said_in_one_line(tmp_path):
    alpha = np.full(COLOUR.shape[:2], 255, np.uint8)
    write_still(tmp_path / "in.png", Still(COLOUR, alpha, metadata={"text": {"Title": "A window"}}))
    result = denoise(tmp_path / "in.png", tmp_path / "out.jpg")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning:")]
    assert len(lines) == 1
    assert "'out.jpg' cannot hold opacity and texts" in lines[0]
    result = denoise(tmp_path / "in.png", tmp_path / "out.png")
    assert "warning" not in result.stderr
    assert read_still(tmp_path / "out.png").metadata["text"] == {"Title": "A window"}


@pytest.mark.parametrize("ending", ["exr", "pfm"])
def test_floating_point(tmp_path, ending):
    if ending == "exr":
        pytest.importorskip("OpenEXR", reason="OpenEXR is not installed: pip install 'subband[exr]'")
    write_still(tmp_path / f"in.{ending}", Still(COLOUR.astype(np.float32) / 255))
    result = denoise(tmp_path / f"in.{ending}", tmp_path / f"out.{ending}")
    assert result.exit_code == 0, result.output
    after = read_still(tmp_path / f"out.{ending}").pixels
    assert after.dtype == np.float32
    assert 0 < np.abs(after - COLOUR / 255).mean() < 0.05


def test_measurements_stay_what_they_are(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed: pip install 'subband[volumes]'")
    values = (COLOUR[..., 0].astype(np.int16) - 100) * 50
    tifffile.imwrite(tmp_path / "in.tif", values, metadata=None)
    result = denoise(tmp_path / "in.tif", tmp_path / "out.tif", "--force")
    assert result.exit_code == 0, result.output
    after = np.squeeze(tifffile.imread(tmp_path / "out.tif"))
    assert after.dtype == np.int16
    assert after.min() < -100
    np.testing.assert_allclose(after, values, atol=200)


def test_raw_files_name_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "in.raf").write_bytes(b"FUJIFILMCCD-RAW 0201" + bytes(500))
    monkeypatch.setitem(sys.modules, "rawpy", None)
    result = denoise(tmp_path / "in.raf", tmp_path / "out.png")
    assert result.exit_code != 0
    assert "raw file of a camera" in result.stderr
    assert "subband[raw]" in result.stderr


@pytest.mark.parametrize("ending", ["gif", "apng", "webp"])
def test_series_becomes_an_animation(tmp_path, ending):
    for number in range(4):
        Image.fromarray(np.roll(COLOUR, 8 * number, axis=1)).save(tmp_path / f"in{number}.png")
    result = denoise(tmp_path / "in%d.png", tmp_path / f"out.{ending}")
    assert result.exit_code == 0, result.output
    with open_source(tmp_path / f"out.{ending}") as source:
        frames = list(source)
    assert [frame.time for frame in frames] == pytest.approx([0, 0.04, 0.08, 0.12])
    for number, frame in enumerate(frames):
        assert np.abs(frame.pixels.astype(int) - np.roll(COLOUR, 8 * number, axis=1)).mean() < 12

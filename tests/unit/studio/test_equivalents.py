"""What the studio prints and what it exports: the same pixels, whatever the depth of the file."""

import shlex
from threading import Event

import numpy as np
import pytest
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.engines import get_engine
from subband.media import Frame, SourceInfo, open_sink, open_source
from subband.studio.settings import settle
from subband.studio.tools.base import Export

PICTURE = data.photograph()[160:224, 160:240]
DEPTHS = {
    "in8.png": PICTURE,
    "in16.png": PICTURE.astype(np.uint16) * 257,
    "grey16.tiff": PICTURE[..., 1].astype(np.uint16) * 257,
    "float.tiff": (PICTURE / 255).astype(np.float32),
}
CASES = [
    {"tool": "enhance", "filter": "soft", "threshold": 20, "colour": "ycbcr", "level": 3},
    {"tool": "enhance", "filter": "hard", "threshold": 20, "boundary": "symmetric", "level": 3},
    {"tool": "enhance", "filter": "bayes", "noise_level": 12, "level": 3},
    {"tool": "enhance", "filter": "speckle", "level": 2},
    {"tool": "enhance", "filter": "sharpen", "amount": 0.5, "bands": "1:dd=2"},
]


def write_source(path, pixels):
    with open_sink(path, SourceInfo("still", pixels.shape, pixels.dtype, count=1)) as sink:
        sink.write(Frame(pixels))


def read_pixels(path):
    with open_source(path) as source:
        return next(iter(source)).pixels


def run_command(command, folder):
    head, _, toml = command.partition(" <<'END'\n")
    (folder / "chain.toml").write_text(toml.removesuffix("END"))
    words = shlex.split(head.replace("/dev/stdin", str(folder / "chain.toml")))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output


def make_all_ways(settings, name, folder):
    """Return the pixels that come of the printed command, of the printed Python and of an export."""
    equivalent = settings.tool.spell(settings.settings, name)
    target = folder / f"{name.partition('.')[0]}-{settings.tool.result}.{name.partition('.')[2]}"
    found = []
    run_command(equivalent.command, folder)
    found.append(read_pixels(target))
    target.unlink()
    exec(equivalent.python, {})
    found.append(read_pixels(target))
    target.unlink()
    with open_source(folder / name) as source:
        export = Export(source, target, get_engine("cpu"), lambda _: PICTURE, lambda _: None, Event())
        settings.tool.export(settings.settings, export)
    found.append(read_pixels(target))
    return found


@pytest.mark.parametrize("name", DEPTHS)
@pytest.mark.parametrize("given", CASES, ids=str)
def test_command_python_and_export_agree(tmp_path, monkeypatch, name, given):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path / name, DEPTHS[name])
    settings = settle(given, shape=DEPTHS[name].shape)
    command, python, export = make_all_ways(settings, name, tmp_path)
    assert python.dtype == DEPTHS[name].dtype
    np.testing.assert_array_equal(python, export)
    # thresholds are parts of white on the command line, and rounded there
    white = np.iinfo(python.dtype).max if python.dtype.kind == "u" else 1.0
    assert np.abs(command.astype(float) - python).max() <= white / 255
    assert np.abs(command.astype(float) - python).mean() <= 1e-5 * white
    assert np.abs(python.astype(float) - DEPTHS[name]).mean() > 1e-3 * white


def test_edges_of_deep_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    masks = {}
    for name in ("in8", "in16"):
        picture = DEPTHS[f"{name}.png"]
        write_source(tmp_path / f"{name}.png", picture)
        settings = settle({"tool": "edges", "drawn": "mask", "contrast": 60, "sigma": 9}, shape=picture.shape)
        equivalent = settings.tool.spell(settings.settings, f"{name}.png")
        target = tmp_path / f"{name}-edges.png"
        run_command(equivalent.command, tmp_path)
        masks[name] = read_pixels(target)
        target.unlink()
        exec(equivalent.python, {})
        np.testing.assert_array_equal(read_pixels(target), masks[name])
    assert (masks["in8"] > 0).any()
    assert (masks["in8"] != masks["in16"]).mean() < 1e-3

"""A method in a file of its own, with a setting of its own, is found by everyone, without another edit."""

import json
import shlex
import sys
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
import subband.enhance.methods as folder
from subband import data
from subband.cli import app
from subband.cli.group import LazyGroup
from subband.enhance import Denoise, Enhancer
from subband.enhance.methods import find_method, list_methods, lookup, make_table, register_method
from subband.errors import ArgumentError, ArgumentTypeError
from subband.media import Frame, SourceInfo, open_sink, open_source
from subband.pipeline import enhance_file
from subband.studio.chains import make_enhancer
from subband.studio.settings import resolve_settings
from subband.studio.tools.enhance_controls import list_controls

PICTURE = data.camera()[:96, :128]

FILE = '''
"""Halving: every detail is multiplied by a factor."""

from dataclasses import dataclass

from subband.enhance.methods.base import Method
from subband.settings import setting


@dataclass(frozen=True)
class Halving(Method):
    name = "halving"
    title = "Halving"
    looks_at = "nothing"
    advice = "in tests"
    factor: float = setting(0.5, "What details are multiplied by.", least=0, most=1)

    def shrink(self, filters, band):
        return band.values * band.values.dtype.type(self.factor)


METHOD = Halving()
'''

#: The method as a text, with its setting moved from the default.
GENTLE = "halving:factor=0.75"


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path_factory):
    list_methods()
    place = tmp_path_factory.mktemp("methods")
    (place / "halving.py").write_text(FILE)
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(place)])
    monkeypatch.setattr(lookup, "_METHODS", dict(lookup._METHODS))
    lookup._load_folder.cache_clear()
    yield find_method("halving")
    lookup._load_folder.cache_clear()
    del sys.modules[f"{folder.__name__}.halving"]


def halve(image, level, factor=0.5):
    """Return what the method does, by hand."""
    pyramid = subband.decompose(image.astype(np.float64), "cdf97", level=level, axes=tuple(range(image.ndim)))
    return subband.reconstruct(pyramid.map(lambda band, number, key: band * (factor if "d" in key else 1.0)))


def test_library(toy):
    image = PICTURE.astype(np.float32)
    np.testing.assert_allclose(subband.denoise(image, method="halving", level=2), halve(PICTURE, 2), atol=1e-2)
    for method in (GENTLE, replace(toy, factor=0.75)):
        result = subband.denoise(image, method=method, level=2)
        np.testing.assert_allclose(result, halve(PICTURE, 2, 0.75), atol=1e-2)


def test_settings_are_checked(toy):
    stage = Denoise(replace(toy, factor=0.75))
    assert stage.method == GENTLE
    assert stage == eval(repr(stage)) == Denoise(GENTLE)
    assert Denoise("halving:factor=0.5") == Denoise("halving")
    with pytest.raises(ArgumentError, match=r"factor=2\.0 is out of range; use a number from 0 to 1"):
        Denoise("halving:factor=2")
    with pytest.raises(ArgumentError, match="'facto=1' is no setting of the method 'halving'; did you mean 'factor'"):
        Denoise("halving:facto=1")
    with pytest.raises(ArgumentError, match="'factor=1' is no setting of the method 'visu'; it has none"):
        Denoise("visu:factor=1")


@pytest.mark.parametrize("words", [("denoise", "--method"), ("filter", "--denoise")])
@pytest.mark.parametrize(("method", "factor"), [("halving", 0.5), (GENTLE, 0.75)])
def test_command_line(tmp_path, words, method, factor):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    paths = [str(tmp_path / "in.png"), str(tmp_path / "out.png")]
    result = CliRunner().invoke(app, [words[0], *paths, words[1], method, "--level", "2", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["chain"]["stages"][0]["method"] == method
    made = np.asarray(Image.open(tmp_path / "out.png")).astype(float)
    assert np.abs(made - halve(PICTURE, 2, factor).clip(0, 255)).max() <= 1


def test_completion_of_the_command_line():
    command = LazyGroup().get_command(None, "denoise")
    (option,) = (each for each in command.params if each.name == "method")
    context = command.make_context("denoise", [], resilient_parsing=True)
    assert [found.value for found in option.shell_complete(context, "hal")] == ["halving"]


def test_studio(tmp_path, monkeypatch):
    controls = {control.name: control for control in list_controls()}
    assert ("halving", "Halving") in controls["filter"].options
    assert "halving" in controls["strength"].shown["filter"]
    own = controls["halving_factor"]
    assert (own.default, own.least, own.most, own.shown) == (0.5, 0, 1, {"filter": ("halving",)})
    assert own.help == "What details are multiplied by."
    resolved = resolve_settings({"filter": "halving", "level": 2, "halving_factor": 0.75})
    assert make_enhancer(resolved.settings).stages[0].method == GENTLE
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PICTURE).save("in.png")
    printed = resolved.tool.format_equivalent(resolved.settings, "in.png")
    for make in (
        lambda: exec(printed.python, {}),
        lambda: CliRunner().invoke(app, shlex.split(printed.command)[1:], catch_exceptions=False),
    ):
        make()
        made = np.asarray(Image.open("in-enhanced.png")).astype(float)
        assert np.abs(made - halve(PICTURE, 2, 0.75).clip(0, 255)).max() <= 1
        (tmp_path / "in-enhanced.png").unlink()


def test_toml():
    chain = Enhancer(Denoise(GENTLE, level=2))
    assert f'method = "{GENTLE}"' in chain.to_toml()
    assert Enhancer.from_toml(chain.to_toml()) == chain


def test_video(tmp_path):
    with open_source("test:64x48@25?count=3") as source, open_sink(tmp_path / "in.mkv", source.info) as sink:
        for frame in source:
            sink.write(frame)
    enhance_file(tmp_path / "in.mkv", tmp_path / "out.mkv", Enhancer(Denoise(GENTLE, level=1)))
    before, after = (read_frames(tmp_path / name) for name in ("in.mkv", "out.mkv"))
    assert len(after) == 3
    rough = [np.abs(np.diff(frames[1].astype(float), 2, axis=0)).mean() for frames in (before, after)]
    assert rough[1] < 0.9 * rough[0]


def read_frames(path):
    with open_source(path) as source:
        return [frame.pixels for frame in source]


def test_volume_in_blocks(tmp_path):
    volume = np.random.default_rng(0).normal(100, 10, (64, 24, 20)).astype(np.float32)
    with open_sink(tmp_path / "in.npy", SourceInfo("volume", (24, 20), volume.dtype, "grey", count=64)) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))
    chain = Enhancer(Denoise(GENTLE, level=1, form="decimated"), sigma=1.0)
    enhance_file(tmp_path / "in.npy", tmp_path / "out.npy", chain, memory=500_000)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), halve(volume, 1, 0.75), atol=1e-3)


def test_dask():
    x = da.from_array(PICTURE.astype(np.float32), chunks=(48, 64))
    result = subband.denoise(x, method=GENTLE, level=2)
    np.testing.assert_allclose(np.asarray(result), halve(PICTURE, 2, 0.75), atol=1e-2)


def test_reference_table():
    table = make_table()
    assert "| `halving` | nothing | in tests |" in table
    assert table[-5:] == [
        "Settings of `halving`:",
        "",
        "| setting | default | values | what it does |",
        "| --- | --- | --- | --- |",
        "| `factor` | 0.5 | a number from 0 to 1 | What details are multiplied by. |",
    ]


def test_what_cannot_be_registered(toy):
    class Other(type(toy)):
        """Has a name that is taken."""

    with pytest.raises(ArgumentError, match="already"):
        register_method(Other())
    with pytest.raises(ArgumentTypeError, match="Method"):
        register_method("halving")
    with pytest.raises(ArgumentError, match="halving"):
        find_method("halvin")

"""A method in a file of its own is found by everyone, without another edit."""

import json

import dask.array as da
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
from subband import data
from subband.cli import app
from subband.enhance import Denoise, Enhancer
from subband.enhance.methods import Method, find_method, list_methods, lookup, make_table, register_method
from subband.errors import ArgumentError, ArgumentTypeError
from subband.media import Frame, SourceInfo, open_sink, open_source
from subband.pipeline import enhance_file
from subband.studio.chains import make_enhancer
from subband.studio.settings import settle
from subband.studio.tools.enhance_controls import list_controls

PICTURE = data.camera()[:96, :128]


class Halving(Method):
    """Halves every detail."""

    name = "halving"
    title = "Halving"
    looks_at = "nothing"
    advice = "in tests"

    def shrink(self, filters, band):
        return band.values * band.values.dtype.type(0.5)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    list_methods()
    monkeypatch.setattr(lookup, "_METHODS", dict(lookup._METHODS))
    return register_method(Halving())


def halve(image, level):
    """Return what the method does, by hand."""
    pyramid = subband.decompose(image.astype(np.float64), "cdf97", level=level, axes=tuple(range(image.ndim)))
    return subband.reconstruct(pyramid.map(lambda band, number, key: band * (0.5 if "d" in key else 1.0)))


def test_library():
    result = subband.denoise(PICTURE.astype(np.float32), method="halving", level=2)
    np.testing.assert_allclose(result, halve(PICTURE, 2), atol=1e-2)


def test_command_line(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    paths = [str(tmp_path / "in.png"), str(tmp_path / "out.png")]
    result = CliRunner().invoke(app, ["denoise", *paths, "--method", "halving", "--level", "2", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["chain"]["stages"][0]["method"] == "halving"
    made = np.asarray(Image.open(tmp_path / "out.png")).astype(float)
    assert np.abs(made - halve(PICTURE, 2).clip(0, 255)).max() <= 1


def test_studio():
    (control,) = (each for each in list_controls() if each.name == "filter")
    assert ("halving", "Halving") in control.options
    (strength,) = (each for each in list_controls() if each.name == "strength")
    assert "halving" in strength.shown["filter"]
    settings = settle({"filter": "halving", "level": 2}).settings
    assert make_enhancer(settings).stages[0].method == "halving"


def test_toml():
    chain = Enhancer(Denoise("halving", level=2))
    assert Enhancer.from_toml(chain.to_toml()) == chain


def test_video(tmp_path):
    with open_source("test:64x48@25?count=3") as source, open_sink(tmp_path / "in.mkv", source.info) as sink:
        for frame in source:
            sink.write(frame)
    enhance_file(tmp_path / "in.mkv", tmp_path / "out.mkv", Enhancer(Denoise("halving", level=1)))
    before, after = (read_frames(tmp_path / name) for name in ("in.mkv", "out.mkv"))
    assert len(after) == 3
    rough = [np.abs(np.diff(frames[1].astype(float), 2, axis=0)).mean() for frames in (before, after)]
    assert rough[1] < 0.8 * rough[0]


def read_frames(path):
    with open_source(path) as source:
        return [frame.pixels for frame in source]


def test_volume_in_blocks(tmp_path):
    volume = np.random.default_rng(0).normal(100, 10, (64, 24, 20)).astype(np.float32)
    with open_sink(tmp_path / "in.npy", SourceInfo("volume", (24, 20), volume.dtype, "grey", count=64)) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))
    chain = Enhancer(Denoise("halving", level=1, form="decimated"), sigma=1.0)
    enhance_file(tmp_path / "in.npy", tmp_path / "out.npy", chain, memory=500_000)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), halve(volume, 1), atol=1e-3)


def test_dask():
    x = da.from_array(PICTURE.astype(np.float32), chunks=(48, 64))
    result = subband.denoise(x, method="halving", level=2)
    np.testing.assert_allclose(np.asarray(result), halve(PICTURE, 2), atol=1e-2)


def test_reference_table():
    assert make_table()[-1] == "| `halving` | nothing | in tests |"


def test_what_cannot_be_registered():
    class Other(Halving):
        """Has a name that is taken."""

    with pytest.raises(ArgumentError, match="already"):
        register_method(Other())
    with pytest.raises(ArgumentTypeError, match="Method"):
        register_method("halving")
    with pytest.raises(ArgumentError, match="halving"):
        find_method("halvin")

"""``subband wavelets``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband.cli import app
from subband.wavelets import Wavelet, wavelist


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments):
        return CliRunner().invoke(app, ["wavelets", *arguments])

    return run_command


def test_list_names_every_wavelet(run):
    result = run()
    assert result.exit_code == 0
    words = set(result.output.split())
    assert {*wavelist(), "cdf53", "cdf97"} <= words


def test_list_as_json(run):
    records = json.loads(run("--json").output)
    assert [record["name"] for record in records[:2]] == ["cdf53", "cdf97"]
    assert len(records) == 129
    assert {record["kind"] for record in records} == {"orthogonal", "biorthogonal", "continuous"}


def test_filters_and_lifting_steps_are_shown(run):
    output = run("cdf97").output
    assert "4 steps" in output
    assert "d[n] += " in output
    assert f"{Wavelet('cdf97').dec_lo[4]:.15f}" in output


@pytest.mark.parametrize("name", ["db4", "DB4", "bior4.4", "dmey"])
def test_json_of_one_wavelet_holds_its_filters(run, name):
    record = json.loads(run(name, "--json").output)
    wavelet = Wavelet(name)
    assert record["name"] == wavelet.name
    assert record["taps"] == wavelet.dec_len
    assert record["filters"]["dec_lo"] == list(wavelet.dec_lo)
    assert (record["lifting"] is None) == (wavelet.lifting is None)


@pytest.mark.parametrize(("name", "is_complex"), [("mexh", False), ("cmor1.5-1.0", True), ("shan", True)])
def test_continuous_wavelet(run, name, is_complex):
    record = json.loads(run(name, "--json").output)
    assert record["kind"] == "continuous"
    assert record["complex"] is is_complex


@pytest.mark.parametrize("name", ["haar", "bior3.1", "db38", "dmey", "morl", "cgau2"])
def test_plot_is_a_picture_with_something_on_it(run, name, tmp_path):
    path = tmp_path / "plot.png"
    result = run(name, "--plot", str(path))
    assert result.exit_code == 0, result.output
    assert str(path) in result.output.replace("\n", "")
    pixels = np.asarray(Image.open(path))
    assert pixels.shape[2] == 3
    assert np.mean(pixels < 200) > 0.005


def test_unknown_name_suggests_near_ones(run):
    result = run("bd4")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "db4" in result.stderr


def test_plot_needs_a_name(run, tmp_path):
    result = run("--plot", str(tmp_path / "plot.png"))
    assert result.exit_code == 2
    assert "NAME" in result.stderr


def test_plot_needs_the_name_of_a_picture(run, tmp_path):
    result = run("haar", "--plot", str(tmp_path / "plot.foo"))
    assert result.exit_code == 2
    assert "plot.png" in result.stderr

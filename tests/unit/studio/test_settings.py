"""Settings: completed, corrected, and the same as commands, Python and TOML."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.enhance import Enhancer
from subband.errors import ArgumentError, LevelError
from subband.studio.bands import read_gains
from subband.studio.chains import make_enhancer, make_view_enhancer
from subband.studio.controls import choose, slide, switch
from subband.studio.protocol import ProtocolError
from subband.studio.settings import resolve_settings

PICTURE = data.photograph()[100:164, 100:180]

CASES = [
    {"filter": "none"},
    {"filter": "gaussian", "sigma": 2},
    {"filter": "sharpen", "amount": 0.7},
    {"filter": "soft", "threshold": 12},
    {"filter": "hard", "threshold": 12.5, "colour": "ycbcr"},
    {"filter": "garrote", "threshold": 30, "wavelet": "haar", "level": 2},
    {"filter": "shrinkage", "threshold": 30, "falloff": 0.5},
    {"filter": "soft", "threshold": 12, "bands": "1:ad=2,da=2,dd=2", "level": 2},
    {"filter": "soft", "threshold": 12, "bands": "1:ad=2", "level": 2},
    {"filter": "soft", "form": "undecimated", "level": 2},
    {"filter": "soft", "boundary": "symmetric"},
    {"filter": "visu"},
    {"filter": "bayes", "strength": 1.5, "noise_level": 20},
    {"filter": "sure", "form": "spun"},
    {"filter": "bivariate"},
    {"filter": "neigh", "level": 2},
    {"filter": "wiener", "level": 2},
    {"filter": "speckle"},
    {"filter": "speckle", "dynamic_range": 50},
    {"filter": "bayes", "bands": "1:dd=0", "level": 2},
    {"filter": "none", "bands": "2:ad=3,da=3,dd=3", "level": 2},
    {"filter": "none", "view": "analysis", "level": 2},
    {"filter": "gaussian", "view": "filtered-analysis", "level": 2},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("given", CASES, ids=str)
def test_the_command_does_the_same(folder, given):
    resolved = resolve_settings({"level": 3, **given}, shape=PICTURE.shape)
    assert not resolved.notes
    command = resolved.tool.format_equivalent(resolved.settings, "in.png").command
    words = shlex.split(command)
    if "<<" in command:
        # what a shell would make of it, which the next test lets one do
        head, _, toml = command.partition(" <<'END'\n")
        (folder / "chain.toml").write_text(toml.removesuffix("END"))
        words = shlex.split(head.replace("/dev/stdin", "chain.toml"))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output
    made = np.asarray(Image.open(folder / "in-enhanced.png"))
    view = resolved.settings["view"]
    if view in ("analysis", "filtered-analysis"):
        expected = make_view_enhancer(resolved.settings).view(PICTURE, view)
    else:
        expected = make_enhancer(resolved.settings).apply(PICTURE)
    # thresholds are parts of white on the command line, and rounded there
    assert np.abs(made.astype(int) - expected).max() <= 1
    assert (made != expected).mean() < 0.01


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="there is no /dev/stdin on this system")
def test_a_shell_takes_the_command_with_a_chain(folder):
    resolved = resolve_settings({"filter": "soft", "boundary": "symmetric", "level": 3})
    command = resolved.tool.format_equivalent(resolved.settings, "in.png").command
    program = f"{shlex.quote(sys.executable)} -m subband"
    subprocess.run(["bash", "-c", command.replace("subband", program, 1)], check=True, capture_output=True)
    made = np.asarray(Image.open(folder / "in-enhanced.png")).astype(int)
    expected = make_enhancer(resolved.settings).apply(PICTURE)
    # two processes, of which one may have compiled and the other loaded the kernels: exact halves round either way
    assert np.abs(made - expected).max() <= 1
    assert (made != expected).mean() < 0.01


@pytest.mark.parametrize("given", CASES, ids=str)
def test_python_and_toml_make_the_same_enhancer(folder, given):
    resolved = resolve_settings({"level": 3, **given}, shape=PICTURE.shape)
    printed = resolved.tool.format_equivalent(resolved.settings, "in.png")
    is_mosaic = resolved.settings["view"] in ("analysis", "filtered-analysis")
    expected = (make_view_enhancer if is_mosaic else make_enhancer)(resolved.settings)
    assert Enhancer.from_toml(printed.toml) == expected
    names = {}
    exec(printed.python, names)
    assert names["enhancer"] == expected
    assert (folder / "in-enhanced.png").exists()


def test_names_are_quoted():
    resolved = resolve_settings({"filter": "soft"})
    command = resolved.tool.format_equivalent(resolved.settings, "a b; rm -rf $HOME.png").command
    assert shlex.split(command)[2:4] == ["a b; rm -rf $HOME.png", "a b; rm -rf $HOME-enhanced.png"]


def test_everything_has_a_default():
    resolved = resolve_settings({})
    assert resolved.settings["tool"] == "enhance"
    assert set(resolved.settings) == {"tool", *(control.name for control in resolved.tool.controls)}
    assert not resolved.notes
    assert resolve_settings(resolved.settings) == resolved


@pytest.mark.parametrize("given", [7, None, [], {"filter": None}, {"filter": []}, {str(n): 1 for n in range(200)}])
def test_what_is_no_settings_is_refused(given):
    with pytest.raises(ProtocolError):
        resolve_settings(given)


def test_levels_fit_the_picture():
    resolved = resolve_settings({"level": 8, "wavelet": "haar"}, shape=(40, 50))
    level = resolved.settings["level"]
    assert f"{level} levels" in resolved.notes[0]
    picture = np.zeros((40, 50), np.uint8)
    make_enhancer(resolved.settings).apply(picture)
    with pytest.raises(LevelError):
        make_enhancer({**resolved.settings, "level": level + 1}).apply(picture)


@pytest.mark.parametrize("wavelet", ["haar", "db4", "bior2.2", "cdf97", "dmey", "sym5"])
@pytest.mark.parametrize("boundary", ["auto", "whole", "symmetric", "periodization", "zero", "smooth"])
@pytest.mark.parametrize("form", ["auto", "undecimated", "spun", "dual-tree"])
def test_whatever_is_resolved_can_be_computed(wavelet, boundary, form):
    clean = PICTURE[:48, :56].astype(float)
    noisy = np.clip(np.rint(clean + np.random.default_rng(0).normal(0, 25, clean.shape)), 0, 255).astype(np.uint8)
    for chosen in ("soft", "bayes"):
        given = {"filter": chosen, "wavelet": wavelet, "boundary": boundary, "form": form, "level": 3}
        resolved = resolve_settings(given, shape=noisy.shape)
        # what was asked for is what is computed, or a note says what took its place
        changed = {name for name, value in given.items() if resolved.settings[name] != value}
        assert len(resolved.notes) >= len(changed)
        enhancer = make_enhancer(resolved.settings)
        (stage,) = enhancer.stages
        assert (stage.wavelet, stage.level) == (resolved.settings["wavelet"], resolved.settings["level"])
        result = enhancer.apply(noisy)
        judge = enhancer.apply(noisy, engine="reference")
        assert result.shape == noisy.shape
        assert np.abs(result.astype(int) - judge).max() <= 1
        # filters that are longer than the picture mostly see what the boundary makes up
        part = 1.1 if wavelet == "dmey" else 0.8
        assert np.mean((result - clean) ** 2) < part * np.mean((noisy - clean) ** 2)


def test_tiny_pictures_have_no_levels():
    resolved = resolve_settings({"filter": "soft", "level": 3}, shape=(1, 1))
    assert make_enhancer(resolved.settings).apply(np.full((1, 1), 9, np.uint8)) == 9


@pytest.mark.parametrize(
    "text", ["x", "0:ad=1", "1:zz=1", "1:ad=x", "1:ad=-1", "1:ad=inf", "1:ad=1e9", "-1:ad=1", "1.5:ad=2"]
)
def test_gains_that_cannot_be_read(text):
    with pytest.raises(ArgumentError):
        read_gains(text, 3)
    resolved = resolve_settings({"bands": text})
    assert resolved.settings["bands"] == ""
    assert resolved.notes


@pytest.mark.parametrize(
    ("text", "gains"),
    [
        ("", None),
        ("1:ad=2", ((2, 1, 1), (1, 1, 1), (1, 1, 1))),
        ("1:ad=2,da=0.5;3:dd=0", ((2, 0.5, 1), (1, 1, 1), (1, 1, 0))),
    ],
)
def test_gains_are_read(text, gains):
    assert read_gains(text, 3) == gains


def test_addresses_hold_texts():
    resolved = resolve_settings({"threshold": "20.5", "level": "3", "strength": "2"})
    assert (resolved.settings["threshold"], resolved.settings["level"]) == (20.5, 3)
    assert not resolved.notes


def test_controls():
    level = slide("level", "Levels", 3, 1, 8, 1)
    assert level.resolve(2.4) == (2, None)
    assert level.resolve(float("nan"))[0] == 3
    assert level.resolve(True)[0] == 3
    assert level.resolve("auto")[1] is not None
    assert slide("x", "X", 1, 0, 2, 0.1, more={"auto": True}).resolve("auto") == ("auto", None)
    assert choose("mode", "Mode", "a", [("a", "A"), ("b", "B")]).resolve("c") == (
        "a",
        "mode='c' is not one of its values; a is taken",
    )
    assert switch("on", "On").resolve("true") == (True, None)
    assert switch("on", "On").resolve(7)[1] is not None
    shown = slide("x", "X", 1, 0, 2, 1, shown={"filter": ("soft",)})
    assert shown.describe()["shown"] == {"filter": ["soft"]}

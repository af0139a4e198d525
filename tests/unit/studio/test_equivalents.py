"""Library, printed Python, printed command, export and command line: the same pixels, whatever the file holds."""

import shlex
from threading import Event

import numpy as np
import pytest
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.engines import get_engine
from subband.enhance import Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.media import Frame, SourceInfo, open_sink, open_source
from subband.pipeline import enhance_file
from subband.pipeline.units import choose_scale, scale_enhancer
from subband.studio.settings import resolve_settings
from subband.studio.tools.base import Export

PICTURE = data.photograph()[160:224, 160:240]
STILLS = {
    "in8.png": PICTURE,
    "in16.png": PICTURE.astype(np.uint16) * 257,
    "grey16.tiff": PICTURE[..., 1].astype(np.uint16) * 257,
    "float.tiff": (PICTURE / 255).astype(np.float32),
}
VOLUME = np.random.default_rng(0).normal(1000, 50, (24, 40, 36)).astype(np.float32)

#: What the page says, what a program says, and what is typed; for files that have a white, and for volumes too.
CASES = {
    "soft": (
        {"filter": "soft", "threshold": 25.5, "colour": "ycbcr", "level": 3},
        Enhancer(Shrink(threshold=25.5), colour="ycbcr"),
        "filter --soft 0.1 --colour ycbcr",
    ),
    "hard": (
        {"filter": "hard", "threshold": 51, "boundary": "symmetric", "level": 3},
        Enhancer(Shrink(mode="hard", threshold=51.0, boundary="symmetric")),
        "filter --hard 0.2 --boundary symmetric",
    ),
    "shrinkage": (
        {"filter": "shrinkage", "threshold": 12.5, "falloff": 0.35, "level": 2},
        Enhancer(Shrink(level=2, threshold=12.5, level_weights=(1.0, 0.35))),
        f"filter --soft {12.5 / 255!r} --level-weights 1,0.35 --level 2",
    ),
    "speckle": (
        {"filter": "speckle", "dynamic_range": 50, "level": 2},
        Enhancer(Denoise(level=2), noise=LogSpeckle(dynamic_range=50.0)),
        "denoise --level 2 --noise log-speckle:dynamic_range=50",
    ),
}
FOR_VOLUMES = {
    "bayes": (
        {"filter": "bayes", "noise_level": 12.3, "strength": 1.15, "level": 2},
        Enhancer(Denoise("bayes", level=2, strength=1.15), sigma=12.3),
        "denoise --method bayes --sigma 12.3 --strength 1.15 --level 2",
    ),
    "measured": ({"filter": "bivariate", "level": 1}, Enhancer(Denoise(level=1)), "denoise --level 1"),
    "sharpen": (
        {"filter": "sharpen", "amount": 0.35, "bands": "1:ad=1.7,da=1.7,dd=1.7", "level": 2},
        Enhancer([Sharpen(0.35), Shrink(level=2, gains=[1.7, 1.0])]),
        "filter --sharpen 0.35 --gains 1.7,1 --level 2",
    ),
}
TABLE = [
    *((name, case) for name in (*STILLS, "film.mp4") for case in (*CASES, *FOR_VOLUMES)),
    *(("volume.npy", case) for case in FOR_VOLUMES),
]


def write_source(path):
    """Write a still, a film or a volume, by its name."""
    if path.name in STILLS:
        pixels = STILLS[path.name]
        info, frames = SourceInfo("still", pixels.shape, pixels.dtype, count=1), [Frame(pixels)]
    elif path.name == "volume.npy":
        info = SourceInfo("volume", VOLUME.shape[1:], VOLUME.dtype, "grey", count=len(VOLUME))
        frames = [Frame(pixels, number) for number, pixels in enumerate(VOLUME)]
    else:
        with open_source("test:80x64@25?count=3") as source:
            info, frames = source.info, list(source)
    with open_sink(path, info) as sink:
        for frame in frames:
            sink.write(frame)


def read_pixels(path):
    with open_source(path) as source:
        return np.stack([frame.pixels for frame in source])


def run_command(command, folder):
    head, _, toml = command.partition(" <<'END'\n")
    (folder / "chain.toml").write_text(toml.removesuffix("END"))
    words = shlex.split(head.replace("/dev/stdin", str(folder / "chain.toml")))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output


def export(resolved, source, target):
    resolved.tool.export(
        resolved.settings,
        Export(
            lambda colours: open_source(source, colours=colours),
            target,
            get_engine("cpu"),
            lambda _: PICTURE,
            lambda _: None,
            Event(),
        ),
    )


@pytest.mark.parametrize(("name", "case"), TABLE)
def test_all_ways_agree_to_the_last_bit(tmp_path, monkeypatch, name, case):
    given, enhancer, words = {**CASES, **FOR_VOLUMES}[case]
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path / name)
    with open_source(name) as source:
        info = source.info
    resolved = resolve_settings(given, shape=info.shape)
    assert not resolved.notes
    printed = resolved.tool.format_equivalent(resolved.settings, name)
    stem, _, ending = name.partition(".")
    target = tmp_path / f"{stem}-enhanced.{ending}"
    command, _, options = words.partition(" ")
    ways = {
        "library": lambda: enhance_file(name, target, enhancer),
        "printed Python": lambda: exec(printed.python, {}),
        "printed command": lambda: run_command(printed.command, tmp_path),
        "export": lambda: export(resolved, name, target),
        "command line": lambda: run_command(f"subband {command} {name} {target} {options}", tmp_path),
    }
    found = {}
    for way, make in ways.items():
        make()
        found[way] = read_pixels(target)
        target.unlink()
    expected = found["library"]
    assert expected.dtype == info.dtype
    for way, pixels in found.items():
        np.testing.assert_array_equal(pixels, expected, err_msg=way)
    # something was done, and as much at every depth
    before = read_pixels(tmp_path / name)
    white = 1000.0 if info.kind == "volume" else info.peak
    assert np.abs(expected.astype(float) - before).mean() > 5e-4 * white
    if name in STILLS:
        # without a file, in the units of the pixels
        direct = scale_enhancer(enhancer, choose_scale(info)).apply(STILLS[name])
        np.testing.assert_allclose(direct.astype(float), expected[0], atol=1 if direct.dtype.kind == "u" else 1e-5)


def test_a_threshold_that_no_part_of_white_gives_is_printed_as_a_chain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path / "in8.png")
    # every second number of the last 1/256 below a power of two is no multiple of 255
    resolved = resolve_settings(
        {"filter": "soft", "threshold": float(np.nextafter(127.75, 0)), "level": 1}, shape=PICTURE.shape
    )
    printed = resolved.tool.format_equivalent(resolved.settings, "in8.png")
    assert "--chain" in printed.command
    assert Enhancer.from_toml(printed.toml).stages[0].threshold == resolved.settings["threshold"]


def test_edges_of_deep_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    masks = {}
    for name in ("in8", "in16"):
        picture = STILLS[f"{name}.png"]
        write_source(tmp_path / f"{name}.png")
        settings = resolve_settings({"tool": "edges", "drawn": "mask", "contrast": 60, "sigma": 9}, shape=picture.shape)
        equivalent = settings.tool.format_equivalent(settings.settings, f"{name}.png")
        target = tmp_path / f"{name}-edges.png"
        run_command(equivalent.command, tmp_path)
        masks[name] = read_pixels(target)
        target.unlink()
        exec(equivalent.python, {})
        np.testing.assert_array_equal(read_pixels(target), masks[name])
    assert (masks["in8"] > 0).any()
    assert (masks["in8"] != masks["in16"]).mean() < 1e-3

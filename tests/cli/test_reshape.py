"""``subband reshape``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband.cli import app
from subband.edit.surfaces import Surface, evaluate, read_surface, reshape, shapes, write_surface
from subband.engines import get_engine


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("ending", [".obj", ".ply", ".json"])
@pytest.mark.parametrize("name", ["head", "terrain", "ring"])
def test_bundled_surfaces(tmp_path, name, ending):
    target = tmp_path / f"out{ending}"
    result = run("reshape", name, target, "--band-gains", "1:1.5,2:0.3,3d:0", "--points", "40x50")
    assert result.exit_code == 0, result.output
    expected = reshape(shapes.make_shape(name), {1: 1.5, 2: 0.3, 3: (1, 1, 0)})
    points = read_surface(target).points
    np.testing.assert_allclose(
        points, expected.points if ending == ".json" else evaluate(expected, (40, 50)), atol=1e-12
    )
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_gains_of_one_leave_a_file_as_it_is(tmp_path):
    surface = Surface(np.random.default_rng(0).normal(size=(17, 20, 3)), (False, True))
    write_surface(tmp_path / "in.ply", surface)
    result = run("reshape", tmp_path / "in.ply", tmp_path / "out.obj", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["closed"] == [False, True]
    np.testing.assert_allclose(read_surface(tmp_path / "out.obj").points, surface.points, atol=1e-12)


def test_pictures(tmp_path):
    assert run("reshape", "head", tmp_path / "a.png", "--shape", "60x50").exit_code == 0
    assert np.asarray(Image.open(tmp_path / "a.png")).shape == (60, 50, 3)
    options = ("--transparent", "--turn", "90", "--tilt", "0", "--shape", "60x50", "--band-gains", "3:2,a:0.8")
    assert run("reshape", "head", tmp_path / "b.png", *options).exit_code == 0
    assert np.asarray(Image.open(tmp_path / "b.png")).shape == (60, 50, 4)


def test_a_picture_of_heights(tmp_path):
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save(tmp_path / "heights.png")
    assert run("reshape", tmp_path / "heights.png", tmp_path / "out.obj").exit_code == 0
    surface = read_surface(tmp_path / "out.obj")
    assert surface.is_heights
    assert surface.points[-1, -1, 2] == pytest.approx(4.0)


def test_points_without_faces(tmp_path):
    points = np.random.default_rng(0).normal(size=(12, 3)).tolist()
    (tmp_path / "in.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in points))
    assert run("reshape", tmp_path / "in.obj", tmp_path / "out.obj").exit_code == 2
    assert run("reshape", tmp_path / "in.obj", tmp_path / "out.obj", "--rows", 3).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["haed", "out.obj"], "did you mean 'head'"),
        (["none.obj", "out.obj"], "No such file"),
        (["head", "out.stl"], "neither like a surface nor like an image"),
        (["head", "no/out.obj"], "does not exist"),
        (["head", "out.obj", "--band-gains", "9:2"], "levels 1 to 5"),
        (["head", "out.obj", "--band-gains", "1=2"], "write level:gain"),
        (["head", "out.obj", "--band-gains", "1:nan"], "not finite"),
        (["head", "out.obj", "--points", "12"], "write 256x256"),
        (["head", "out.obj", "--points", "99999x99999"], "more than can be made"),
        (["head", "out.png", "--shape", "99999x99999"], "more than can be made"),
        (["head", "out.obj", "--points", "9" * 5000 + "x9"], "write 256x256"),
        (["head", "out.obj", "--band-gains", "1:1e308"], "beyond 1000"),
        (["head", "out.jpg", "--transparent"], "no transparency"),
        (["terrain", "out.obj", "--rows", "3"], "--rows is for"),
        (["head", "out.obj", "--level", "12"], "the maximum is"),
        (["head", "out.obj", "--boundary", "round"], "round"),
        (["head", "out.obj", "--engine", "abacus"], "abacus"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run("reshape", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_unasked(tmp_path):
    target = tmp_path / "out.obj"
    write_surface(target, shapes.ring((16, 16)))
    assert "--force" in run("reshape", "ring", target).output
    assert "own result" in run("reshape", target, target, "--force").output
    assert run("reshape", "ring", target, "--force").exit_code == 0
    assert read_surface(target).shape == (64, 64)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_engines(tmp_path, engine, monkeypatch):
    pywt = pytest.importorskip("pywt")
    chosen = type(get_engine(engine))
    used = []
    for name in ("forward_all", "inverse_all"):
        original = getattr(chosen, name)
        monkeypatch.setattr(
            chosen, name, lambda *rest, name=name, original=original: used.append(name) or original(*rest)
        )
    transform = ("--wavelet", "db2", "--boundary", "periodization", "--level", 2)
    options = ("--engine", engine, *transform, "--band-gains", "1:1.5,2:0.25")
    result = run("reshape", "ring", tmp_path / "out.json", *options)
    assert result.exit_code == 0, result.output
    assert used == ["forward_all", "inverse_all"]
    coarse, second, first = pywt.wavedec2(shapes.make_shape("ring").points, "db2", "periodization", 2, axes=(0, 1))
    changed = [coarse, tuple(0.25 * band for band in second), tuple(1.5 * band for band in first)]
    expected = pywt.waverec2(changed, "db2", "periodization", axes=(0, 1))
    np.testing.assert_allclose(read_surface(tmp_path / "out.json").points, expected, atol=1e-12)


def test_what_is_told_is_what_is_written(tmp_path):
    result = run("reshape", "head", tmp_path / "out.obj", "--points", "20x30")
    assert "20 × 30 points" in result.output
    assert "128 × 128 points" in run("reshape", "head", tmp_path / "out.json", "--points", "20x30").output

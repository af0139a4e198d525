"""The further tabs: what they show is what `subband.edit` computes, and their commands do the same."""

import json
import shlex
import struct

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.edit import Fuser, Relighter, Stylist
from subband.edit.edges import EdgeFinder
from subband.edit.surfaces import Reshaper, make_shape
from subband.engines import get_engine
from subband.enhance.fixed import FixedPoint, draw_bands
from subband.studio.library import Library
from subband.studio.settings import resolve_settings
from subband.studio.tools.base import Inputs
from subband.studio.tools.lookup import TOOLS

PHOTOGRAPH = data.photograph()
LIBRARY = Library([])

CASES = [
    ({"tool": "stylise", "strength": 0.8}, lambda: Stylist(data.ascent(), strength=0.8).apply(PHOTOGRAPH)),
    (
        {"tool": "stylise", "texture": "sample:camera", "rule": "add", "level": 3, "wavelet": "haar", "fit": "stretch"},
        lambda: Stylist(data.camera(), rule="add", level=3, wavelet="haar", fit="stretch").apply(PHOTOGRAPH),
    ),
    ({"tool": "relight"}, lambda: Relighter().apply(PHOTOGRAPH)),
    (
        {"tool": "relight", "output": "light", "level": 4, "gamma": 2.2, "colour": "rgb"},
        lambda: Relighter(output="light", level=4, gamma=2.2, colour="rgb").apply(PHOTOGRAPH),
    ),
    (
        {"tool": "relight", "output": "lit", "light": "sample:aero", "strength": 0.9},
        lambda: Relighter(strength=0.9).relight(PHOTOGRAPH, data.aero()),
    ),
    (
        {"tool": "fuse", "second": "sample:bright", "rule": "exposure"},
        lambda: Fuser(rule="exposure").apply([PHOTOGRAPH, LIBRARY.load("sample:bright")]),
    ),
    (
        {"tool": "fuse", "has_third": True, "third": "sample:dark", "window": 3},
        lambda: Fuser(window=3).apply([PHOTOGRAPH, LIBRARY.load("sample:far"), LIBRARY.load("sample:dark")]),
    ),
    ({"tool": "edges", "threshold": 8, "fade": 0.5}, lambda: EdgeFinder(threshold=8.0, fade=0.5).apply(PHOTOGRAPH)),
    (
        {"tool": "edges", "drawn": "mask", "channels": "strongest"},
        lambda: EdgeFinder(channels="strongest").find(PHOTOGRAPH).mask * np.uint8(255),
    ),
    (
        {"tool": "fixed", "wavelet": "db2", "level": 3},
        lambda: FixedPoint("db2", 8).inverse(FixedPoint("db2", 8).forward(PHOTOGRAPH, 3, (0, 1))),
    ),
    (
        {"tool": "fixed", "drawn": "bands", "bits": 12, "level": 2},
        lambda: draw_bands(FixedPoint("cdf97", 12).forward(PHOTOGRAPH, 2, (0, 1))),
    ),
]


@pytest.mark.parametrize(("settings", "expected"), CASES, ids=[str(settings) for settings, _ in CASES])
def test_frames_are_what_the_library_makes(page, settings, expected):
    page.open()
    frame = page.show(**settings)
    np.testing.assert_array_equal(frame.pixels(), expected())
    assert not page.errors


def load_part(text):
    return np.ascontiguousarray(LIBRARY.load(text)[160:288, 160:320])


@pytest.mark.parametrize("settings", [settings for settings, _ in CASES], ids=str)
def test_commands_do_the_same(tmp_path, monkeypatch, settings):
    monkeypatch.chdir(tmp_path)
    for name in ("photograph", "ascent", "camera", "aero", "bright", "dark", "far"):
        Image.fromarray(load_part(f"sample:{name}")).save(f"{name}.png")
    photograph = load_part("sample:photograph")
    resolved = resolve_settings(settings, shape=photograph.shape)
    assert not resolved.notes
    printed = resolved.tool.format_equivalent(resolved.settings, "photograph.png")
    words = shlex.split(printed.command)
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output
    (made,) = tmp_path.glob(f"photograph-{resolved.tool.result}.png")
    work = resolved.tool.prepare(resolved.settings, Inputs(photograph.shape, get_engine("cpu"), load_part))
    expected = work(photograph, 0).images[0][1]
    found = np.asarray(Image.open(made).convert("L" if expected.ndim == 2 else "RGB"))
    np.testing.assert_array_equal(found, expected)
    made.unlink()
    exec(printed.python, {})
    np.testing.assert_array_equal(np.asarray(Image.open(made)), expected)


def test_split_view_shows_the_frame(page):
    page.open()
    frame = page.show(tool="edges", view="split")
    np.testing.assert_array_equal(frame.pixels("before"), PHOTOGRAPH)


def test_tools_follow_a_film_and_go_back(page):
    page.send_settings(tool="stylise", format="jpeg")
    page.open(name="clip")
    positions = [page.wait_frame().position for _ in range(5)]
    assert positions == sorted(positions)
    assert page.show(tool="enhance", filter="none").pixels().shape == (360, 640, 3)


@pytest.mark.parametrize("texture", ["sample:nothing", "upload:nothing", "/etc/passwd", "media:../x", ""])
def test_pictures_that_are_not_there_are_told(page, texture):
    page.open()
    frame = page.show(tool="stylise", texture=texture)
    np.testing.assert_array_equal(frame.pixels(), PHOTOGRAPH)
    assert page.errors


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "surface"])
@pytest.mark.parametrize("shape", [(5, 7), (33, 65, 3), (1, 1)])
def test_small_pictures(tool, shape):
    resolved = resolve_settings({"tool": tool, "level": 6, "second": "sample:far"}, shape=shape)
    work = resolved.tool.prepare(resolved.settings, Inputs(shape, get_engine("cpu"), LIBRARY.load))
    assert work(np.full(shape, 100, np.uint8), 0).images[0][1].shape[:2] == shape[:2]


def read_surface(message):
    (length,) = struct.unpack("<I", message[:4])
    header = json.loads(message[4 : 4 + length])
    count = 3 * header["rows"] * header["columns"]
    floats = np.frombuffer(message[4 + length :], "<f4")
    assert len(floats) == 2 * count
    shape = (header["rows"], header["columns"], 3)
    return header, floats[:count].reshape(shape), floats[count:].reshape(shape)


def test_surfaces_come_with_positions_and_normals(page):
    number = page.send_settings(tool="surface", shape="terrain", level=3, bands="1:ad=2,da=3,dd=0", approximation=1.2)
    while not isinstance(message := page.receive(), bytes):
        pass
    header, positions, normals = read_surface(message)
    assert (header["settings"], header["client_time"], header["levels"]) == (number, 1.5, 3)
    reshaper = Reshaper(make_shape("terrain"), level=3)
    mesh = reshaper.make_mesh({1: (3.0, 2.0, 0.0)}, 1.2)
    np.testing.assert_array_equal(positions, mesh.vertices)
    np.testing.assert_array_equal(normals, mesh.normals)


def test_surfaces_follow_sliders_without_answers(page):
    for gain in range(10):
        page.send_settings(tool="surface", shape="ring", bands=f"1:ad={gain}")
    last = None
    while last != page.number:
        found = page.receive()
        if isinstance(found, bytes):
            last = read_surface(found)[0]["settings"]


def test_a_film_waits_while_a_surface_is_shown(page):
    page.send_settings(filter="none")
    page.open(name="clip")
    page.wait_frame()
    page.send_settings(tool="surface", shape="ring")
    page.collect(1.0)
    assert not [found for found in page.collect(0.6) if not isinstance(found, dict | bytes)]
    page.send_settings(filter="none")
    page.wait_frame(accept=lambda frame: frame.settings == page.number)


@pytest.mark.parametrize("ending", [".obj", ".ply"])
def test_surfaces_are_exported(http, page, ending):
    body = {"page": page.hello["page"], "settings": {"tool": "surface", "shape": "ring"}, "ending": ending}
    number = http.post("/export", json=body).json()["id"]
    found = page.wait("export", accept=lambda each: each["state"] not in ("waiting", "running"))
    assert (found["state"], found["name"]) == ("done", f"surface-reshaped{ending}")
    text = http.get(f"/exports/{number}").content
    assert text.startswith(b"ply") if ending == ".ply" else b"\nv " in text


def test_the_command_of_a_surface(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"tool": "surface", "shape": "ring", "level": 3, "bands": "1:ad=2,da=0.5;3:dd=0", "approximation": 1.1}
    resolved = resolve_settings(given)
    printed = resolved.tool.format_equivalent(resolved.settings, "")
    result = CliRunner().invoke(app, shlex.split(printed.command)[1:])
    assert result.exit_code == 0, result.output
    written = (tmp_path / "ring-reshaped.obj").read_bytes()
    (tmp_path / "ring-reshaped.obj").unlink()
    exec(printed.python, {})
    assert (tmp_path / "ring-reshaped.obj").read_bytes() == written


def test_a_tool_is_exported_frame_by_frame(http, page, tmp_path):
    body = {
        "page": page.hello["page"],
        "source": {"kind": "sample", "name": "camera"},
        "settings": {"tool": "edges", "threshold": 7},
        "ending": ".png",
    }
    number = http.post("/export", json=body).json()["id"]
    found = page.wait("export", accept=lambda each: each["state"] not in ("waiting", "running"))
    assert found["state"] == "done", found
    path = tmp_path / "a.png"
    path.write_bytes(http.get(f"/exports/{number}").content)
    np.testing.assert_array_equal(np.asarray(Image.open(path)), EdgeFinder(threshold=7.0).apply(data.camera()))

"""Deep images: what is shown, exported and printed is computed from the same numbers."""

import shlex
from threading import Event

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.engines import get_engine
from subband.studio.jobs import Job
from subband.studio.levels import Levels, Window, measure_levels
from subband.studio.library import Library
from subband.studio.measures import measure_image, measure_pixel
from subband.studio.preview import Preview
from subband.studio.rendering import Renderer
from subband.studio.settings import resolve_settings
from subband.studio.tools.base import Export

CAMERA = data.camera()[::4, ::4].astype(float)
NOISE = np.random.default_rng(0).normal(0, 1, CAMERA.shape)
IMAGES = {
    "8 bits": (CAMERA + 4 * NOISE).clip(0, 255).astype(np.uint8),
    "12 bits in 16": (CAMERA * 16 + 60 * NOISE).clip(0, 4095).astype(np.uint16),
    "16 bits": (CAMERA * 257 + 900 * NOISE).clip(0, 65535).astype(np.uint16),
    "from 0 to 1": ((CAMERA + 4 * NOISE) / 255).clip(0, 1).astype(np.float32),
    "Hounsfield units": (CAMERA * 10 - 1000 + 40 * NOISE).astype(np.float32),
}
#: White less black of each, which a setting of 255 shades stands for.
SPANS = {"8 bits": 255, "12 bits in 16": 4095, "16 bits": 65535, "from 0 to 1": 1}


@pytest.mark.parametrize("title", IMAGES)
@pytest.mark.parametrize("given", [{"filter": "soft", "threshold": 9}, {"filter": "bayes"}, {"noise_level": 12}])
def test_screen_export_and_command_agree(tmp_path, monkeypatch, title, given):
    image = IMAGES[title]
    monkeypatch.chdir(tmp_path)
    tifffile.imwrite("in.tif", image)
    item = Library([tmp_path / "in.tif"]).find({"kind": "media", "name": "in.tif"})
    preview = Preview()
    preview.open(item)
    given = {"filter": "bayes", **given, "level": 3}
    resolved = resolve_settings(given, shape=preview.shape)
    job = Job(resolved, "cpu", preview.frame, lambda pixels: "raw")
    message = Renderer(lambda name: None).render(job)
    assert not message.error
    shown = message.pair[1]
    assert shown.dtype == image.dtype
    assert (shown != image).mean() > 0.5
    # one in the last digit, since frames and images take different ways to it
    close = {"atol": 1.0 if image.dtype.kind == "u" else 1e-5 * float(np.ptp(image)), "rtol": 0.0}
    export = Export(
        lambda colours: item.open(quick=False, colours=colours),
        tmp_path / "exported.tif",
        get_engine("cpu"),
        lambda name: None,
        lambda progress: None,
        Event(),
        preview.file_scale,
    )
    resolved.tool.export(resolved.settings, export)
    np.testing.assert_allclose(tifffile.imread("exported.tif").astype(float), shown, **close)
    printed = resolved.tool.format_equivalent(resolved.settings, "in.tif", preview.file_scale)
    head, _, toml = printed.command.partition(" <<'END'\n")
    (tmp_path / "chain.toml").write_text(toml.removesuffix("END"))
    words = shlex.split(head.replace("/dev/stdin", str(tmp_path / "chain.toml")))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(tifffile.imread("in-enhanced.tif").astype(float), shown, **close)
    preview.close()


@pytest.mark.parametrize("title", IMAGES)
def test_black_and_white_are_found(title):
    levels = measure_levels(IMAGES[title])
    shades = Window.read({}, levels).show(IMAGES[title])
    assert shades.dtype == np.uint8
    assert len(np.unique(shades)) > 200
    if title in SPANS:
        assert levels.span == SPANS[title]
    else:
        assert levels.span == pytest.approx(np.ptp(np.percentile(IMAGES[title], (0.2, 99.8))), rel=0.01)


def test_a_frame_without_contrast_has_a_window_too():
    levels = measure_levels(np.full((8, 8), -7.0, np.float32))
    assert levels.low < levels.high
    assert Window.read({}, levels).show(np.full((8, 8), -7.0, np.float32)).max() == 0


def test_the_window_of_settings_is_taken_and_a_wrong_one_is_told():
    settings = resolve_settings({"display_window": "-160:240", "display_gamma": 2}).settings
    window = Window.read(settings, Levels())
    assert (window.low, window.high, window.gamma) == (-160, 240, 2)
    for wrong in ("5:1", "a:b", "1", "nan:3", "1:2:3"):
        resolved = resolve_settings({"display_window": wrong})
        assert resolved.settings["display_window"] == ""
        assert "display_window" in resolved.notes[0]


def test_measurements_are_in_the_numbers_of_the_data():
    image = (40 * NOISE - 500).astype(np.float32)
    found = measure_image((image, image), Window(-100.0, 300.0))
    assert sum(found["counts"]) == image.size
    assert found["range"] == [image.min(), image.max()]
    assert found["noise"] == pytest.approx(40, rel=0.05)
    assert found["noise_kind"].startswith("white, ")
    assert found["noise_report"].startswith("white noise (")
    tiny = np.zeros((4, 4), np.uint8)
    assert measure_image((tiny, tiny), Window(0.0, 255.0))["noise_kind"] is None
    assert measure_pixel((image, image), 4, 7)["before"] == [image[4, 7]]
    assert measure_pixel((image, image), 128, 0) is None


def test_only_what_is_shown_is_made_anew_where_only_the_window_changes():
    frame_settings = {"filter": "bayes", "level": 3}
    preview = Preview()
    preview.open(Library([]).find({"kind": "sample", "name": "camera"}))
    renderer = Renderer(lambda name: None)

    def show(**settings):
        resolved = resolve_settings({**frame_settings, **settings}, shape=preview.shape)
        return renderer.render(Job(resolved, "cpu", preview.frame, lambda pixels: "raw"))

    first, second, third = show(), show(display_window="20:100"), show(level=2)
    assert second.pair is first.pair
    assert second.payload != first.payload
    assert third.pair is not first.pair
    preview.close()

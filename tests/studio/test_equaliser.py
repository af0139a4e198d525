"""The equaliser in a real browser: thresholds and gains of single bands, and guidance for filters and wavelets."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.enhance import Denoise, Enhancer, Shrink

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

CAMERA = data.camera()
# asked in one go: Playwright loses Firefox over lists of elements
ARE_DRAWN = "() => [...document.querySelectorAll('dialog[open] .card img')].every(image => image.naturalWidth === 96)"
ARE_EXPLAINED = "() => [...document.querySelectorAll('dialog[open] .card .hint')].every(hint => hint.innerText.trim())"


def find_meter(studio, name):
    meter = studio.page.locator(f'.meter[data-band="{name}"]')
    meter.scroll_into_view_if_needed()
    return meter


def test_thresholds_of_bands_are_set_by_keys_and_drags_over_their_energies(studio):
    studio.open("sample:camera", format="raw", threshold=40, level=2)
    meter = find_meter(studio, "dd1")
    studio.wait_for("() => document.querySelector('.meter').getAttribute('aria-valuetext').includes('energy')")
    widths = studio.page.evaluate("() => [...document.querySelectorAll('.energy')].map(e => parseFloat(e.style.width))")
    # coarser bands are stronger, and diagonal ones weaker
    assert widths[3] > widths[0] > widths[2] > 0
    meter.press("Home")
    studio.wait()
    assert studio.settings()["thresholds"] == "1:dd=0"
    weights = ((1.0, 1.0, 0.0), 1.0)
    shown = studio.colours()[..., 0].astype(int)
    expected = Enhancer([Shrink(level=2, threshold=40.0, level_weights=weights)]).apply(CAMERA)
    assert np.abs(shown - expected).max() <= 1
    assert (expected != Enhancer([Shrink(level=2, threshold=40.0)]).apply(CAMERA)).any()
    other = find_meter(studio, "ad2")
    box = other.bounding_box()
    studio.page.mouse.move(box["x"] + 40, box["y"] + 10)
    studio.page.mouse.down()
    # an octave is a twelfth of the width
    studio.page.mouse.move(box["x"] + 40 + box["width"] / 12, box["y"] + 10, steps=4)
    studio.page.mouse.up()
    studio.wait()
    weight = float(other.get_attribute("aria-valuenow"))
    assert 1.8 <= weight <= 2.2
    assert f"threshold {40 * weight:g}" in other.get_attribute("aria-valuetext")
    studio.page.get_by_role("button", name="All to 1").click()
    studio.wait()
    assert studio.settings()["thresholds"] == ""
    studio.choose("Filter", "Pass through")
    other.wait_for(state="hidden")


@pytest.mark.parametrize("filter_name", ["soft", "bivariate"])
def test_printed_command_and_python_make_the_picture_that_is_shown(studio, tmp_path, monkeypatch, filter_name):
    bands = {"bands": "1:dd=0.5;2:ad=1.5" if filter_name == "soft" else "", "thresholds": "1:ad=2,da=0.5;3:dd=0"}
    studio.open("sample:camera", format="raw", filter=filter_name, level=3, threshold=25.5, **bands)
    shown = studio.colours()[..., 0]
    monkeypatch.chdir(tmp_path)
    Image.fromarray(CAMERA).save("camera.png")
    studio.page.get_by_text("The same outside the studio").click()
    results = []
    for title in ("Command line", "Python", "TOML"):
        studio.page.get_by_role("button", name=title, exact=True).click()
        text = studio.page.get_by_role("textbox", name=title).input_value()
        studio.page.keyboard.press("Escape")
        if title == "TOML":
            results.append(Enhancer.from_toml(text).apply(CAMERA))
            continue
        if title == "Python":
            exec(text, {})
        else:
            assert "--level-weights 2/0.5/1,1,1/1/0" in text
            run = CliRunner().invoke(app, shlex.split(text)[1:])
            assert run.exit_code == 0, run.output
        results.append(np.asarray(Image.open("camera-enhanced.png")))
        (tmp_path / "camera-enhanced.png").unlink()
    for result in results:
        np.testing.assert_array_equal(result, shown)
    stage = Denoise(level=3) if filter_name == "bivariate" else Shrink(level=3, threshold=25.5)
    assert (Enhancer(stage).apply(CAMERA) != shown).any()


def test_filters_and_wavelets_are_compared_by_a_line_and_a_thumbnail_each(studio):
    studio.open("sample:camera", format="raw")
    studio.page.locator("#settings").get_by_text("Takes the threshold from every").wait_for()
    studio.page.get_by_role("button", name="Compare all: Filter").click()
    dialog = studio.page.get_by_role("dialog", name="Filter")
    dialog.get_by_role("button", name="BayesShrink").wait_for()
    cards = dialog.locator(".card")
    assert cards.count() == studio.page.get_by_label("Filter", exact=True).locator("option").count()
    assert studio.page.evaluate(ARE_DRAWN)
    assert studio.page.evaluate(ARE_EXPLAINED)
    dialog.get_by_role("button", name="BayesShrink").click()
    studio.wait()
    assert studio.settings()["filter"] == "bayes"
    studio.page.get_by_role("button", name="Compare all: Wavelet").click()
    dialog = studio.page.get_by_role("dialog", name="Wavelet")
    dialog.locator(".card[data-value=sym4]").click()
    studio.wait()
    assert studio.settings()["wavelet"] == "sym4"
    studio.page.locator("#settings").get_by_text("nearly symmetric: edges stay").wait_for()

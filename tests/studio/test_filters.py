"""Filters, views and bands in a real browser: what a canvas holds is what the library computes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

PHOTOGRAPH = data.photograph()

#: What each filter of the page does with its defaults, and which of its sliders are there.
FILTERS = {
    "Pass through": (Enhancer([]), set()),
    "Gaussian blur": (Enhancer([Blur(1.5)]), {"sigma"}),
    "Sharpen": (Enhancer([Sharpen(0.5)]), {"amount"}),
    "Soft threshold": (Enhancer([Shrink(level=4, threshold=12.0)]), {"threshold"}),
    "Hard threshold": (Enhancer([Shrink(level=4, mode="hard", threshold=12.0)]), {"threshold"}),
    "Garrote threshold": (Enhancer([Shrink(level=4, mode="garrote", threshold=12.0)]), {"threshold"}),
    "Wavelet shrinkage": (
        Enhancer([Shrink(level=4, threshold=12.0, level_weights=(1.0, 0.6, 0.36, 0.216))]),
        {"threshold", "falloff"},
    ),
    "VisuShrink": (Enhancer([Denoise("visu", level=4)]), {"strength", "noise_level"}),
    "BayesShrink": (Enhancer([Denoise("bayes", level=4)]), {"strength", "noise_level"}),
    "SureShrink": (Enhancer([Denoise("sure", level=4)]), {"strength", "noise_level"}),
    "NeighShrink": (Enhancer([Denoise("neigh", level=4)]), {"strength", "noise_level"}),
    "Bivariate shrinkage": (Enhancer([Denoise("bivariate", level=4)]), {"strength", "noise_level"}),
    "Bivariate and Wiener": (Enhancer([Denoise("wiener", level=4)]), {"strength", "noise_level"}),
    "Non-local ridge regression": (Enhancer([Denoise("best", level=4)]), {"strength", "noise_level"}),
    "Speckle of ultrasound": (
        Enhancer([Denoise("bivariate", level=4)], noise=LogSpeckle(dynamic_range=60.0)),
        {"strength", "dynamic_range"},
    ),
}


def check_pixels(shown, enhancer, title=""):
    """Compare a canvas with the library.

    The server is a process of its own, and compilers may order additions otherwise there: where the exact result lies
    half-way between two grey levels, either is right.
    """
    differs = shown != enhancer.apply(PHOTOGRAPH)
    exact = np.clip(enhancer.apply(PHOTOGRAPH.astype(np.float64)), 0, 255)
    assert np.abs(shown[differs] - exact[differs]).max(initial=0) < 0.51, title


def shown_sliders(studio):
    """Return the names of the sliders of the filter that can be seen."""
    script = """() => {
        const isFilter = group => group.querySelector('summary').textContent === 'Filter';
        const fields = [...document.querySelectorAll('.group')].find(isFilter).querySelectorAll('input[type=number]');
        return [...fields].filter(f => f.checkVisibility()).map(f => f.id.slice('control-'.length));
    }"""
    return set(studio.page.evaluate(script))


def test_every_filter_shows_what_the_library_computes_and_only_its_sliders(studio):
    studio.open(format="raw")
    assert set(studio.texts("#control-filter option")) == set(FILTERS)
    for title, (enhancer, sliders) in FILTERS.items():
        studio.choose("Filter", title)
        check_pixels(studio.colours(), enhancer, title)
        assert shown_sliders(studio) == sliders, title


def test_views_show_result_before_and_bands(studio):
    studio.open(format="raw", threshold=40)
    enhancer = Enhancer([Shrink(level=4, threshold=40.0)])
    studio.view("Before and after")
    check_pixels(studio.colours("result"), enhancer)
    np.testing.assert_array_equal(studio.colours("before"), PHOTOGRAPH)
    studio.page.get_by_role("slider", name="Divider").wait_for()
    for title, view in (("Bands", "analysis"), ("Filtered bands", "filtered-analysis")):
        studio.view(title)
        studio.page.get_by_role("slider", name="Divider").wait_for(state="hidden")
        expected, unlike = enhancer.view(PHOTOGRAPH, view), np.zeros((512, 512), bool)
        unlike |= (studio.colours() != expected).any(axis=2)
        labels = studio.texts("#labels [data-band]")
        assert len(labels) == 13
        # the library writes names into its mosaic, and the page above it: only there may they differ
        for row, column in [(0, 0), *((256 >> k, 0) for k in range(4)), *((0, 256 >> k) for k in range(4))]:
            unlike[row : row + 20, column : column + 32] = False
        for place in (256 >> k for k in range(4)):
            unlike[place : place + 20, place : place + 32] = False
        assert not unlike.any()
        assert "dd1" in labels
    studio.page.keyboard.press("1")
    studio.wait()
    assert studio.settings()["view"] == "synthesis"


def test_slider_and_number_change_pixels(studio):
    studio.open(format="raw")
    slider = studio.slider("Threshold")
    slider.focus()
    slider.press("PageUp")
    studio.wait()
    value = float(slider.input_value())
    assert value > 12
    check_pixels(studio.colours(), Enhancer([Shrink(level=4, threshold=value)]))
    box = slider.bounding_box()
    studio.page.mouse.move(box["x"] + box["width"] * value / 128, box["y"] + box["height"] / 2)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=8)
    studio.page.mouse.up()
    studio.wait()
    dragged = float(slider.input_value())
    assert 50 < dragged < 78
    check_pixels(studio.colours(), Enhancer([Shrink(level=4, threshold=dragged)]))
    studio.type(studio.page.get_by_label("Threshold", exact=True), 30.5)
    assert float(slider.input_value()) == 30.5
    check_pixels(studio.colours(), Enhancer([Shrink(level=4, threshold=30.5)]))
    latency = studio.stats()["latency"]
    assert latency
    assert all(0 < each < 1e6 for each in latency)


def test_wavelet_is_searched_by_keyboard(studio):
    studio.open(format="raw")
    field = studio.page.get_by_role("combobox", name="Wavelet")
    field.focus()
    field.fill("db4")
    assert field.get_attribute("aria-expanded") == "true"
    field.press("ArrowDown")
    field.press("ArrowUp")
    field.press("Enter")
    studio.wait()
    assert studio.settings()["wavelet"] == "db4"
    check_pixels(studio.colours(), Enhancer([Shrink("db4", 4, threshold=12.0)]))
    field.fill("nothing like it")
    field.press("Escape")
    field.blur()
    assert field.input_value().startswith("db4")


def test_band_matrix_takes_keys_and_drags(studio):
    studio.open(format="raw", filter="none", level=2)
    cell = studio.page.get_by_role("slider", name="Level 1, diagonal (dd1)")
    cell.focus()
    cell.press("End")
    studio.wait()
    most = float(cell.get_attribute("aria-valuenow"))
    assert most > 1
    ones = [[1.0], [1.0], [1.0]]
    gains = [[[1.0], [1.0], [most]], ones]
    check_pixels(studio.colours(), Enhancer([Shrink(level=2, gains=gains)]))
    other = studio.page.get_by_role("slider", name="Level 2, down (da2)")
    other.scroll_into_view_if_needed()
    shade = other.evaluate("cell => cell.style.backgroundColor")
    box = other.bounding_box()
    studio.page.mouse.move(box["x"] + 20, box["y"] + 10)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + 20, box["y"] + 65, steps=5)
    studio.page.mouse.up()
    studio.wait()
    less = float(other.get_attribute("aria-valuenow"))
    assert 0.3 < less < 0.7
    brighter = other.evaluate("cell => cell.style.backgroundColor")
    assert int(brighter[4:].split(",")[0]) > int(shade[4:].split(",")[0])
    gains = [[[1.0], [1.0], [most]], [[1.0], [less], [1.0]]]
    check_pixels(studio.colours(), Enhancer([Shrink(level=2, gains=gains)]))
    cell.press("Delete")
    studio.page.get_by_role("button", name="All to 1").click()
    studio.wait()
    assert studio.settings()["bands"] == ""
    np.testing.assert_array_equal(studio.colours(), PHOTOGRAPH)


def test_added_noise_is_judged_live(studio):
    studio.open(format="raw", filter="bayes", view="split", added_noise="gaussian", added_sigma=25)
    stats = studio.stats()
    assert 19 < stats["psnrBefore"] < 22
    assert stats["psnr"] > stats["psnrBefore"] + 4
    noisy, result = studio.colours("before").astype(float), studio.colours("result").astype(float)
    assert 20 < (noisy - PHOTOGRAPH).std() < 27
    error = 10 * np.log10(255**2 / ((result - PHOTOGRAPH) ** 2).mean())
    assert abs(error - stats["psnr"]) < 0.1
    studio.wait_for("() => document.getElementById('status-psnr').textContent.includes('→')")
    studio.press("Added noise", "None")
    assert studio.stats()["psnr"] is None


def test_divider_parts_the_picture_on_the_screen(studio):
    studio.open(format="raw", view="split", threshold=100)
    studio.page.get_by_label("Zoom", exact=True).select_option("1")
    divider = studio.page.get_by_role("slider", name="Divider")
    divider.focus()
    for _ in range(2):
        divider.press("PageDown")
    assert divider.get_attribute("aria-valuenow") == "30"
    before, result = studio.colours("before"), studio.colours("result")

    def look():
        picture = studio.page.locator("#image").screenshot()
        return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)

    screen = look()
    height = min(len(screen), 512) - 60
    assert abs(screen[60:height, 10:120] - before[60:height, 10:120]).max() <= 2
    assert abs(screen[60:height, 200:500] - result[60:height, 200:500]).max() <= 2
    assert abs(screen[60:height, 200:500] - before[60:height, 200:500]).max() > 20
    box = studio.page.locator("#image").bounding_box()
    handle = divider.bounding_box()
    studio.page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + 100)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + 0.8 * box["width"], handle["y"] + 100, steps=4)
    studio.page.mouse.up()
    assert 79 <= int(divider.get_attribute("aria-valuenow")) <= 81
    assert abs(look()[60:height, 200:380] - before[60:height, 200:380]).max() <= 2


def test_histogram_of_a_band_that_was_clicked(studio):
    studio.open(format="raw", view="analysis")
    studio.page.locator("#labels [data-band=da2]").click()
    expect(studio.page.get_by_label("Band", exact=True)).to_have_value("da2")
    studio.wait_for("() => document.getElementById('histogram-text').textContent.includes('of da2')")
    expect(studio.page.locator("#histogram-text")).to_contain_text("threshold 12")
    script = (
        "() => document.getElementById('histogram').getContext('2d').getImageData(0, 0, 300, 100).data.some(x => x)"
    )
    assert studio.page.evaluate(script)


def test_engine_is_switched_while_it_plays(studio):
    studio.open(format="raw")
    menu = studio.page.get_by_label("Engine", exact=True)
    if len(studio.texts("#control-engine option")) < 2:
        pytest.skip("only the CPU computes here")
    expected = studio.colours().astype(int)
    menu.select_option(index=1)
    studio.wait()
    assert np.abs(studio.colours() - expected).max() <= 1
    menu.select_option(index=0)
    studio.wait()
    np.testing.assert_array_equal(studio.colours(), expected)

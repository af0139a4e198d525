"""The viewer in a real browser: zoom, drag, pixels, window and level, colours, what was removed."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from subband import data
from subband.enhance import Enhancer, Shrink

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

NOISE = np.random.default_rng(0).normal(0, 1, (512, 512))
#: 12 bits in 16, and Hounsfield units as floats.
TWELVE = np.clip(data.camera() * 14.0 + 100 + 40 * NOISE, 0, 4095).astype(np.uint16)
HOUNSFIELD = (data.camera() * 8.0 - 1000 + 30 * NOISE).astype(np.float32)


@pytest.fixture(scope="module")
def deep_server(run_server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    tifffile.imwrite(folder / "twelve.tif", TWELVE)
    tifffile.imwrite(folder / "hounsfield.tif", HOUNSFIELD)
    with run_server("--no-token", folder) as address:
        yield address


def find_pixel(studio, x, y):
    """Return the position of the pixel that the page says is at a point of the screen."""
    studio.page.mouse.move(x + 1, y)
    studio.page.mouse.move(x, y)
    studio.wait_for("() => document.getElementById('readout').textContent.includes('→')")
    words = studio.page.locator("#readout").inner_text().replace(",", "").split()
    return int(words[1]), int(words[3]), studio.page.locator("#readout").inner_text()


def test_wheel_enlarges_about_the_pointer_and_drags_move(studio):
    studio.open("sample:camera", format="raw", filter="none")
    box = studio.page.locator("#viewport").bounding_box()
    x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"]
    column, row, _ = find_pixel(studio, x, y)
    studio.page.mouse.wheel(0, -1000)
    studio.wait_for("() => document.getElementById('zoom').value > 2")
    again = find_pixel(studio, x, y)
    assert abs(again[0] - column) <= 1
    assert abs(again[1] - row) <= 1
    studio.page.mouse.down()
    studio.page.mouse.move(x + 60, y + 40, steps=4)
    studio.page.mouse.up()
    moved = find_pixel(studio, x + 60, y + 40)
    assert abs(moved[0] - column) <= 1
    assert abs(moved[1] - row) <= 1
    left = studio.page.locator("#image").bounding_box()["x"]
    studio.page.locator("#viewport").focus()
    studio.page.keyboard.press("ArrowRight")
    assert studio.page.locator("#image").bounding_box()["x"] < left
    studio.page.keyboard.press("0")
    expect(studio.page.get_by_label("Zoom", exact=True)).to_have_value("fit")
    studio.page.keyboard.press("+")
    assert float(studio.page.get_by_label("Zoom", exact=True).input_value()) > 1


# touches go through the protocol of Chromium
@pytest.mark.firefox(False)
def test_two_fingers_enlarge(open_page):
    studio = open_page(has_touch=True).open("sample:camera")
    box = studio.page.locator("#viewport").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    width = studio.page.locator("#image").bounding_box()["width"]
    client = studio.page.context.new_cdp_session(studio.page)

    def touch(kind, apart):
        points = [{"x": x + side * apart, "y": y, "id": each} for each, side in enumerate((-1, 1))]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if kind != "touchEnd" else []})

    touch("touchStart", 50)
    for apart in (60, 80, 100):
        touch("touchMove", apart)
    touch("touchEnd", 100)
    assert 1.6 < studio.page.locator("#image").bounding_box()["width"] / width < 2.4


def test_a_pixel_is_read_before_and_after(studio):
    studio.open("sample:camera", format="jpeg", threshold=40)
    box = studio.page.locator("#viewport").bounding_box()
    column, row, text = find_pixel(studio, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    before, after = (float(word) for word in text.partition("· ")[2].split(" → "))
    # the numbers of the data, and not those of a frame that was compressed on its way
    assert before == data.camera()[row, column]
    assert abs(after - float(Enhancer([Shrink(level=4, threshold=40.0)]).apply(data.camera())[row, column])) <= 1


def test_bands_have_no_pixels_of_the_image(studio):
    studio.open("sample:camera", view="analysis")
    box = studio.page.locator("#viewport").bounding_box()
    studio.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    studio.page.wait_for_timeout(500)
    assert "→" not in studio.page.locator("#readout").inner_text()


@pytest.mark.parametrize(("name", "image"), [("twelve.tif", TWELVE), ("hounsfield.tif", HOUNSFIELD)])
def test_deep_pictures_are_shown_through_a_window_in_their_own_units(open_page, deep_server, out, name, image):
    studio = open_page(1440, 900, address=deep_server)
    studio.open(f"media:{name}", filter="none", format="raw")
    shown = studio.colours()[..., 0]
    assert len(np.unique(shown)) > 200
    assert shown.std() > 50
    low, high = (studio.page.get_by_label(f"{each}, in units of the data") for each in ("Black", "White"))
    low.scroll_into_view_if_needed()
    studio.wait_for("() => document.querySelector('.window input').value !== ''")
    found = np.percentile(image, (0.2, 99.8))
    assert abs(float(low.input_value()) - found[0]) < 0.01 * np.ptp(found)
    assert abs(float(high.input_value()) - found[1]) < 0.01 * np.ptp(found)
    studio.type(low, 200)
    studio.type(high, 600)
    assert studio.settings()["display_window"] == "200:600"
    expected = np.rint(np.clip((image.astype(float) - 200) / 400, 0, 1) * 255)
    assert np.abs(studio.colours()[..., 0] - expected).max() <= 1
    studio.page.screenshot(path=out / f"viewer-{name}.png")
    studio.page.get_by_role("button", name="As opened").click()
    studio.wait()
    np.testing.assert_array_equal(studio.colours()[..., 0], shown)


def test_the_window_is_dragged_in_the_histogram(open_page, deep_server):
    studio = open_page(address=deep_server).open("media:twelve.tif", filter="none", format="raw")
    canvas = studio.page.locator("canvas.levels")
    canvas.scroll_into_view_if_needed()
    studio.wait_for("() => document.querySelector('.window input').value !== ''")
    white = float(studio.page.get_by_label("White, in units").input_value())
    box = canvas.bounding_box()
    x = box["x"] + box["width"] * (white - int(TWELVE.min())) / np.ptp(TWELVE)
    studio.page.mouse.move(x, box["y"] + 30)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30, steps=5)
    studio.page.mouse.up()
    studio.wait()
    high = float(studio.settings()["display_window"].split(":")[1])
    assert abs(high - (int(TWELVE.min()) + np.ptp(TWELVE) / 2)) < 60
    assert (studio.colours()[..., 0] == 255).mean() > 0.3


def test_filters_work_on_the_data_and_their_thresholds_say_so(open_page, deep_server):
    studio = open_page(address=deep_server).open(
        "media:twelve.tif", format="raw", threshold=10, display_window="0:4095"
    )
    expected = Enhancer([Shrink(level=4, threshold=10 * 4095 / 255)]).apply(TWELVE)
    assert np.abs(studio.colours()[..., 0] - np.rint(expected / 4095 * 255)).max() <= 1
    expect(studio.page.locator(".range .unit").first).to_contain_text("= 160.6")


def test_colour_maps_and_gamma(studio):
    studio.open("sample:camera", filter="none", format="raw")
    studio.page.locator("#control-display_colours").select_option(label="Viridis")
    studio.wait()
    picture = studio.colours()
    dark, bright = data.camera() < 10, data.camera() > 245
    assert picture[dark].mean(axis=0)[2] > picture[dark].mean(axis=0)[1] + 40
    assert picture[bright].mean(axis=0)[1] > picture[bright].mean(axis=0)[2] + 100
    studio.page.locator("#control-display_colours").select_option(label="Grey")
    studio.wait()
    studio.type(studio.page.locator("#control-display_gamma"), 2)
    expected = np.rint(255 * (data.camera() / 255.0) ** 0.5)
    assert np.abs(studio.colours()[..., 0] - expected).max() <= 1


def test_what_was_removed_is_shown_with_its_statistics(studio):
    studio.open("sample:noisy", filter="bivariate", format="raw")
    result = studio.colours().astype(float)
    studio.view("Removed")
    removed = studio.colours().astype(float)
    assert 120 < removed.mean() < 135
    assert removed.std() > 30
    studio.wait_for("() => document.getElementById('removed').textContent.includes('σ')")
    deviation = float(studio.page.locator("#removed").inner_text().split()[2].rstrip(","))
    studio.view("Before and after")
    before = studio.colours("before").astype(float)
    assert abs((before - result).std() - deviation) < 0.2
    studio.page.locator("#removed").wait_for(state="hidden")


def test_the_divider_stays_on_the_screen_at_any_zoom(studio):
    studio.open("sample:camera", view="split")
    viewport = studio.page.locator("#viewport").bounding_box()
    divider = studio.page.get_by_role("slider", name="Divider")
    for _ in range(3):
        divider.press("PageUp")
    for zoom in ("1", "4", "fit"):
        studio.page.get_by_label("Zoom", exact=True).select_option(zoom)
        studio.page.mouse.move(viewport["x"] + 50, viewport["y"] + 50)
        studio.page.mouse.wheel(0, -400)
        box = studio.page.locator(".grip").bounding_box()
        for at, length in (("x", "width"), ("y", "height")):
            assert box[at] >= viewport[at]
            assert box[at] + box[length] <= viewport[at] + viewport[length]
        assert divider.get_attribute("aria-valuenow") == "80"

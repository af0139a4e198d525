"""The first minute in a real browser: a noisy image, a tour, presets by purpose, files that are dropped and pasted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from subband import data

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

#: Gives files to a page as a drop or as a paste does.
GIVE = """([kind, names]) => {
    const transfer = new DataTransfer();
    const draw = (shade) => {
        const canvas = new OffscreenCanvas(24, 16);
        const pen = canvas.getContext('2d');
        pen.fillStyle = `rgb(${shade} ${shade} ${shade})`;
        pen.fillRect(0, 0, 24, 16);
        return canvas.convertToBlob({type: 'image/png'});
    };
    return Promise.all(names.map((_, index) => draw(60 + 90 * index))).then((blobs) => {
        blobs.forEach((blob, index) => transfer.items.add(new File([blob], names[index], {type: 'image/png'})));
        const event = kind === 'paste' ? new ClipboardEvent(kind) : new DragEvent(kind, {dataTransfer: transfer});
        // not every browser lets pages fill a clipboard of their own
        if (kind === 'paste') Object.defineProperty(event, 'clipboardData', {value: transfer});
        window.dispatchEvent(event);
    });
}"""


def test_it_opens_before_and_after_with_the_estimate_and_a_tour_that_stays_skipped(studio, out):
    studio.page.goto(studio.address)
    tour = studio.page.get_by_role("region", name="Before and after")
    tour.wait_for()
    studio.page.get_by_role("slider", name="Divider").wait_for()
    noise = float(studio.page.locator("#status-noise").inner_text())
    assert 15 < noise < 25
    expect(tour).to_contain_text(f"σ {noise:g}")
    studio.page.screenshot(path=out / "studio-tour.png")
    titles = []
    for _ in range(4):
        titles.append(studio.page.locator("#tour-title").inner_text())
        studio.page.locator("#tour .primary").click()
    assert len(set(titles)) == 4
    studio.page.locator("#tour").wait_for(state="hidden")
    studio.page.keyboard.press("?")
    studio.page.get_by_role("button", name="Take the tour").click()
    studio.page.get_by_role("button", name="Skip").click()
    # without its address, as on the first day
    studio.page.goto(studio.address + "?again")
    studio.page.evaluate("() => window.studio.ready")
    studio.wait_for("() => !document.getElementById('status-noise-box').hidden")
    studio.page.wait_for_timeout(200)
    studio.page.locator("#tour").wait_for(state="hidden")


# WebDriver BiDi says nothing of downloads that a page makes itself
@pytest.mark.firefox(False)
def test_presets_are_named_exported_imported_and_shared(studio, tmp_path):
    studio.open("sample:camera", format="raw", view="split", filter="hard", threshold=31)
    purposes = studio.page.locator("#preset-select optgroup").first.locator("option").all_inner_texts()
    assert {"Ultrasound", "Microscopy", "Low-light photo", "Film grain", "CT"} <= set(purposes)
    studio.page.get_by_role("button", name="Keep these settings").click()
    studio.page.get_by_role("button", name="Manage your presets").click()
    name = studio.page.get_by_label("Name of preset 1")
    name.fill("Stairs at night")
    name.press("Tab")
    with studio.page.expect_download() as download:
        studio.page.locator("#preset-export").click()
    download.value.save_as(tmp_path / "presets.json")
    (kept,) = json.loads((tmp_path / "presets.json").read_text())
    assert kept["title"] == "Stairs at night"
    assert kept["settings"]["threshold"] == 31
    studio.page.get_by_role("button", name="Remove").click()
    assert studio.page.get_by_label("Name of preset 1").count() == 0
    studio.page.locator("#preset-file").set_input_files(tmp_path / "presets.json")
    studio.page.get_by_label("Name of preset 1").wait_for()
    studio.page.keyboard.press("Escape")
    for purpose in ("CT", "Microscopy"):
        studio.page.get_by_label("Preset", exact=True).select_option(label=purpose)
        studio.wait()
        assert studio.settings()["view"] == "split"
        assert not studio.page.get_by_role("alert").count()
    studio.page.get_by_label("Preset", exact=True).select_option(label="Stairs at night")
    studio.wait()
    assert studio.settings() | {"filter": "hard", "threshold": 31} == studio.settings()


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_several_files_are_dropped_or_pasted(studio, kind):
    studio.open("sample:camera", filter="none", format="raw")
    studio.page.evaluate(GIVE, [kind, ["one.png", "two.png"]])
    studio.wait_for("() => document.querySelectorAll('#source-select [label=\"Opened files\"] option').length === 2")
    studio.wait_for("() => window.studio.pixels().width === 24")
    assert studio.colours()[0, 0, 0] == 60
    studio.page.get_by_label("Source").select_option(index=12)
    studio.wait_for("() => window.studio.pixels().data[0] === 150")


def test_the_map_shows_where_one_is_and_goes_elsewhere(studio):
    studio.open("sample:camera", filter="none", format="raw")
    overview = studio.page.locator("#overview")
    overview.wait_for(state="hidden")
    studio.page.get_by_label("Zoom", exact=True).select_option("4")
    overview.wait_for()
    read = "[...document.querySelector('#overview canvas').getContext('2d').getImageData(0, 0, 264, 264).data]"
    # the middle is inside of what is framed
    studio.wait_for(f"() => new Set({read}.slice(4 * 264 * 120, 4 * 264 * 130)).size > 8")
    small = np.array(studio.page.evaluate(f"() => {read}")).reshape(264, 264, 4)[..., 0]
    whole = data.camera()[::2, ::2]
    assert np.corrcoef(small[:256, :256].ravel(), whole.ravel())[0, 1] > 0.5
    box = overview.bounding_box()
    studio.page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    image, viewport = (studio.page.locator(name).bounding_box() for name in ("#image", "#viewport"))
    assert abs(image["x"] - viewport["x"]) <= 1
    seen = overview.locator(".seen").bounding_box()
    assert abs(seen["width"] / box["width"] - viewport["width"] / image["width"]) < 0.05
    studio.page.keyboard.press("0")
    overview.wait_for(state="hidden")

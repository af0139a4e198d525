"""The page at the widths of desks, tablets and phones, light and dark: nothing scrolls away, and axe finds nothing."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

HEIGHTS = {1440: 900, 1024: 768, 390: 844}


@pytest.mark.parametrize("width", HEIGHTS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_document_is_as_high_as_the_window_on_every_tab(open_page, out, width, scheme):
    studio = open_page(width, HEIGHTS[width], color_scheme=scheme).open("sample:camera", view="split")
    measure = "() => [document.scrollingElement.scrollHeight, document.scrollingElement.scrollWidth]"
    for tab in studio.page.get_by_role("tab").all():
        tab.click()
        studio.wait()
        for details in studio.page.locator("details.group:not([open]) > summary").all():
            if details.is_visible():
                details.click()
        assert studio.page.evaluate(measure) == [HEIGHTS[width], width], tab.inner_text()
    studio.page.get_by_role("tab").first.click()
    studio.wait()
    # a click on what lies below must not move the stage either
    studio.page.locator("#control-pace").scroll_into_view_if_needed()
    assert studio.page.evaluate("() => document.scrollingElement.scrollTop") == 0
    assert studio.page.locator("#viewport").bounding_box()["y"] > 0
    assert studio.find_violations() == []
    studio.page.screenshot(path=out / f"studio-{width}-{scheme}.png")


def test_settings_are_a_sheet_on_phones_and_the_image_stays(open_page):
    studio = open_page(390, 844, has_touch=True).open("sample:camera")
    handle = studio.page.get_by_role("separator", name="Height of the settings")
    stage, panel = studio.page.locator("#stage"), studio.page.locator("#settings")
    before = stage.bounding_box()["height"]
    box = handle.bounding_box()
    studio.page.mouse.move(box["x"] + 100, box["y"] + 10)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + 100, box["y"] - 150, steps=4)
    studio.page.mouse.up()
    assert stage.bounding_box()["height"] < before - 100
    handle.press("Home")
    assert panel.bounding_box()["height"] == 0
    assert stage.bounding_box()["height"] > before + 100
    handle.tap()
    assert panel.bounding_box()["height"] > 200
    panel.evaluate("panel => panel.scrollTo(0, 400)")
    assert studio.page.locator("#viewport").bounding_box()["height"] > 100
    studio.page.reload()
    assert handle.get_attribute("aria-valuenow") == "45"

"""The page at the widths of desks, tablets and phones, light and dark: nothing scrolls away, and axe finds nothing.

Every tab, with all its groups open, in Chromium and Firefox.
"""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

HEIGHTS = {1440: 900, 1024: 768, 390: 844}


TABS = ["Enhance", "Stylise", "Relight", "Fuse", "Edges", "Fixed point", "Surface"]


@pytest.mark.parametrize("width", HEIGHTS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_fits_its_window_and_has_nothing_serious_for_axe(open_page, out, width, scheme):
    studio = open_page(width, HEIGHTS[width], color_scheme=scheme).open("sample:camera", view="split")
    studio.switch_theme(scheme)
    measure = "() => [document.scrollingElement.scrollHeight, document.scrollingElement.scrollWidth]"
    assert studio.page.get_by_role("tab").all_inner_texts() == TABS
    for tab in TABS:
        studio.page.get_by_role("tab", name=tab).click()
        studio.wait()
        studio.page.evaluate("() => document.querySelectorAll('details.group').forEach(each => { each.open = true; })")
        assert studio.page.evaluate(measure) == [HEIGHTS[width], width], tab
        # the last group is reached by scrolling the panel, and nothing else moves
        studio.page.get_by_role("button", name="Command line").scroll_into_view_if_needed()
        assert studio.page.evaluate("() => [scrollX, scrollY]") == [0, 0], tab
        stage = studio.page.locator("#viewport").bounding_box()
        assert stage["y"] > 0, tab
        assert stage["height"] > 200, tab
        assert studio.find_violations() == [], tab
        studio.page.screenshot(path=out / f"studio-{tab.lower()}-{width}-{scheme}.png")


# touches go through the protocol of Chromium
@pytest.mark.firefox(False)
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

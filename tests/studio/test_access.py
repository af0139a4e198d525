"""The page for everyone: axe-core, the keyboard alone, light and dark."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_axe_and_pictures_for_the_readme(open_page, out, scheme):
    studio = open_page(1440, 900, color_scheme=scheme)
    if scheme == "light":
        studio.open("sample:clip", filter="bayes", view="split", added_noise="gaussian")
        studio.slider("Strength").press("ArrowRight")
        studio.slider("Strength").blur()
    else:
        bands = "1:ad=1.5,dd=0.4;2:da=2.2"
        studio.open(filter="bayes", view="filtered-analysis", added_noise="gaussian", added_sigma=12, bands=bands)
        studio.page.get_by_text("Histogram", exact=True).click()
        studio.page.get_by_text("Transform", exact=True).click()
        studio.page.get_by_text("Noise", exact=True).last.click()
        studio.page.get_by_text("Computing", exact=True).click()
        studio.wait_for("() => document.getElementById('histogram-text').textContent !== ''")
    # the first seconds are those of a cold start
    studio.page.wait_for_timeout(3000)
    studio.page.locator("#settings").evaluate("(panel, y) => panel.scrollTo(0, y)", 0 if scheme == "light" else 9999)
    studio.page.screenshot(path=out / f"studio-{scheme}.jpg", quality=85)
    studio.page.locator("body").press(" ")
    assert studio.find_violations() == []
    for opener in ("Help and keys", "Export"):
        studio.page.get_by_role("button", name=opener).click()
        assert studio.find_violations() == []
        studio.page.keyboard.press("Escape")
    if scheme == "dark":
        studio.page.get_by_text("Transform", exact=True).click()
    field = studio.page.get_by_role("combobox", name="Wavelet")
    field.fill("sym")
    assert studio.find_violations() == []
    field.press("Escape")
    studio.page.set_viewport_size({"width": 768, "height": 1024})
    assert studio.find_violations() == []
    assert studio.page.evaluate("() => document.documentElement.scrollWidth") <= 768
    if scheme == "light":
        studio.page.screenshot(path=out / "studio-tablet.jpg", quality=85)


def test_theme_is_switched_and_remembered(studio):
    studio.open()
    back = "() => getComputedStyle(document.body).backgroundColor"
    light = studio.page.evaluate(back)
    studio.page.keyboard.press("t")
    studio.page.keyboard.press("t")
    assert studio.page.get_by_role("button", name="Theme: dark").count() == 1
    assert studio.page.evaluate(back) != light
    studio.page.reload()
    assert studio.page.get_by_role("button", name="Theme: dark").count() == 1


def test_everything_is_reached_and_worked_by_the_keyboard(studio):
    studio.open("sample:clip", format="raw", view="split")
    studio.page.locator("body").press(" ")
    studio.wait_for("() => !window.studio.stats().playing")
    wanted = studio.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, summary, [tabindex="0"]')]
            .filter(e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !e.closest('dialog'))
            .filter(e => e.type !== 'radio' || e.checked)
            .map((e, i) => { e.dataset.stop = i; return e.outerHTML.slice(0, 90); })"""
    )
    assert len(wanted) > 30
    reached = []
    studio.page.evaluate("() => document.body.focus()")
    for _ in range(len(wanted) + 10):
        studio.page.keyboard.press("Tab")
        stop = studio.page.evaluate(
            """() => { const e = document.activeElement;
                const s = getComputedStyle(e.type === 'radio' ? e.nextElementSibling : e);
                return [e.dataset.stop ?? null, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0]; }"""
        )
        if stop[0] is not None:
            reached.append(int(stop[0]))
            assert stop[1], f"focus cannot be seen on {wanted[int(stop[0])]}"
    missing = [wanted[number] for number in set(range(len(wanted))) - set(reached)]
    assert not missing, json.dumps(missing, indent=1)
    # a filter by its first letters, a view by arrows, film by space
    studio.page.get_by_label("Filter", exact=True).focus()
    studio.page.keyboard.type("Pass")
    studio.wait()
    assert studio.settings()["filter"] == "none"
    studio.page.locator("#views input:checked").focus()
    studio.page.keyboard.press("ArrowRight")
    studio.wait()
    assert studio.settings()["view"] == "analysis"
    studio.page.locator("#viewport").focus()
    studio.page.keyboard.press(" ")
    studio.wait_for("() => window.studio.stats().playing")
    studio.page.keyboard.press("?")
    studio.page.get_by_role("dialog", name="Keys").wait_for()
    studio.page.keyboard.press("Escape")
    studio.page.get_by_role("dialog", name="Keys").wait_for(state="hidden")

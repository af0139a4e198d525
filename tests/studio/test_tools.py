"""The other tabs of the studio in a real browser."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data
from subband.edit import Fuser, Relighter, Stylist
from subband.edit.edges import EdgeFinder
from subband.enhance import FixedPoint
from subband.studio.library import Library

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

PHOTOGRAPH = data.photograph()
HAS_WEBGL = "() => document.createElement('canvas').getContext('webgl2') !== null"
FIXED = FixedPoint("cdf97", 8)


#: What a tab shows with its defaults, by the library.
TABS = {
    "Stylise": lambda: Stylist(data.ascent()).apply(PHOTOGRAPH),
    "Relight": lambda: Relighter().apply(PHOTOGRAPH),
    "Fuse": lambda: Fuser().apply([PHOTOGRAPH, Library([]).load("sample:far")]),
    "Edges": lambda: EdgeFinder().apply(PHOTOGRAPH),
    "Fixed point": lambda: FIXED.inverse(FIXED.forward(PHOTOGRAPH, 4, (0, 1))),
}


def test_tabs_show_what_the_library_computes(studio):
    studio.open(format="raw")
    for title, compute in TABS.items():
        studio.page.get_by_role("tab", name=title).click()
        studio.wait()
        off = np.abs(studio.colours().astype(int) - compute())
        # the server is a process of its own, and may round the middle between two grey levels otherwise
        assert (off > 0).mean() < 0.01, title
        assert (off > 1).mean() < 0.001, title
        assert (studio.colours() != PHOTOGRAPH).mean() > 0.01, title


def test_tools_are_tabs_with_settings_of_their_own(studio):
    studio.open(format="raw", threshold=40)
    studio.page.get_by_role("tab", name="Enhance").focus()
    studio.page.keyboard.press("ArrowRight")
    studio.wait()
    expect(studio.page.get_by_role("tab", selected=True)).to_have_text("Stylise")
    assert studio.settings()["tool"] == "stylise"
    plain = studio.colours()
    studio.page.get_by_label("Texture", exact=True).select_option("sample:aero")
    studio.wait()
    assert (studio.colours() != plain).any()
    studio.page.get_by_role("tab", name="Edges").click()
    studio.wait()
    assert studio.settings()["threshold"] == 5
    assert (studio.colours() != PHOTOGRAPH).any()
    studio.page.get_by_role("tab", name="Enhance").click()
    studio.wait()
    assert studio.settings()["threshold"] == 40


def test_surface_is_drawn_reshaped_turned_and_exported(studio, out):
    studio.open(tool="surface")
    if studio.page.locator("#surface canvas").count() == 0 or not studio.page.evaluate(HAS_WEBGL):
        # the page says so, and does not wait for ever
        expect(studio.page.get_by_role("alert")).to_contain_text("The surface cannot be drawn")
        pytest.skip("this browser has no WebGL 2")
    first = studio.pixels("surface")
    # the surface is lit, and the corners are what is behind it
    assert first[..., :3].std() > 15
    assert (first[:5, :5] == first[-5:, -5:]).all()
    studio.page.get_by_role("slider", name="Level 2, all bands").press("End")
    studio.wait()
    shaped = studio.pixels("surface")
    assert (shaped != first).any(axis=2).mean() > 0.02
    studio.page.locator("#surface canvas").press("ArrowLeft")
    assert (studio.pixels("surface") != shaped).any(axis=2).mean() > 0.02
    studio.page.screenshot(path=out / "studio-surface.jpg", quality=85)
    lines = studio.export(".obj").read_text().splitlines()
    assert sum(line.startswith("v ") for line in lines) == 160 * 160
    assert any(line.startswith("f ") for line in lines)
    assert "mesh.js" in studio.page.evaluate("() => performance.getEntriesByType('resource').map(e => e.name).join()")

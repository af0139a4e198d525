"""Large images in the page: what is seen comes first, follows the view, and can be given up."""

import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Denoise, Enhancer
from subband.studio.reduction import reduce_pixels

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

IMAGE = np.ascontiguousarray(np.tile(data.camera(), (4, 5))[:2000, :2300])


@pytest.fixture(scope="module")
def large_server(run_server, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.png"
    Image.fromarray(IMAGE).save(path, compress_level=1)
    with run_server("--no-token", path) as address:
        yield address


@pytest.fixture
def large(open_page, large_server):
    return open_page(1000, 700, address=large_server)


def wait_for_all(studio):
    studio.wait_for(
        "() => window.studio.stats().left === 0 && window.studio.stats().drawn >= window.studio.stats().sent"
    )


def compare(found, expected):
    difference = np.abs(found.astype(int) - expected)
    assert found.shape == expected.shape
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3


def test_what_is_seen_is_what_the_library_computes_wherever_one_looks(large):
    large.open("media:large.png", filter="bivariate", level=3, format="raw", view="split")
    wait_for_all(large)
    expected = Enhancer(Denoise(level=3)).apply(IMAGE)
    steps = int(np.log2(2300 / large.colours().shape[1]))
    assert steps >= 1
    compare(large.colours()[..., 0], reduce_pixels(expected, steps))
    np.testing.assert_array_equal(large.colours("before")[..., 0], reduce_pixels(IMAGE, steps))
    # pixel by pixel, somewhere
    large.page.get_by_label("Zoom", exact=True).select_option("1")
    large.wait_for("() => window.studio.stats().extent?.[0] > 0")
    wait_for_all(large)
    left, top, right, bottom = large.stats()["extent"]
    compare(large.colours()[..., 0], expected[top:bottom, left:right])
    box = large.page.locator("#viewport").bounding_box()
    shown = large.page.locator("#canvas-result").bounding_box()
    assert (shown["width"], shown["height"]) == (right - left, bottom - top)
    assert shown["x"] < box["x"] + 0.1
    assert shown["x"] + shown["width"] > box["x"] + box["width"] - 0.1
    large.page.mouse.move(box["x"] + 100, box["y"] + 100)
    large.page.mouse.down()
    large.page.mouse.move(box["x"] + 40, box["y"] + 70, steps=3)
    large.page.mouse.up()
    large.wait_for("left => window.studio.stats().extent[0] === left", left + 60)
    left, top, right, bottom = large.stats()["extent"]
    compare(large.colours()[..., 0], expected[top:bottom, left:right])


def test_the_rest_of_a_large_image_is_given_up_by_escape(large):
    large.open("media:large.png", filter="soft", format="raw")
    wait_for_all(large)
    large.page.get_by_label("Filter", exact=True).select_option(label="Bivariate and Wiener")
    large.page.get_by_text("Computing all of it…").wait_for()
    large.page.locator("#viewport").focus()
    large.page.keyboard.press("Escape")
    large.wait_for("() => document.getElementById('busy').hidden")
    expect(large.page.locator("#notice")).to_contain_text("preview at the resolution of the screen")
    # what was on its way still comes, and the rest does not
    large.page.wait_for_timeout(300)
    assert large.stats()["left"] > 0
    # the next change is computed again
    large.choose("Filter", "Soft threshold")
    wait_for_all(large)

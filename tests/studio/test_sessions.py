"""Pages that are loaded again, the queue of exports, and recordings."""

import av
import numpy as np
import pytest
from PIL import Image

from subband import data

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]


def test_a_reload_brings_back_uploads_settings_and_a_running_export(studio, tmp_path):
    path = tmp_path / "crop.png"
    Image.fromarray(data.photograph()[:200, :300]).save(path)
    # the slowest filter, so that its export goes on while a busy machine loads the page
    studio.open("sample:clip", filter="best")
    studio.page.keyboard.press("e")
    for _ in range(2):
        studio.page.get_by_role("button", name="Start").click()
    rows = studio.page.locator("#export-queue li")
    studio.wait_for("() => document.querySelectorAll('#export-queue li').length === 2")
    studio.page.keyboard.press("Escape")
    studio.page.get_by_role("progressbar", name="Exports").wait_for()
    studio.page.locator("#upload-file").set_input_files(path)
    studio.wait_for("() => document.getElementById('source-title').textContent === 'crop.png'")
    studio.choose("Filter", "Gaussian blur")
    studio.choose("Sent as", "Raw")
    expected = studio.colours()
    assert expected.shape == (200, 300, 3)
    # the address is written a moment later
    studio.wait_for("() => location.hash.includes('format=raw')")
    studio.page.reload()
    studio.wait_for("() => window.studio !== undefined")
    studio.page.evaluate("() => window.studio.ready")
    studio.wait()
    expect(studio.page.locator("#source-title")).to_have_text("crop.png")
    np.testing.assert_array_equal(studio.colours(), expected)
    studio.page.get_by_role("progressbar", name="Exports").wait_for()
    assert rows.count() == 2
    studio.page.locator("#export-open").click()
    for _ in range(2):
        studio.page.get_by_role("button", name="Cancel").first.click()
    assert rows.count() == 0
    studio.page.get_by_role("progressbar", name="Exports").wait_for(state="hidden")


def test_a_reload_goes_on_in_a_video_where_it_was(studio):
    studio.open("sample:clip")
    studio.page.keyboard.press("k")
    studio.page.locator("#seek").fill("33")
    studio.wait_for("() => window.studio.stats().position === 33")
    studio.page.reload()
    studio.wait_for("() => window.studio !== undefined")
    studio.wait_for("() => window.studio.stats().position === 33 && !window.studio.stats().playing")


def test_the_camera_is_recorded(studio):
    studio.open(filter="gaussian")
    studio.page.get_by_role("button", name="Camera").click()
    record = studio.page.get_by_role("button", name="Record")
    record.click()
    studio.wait_for("() => document.getElementById('record').getAttribute('aria-pressed') === 'true'")
    before = studio.stats()["frames"]
    studio.wait_for("before => window.studio.stats().frames > before + 5", before)
    with studio.page.expect_download() as download:
        record.click()
    assert download.value.suggested_filename == "camera.mp4"
    with av.open(str(download.value.path())) as film:
        assert sum(1 for _ in film.decode(video=0)) > 2

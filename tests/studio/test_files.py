"""What comes into the page and goes out of it: the camera, uploads, exports, screenshots."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Blur, Enhancer

av = pytest.importorskip("av", reason="films are exported with PyAV: pip install 'subband[video]'")

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]


def test_camera_of_the_browser(studio):
    studio.open(format="raw", filter="none")
    studio.page.get_by_role("button", name="Camera").click()
    studio.wait_for("() => window.studio.pixels().width === 640")
    frames = studio.stats()["frames"]
    studio.wait_for("frames => window.studio.stats().frames > frames + 5", frames)
    picture = studio.colours()
    # the fake device of Chromium is green, with a clock in it that goes
    assert picture[..., 1].mean() > picture[..., 0].mean() + 50
    # on a busy machine many frames pass before the clock goes on
    for _ in range(100):
        studio.wait_for("frames => window.studio.stats().frames > frames", studio.stats()["frames"])
        if (studio.colours() != picture).any():
            break
    else:
        pytest.fail("the picture of the camera does not change")
    expect(studio.page.locator("#position")).to_have_text("live")
    studio.page.get_by_role("button", name="Camera").click()
    studio.wait_for("() => document.getElementById('position').textContent !== 'live'")


def test_upload_by_button_and_by_drop(studio, tmp_path):
    studio.open(format="raw", filter="none")
    picture = np.random.default_rng(3).integers(0, 256, (37, 53, 3), np.uint8)
    path = tmp_path / "small odd.png"
    Image.fromarray(picture).save(path)
    with studio.page.expect_file_chooser() as chooser:
        studio.page.get_by_role("button", name="Open a file…").click()
    chooser.value.set_files(path)
    studio.wait_for("() => window.studio.pixels().width === 53")
    np.testing.assert_array_equal(studio.colours(), picture)
    expect(studio.page.locator("#source-title")).to_have_text("small odd.png")
    with io.BytesIO() as file:
        Image.fromarray(picture[:20, :31]).save(file, "png")
        content = list(file.getvalue())
    studio.page.evaluate(
        """content => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(content)], 'dropped.png', {type: 'image/png'}));
            for (const type of ['dragenter', 'dragover', 'drop'])
                window.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        content,
    )
    studio.wait_for("() => window.studio.pixels().width === 31")
    np.testing.assert_array_equal(studio.colours(), picture[:20, :31])


def test_upload_that_is_no_picture_is_told(studio, tmp_path):
    studio.open()
    path = tmp_path / "words.png"
    path.write_text("no picture")
    studio.page.get_by_label("File to open").set_input_files(path)
    alert = studio.page.get_by_role("alert")
    alert.wait_for()
    expect(alert).to_contain_text("words.png")
    studio.errors = [error for error in studio.errors if "415" not in error]
    studio.page.get_by_role("button", name="Dismiss").click()
    assert alert.count() == 0


def test_export_of_a_still_is_what_the_screen_shows(studio):
    studio.open(format="raw", threshold=30)
    with Image.open(studio.export(".png")) as image:
        np.testing.assert_array_equal(np.asarray(image), studio.colours())


def test_export_of_a_film_has_all_its_frames(studio):
    studio.open("sample:clip", filter="gaussian", sigma=2)
    with av.open(str(studio.export(".mp4"))) as film:
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    with av.open(str(data.clip_path())) as film:
        first = next(film.decode(video=0)).to_ndarray(format="rgb24")
    assert len(frames) == 60
    expected = Enhancer([Blur(2)]).apply(first)
    error = np.abs(frames[0].astype(int) - expected).mean()
    assert error < 4
    assert error < np.abs(frames[0].astype(int) - first).mean()


def test_export_is_cancelled(studio):
    studio.open("sample:clip", filter="wiener", level=6)
    studio.page.keyboard.press("e")
    studio.page.get_by_role("button", name="Start").click()
    studio.page.get_by_role("button", name="Cancel").click()
    expect(studio.page.locator("#export-text")).to_have_text("Cancelled.")
    expect(studio.page.get_by_role("button", name="Start")).to_be_enabled()


# WebDriver BiDi says nothing of downloads that a page makes itself
@pytest.mark.firefox(False)
def test_screenshot_is_the_picture(studio):
    studio.open(format="raw", filter="sharpen")
    with studio.page.expect_download() as download:
        studio.page.keyboard.press("s")
    assert download.value.suggested_filename.startswith("subband-")
    with Image.open(download.value.path()) as image:
        np.testing.assert_array_equal(np.asarray(image.convert("RGB")), studio.colours())

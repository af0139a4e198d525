"""The first minute in a real browser: what the page opens with, and what it says of files that it cannot show."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from PIL import Image

from subband import data

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]


def test_it_opens_before_and_after_on_a_noisy_picture_with_the_estimate_shown(studio):
    studio.page.goto(studio.address)
    studio.page.wait_for_function("() => window.studio !== undefined")
    studio.page.evaluate("() => window.studio.ready")
    studio.wait()
    assert studio.settings() | {"view": "split", "filter": "bivariate"} == studio.settings()
    studio.wait_for("() => Number(document.getElementById('status-noise').textContent) > 0")
    # some of the noise is clipped where the photograph is black or white
    assert 15 < float(studio.page.locator("#status-noise").inner_text()) < 22
    assert studio.page.locator("#status-noise-kind").inner_text().endswith(" %")
    clean = data.photograph()
    noisy, result = (studio.colours(role).astype(float) - clean for role in ("before", "result"))
    assert result.std() < 0.6 * noisy.std()


def test_files_that_cannot_be_shown_are_told_and_nothing_else_is_shown_instead(run_server, open_page, tmp_path):
    Image.fromarray(data.photograph()).save(tmp_path / "cut.png")
    whole = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    with run_server(tmp_path / "cut.png") as address:
        studio = open_page(address=address)
        studio.page.goto(address)
        studio.page.get_by_role("alert").wait_for()
        expect(studio.page.get_by_role("alert")).to_contain_text("cut.png")
        expect(studio.page.locator("#notice")).to_contain_text("Nothing that was named can be shown")
        studio.page.wait_for_timeout(500)
        assert studio.stats()["frames"] == 0
        # the token has gone from the address, and the cookie stays
        assert "token" not in studio.page.url
        studio.page.get_by_label("Source").select_option("sample:camera")
        studio.wait_for("() => window.studio.stats().frames > 0")
        studio.page.close()


def test_a_stack_and_a_folder_are_opened_by_name(run_server, open_page, tmp_path):
    rows, columns = np.mgrid[:60, :80]
    stack = np.stack([1000 * np.sin(columns / 9 + each) + 3 * rows for each in range(7)]).astype(np.float32)
    tifffile.imwrite(tmp_path / "stack.tif", stack, imagej=True)
    (tmp_path / "folder").mkdir()
    Image.fromarray(data.camera()).save(tmp_path / "folder" / "inside.png")
    with run_server("--no-token", tmp_path / "stack.tif", tmp_path / "folder") as address:
        studio = open_page(address=address).open("media:stack.tif", filter="none", format="raw")
        expect(studio.page.locator("#position")).to_have_text("slice 4/7")
        assert not studio.stats()["playing"]
        shown = studio.colours()[..., 0]
        middle = stack[3]
        assert shown.std() > 40
        # darker is less, everywhere
        order = np.argsort(middle.ravel())
        assert (np.diff(shown.ravel()[order].astype(int)) >= 0).all()
        studio.page.keyboard.press(",")
        studio.wait_for("() => document.getElementById('position').textContent === 'slice 3/7'")
        assert (studio.colours()[..., 0] != shown).any()
        studio.page.get_by_label("Source").select_option("media:inside.png")
        studio.wait_for("() => window.studio.pixels().width === 512")
        studio.page.close()


def test_a_damaged_film_is_told(run_server, open_page, tmp_path):
    content = bytearray(data.clip_path().read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = bytes(4000)
    (tmp_path / "broken.mp4").write_bytes(bytes(content))
    with run_server("--no-token", tmp_path / "broken.mp4") as address:
        studio = open_page(address=address).open("media:broken.mp4", pace="fast")
        studio.page.get_by_role("alert").wait_for()
        expect(studio.page.get_by_role("alert")).to_contain_text("damaged")
        studio.wait_for("() => window.studio.stats().frames > 30")
        assert studio.page.get_by_role("alert").count() == 1
        studio.page.close()


def test_what_takes_long_is_said_and_can_be_given_up(studio):
    studio.open("sample:camera", format="raw")
    before = studio.colours()
    # a slow engine: settings reach the server only after a while
    studio.page.evaluate("""() => {
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) {
            const isSlow = typeof text === 'string' && text.includes('"gaussian"') && !text.includes('cancel');
            if (isSlow) window.setTimeout(() => send.call(this, text), 3000);
            else send.call(this, text);
        };
    }""")
    studio.page.get_by_label("Filter", exact=True).select_option(label="Gaussian blur")
    studio.page.get_by_text("Computing…").wait_for()
    studio.page.get_by_role("button", name="Cancel").click()
    studio.wait_for("() => document.getElementById('busy').hidden")
    assert studio.settings()["filter"] == "soft"
    studio.page.wait_for_timeout(3500)
    np.testing.assert_array_equal(studio.colours(), before)


def test_reset_is_undone_and_so_is_everything_else(studio):
    studio.open("sample:camera", format="raw", threshold=50)
    undo, redo = (studio.page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    expect(undo).to_be_disabled()
    studio.choose("Filter", "Hard threshold")
    studio.view("Before and after")
    studio.page.locator("body").press("r")
    studio.wait()
    assert studio.settings() | {"threshold": 12, "filter": "soft", "view": "synthesis"} == studio.settings()
    studio.page.keyboard.press("Control+z")
    studio.wait()
    assert studio.settings() | {"threshold": 50, "filter": "hard", "view": "split"} == studio.settings()
    undo.click()
    studio.wait()
    undo.click()
    studio.wait()
    assert studio.settings() | {"threshold": 50, "filter": "soft", "view": "synthesis"} == studio.settings()
    expect(undo).to_be_disabled()
    for _ in range(3):
        redo.click()
        studio.wait()
    assert studio.settings()["threshold"] == 12
    expect(redo).to_be_disabled()
    # a drag is one step
    slider = studio.slider("Threshold")
    for _ in range(5):
        slider.press("ArrowRight")
    studio.wait()
    studio.page.keyboard.press("Control+z")
    studio.wait()
    assert studio.settings()["threshold"] == 12
    studio.page.get_by_role("tab", name="Edges").click()
    studio.wait()
    studio.page.keyboard.press("Control+z")
    studio.wait()
    assert studio.settings()["tool"] == "enhance"


def test_presets_keep_view_and_noise(studio):
    studio.open("sample:camera", view="split", added_noise="gaussian", added_sigma=33, threshold=50)
    studio.page.get_by_label("Preset", exact=True).select_option(label="Clean video")
    studio.wait()
    kept = {"view": "split", "added_noise": "gaussian", "added_sigma": 33}
    assert studio.settings() | {"filter": "bivariate", "threshold": 12, **kept} == studio.settings()
    studio.page.get_by_label("Preset", exact=True).select_option(label="Judge a denoiser")
    studio.wait()
    assert studio.settings()["added_sigma"] == 20


def test_a_single_slice_is_opened_by_name(run_server, open_page, write_series, tmp_path):
    rows, columns = np.mgrid[:50, :70]
    plane = (10 * rows - 4 * columns).astype(np.int16)
    (path,) = write_series(tmp_path, plane[None], window=(0, 400))
    with run_server("--no-token", path) as address:
        studio = open_page(address=address)
        # without a link: before and after, with the denoiser that measures the noise
        studio.page.goto(address)
        studio.wait_for("() => window.studio && window.studio.stats().frames > 0")
        studio.wait()
        assert studio.settings() | {"view": "split", "filter": "bivariate"} == studio.settings()
        expect(studio.page.locator("#source-title")).to_have_text(path.name)
        studio.page.locator("#tour").wait_for(state="hidden")
        expected = np.rint(np.clip((plane + 200) / 400, 0, 1) * 255)
        assert np.abs(studio.pixels("before")[..., 0] - expected).max() <= 1
        studio.page.close()


def test_an_image_over_the_limit_is_told_with_the_option_that_helps(run_server, open_page, tmp_path):
    Image.fromarray(data.camera()).save(tmp_path / "large.png")
    with run_server("--no-token", "--most-pixels", 200_000, tmp_path / "large.png") as address:
        studio = open_page(address=address)
        studio.page.goto(address)
        studio.page.get_by_role("alert").wait_for()
        expect(studio.page.get_by_role("alert")).to_contain_text("start it with --most-pixels 262144")
        assert studio.stats()["frames"] == 0
        studio.page.close()
    with run_server("--no-token", "--most-pixels", 262_144, tmp_path / "large.png") as address:
        studio = open_page(address=address).open("media:large.png")
        assert studio.pixels().shape[:2] == (512, 512)
        studio.page.close()


def test_nothing_is_seen_without_the_token(run_server, open_page):
    with run_server() as address:
        plain, _, token = address.partition("?")
        assert token.startswith("token=")
        stranger = open_page(address=plain)
        answer = stranger.page.goto(plain)
        assert answer.status == 401
        expect(stranger.page.locator("body")).to_contain_text("token")
        guest = open_page(address=address)
        guest.page.goto(address)
        guest.wait_for("() => window.studio && window.studio.stats().frames > 0")
        assert "token" not in guest.page.url
        for page in (stranger, guest):
            page.page.close()
        # the answer of the server is an error of the page, told at some time
        stranger.errors.clear()


def test_a_first_image_that_takes_its_time_is_announced(studio):
    # the first start of all compiles kernels, and may take as long
    studio.page.add_init_script("""
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) {
            if (typeof text === 'string' && text.includes('"open"')) setTimeout(() => send.call(this, text), 2500);
            else send.call(this, text);
        };
    """)
    studio.page.goto(f"{studio.address}#source=sample:clip")
    studio.page.get_by_text("Opening…").wait_for()
    assert studio.stats()["frames"] == 0
    assert not studio.page.locator("#play").is_visible() or studio.page.locator("#play").is_disabled()
    studio.wait_for("() => window.studio.stats().frames > 3")
    studio.page.get_by_text("Opening…").wait_for(state="hidden")
    expect(studio.page.locator("#play")).to_be_enabled()

"""The page in a real browser: loading, playing, links, connections, presets, errors."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data
from subband.enhance import Enhancer, Sharpen

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

PHOTOGRAPH = data.photograph()


def test_film_plays_and_status_tells_of_it(studio):
    studio.open("sample:clip")
    studio.wait_for("() => window.studio.stats().frames > 10")
    first, position = studio.pixels(), studio.stats()["position"]
    studio.wait_for("position => window.studio.stats().position !== position", position)
    assert first.shape == (360, 640, 4)
    assert first[..., :3].std() > 20
    assert (studio.pixels() != first).any()
    studio.wait_for("() => Number(document.getElementById('status-engine-fps').textContent) > 0")
    page = studio.page
    assert float(page.locator("#status-fps").inner_text()) > 0
    expect(page.locator("#status-size")).to_have_text("640×360")
    expect(page.locator("#status-hardware")).to_contain_text("threads")
    expect(page.locator("#status-stages")).to_contain_text("filter")
    assert page.title().startswith("Big Buck Bunny")


def test_film_is_picked_from_the_menu_and_obeys_the_transport(studio):
    studio.open("sample:camera")
    expect(studio.page.locator("#play")).to_be_disabled()
    studio.page.get_by_label("Source").select_option("sample:clip")
    studio.wait_for("() => window.studio.pixels().width === 640 && window.studio.stats().playing")
    studio.page.locator("body").press(" ")
    studio.wait_for("() => !window.studio.stats().playing")
    # each icon is there, and one of them is seen
    icons = "() => [...document.querySelectorAll('#play svg')].map(icon => icon.getBoundingClientRect().width > 0)"
    assert studio.page.evaluate(icons) == [True, False]
    frames, position = studio.rest(), studio.stats()["position"]
    before = studio.pixels()
    studio.page.keyboard.press(".")
    studio.wait_for("frames => window.studio.stats().frames === frames + 1", frames)
    assert studio.stats()["position"] == (position + 1) % 60
    assert (studio.pixels() != before).any()
    studio.page.get_by_label("Position in the video").fill("30")
    studio.wait_for(
        "frames => window.studio.stats().frames > frames + 1 && window.studio.stats().position === 30", frames
    )
    studio.page.keyboard.press("Escape")
    loop = studio.page.get_by_role("button", name="Loop")
    is_on = loop.get_attribute("aria-pressed")
    loop.click()
    assert loop.get_attribute("aria-pressed") != is_on


def test_full_screen_by_key_and_button(studio):
    studio.open()
    studio.page.keyboard.press("f")
    studio.wait_for("() => document.fullscreenElement?.id === 'stage'")
    studio.page.keyboard.press("f")
    studio.wait_for("() => document.fullscreenElement === null")
    studio.page.get_by_role("button", name="Full screen").click()
    studio.wait_for("() => document.fullscreenElement?.id === 'stage'")


def test_link_reproduces_settings_and_pixels(studio, open_page):
    studio.open("sample:camera", format="raw")
    studio.choose("Filter", "Hard threshold")
    studio.type(studio.page.get_by_label("Threshold", exact=True), 25)
    studio.page.get_by_role("slider", name="Level 2, across (ad2)", exact=True).press("Home")
    studio.page.get_by_label("Boundary").select_option(label="reflect")
    studio.wait()
    studio.wait_for("() => location.hash.includes('reflect')")
    # whatever else stands in an address, such as a token, is for nobody else
    studio.page.goto(studio.page.url.replace("#", "?token=secret#"))
    studio.page.evaluate("() => window.studio.ready")
    studio.type(studio.page.get_by_label("Threshold", exact=True), 26)
    studio.type(studio.page.get_by_label("Threshold", exact=True), 25)
    studio.wait_for("() => !location.href.includes('secret') && location.hash.includes('threshold=25')")
    other = open_page()
    other.page.goto(studio.page.url)
    other.page.evaluate("() => window.studio.ready")
    other.wait()
    assert other.settings() == studio.settings()
    assert other.settings()["bands"] == "2:ad=0"
    np.testing.assert_array_equal(other.colours(), studio.colours())


def test_two_pages_do_not_disturb_each_other(open_page):
    one, two = open_page(), open_page()
    one.open(format="raw", filter="gaussian")
    two.open("sample:camera", format="raw", filter="none")
    one.choose("Filter", "Pass through")
    two.choose("Filter", "Sharpen")
    np.testing.assert_array_equal(one.colours(), PHOTOGRAPH)
    grey = Enhancer([Sharpen(0.5)]).apply(data.camera())
    np.testing.assert_array_equal(two.colours(), np.repeat(grey[..., None], 3, axis=2))


def test_settings_survive_a_lost_connection(studio):
    sockets = []

    def pass_on(socket):
        server = socket.connect_to_server()
        sockets.append((socket, server))

    studio.page.route_web_socket("**/live*", pass_on)
    studio.open(format="raw")
    studio.type(studio.page.get_by_label("Threshold", exact=True), 33)
    expected = studio.colours()
    sockets[0][0].close()
    studio.wait_for("() => !window.studio.stats().connected")
    studio.wait_for("() => window.studio.stats().connected && window.studio.stats().drawn > 0")
    studio.wait()
    assert len(sockets) > 1
    assert studio.settings()["threshold"] == 33
    np.testing.assert_array_equal(studio.colours(), expected)
    studio.type(studio.page.get_by_label("Threshold", exact=True), 5)
    assert (studio.colours() != expected).any()


def test_hidden_page_costs_nothing(studio):
    studio.open("sample:clip")
    hide = """hidden => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    studio.page.evaluate(hide, True)
    frames = studio.rest()
    studio.page.evaluate(hide, False)
    studio.wait_for("frames => window.studio.stats().frames > frames + 3", frames)


def test_what_is_the_same_outside_the_studio_is_copied_or_shown(studio):
    studio.open(filter="bayes", level=3)
    studio.page.get_by_text("The same outside the studio").click()
    words = {
        "Command line": "subband denoise",
        "Python": "from subband.enhance import",
        "TOML": "bayes",
        "Link": "filter=bayes",
    }
    for title, word in words.items():
        studio.page.get_by_role("button", name=title, exact=True).click()
        text = studio.page.get_by_role("textbox", name=title)
        assert word in text.input_value()
        expect(studio.page.locator("#copy-note")).to_contain_text("clipboard")
        studio.page.keyboard.press("Escape")


def test_presets_and_reset(studio):
    studio.open(threshold=50)
    studio.page.get_by_label("Preset", exact=True).select_option(label="Judge a denoiser")
    studio.wait()
    assert studio.settings() | {"view": "split", "filter": "bivariate", "threshold": 12} == studio.settings()
    studio.page.get_by_role("button", name="Keep these settings").click()
    studio.page.get_by_role("button", name="Reset all settings").click()
    studio.wait()
    assert studio.settings()["filter"] == "soft"
    studio.page.get_by_label("Preset", exact=True).select_option(
        index=studio.page.locator("#preset-select option").count() - 1
    )
    studio.wait()
    assert studio.settings()["filter"] == "bivariate"


def test_error_is_told_and_the_page_goes_on(studio):
    studio.open(format="raw")
    studio.page.evaluate("() => { location.hash = 'source=sample:nothing&format=raw'; }")
    alert = studio.page.get_by_role("alert")
    alert.wait_for()
    expect(alert).to_contain_text("nothing")
    expect(studio.page.get_by_label("Source")).to_have_value("sample:photograph")
    studio.choose("Filter", "Pass through")
    np.testing.assert_array_equal(studio.colours(), PHOTOGRAPH)


def test_link_to_what_is_gone_opens_something_else(studio):
    studio.open("media:gone.mp4")
    expect(studio.page.get_by_role("alert")).to_contain_text("gone.mp4")
    studio.wait_for("() => window.studio.pixels().width === 640")
    expect(studio.page.get_by_label("Source")).to_have_value("sample:clip")


def test_source_that_fails_leaves_the_one_before_it_marked(studio):
    studio.open("sample:photograph")
    # both are asked for before the server has answered to the first
    studio.page.evaluate("""() => {
        const select = document.getElementById('source-select');
        select.add(new Option('gone', 'sample:gone'));
        for (const value of ['sample:camera', 'sample:gone']) {
            select.value = value;
            select.dispatchEvent(new Event('change'));
        }
    }""")
    studio.page.get_by_role("alert").wait_for()
    studio.wait_for("() => document.title.startsWith('Man with a camera')")
    expect(studio.page.get_by_label("Source")).to_have_value("sample:camera")
    studio.wait_for("() => location.hash.includes('sample:camera')")


WATCH_CAMERAS = """() => {
    window.streams = [];
    const devices = navigator.mediaDevices;
    const ask = devices.getUserMedia.bind(devices);
    devices.getUserMedia = async (wanted) => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const stream = await ask(wanted);
        window.streams.push(stream);
        return stream;
    };
}"""
LIVE = "() => window.streams.filter((each) => each.getTracks().some(({readyState}) => readyState === 'live')).length"


@pytest.mark.parametrize("is_left", [False, True])
def test_camera_that_is_asked_for_twice_or_in_vain_is_let_go(studio, is_left):
    studio.open("sample:photograph")
    studio.page.evaluate(WATCH_CAMERAS)
    studio.page.evaluate("() => { for (let i = 0; i < 2; i += 1) document.getElementById('webcam').click(); }")
    if is_left:
        studio.page.get_by_label("Source").select_option("sample:camera")
    studio.wait_for("() => window.streams.length === 2")
    studio.page.wait_for_timeout(300)
    assert studio.page.evaluate(LIVE) == (0 if is_left else 1)
    assert studio.page.get_by_label("Source").input_value() == ("sample:camera" if is_left else "camera:")
    if is_left:
        studio.wait_for("() => document.title.startsWith('Man with a camera')")
    else:
        studio.wait_for("() => window.studio.pixels().width === 640")

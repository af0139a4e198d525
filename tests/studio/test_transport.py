"""Playback in a real browser: both ways, by frames, a part, and a counter that tells what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data

av = pytest.importorskip("av", reason="films are read with PyAV: pip install 'subband[video]'")

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

PAUSED = "() => !window.studio.stats().playing"


def number(studio):
    """Return the frame that the counter shows."""
    return int(studio.page.locator("#position").inner_text().split("· ")[1].split("/")[0]) - 1


@pytest.fixture
def paused(studio):
    """Return a page with a film that stands still."""
    studio.open("sample:clip", format="raw", filter="none")
    studio.page.locator("body").press("k")
    studio.wait_for(PAUSED)
    return studio


def seek(studio, position):
    studio.page.get_by_label("Position in the video").fill(str(position))
    studio.wait_for("at => window.studio.stats().position === at", position)


def test_frames_are_those_of_the_film_wherever_one_goes(paused):
    with av.open(str(data.clip_path())) as film:
        expected = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]

    def check(position):
        paused.wait_for("at => window.studio.stats().position === at", position)
        assert number(paused) == position
        off = [np.abs(paused.colours() - expected[each]).mean() for each in (position - 1, position, position + 1)]
        # quickly converted, but no other frame is as near
        assert off[1] == min(off)
        assert off[1] < 3

    for position in (40, 12, 50, 25):
        seek(paused, position)
        check(position)
    for position in (24, 23, 22):
        paused.page.locator("body").press(",")
        check(position)
    paused.page.locator("body").press(".")
    check(23)


def test_it_plays_backwards_and_faster(paused):
    seek(paused, 50)
    paused.page.locator("body").press("j")
    paused.wait_for("() => window.studio.stats().position < 40 && window.studio.stats().playing")
    paused.page.locator("body").press("j")
    paused.wait_for("() => document.getElementById('position').textContent.includes('-2×')")
    paused.page.locator("body").press("k")
    paused.wait_for(PAUSED)
    paused.page.locator("body").press("l")
    paused.page.locator("body").press("l")
    paused.wait_for("() => document.getElementById('position').textContent.includes(' 2×')")


def test_a_part_is_played_and_exported(paused):
    seek(paused, 20)
    paused.page.locator("body").press("i")
    seek(paused, 25)
    paused.page.locator("body").press("o")
    paused.page.locator("body").press("l")
    seen = set()
    for _ in range(30):
        seen.add(paused.stats()["position"])
        paused.page.wait_for_timeout(50)
    assert seen <= set(range(20, 26))
    assert len(seen) > 2
    with av.open(str(paused.export(".mp4"))) as film:
        assert len(list(film.decode(video=0))) == 6
    paused.page.locator("body").press("x")
    paused.wait_for("() => window.studio.stats().position > 27")


def test_the_counter_tells_what_is_drawn_and_not_what_is_wanted(paused):
    seek(paused, 10)
    paused.page.evaluate("""() => {
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) {
            const isSlow = typeof text === 'string' && text.includes('"seek"');
            if (isSlow) window.setTimeout(() => send.call(this, text), 500);
            else send.call(this, text);
        };
    }""")
    paused.page.get_by_label("Position in the video").fill("33")
    assert number(paused) == 10
    expect(paused.page.get_by_label("Position in the video")).to_have_value("33")
    paused.wait_for("() => window.studio.stats().position === 33")
    assert number(paused) == 33


def test_a_video_larger_than_its_screen_is_whole_as_soon_as_it_stands_still(open_page):
    studio = open_page(330, 700).open("sample:clip", format="raw", filter="none", view="split")
    studio.wait_for("() => window.studio.stats().frames > 3 && window.studio.pixels().width === 320")
    box = studio.page.locator("#image").bounding_box()
    assert abs(box["width"] / box["height"] - 16 / 9) < 0.05
    assert studio.page.locator("#status-size").inner_text() in ("–", "640×360")
    studio.page.locator("body").press("k")
    studio.wait_for(PAUSED)
    studio.wait_for("() => window.studio.pixels().width === 640 && window.studio.pixels('before').width === 640")
    position = studio.stats()["position"]
    with av.open(str(data.clip_path())) as film:
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
    assert np.abs(studio.colours() - frames[position]).mean() < 3
    studio.page.locator("body").press("l")
    studio.wait_for("() => window.studio.stats().playing && window.studio.pixels().width === 320")

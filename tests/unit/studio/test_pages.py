"""Pages that come back, and recordings of the camera."""

import io
import threading

import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Blur, Enhancer
from subband.errors import ArgumentError
from subband.media import open_source
from subband.pipeline import CancelledError
from subband.studio import pages
from subband.studio.recording import Recording

FRAME = np.ascontiguousarray(data.photograph()[:120, :160])


def upload(http, page, name="picture.png", pixels=FRAME):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return http.post(f"/upload?name={name}&page={page.hello['page']}", content=stream.getvalue()).json()["id"]


def test_a_page_that_is_loaded_again_finds_uploads_source_and_settings(http, serving, open_page):
    page = open_page()
    assert page.hello["kept"] == {"uploads": [], "exports": []}
    number = upload(http, page)
    page.open("upload", number)
    page.show(filter="gaussian", sigma=3)
    page.close()
    again = open_page(key=page.hello["page"])
    kept = again.hello["kept"]
    assert again.hello["page"] == page.hello["page"]
    assert [(each["id"], each["name"]) for each in kept["uploads"]] == [(number, "picture.png")]
    assert kept["source"] == {"kind": "upload", "id": number}
    assert kept["settings"]["sigma"] == 3
    again.open("upload", number)
    frame = again.show(filter="gaussian", sigma=2)
    np.testing.assert_array_equal(frame.pixels(), Enhancer(Blur(2.0)).apply(FRAME))


def test_a_copied_tab_is_told_of_the_same_files_while_the_other_goes_on(http, open_page):
    one = open_page()
    one.open(name="clip")
    one.send("seek", position=20)
    one.send("pause")
    one.wait("state", accept=lambda state: not state["playing"] and state["position"] == 20)
    two = open_page(key=one.hello["page"])
    assert two.hello["kept"]["state"]["position"] == 20
    body = {"page": one.hello["page"], "source": {"kind": "sample", "name": "camera"}, "settings": {}, "ending": ".png"}
    number = http.post("/export", json=body).json()["id"]
    for page in (one, two):
        page.wait("export", accept=lambda found: found["id"] == number and found["state"] == "done")


def test_a_key_that_nobody_gave_out_is_that_of_a_new_page(open_page):
    page = open_page(key="guessed")
    assert page.hello["page"] != "guessed"
    assert page.hello["kept"]["exports"] == []


def test_an_export_goes_on_while_its_page_is_loaded_again(http, serving, open_page, monkeypatch):
    exports, gate = serving.studio.exports, threading.Event()
    make = exports._make

    def make_later(*given):
        assert gate.wait(60)
        make(*given)

    monkeypatch.setattr(exports, "_make", make_later)
    page = open_page()
    body = {"page": page.hello["page"], "source": {"kind": "sample", "name": "camera"}, "ending": ".png"}
    numbers = [http.post("/export", json=body).json()["id"] for _ in range(2)]
    page.wait("export", accept=lambda found: found["state"] == "running")
    page.close()
    again = open_page(key=page.hello["page"])
    told = {found["id"]: found["state"] for found in again.hello["kept"]["exports"]}
    assert told == {numbers[0]: "running", numbers[1]: "waiting"}
    gate.set()
    for number in numbers:
        again.wait("export", accept=lambda found, number=number: found["id"] == number and found["state"] == "done")
        assert http.get(f"/exports/{number}").status_code == 200


def test_only_so_many_pages_are_remembered(monkeypatch):
    monkeypatch.setattr(pages, "_MOST_KEPT", 2)
    kept = pages.Pages()
    entered = [kept.enter(None) for _ in range(4)]
    assert [kept.find(page.key) is page for page in entered] == [False, True, True, True]
    assert kept.find(None) is None


def test_the_camera_is_recorded_as_it_is_shown(http, page, tmp_path):
    stream = io.BytesIO()
    Image.fromarray(FRAME).save(stream, "JPEG", quality=95)
    page.send("open", source={"kind": "camera"})
    page.send_settings(filter="gaussian", sigma=3)
    page.send("record", on=True)
    assert page.wait("recording")["on"]
    for _ in range(3):
        page.send_camera(stream.getvalue())
        shown = page.wait_frame()
    page.send("record", on=False)
    found = page.wait("export", accept=lambda each: each["state"] == "done")
    assert found["name"] == "camera.mp4"
    path = tmp_path / "camera.mp4"
    path.write_bytes(http.get(f"/exports/{found['id']}").content)
    with open_source(path) as source:
        frames = [frame.pixels for frame in source]
    assert frames[0].shape == FRAME.shape
    assert np.abs(frames[-1].astype(int) - shown.pixels()).mean() < 6
    assert not page.errors


def test_only_the_camera_is_recorded(page):
    page.open(name="camera")
    page.send("record", on=True)
    assert not page.wait("recording")["on"]


def test_recordings_keep_time_and_leave_nothing_if_they_are_given_up(tmp_path):
    recording = Recording()
    for now in (5.0, 5.02, 5.4):
        recording.add(FRAME, now)
    recording.add(FRAME[:60], 5.6)
    recording.stop()
    assert recording.write(tmp_path / "a.mp4", lambda progress: None, threading.Event()) == 11
    empty, given_up = Recording(), Recording()
    empty.stop()
    with pytest.raises(ArgumentError, match="nothing was recorded"):
        empty.write(tmp_path / "b.mp4", lambda progress: None, threading.Event())
    given_up.add(FRAME, 1.0)
    cancelled = threading.Event()
    with pytest.raises(CancelledError):
        given_up.write(tmp_path / "c.mp4", lambda progress: cancelled.set(), cancelled)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]

"""Whole files: made in the background, watched over the socket, downloaded, cancelled."""

import io
import threading
import time

import httpx
import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Blur, Enhancer, Shrink
from subband.media import open_source
from subband.studio import pages


def start(http, page, source, ending, **settings):
    body = {"page": page.hello["page"], "source": source, "settings": settings, "ending": ending}
    answer = http.post("/export", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def finish(page, number):
    return page.wait(
        "export", accept=lambda found: found["id"] == number and found["state"] not in ("waiting", "running")
    )


def test_a_picture_is_exported_and_downloaded(http, page):
    number = start(http, page, {"kind": "sample", "name": "photograph"}, ".png", filter="gaussian", sigma=2)
    found = finish(page, number)
    assert found["state"] == "done"
    assert found["name"] == "Astronaut, colour-enhanced.png"
    answer = http.get(f"/exports/{number}")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith("attachment")
    picture = np.asarray(Image.open(io.BytesIO(answer.content)))
    np.testing.assert_array_equal(picture, Enhancer(Blur(2.0)).apply(data.photograph()))


def test_added_noise_is_not_exported(http, page):
    number = start(http, page, {"kind": "sample", "name": "camera"}, ".png", filter="none", added_noise="gaussian")
    finish(page, number)
    picture = np.asarray(Image.open(io.BytesIO(http.get(f"/exports/{number}").content)))
    np.testing.assert_array_equal(picture, data.camera())


def test_uploads_keep_their_depth(http, page):
    deep = (data.camera().astype(np.uint16)[:64, :64] * 257) + 5
    stream = io.BytesIO()
    Image.fromarray(deep).save(stream, "PNG")
    upload = http.post("/upload?name=deep.png", content=stream.getvalue()).json()
    number = start(http, page, {"kind": "upload", "id": upload["id"]}, ".png", filter="soft", threshold=8, level=2)
    found = finish(page, number)
    assert found["name"] == "deep-enhanced.png"
    picture = np.asarray(Image.open(io.BytesIO(http.get(f"/exports/{number}").content)))
    assert picture.dtype == np.uint16
    np.testing.assert_array_equal(picture, Enhancer(Shrink(level=2, threshold=8.0 * 257)).apply(deep))


def test_a_film_is_exported_with_progress(http, page, tmp_path):
    number = start(http, page, {"kind": "sample", "name": "clip"}, ".mp4", filter="soft", threshold=20)
    found = page.wait("export", accept=lambda each: each["frames"] > 0)
    assert found["count"] == 60
    found = finish(page, number)
    assert (found["state"], found["frames"]) == ("done", 60)
    path = tmp_path / "film.mp4"
    path.write_bytes(http.get(f"/exports/{number}").content)
    with open_source(path) as film, open_source(data.clip_path()) as source:
        assert film.info.has_audio
        frames, originals = list(film), list(source)
    assert len(frames) == 60
    expected = Enhancer(Shrink(level=4, threshold=20.0)).apply(originals[30].pixels)
    assert np.abs(frames[30].pixels.astype(int) - expected).mean() < 5


def test_the_bands_can_be_exported(http, page):
    number = start(http, page, {"kind": "sample", "name": "camera"}, ".png", filter="none", view="analysis", level=2)
    finish(page, number)
    picture = np.asarray(Image.open(io.BytesIO(http.get(f"/exports/{number}").content)))
    np.testing.assert_array_equal(picture, Enhancer(Shrink(level=2)).view(data.camera(), "analysis"))


def test_an_export_can_be_cancelled(http, page, serving):
    number = start(http, page, {"kind": "sample", "name": "clip"}, ".mp4", filter="wiener")
    page.wait("export", accept=lambda each: each["frames"] > 0)
    assert http.delete(f"/exports/{number}").status_code == 200
    assert finish(page, number)["state"] == "cancelled"
    assert http.get(f"/exports/{number}").status_code == 404
    assert http.delete(f"/exports/{number}").status_code == 404


def test_exports_are_cancelled_when_their_page_goes_and_does_not_come_back(http, open_page, serving, monkeypatch):
    monkeypatch.setattr(pages, "PATIENCE", -1.0)
    page = open_page()
    number = start(http, page, {"kind": "sample", "name": "clip"}, ".mp4", filter="wiener")
    page.wait("export", accept=lambda each: each["frames"] > 0)
    job = serving.studio.exports.find(number)
    page.close()
    end = time.monotonic() + 300
    while job.is_open and time.monotonic() < end:
        time.sleep(0.02)
    assert job.state == "cancelled"
    assert not job.path.exists()


def test_a_film_plays_on_while_it_is_exported(http, page):
    page.send_settings(filter="none", format="jpeg")
    page.open(name="clip")
    page.wait_frame()
    number = start(http, page, {"kind": "sample", "name": "clip"}, ".mp4", filter="soft")
    frames = 0
    state = ""
    while state != "done":
        found = page.receive()
        if isinstance(found, dict):
            state = found["state"] if found["type"] == "export" and found["id"] == number else state
        else:
            frames += 1
    assert frames > 3


@pytest.mark.parametrize(
    "change",
    [
        {"ending": ".exe"},
        {"ending": ".mp4"},
        {"ending": "../../x.png"},
        {"ending": None},
        {"source": {"kind": "media", "name": "/etc/passwd"}},
        {"source": {"kind": "camera"}},
        {"settings": {"tool": "unknown"}},
        {"settings": 7},
        {"page": "somebody else"},
    ],
)
def test_what_cannot_be_exported_is_refused(http, page, change):
    body = {
        "page": page.hello["page"],
        "source": {"kind": "sample", "name": "camera"},
        "settings": {},
        "ending": ".png",
        **change,
    }
    answer = http.post("/export", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_another_origin_cannot_remove(http, page, serving):
    number = start(http, page, {"kind": "sample", "name": "camera"}, ".png", filter="none")
    finish(page, number)
    base = str(http.base_url)
    assert httpx.delete(f"{base}/exports/{number}", headers={"Origin": "http://evil.example"}).status_code == 403
    assert http.get(f"/exports/{number}").status_code == 200


def test_an_export_that_is_removed_as_it_ends_leaves_no_file(http, page, serving, monkeypatch):
    exports = serving.studio.exports
    make, jobs, removals = exports._make, [], []

    class Late(threading.Event):
        """Somebody removes the job just after it was seen not to be cancelled."""

        def is_set(self):
            found = super().is_set()
            removals.append(threading.Thread(target=exports.remove, args=(jobs[0].id,)))
            removals[-1].start()
            removals[-1].join(0.3)
            return found

    def make_slowly(job, *rest):
        make(job, *rest)
        jobs.append(job)
        job.cancelled = Late()

    monkeypatch.setattr(exports, "_make", make_slowly)
    number = start(http, page, {"kind": "sample", "name": "camera"}, ".png", filter="none")
    finish(page, number)
    for thread in removals:
        thread.join()
    assert not jobs[0].path.exists()


def test_a_full_disk_is_told_without_where(http, page, serving, monkeypatch):
    def fail(job, *_):
        raise OSError(28, "No space left on device", str(job.path.parent / "secret.part"))

    monkeypatch.setattr(serving.studio.exports, "_make", fail)
    number = start(http, page, {"kind": "sample", "name": "camera"}, ".png", filter="none")
    assert finish(page, number)["error"] == "No space left on device"

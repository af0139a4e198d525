"""Frames over a real socket: what arrives is what the library computes."""

import io
import time
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from subband import data
from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.enhance.views import draw_bands
from subband.studio.noise import add_noise, measure_psnr

PHOTOGRAPH = data.photograph()


def apply(stages, **options):
    return Enhancer(stages, **options).apply(PHOTOGRAPH)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"filter": "none"}, lambda: PHOTOGRAPH),
        ({"filter": "gaussian", "sigma": 2}, lambda: apply(Blur(2.0))),
        ({"filter": "sharpen", "amount": 0.75}, lambda: apply(Sharpen(0.75))),
        ({"filter": "soft", "threshold": 20, "level": 3}, lambda: apply(Shrink(threshold=20.0))),
        ({"filter": "hard", "threshold": 20, "level": 3}, lambda: apply(Shrink(mode="hard", threshold=20.0))),
        ({"filter": "garrote", "threshold": 20, "wavelet": "db4"}, lambda: apply(Shrink("db4", 4, "garrote", 20.0))),
        (
            {"filter": "shrinkage", "threshold": 20, "level": 3, "falloff": 0.5},
            lambda: apply(Shrink(threshold=20.0, level_weights=(1.0, 0.5, 0.25))),
        ),
        ({"filter": "visu", "strength": 0.5}, lambda: apply(Denoise("visu", level=4, strength=0.5))),
        ({"filter": "bayes", "noise_level": 10}, lambda: apply(Denoise("bayes", level=4), sigma=10.0)),
        ({"filter": "sure", "colour": "ycbcr"}, lambda: apply(Denoise("sure", level=4), colour="ycbcr")),
        ({"filter": "bivariate"}, lambda: apply(Denoise("bivariate", level=4))),
        ({"filter": "neigh", "form": "decimated"}, lambda: apply(Denoise("neigh", level=4, form="decimated"))),
        ({"filter": "wiener", "level": 2}, lambda: apply(Denoise("wiener", level=2))),
        (
            {"filter": "speckle", "dynamic_range": 50},
            lambda: apply(Denoise(level=4), noise=LogSpeckle(dynamic_range=50.0)),
        ),
        (
            {"filter": "none", "level": 2, "bands": "1:ad=2,dd=0;2:da=1.5"},
            lambda: apply(Shrink(level=2, gains=[[[2.0], [1.0], [0.0]], [[1.0], [1.5], [1.0]]])),
        ),
        (
            {"filter": "bayes", "level": 2, "bands": "1:ad=2,da=2,dd=2"},
            lambda: apply([Denoise("bayes", level=2), Shrink(level=2, gains=[2.0, 1.0])]),
        ),
        (
            {"filter": "soft", "boundary": "symmetric"},
            lambda: apply(Shrink(level=4, threshold=12.0, boundary="symmetric")),
        ),
    ],
)
def test_every_filter_gives_what_the_library_gives(page, settings, expected):
    page.open()
    page.wait("opened")
    frame = page.show(**settings)
    np.testing.assert_array_equal(frame.pixels(), expected())
    assert not page.errors


@pytest.mark.parametrize("view", ["analysis", "filtered-analysis"])
def test_mosaics_come_without_labels_and_with_their_bands(page, view):
    page.open()
    frame = page.show(filter="soft", threshold=30, level=2, view=view)
    mosaic, regions = draw_bands(Enhancer(Shrink(level=2, threshold=30.0)), PHOTOGRAPH, view)
    np.testing.assert_array_equal(frame.pixels("analysis"), mosaic)
    assert [tuple(region) for region in frame.header["bands"]] == regions


@pytest.mark.parametrize("chosen", ["none", "gaussian", "bayes"])
def test_mosaics_of_filters_that_do_not_transform(page, chosen):
    page.open()
    before = page.show(filter=chosen, view="analysis", level=3).pixels("analysis")
    after = page.show(filter=chosen, view="filtered-analysis", level=3).pixels("analysis")
    assert (before == after).all() == (chosen == "none")


def test_split_view_sends_both(page):
    page.open()
    frame = page.show(filter="soft", threshold=40, view="split")
    np.testing.assert_array_equal(frame.pixels("before"), PHOTOGRAPH)
    assert (frame.pixels("result") != PHOTOGRAPH).any()


def test_added_noise_is_the_same_each_time_and_is_measured(page):
    page.open()
    frame = page.show(filter="bayes", added_noise="gaussian", added_sigma=25, view="split")
    noisy = add_noise(PHOTOGRAPH, "gaussian", 25.0, 0)
    np.testing.assert_array_equal(frame.pixels("before"), noisy)
    stats = frame.header["stats"]
    assert stats["psnr_before"] == measure_psnr(noisy, PHOTOGRAPH)
    assert stats["psnr"] == measure_psnr(frame.pixels(), PHOTOGRAPH)
    assert stats["psnr"] > stats["psnr_before"] + 3
    assert page.show(filter="bayes").header["stats"]["psnr"] is None


def test_grey_pictures_come_as_one_channel(page):
    page.open(name="camera")
    frame = page.show(filter="none")
    assert frame.header["parts"][0]["format"] == "grey"
    np.testing.assert_array_equal(frame.pixels(), data.camera())


@pytest.mark.parametrize("wanted", ["jpeg", "webp", "png"])
def test_compressed_formats(page, wanted):
    page.open()
    frame = page.show(filter="none", format=wanted)
    part, payload = frame.parts["result"]
    assert part["format"] == wanted
    picture = Image.open(io.BytesIO(payload))
    assert picture.format.lower() == wanted
    quality = measure_psnr(np.asarray(picture.convert("RGB")), PHOTOGRAPH)
    assert quality is None if wanted == "png" else quality > 28


def test_hello_says_what_there_is(page):
    hello = page.hello
    assert {"page", "version", "hardware", "engines", "engine", "samples", "media", "tools", "presets"} <= set(hello)
    assert hello["engines"][0]["name"] == "cpu"
    names = [sample["name"] for sample in hello["samples"]]
    assert {"clip", "photograph", "camera", "ascent", "aero", "ultrasound"} <= set(names)
    controls = {control["name"]: control for control in hello["tools"][0]["controls"]}
    assert len(controls["wavelet"]["options"]) > 100
    assert controls["threshold"]["shown"] == {"filter": ["soft", "hard", "garrote", "shrinkage"]}
    assert "page" not in str(hello["presets"])


@pytest.mark.parametrize("name", ["clip", "photograph", "camera", "ascent", "aero", "ultrasound"])
def test_every_sample_is_what_it_says(page, name):
    sample = next(each for each in page.hello["samples"] if each["name"] == name)
    page.open(name=name)
    info = page.wait("opened")["info"]
    assert (info["width"], info["height"], info["kind"]) == (sample["width"], sample["height"], sample["kind"])
    assert page.show(filter="none").header["parts"][0]["width"] == sample["width"]


def test_presets_are_settings_without_notes(page):
    page.open()
    for preset in page.hello["presets"]:
        number = page.send_settings(**preset["settings"])
        resolved = page.wait("resolved", accept=lambda found, number=number: found["number"] == number)
        assert resolved["notes"] == [], preset["title"]


def test_settings_are_completed_and_corrected(page):
    page.open()
    page.wait("state")
    page.send_settings(filter="soft", threshold=4000, level=8, wavelet="db20", nonsense=1)
    resolved = page.wait("resolved", accept=lambda found: found["number"] == 1)
    assert resolved["settings"]["threshold"] == 128
    assert resolved["settings"]["level"] < 8
    assert "nonsense" not in resolved["settings"]
    assert len(resolved["notes"]) == 2
    assert resolved["equivalent"]["command"].startswith("subband filter photograph.png")


def test_the_time_of_the_page_comes_back(page):
    page.open()
    assert page.show(filter="none").header["client_time"] == 1.5


def test_a_film_is_exported_as_what_most_can_play(page):
    page.open(name="clip")
    assert page.wait("opened")["info"]["endings"][:2] == [".mp4", ".mkv"]


def test_a_film_plays_at_its_pace_and_goes_round(page):
    page.send_settings(filter="none")
    page.open(name="clip")
    assert page.wait("opened")["info"]["rate"] == 25
    page.wait_frame()
    start = time.perf_counter()
    frames = [page.wait_frame() for _ in range(75)]
    seconds = time.perf_counter() - start
    positions = [frame.position for frame in frames]
    shown = 75 + frames[-1].header["stats"]["dropped"] - frames[0].header["stats"]["dropped"]
    # a busy machine may show them later, but nobody shows them earlier
    assert shown / 25 < 1.25 * seconds
    assert any(after < before for before, after in pairwise(positions))
    assert set(frames[-1].header["stats"]["stages"]) == {"decode", "noise", "filter", "encode"}


def test_pause_step_seek_and_loop(page):
    page.send_settings(filter="none")
    page.open(name="clip")
    page.wait_frame()
    page.send("pause")
    assert page.wait("state", accept=lambda found: not found["playing"])["count"] == 60
    page.send("seek", position=30)
    # frames that were on their way come first
    frame = page.wait_frame(accept=lambda found: found.position == 30)
    page.send("step")
    assert page.wait_frame().position == 31
    page.send("seek", position=3)
    assert page.wait_frame().position == 3
    page.send("seek", position=30)
    np.testing.assert_array_equal(page.wait_frame().pixels(), frame.pixels())
    page.send("loop", on=False)
    page.send("seek", position=57)
    page.send("play")
    page.wait("state", accept=lambda found: found["playing"])
    assert page.wait("state", accept=lambda found: not found["playing"])["loop"] is False
    page.send("play")
    assert page.wait_frame().position < 10


def test_paused_and_hidden_pages_compute_nothing(page):
    page.send_settings(filter="none")
    page.open(name="clip")
    page.wait_frame()
    page.send("pause", hidden=True)
    number = page.send_settings(filter="soft")
    # frames that were on their way have other settings
    found = [each for each in page.collect(1.0) if not isinstance(each, dict)]
    assert not [frame for frame in found if frame.settings == number]
    page.send("pause")
    page.send("play", hidden=True)
    frame = page.wait_frame()
    assert frame.settings == page.number
    assert not [found for found in page.collect(0.5) if not isinstance(found, dict)]


def test_no_more_than_two_frames_are_on_their_way(page):
    page.answers = False
    page.send_settings(filter="none", pace="fast")
    page.open(name="clip")
    frames = [page.wait_frame(), page.wait_frame()]
    assert not [found for found in page.collect(0.5) if not isinstance(found, dict)]
    page.answer(frames[0])
    page.wait_frame()
    assert not [found for found in page.collect(0.5) if not isinstance(found, dict)]


def test_the_newest_settings_win(page):
    page.open()
    page.show(filter="none")
    for threshold in range(1, 61):
        page.send_settings(filter="soft", threshold=threshold)
    frames = [page.wait_frame()]
    while frames[-1].settings != page.number:
        frames.append(page.wait_frame())
    assert len(frames) < 60
    np.testing.assert_array_equal(frames[-1].pixels(), apply(Shrink(level=4, threshold=60.0)))


def test_camera_frames_are_filtered(page):
    stream = io.BytesIO()
    Image.fromarray(PHOTOGRAPH[:240, :320]).save(stream, "JPEG", quality=95)
    page.send_settings(filter="gaussian", sigma=2)
    page.send("open", source={"kind": "camera"})
    page.wait("opened")
    page.send_camera(stream.getvalue())
    assert page.wait("opened")["info"]["width"] == 320
    decoded = np.asarray(Image.open(stream))
    np.testing.assert_array_equal(page.wait_frame().pixels(), Enhancer(Blur(2.0)).apply(decoded))
    page.send_settings(filter="none")
    np.testing.assert_array_equal(page.wait_frame().pixels(), decoded)


def test_a_camera_frame_right_behind_the_camera_is_shown(page):
    stream = io.BytesIO()
    Image.fromarray(data.photograph()).save(stream, "JPEG")
    page.send_settings(filter="none")
    for _ in range(5):
        page.open(name="camera")
        page.wait_frame()
        page.send("open", source={"kind": "camera"})
        page.send_camera(stream.getvalue())
        assert page.wait_frame(5, accept=lambda frame: frame.pixels().ndim == 3)


def test_histogram_of_a_band(page):
    page.open()
    page.show(filter="soft", threshold=16)
    page.send("histogram", band="dd1")
    found = page.wait("histogram")
    assert found["band"] == "dd1"
    assert found["threshold"] == 16
    assert len(found["edges"]) == len(found["counts"]) + 1
    assert sum(found["counts"]) == 256 * 256
    page.send_settings(filter="bayes", added_noise="gaussian", added_sigma=30)
    found = page.wait("histogram", accept=lambda each: each["sigma"] is not None)
    # the brightness is the mean of three channels, in units of one
    assert 10 < found["sigma"] < 40
    page.send("histogram", band="zz9")
    assert "zz9" in page.wait("error")["message"]


def test_histograms_come_not_too_often(page):
    page.send("histogram", band="ad2")
    page.send_settings(filter="none", pace="fast")
    page.open(name="clip")
    page.wait("histogram")
    page.wait("histogram")
    found = [each for each in page.collect(1.5) if isinstance(each, dict) and each["type"] == "histogram"]
    assert len(found) <= 8


def test_two_pages_have_settings_of_their_own(open_page):
    first, second = open_page(), open_page()
    for each in (first, second):
        each.open()
    one, other = first.show(filter="none"), second.show(filter="gaussian", sigma=3)
    np.testing.assert_array_equal(one.pixels(), PHOTOGRAPH)
    np.testing.assert_array_equal(other.pixels(), apply(Blur(3.0)))
    assert first.hello["page"] != second.hello["page"]

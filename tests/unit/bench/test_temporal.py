"""Clips of known motion, and what is measured on them."""

import numpy as np
import pytest

from subband.bench import temporal as clips


@pytest.mark.parametrize("name", clips.CLIPS)
def test_clips_hold_what_they_say(name):
    clip = clips.make_clip(name, 3)
    assert len(clip.frames) == 3
    assert clip.frames.min() >= 0
    assert clip.frames.max() <= 255
    assert (clip.frames[0] != clip.frames[2]).any()
    assert clip.still.any() == (name == "still")
    assert clip.edges[1:].any()


def test_images_move_by_whole_pixels_as_they_are():
    np.testing.assert_allclose(clips._move(np.eye(400), 5.0, 5.0), np.eye(400)[5:293, 5:357], atol=1e-12)


def test_a_clip_is_measured_and_judged():
    results = list(clips.measure_clip(clips.make_clip("still", 6), (20,), {"nlmeans": ["s=6"], "unknown": ["1"]}))
    assert list(results[0].psnr) == [clips.ALONE, clips.TEMPORAL, "nlmeans"]
    assert results[0].psnr[clips.TEMPORAL] > results[0].psnr[clips.ALONE] + 1
    report = clips.report(results, {clips.ALONE: 50.0, clips.TEMPORAL: 24.0})
    texts = list(map(str, report.goals))
    assert texts[0].startswith("met: 1.5 dB better")
    assert texts[-1].startswith("not met: at least 25 fps")


def test_speed_is_that_of_whole_frames():
    rates = clips.measure_speed(2, (48, 64))
    assert set(rates) == {clips.ALONE, clips.TEMPORAL}
    assert min(rates.values()) > 0


def test_speed_from_file_to_file_is_measured_and_judged():
    rate = clips.measure_files(3, (48, 64))
    assert rate > 0
    results = list(clips.measure_clip(clips.make_clip("still", 6), (20,), {}))
    goals = list(map(str, clips.report(results, {clips.TEMPORAL: 30.0, clips.FILES: 24.0}).goals))
    assert goals[-2].startswith("not met: at least 25 fps of 1280 × 720 from file to file")
    assert goals[-1].startswith("met: at least 25 fps of 1280 × 720 in memory")

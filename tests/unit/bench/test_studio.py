"""The studio in a browser: what is reported of it, and what is said where there is no browser."""

import json
import sys
from itertools import pairwise

import numpy as np
import pytest

from subband.bench import studio, studio_waits
from subband.bench.studio import CASES, LARGE, SMALL, Showing
from subband.bench.studio_waits import Wait
from subband.bench.video import fit_video
from subband.data import clip_path
from subband.errors import ArgumentError, DeviceError, MissingExtraError
from subband.media import open_source

LATENCIES = tuple(0.02 * number for number in range(1, 12))


def show(case, rate=25.0, latencies=LATENCIES):
    return Showing(case, rate, 2 * rate, 300.0, 3, latencies, "jpeg")


def test_small_films_are_judged_and_large_ones_reported():
    report = studio.report([show(case, 10.0 if case.shape == LARGE else 25.0) for case in CASES], "cpu")
    assert len(report.goals) == 4
    assert all(goal.is_met for goal in report.goals)
    assert "4 of 4" in report.summarise()
    (sheet,) = report.sheets
    assert [row[0] for row in sheet.rows] == [case.name for case in CASES]
    assert sheet.rows[0][1:] == ("25.0", "50.0", "300.0", "3", "120", "200")
    assert "| 1280 × 720, soft threshold | 10.0 |" in report.to_markdown()


@pytest.mark.parametrize(
    ("rate", "latencies", "met"),
    [(23.9, LATENCIES, [False, True]), (24.0, (0.15, 0.2, 0.1), [True, False]), (24.0, (0.149,) * 3, [True, True])],
)
def test_what_falls_short_is_said(rate, latencies, met):
    report = studio.report([show(CASES[0], rate, latencies)], "cpu")
    assert [goal.is_met for goal in report.goals] == met


def test_figures_are_for_programs_too():
    record = json.loads(json.dumps(studio.report([show(CASES[0])], "cuda").to_json()))
    assert record["engine"] == "cuda"
    assert record["showings"][0]["median"] == pytest.approx(0.12)
    assert record["showings"][0]["case"]["shape"] == list(SMALL)


def test_films_have_the_size_that_is_said(tmp_path):
    for shape in (SMALL, (72, 128)):
        with open_source(fit_video(clip_path(), tmp_path / "film.mp4", shape)) as source:
            assert source.info.shape == (*shape, 3)
            assert source.info.rate == 25


def test_without_playwright_or_chromium_it_says_so(monkeypatch):
    pytest.importorskip("playwright")
    monkeypatch.setenv("SUBBAND_CHROMIUM", "/nothing/here")
    with pytest.raises(DeviceError, match="SUBBAND_CHROMIUM"):
        next(studio.measure())
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(MissingExtraError, match="browser"):
        next(studio.measure())


def test_what_a_page_waits_for_is_judged_by_its_median():
    waits = [Wait("seek", "ms", (100.0, 900.0, 200.0), 300.0), Wait("first frame", "ms", (5000.0,))]
    report = studio_waits.report(waits, "cpu")
    assert [goal.is_met for goal in report.goals] == [True]
    assert report.sheets[0].rows[0] == ("seek", "200", "900", "ms", "300")
    assert json.loads(json.dumps(report.to_json()))["waits"][0]["numbers"] == [100.0, 900.0, 200.0]
    assert not studio_waits.report([Wait("seek", "ms", (301.0,), 300.0)], "cpu").goals[0].is_met


def test_full_screen_is_judged_by_the_rate_of_the_engine():
    report = studio.report(
        [Showing(studio.FULL_CASES[0], 25.0, free, 50.0, 0, LATENCIES, "jpeg") for free in (40, 39)], "cpu"
    )
    assert [goal.is_met for goal in report.goals] == [True, False]


def test_another_image_on_the_screen_is_refused(monkeypatch):
    class Page:
        def evaluate(self, _script):
            """Return what is seen: left, top, right and bottom."""
            return [1, 2, 3, 3]

    whole = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    monkeypatch.setattr(studio_waits, "read_pixels", lambda _page: whole[2:3, 1:3] + np.uint8(1))
    studio_waits._compare(Page(), whole, "an image")
    monkeypatch.setattr(studio_waits, "read_pixels", lambda _page: whole[2:3, 1:3] + np.uint8(2))
    with pytest.raises(ArgumentError, match="an image"):
        studio_waits._compare(Page(), whole, "an image")


def test_frames_of_the_film_to_seek_in_differ(tmp_path):
    with open_source(studio_waits.make_video(tmp_path / "film.mp4", (72, 128), 12), quick=True) as source:
        frames = [frame.pixels.astype(int) for frame in source]
    assert len(frames) == 12
    assert all(np.abs(one - two).mean() > 4 for one, two in pairwise(frames))

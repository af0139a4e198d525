"""The studio in a browser: what is reported of it, and what is said where there is no browser."""

import json
import sys

import pytest

from subband.bench import studio
from subband.bench.studio import CASES, LARGE, SMALL, Showing
from subband.bench.video import fit_video
from subband.data import clip_path
from subband.errors import DeviceError, MissingExtraError
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

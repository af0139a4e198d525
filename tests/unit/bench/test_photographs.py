"""What is measured on photographs, and what is expected of it."""

from dataclasses import replace

import pytest

from subband.bench import photographs
from subband.bench.libraries import load_library
from subband.bench.photographs import DEFAULT, METHODS, PEER, SAME, Result, judge_greys, measure_colours, measure_greys
from subband.errors import MissingExtraError

FIGURES = {"noisy": 20.0, PEER: 30.0, SAME: 30.0} | dict.fromkeys(METHODS, 29.0) | {DEFAULT: 30.9, "wiener": 31.3}
GOOD = Result("a", 25, FIGURES, FIGURES)


def judge(**changes):
    changed = FIGURES | {name.replace("_", " "): value for name, value in changes.items()}
    return [goal.is_met for goal in judge_greys([GOOD, replace(GOOD, psnr=changed)])]


def test_targets():
    assert judge() == [True, True, True]
    assert judge(same_settings=30.06) == [False, True, True]
    assert judge(same_settings=29.94) == [False, True, True]
    assert judge(wiener=31.0) == [True, False, True]
    assert judge(bivariate=30.5) == [True, True, False]


@pytest.fixture(scope="module")
def greys():
    pictures = photographs.load_greys(96)
    assert list(pictures) == ["camera", "astronaut", "coffee", "moon", "coins", "retina"]
    return list(measure_greys({name: pictures[name] for name in ("camera", "coins")}, (10, 25)))


def test_the_same_settings_give_the_same_picture(greys):
    for result in greys:
        assert result.psnr[SAME] == pytest.approx(result.psnr[PEER], abs=1e-3)
        assert result.ssim[SAME] == pytest.approx(result.ssim[PEER], abs=1e-4)


def test_every_result_has_every_contender(greys):
    assert [(result.picture, result.sigma) for result in greys] == [
        ("camera", 10),
        ("camera", 25),
        ("coins", 10),
        ("coins", 25),
    ]
    for result in greys:
        assert set(result.psnr) == set(result.ssim) == {"noisy", PEER, SAME, *METHODS}
        assert result.psnr["noisy"] == pytest.approx({10: 28.13, 25: 20.17}[result.sigma], abs=0.2)
        assert result.psnr[DEFAULT] > result.psnr["noisy"] + 2


def test_report_has_means(greys):
    colours = list(measure_colours({"astronaut": photographs.load_colours(64)["astronaut"]}))
    assert list(colours[0].psnr)[2:5] == list(photographs.COLOURS)
    report = photographs.report(greys, colours)
    psnr, ssim, colour = report.sheets
    assert [row[:2] for row in psnr.rows[4:]] == [("mean", "10"), ("mean", "25"), ("mean", "all")]
    place = psnr.columns.index(PEER)
    assert float(psnr.rows[-1][place]) == pytest.approx(sum(result.psnr[PEER] for result in greys) / 4, abs=0.006)
    assert len(ssim.rows) == len(psnr.rows)
    assert [row[0] for row in colour.rows] == ["astronaut", "mean"]
    assert len(report.goals) == 3
    assert not photographs.report(greys, colours, is_whole=False).goals
    assert report.figures["greys"][0]["picture"] == "camera"


def test_without_scikit_image_the_way_out_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skimage.restoration", None)
    with pytest.raises(MissingExtraError, match=r"subband\[bench\]"):
        load_library("scikit-image")

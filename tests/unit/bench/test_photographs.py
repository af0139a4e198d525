"""What is measured on photographs, and what is expected of it."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from subband.bench import photographs
from subband.bench.libraries import load_library
from subband.bench.photographs import (
    BM3D,
    DEFAULT,
    METHODS,
    PEER,
    SAME,
    Result,
    judge_greys,
    list_non_local,
    load_folder,
    measure_all,
    measure_colours,
    measure_greys,
)
from subband.errors import ArgumentError, MissingExtraError

FIGURES = {"noisy": 20.0, PEER: 30.0, SAME: 30.0} | dict.fromkeys(METHODS, 29.0) | {DEFAULT: 30.9, "wiener": 31.3}
GOOD = Result("a", 25, FIGURES, FIGURES, dict.fromkeys(FIGURES, 1.0))


def judge(**changes):
    changed = FIGURES | {name.replace("_", " "): value for name, value in changes.items()}
    return [goal.is_met for goal in judge_greys([GOOD, replace(GOOD, psnr=changed)])]


def test_targets():
    assert judge() == [True, True, True]
    assert judge(same_settings=30.06) == [False, True, True]
    assert judge(same_settings=29.94) == [False, True, True]
    assert judge(wiener=31.0) == [True, False, True]
    assert judge(bivariate=30.5) == [True, True, False]


def test_contenders_get_the_same_samples_and_quick_ones_run_often():
    given = {"ours": [], PEER: []}

    def make(name, steps):
        def denoise(noisy, sigma):
            given[name].append((noisy, sigma))
            clock[0] += steps
            return noisy

        return denoise

    clock = [0.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(photographs, "perf_counter", lambda: clock[0])
        ours, peers = {"ours": make("ours", 0.03)}, {PEER: make(PEER, 9)}
        [result] = measure_all({"flat": np.full((16, 16), 99.0)}, (10,), ours, peers)
    assert result.seconds["ours"] == pytest.approx(0.03)
    assert result.seconds[PEER] == pytest.approx(9)
    # ours once beforehand, without noise
    assert [len(calls) for calls in given.values()] == [1 + 4, 1]
    assert {noisy.dtype.name for calls in given.values() for noisy, _ in calls} == {"float32"}
    assert all(noisy is given[PEER][0][0] for noisy, sigma in given["ours"] if sigma == 10)


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
        everyone = {"noisy", PEER, SAME, *METHODS, *list_non_local()}
        assert set(result.psnr) == set(result.ssim) == set(result.seconds) == everyone
        assert all(result.seconds[name] > 0 for name in METHODS)
        assert result.psnr["noisy"] == pytest.approx({10: 28.13, 25: 20.17}[result.sigma], abs=0.2)
        assert result.psnr[DEFAULT] > result.psnr["noisy"] + 2


def test_report_has_means(greys):
    colours = list(measure_colours({"astronaut": photographs.load_colours(64)["astronaut"]}, (25,)))
    assert list(colours[0].psnr)[2:5] == list(photographs.COLOURS)
    report = photographs.report(greys, colours)
    psnr, ssim, colour, together, in_colours = report.sheets
    assert [row[:2] for row in psnr.rows[4:]] == [("mean", "10"), ("mean", "25"), ("mean", "all")]
    place = psnr.columns.index(PEER)
    assert float(psnr.rows[-1][place]) == pytest.approx(sum(result.psnr[PEER] for result in greys) / 4, abs=0.006)
    assert len(ssim.rows) == len(psnr.rows)
    assert [row[0] for row in colour.rows] == ["astronaut", "mean"]
    assert together.columns == ("method", "10", "25", "SSIM", "seconds")
    ranked = [row[0] for row in together.rows]
    assert set(ranked) == set(greys[0].psnr)
    assert ranked.index("wiener") < ranked.index(PEER) < ranked.index("noisy")
    assert {"best, opponents", "scikit-image NLM"} <= {row[0] for row in in_colours.rows}
    assert len(report.goals) == 3 + 2 * (BM3D in greys[0].psnr)
    assert not photographs.report(greys, colours, is_whole=False).goals
    assert report.figures["greys"][0]["picture"] == "camera"


@pytest.mark.parametrize(("psnr", "seconds", "is_met"), [(30.8, 5.0, True), (31.0, 5.0, False), (30.8, 4.9, False)])
def test_the_best_is_judged_by_bm3d_where_there_is_one(psnr, seconds, is_met):
    figures = FIGURES | {BM3D: psnr, "best": 30.9}
    seconds = dict.fromkeys(figures, 1.0) | {BM3D: seconds}
    *others, goal = judge_greys([Result("a", 25, figures, figures, seconds)])
    assert len(others) == 3
    assert goal.is_met == is_met
    assert "BM3D" in goal.text


def test_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    assert list(list_non_local()) == ["scikit-image NLM"]


def test_peers_get_what_they_take(monkeypatch):
    calls = []

    def take(*arguments):
        calls.append(arguments)
        return arguments[0]

    fake = SimpleNamespace(
        bm3d=take, bm3d_rgb=take, fastNlMeansDenoising=take, fastNlMeansDenoisingColored=take, __spec__=object()
    )
    for name in ("bm3d", "cv2"):
        monkeypatch.setitem(sys.modules, name, fake)
    monkeypatch.setattr(photographs, "find_spec", lambda name: fake.__spec__)
    for shape in ((12, 12), (12, 12, 3)):
        y = np.full(shape, 300.0)
        assert [float(who(y, 20.0).max()) for who in list_non_local().values()] == [pytest.approx(300), 255, 300]
    assert [call[0].dtype.name for call in calls] == ["uint8", "float64"] * 2
    assert [call[2] for call in calls if len(call) > 2] == [20.0, 20.0]


def test_images_of_a_folder(tmp_path):
    Image.fromarray(np.full((20, 30), 51, np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.full((20, 30), 51 * 257, np.uint16)).save(tmp_path / "b.tif")
    Image.fromarray(np.full((20, 30, 3), (255, 0, 0), np.uint8)).save(tmp_path / "c.png")
    (tmp_path / "notes.txt").write_text("not an image")
    greys, colours = load_folder(tmp_path, 16)
    assert {name: round(float(pixels.mean())) for name, pixels in greys.items()} == {"a": 51, "b": 51, "c": 54}
    assert list(colours) == ["c"]
    assert colours["c"].shape == (16, 16, 3)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArgumentError, match="has no images"):
        load_folder(tmp_path / "empty", 16)


def test_without_scikit_image_the_way_out_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skimage.restoration", None)
    with pytest.raises(MissingExtraError, match=r"subband\[bench\]"):
        load_library("scikit-image")

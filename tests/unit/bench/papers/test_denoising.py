"""The paper's table computed anew: the best number of levels is the paper's."""

from math import log10

import numpy as np
import pytest

from subband.bench.papers import denoising as papers
from subband.bench.papers.denoising import LEVELS, MODES, PAPER, VARIANCES, WAVELETS, load_images, measure_trials

STRONG = VARIANCES[-1]


@pytest.fixture(scope="module")
def portrait():
    return load_images()[papers.PORTRAIT]


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_two_levels_are_best_under_strong_noise(portrait, clip, seed):
    trial = measure_trials(portrait, clip=clip, seed=seed)[STRONG]
    for wavelet in WAVELETS:
        paper = {level: PAPER[wavelet, level][VARIANCES.index(STRONG)] for level in LEVELS}
        assert max(paper, key=paper.get) == 2
        for mode in MODES:
            assert trial.find_best(wavelet, mode) == 2, (wavelet, mode)


def test_soft_thresholds_have_the_best_levels_of_the_whole_table(portrait):
    trials = measure_trials(portrait)
    for place, variance in enumerate(VARIANCES):
        for wavelet in WAVELETS:
            paper = {level: PAPER[wavelet, level][place] for level in LEVELS}
            assert trials[variance].find_best(wavelet, "soft") == max(paper, key=paper.get)


def test_threshold_is_the_universal_one():
    """Computed here with PyWavelets, by the formulas of the paper."""
    pywt = pytest.importorskip("pywt")
    picture = load_images()["camera"][:128, :128]
    noisy = picture + np.random.default_rng(0).normal(0, np.sqrt(STRONG), picture.shape)
    coefficients = pywt.wavedec2(noisy, "db2", "periodization", 2)
    sigma = np.median(np.abs(coefficients[-1][2])) / 0.6745
    limit = sigma * np.sqrt(2 * np.log(picture.size))
    shrunk = [tuple(pywt.threshold(band, limit, "soft") for band in level) for level in coefficients[1:]]
    expected = pywt.waverec2([coefficients[0], *shrunk], "db2", "periodization")
    psnr = -10 * log10(np.mean((expected - picture) ** 2))
    assert measure_trials(picture)[STRONG].denoised["db2", 2, "soft"] == pytest.approx(psnr, abs=1e-3)


def test_report_has_the_paper_beside_ours(portrait):
    report = papers.report({"small": portrait[100:228, 100:228]})
    table, best = report.sheets
    assert len(table.rows) == 1 + len(PAPER)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[1][:3] == ["haar", "1", "23.12"]
    assert [row[:2] for row in best.rows] == [["small", "as it is"], ["small", "clipped"]]
    assert len(report.goals) == len(WAVELETS) * len(MODES)
    assert len(report.figures["trials"]) == 2 * len(VARIANCES)

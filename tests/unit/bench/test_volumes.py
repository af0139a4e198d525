"""What is measured on a volume, and what is expected of it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from subband.bench import volumes
from subband.bench.photographs import Result


def test_the_phantom_has_its_densities():
    head = volumes.make_head(48)
    assert sorted(np.unique(np.round(head / 255, 3)).tolist()) == [0.0, 0.1, 0.2, 0.3, 1.0]
    assert 0.2 < (head > 0).mean() < 0.3


def test_every_contender_removes_noise(monkeypatch):
    monkeypatch.setattr(volumes, "find_spec", lambda _name: None)
    (result,) = volumes.measure_volume(16, (25.5,))
    assert list(result.psnr) == ["noisy", "scikit-image", "bivariate", "wiener", "best"]
    assert all(value > result.psnr["noisy"] + 2 for name, value in result.psnr.items() if name != "noisy")
    report = volumes.report([result])
    assert not report.goals
    assert report.sheets[0].columns == ("method", "25.5", "SSIM", "seconds")


def test_the_package_is_asked_if_it_is_installed(monkeypatch):
    fake = SimpleNamespace(bm4d=lambda y, sigma: y - sigma)
    monkeypatch.setitem(sys.modules, "bm4d", fake)
    monkeypatch.setattr(volumes, "find_spec", lambda _name: object())
    assert volumes.list_peers()[volumes.BM4D](np.full((2, 2, 2), 30.0), 10.0).max() == 20


@pytest.mark.parametrize(("psnr", "seconds", "is_met"), [(30.4, 50.0, True), (30.6, 50.0, False), (30.4, 49.0, False)])
def test_targets(psnr, seconds, is_met):
    figures = {"noisy": 20.0, "best": 29.95, volumes.BM4D: psnr}
    result = Result("head", 25.5, figures, figures, {"noisy": 0.0, "best": 1.0, volumes.BM4D: seconds})
    (goal,) = volumes.report([result]).goals
    assert goal.is_met == is_met

"""Engines are compared with the reference engine band by band."""

import numpy as np
import pytest

from subband.engines import get_engine
from subband.testing.verification import verify_engine


@pytest.fixture
def pixels():
    return np.random.default_rng(0).random((61, 40, 3)).astype(np.float32)


def test_every_level_and_band_is_compared(pixels):
    verification = verify_engine(pixels, 1.0, level=2)
    assert [comparison.name for comparison in verification.comparisons] == [
        "level 1",
        "level 1 HL",
        "level 1 LH",
        "level 1 HH",
        "level 2",
        "level 2 LL",
        "level 2 HL",
        "level 2 LH",
        "level 2 HH",
        "reconstruction",
        "reconstruction against the image",
    ]
    assert verification.is_within
    assert all(comparison.psnr > 100 for comparison in verification.comparisons)


def test_reference_equals_itself(pixels):
    verification = verify_engine(pixels.astype(float), 1.0, level=1, engine="reference")
    assert all(comparison.error == 0 for comparison in verification.comparisons[:-1])
    assert verification.to_dict()["comparisons"][0]["psnr"] is None


def test_wrong_border_is_seen_at_the_border_alone(pixels, monkeypatch):
    engine = get_engine("cpu")
    forward = type(engine).forward

    def forward_with_a_wrong_border(self, plan, x):
        bands = forward(self, plan, x)
        bands["ad"][0] += 1
        return bands

    monkeypatch.setattr(type(engine), "forward", forward_with_a_wrong_border)
    verification = verify_engine(pixels, 1.0, level=1, engine="cpu")
    wrong = {comparison.name: comparison for comparison in verification.comparisons}["level 1 HL"]
    assert not verification.is_within
    assert not wrong.is_within
    assert wrong.error == pytest.approx(1, rel=1e-3)
    assert wrong.inner_error < 1e-5


def test_nothing_is_left_of_a_small_band_without_its_border(pixels):
    verification = verify_engine(pixels[:16, :16], 1.0, level=1)
    assert verification.comparisons[0].inner_psnr is None


def test_filters_that_do_not_reconstruct_are_not_blamed_on_the_engine(pixels):
    assert verify_engine(pixels, 1.0, "dmey", level=1).is_within


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (1, 1, 3)])
def test_empty_bands_are_equal(shape):
    verification = verify_engine(np.ones(shape, np.float32), 1.0, level=1)
    assert verification.is_within
    diagonal = {comparison.name: comparison for comparison in verification.comparisons}["level 1 HH"]
    assert (diagonal.psnr, diagonal.error) == (np.inf, 0.0)
    assert verification.to_dict()["is_within"] is True

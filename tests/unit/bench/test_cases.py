"""The cases of the benchmark: all that was promised is there, and targets are what was promised."""

import numpy as np
import pytest
import pywt

import subband
from subband.bench.cases import CPU_CASES, Case, Target, select_cases
from subband.engines.measuring.judging import flatten_bands
from subband.errors import ArgumentError


def find(words):
    return select_cases(CPU_CASES, patterns=[words])


def test_every_case_has_its_inverse():
    assert [case.inverse for case in CPU_CASES] == [False, True] * (len(CPU_CASES) // 2)
    assert len({case.name for case in CPU_CASES}) == len(CPU_CASES)


@pytest.mark.parametrize(
    "words",
    [
        *(
            f"{size} bior4.4 periodization {level}-level"
            for size in ("512x512", "1080x1920", "8192x8192")
            for level in (1, 5)
        ),
        "cdf97 whole",
        *(f"8192x8192 {wavelet} 1-level" for wavelet in ("haar", "db2", "cdf97", "bior4.4")),
        *(f"1080x1920 {wavelet} periodization" for wavelet in ("haar", "db2", "db4", "sym8", "coif5", "db20")),
        "symmetric 1080x1920",
        "256x256x256",
        "4194304",
        "1-D 64 ",
    ],
)
def test_promised_case_is_there(words):
    assert find(words)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("512x512 1-level", Target({"PyWavelets": 30})),
        ("8192x8192 1-level", Target({"PyWavelets": 60}, copies=1.6)),
        ("1080x1920 bior4.4 symmetric 1-level", Target({"PyWavelets": 40}, copies=2.0)),
        ("1080x1920 haar 1-level", Target({"PyWavelets": 40}, copies=2.0)),
        ("1080x1920 db4 1-level", Target({"PyWavelets": 30}, copies=2.2)),
        ("8192x8192 bior4.4 5-level", Target({"PyWavelets": 30})),
        ("cdf97 1080x1920 1-level", Target({"PyWavelets": 40}, copies=2.0)),
        ("sym8", Target({"PyWavelets": 10})),
        ("db20", Target({"PyWavelets": 10})),
        ("256x256x256", Target({"PyWavelets": 30})),
        ("4194304", Target({"PyWavelets": 6})),
        ("1-D 64 ", Target(seconds=12e-6)),
    ],
)
def test_targets(words, target):
    for case in find(words):
        assert case.target == target, case.name


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("shape", [(64,), (32, 40), (16, 16, 16)])
def test_both_libraries_are_called_alike(shape, level, inverse):
    case = Case(shape, "db2", "symmetric", level, inverse)
    samples = case.make_samples()
    ours, theirs = (list(flatten_bands(case.prepare(library, samples)())) for library in (subband, pywt))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_peer_of_the_mode_that_pywavelets_lacks():
    case = Case((32, 32), "cdf97", "whole", 2, inverse=True)
    assert (case.peer.wavelet, case.peer.mode) == ("bior4.4", "periodization")
    samples = case.make_samples()
    np.testing.assert_allclose(case.prepare(subband, samples)(), samples, atol=1e-5)


def test_quick_is_a_part():
    assert 0 < len(select_cases(CPU_CASES, is_quick=True)) < len(CPU_CASES)


def test_patterns_add_up():
    assert len(select_cases(CPU_CASES, patterns=["db20 inverse", "1080x1920 HAAR inverse"])) == 2


def test_no_case_left_is_an_error():
    with pytest.raises(ArgumentError, match="db99"):
        find("db99")

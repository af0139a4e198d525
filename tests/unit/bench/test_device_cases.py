"""The cases of GPUs: all that was promised is there, with the targets that were promised."""

import pytest

from subband.bench.cases import Target, select_cases
from subband.bench.device_cases import list_device_cases

PEERS = {"PDWT": 3.0, "ptwt": 20.0, "pytorch_wavelets": 20.0}


def find(words, family="cuda"):
    return select_cases(list_device_cases(family), patterns=[words])


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("8192x8192 cdf97 whole 1-level", Target(bandwidth=0.92)),
        ("8192x8192 cdf97 whole 1-level engine", Target(bandwidth=0.92)),
        ("8192x8192 cdf97 whole 5-level", Target(seconds=0.18e-3)),
        ("haar periodization", Target(bandwidth=0.95)),
        ("db5", Target(bandwidth=0.75)),
        ("sym5", Target(bandwidth=0.75)),
        ("512x512x512", Target(bandwidth=0.78)),
        ("3x1080x1920 3-level planar", Target(seconds=0.03e-3)),
        ("1080x1920x3 3-level interleaved", Target(seconds=0.03e-3)),
    ],
)
def test_targets_without_peers(words, target):
    cases = [case for case in find(words) if case.dtype == "float32"]
    assert {case.inverse for case in cases} == {False, True}
    for case in cases:
        assert case.target.restrict([]) == target, case.name
        assert case.is_bare or case.target.speedups == PEERS


def test_half_precision_is_measured_by_full_precision():
    cases = find("8192x8192 cdf97 1-level float16")
    assert [case.target for case in cases] == [Target({"float32": 1.75})] * 2


def test_opencl_has_targets_of_its_own():
    for case in find("8192x8192 1-level", "opencl"):
        assert case.target == (Target(bandwidth=0.65) if case.dtype == "float32" else Target()), case.name
    assert not any(case.target for case in find("3-level", "opencl"))


@pytest.mark.parametrize("family", ["cuda", "opencl"])
def test_every_case_has_its_inverse(family):
    cases = list_device_cases(family)
    assert [case.inverse for case in cases] == [False, True] * (len(cases) // 2)
    assert len({case.name for case in cases}) == len(cases)
    assert 0 < len(select_cases(cases, is_quick=True)) < len(cases)


def test_target_that_nothing_can_be_said_about_is_none():
    assert not Target({"ptwt": 20.0}).restrict(["PDWT"])
    assert Target({"ptwt": 20.0}).restrict(["ptwt"])


@pytest.mark.parametrize(("seconds", "is_met"), [(1.0, True), (1.2, False)])
def test_bandwidth_is_a_part_of_the_copys(seconds, is_met):
    assert Target(bandwidth=0.88).is_met(seconds, {}, copy=0.9) is is_met

"""Wrong results are found, whatever is wrong with them."""

import numpy as np
import pytest
import pywt

import subband
from subband.bench import checking
from subband.bench.cases import Case
from subband.bench.checking import check_result, judge_on_host, make_check
from subband.engines.measuring.harness import open_harness
from subband.engines.measuring.judging import WrongResultError, flatten_bands

CASE = Case((40, 48), "db2", "symmetric", level=2)


@pytest.fixture
def results():
    samples = CASE.make_samples()
    return CASE.prepare(subband, samples)(), judge_on_host(CASE, samples)


def test_right_result_passes(results):
    assert check_result(CASE, *results, None) < 1e-6


def test_nan_is_found(results):
    ours, reference = results
    ours[1][2][3, 3] = np.nan
    with pytest.raises(WrongResultError, match="reference engine"):
        check_result(CASE, ours, reference, None)


def test_one_wrong_value_is_found(results):
    ours, reference = results
    ours[0][0, 0] += 1e-3
    with pytest.raises(WrongResultError):
        check_result(CASE, ours, reference, None)


def test_wrong_shape_is_found(results):
    ours, reference = results
    with pytest.raises(WrongResultError, match="shapes"):
        check_result(CASE, ours[:-1], reference, None)


def test_engine_is_restored(results):
    assert subband.get_engine().name != "reference"


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("level", [1, 3])
def test_large_arrays_are_judged_by_the_peer(monkeypatch, inverse, level):
    monkeypatch.setattr(checking, "JUDGED_SIZE", 100)
    case = Case((256, 320), "cdf97", "whole", level, inverse)
    samples = case.make_samples()
    call = case.prepare(subband, samples)
    check = make_check(case, case.make_input(subband, samples), samples, open_harness("cpu"))
    ours, theirs = call(), case.peer.prepare(pywt, samples)()
    assert check(ours) < 1e-5
    assert check_result(case, ours, None, theirs) < 1e-5
    next(flatten_bands(ours))[15, 15] += 0.1
    with pytest.raises(WrongResultError, match="peer"):
        check_result(case, ours, None, theirs)
    with pytest.raises(WrongResultError, match="peer"):
        check(ours)

"""The benchmark itself, on arrays so small that it takes a moment."""

from types import SimpleNamespace

import numpy as np
import pytest

import subband
from subband.bench.cases import Case
from subband.bench.measuring import measure_cases
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort

EFFORT = Effort(seconds=0.01, fewest=2, most=3, turn=1e-4)
CASES = [Case((64, 96), level=2), Case((64, 96), "cdf97", "whole", inverse=True)]


def test_tiny_cases():
    measurements = list(measure_cases(CASES, EFFORT))
    assert [measurement.case for measurement in measurements] == CASES
    for measurement in measurements:
        assert min(measurement.ours, measurement.peers["PyWavelets"], measurement.copy) > 0
        assert measurement.error < 1e-5
        assert measurement.memory is None


def spoil(function, change):
    """Return a function whose result has been tampered with."""

    def spoilt(*arguments):
        result = function(*arguments)
        change(result)
        return result

    spoilt.__name__ = function.__name__
    return spoilt


def leave_unwritten(result):
    result[0][3, 3] = np.nan


def shift(result):
    result[0][:] = np.roll(result[0], 1, axis=0)


@pytest.mark.parametrize("change", [leave_unwritten, shift])
def test_wrong_result_stops_the_benchmark(change):
    library = SimpleNamespace(wavedec2=spoil(subband.wavedec2, change), waverec2=subband.waverec2)
    with pytest.raises(WrongResultError, match="64x96 bior"):
        list(measure_cases(CASES[:1], EFFORT, library=library))

"""What calls of a GPU take of the host: measured here with arrays of the host, whose results can be wrong too."""

from __future__ import annotations

import numpy as np
import pytest

import subband
from subband.bench.host_calls import Card, HostCall, measure_host_calls, report_host_calls
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort

MOMENT = Effort(seconds=1e-4, fewest=1, most=1, turn=1e-6)
HOST = Card("cpu", np.asarray, np.asarray, lambda: None, lambda: None)


def test_every_call_is_timed_and_compared():
    found = list(measure_host_calls(HOST, MOMENT, (96, 128)))
    assert [each.function for each in found] == ["dwt2", "idwt2", "wavedec2", "waverec2"] * 2
    assert all(each.seconds > 0 and each.empty > 0 and 0 <= each.error < 1e-5 for each in found)


@pytest.mark.parametrize("name", ["dwt2", "idwt2", "wavedec2", "waverec2"])
def test_wrong_numbers_end_the_run(monkeypatch, name):
    right = getattr(subband, name)

    def spoil(x, *arguments):
        result = right(x, *arguments)
        first = result if isinstance(result, np.ndarray) else result[0]
        if first.dtype == np.float32:  # the image that is measured
            first[0, 0] += 0.1
        return result

    monkeypatch.setattr(subband, name, spoil)
    with pytest.raises(WrongResultError, match="away from the CPU's"):
        list(measure_host_calls(HOST, MOMENT, (96, 128)))


def test_what_takes_too_long_is_missed():
    found = [HostCall(name, "cdf97", "whole", 2e-5, 4e-6, 0.0) for name in ("dwt2", "idwt2", "wavedec2")]
    report = report_host_calls(found, HOST)
    assert [goal.is_met for goal in report.goals] == [False, True]
    assert report.sheets[0].missed == [0]
    assert not report_host_calls(found, HOST, is_whole=False).goals

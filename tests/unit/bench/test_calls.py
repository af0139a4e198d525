"""Calls beside PyWavelets: all of them, with right results, and a report that says which are slow."""

from types import SimpleNamespace

import numpy as np
import pytest
import pywt

import subband
from subband.bench.call_cases import CALL_CASES, EXCLUDED, IMAGES, SIGNALS, CallCase
from subband.bench.calls import Measured, compare_results, draw_ratios, measure_calls, report_calls
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort
from subband.errors import MissingExtraError

MOMENT = Effort(seconds=1e-4, fewest=1, most=1, turn=1e-6)
SMALLEST = [case for case in CALL_CASES if case.shape in ((), SIGNALS[0], IMAGES[0])]


def make(function, shape=(64,)):
    return next(case for case in CALL_CASES if case.function == function and case.shape == shape)


def test_every_public_name_is_measured_or_excluded_with_a_reason():
    measured = {case.function for case in CALL_CASES}
    assert measured.isdisjoint(EXCLUDED)
    assert measured | set(EXCLUDED) == set(pywt.__all__)
    assert all(len(reason) > 10 for reason in EXCLUDED.values())


def test_names_are_unique():
    names = [case.name for case in CALL_CASES]
    assert len(set(names)) == len(names)


def test_every_function_is_measured_at_every_size():
    for case in CALL_CASES:
        shapes = {other.shape for other in CALL_CASES if other.label == case.label}
        assert shapes in ({()}, set(SIGNALS), set(IMAGES), {*SIGNALS, *IMAGES}), case.label


@pytest.mark.parametrize("case", SMALLEST, ids=lambda case: case.name)
def test_results_are_those_of_pywavelets(case):
    [found] = measure_calls([case], MOMENT)
    assert found.ours > 0
    assert found.theirs > 0
    assert found.error < 1e-11


def test_calls_leave_what_they_are_given():
    for case in SMALLEST:
        samples = case.draw()
        call = case.bind(pywt, samples)
        first = call()
        compare_results(case, call(), first)
        np.testing.assert_array_equal(samples, case.draw())


def test_wrong_numbers_end_the_run():
    broken = SimpleNamespace(dwt=lambda x, wavelet: [band * 1.001 for band in subband.dwt(x, wavelet)])
    with pytest.raises(WrongResultError, match="dwt 64: band result"):
        list(measure_calls([make("dwt")], MOMENT, broken))


def test_missing_bands_end_the_run():
    broken = SimpleNamespace(wavedec=lambda x, wavelet: subband.wavedec(x, wavelet)[1:])
    with pytest.raises(WrongResultError, match="wavedec 64: the bands have the shapes"):
        list(measure_calls([make("wavedec")], MOMENT, broken))


def test_results_that_change_later_end_the_run():
    calls = []

    def threshold(x, value):
        calls.append(value)
        return subband.threshold(x, value) + 0.1 * (len(calls) > 3)

    with pytest.raises(WrongResultError, match="threshold 64"):
        list(measure_calls([make("threshold")], MOMENT, SimpleNamespace(threshold=threshold)))


def test_wrong_words_end_the_run():
    with pytest.raises(WrongResultError, match=r"wavelist: result\[1\] is 'b', and PyWavelets' 'c'"):
        compare_results(make("wavelist", ()), ["a", "b"], ["a", "c"])
    with pytest.raises(WrongResultError, match=r"is slice\(0, 2, None\), and PyWavelets' slice\(0, 3, None\)"):
        compare_results(make("coeffs_to_array"), (np.ones(2), [slice(0, 2)]), (np.ones(2), [slice(0, 3)]))


def test_pywavelets_is_needed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pywt", None)
    with pytest.raises(MissingExtraError, match=r"subband\[bench\]"):
        list(measure_calls([make("dwt")], MOMENT))


def measure(function, shape, ratio):
    return Measured(make(function, shape), 1e-5, ratio * 1e-5, 0.0)


def test_a_report_has_a_row_for_each_function_and_a_column_for_each_size():
    found = [
        measure("dwt", (64,), 1.3),
        measure("dwt", (1024,), 2.0),
        measure("idwt", (64,), 1.1),
        measure("dwt2", (16, 16), 3.0),
        measure("wavelist", (), 4.0),
    ]
    report = report_calls(found)
    assert [sheet.columns[1:] for sheet in report.sheets[::2]] == [
        ["64", "1,024"],
        ["16²"],
        ["subband µs", "PyWavelets µs", "× PyWavelets"],
    ]
    assert report.sheets[0].rows == [["dwt", "1.30", "2.00"], ["idwt", "1.10", ""]]
    assert report.sheets[0].missed == [1]
    assert report.sheets[1].rows == [["dwt", "10", "10"], ["idwt", "10", ""]]
    assert report.sheets[4].rows == [["wavelist", "10", "40", "4.00"]]
    record = report.to_json()["calls"][0]
    assert (record["function"], record["shape"], record["is_met"]) == ("dwt", [64], True)
    assert record["ratio"] == pytest.approx(1.3)


def test_goals_are_those_of_short_and_long_signals():
    found = [
        measure("dwt", (64,), 1.3),
        measure("idwt", (64,), 0.9),
        measure("wavedec", (16384,), 4.5),
        measure("cwt", (16,), 6.0),
        measure("cwt", (16384,), 4.9),
    ]
    assert [str(goal) for goal in report_calls(found).goals] == [
        "not met: no call slower than by PyWavelets (4 of 5; slower: idwt 64 0.90)",
        "not met: dwt and idwt of 64 samples at least 1.2 times as fast (dwt 64 1.30, idwt 64 0.90)",
        "met: wavedec of 16,384 samples at least 4 times as fast (wavedec 16,384 4.50)",
        "not met: cwt at least 5 times as fast (cwt 16 6.00, cwt 16,384 4.90)",
    ]
    assert not report_calls(found, is_whole=False).goals


def test_images_have_no_target_of_signals():
    assert CallCase("dwt", (8, 8), lambda library, x: library.dwt(x, "haar")).target == 1.0


def test_a_drawing_has_a_dot_for_each_size():
    found = [measure("dwt", (64,), 1.3), measure("dwt", (1024,), 2.0), measure("dwt2", (16, 16), 3.0)]
    first, second = draw_ratios(found).draw().axes
    assert [line.get_label() for line in first.lines[:2]] == ["64", "1,024"]
    assert list(first.lines[1].get_xdata()) == [pytest.approx(2.0)]
    assert [label.get_text() for label in second.get_yticklabels()] == ["dwt2"]

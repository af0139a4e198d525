"""Chunks beside memory: few tasks, the same numbers, and a table that says what it cost."""

import pytest

import subband
from subband.bench import dask as chunks
from subband.errors import ArgumentError

TIMES = (0.1, 0.2, 0.3)


@pytest.fixture(scope="module")
def found():
    return list(chunks.measure_overhead([("db2", "float64")], turns=2, is_quick=True))


def test_both_directions_are_measured(found):
    assert [each.direction for each in found] == ["forward", "inverse"]
    for each in found:
        for shortest, median, busy in (each.memory, each.computed, each.persisted):
            assert 0 < shortest <= median
            assert busy > 0
    # 16 chunks: 4 blocks, 16 bands and 16 cuts, then a block of 4 bands
    assert found[0].tasks <= 16 + 4 + 16 + 5


def test_wrong_results_have_no_times(monkeypatch):
    right = subband.wavedec2

    def distort(data, *args, **kwargs):
        coarse, *details = right(data, *args, **kwargs)
        return [coarse * 1.1 if hasattr(data, "chunks") else coarse, *details]

    monkeypatch.setattr(subband, "wavedec2", distort)
    with pytest.raises(ArgumentError, match="is not what comes of the array in memory"):
        next(chunks.measure_overhead([("db2", "float64")], turns=1, is_quick=True))


def test_a_report_says_what_is_missed():
    slow = (0.2, 0.4, 0.6)
    cases = [
        chunks.Overhead("db4", "float32", "forward", 64, 16, 1, 20, TIMES, slow, TIMES),
        chunks.Overhead("db4", "float32", "inverse", 64, 16, 1, 20, TIMES, TIMES, slow),
    ]
    report = chunks.report_overhead(cases)
    assert [goal.is_met for goal in report.goals] == [False, True]
    assert report.sheets[0].missed == [0]
    cells = "| db4, float32, forward | 20 | 200 | 400 | 2.00 | 2.00 | 2.00 | 1.00 | 1.00 | 1.00 |"
    assert cells in report.to_markdown()
    assert report.to_json()["overheads"][0]["ratio"] == pytest.approx(2)
    assert not chunks.report_overhead(cases, is_whole=False).goals

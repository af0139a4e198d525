"""Times as multiples of other times: which cases they are taken of, and how they are judged."""

from subband.bench import ratios
from subband.bench.cases import Case
from subband.bench.ratios import Ratio, judge_ratios, measure_levels, measure_load, tabulate_ratios, write_ratios
from subband.engines.measuring.timing import Effort

SHORT = Effort(seconds=0.001, fewest=1, most=1)


def test_five_levels_stand_beside_one(monkeypatch):
    monkeypatch.setattr(ratios, "_FULL_HD", (320, 352))
    cases = [
        Case((320, 352), level=5),
        Case((320, 352), level=5, inverse=True),
        Case((320, 352)),
        Case((8, 8), level=5),
    ]
    found = list(measure_levels(SHORT, cases))
    assert [each.name for each in found] == [cases[0].name, cases[1].name]
    assert all(each.base > 0 and each.seconds > 0 and each.most == 1.5 for each in found)


def test_other_processes_are_busy_meanwhile(monkeypatch):
    monkeypatch.setattr(ratios, "_FULL_HD", (320, 352))
    monkeypatch.setattr(ratios, "BUSY", 1)
    cases = [Case((320, 352)), Case((320, 352), "haar"), Case((320, 352), level=5, inverse=True)]
    found = list(measure_load(SHORT, cases))
    assert [each.name for each in found] == [cases[0].name, cases[2].name]
    assert {each.most for each in found} == {3.0}


def test_nothing_is_busy_where_nothing_is_measured():
    assert list(measure_load(SHORT, [Case((320, 352))])) == []


def test_what_is_missed_is_said():
    some = [Ratio("five levels beside one", "a", 1.0, 1.504, 1.5), Ratio("beside 4 busy processes", "b", 1.0, 3.2, 3.0)]
    assert [goal.is_met for goal in judge_ratios(some)] == [True, False]
    sheet = tabulate_ratios(some)
    assert sheet.missed == [1]
    assert [row[-1] for row in sheet.rows] == ["yes", "no"]
    assert [entry["is_met"] for entry in write_ratios(some)] == [True, False]

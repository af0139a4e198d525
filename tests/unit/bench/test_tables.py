"""Tables, what is expected of them, and how both are written."""

import json

from subband.bench.tables import Goal, Report, Sheet

SHEET = Sheet("Speed", ("case", "who", "ms"), [("a", "b", "1.0"), ("c", "d", "2.0")], "Less is better.", texts=2)
GOALS = [Goal("BayesShrink as near as 0.05 dB", "0.01 dB", True), Goal("at least 3 times", "2.0 times", False)]


def test_markdown_is_a_table():
    lines = SHEET.to_markdown().splitlines()
    assert lines[2:6] == ["| case | who | ms |", "| --- | --- | ---: |", "| a | b | 1.0 |", "| c | d | 2.0 |"]
    assert lines[-1] == "Less is better."


def test_screen_has_the_same_cells():
    table = SHEET.to_table()
    assert table.row_count == 2
    assert [column.header for column in table.columns] == ["case", "who", "ms"]
    assert [column.justify for column in table.columns] == ["left", "left", "right"]


def test_report_counts_and_keeps_letters():
    report = Report([SHEET], GOALS, {"figures": [1, 2]})
    assert report.summarise() == "1 of 2 targets met"
    text = report.to_markdown()
    assert "- met: BayesShrink as near as 0.05 dB (0.01 dB)" in text
    assert "- not met: at least 3 times (2.0 times)" in text
    record = json.loads(json.dumps(report.to_json()))
    assert record["figures"] == [1, 2]
    assert [goal["is_met"] for goal in record["goals"]] == [True, False]
    assert "scikit-image" in record["machine"]["versions"]


def test_nothing_expected_is_nothing_met():
    assert Report([SHEET]).summarise() == "no targets judged"


def test_remarks_and_a_summary_of_its_own_are_written():
    report = Report([SHEET], GOALS, remarks=["nobody is\n not installed"], summary="all but one")
    assert report.summarise() == report.to_json()["summary"] == "all but one"
    assert "- nobody is not installed\n\nall but one.\n\nMeasured on: " in report.to_markdown()


def test_columns_of_words_may_stand_at_the_right():
    sheet = Sheet("Speed", ("case", "ms", "met"), [("a", "1", "yes"), ("b", "2", "no")], last_texts=1, missed=(1,))
    assert "| --- | ---: | --- |" in sheet.to_markdown()
    table = sheet.to_table()
    assert [column.justify for column in table.columns] == ["left", "right", "left"]
    assert [str(row.style or "") for row in table.rows] == ["", "yellow"]

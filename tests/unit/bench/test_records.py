"""Records beside pages: what a command writes is what the page reads back, part by part and chapter by chapter."""

import json

import pytest

from subband.bench.records import (
    find_record,
    insert_section,
    load_record,
    merge_chapters,
    read_page,
    read_report,
    read_section,
    split_chapters,
    write_page,
)
from subband.bench.tables import Goal, Report, Sheet
from subband.cli.reporting import Outputs
from subband.errors import ArgumentError, FormatError

REPORT = Report(
    [Sheet("Speed", ["who", "ms", ""], [["a | b", "1.5", ""], ["c", "", "no"]], "A note."), Sheet("None", ["x"], [])],
    [Goal("fast (very)", "1.5 ms (of 2)", True), Goal("lean", "2 MB", False)],
    remarks=("c is not measured: no module named c",),
    summary="1 of 2 speed targets met; memory was not measured",
)


@pytest.fixture
def page(tmp_path):
    page = tmp_path / "page.md"
    (tmp_path / "records").mkdir()
    page.write_text(
        "# Page\n" + "".join(insert_section(tmp_path / "none", "", part) for part in ("cpu", "papers")) + "The end.\n"
    )
    return page


def test_a_report_reads_back_as_it_was_written():
    record = read_report(REPORT.to_markdown())
    written = json.loads(json.dumps(REPORT.to_json()))
    # cells with a bar cannot be told from two
    assert record["tables"][0]["rows"][1] == written["tables"][0]["rows"][1]
    assert {name: record[name] for name in ("goals", "summary", "measured_on")} == {
        name: written[name] for name in ("goals", "summary", "measured_on")
    }
    assert [table["title"] for table in record["tables"]] == ["Speed", "None"]


def test_commands_keep_a_record_beside_a_page(page):
    report = Report([Sheet("Speed", ["who", "ms"], [["a", "1"]])])
    Outputs(markdown=page).write("", {"cpu": report})
    Outputs(markdown=page).write("", {"haar": report, "orders": report}, "papers")
    record = load_record(find_record(page))
    read = read_page(page)
    assert set(record) == set(read) == {"cpu", "papers"}
    assert (
        record["cpu"]["tables"]
        == read["cpu"]["tables"]
        == [{"title": "Speed", "columns": ["who", "ms"], "rows": [["a", "1"]]}]
    )
    assert list(record["papers"]) == list(read["papers"]) == ["Haar", "Orders"]
    # a run of everything leaves nothing behind that it has not measured
    Outputs(markdown=page).write("", {"orders": report}, "papers")
    assert list(load_record(find_record(page))["papers"]) == list(read_page(page)["papers"]) == ["Orders"]
    assert page.read_text().endswith("The end.\n")


def test_pages_without_a_folder_have_no_record(tmp_path):
    page = tmp_path / "page.md"
    assert find_record(page) is None
    Outputs(markdown=page).write("", {"cpu": REPORT})
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_chapters_stay_where_they_are():
    section = "### A\n\none\n\n### B\n\ntwo\n\n**table**"
    assert split_chapters(section) == {"A": "one", "B": "two\n\n**table**"}
    assert merge_chapters(section, {"A": "new", "C": "three"}) == (
        "### A\n\nnew\n\n### B\n\ntwo\n\n**table**\n\n### C\n\nthree"
    )


def test_other_chapters_and_parts_keep_their_records(page):
    write_page(page, {"cpu": REPORT, "papers": {"A": REPORT, "B": REPORT}})
    before = load_record(find_record(page))
    write_page(page, {"papers": {"A": Report([])}}, keeps=True)
    kept = load_record(find_record(page))
    assert (kept["papers"]["B"], kept["cpu"], list(kept["papers"])) == (
        before["papers"]["B"],
        before["cpu"],
        ["A", "B"],
    )
    assert kept["papers"]["A"]["tables"] == []
    assert read_page(page)["papers"]["B"]["goals"] == before["papers"]["B"]["goals"]


def test_some_cases_are_refused_where_all_stand(page):
    Outputs(markdown=page).check("cpu", is_partial=True)
    Outputs(markdown=page).write("", {"cpu": REPORT})
    Outputs(markdown=page).check("cpu")
    with pytest.raises(ArgumentError, match="table of all cases"):
        Outputs(markdown=page).check("cpu", is_partial=True)
    with pytest.raises(FormatError, match="measured cuda"):
        read_section(page, "cuda")

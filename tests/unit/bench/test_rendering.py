"""Reports as a page and as HDF5: whole, escaped, and readable again."""

import json
import sys
from html.parser import HTMLParser

import pytest
from rich.console import Console

from subband.bench.figures import Figure, Panel
from subband.bench.rendering import show_report, to_html, to_json, write_hdf5
from subband.bench.tables import Goal, Report, Sheet
from subband.errors import MissingExtraError


@pytest.fixture
def report():
    panel = Panel("curve", "x", "y", is_x_log=True, is_y_log=True)
    panel.add_curve([1, 10, 100], [2, 20, 200], label="ours")
    panel.add_dots([1, 10], [3, 30])
    bars = Panel("bars", "ms", "frames")
    bars.add_bars([1, 2, 3], [5, 9, 2])
    return Report(
        [Sheet("Speed <1>", ["who", "ms"], [["a & b", "1.5"]], "a note")],
        [Goal("fast", "1.5 ms", True), Goal("faster", "1.5 ms", False)],
        {"times": [1.5, 2.5], "names": ["a", "b"], "none": None, "nested": {"a/b": 3}},
        drawings={"a drawing": Figure("Both", [[panel, bars]])},
        remarks=("c < d is left out",),
    )


class Balance(HTMLParser):
    """Counts what is open."""

    def __init__(self):
        super().__init__()
        self.open, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_no_other_file(report):
    page = to_html("Figures & more", {"one part": report})
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert all(source.startswith(("data:", "#")) for source in balance.sources)
    assert "Speed &lt;1&gt;" in page
    assert "a &amp; b" in page
    assert page.count("<li class='met'") == page.count("<li class='missed'") == 1
    assert "<li>c &lt; d is left out</li>" in page
    assert "<p>1 of 2 targets met</p>" in page
    assert str(report.machine.threads) in page


def test_hdf5_holds_every_figure(report, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "figures.h5"
    write_hdf5(path, {"one": report})
    with h5py.File(path) as file:
        assert file["one/times"][:].tolist() == [1.5, 2.5]
        assert file["one/names/1"][()].decode() == "b"
        assert file["one/nested/a|b"][()] == 3
        assert (
            file["one/machine/processor"][()].decode()
            == json.loads(json.dumps(report.to_json()))["machine"]["processor"]
        )
        assert "none" not in file["one"]


def test_rows_that_miss_and_columns_of_words_are_marked():
    sheet = Sheet("Speed", ["who", "ms", "met"], [["a", "1", "yes"], ["b", "9", "no"]], last_texts=1, missed=[1])
    page = to_html("Speed", {"one": Report([sheet], summary="half of it")})
    assert "<tr><td class='text'>a</td><td>1</td><td class='text'>yes</td></tr>" in page
    assert "<tr class='missed'><td class='text'>b</td>" in page
    assert "<p>half of it</p>" in page


def test_the_terminal_shows_tables_and_what_became_of_goals(report):
    console = Console(width=60)
    with console.capture() as capture:
        show_report(report, console)
    text = capture.get()
    for words in ("Speed <1>", "a & b", "a note", "met: fast (1.5 ms)", "not met: faster", "c < d is left out"):
        assert words in text
    # lines are not wrapped, however narrow the terminal is
    assert f"Measured on: {report.machine}" in text.splitlines()


def test_json_has_a_part_for_each_report(report):
    record = json.loads(to_json({"one": report, "two": report}))
    assert set(record) == {"one", "two"}
    assert record["two"]["remarks"] == ["c < d is left out"]
    assert record["one"]["times"] == [1.5, 2.5]


def test_hdf5_without_h5py_names_the_extra(report, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        write_hdf5(tmp_path / "figures.h5", {"one": report})

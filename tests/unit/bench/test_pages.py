"""Reports as a page and as HDF5: whole, escaped, and readable again."""

import json
from html.parser import HTMLParser

import pytest

from subband.bench.figure import Figure, Panel
from subband.bench.pages import to_html, write_hdf5
from subband.bench.tables import Goal, Report, Sheet


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
    assert page.count("class='met'") == page.count("class='missed'") == 1
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

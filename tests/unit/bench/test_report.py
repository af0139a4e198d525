"""Measurements are written for people and for programs."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from subband.bench.cases import Case, Target
from subband.bench.device_cases import DeviceCase
from subband.bench.measuring import Measurement
from subband.bench.records import insert_section
from subband.bench.report import report, summarise
from subband.engines.measuring.devices import DeviceRecord, describe_machine
from subband.errors import FormatError

FAST = Measurement(Case((8192, 8192)), ours=0.03, peers={"PyWavelets": 2.0}, copy=0.02, error=1e-7, memory=1.0)
SLOW = Measurement(
    Case((8192, 8192), inverse=True), ours=0.3, peers={"PyWavelets": 2.0}, copy=0.02, error=1e-7, memory=2.0
)


def test_summary_counts():
    assert summarise([FAST, SLOW]) == "1 of 2 speed targets met; 1 of 2 memory targets met"


def test_table_holds_times_and_ratios():
    console = Console(width=200)
    with console.capture() as capture:
        console.print(report([FAST, SLOW], describe_machine()).sheets[0].to_table())
    assert all(text in capture.get() for text in ("30.00", "66.7", "1.50", "yes", "no", "≥ 60× PyWavelets"))


def test_words_stand_at_the_left_and_numbers_at_the_right():
    sheet = report([FAST, SLOW], describe_machine()).sheets[0]
    kinds = {column: sheet.is_text(place) for place, column in enumerate(sheet.columns)}
    assert [column for column, is_text in kinds.items() if is_text] == ["case", "target", "met"]


def test_drawing_has_a_bar_for_each_case():
    (figure,) = report([FAST, SLOW], describe_machine()).drawings.values()
    speeds, copies = (row[0] for row in figure.panels)
    assert speeds.series["PyWavelets"] == pytest.approx([66.7, 6.67], rel=1e-3)
    assert copies.series["copies"] == pytest.approx([1.5, 15])
    assert figure.render().width > 500


def test_json_is_json():
    record = json.loads(json.dumps(report([FAST], describe_machine()).to_json()))
    assert record["summary"] == "1 of 1 speed targets met; 1 of 1 memory targets met"
    assert record["measurements"][0]["speedups"]["PyWavelets"] == pytest.approx(66.67, abs=0.01)
    assert record["machine"]["versions"]["numpy"]


def test_section_is_replaced_in_a_page(tmp_path):
    page = tmp_path / "page.md"
    first = insert_section(page, report([FAST], describe_machine()).to_markdown())
    page.write_text(f"# Title\n\n{first}\nThe end.\n", encoding="utf-8")
    second = insert_section(page, "new")
    assert second.startswith("# Title\n\n<!-- measured cpu: begin -->\n\nnew\n\n<!-- measured cpu: end -->\n")
    assert second.endswith("The end.\n")


def test_page_without_a_place_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    with pytest.raises(FormatError, match="measured cpu: begin"):
        insert_section(page, "new")


IMAGE = DeviceCase((8192, 8192), "cdf97", "whole", goal=Target({"ptwt": 20.0, "PDWT": 3.0}, bandwidth=0.88))
NEAR = Measurement(IMAGE, 0.15e-3, {"ptwt": 6e-3}, 0.13e-3, 1e-7, graph=0.14e-3)
SMALL = Measurement(
    DeviceCase((3, 1080, 1920), "cdf97", "whole", 3, axes=(1, 2), goal=Target(seconds=0.05e-3)),
    0.2e-3,
    {},
    0.01e-3,
    1e-7,
    graph=0.04e-3,
)
FREE = Measurement(DeviceCase((1080, 1920), "cdf97", "whole"), 0.2e-3, {}, 0.01e-3, 1e-7, remarks=("no graph",))
MISSED = Measurement(IMAGE, 0.15e-3, {"ptwt": 2e-3}, 0.13e-3, 1e-7, graph=0.14e-3)


def read_rows(text):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def test_table_of_devices():
    found = report([NEAR, SMALL, FREE, MISSED], describe_machine(), ["PDWT is not measured: it is not there"])
    assert found.sheets[0].missed == [0, 1, 3]
    text = found.to_markdown()
    near, small, free, missed = read_rows(text)
    assert near["× ptwt"] == "40.0"
    assert (near["of copy"], near["graph of copy"]) == ("0.867", "0.929")
    # only the graph is near enough to the copy, and PDWT, which is not there, is not held against it
    assert (near["target"], near["met"]) == ("≥ 20× ptwt, ≥ 0.88 of copy", "graph")
    assert (small["target"], small["met"], small["ptwt ms"]) == ("≤ 50 µs", "graph", "")
    assert (free["target"], free["met"], free["graph ms"]) == ("", "", "")
    assert missed["met"] == "no"
    assert "memory" not in near
    assert "- PDWT is not measured: it is not there\n- no graph" in text
    assert "0 of 3 speed targets met by the call itself, 2 more by its graph." in text


def test_note_tells_of_the_columns_that_are_there():
    whole, bare = (report(each, describe_machine()).sheets[0] for each in ([NEAR, FREE], [FREE]))
    assert "graph ms" in whole.columns
    assert all(words in whole.note for words in ("graph:", "of its graph", "by its graph only", "× a peer:"))
    assert "graph ms" not in bare.columns
    assert "graph" not in bare.note
    assert "peer" not in bare.note
    assert "of copy: the speed as a part of the copy's. Times of the device." in bare.note


def test_device_and_date_are_named():
    record = DeviceRecord("cuda:0", "Card", 2**37, versions={"driver": "580.1", "CUDA": "13.0", "CuPy": "14.2.0"})
    text = str(describe_machine(record))
    assert text.startswith("Card, 128 GiB; ")
    for part in ("driver 580.1", "CUDA 13.0", "CuPy 14.2.0", "numpy "):
        assert part in text
    assert re.search(r"; \d{4}-\d\d-\d\d$", text)


def test_each_part_of_a_page_is_replaced_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "".join(f"{part}\n{insert_section(tmp_path / 'none', f'old {part}', part)}" for part in ("cpu", "cuda")),
        encoding="utf-8",
    )
    text = insert_section(page, "new", "cuda")
    assert "old cpu" in text
    assert "old cuda" not in text
    assert text.index("old cpu") < text.index("new")
    with pytest.raises(FormatError, match="measured opencl: begin"):
        insert_section(page, "new", "opencl")


def test_page_of_the_documentation_has_a_place_for_each_part():
    page = Path(__file__).parents[3] / "docs" / "performance.md"
    for part in ("cpu", "cuda", "opencl"):
        assert "new figures" in insert_section(page, "new figures", part)

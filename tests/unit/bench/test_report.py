"""Measurements are written for people and for programs."""

import json

import pytest
from rich.console import Console

from subband.bench.cases import Case
from subband.bench.machine import describe_machine
from subband.bench.measuring import Measurement
from subband.bench.report import insert_section, summarise, to_json, to_markdown, to_table
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
        console.print(to_table([FAST, SLOW], describe_machine()))
    assert all(text in capture.get() for text in ("30.00", "66.7", "1.50", "yes", "no", "≥ 30× PyWavelets"))


def test_json_is_json():
    record = json.loads(json.dumps(to_json([FAST], describe_machine())))
    assert record["measurements"][0]["speedups"]["PyWavelets"] == pytest.approx(66.67, abs=0.01)
    assert record["machine"]["versions"]["numpy"]


def test_section_is_replaced_in_a_page(tmp_path):
    page = tmp_path / "page.md"
    first = insert_section(page, to_markdown([FAST], describe_machine()))
    page.write_text(f"# Title\n\n{first}\nThe end.\n", encoding="utf-8")
    second = insert_section(page, "new")
    assert second.startswith("# Title\n\n<!-- measured cpu: begin -->\n\nnew\n\n<!-- measured cpu: end -->\n")
    assert second.endswith("The end.\n")


def test_page_without_a_place_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    with pytest.raises(FormatError, match="measured cpu: begin"):
        insert_section(page, "new")

"""``subband bench``."""

import json

import pytest
from typer.testing import CliRunner

from subband.bench import cases
from subband.bench.cases import Case
from subband.cli import app

TINY = (Case((64, 96), is_quick=True), Case((64,), "db4", "symmetric", inverse=True))


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(cases, "CPU_CASES", TINY)
    return lambda *arguments: CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_everything_is_written(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Speed\n\n<!-- measured cpu: begin -->\nold\n<!-- measured cpu: end -->\n", encoding="utf-8")
    result = run("cpu", "--json", tmp_path / "figures.json", "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "of 2 speed targets met" in result.output
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert [entry["case"] for entry in record["measurements"]] == [case.name for case in TINY]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Speed")
    assert "old" not in text
    assert all(case.name in text for case in TINY)


def test_quick_and_only_choose(run):
    result = run("cpu", "--quick")
    assert TINY[0].name in result.output
    assert TINY[1].name not in result.output
    result = run("cpu", "--only", "db4")
    assert TINY[0].name not in result.output
    assert TINY[1].name in result.output


def test_bad_words_are_an_error(run):
    result = run("cpu", "--only", "quux")
    assert result.exit_code == 2
    assert "quux" in result.stderr


def test_page_is_checked_before_measuring(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Speed\n", encoding="utf-8")
    result = run("cpu", "--markdown", page)
    assert result.exit_code == 2
    assert "measured cpu: begin" in result.stderr


def test_no_command_shows_help(run):
    assert "cpu" in run().output

"""``subband devices``."""

import json

import pytest
from typer.testing import CliRunner

from subband.bench import machine
from subband.cli import app
from subband.engines import ENGINES


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(machine, "measure_copy", lambda: 12.34e9)
    return lambda *arguments: CliRunner().invoke(app, ["devices", *arguments])


def test_table_names_every_engine(run):
    result = run()
    assert result.exit_code == 0
    for text in (*ENGINES, "Numba", "GiB"):
        assert text in result.output
    assert "GB/s" not in result.output


def test_copy_is_measured_on_request(run):
    assert "12.3 GB/s" in run("--measure").output


def test_json(run):
    record = json.loads(run("--json", "--measure").output)
    assert [entry["engine"] for entry in record["engines"]] == list(ENGINES)
    assert sum(entry["is_default"] for entry in record["engines"]) == 1
    assert record["engines"][0]["threads"] >= 1
    assert record["engines"][0]["copy_bytes_per_second"] == 12.34e9
    assert record["machine"]["processor"]

"""What is said about frames host to host."""

import json

import pytest

from subband.bench.streaming import Streaming, main, measure_pipeline, to_json, to_table

STAGES = {"upload": 4e-4, "compute": 3e-4, "download": 5e-4, "both": 6e-4}


def make(name="4K", seconds=6e-4, deviation=1, stages=STAGES):
    return Streaming(name, (2160, 3840, 3), seconds, 5e-3, stages, deviation, True)


def test_the_slower_direction_is_the_limit():
    measured = make()
    assert measured.limit == pytest.approx(2000)
    assert measured.fraction == pytest.approx(5 / 6)
    assert measured.is_met
    assert not make(seconds=7e-4).is_met
    assert not make(deviation=2).is_met


def test_without_stages_or_target_nothing_is_claimed():
    assert make(stages={}).fraction is None
    assert make(stages={}).is_met is None
    assert make("1080p").is_met is None


def test_measures_and_writes(tmp_path, capsys):
    measured = measure_pipeline("tiny", "cpu", count=2, turns=1, shape=(40, 56))
    assert measured.is_right
    record = json.loads(json.dumps(to_json([measured, make()], "cpu", 3)))
    assert record["measurements"][1]["is_met"]
    assert to_table([measured, make()], "cpu", 3).row_count == 2


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("subband.bench.streaming.SIZES", {"1080p": (36, 64)})
    output = tmp_path / "figures.json"
    main(["--engine", "cpu", "--sizes", "1080p", "--count", "2", "--turns", "1", "--output", str(output)])
    assert "1080p" in capsys.readouterr().out
    assert json.loads(output.read_text())["measurements"][0]["is_right"]

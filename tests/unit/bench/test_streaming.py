"""What is said about frames host to host."""

import pytest

from subband.bench.streaming import Streaming, choose_sizes, measure_pipeline, report
from subband.errors import ArgumentError

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


def test_report():
    measured = measure_pipeline("tiny", "cpu", count=2, turns=1, shape=(40, 56))
    found = report([measured, make(), make("8K", seconds=7e-4)], "cpu", 3)
    assert [row[0] for row in found.sheets[0].rows] == ["tiny", "4K", "8K"]
    assert found.sheets[0].rows[0][2:4] == ["", ""]
    assert found.sheets[0].rows[1][1:4] == ["1666.7", "2000.0", "0.83"]
    assert [goal.is_met for goal in found.goals] == [True, True, True, True, False]
    assert found.figures["measurements"][2]["is_met"] is False


def test_sizes_are_chosen_by_name():
    assert choose_sizes(["8k", "1080p"]) == ["8K", "1080p"]
    assert choose_sizes() == ["1080p", "4K", "8K"]
    with pytest.raises(ArgumentError, match="size='5K' is none of 1080p, 4K, 8K"):
        choose_sizes(["5K"])

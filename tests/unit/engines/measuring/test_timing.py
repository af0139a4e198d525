"""Contenders take turns."""

from time import sleep

import pytest

from subband.engines.measuring.timing import Effort, take_turns


def test_turns_are_interleaved():
    order = []

    def contend(name, seconds):
        order.append(name)
        sleep(seconds)

    effort = Effort(seconds=0.02, fewest=2, most=8, turn=1e-4)
    times = take_turns({"quick": lambda: contend("q", 0.001), "slow": lambda: contend("s", 0.02)}, effort)
    assert times["quick"] >= 0.001
    assert times["slow"] >= 0.02
    turns = "".join(order[4:])
    assert turns.count("s") == 2
    # one of the slow turns comes before half of the quick ones are over
    assert "q" in turns[turns.index("s") :]


def test_short_calls_are_repeated():
    calls = []
    take_turns({"short": lambda: calls.append(1)}, Effort(seconds=0.001, fewest=1, most=1, turn=1e-3))
    assert len(calls) > 100


def test_error_of_a_contender_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        take_turns({"broken": lambda: 1 / 0}, Effort())

"""Damaged files, for as long as a test may take; ``make fuzz`` tries many more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # scripts, which import each other
import fuzz
import fuzz_vc2


def test_damaged_files_end_well():
    found, failures = fuzz.run(2000, seconds=20)
    assert not failures, failures[:5]
    assert found["error"] > 0
    assert found["picture"] + found["warning"] > 0


def test_damaged_streams_and_packets_end_well():
    found, failures = fuzz_vc2.run(300, seconds=10)
    assert not failures, failures[:5]
    assert min(found["error"], found["frames"], found["received"]) > 0


@pytest.mark.parametrize("number", range(len(fuzz._SETTINGS)))
def test_files_cut_anywhere(number):
    data = fuzz.make_file(number)
    for length in range(0, len(data), max(1, len(data) // 25)):
        fuzz.try_file(data[:length])


def test_damage_is_the_same_every_time():
    assert fuzz.damage_file(5) == fuzz.damage_file(5)
    assert len({fuzz.damage_file(number) for number in range(50)}) > 40

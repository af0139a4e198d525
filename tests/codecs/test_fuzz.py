"""Damaged files, for as long as a test may take; ``make fuzz`` tries many more."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
fuzz = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz)


def test_damaged_files_end_well():
    found, failures = fuzz.run(2000, seconds=20)
    assert not failures, failures[:5]
    assert found["error"] > 0
    assert found["picture"] + found["warning"] > 0


@pytest.mark.parametrize("number", range(len(fuzz._SETTINGS)))
def test_files_cut_anywhere(number):
    data = fuzz.make_file(number)
    for length in range(0, len(data), max(1, len(data) // 25)):
        fuzz.try_file(data[:length])


def test_damage_is_the_same_every_time():
    assert fuzz.damage_file(5) == fuzz.damage_file(5)
    assert len({fuzz.damage_file(number) for number in range(50)}) > 40

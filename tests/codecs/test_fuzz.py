"""Damaged files, for as long as a test may take; ``make fuzz`` tries many more."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # scripts, which import each other
import fuzz
import fuzz_vc2
import fuzzing


def test_damaged_files_end_well():
    outcome = fuzz.run(2000, seconds=20)
    assert not outcome.failures, outcome.failures[:5]
    assert outcome.kinds["error"] > 0
    assert outcome.kinds["picture"] + outcome.kinds["warning"] > 0


def test_damaged_streams_and_packets_end_well():
    outcome = fuzz_vc2.run(300, seconds=10)
    assert not outcome.failures, outcome.failures[:5]
    assert min(outcome.kinds["error"], outcome.kinds["frames"], outcome.kinds["received"]) > 0


def test_all_encoders_write_the_files_that_are_damaged():
    files = [fuzz.make_file(number) for number in range(fuzz._FILES)]
    # bit 14 of what SIZ says of capabilities, behind SOC, the marker and its length
    fast = [file[file.index(b"\xff\x4f\xff\x51") + 6] >> 6 & 1 for file in files]
    ours, others = fast[: fuzz._OURS], fast[fuzz._OURS :]
    assert 0 < sum(ours) < len(ours)
    assert others == [0] * fuzz._THEIRS + [1] * fuzz._THEIRS + [0] * fuzz._THEIRS


def test_the_last_line_tells_what_became_of_all(capsys, monkeypatch):
    def attempt(number):
        if number == 12:
            raise ValueError("no")
        return "picture" if number % 2 else "error"

    def run_some(count, first, seconds):
        return fuzzing.run(attempt, count, first, seconds, most_seconds=9.0, most_bytes=1 << 40)

    monkeypatch.setattr(sys, "argv", ["fuzz.py", "5", "--first", "10"])
    assert fuzzing.main(run_some, None) == 1
    failure, last = capsys.readouterr().out.splitlines()
    assert failure == "12: ValueError: no"
    assert re.fullmatch(
        r"from 10 on, 4 tried: error 2, picture 2; 1 failures; slowest \d+\.\d\d s of the processor "
        r"\(number 1[0134]\); largest memory \d+ MiB",
        last,
    )


@pytest.mark.parametrize("number", range(len(fuzz._SETTINGS)))
def test_files_cut_anywhere(number):
    data = fuzz.make_file(number)
    for length in range(0, len(data), max(1, len(data) // 25)):
        fuzz.try_file(data[:length])


def test_damage_is_the_same_every_time():
    assert fuzz.damage_file(5) == fuzz.damage_file(5)
    assert len({fuzz.damage_file(number) for number in range(50)}) > 40

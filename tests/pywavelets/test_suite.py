"""PyWavelets' own test files, from the installed wheel, run with subband in the place of pywt.

Each file runs in a process of its own, into which the plugin `stand_in` puts subband before anything else; the other
tests of this process go on comparing with the real PyWavelets.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

import subband

HERE = Path(__file__).parent
SUITE = Path(find_spec("pywt").origin).parent / "tests"
FILES = sorted(path.name for path in SUITE.glob("test_*.py"))

#: Tests by identifier, with the reason why they fail or are skipped.
KNOWN = tomllib.loads((HERE / "known_differences.toml").read_text(encoding="utf-8"))

#: How many tests the wheel holds, how many of these run without MATLAB, and how many of those have to pass.
COLLECTED, RUNNABLE, REQUIRED = 1035, 1033, 1030


def run_suite(*arguments, path=HERE):
    """Run pytest on files of the suite, away from our own settings, and return what it did."""
    folders = [str(path), str(HERE), str(Path(subband.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    # The folders above the tests are the package pywt itself, which pytest must not import.
    bounds = ["-c", os.devnull, f"--rootdir={SUITE}", f"--confcutdir={SUITE}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "stand_in", "-p", "no:cacheprovider", "-q", *bounds, *arguments],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "default",
        },
        cwd=SUITE,
        capture_output=True,
        text=True,
        check=False,
    )


def read_outcomes(report, file):
    """Return the identifiers of failed and of skipped tests, and the number of all."""
    failed, skipped, cases = set(), set(), list(ET.parse(report).iter("testcase"))
    for case in cases:
        identifier = f"{file}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(identifier)
        elif case.find("skipped") is not None:
            skipped.add(identifier)
    return failed, skipped, len(cases)


def of_file(table, file):
    return {identifier for identifier in KNOWN[table] if identifier.startswith(f"{file}::")}


@pytest.mark.parametrize("file", FILES)
def test_file_passes(file, tmp_path):
    report = tmp_path / "report.xml"
    process = run_suite(str(SUITE / file), f"--junitxml={report}")
    assert report.exists(), process.stdout + process.stderr
    failed, skipped, count = read_outcomes(report, file)
    assert failed == of_file("differences", file), process.stdout[-20_000:]
    assert skipped == of_file("skipped", file)
    assert count > 0 or file == "test_doc.py"


def test_all_tests_of_the_wheel_are_there():
    process = run_suite("--collect-only", *(str(SUITE / file) for file in FILES))
    found = re.search(r"(\d+) tests? collected", process.stdout)
    assert found, process.stdout + process.stderr
    assert version("PyWavelets").startswith("1.9.")
    assert int(found[1]) == COLLECTED


def test_a_wrong_transform_is_noticed(tmp_path):
    """The files are run with subband, and not with the PyWavelets that is installed beside it."""
    (tmp_path / "spoil.py").write_text(
        "import subband\n\noriginal = subband.dwt\n\n\ndef dwt(*arguments, **options):\n"
        "    low, high = original(*arguments, **options)\n    return high, low\n\n\nsubband.dwt = dwt\n"
    )
    report = tmp_path / "report.xml"
    process = run_suite(
        "-p",
        "spoil",
        "-k",
        "test_dwt_idwt_basic",
        str(SUITE / "test_dwt_idwt.py"),
        f"--junitxml={report}",
        path=tmp_path,
    )
    assert report.exists(), process.stdout + process.stderr
    failed, _, count = read_outcomes(report, "test_dwt_idwt.py")
    assert failed
    assert len(failed) <= count


def test_enough_tests_pass():
    """What fails or is skipped in each file is just what is known, so the rest of all that are collected passes."""
    passed = COLLECTED - sum(map(len, KNOWN.values()))
    assert REQUIRED <= passed <= RUNNABLE
    assert all(reason.strip() for table in KNOWN.values() for reason in table.values())

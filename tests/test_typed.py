"""Programs of users, checked as they would check them: strictly by mypy, and by pyright.

A line that ends in ``# wrong: …`` has to be refused by both, and no other.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typed"
SOURCE = Path(__file__).parent.parent / "src"


def list_wrong():
    """Return the name and line of what has to be refused."""
    return {
        (path.name, number)
        for path in FOLDER.glob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if "# wrong: " in line
    }


def run_mypy(folder):
    options = ["--strict", "--no-error-summary", "--no-pretty", "--cache-dir", str(folder), "--config-file", os.devnull]
    environment = {**os.environ, "MYPYPATH": str(SOURCE)}
    # our own sources have settings of their own, and are checked with those
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--follow-imports=silent", *map(str, sorted(FOLDER.glob("*.py")))],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    return re.findall(r"^(?:.*/)?(\w+\.py):(\d+): error: (.*)$", run.stdout, re.MULTILINE)


def run_pyright(folder):
    settings = {"include": [str(FOLDER)], "extraPaths": [str(SOURCE)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings | {"pythonVersion": "3.11"}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "--project"]
    run = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    found = [each for each in json.loads(run.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    return [(Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["message"]) for each in found]


@pytest.mark.slow
@pytest.mark.parametrize("check", [run_mypy, run_pyright], ids=["mypy", "pyright"])
def test_right_lines_pass_and_wrong_ones_do_not(check, tmp_path):
    found = {(name, int(line)): message for name, line, message in check(tmp_path)}
    wrong = list_wrong()
    assert len(wrong) >= 10
    assert {place: found[place] for place in found.keys() - wrong} == {}
    assert wrong - found.keys() == set()

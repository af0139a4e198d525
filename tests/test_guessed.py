"""Programs that newcomers wrote from guesses, before they had read anything, run as they are."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import subband

PROGRAMS = sorted((Path(__file__).parent / "guessed").glob("*.py"))


@pytest.fixture
def folder(tmp_path):
    """Make a folder with photographs, one more in a folder of their own, and a clip."""
    photograph = subband.data.photograph()[:96, :128]
    (tmp_path / "photos").mkdir()
    for name in ("photo.jpg", "photo.png", "photos/first.jpg", "photos/second.png"):
        subband.imwrite(tmp_path / name, photograph)
    with (
        subband.media.open_source(subband.data.clip_path(), trim="0f:3f") as source,
        subband.media.open_sink(tmp_path / "clip.mp4", source.info, audio=False, preset="ultrafast") as sink,
    ):
        for frame in source:
            sink.write(frame)
    return tmp_path


def find_libraries(program):
    """Return the libraries that a program imports at its top."""
    for node in ast.parse(program.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_there_are_twelve_and_ten():
    assert len(PROGRAMS) == 22


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_guessed_program_runs_as_written(program, folder):
    if missing := [library for library in find_libraries(program) if find_spec(library) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [sys.executable, str(program)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr

"""What these tests need, and which of them a process runs if several share them; see ``spread.py``."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from subband.engines import get_engine
from subband.errors import MissingExtraError, NoDeviceError

CLAIMS = "SUBBAND_TEST_CLAIMS"


class SkippedFile(pytest.File):
    """A file of tests that is not imported, because it needs CuPy and a GPU at its top."""

    def collect(self):
        pytest.skip(_find_fault())


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Skip the files of tests where there is no GPU, for whoever looks into them: tests and doctests."""
    found = yield
    if not found or not file_path.name.startswith("test_") or _find_fault() is None:
        return found
    return [SkippedFile.from_parent(parent, path=file_path)]


@cache
def _find_fault() -> str | None:
    """Say why the CUDA engine is not there."""
    try:
        get_engine("cuda")
    except (MissingExtraError, NoDeviceError) as missing:
        return str(missing)
    return None


def pytest_runtestloop(session):
    """Run the tests that no other process has begun: who makes the file of a test in the folder of claims runs it.

    Tests take between a millisecond and a minute, so a fixed share would leave most processes waiting for one.
    """
    folder = os.environ.get(CLAIMS)
    if not folder or session.config.option.collectonly:
        return None
    for number, item in enumerate(session.items):
        if _claim(Path(folder, str(number)), item.nodeid):
            # the next one may be another process's, so nothing is kept for it
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def _claim(path: Path, name: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as claim:
            claim.write(name)
    except FileExistsError:
        return False
    return True

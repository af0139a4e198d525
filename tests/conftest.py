"""How Hypothesis looks for examples, and what tests of all folders need.

The default is the same examples every time; ``--hypothesis-profile=thorough`` looks for many more, at random.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import subband
from subband.engines import registry

# Programs of users, which `test_guessed.py` and `test_typed.py` run and check; not modules with examples.
collect_ignore = ["guessed", "typed"]

# Drawing an array takes longer than drawing a number, and compiling a kernel much longer.
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, max_examples=300, suppress_health_check=SLOW
)
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=SLOW)
settings.load_profile("steady")

# PoCL takes seconds to optimise a kernel, and the tests have hundreds of them that run for milliseconds.
os.environ.setdefault("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")


def pytest_configure() -> None:
    """Let tests that end programs do so, and remove compiled kernels that are older than their sources."""
    # shells start background jobs with SIGINT ignored, and nohup ignores SIGHUP; whatever is started inherits that
    for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    _remove_stale_kernels()


def _remove_stale_kernels() -> None:
    """Remove compiled kernels that are older than what they were compiled from.

    Numba looks only at the file of the compiled function, and ours are made of several.
    """
    for compiled in Path(subband.__file__).parent.rglob("__pycache__/*.nb[ci]"):
        newest = max(path.stat().st_mtime for path in compiled.parent.parent.glob("*.py"))
        # another process of the same run may be quicker
        with suppress(FileNotFoundError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()


#: The engine that this run is about.
_ENGINE = registry._chosen or "cpu"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Have the test fail that leaves another engine behind, and none of those that come after it."""
    yield
    left = registry.get_engine()
    if left is not registry.get_engine(_ENGINE):
        registry.set_engine(_ENGINE)
        raise AssertionError(f"a test has left {left!r} behind; see `own_engines`")


@pytest.fixture
def own_engines(monkeypatch):
    """Have engines made anew for a test; those that were there are the engines of the other tests again."""
    monkeypatch.setattr(registry, "_load_engine", cache(registry._load_engine.__wrapped__))
    monkeypatch.setattr(registry, "_current", None)

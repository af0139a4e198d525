"""What a terminal shows while files are waited for."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import numba

import subband
from subband.cli.progress import Compilation, is_loaded

PACKAGE = Path(subband.__file__).parent
WORDS = "compiling kernels, once for this machine"


def test_compiling_is_seen_while_it_lasts():
    seen = []

    def probe(x):
        return x

    @numba.extending.overload(probe)
    def look(x):
        # called while types are inferred, which is a part of compiling
        seen.append(compilation.is_under_way)
        return lambda x: x

    compiled = numba.njit(lambda x: probe(x) + 1)
    with Compilation() as compilation:
        assert not compilation.is_under_way
        assert compiled(1.0) == 2.0
        assert seen
        assert all(seen)
        assert not compilation.is_under_way
        before = len(seen)
        compiled(2.0)
        assert len(seen) == before
    compiled(1)
    assert len(seen) > before
    assert not any(seen[before:])


SCRIPT = """
import time
from subband.cli.progress import watch_progress
from subband.pipeline.relay import Progress

with watch_progress(is_quiet=False) as observe_file:
    observe = observe_file("[scan].png")
    import numba

    def probe(x):
        return x

    @numba.extending.overload(probe)
    def look(x):
        time.sleep(SECONDS)
        return lambda x: x

    time.sleep(0.4)
    numba.njit(lambda x: probe(x))(1.0)
    observe(Progress(1, 2, 1.0))
    time.sleep(0.4)
"""


def show_on_terminal(script):
    parent, child = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=child, stdout=child)
    os.close(child)
    text = b""
    with contextlib.suppress(OSError):
        while part := os.read(parent, 4096):
            text += part
    os.close(parent)
    assert process.wait(20) == 0, text.decode()
    return text.decode()


def test_terminal_says_so():
    shown = show_on_terminal(SCRIPT.replace("SECONDS", "0.5"))
    assert f"[scan].png: {WORDS}" in shown
    assert "1/2" in shown
    # it is the name alone before, and again as soon as there is a frame
    assert shown.index("[scan].png ") < shown.index(WORDS)
    assert WORDS not in shown[shown.index("1/2") - 100 :]


def test_terminal_does_not_say_so_of_kernels_that_are_there():
    lines = [line for line in SCRIPT.splitlines() if "numba.njit" not in line]
    shown = show_on_terminal("\n".join(lines))
    assert "[scan].png " in shown
    assert WORDS not in shown


def test_nothing_is_loaded_for_it():
    code = "import sys; from subband.cli.progress import Compilation; assert not Compilation().is_under_way; "
    code += "assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}, check=True)


def test_a_module_that_is_only_begun_is_not_loaded(monkeypatch):
    class Spec:
        _initializing = True

    class Module:
        __spec__ = Spec

    monkeypatch.setitem(sys.modules, "half.done", Module)
    assert not is_loaded("half.done")
    Spec._initializing = False
    assert is_loaded("half.done")

"""As in a container: another user without a home, a package that cannot be written to, and nothing is compiled.

``python tests/unit/compiled/test_read_only.py SITE-PACKAGES`` does the same with an installed package, and prints how
long first calls and later ones take.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

import subband
from subband.compiled import library

#: What is called, each in a process of its own.
CALLS = {
    "dwt": 'subband.dwt([1, 2, 3, 4], "db1")',
    "dwt2": 'subband.dwt2(image[..., 0], "db4")',
    "wavedec2": 'subband.wavedec2(image, "bior4.4", axes=(0, 1))',
    "denoise": "subband.denoise(image)",
    "encode": "app(['encode', picture, 'out.jp2', '--force', '--quiet'], standalone_mode=False)",
}

CODE = """
import json, sys, time
from pathlib import Path
import numpy
begin = time.perf_counter()
import subband
if "image" in sys.argv[1] or "picture" in sys.argv[1]:
    from subband.cli import app
    from subband.data import photograph
    image, picture = photograph(), str(Path(subband.__file__).parent / "data" / "photograph.jpg")
    begin = time.perf_counter()
times = []
for _ in range(4):
    eval(sys.argv[1])
    times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
from subband.compiled.kernel import list_compiled
print(json.dumps([subband.__file__, list_compiled(), "numba" in sys.modules, times]))
"""

#: Another user, who may read what belongs to others: an interpreter in root's home would be out of reach.
_RIGHTS = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
STRANGER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *_RIGHTS] if os.geteuid() == 0 else []


def call_as_stranger(site, call):
    """Return what a process found that calls something with the package in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        command = [*STRANGER, sys.executable, "-W", "error", "-c", CODE, call]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
        finished = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


@contextmanager
def make_read_only(folder):
    """Take the right to write to a folder and to all that is in it, and give it back in the end."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path in paths:
            if path.is_dir():
                path.chmod(0o755)


@pytest.fixture(scope="module")
def site():
    """A copy of the package that nobody can write to, where others can read it."""
    if library.find_library()._container is None:
        pytest.skip("no kernels for this processor: run `make kernels`")
    if STRANGER and shutil.which("setpriv") is None:
        pytest.skip("root can write everywhere, and there is no setpriv to be somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        own = Path(folder) / "site"
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(Path(subband.__file__).parent, own / "subband", ignore=ignored)
        with make_read_only(own):
            yield own


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_compiled(site, name):
    file, compiled, has_numba, _ = call_as_stranger(site, CALLS[name])
    assert Path(file).parent.parent == site
    assert compiled == []
    assert not has_numba


if __name__ == "__main__":
    for name, call in CALLS.items():
        file, compiled, has_numba, times = call_as_stranger(sys.argv[1], call)
        first, later = times[0], min(times[1:])
        print(f"{name:8s} first {first:.3f} s, later {later:.3f} s, compiled {compiled}, Numba {has_numba}, {file}")

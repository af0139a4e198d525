from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.compiled import compiling

NOBODY = 65534

CODE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np, subband
    low, high = subband.dwt(np.array([1.0, 2.0, 3.0, 4.0]), "haar")
    from subband.engines.cpu.frame_tables import find_shrink_loop
    find_shrink_loop("soft", "float64")
print([str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)])
print(low.tolist())
"""


@pytest.fixture(scope="module")
def read_only_package(tmp_path_factory):
    """Copy the package, without what is compiled, to a folder that nobody may write to."""
    folder = tmp_path_factory.mktemp("site-packages")
    source = Path(subband.__file__).parent
    shutil.copytree(source, folder / "subband", ignore=shutil.ignore_patterns("__pycache__", "*.mp4", "*.jpg"))
    # others come here too, by way of folders that pytest keeps to itself
    for parent in folder.parents:
        if parent.is_relative_to(Path(os.environ.get("TMPDIR", "/tmp"))) and parent.owner() == Path.home().owner():
            parent.chmod(parent.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in paths:
        if path.is_dir():
            path.chmod(0o755)


def drop_override():
    """Let root be subject to the permissions of files, from the next program on: capability 1 overrides them."""
    pr_capbset_drop, cap_dac_override = 24, 1
    if ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override, 0, 0, 0) != 0:
        os._exit(99)


def run_homeless(code, folder, **environment):
    """Run code with the package in a folder, without a home, as somebody who may not write everywhere."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/proc/nonexistent",
        "PYTHONPATH": os.pathsep.join([str(folder), *(path for path in sys.path if "site-packages" in path)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SUBBAND_KERNELS": "0",
        **environment,
    }

    def run(code, **user):
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False, **user)

    if os.getuid() != 0:
        return run(code)
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
    try:
        if run("import numba, subband", **nobody).returncode == 0:
            return run(code, **nobody)
    except PermissionError:
        pass
    # root's own Python is not for others
    return run(code, preexec_fn=drop_override)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users as Unix has them")
@pytest.mark.parametrize("has_cache", [False, True])
def test_a_package_that_nobody_may_write_to(read_only_package, has_cache):
    environment = {}
    if has_cache:
        cache = read_only_package.parent / "cache"
        cache.mkdir()
        cache.chmod(0o777)
        environment["NUMBA_CACHE_DIR"] = str(cache)
    finished = run_homeless(CODE, read_only_package, **environment)
    if finished.returncode == 99:
        pytest.skip("root may not give up its rights here, and others may not run its Python")
    assert finished.returncode == 0, finished.stderr
    warned, low = finished.stdout.splitlines()
    np.testing.assert_allclose(json.loads(low), np.array([3.0, 7.0]) / np.sqrt(2))
    if has_cache:
        assert warned == "[]"
        assert list(cache.rglob("*.nbi"))
    else:
        assert warned.count("compiled kernels cannot be kept on disk") == 1
        assert "NUMBA_CACHE_DIR" in warned
    assert not list(read_only_package.rglob("*.nbi"))


@pytest.fixture
def warned_before():
    before, compiling._has_warned = compiling._has_warned, False
    yield
    compiling._has_warned = before


def double(x):
    return 2 * x


def test_a_full_disk_costs_the_cache_only(warned_before, monkeypatch):
    def fail(self, sig, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiling.FunctionCache, "save_overload", fail)
    compiled = compiling.stored(nogil=True)(double)
    with pytest.warns(RuntimeWarning, match=r"cannot be kept on disk.*NUMBA_CACHE_DIR.*No space left"):
        assert compiled(4) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(4.5) == 9.0


def test_other_faults_of_the_cache_are_told(monkeypatch):
    def fail(self, function):
        raise RuntimeError("Unknown cache locator class")

    monkeypatch.setattr(compiling._TolerantCache, "__init__", fail)
    with pytest.raises(RuntimeError, match="Unknown cache locator"):
        compiling.stored()(double)


def test_code_that_checks_its_indices_is_not_kept(monkeypatch):
    """Numba finds kept code by signature and source alone, so that a run with checks would use code without."""
    assert isinstance(compiling.stored()(double)._cache, compiling.FunctionCache)
    monkeypatch.setattr(compiling.nb.config, "BOUNDSCHECK", 1)
    assert not isinstance(compiling.stored()(double)._cache, compiling.FunctionCache)


def test_every_kernel_that_is_kept_is_kept_in_this_way():
    """A decorator of Numba's own with a cache would fail where no folder can be written to."""
    own = Path(compiling.__file__)
    sources = [path for path in Path(subband.__file__).parent.rglob("*.py") if path != own]
    assert not [path.name for path in sources if "cache=True" in path.read_text(encoding="utf-8")]

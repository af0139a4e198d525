"""How commands write: what a full disk leaves, links, and datasets of HDF5 files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
from subband.cli import app

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}

# Runs commands one after the other on a disk that takes files of a certain size.
PROGRAM = """
import json, resource, sys
from typer.testing import CliRunner
from subband.cli import app

results = []
for size, *arguments in json.load(sys.stdin):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    result = CliRunner().invoke(app, arguments)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    results.append([result.exit_code, result.stderr])
print(json.dumps(results))
"""

COMMANDS = [
    ("denoise", "IN.png", "OUT/a.jpg"),
    ("denoise", "IN.png", "OUT/a.bmp"),
    ("denoise", "IN.png", "OUT/a.tif"),
    ("denoise", "IN.npy", "OUT/a.tif"),
    ("denoise", "IN.npy", "OUT/a.h5"),
    ("denoise", "IN.npy", "OUT/a.h5:scan/ct"),
    ("denoise", "IN.npy", "OUT/a.zarr"),
    ("pyramid", "IN.npy", "OUT/a.ome.zarr"),
    ("decompose", "IN.png", "-o", "OUT/a.png", "--save", "OUT/a.npz"),
    ("encode", "IN.png", "OUT/a.jp2"),
    ("wavelets", "db2", "--plot", "OUT/a.png"),
    ("wavelets", "db2", "--plot", "OUT/a.bmp"),
    ("reshape", "head", "OUT/a.ply"),
]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def inputs(tmp_path):
    random = np.random.default_rng(0)
    Image.fromarray(random.integers(0, 256, (96, 96, 3), np.uint8)).save(tmp_path / "IN.png")
    np.save(tmp_path / "IN.npy", random.integers(0, 2**16, (6, 64, 64), np.uint16))
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files can be limited on Unix only")
def test_a_full_disk_is_an_error_and_leaves_nothing(inputs):
    (inputs / "OUT").mkdir()
    lines = [[700, *command] for command in COMMANDS]
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=inputs, env=ENVIRONMENT, input=json.dumps(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for arguments, (code, errors) in zip(COMMANDS, json.loads(done.stdout), strict=True):
        # kernels that are compiled here cannot be kept on such a disk either, which is told besides
        lines = [line for line in errors.splitlines() if "compiled kernels cannot be kept" not in line]
        assert (code, len(lines)) == (2, 1), (arguments, errors)
        assert "cannot be written: files of this size are not allowed there" in lines[0]
    assert list((inputs / "OUT").iterdir()) == []


def test_datasets_may_lie_in_groups(inputs):
    h5py = pytest.importorskip("h5py")
    for name in ("scan/ct", "scan/mr"):
        result = run("filter", inputs / "IN.npy", f"{inputs}/a.h5:{name}", "--force")
        assert result.exit_code == 0, result.output
    with h5py.File(inputs / "a.h5") as file:
        assert {name: file["scan"][name].shape for name in file["scan"]} == {"ct": (6, 64, 64), "mr": (6, 64, 64)}
    assert sorted(path.name for path in inputs.iterdir()) == ["IN.npy", "IN.png", "a.h5"]


def test_a_dataset_holds_one_volume(inputs):
    np.save(inputs / "two.npy", np.zeros((2, 8, 8), np.uint16))
    result = run("filter", inputs / "IN.npy", inputs / "two.npy", f"{inputs}/a.h5:scan/ct")
    assert result.exit_code == 2
    assert "names a dataset, which holds one volume, and 2 were given" in result.stderr
    assert not (inputs / "a.h5").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links are those of Unix")
@pytest.mark.parametrize("name", ["a.png", "a.mkv", "a.npy", "a.h5"])
def test_links_are_written_through(inputs, name):
    (inputs / "disk").mkdir()
    link = inputs / name
    link.symlink_to(f"disk/{name}")
    source = {"png": "IN.png", "mkv": "test:32x24@25?count=3"}.get(name[2:], "IN.npy")
    for options in ((), ("--force",)):
        result = run("filter", inputs / source if source.startswith("IN") else source, link, *options)
        assert result.exit_code == 0, result.output
        assert link.is_symlink()
        assert [path.name for path in (inputs / "disk").iterdir()] == [name]
        assert not (inputs / "disk" / name).is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of Unix")
def test_permissions_of_what_is_replaced_stay(inputs):
    (inputs / "a.png").touch()
    (inputs / "a.png").chmod(0o640)
    assert run("filter", inputs / "IN.png", inputs / "a.png", "--force").exit_code == 0
    assert (inputs / "a.png").stat().st_mode & 0o777 == 0o640

"""``subband pyramid`` and ``subband denoise`` with Zarr: what is written, resumed and refused."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr
from typer.testing import CliRunner

from subband.cli import app
from subband.cli.stores import StoreOptions, denoise_into_store
from subband.enhance import Denoise, Enhancer
from subband.media.stores import find_manifest

VOLUME = np.random.default_rng(0).normal(1000, 100, (96, 40, 50)).astype(np.uint16)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def source(tmp_path):
    stored = zarr.create_array(str(tmp_path / "in.zarr"), shape=VOLUME.shape, chunks=(16, 16, 16), dtype="uint16")
    stored[...] = VOLUME
    return tmp_path / "in.zarr"


def test_pyramid_is_written(source, tmp_path):
    result = run("pyramid", source, tmp_path / "out.ome.zarr", "--level", 2, "--chunks", "32,20,25")
    assert result.exit_code == 0, result.output
    assert "15 of 15 chunks computed" in result.output
    group = zarr.open_group(str(tmp_path / "out.ome.zarr"), mode="r")
    assert [group[name].shape for name in "012"] == [(96, 40, 50), (48, 20, 25), (24, 10, 13)]
    assert group["1"].chunks == (32, 20, 25)
    assert group.attrs["ome"]["multiscales"][0]["type"] == "wavelet approximation (cdf97)"


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32"])
def test_levels_of_large_integers_are_rounded(tmp_path, dtype):
    values = np.random.default_rng(0).integers(500, 1000, (24, 20))
    levels = []
    for kind in (dtype, "float64"):
        stored = zarr.create_array(str(tmp_path / f"{kind}.zarr"), shape=values.shape, chunks=values.shape, dtype=kind)
        stored[...] = values
        result = run("pyramid", tmp_path / f"{kind}.zarr", tmp_path / f"{kind}.ome.zarr", "--level", 1)
        assert result.exit_code == 0, result.output
        levels.append(zarr.open_array(str(tmp_path / f"{kind}.ome.zarr"), path="1", mode="r")[...])
    assert levels[0].dtype == dtype
    np.testing.assert_array_equal(levels[0], np.rint(levels[1]))


def test_pyramid_is_resumed(source, tmp_path):
    out = tmp_path / "out.ome.zarr"
    assert run("pyramid", source, out, "--level", 1, "--chunks", 32).exit_code == 0
    before = zarr.open_array(str(out), path="1", mode="r")[...]
    zarr.open_array(str(out), path="1", mode="r+")[:32] = 0
    result = run("pyramid", source, out, "--level", 1, "--chunks", 32, "--resume", "--json")
    assert json.loads(result.stdout)["files"][0]["computed"] == 1, result.output
    np.testing.assert_array_equal(zarr.open_array(str(out), path="1", mode="r")[...], before)


@pytest.mark.parametrize("method", ["bivariate", "sure", "neigh"])
def test_denoised_volume_is_that_of_memory(source, tmp_path, method):
    result = run("denoise", source, tmp_path / "out.zarr", "--level", 2, "--chunks", 32, "--method", method)
    assert result.exit_code == 0, result.output
    assert "12 of 12 chunks computed" in result.output
    assert "MiB at most" in result.output
    expected = Enhancer(Denoise(method, level=2)).apply(VOLUME)
    got = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...]
    np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=1)
    assert got.dtype == np.uint16


def test_masks_go_from_options_to_the_job(source, tmp_path):
    known = np.ones(VOLUME.shape, np.uint8)
    known[30:50, 10:20] = 0
    stored = zarr.create_array(str(tmp_path / "mask.zarr"), shape=known.shape, chunks=(16, 16, 16), dtype="uint8")
    stored[...] = known
    options = StoreOptions(chunks="32", as_json=True, mask=tmp_path / "mask.zarr", nonfinite="mask")
    chain = Enhancer(Denoise(level=1))
    denoise_into_store([source, tmp_path / "out.zarr"], chain, options, engine=None, refused={})
    got = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...]
    np.testing.assert_array_equal(got[known == 0], VOLUME[known == 0])
    np.testing.assert_allclose(got.astype(float), chain.apply(VOLUME, mask=known).astype(float), atol=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("denoise", "IN", "out.tiff"), "becomes one; give the result the ending .zarr"),
        (("denoise", "IN", "out.zarr", "--chunks", "a"), "--chunks a are no lengths"),
        (("denoise", "IN", "out.zarr", "--chunks", "4,4"), "do not fit an array of shape (96, 40, 50)"),
        (("denoise", "IN", "out.zarr", "--view", "analysis"), "--view is not there for results in Zarr"),
        (("denoise", "IN", "IN", "out.zarr"), "an array to read and a store to write"),
        (("denoise", "missing.zarr", "out.zarr"), "No such file"),
        (("denoise", "a.png", "b.png", "--resume"), "--resume is for results in Zarr"),
        (("pyramid", "IN", "out.tiff"), "does not end in .zarr"),
        (("pyramid", "IN", "IN"), "by its own result"),
        (("pyramid", "IN", "out.zarr", "--level", "99"), "is not usable for an array"),
    ],
)
def test_what_cannot_be_done_is_one_line(source, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*(source if argument == "IN" else argument for argument in arguments))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out.zarr").exists()


def test_dry_run_writes_nothing(source, tmp_path):
    for command in ("denoise", "pyramid"):
        result = run(command, source, tmp_path / "out.zarr", "--dry-run")
        assert "in.zarr -> " in result.output
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_job_is_resumed_and_computes_only_what_is_missing(source, tmp_path):
    command = [sys.executable, "-m", "subband", "denoise", str(source), str(tmp_path / "out.zarr")]
    command += ["--level", "1", "--chunks", "12"]
    # one thread writes one chunk at a time, and there are 160 of them
    job = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    manifest = find_manifest(tmp_path / "out.part.zarr")
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and job.poll() is None:
        if manifest.is_file() and manifest.read_text().count("checksum") >= 3:
            break
        time.sleep(0.01)
    assert job.poll() is None, "the job was over before it could be killed"
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    finished = manifest.read_text().count('"}\n')
    assert 3 <= finished < 160
    result = run("denoise", source, tmp_path / "out.zarr", "--level", 1, "--chunks", 12, "--resume", "--json")
    assert result.exit_code == 0, result.output
    (entry,) = json.loads(result.stdout)["files"]
    assert (entry["chunks"], entry["computed"]) == (160, 160 - finished)
    expected = Enhancer(Denoise(level=1)).apply(VOLUME)
    got = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...]
    np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=1)

"""Folders of files: what is there already, folders in folders, silence, and how many are done."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import subband
from subband.cli import app
from subband.media import Still, read_still, write_still

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent), "TERM": "xterm", "COLUMNS": "120"}


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def scans(tmp_path):
    """Return a folder with a picture, and others below it."""
    pixels = np.random.default_rng(0).integers(0, 255, (24, 32), dtype=np.uint8)
    for name in ("a.png", "b.png", "left/a.png", "left/deep/c.png", ".hidden/d.png"):
        path = tmp_path / "scans" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_still(path, Still(pixels))
    (tmp_path / "scans" / "notes.txt").write_text("no picture")
    return tmp_path / "scans"


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_one_result_that_is_there_does_not_stop_the_others(scans, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.png").write_bytes(b"mine")
    result = run("filter", scans, out)
    assert result.exit_code == 2
    assert "a.png' is there already; use --force" in result.stderr
    assert "1 of 2 files could not be done" in result.stderr
    assert (out / "a.png").read_bytes() == b"mine"
    assert read_still(out / "b.png").pixels.shape == (24, 32)


def test_existing_results_are_skipped_in_silence(scans, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.png").write_bytes(b"mine")
    result = run("filter", scans, out, "--skip-existing")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "1 of 2 results are there already" in result.stdout
    assert (out / "a.png").read_bytes() == b"mine"
    assert (out / "b.png").exists()
    record = json.loads(run("filter", scans, out, "--skip-existing", "--json").stdout)
    assert [entry["skipped"] for entry in record["files"]] == [True, True]
    # one file, too
    assert run("filter", scans / "a.png", out / "a.png", "--skip-existing").exit_code == 0
    assert (out / "a.png").read_bytes() == b"mine"


def test_skipping_and_replacing_exclude_each_other(scans, tmp_path):
    result = run("filter", scans, tmp_path / "out", "--skip-existing", "--force")
    assert result.exit_code == 2
    assert "use one of them" in result.stderr


def test_what_is_read_is_neither_skipped_nor_replaced(scans):
    before = (scans / "a.png").read_bytes()
    for option in ("--force", "--skip-existing"):
        result = run("filter", scans, scans, option)
        assert result.exit_code == 2
        assert "own result" in result.stderr
    # the result of one file would replace another that is read
    result = run("filter", scans / "left" / "a.png", scans / "a.png", scans, "--force")
    assert result.exit_code == 2
    assert (scans / "a.png").read_bytes() == before


def test_folders_in_folders_are_mirrored(scans, tmp_path):
    result = run("filter", scans, tmp_path / "out", "--recursive", "--ending", "tiff")
    assert result.exit_code == 0, result.output
    assert list_files(tmp_path / "out") == ["a.tiff", "b.tiff", "left/a.tiff", "left/deep/c.tiff"]
    assert run("filter", scans, tmp_path / "flat").exit_code == 0
    assert list_files(tmp_path / "flat") == ["a.png", "b.png"]


def test_the_folder_of_results_is_not_read(scans):
    for options in ((), ("--skip-existing",)):
        assert run("filter", scans, scans / "out", "-r", *options).exit_code == 0
    assert list_files(scans / "out") == ["a.png", "b.png", "left/a.png", "left/deep/c.png"]


def test_a_tree_without_pictures_is_told(tmp_path):
    (tmp_path / "in" / "empty").mkdir(parents=True)
    result = run("filter", tmp_path / "in", tmp_path / "out", "-r")
    assert result.exit_code == 2
    assert "nor does one in it" in result.stderr


def test_a_file_in_the_place_of_a_folder_is_that_of_some_files(scans, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "left").write_bytes(b"mine")
    result = run("filter", scans, tmp_path / "out", "-r")
    assert result.exit_code == 2
    assert "2 of 4 files could not be done" in result.stderr
    assert list_files(tmp_path / "out") == ["a.png", "b.png", "left"]


def test_quiet_says_nothing_but_errors(scans, tmp_path):
    result = run("filter", scans, tmp_path / "out", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    (scans / "b.png").write_bytes(b"no picture")
    result = run("filter", scans, tmp_path / "out", "--quiet", "--force")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "b.png" in result.stderr


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_file_is_counted(scans, tmp_path, jobs):
    result = run("filter", scans, tmp_path / "out", "-r", "--jobs", jobs)
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    single = run("filter", scans / "a.png", tmp_path / "a.png")
    assert single.stdout.startswith(str(tmp_path / "a.png"))


def test_the_display_counts_files(scans, tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "subband", "filter", str(scans), str(tmp_path / "out"), "-r"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    shown = b""
    # the end of a terminal is an error on Linux
    with suppress(OSError):
        while piece := os.read(leader, 4096):
            shown += piece
    os.close(leader)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert b"of 4 files" in shown
    # a pipe gets its lines although the display is on a terminal
    assert b"4 of 4: " in printed


def test_plans_tell_what_would_be_skipped_and_refused(scans, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.png").write_bytes(b"mine")
    skipped = json.loads(run("filter", scans, out, "--skip-existing", "--dry-run", "--json").stdout)["files"]
    assert [entry.get("skipped", False) for entry in skipped] == [True, False]
    refused = run("filter", scans, out, "--dry-run")
    assert refused.exit_code == 2
    assert refused.stdout.splitlines() == [f"{scans / 'b.png'} -> {out / 'b.png'}"]
    assert not (out / "b.png").exists()


def test_pipes_and_addresses_are_named_as_what_they_are(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    piped = run("denoise", tmp_path / "pipe.png", tmp_path / "out.png")
    assert piped.exit_code == 2
    assert "is no file but a pipe or a device; use - for standard input" in piped.output
    distant = run("denoise", "https://example.org/a.png", tmp_path / "out.png")
    assert distant.exit_code == 2
    assert "'https://example.org/a.png' is an address, and files are read" in distant.output

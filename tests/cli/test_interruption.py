"""Ctrl-C, kill and kill -9 while a film is written: nothing half-written under its final name."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.media import open_source

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
SOURCE = "test:320x240@25?count=1000000"


def start(output, *options):
    """Start denoising a film without end, and return when some of it is written."""
    command = [sys.executable, "-m", "subband", "filter", SOURCE, str(output), "--preset", "ultrafast", *options]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    part = output.with_name(f"{output.stem}.part{output.suffix}")
    deadline = time.monotonic() + 600
    while not (part.exists() and part.stat().st_size > 100_000):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, part


def count_frames(path):
    with open_source(path) as source:
        return sum(1 for _ in source)


def test_interrupt_removes_what_was_written(tmp_path):
    process, _ = start(tmp_path / "film.mp4")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors.strip() == "interrupted"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "word"), [("SIGTERM", "terminated"), ("SIGHUP", "hung up")])
def test_signals_that_end_programs_remove_what_was_written(tmp_path, name, word):
    number = signal.Signals[name]
    process, _ = start(tmp_path / "film.mp4")
    process.send_signal(number)
    # as those who shut machines down do
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert errors.strip() == word
    assert list(tmp_path.iterdir()) == []


def measure_size(path):
    """Return the size of a file, which may get its final name between being listed and being looked at."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


@pytest.mark.parametrize("name", ["volume.h5:scan/ct", "frame%04d.png"])
def test_termination_of_what_is_no_film(tmp_path, name):
    # so many slices that none of this ends by itself before the signal; the file has holes, and takes no room
    np.lib.format.open_memmap(tmp_path / "in.npy", "w+", np.uint16, (50_000, 128, 128))
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-m", "subband", "filter", str(tmp_path / "in.npy"), str(tmp_path / "out" / name)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while not any(measure_size(entry) > 0 for entry in (tmp_path / "out").iterdir()):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors.strip()) == (143, "terminated")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_closed_terminal_means_nothing_under_nohup(tmp_path):
    program = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from subband.cli import main; main()"
    command = [sys.executable, "-c", program, "filter", "test:160x120@25?count=200", str(tmp_path / "film.mkv")]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not (tmp_path / "film.part.mkv").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=300) == 0
    assert count_frames(tmp_path / "film.mkv") == 200


def test_interrupt_keeps_a_film_that_plays_if_asked_to(tmp_path):
    process, part = start(tmp_path / "film.mp4", "--keep-partial")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [part]
    assert count_frames(part) > 10


def test_kill_leaves_nothing_under_the_final_name(tmp_path):
    (tmp_path / "film.mp4").write_bytes(b"mine")
    process, part = start(tmp_path / "film.mp4", "--keep-partial", "--force")
    process.kill()
    process.communicate(timeout=300)
    assert (tmp_path / "film.mp4").read_bytes() == b"mine"
    assert part.exists()


def test_interrupt_of_several_at_once(tmp_path):
    for name in ("a", "b"):
        subprocess.run(
            [sys.executable, "-m", "subband", "filter", "test:160x120@25?count=300", str(tmp_path / f"{name}.mkv")],
            env=ENVIRONMENT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    command = [sys.executable, "-m", "subband", "denoise", "--jobs", "2", "-m", "wiener"]
    process = subprocess.Popen(
        [*command, str(tmp_path / "a.mkv"), str(tmp_path / "b.mkv"), str(tmp_path / "out")], env=ENVIRONMENT
    )
    deadline = time.monotonic() + 600
    while len(list((tmp_path / "out").glob("*.part.mkv")) if (tmp_path / "out").exists() else []) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("options", [(), ("--keep-partial",)])
def test_interrupt_does_not_wait_for_a_kernel(tmp_path, options):
    """Work that looks at nothing for long is left, and what it has written is removed."""
    program = (
        "import os, sys, time\n"
        "from subband.pipeline import files\n"
        "def choose_work(*_, **__):\n"
        "    def work(frames):\n"
        "        yield next(frames)\n"
        "        os.write(1, b'at work\\n')\n"
        "        time.sleep(900)\n"
        "    return work\n"
        "files.choose_work = choose_work\n"
        "from subband.cli import main\n"
        "main()\n"
    )
    words = ["filter", "test:32x24@25?count=30", "test:32x24@25?count=31", str(tmp_path / "out"), "--ending", "mkv"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words, "--jobs", "2", *options],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(2):
            assert process.stdout.readline() == "at work\n"
        assert len(list((tmp_path / "out").iterdir())) == 2
        process.send_signal(signal.SIGINT)
        # the sleep would take much longer
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors == "interrupted\n"
    assert bool(list((tmp_path / "out").iterdir())) == bool(options)


def test_a_disk_that_takes_no_more(tmp_path):
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from subband.cli import main\n"
        "sys.argv[1:] = ['filter', sys.argv[1], sys.argv[2], '--preset', 'ultrafast']\n"
        "main()"
    )
    command = [sys.executable, "-c", program, SOURCE, str(tmp_path / "film.mp4")]
    result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "cannot be written" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path):
    command = [sys.executable, "-m", "subband", "filter"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*command, "test:160x120@25?count=600", str(tmp_path / "a.mkv")],
        env={**ENVIRONMENT, "TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    # the end of a terminal is an error on Linux
    with contextlib.suppress(OSError):
        while piece := os.read(leader, 4096):
            shown += piece
    os.close(leader)
    assert process.wait(timeout=600) == 0
    assert b"a second" in shown
    assert b"/600" in shown
    silent = subprocess.run(
        [*command, "test:64x48@25?count=3", str(tmp_path / "b.mkv")],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=600,
    )
    assert silent.stderr == b""


def test_the_shell_completes_commands_and_names():
    def complete(words):
        settings = {"_SUBBAND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        program = "from subband.cli import main; main()"
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, env={**ENVIRONMENT, **settings}, capture_output=True, text=True, check=False)
        return run.stdout.split()

    assert complete("subband den") == ["denoise"]
    assert "--method" in complete("subband denoise --m")
    assert complete("subband denoise --method ba") == ["bayes"]
    assert "cdf97" in complete("subband filter --wavelet cd")

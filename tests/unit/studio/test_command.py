"""``subband studio``: starts, says where, and ends with Ctrl-C."""

import contextlib
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband.cli import app


@contextlib.contextmanager
def start(*options):
    """Run the command, and give the address that it prints, and all that it prints at the end."""
    command = [sys.executable, "-m", "subband", "studio", "--no-browser", "--port", "0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        told = []
        while not (found := re.search(r"http://\S+", line := process.stdout.readline())):
            told.append(line)
            assert line, "".join(told)
        process.told = "".join(told)
        yield found[0], process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_it_starts_and_ends():
    with start() as (address, process):
        assert address.startswith("http://127.0.0.1:")
        for _ in range(50):
            with contextlib.suppress(httpx.ConnectError):
                assert httpx.get(address, timeout=300, follow_redirects=True).status_code == 200
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in process.stdout.read()


def test_on_this_machine_a_token_is_needed_too_unless_somebody_says_otherwise():
    with start() as (address, process):
        base = address.partition("?")[0]
        assert httpx.get(base, timeout=300).status_code == 401
        assert httpx.get(address).status_code == 303
        process.send_signal(signal.SIGINT)
        process.wait(20)
        assert "TLS" not in process.stdout.read()
    with start("--no-token") as (address, _):
        assert "token" not in address
        assert httpx.get(address, timeout=300).status_code == 200


def test_what_cannot_be_read_is_told_in_the_terminal_and_to_the_page(tmp_path):
    for name, width in (("cut.png", 100), ("large.png", 300)):
        Image.effect_noise((width, 200), 50).save(tmp_path / name)
    whole = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty").mkdir()
    names = ["cut.png", "large.png", "empty"]
    with start("--most-pixels", "50000", *(tmp_path / name for name in names)) as (_, process):
        # before the address
        assert "'cut.png' cannot be read" in process.told
        assert "'large.png' has 60000 pixels, and the studio shows 50000; start it with --most-pixels 60000" in (
            process.told
        )
        assert "'empty' is a folder without" in process.told


def test_the_limit_obeys_the_variable_that_all_of_subband_obeys(tmp_path, monkeypatch):
    Image.new("L", (300, 200)).save(tmp_path / "large.png")
    monkeypatch.setenv("SUBBAND_MOST_PIXELS", "50000")
    with start(tmp_path / "large.png") as (_, process):
        assert "--most-pixels 60000" in process.told


def test_a_second_studio_takes_the_next_port(monkeypatch):
    from subband.studio import serving

    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(serving, "PORT", taken.getsockname()[1])
        with serving.run_studio(port=None) as running:
            assert 0 < running.address.port - taken.getsockname()[1] < 20


def test_beyond_this_machine_it_prints_a_token_and_how_to_encrypt():
    with start("--listen", "0.0.0.0", "--name", "studio.example") as (address, process):
        token = re.search(r"\?token=([\w-]{40,})", address)[1]
        port = re.search(r":(\d+)/", address)[1]
        base = f"http://127.0.0.1:{port}"
        assert httpx.get(base, timeout=300).status_code == 401
        assert httpx.get(base, params={"token": token}).status_code == 303
        assert httpx.get(base, headers={"Host": "studio.example"}).status_code == 401
        assert httpx.get(base, headers={"Host": "other.example"}).status_code == 421
        process.send_signal(signal.SIGINT)
        process.wait(20)
        said = process.stdout.read()
        assert "TLS" in said
        assert "ssh -L" in said
        assert token not in said


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no such signal here")
def test_a_terminal_that_is_closed_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start() as (address, process):
        for _ in range(50):
            with contextlib.suppress(httpx.ConnectError):
                httpx.get(address, timeout=300)
                break
        assert list(tmp_path.glob("subband-studio-*"))
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) == 0
        assert not list(tmp_path.glob("subband-studio-*"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["/nothing/here.png"], "there is no file"),
        (["--engine", "abacus"], "abacus"),
        (["--engine", "reference"], "reference"),
        (["--listen", "203.0.113.7"], "nobody can listen"),
        (["--listen", "0.0.0.0", "--no-token"], "needs its token"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(options, says):
    result = CliRunner().invoke(app, ["studio", "--no-browser", "--port", "0", *options])
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output

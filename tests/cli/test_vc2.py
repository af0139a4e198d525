"""``subband encode`` and ``decode`` of video, ``subband send`` and ``receive``."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.media import Frame, SourceInfo, open_sink, open_source

pytest.importorskip("av")

INFO = SourceInfo("film", (48, 64, 3), np.dtype("uint8"), colours="ycbcr", rate=Fraction(50), chroma_steps=(2, 2))


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def video(tmp_path):
    path = tmp_path / "video.mkv"
    rng = np.random.default_rng(0)
    with open_sink(path, replace(INFO, pixel_format="yuv420p")) as sink:
        for number in range(5):
            pixels = np.full(INFO.shape, 128, np.uint8)
            pixels[..., 0] = 100 + 60 * np.sin(np.arange(64) / 7 + number) + rng.normal(0, 3, (48, 64))
            sink.write(Frame(pixels, number, number / 50))
    return path


def read(path):
    with open_source(path, colours="ycbcr") as source:
        return [frame.pixels for frame in source]


def test_nothing_is_lost_there_and_back(video, tmp_path):
    result = run("encode", video, tmp_path / "a.vc2", "--lossless", "--wavelet", "legall53", "--level", 2)
    assert result.exit_code == 0, result.output
    assert "5 frames" in result.output
    result = run("decode", tmp_path / "a.vc2", tmp_path / "b.mkv", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["frames"] == 5
    for found, known in zip(read(tmp_path / "b.mkv"), read(video), strict=True):
        np.testing.assert_array_equal(found, known)


def test_matroska_holds_it_too(video, tmp_path):
    for name in ("a.vc2", "a.mkv"):
        result = run("encode", video, tmp_path / name, "--quantiser", 20)
        assert result.exit_code == 0, result.output
    result = run("decode", tmp_path / "a.mkv", tmp_path / "b.mkv")
    assert result.exit_code == 0, result.output
    with open_source(tmp_path / "a.mkv") as source:
        assert source.info.codec == "dirac"
    for found, same, known in zip(*(read(tmp_path / name) for name in ("a.mkv", "b.mkv", "a.vc2")), strict=True):
        np.testing.assert_array_equal(found, known)
        np.testing.assert_array_equal(same, known)


def test_a_bitrate_is_kept(video, tmp_path):
    result = run("encode", video, tmp_path / "a.vc2", "--bitrate", "400k", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["bits_per_second"] <= 401_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bpp", "1"], "is for JPEG 2000"),
        (["--bitrate", "fast"], "such as 200M"),
        (["--wavelet", "cdf97"], "none of VC-2"),
        (["--bitrate", "1M", "--lossless"], "both given"),
    ],
)
def test_what_cannot_be_is_refused(video, tmp_path, arguments, message):
    result = run("encode", video, tmp_path / "a.vc2", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "a.vc2").exists()


def test_options_of_video_are_refused_for_images(video, tmp_path):
    result = run("encode", video, tmp_path / "a.jp2", "--quantiser", 3)
    assert result.exit_code == 2
    assert ".vc2" in result.output


def test_plans_are_shown(video, tmp_path):
    assert run("encode", video, tmp_path / "a.vc2", "--dry-run").exit_code == 0
    assert not (tmp_path / "a.vc2").exists()


def test_what_is_sent_is_received(video, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = ["receive", f"rtp://:{port}", str(tmp_path / "out.mkv"), "--frames", "8", "--json"]
    receiver = subprocess.Popen([sys.executable, "-m", "subband", *words], stdout=subprocess.PIPE, text=True)
    for _ in range(200):  # whether or not it is listening yet
        sent = run(
            "send", video, f"rtp://127.0.0.1:{port}", "--quantiser", 0, "--sdp", tmp_path / "link.sdp", "--force"
        )
        assert sent.exit_code == 0, sent.output
        if receiver.poll() is not None:
            break
    output, _ = receiver.communicate(timeout=60)
    assert receiver.returncode == 0, output
    record = json.loads(output)
    assert (record["frames"], record["lost"], record["slices_missing"]) == (8, 0, 0)
    known = read(video)
    assert all(any(np.array_equal(frame, other) for other in known) for frame in read(tmp_path / "out.mkv"))
    assert "VC2/90000" in (tmp_path / "link.sdp").read_text()


@pytest.mark.parametrize("arguments", [(), ("out.mkv", "--view")])
def test_what_is_received_is_written_or_shown(arguments):
    result = run("receive", "rtp://:5004", *arguments)
    assert result.exit_code == 2
    assert "OUT or --view" in result.output


def test_delays_of_frames_that_show_the_time_are_told(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = ["receive", f"rtp://:{port}", str(tmp_path / "out.mkv"), "--frames", "3", "--json"]
    receiver = subprocess.Popen([sys.executable, "-m", "subband", *words], stdout=subprocess.PIPE, text=True)
    while receiver.poll() is None:
        assert run("send", "test:64x48@100?count=20&clock=1", f"rtp://127.0.0.1:{port}").exit_code == 0
    assert 0 < json.loads(receiver.communicate()[0])["delay_ms"] < 60_000


@pytest.mark.parametrize("command", [("send", "test:", "host:5004"), ("receive", "host:5004", "out.mkv")])
def test_addresses_are_those_of_links(command):
    result = run(*command)
    assert result.exit_code == 2
    assert "no address of a link" in result.output

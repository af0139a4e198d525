"""``-`` is standard input and output: video frame by frame, everything else as a whole."""

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from typer.testing import CliRunner

import subband
from subband import data
from subband.cli import app
from subband.media import LossWarning, PipeFormat, Still, open_source, read_still, write_still

pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
COMMAND = [sys.executable, "-m", "subband"]
PICTURE = data.photograph()[100:164, 100:180]
HEAD = b"YUV4MPEG2 W64 H48 F25:1 Ip A16:11 C420jpeg\n"


def draw_frame(number):
    """Return a frame of Y4M of 64 × 48."""
    generator = np.random.default_rng(number)
    planes = [np.full(48 * 64, 100 + number), np.full(24 * 32, 90), np.full(24 * 32, 160)]
    noisy = [np.clip(plane + generator.normal(0, 10, plane.size), 0, 255).astype(np.uint8) for plane in planes]
    return b"FRAME\n" + b"".join(map(bytes, noisy))


def run(*arguments, content=b""):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], input=content, capture_output=True, env=ENVIRONMENT, check=False, timeout=600
    )


def test_frames_come_out_before_the_last_has_gone_in():
    process = subprocess.Popen(
        [*COMMAND, "denoise", "-", "-", "--format", "y4m", "--level", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    # whoever waits for a frame that never comes is freed
    guard = Timer(600, process.kill)
    guard.start()
    try:
        # fewer bytes than pipes hold, as nobody reads meanwhile
        process.stdin.write(HEAD + b"".join(draw_frame(number) for number in range(12)))
        process.stdin.flush()
        head = process.stdout.readline()
        first = process.stdout.read(6 + 48 * 64 * 3 // 2)
        # the input is still open here
        assert process.poll() is None
        process.stdin.write(draw_frame(12))
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(600) == 0
    finally:
        guard.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
    assert head.startswith(b"YUV4MPEG2 W64 H48 F25:1 Ip A16:11 C420")
    assert first.startswith(b"FRAME\n")
    assert len(rest) == 12 * len(first)
    planes = np.frombuffer(first[6:], np.uint8)
    assert planes[: 48 * 64].std() < 6
    assert planes[48 * 64 :][: 24 * 32].std() < 6


def test_y4m_to_a_file_and_back(tmp_path):
    content = HEAD + b"".join(map(draw_frame, range(5)))
    done = run("filter", "-", tmp_path / "a.mkv", "--format", "y4m", "--gains", "1", content=content)
    assert done.returncode == 0, done.stderr
    with open_source(tmp_path / "a.mkv") as source:
        assert source.info.pixel_aspect == pytest.approx(16 / 11, rel=0.02)
        assert len(list(source)) == 5
    done = run("noise", tmp_path / "a.mkv", "-", "--format", "y4m", "--sigma", "0", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"FRAME\n") == 5
    with open_source_bytes(tmp_path, done.stdout) as source:
        assert source.info.shape == (48, 64, 3)


def open_source_bytes(folder, content):
    (folder / "copy.y4m").write_bytes(content)
    return open_source(folder / "copy.y4m", colours="ycbcr")


def test_raw_frames(tmp_path):
    frames = b"".join(draw_frame(number)[6:] for number in range(4))
    options = ("--format", "raw:yuv420p:64x48", "--rate", "10")
    done = run("noise", "-", "-", *options, "--sigma", "0", "--seed", "1", content=frames)
    assert done.returncode == 0, done.stderr
    assert done.stdout == frames
    done = run("denoise", "-", tmp_path / "a.mp4", *options, content=frames)
    assert done.returncode == 0, done.stderr
    with open_source(tmp_path / "a.mp4") as source:
        assert source.info.rate == 10
    done = run("denoise", "-", tmp_path / "b.mp4", "--format", "raw", content=frames)
    assert (done.returncode, (tmp_path / "b.mp4").exists()) == (2, False)
    assert b"raw:yuv420p:640x480" in done.stderr


@pytest.mark.parametrize("name", ["png", "tiff"])
def test_images_pass_as_a_whole(tmp_path, name):
    write_still(tmp_path / f"in.{name}", Still(PICTURE))
    content = (tmp_path / f"in.{name}").read_bytes()
    done = run("denoise", "-", "-", "--format", name, content=content)
    assert done.returncode == 0, done.stderr
    (tmp_path / f"out.{name}").write_bytes(done.stdout)
    run("denoise", tmp_path / f"in.{name}", tmp_path / f"same.{name}")
    ours, same = (read_still(tmp_path / f"{each}.{name}").pixels for each in ("out", "same"))
    np.testing.assert_array_equal(ours, same)


def test_volumes_pass_as_a_whole():
    volume = np.random.default_rng(0).normal(0, 1, (8, 16, 16)).astype(np.float32)
    file = io.BytesIO()
    np.save(file, volume)
    done = run("denoise", "-", "-", "--format", "npy", "--level", "1", content=file.getvalue())
    assert done.returncode == 0, done.stderr
    result = np.load(io.BytesIO(done.stdout))
    assert result.shape == volume.shape
    assert result.std() < volume.std()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("denoise", "-", "out.png"), "say with --format what it holds"),
        (("denoise", "a.png", "b.png", "--format", "png"), "no name is -"),
        (("denoise", "-", "-", "--format", "png", "--json"), "--json prints where the result goes"),
        (("denoise", "-", "b.png", "out", "--format", "png"), "one file to read and one to write"),
        (("denoise", "-", "b.png", "--format", "raw:yuv42p:64x48"), "neither a size"),
        (("stylise", "-", "b.png", "-"), "known to denoise, filter and noise"),
        (("edges", "-", "-"), "known to denoise, filter and noise"),
    ],
)
def test_what_pipes_cannot_do(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_still(tmp_path / "b.png", Still(PICTURE))
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    # no folder of that name
    assert [path.name for path in tmp_path.iterdir()] == ["b.png"]


def test_what_is_wrong_with_standard_input_is_said_so():
    done = run("denoise", "-", "-", "--format", "png", content=b"nothing")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"standard input" in done.stderr
    assert b"/tmp" not in done.stderr
    done = run("denoise", "-", "-", "--format", "y4m", content=b"nothing")
    assert done.returncode == 2
    assert b"no y4m video" in done.stderr


def test_formats_of_pipes():
    assert PipeFormat.read(".nii.gz").ending == ".nii.gz"
    assert PipeFormat.read("raw:640x480:gray") == PipeFormat(".raw", "gray", (640, 480))


def test_a_part_at_another_rate(tmp_path):
    runner = CliRunner()
    clip = data.clip_path()
    result = runner.invoke(app, ["denoise", str(clip), str(tmp_path / "a.mp4"), "--trim", "0.4:0.8", "--level", "1"])
    assert result.exit_code == 0, result.output
    with open_source(tmp_path / "a.mp4") as source:
        assert (source.info.rate, len(list(source)), source.info.has_audio) == (25, 10, True)
    arguments = ["filter", str(clip), str(tmp_path / "b.mp4"), "--trim", "5f:10f", "--rate", "10", "--gains", "1"]
    with warnings.catch_warnings():
        # as for users, to whom warnings are lines and no errors
        warnings.simplefilter("default", LossWarning)
        result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "warning: sound, subtitles and chapters are left out" in result.output
    with open_source(tmp_path / "b.mp4") as source:
        assert (source.info.rate, len(list(source)), source.info.has_audio) == (10, 5, False)


def test_a_volume_as_a_video(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).integers(0, 255, (20, 48, 64)).astype(np.uint8))
    for options, rate in (((), 25), (("--rate", "10"), 10)):
        name = tmp_path / f"{rate}.mp4"
        result = CliRunner().invoke(app, ["denoise", str(tmp_path / "a.npy"), str(name), "--level", "1", *options])
        assert result.exit_code == 0, result.output
        with open_source(name) as source:
            assert source.info.rate == rate
            assert list(source)[-1].time == pytest.approx(19 / rate, abs=1e-3)

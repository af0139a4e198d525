"""``subband camera``, with the pattern that needs no camera."""

import json
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.cli.recording import end_by_interrupt, open_camera, record_camera
from subband.enhance import Blur, Enhancer
from subband.media import open_sink, open_source


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_records_a_film(tmp_path):
    options = ("--device", "test:", "--size", "64x48", "--rate", 20, "--seconds", 0.5)
    result = run("camera", tmp_path / "film.mp4", *options, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["files"][0]["frames"] == 10
    with open_source(tmp_path / "film.mp4") as source:
        assert source.info.shape == (48, 64, 3)
        assert source.info.rate == 20
        assert len(list(source)) == 10


def test_number_of_frames_and_a_chain(tmp_path):
    (tmp_path / "chain.toml").write_text(Enhancer(Blur(3.0)).to_toml())
    for name, options in (("plain.mkv", ("--level", 0)), ("blurred.mkv", ("--chain", tmp_path / "chain.toml"))):
        result = run("camera", tmp_path / name, "-d", "test:64x48", "--frames", 3, *options)
        assert result.exit_code == 0, result.output

    def roughness(name):
        with open_source(tmp_path / name) as source:
            frames = [frame.pixels.astype(float) for frame in source]
        assert len(frames) == 3
        return np.abs(np.diff(frames[0], axis=0)).mean()

    assert roughness("blurred.mkv") < 0.5 * roughness("plain.mkv")


def test_without_a_film_there_is_nothing_to_see_yet():
    result = run("camera")
    assert result.exit_code == 2
    assert "live view" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--device", "97"), "camera:97"),
        (("--device", "test:", "--size", "big"), "1280x720"),
        (("--device", "test:nonsense"), "nonsense"),
    ],
)
def test_errors(tmp_path, options, words):
    result = run("camera", tmp_path / "film.mp4", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not list(tmp_path.iterdir())


def test_existing_film_stays(tmp_path):
    (tmp_path / "film.mp4").write_bytes(b"mine")
    assert run("camera", tmp_path / "film.mp4", "-d", "test:64x48", "--frames", 2).exit_code == 2
    assert (tmp_path / "film.mp4").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_first_interrupt_ends_the_film_in_good_order(tmp_path, name):
    number = signal.Signals[name]
    before = signal.getsignal(number)

    def interrupt(progress):
        if progress.frames == 5:
            signal.raise_signal(number)

    with end_by_interrupt() as enough:
        report = record_camera(
            lambda colours: open_camera("test:64x48", colours=colours),
            lambda info: open_sink(tmp_path / "film.mkv", info),
            Enhancer(()),
            frames=100_000,
            on_progress=interrupt,
            enough=enough,
        )
    assert 5 <= report.frames < 100
    assert signal.getsignal(number) is before
    with open_source(tmp_path / "film.mkv") as source:
        assert len(list(source)) == report.frames

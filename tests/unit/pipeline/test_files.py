"""From file to file: stills, film and volumes, each as by hand, and nothing half-written."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest

import subband
from subband import data
from subband.enhance import Denoise, Enhancer, Gaussian, Shrink
from subband.errors import ArgumentError, LevelError
from subband.media import Still, open_sink, open_source, read_still, write_still
from subband.media.base import SourceInfo
from subband.pipeline import CancelledError, add_noise_to_file, enhance_file
from subband.pipeline.files import choose_work, describe_result, prefers_ycbcr

COLOUR = data.photograph()[100:164, 100:180]
GREY = data.camera()[:64, :80]
STEPS = Enhancer(Denoise(level=2))
NOTHING = Enhancer(())
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}


def make_film(path, count=12, size="80x64"):
    with open_source(f"test:{size}@25?count={count}") as source, open_sink(path, source.info) as sink:
        for frame in source:
            sink.write(frame)
    return path


def read_frames(path):
    with open_source(path) as source:
        return [frame.pixels for frame in source]


@pytest.mark.parametrize(
    ("name", "pixels"),
    [
        ("colour.png", COLOUR),
        ("grey.png", GREY),
        ("deep.png", GREY.astype(np.uint16) * 257),
        ("colour.tiff", COLOUR),
        ("colour.bmp", COLOUR),
    ],
)
def test_still_is_enhanced_as_by_hand(tmp_path, name, pixels):
    source, output = tmp_path / name, tmp_path / "out" / name
    output.parent.mkdir()
    write_still(source, Still(pixels))
    report = enhance_file(source, output, STEPS)
    assert report.frames == 1
    result = read_still(output).pixels
    assert result.dtype == pixels.dtype
    np.testing.assert_allclose(result.astype(float), STEPS.apply(pixels).astype(float), atol=1)
    assert (result != pixels).any()


def test_float_still(tmp_path):
    pixels = (COLOUR / 255).astype(np.float32)
    with open_sink(tmp_path / "f.tiff", SourceInfo("still", pixels.shape, pixels.dtype, count=1)) as sink:
        from subband.media import Frame

        sink.write(Frame(pixels))
    enhance_file(tmp_path / "f.tiff", tmp_path / "g.tiff", STEPS)
    result = read_frames(tmp_path / "g.tiff")[0]
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, STEPS.apply(pixels), atol=1e-5)


def test_alpha_is_carried(tmp_path):
    alpha = np.ascontiguousarray(COLOUR[..., 1])
    write_still(tmp_path / "a.png", Still(COLOUR, alpha))
    enhance_file(tmp_path / "a.png", tmp_path / "b.png", STEPS)
    result = read_still(tmp_path / "b.png")
    np.testing.assert_array_equal(result.alpha, alpha)
    np.testing.assert_allclose(result.pixels.astype(float), STEPS.apply(COLOUR).astype(float), atol=1)


def test_nothing_is_bit_exact(tmp_path):
    write_still(tmp_path / "a.png", Still(COLOUR))
    enhance_file(tmp_path / "a.png", tmp_path / "b.png", NOTHING)
    np.testing.assert_array_equal(read_still(tmp_path / "b.png").pixels, COLOUR)
    film = make_film(tmp_path / "film.mkv")
    enhance_file(film, tmp_path / "copy.mkv", NOTHING)
    for one, other in zip(read_frames(film), read_frames(tmp_path / "copy.mkv"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_film_keeps_count_and_rate_and_loses_noise(tmp_path):
    film = make_film(tmp_path / "film.mkv")
    seen = []
    report = enhance_file(film, tmp_path / "out.mkv", STEPS, on_progress=seen.append)
    assert report.frames == 12
    assert seen[-1].count == 12
    with open_source(tmp_path / "out.mkv") as source:
        assert source.info.rate == 25
        frames = list(source)
    assert [round(frame.time * 25) for frame in frames] == list(range(12))

    def roughness(frame):
        return np.abs(np.diff(frame.astype(float), 2, axis=0)).mean()

    assert roughness(frames[5].pixels) < 0.7 * roughness(read_frames(film)[5])


def test_film_of_given_thresholds_is_enhanced_as_by_hand(tmp_path):
    film = make_film(tmp_path / "film.mkv", count=3)
    enhancer = Enhancer(Shrink(threshold=12.0), colour="ycbcr")
    enhance_file(film, tmp_path / "out.mkv", enhancer)
    for before, after in zip(read_frames(film), read_frames(tmp_path / "out.mkv"), strict=True):
        # there and back through the file's own colours costs a step or two
        assert np.abs(enhancer.apply(before).astype(float) - after).mean() < 1.5


def test_film_stays_in_its_colours_unless_there_is_a_reason():
    assert prefers_ycbcr(STEPS)
    assert prefers_ycbcr(NOTHING)
    assert prefers_ycbcr(Enhancer(Shrink(gains=1.2)))
    assert not prefers_ycbcr(STEPS, "analysis")
    assert not prefers_ycbcr(Enhancer(Shrink(threshold=2.0)))
    assert not prefers_ycbcr(Enhancer(Denoise(), colour="rgb"))
    assert not prefers_ycbcr(Enhancer(Denoise(), noise="speckle"))


def test_film_to_numbered_pictures(tmp_path):
    film = make_film(tmp_path / "film.mkv", count=3)
    enhance_file(film, tmp_path / "frame%02d.png", STEPS)
    assert len(list(tmp_path.glob("frame*.png"))) == 3


@pytest.mark.parametrize("view", ["analysis", "filtered-analysis"])
def test_views(tmp_path, view):
    for name, pixels, enhancer in (
        ("a.png", COLOUR, STEPS),
        ("b.png", GREY.astype(np.uint16) * 257, STEPS),
        ("c.png", COLOUR, Enhancer(Denoise(wavelet="db4", level=1))),
    ):
        write_still(tmp_path / name, Still(pixels))
        enhance_file(tmp_path / name, tmp_path / f"view-{name}", enhancer, view=view)
        result = read_still(tmp_path / f"view-{name}").pixels
        np.testing.assert_array_equal(result, enhancer.view(pixels, view))


def test_volume_of_a_file(tmp_path):
    volume = np.random.default_rng(0).normal(100, 10, (40, 24, 16)).astype(np.float32)
    np.save(tmp_path / "volume.npy", volume)
    for enhancer in (Enhancer(Denoise(level=1)), Enhancer(Denoise("bayes", level=1))):
        enhance_file(tmp_path / "volume.npy", tmp_path / "out.npy", enhancer, overwrite=True)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), enhancer.apply(volume), atol=1e-3)
    # measured beforehand, from the file itself
    enhance_file(tmp_path / "volume.npy", tmp_path / "small.npy", Enhancer(Denoise(level=1)), memory=600_000)
    np.testing.assert_allclose(np.load(tmp_path / "small.npy"), Enhancer(Denoise(level=1)).apply(volume), atol=1e-3)


def test_noise_is_the_same_for_the_same_seed(tmp_path):
    write_still(tmp_path / "a.png", Still(np.full((64, 64), 100, np.uint8)))
    for name in ("b.png", "c.png"):
        with open_source(tmp_path / "a.png") as source:
            add_noise_to_file(source, open_sink(tmp_path / name, source.info), Gaussian(10.0), seed=4)
    one, other = (read_still(tmp_path / name).pixels for name in ("b.png", "c.png"))
    np.testing.assert_array_equal(one, other)
    assert one.std() == pytest.approx(10, rel=0.1)


def test_existing_file_stays(tmp_path):
    write_still(tmp_path / "a.png", Still(COLOUR))
    (tmp_path / "b.png").write_bytes(b"mine")
    with pytest.raises(ArgumentError, match="is there already"):
        enhance_file(tmp_path / "a.png", tmp_path / "b.png", STEPS)
    assert (tmp_path / "b.png").read_bytes() == b"mine"
    enhance_file(tmp_path / "a.png", tmp_path / "b.png", STEPS, overwrite=True)
    assert read_still(tmp_path / "b.png").pixels.shape == COLOUR.shape


def test_what_goes_wrong_leaves_nothing(tmp_path):
    write_still(tmp_path / "a.png", Still(COLOUR))
    with pytest.raises(LevelError):
        enhance_file(tmp_path / "a.png", tmp_path / "b.png", Enhancer(Denoise(level=30)))
    with open_source(tmp_path / "a.png") as source:
        sink = open_sink(tmp_path / "b.png", source.info)
        with pytest.raises(ArgumentError, match=r"view='sinthesis' is not known.*synthesis"):
            enhance_file(source, sink, STEPS, view="sinthesis")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_cancelled_film_leaves_nothing(tmp_path):
    film = make_film(tmp_path / "film.mkv", count=40)
    cancelled = Event()
    with pytest.raises(CancelledError):
        enhance_file(
            film,
            tmp_path / "out.mp4",
            STEPS,
            on_progress=lambda progress: cancelled.set() if progress.frames == 5 else None,
            cancelled=cancelled,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["film.mkv"]


def test_interrupted_film_can_be_kept_and_plays(tmp_path):
    film = make_film(tmp_path / "film.mkv", count=40)

    def interrupt(progress):
        if progress.frames == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        enhance_file(film, tmp_path / "out.mp4", STEPS, keep_partial=True, on_progress=interrupt)
    assert not (tmp_path / "out.mp4").exists()
    assert len(read_frames(tmp_path / "out.part.mp4")) >= 10


def test_views_of_volumes_are_refused():
    info = SourceInfo("volume", (8, 8), np.dtype("float32"), "grey", count=8)
    with pytest.raises(ArgumentError, match="is for images and video"):
        choose_work(info, STEPS, view="analysis")
    film = SourceInfo("film", (8, 8, 3), np.dtype("uint8"), "ycbcr")
    with pytest.raises(ArgumentError, match="colours='rgb'"):
        choose_work(film, STEPS, view="analysis")
    assert describe_result(film, STEPS) is film
    mosaic = describe_result(
        replace(film, colours="rgb", shape=(64, 64, 3), dtype=np.dtype("uint16")), STEPS, "analysis"
    )
    assert mosaic.dtype == np.uint8


@pytest.mark.opencl
def test_frames_on_a_device_are_those_of_the_host(tmp_path):
    film = make_film(tmp_path / "film.mkv", count=9)
    for name in ("cpu", "opencl"):
        enhance_file(film, tmp_path / f"{name}.mkv", STEPS, engine=name)
    pairs = list(zip(read_frames(tmp_path / "cpu.mkv"), read_frames(tmp_path / "opencl.mkv"), strict=True))
    assert len(pairs) == 9
    for host, device in pairs:
        # a step of Y'CbCr is up to two of red, green and blue
        assert np.abs(host.astype(int) - device).max() <= 4
        assert np.abs(host.astype(int) - device).mean() < 0.1


MEMORY_PROGRAM = """
import resource, sys
from subband.enhance import Enhancer, Shrink
from subband.media import open_sink, open_source
from subband.pipeline import enhance_file
folder = sys.argv[1]
for count in (250, 250, 15000):
    with open_source(f"test:32x24@25?count={count}&noise=0") as source:
        sink = open_sink(f"{folder}/film.mp4", source.info, overwrite=True, preset="ultrafast")
        enhance_file(source, sink, Enhancer(Shrink(level=1, threshold=4.0)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_ten_minutes_take_the_memory_of_ten_seconds(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    _, short, long = map(int, run.stdout.split())
    assert long < 1.1 * short


def test_folder_becomes_a_folder(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for name in ("b.png", "a.png"):
        write_still(photos / name, Still(np.zeros((16, 20, 3), np.uint8)))
    (photos / "notes.txt").write_text("not an image")
    report = enhance_file(str(photos), str(tmp_path / "deep" / "out"), STEPS)
    assert report.frames == 2
    assert sorted(path.name for path in (tmp_path / "deep" / "out").iterdir()) == ["a.png", "b.png"]
    with pytest.raises(ArgumentError, match="is there already"):
        enhance_file(photos, tmp_path / "deep" / "out", STEPS)
    enhance_file(photos, tmp_path / "deep" / "out", STEPS, overwrite=True)


def test_folder_needs_a_folder(tmp_path):
    write_still(tmp_path / "a.png", Still(np.zeros((16, 20), np.uint8)))
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="is a file, and source a folder"):
        enhance_file(tmp_path, tmp_path / "file", STEPS)
    with pytest.raises(ArgumentError, match="is a folder; give the name"):
        enhance_file(tmp_path, lambda info: None, STEPS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArgumentError, match="holds no image"):
        enhance_file(tmp_path / "empty", tmp_path / "out", STEPS)

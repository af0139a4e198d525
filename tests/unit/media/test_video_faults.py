"""Film that is damaged, and film that is not finished."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest

from subband.errors import ArgumentError, FormatError, MissingExtraError
from subband.media import DamagedError, DamageWarning, Frame, OutputError, SourceInfo, open_sink, open_source

pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")

INFO = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8))
KINDS = {
    "film.mkv": ("ffv1", "bgr0", {}),
    "film.avi": ("rawvideo", "bgr24", {}),
    "film.mp4": ("h264", "yuv420p", {"movflags": "faststart"}),
    "film.mpg": ("mpeg1video", "yuv420p", {}),
    "film.wmv": ("wmv2", "yuv420p", {}),
    "film.webm": ("libvpx-vp9", "yuv420p", {}),
}

# Else so small that the index is half of the file.
QUALITY = {"h264": {"crf": "8"}}


@pytest.fixture
def damaged(make_clip, draw, tmp_path):
    """Give a function that makes a film and damages it."""

    def make(name, change):
        codec, pixel_format, options = KINDS[name]
        rng = np.random.default_rng(0)
        frames = [np.clip(f + rng.normal(0, 6, f.shape), 0, 255).astype(np.uint8) for f in draw(50)]
        path = make_clip(
            tmp_path / name, frames, codec, pixel_format, container_options=options, options=QUALITY.get(codec)
        )
        content = bytearray(path.read_bytes())
        path.write_bytes(change(content))
        return path

    return make


def cut(content):
    return content[: int(len(content) * 0.6)]


def scramble(content):
    """Overwrite a part from the middle on."""
    place, length = int(len(content) * 0.55), max(300, len(content) // 30)
    content[place : place + length] = np.random.default_rng(1).bytes(length)
    return content


def walk(path, **options):
    """Return how many frames come, and the error after them."""
    count = 0
    try:
        with open_source(path, **options) as source:
            for frame in source:
                assert frame.number == count
                count += 1
    except FormatError as error:
        return count, error
    return count, None


@pytest.mark.parametrize("name", KINDS)
def test_cut_film_gives_the_frames_before(damaged, name):
    count, error = walk(damaged(name, cut))
    assert 15 <= count <= 45
    if name == "film.wmv" and error is None:
        return  # cut between two frames, which nothing in the file tells
    assert isinstance(error, DamagedError)
    assert error.frames == count
    assert name in str(error)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "film.wmv"])
def test_tolerance_turns_the_error_into_a_warning(damaged, name):
    path = damaged(name, cut)
    strict, _ = walk(path)
    with pytest.warns(DamageWarning, match=name):
        count, error = walk(path, tolerant=True)
    assert error is None
    assert strict <= count < 50


@pytest.mark.parametrize("name", ["film.mp4", "film.mpg", "film.wmv"])
def test_scrambled_film_gives_the_frames_before(damaged, name):
    count, error = walk(damaged(name, scramble))
    assert 10 <= count <= 45
    assert isinstance(error, DamagedError)


@pytest.mark.parametrize("name", ["film.mkv", "film.webm", "film.avi"])
def test_scrambled_film_that_decoders_conceal_does_not_crash(damaged, name):
    count, _ = walk(damaged(name, scramble))
    assert 10 <= count <= 50


def test_film_without_its_index(make_clip, draw, tmp_path):
    path = make_clip(tmp_path / "film.mp4", draw(10), "libx264", "yuv420p")
    path.write_bytes(path.read_bytes()[:-900])
    with pytest.raises(FormatError, match="index is missing"):
        open_source(path)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("content", [b"", b"hello" * 400, bytes(3000)])
def test_what_is_no_film(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=name):
        open_source(tmp_path / name)


def test_missing_film_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such"):
        open_source(tmp_path / "no-such.mp4")
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises((ArgumentError, FormatError), match="folder"):
        open_source(tmp_path / "folder.mp4")


@pytest.fixture
def changing(av, draw, tmp_path):
    """Give a film whose size changes after ten frames."""
    content = b""
    for rows, columns in ((48, 64), (64, 80)):
        context = av.CodecContext.create("libx264", "w")
        context.width, context.height, context.pix_fmt = columns, rows, "yuv420p"
        context.framerate, context.time_base = 25, Fraction(1, 25)
        context.options = {"tune": "zerolatency"}
        for number, pixels in enumerate(draw(10, rows, columns)):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = number
            content += b"".join(bytes(packet) for packet in context.encode(frame))
        content += b"".join(bytes(packet) for packet in context.encode(None))
    path = tmp_path / "film.h264"
    path.write_bytes(content)
    return path


def test_size_that_changes_is_refused_at_its_frame(changing):
    count, error = walk(changing)
    assert count == 10
    assert "changes its size at frame 10, from 64 × 48 to 80 × 64" in str(error)


def test_size_that_changes_is_scaled_if_asked(changing):
    with pytest.warns(DamageWarning, match="frame 10"), open_source(changing, tolerant=True) as source:
        shapes = {frame.pixels.shape for frame in source}
    assert shapes == {(48, 64, 3)}


def test_bombs_of_film(make_clip, draw, tmp_path, monkeypatch):
    path = make_clip(tmp_path / "film.mkv", draw(2))
    with pytest.raises(FormatError, match="most_pixels=3072 or set SUBBAND_MOST_PIXELS"):
        open_source(path, most_pixels=3000)
    monkeypatch.setenv("SUBBAND_MOST_PIXELS", "3000")
    with pytest.raises(FormatError, match="limit of 3000"):
        open_source(path)
    assert walk(path, most_pixels=3072) == (2, None)


def test_missing_library_is_named(monkeypatch, tmp_path, make_clip, draw):
    path = make_clip(tmp_path / "film.mkv", draw(1))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'subband\[video\]'"):
        open_source(path)
    with pytest.raises(MissingExtraError, match=r"pip install 'subband\[video\]'"):
        open_sink(tmp_path / "film.mp4", INFO)


def write_some(sink, draw, count=5):
    for number, pixels in enumerate(draw(count)):
        sink.write(Frame(pixels, number, number / 25))


@pytest.mark.parametrize("name", KINDS)
def test_nothing_appears_before_the_end(tmp_path, draw, name):
    with open_sink(tmp_path / name, INFO) as sink:
        write_some(sink, draw)
        assert [path.name for path in tmp_path.iterdir()] == [f"film.part.{name[5:]}"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def fail_in_the_middle(path, draw, **options):
    with open_sink(path, INFO, **options) as sink:
        write_some(sink, draw, 30)
        raise RuntimeError("in the middle")


@pytest.mark.parametrize("name", KINDS)
def test_abort_leaves_nothing_or_what_plays(tmp_path, draw, name):
    with pytest.raises(RuntimeError, match="middle"):
        fail_in_the_middle(tmp_path / name, draw)
    assert not list(tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="middle"):
        fail_in_the_middle(tmp_path / name, draw, keep_partial=True)
    (kept,) = tmp_path.iterdir()
    assert kept.name == f"film.part.{name[5:]}"
    assert walk(kept) == (30, None)


def test_existing_file_stays(tmp_path, draw):
    path = tmp_path / "film.mkv"
    path.write_bytes(b"precious")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        open_sink(path, INFO)
    with pytest.raises(RuntimeError, match="middle"):
        fail_in_the_middle(path, draw, overwrite=True)
    assert path.read_bytes() == b"precious"
    with open_sink(path, INFO, overwrite=True) as sink:
        write_some(sink, draw)
    assert walk(path) == (5, None)


def test_file_that_appears_meanwhile_stays(tmp_path, draw):
    path = tmp_path / "film.mkv"
    sink = open_sink(path, INFO)
    write_some(sink, draw)
    path.write_bytes(b"precious")
    with pytest.raises(ArgumentError, match="there already"):
        sink.finish()
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


def test_sinks_end_once(tmp_path, draw):
    sink = open_sink(tmp_path / "film.mkv", INFO)
    with pytest.raises(ArgumentError, match="is being written already"):
        open_sink(tmp_path / "film.mkv", INFO)
    write_some(sink, draw)
    assert sink.finish() == tmp_path / "film.mkv"
    sink.abort()
    assert (tmp_path / "film.mkv").exists()
    with pytest.raises(ArgumentError, match="open another"):
        write_some(sink, draw)
    with pytest.raises(ArgumentError, match="no frame"), open_sink(tmp_path / "empty.mkv", INFO):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["film.mkv"]


def test_places_that_take_no_files(tmp_path):
    with pytest.raises(ArgumentError, match="does not exist; make it first"):
        open_sink(tmp_path / "no" / "film.mkv", INFO)
    # Not even root makes files there.
    if os.path.isdir("/proc"):  # noqa: PTH112
        with pytest.raises(OutputError, match="cannot be written") as caught:
            open_sink("/proc/film.mkv", INFO)
        assert "\n" not in str(caught.value)


needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither SIGKILL nor limits of files")

PRELUDE = f"""
import sys
sys.path[:0] = {sys.path!r}
import numpy as np
from pathlib import Path
from subband.errors import SubbandError
from subband.media import *
"""


def run_child(program, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@needs_posix
@pytest.mark.parametrize("name", ["film.avi", "film.mkv", "film.mp4"])
def test_full_disk_gives_one_line(tmp_path, name):
    program = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        source = open_source("test:320x240?count=400&noise=60")
        try:
            with open_sink(sys.argv[1], source.info, quality=100) as sink:
                for frame in source:
                    sink.write(frame)
        except SubbandError as error:
            print(f"{type(error).__name__}: {error}")
            sys.exit(3)
    """
    child = run_child(program, tmp_path / name)
    output, errors = child.communicate(timeout=600)
    assert child.returncode == 3, errors
    assert output.startswith("OutputError: ")
    assert name in output
    assert output.count("\n") == 1
    assert not list(tmp_path.iterdir())


@needs_posix
@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_kill_leaves_only_the_part_and_it_plays(tmp_path, name):
    program = """
        source = open_source("test:64x48@25")
        sink = open_sink(sys.argv[1], source.info, keep_partial=True, options={"g": "10"})
        for frame in source:
            sink.write(frame)
            if frame.number == 150:
                print("ready", flush=True)
    """
    child = run_child(program, tmp_path / name)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        # what is buffered reaches the file in its own time
        for _ in range(600):
            if sum(path.stat().st_size for path in tmp_path.iterdir()) > 2**18:
                break
            time.sleep(0.1)
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=600)
    assert [path.name for path in tmp_path.iterdir()] == [f"film.part{name[4:]}"]
    with open_source(tmp_path / f"film.part{name[4:]}", tolerant=True) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)
        frames = sum(1 for _ in source)
    assert frames > 20


def measure_peak(tmp_path, count, ending):
    """Return the peak of a child's memory in bytes, after it has read a film and written one."""
    program = """
        source = open_source(f"test:160x120@25?count={sys.argv[2]}&noise=20")
        first = Path(sys.argv[1], "first" + sys.argv[3])
        with open_sink(first, source.info) as sink:
            for frame in source:
                sink.write(frame)
        with open_source(first) as source, open_sink(Path(sys.argv[1], "second" + sys.argv[3]), source.info) as sink:
            for frame in source:
                sink.write(frame)
        import resource
        # Kilobytes on Linux, bytes on macOS.
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    """
    (tmp_path / str(count)).mkdir()
    child = run_child(program, tmp_path / str(count), count, ending)
    output, errors = child.communicate(timeout=600)
    assert child.returncode == 0, errors
    return int(output)


@needs_posix
@pytest.mark.parametrize("ending", [".mp4", ".mkv"])
def test_memory_does_not_grow_with_the_film(tmp_path, ending):
    short, long = measure_peak(tmp_path, 40, ending), measure_peak(tmp_path, 400, ending)
    # 360 frames more would be 21 MB if they were kept.
    assert long - short < 8e6


@pytest.mark.parametrize(("codec", "pixel_format"), [("ffv1", "bgr0"), ("libx264", "yuv420p")])
def test_few_missing_frames_of_matroska_are_noticed(av, make_clip, draw, tmp_path, codec, pixel_format):
    options = {"bf": "0"} if codec == "libx264" else {}  # so that the frames at the end of the file are the last
    path = make_clip(tmp_path / "film.mkv", draw(50), codec, pixel_format, options=options)
    assert walk(path) == (50, None)
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    path.write_bytes(path.read_bytes()[: places[-3]])
    count, error = walk(path)
    assert count == 47
    assert isinstance(error, DamagedError)
    assert "ends too early, after 47 frames; the file says 2.00 seconds" in str(error)


@pytest.mark.parametrize("ticks", [[5, 6, 7, 8], [0, 1, 2, 8, 9, 10], [0, 1, 6, 7, 13]])
def test_uneven_matroska_is_complete(av, draw, tmp_path, ticks):
    with av.open(str(tmp_path / "film.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 48, 64, "bgr0"
        for tick, pixels in zip(ticks, draw(len(ticks)), strict=True):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = tick, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert walk(tmp_path / "film.mkv") == (len(ticks), None)

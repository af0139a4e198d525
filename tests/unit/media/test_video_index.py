"""Frames of a video are found by their numbers, whatever their container says about them."""

from fractions import Fraction

import numpy as np
import pytest

from subband.media.video import FilmSource

av = pytest.importorskip("av", reason="video is read with PyAV: pip install 'subband[video]'")

COUNT = 60


def write_video(path, codec, times=None, **options):
    """Write frames whose shade tells their number, at given times in frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options={"g": "12", **options})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 25)
        for number in range(COUNT):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 4 * number, np.uint8), format="rgb24")
            frame.pts = number if times is None else times[number]
            frame.time_base = Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize(
    ("name", "codec", "times", "options"),
    [
        ("steady.mp4", "libx264", None, {}),
        ("frames-between.mp4", "libx264", None, {"bf": "3"}),
        ("unsteady.mp4", "libx264", [number + number // 7 for number in range(COUNT)], {}),
        ("steady.mkv", "libx264", None, {"bf": "2"}),
        ("steady.ts", "mpeg2video", None, {"bf": "2"}),
        ("steady.avi", "mpeg4", None, {}),
    ],
)
def test_every_frame_is_found(tmp_path, name, codec, times, options):
    path = tmp_path / name
    write_video(path, codec, times, **options)
    with FilmSource(path, quick=True) as source:
        expected = [frame.pixels for frame in source]
    assert len(expected) == COUNT
    with FilmSource(path, quick=True) as source:
        found = 0
        for number in (40, 7, 59, 13, 12, 11, 1, 58):
            if not source.go_to(number):
                continue
            found += 1
            frame = next(iter(source))
            assert frame.number == number
            np.testing.assert_array_equal(frame.pixels, expected[number])
        # AVI does not say when its frames are shown, and in transport streams the first may not be sought
        assert found >= {".avi": 0, ".ts": 7}.get(path.suffix, 8)
        assert not source.go_to(COUNT)


def test_frames_follow_the_one_that_was_sought(tmp_path):
    write_video(tmp_path / "steady.mp4", "libx264", bf="3")
    with FilmSource(tmp_path / "steady.mp4") as source:
        assert source.go_to(30)
        assert [frame.number for frame in source] == list(range(30, COUNT))
        assert not source.damage

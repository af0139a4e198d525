"""Parts of a video, and another pace."""

from fractions import Fraction

import numpy as np
import pytest

from subband.errors import ArgumentError
from subband.media import LossWarning, Still, Trim, open_sink, open_source, write_still

pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")


def read(path, **options):
    with open_source(path, **options) as source:
        return source.info, list(source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5:4", (Fraction(3, 2), 4, "seconds")),
        (":4", (0, 4, "seconds")),
        ("2:", (2, None, "seconds")),
        ("10f:20f", (10, 20, "frames")),
        ("10f:", (10, None, "frames")),
        (":20f", (0, 20, "frames")),
        ("1:30-2:00", (90, 120, "seconds")),
        ("1:00:00-", (3600, None, "seconds")),
    ],
)
def test_parts_are_read(text, expected):
    part = Trim.read(text)
    assert (part.start, part.end, part.unit) == expected


@pytest.mark.parametrize("text", ["", ":", "4", "4:2", "a:b", "1f:2.5f", "-", "2:2", "1:2:3"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(ArgumentError, match="write START:END in seconds"):
        Trim.read(text)


@pytest.mark.parametrize("trim", ["0.4:0.8", "10f:20f"])
@pytest.mark.parametrize("name", ["clip.mkv", "clip.mp4"])
def test_a_part_of_a_video(tmp_path, make_clip, draw, name, trim):
    codec = "ffv1" if name == "clip.mkv" else "libx264"
    path = make_clip(tmp_path / name, draw(50), codec, "yuv420p", audio="aac")
    whole = read(path)[1]
    info, part = read(path, trim=trim)
    assert info.count == len(part) == 10
    assert [frame.number for frame in part] == list(range(10))
    np.testing.assert_allclose([frame.time for frame in part], np.arange(10) / 25, atol=1e-3)
    np.testing.assert_array_equal(part[3].pixels, whole[13].pixels)


def test_sound_is_cut_with_the_frames(tmp_path, av, make_clip, draw):
    path = make_clip(tmp_path / "clip.mkv", draw(100), "ffv1", "yuv420p", audio="flac")
    with open_source(path, trim="1:3") as source, open_sink(tmp_path / "part.mkv", source.info) as sink:
        for frame in source:
            sink.write(frame)
    with av.open(str(tmp_path / "part.mkv")) as container:
        times = [float(packet.pts * packet.time_base) for packet in container.demux(audio=0) if packet.size]
        assert len(container.streams.audio) == 1
    assert min(times) < 0.15
    assert 1.8 < max(times) < 2.05


def test_another_pace(tmp_path, make_clip, draw):
    path = make_clip(tmp_path / "clip.mkv", draw(20), "ffv1", "yuv420p", audio="aac")
    with pytest.warns(LossWarning, match="sound, subtitles and chapters are left out.* 10 frames per second"):
        info, frames = read(path, rate=10)
    assert (info.rate, info.has_audio) == (10, False)
    np.testing.assert_allclose([frame.time for frame in frames], np.arange(20) / 10)
    assert read(path, rate=25)[0].has_audio


def test_a_part_of_a_series(tmp_path):
    for number in range(12):
        write_still(tmp_path / f"p{number:02d}.png", Still(np.full((8, 8), number, np.uint8)))
    info, frames = read(tmp_path / "p%02d.png", trim="3f:6f", rate=10)
    assert (info.rate, info.count) == (10, 3)
    assert [int(frame.pixels[0, 0]) for frame in frames] == [3, 4, 5]
    np.testing.assert_allclose([frame.time for frame in frames], [0, 0.1, 0.2])


def test_what_has_no_parts(tmp_path):
    write_still(tmp_path / "a.png", Still(np.zeros((8, 8), np.uint8)))
    np.save(tmp_path / "a.npy", np.zeros((4, 8, 8), np.float32))
    for name in ("a.png", "a.npy"):
        with pytest.raises(ArgumentError, match="trim is for video"):
            open_source(tmp_path / name, trim="0:1")
    with pytest.raises(ArgumentError, match="there are only 5 frames"):
        open_source("test:64x48@25?count=5", trim="3:")
    with pytest.raises(ArgumentError, match="rate=0"):
        open_source(tmp_path / "a.npy", rate=0)

"""Motion JPEG 2000: frames by our own codec in containers of FFmpeg, which reads all of them."""

from dataclasses import replace

import numpy as np
import pytest

from subband.codecs.jpeg2000 import read_header
from subband.errors import ArgumentError
from subband.media import open_sink, open_source
from subband.media.base import Frame, SourceInfo

RNG = np.random.default_rng(0)
FORMATS = {
    "gray": "gray",
    "gray12le": "gray12le",
    "rgb24": "bgr0",
    "rgba": "bgra",
    "gbrp12le": "gbrp12le",
    "gbrp16le": "gbrp16le",
    "yuv420p": "yuv420p",
    "yuv422p10le": "yuv422p10le",
    "yuv444p": "yuv444p",
    "yuv444p12le": "yuv444p12le",
    "yuva420p": "yuva420p",
}


@pytest.fixture(scope="module")
def make_source(tmp_path_factory, av):
    """Give a function that writes noise of a pixel format without a loss, and returns where."""
    folder = tmp_path_factory.mktemp("sources")

    def make(name):
        path = folder / f"{name}.mkv"
        if path.exists():
            return path
        with av.open(str(path), "w") as container:
            stream = container.add_stream("ffv1", rate=25)
            stream.width, stream.height, stream.pix_fmt = 63, 48, FORMATS[name]
            for _ in range(3):
                frame = av.VideoFrame(63, 48, FORMATS[name])
                for plane in frame.planes:
                    # the high bytes of samples of 10 and 12 bits hold two and four bits
                    top = {"10": 4, "12": 16}.get(FORMATS[name].removesuffix("le")[-2:], 256)
                    values = RNG.integers(0, 256, plane.buffer_size)
                    values[1::2] %= top
                    plane.update(values.astype(np.uint8).tobytes())
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path

    return make


def copy(first, second, **options):
    with open_source(first, colours="ycbcr") as source, open_sink(second, source.info, **options) as sink:
        for frame in source:
            sink.write(frame)


def read(path):
    with open_source(path, colours="ycbcr") as source:
        return source.info, list(source)


def list_packets(av, path):
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


@pytest.mark.parametrize("settings", [{}, {"ht": True}], ids=["Part 1", "HT"])
@pytest.mark.parametrize("ending", ["mj2", "mxf", "mkv"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_comes_back(tmp_path, av, make_source, name, ending, settings):
    before = read(make_source(name))
    path = tmp_path / f"a.{ending}"
    copy(make_source(name), path, codec="jpeg2000", settings=settings)
    info, after = read(path)
    assert (info.codec, info.rate, info.colours, len(after)) == ("jpeg2000", 25, before[0].colours, 3)
    for one, other in zip(before[1], after, strict=True):
        assert one.time == pytest.approx(other.time)
        np.testing.assert_array_equal(one.pixels, other.pixels)
        if one.alpha is not None:
            np.testing.assert_array_equal(one.alpha, other.alpha)
    header = read_header(list_packets(av, path)[0])
    assert bool(header.boxes) == (ending != "mxf" or name.startswith("yuv444"))


def test_a_name_is_enough(tmp_path, av, make_source):
    copy(make_source("yuv420p"), tmp_path / "a.mj2")
    data = (tmp_path / "a.mj2").read_bytes()
    assert data[4:12] == b"jP  \r\n\x87\n"
    assert data[16:24] == b"ftypmjp2"
    assert all("subband" not in text for text in read_header(list_packets(av, tmp_path / "a.mj2")[0]).comments)
    assert read(tmp_path / "a.mj2")[0].codec == "jpeg2000"


def test_a_rate_is_kept_by_every_frame(tmp_path, av, make_source):
    copy(make_source("yuv420p"), tmp_path / "a.mxf", codec="jpeg2000", settings={"rate": 2.0})
    assert max(map(len, list_packets(av, tmp_path / "a.mxf"))) <= 63 * 48 / 4
    copy(make_source("rgb24"), tmp_path / "b.mj2", settings={"step": 8.0, "ht": True, "tile": (32, 32)})
    before, after = read(make_source("rgb24"))[1], read(tmp_path / "b.mj2")[1]
    assert 0 < np.abs(before[0].pixels.astype(int) - after[0].pixels).mean() < 8


def test_sound_goes_along(tmp_path, make_clip, draw):
    first = make_clip(tmp_path / "a.mkv", draw(12), "ffv1", "yuv420p", audio="aac")
    copy(first, tmp_path / "b.mj2")
    info, frames = read(tmp_path / "b.mj2")
    assert info.has_audio
    assert len(frames) == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"size": 1000}, "size is for images"), ({"roi": (0, 0, 4, 4)}, "roi is for images"), ({"rat": 1}, "rat=1")],
)
def test_settings_that_are_not_for_video(tmp_path, settings, message):
    info = SourceInfo("film", (48, 64, 3), np.dtype("uint8"))
    with pytest.raises(ArgumentError, match=message), open_sink(tmp_path / "a.mj2", info, settings=settings) as sink:
        sink.write(Frame(np.zeros((48, 64, 3), np.uint8)))
    assert not list(tmp_path.iterdir())


def test_encoders_of_ffmpeg_can_be_asked_for(tmp_path, make_source):
    copy(make_source("yuv420p"), tmp_path / "a.mj2", options={"pred": "dwt53"})
    before, after = read(make_source("yuv420p"))[1], read(tmp_path / "a.mj2")[1]
    np.testing.assert_array_equal(before[0].pixels, after[0].pixels)


def test_deep_frames_of_arrays(tmp_path):
    info = SourceInfo("film", (20, 30), np.dtype("uint16"), colours="grey")
    frames = RNG.integers(0, 65536, (2, 20, 30)).astype(np.uint16)
    with open_sink(tmp_path / "a.mj2", replace(info, count=2)) as sink:
        for number, pixels in enumerate(frames):
            sink.write(Frame(pixels, number, number / 25))
    for one, other in zip(frames, read(tmp_path / "a.mj2")[1], strict=True):
        np.testing.assert_array_equal(one, other.pixels)

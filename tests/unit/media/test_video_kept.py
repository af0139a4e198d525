"""What a video has beside its colours is kept, or its loss is said in one line."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from subband.errors import NoDeviceError
from subband.media import ColourTags, Frame, LossWarning, SourceInfo, open_sink, open_source

pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")

INFO = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8), rate=Fraction(25))


def copy(source_path, sink_path, *, colours="ycbcr", **options):
    with open_source(source_path, colours=colours) as source, open_sink(sink_path, source.info, **options) as sink:
        for frame in source:
            sink.write(frame)
    return source.info


def read(path, **options):
    with open_source(path, **options) as source:
        return source.info, list(source)


def write(path, info, frames, **options):
    with open_sink(path, info, **options) as sink:
        for number, pixels in enumerate(frames):
            sink.write(Frame(pixels, number, number / 25))
    return path


def make_transparent(av, path, codec, pixel_format, frames, alpha):
    """Write frames with opacity, with PyAV alone."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames[0].shape[:2], pixel_format
        for number, pixels in enumerate(frames):
            whole = np.concatenate([pixels, alpha[..., None]], axis=2)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(whole), format="rgba").reformat(format=pixel_format)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture
def alpha():
    return np.add.outer(np.arange(48) * 2, np.arange(64) * 2).astype(np.uint8)


@pytest.mark.parametrize("pixel_format", ["yuva420p", "yuva422p", "yuva444p", "yuva420p10le", "yuva444p12le", "ya8"])
@pytest.mark.parametrize("colours", ["rgb", "ycbcr"])
def test_opacity_is_read_and_written_bit_by_bit(tmp_path, av, draw, alpha, pixel_format, colours):
    first = make_transparent(av, tmp_path / "a.mkv", "ffv1", pixel_format, draw(2), alpha)
    info = copy(first, tmp_path / "b.mkv", colours=colours)
    assert info.has_alpha
    (_, before), (again, after) = (read(tmp_path / name, colours=colours) for name in ("a.mkv", "b.mkv"))
    assert again.has_alpha
    for one, other in zip(before, after, strict=True):
        assert one.alpha.dtype == info.dtype
        # FFmpeg's own conversion of the clip is off by one here and there
        np.testing.assert_allclose(one.alpha * (255 / info.peak), alpha, atol=1.1)
        np.testing.assert_array_equal(other.alpha, one.alpha)
    if colours == "ycbcr" and pixel_format != "ya8":
        assert again.pixel_format == pixel_format


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [("b.mov", "prores", "yuva444p10le"), ("b.mov", "png", "rgba"), ("b.mov", "animation", "argb"),
     ("b.webm", None, "yuva420p"), ("b.mkv", None, "yuva444p10le")],
)  # fmt: skip
@pytest.mark.parametrize("colours", ["rgb", "ycbcr"])
def test_opacity_goes_into_every_encoder_that_has_it(tmp_path, av, draw, alpha, name, codec, pixel_format, colours):
    source = "yuva444p10le" if pixel_format != "yuva420p" else "yuva420p"
    first = make_transparent(av, tmp_path / "a.mkv", "ffv1", source, draw(3), alpha)
    options = {} if codec is None else {"codec": codec}
    with warnings.catch_warnings():
        warnings.simplefilter("error", LossWarning)
        copy(first, tmp_path / name, colours=colours, **options)
    info, frames = read(tmp_path / name)
    assert info.has_alpha
    scale = info.peak / 255
    for frame in frames:
        assert np.abs(frame.alpha / scale - alpha).mean() < 4


def test_decoded_opacity_of_prores_stays(tmp_path, av, draw, alpha):
    first = make_transparent(av, tmp_path / "a.mov", "prores_ks", "yuva444p10le", draw(2), alpha)
    info = copy(first, tmp_path / "b.mov", codec="prores")
    assert info.has_alpha
    assert read(tmp_path / "b.mov")[0].pixel_format.startswith("yuva444p")


def test_lost_opacity_is_said(tmp_path, av, draw, alpha):
    first = make_transparent(av, tmp_path / "a.mkv", "ffv1", "yuva420p", draw(2), alpha)
    with pytest.warns(LossWarning, match=r"'b\.mp4' keeps no opacity with libx264; ffv1 in \.mkv"):
        copy(first, tmp_path / "b.mp4")


@pytest.mark.parametrize("name", ["film.mkv", "film.avi", "film.webm", "film.mp4", "film.mov", "film.y4m", "film.ts"])
@pytest.mark.parametrize("aspect", [Fraction(16, 11), Fraction(8, 9)])
def test_shape_of_pixels_is_kept(tmp_path, draw, name, aspect):
    write(tmp_path / name, replace(INFO, pixel_aspect=aspect), draw(6))
    info, frames = read(tmp_path / name)
    assert len(frames) == 6
    assert float(info.pixel_aspect) == pytest.approx(float(aspect), rel=0.02)
    copied = copy(tmp_path / name, tmp_path / "copy.mkv")
    assert read(tmp_path / "copy.mkv")[0].pixel_aspect == pytest.approx(copied.pixel_aspect, rel=0.02)


def test_head_with_the_shape_of_pixels_leaves_the_rest_alone(tmp_path, av, make_clip, draw):
    clip = make_clip(tmp_path / "a.mkv", draw(40, 96, 128), "ffv1", "yuv420p", audio="flac")
    with open_source(clip, colours="ycbcr") as source:
        info = replace(source.info, pixel_aspect=Fraction(4, 3))
        with open_sink(tmp_path / "b.mkv", info) as sink:
            for frame in source:
                sink.write(frame)
    with av.open(str(tmp_path / "b.mkv")) as container:
        # by the index, which lies behind the frames
        container.seek(1_000_000)
        assert next(container.decode(video=0)).time == pytest.approx(1.0, abs=0.05)
        assert len(container.streams.audio) == 1
    before, after = read(clip, colours="ycbcr")[1], read(tmp_path / "b.mkv", colours="ycbcr")[1]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.pixels, other.pixels)


@pytest.mark.parametrize(
    ("name", "codec"), [("b.avi", None), ("b.mkv", None), ("b.mp4", None), ("b.mov", "prores"), ("b.mxf", None)]
)
def test_contrast_of_full_range_video_stays(tmp_path, make_clip, draw, name, codec):
    first = make_clip(tmp_path / "a.avi", draw(3), "mjpeg", "yuvj420p", options={"qmin": "1", "qmax": "1"})
    before = read(first)
    assert before[0].tags.full_range
    copy(first, tmp_path / name, quality=98, **({} if codec is None else {"codec": codec}))
    _, after = read(tmp_path / name)
    for one, other in zip(before[1], after, strict=True):
        ours = other.pixels / 257 if other.pixels.dtype == np.uint16 else other.pixels
        np.testing.assert_allclose(ours.mean((0, 1)), one.pixels.mean((0, 1)), atol=2)
        np.testing.assert_allclose(ours.std((0, 1)), one.pixels.std((0, 1)), rtol=0.04)


def test_a_volume_becomes_a_video_that_lasts(tmp_path):
    np.save(tmp_path / "volume.npy", np.zeros((60, 48, 64), np.uint8))
    for rate, expected in ((None, 25), (10, 10)):
        with (
            open_source(tmp_path / "volume.npy", rate=rate) as source,
            open_sink(tmp_path / "film.mp4", source.info, overwrite=True) as sink,
        ):
            for frame in source:
                sink.write(frame)
        info, frames = read(tmp_path / "film.mp4")
        assert (info.rate, len(frames)) == (expected, 60)
        assert frames[-1].time == pytest.approx(59 / expected, abs=1e-4)


@pytest.mark.parametrize("unit", [Fraction(1, 90000), Fraction(1, 600), Fraction(1, 12800)])
def test_uneven_times_of_mp4_stay_exact(tmp_path, av, draw, unit):
    ticks = [0, 24, 60, 61, 150, 152, 333, 400]
    with av.open(str(tmp_path / "a.mp4"), "w", options={"video_track_timescale": str(unit.denominator)}) as container:
        stream = container.add_stream("libx264", rate=25, options={"bf": "0"})
        stream.height, stream.width, stream.pix_fmt = 48, 64, "yuv420p"
        stream.codec_context.time_base = unit
        for tick, pixels in zip(ticks, draw(8), strict=True):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = tick, unit
            container.mux(stream.encode(frame))
        container.mux(stream.encode())

    def list_times(path):
        with av.open(str(path)) as container:
            return [frame.pts * Fraction(frame.time_base) for frame in container.decode(video=0)]

    before = list_times(tmp_path / "a.mp4")
    assert before == [tick * unit for tick in ticks]
    copy(tmp_path / "a.mp4", tmp_path / "b.mp4")
    assert list_times(tmp_path / "b.mp4") == before


SUBTITLES = b"1\n00:00:00,000 --> 00:00:00,400\nfirst\n\n2\n00:00:00,500 --> 00:00:00,900\nsecond\n"


@pytest.fixture(scope="module")
def rich_clip(tmp_path_factory, av, make_clip, draw):
    """Give a Matroska file with two languages, subtitles, chapters and a time code."""
    folder = tmp_path_factory.mktemp("rich")
    plain = make_clip(folder / "plain.mkv", draw(25), "ffv1", "yuv420p", audio="aac")
    (folder / "words.srt").write_bytes(SUBTITLES)
    with (
        av.open(str(plain)) as film,
        av.open(str(folder / "words.srt")) as words,
        av.open(str(folder / "rich.mkv"), "w") as output,
    ):
        video = output.add_stream_from_template(film.streams.video[0], opaque=True)
        sounds = [output.add_stream_from_template(film.streams.audio[0]) for _ in range(2)]
        text = output.add_stream_from_template(words.streams.subtitles[0])
        for stream, language in ((sounds[0], "fra"), (sounds[1], "deu"), (text, "ita")):
            stream.metadata["language"] = language
        sounds[1].metadata["title"] = "Kommentar"
        sounds[0].disposition, sounds[1].disposition = 1, 8
        output.metadata["timecode"] = "01:02:03:04"
        output.set_chapters(
            [{"id": number, "start": 400 * number, "end": 400 * number + 400, "time_base": Fraction(1, 1000),
              "metadata": {"title": f"part {number}"}} for number in range(2)]
        )  # fmt: skip
        for packet in words.demux():
            if packet.dts is not None:
                packet.stream = text
                output.mux(packet)
        for packet in film.demux():
            if packet.dts is None:
                continue
            if packet.stream.type == "audio":
                for stream in sounds:
                    copied = av.Packet(bytes(packet))
                    copied.pts, copied.dts, copied.time_base = packet.pts, packet.dts, packet.time_base
                    copied.duration, copied.stream = packet.duration, stream
                    output.mux(copied)
            else:
                packet.stream = video
                output.mux(packet)
    return folder / "rich.mkv"


def describe(av, path):
    with av.open(str(path)) as container:
        return {
            "sound": [(s.language, s.metadata.get("title"), int(s.disposition)) for s in container.streams.audio],
            "subtitles": [(s.language, s.codec_context.name) for s in container.streams.subtitles],
            "chapters": [
                (float(c["start"] * c["time_base"]), c["metadata"].get("title")) for c in container.chapters()
            ],
        }


def test_subtitles_chapters_languages_and_time_code_are_kept(tmp_path, av, rich_clip):
    before = describe(av, rich_clip)
    assert before["sound"][1][:2] == ("deu", "Kommentar")
    assert before["subtitles"] == [("ita", "srt")]
    assert len(before["chapters"]) == 2
    info = copy(rich_clip, tmp_path / "b.mkv")
    assert info.metadata["timecode"] == "01:02:03:04"
    assert describe(av, tmp_path / "b.mkv") == before
    assert read(tmp_path / "b.mkv")[0].metadata["timecode"] == "01:02:03:04"
    with av.open(str(tmp_path / "b.mkv")) as container:
        words = b" ".join(bytes(packet) for packet in container.demux(container.streams.subtitles) if packet.size)
    assert b"first" in words
    assert b"second" in words


def test_what_does_not_fit_beside_the_frames_is_said(tmp_path, av, rich_clip):
    with pytest.warns(LossWarning, match=r"'b\.mp4' cannot hold subtitles \(srt\) of 'rich\.mkv'"):
        copy(rich_clip, tmp_path / "b.mp4")
    kept = describe(av, tmp_path / "b.mp4")
    assert [language for language, _, _ in kept["sound"]] == ["fra", "deu"]
    assert [title for _, title in kept["chapters"]] == ["part 0", "part 1"]
    assert read(tmp_path / "b.mp4")[0].metadata["timecode"] == "01:02:03:04"
    with pytest.warns(LossWarning) as said:
        copy(rich_clip, tmp_path / "b.avi", audio=False)
    texts = sorted(str(warning.message) for warning in said)
    assert len(texts) == 2
    assert "cannot hold subtitles (srt), chapters" in texts[0]
    assert "keeps no time code" in texts[1]


POINTS = (35400, 14600, 8500, 39850, 6550, 2300, 15635, 16450)
HDR = {
    "mastering_display": (*(Fraction(point, 50000) for point in POINTS), Fraction(50, 10000), Fraction(1000)),
    "content_light": (1000, 400),
}


@pytest.mark.parametrize(
    ("name", "codec"), [("a.mp4", "h265"), ("a.mp4", "h264"), ("a.mkv", "h265"), ("a.mkv", "ffv1"), ("a.webm", "vp9")]
)
@pytest.mark.parametrize("aspect", [Fraction(1), Fraction(4, 3)])
def test_light_of_hdr10_is_kept(tmp_path, name, codec, aspect):
    info = replace(INFO, tags=ColourTags(9, False, 9, 16), metadata=HDR, pixel_aspect=aspect)
    if codec != "vp9":
        info = replace(info, dtype=np.dtype(np.uint16), bits=10)
    write(tmp_path / name, info, [np.full((48, 64, 3), 30000 if info.bits > 8 else 99, info.dtype)] * 3, codec=codec)
    first = copy(tmp_path / name, tmp_path / f"b-{name}", codec=codec)
    for found in (first, read(tmp_path / f"b-{name}")[0]):
        assert float(found.pixel_aspect) == pytest.approx(float(aspect), rel=0.01)
        assert (found.tags.primaries, found.tags.transfer) == (9, 16)
        assert found.metadata["content_light"] == HDR["content_light"]
        np.testing.assert_allclose(
            np.array(found.metadata["mastering_display"], float), np.array(HDR["mastering_display"], float), rtol=1e-4
        )


def test_lost_light_is_said(tmp_path, draw):
    with pytest.warns(LossWarning, match="keeps no HDR10 mastering data with prores_ks"):
        write(tmp_path / "a.mov", replace(INFO, metadata=HDR), draw(1), codec="prores")


@pytest.mark.parametrize(
    ("name", "codec", "container"),
    [
        ("a.ts", "h264", "mpegts"),
        ("a.y4m", "rawvideo", "yuv4mpegpipe"),
        ("a.mxf", "mpeg2video", "mxf"),
        ("a.mj2", "jpeg2000", "mov,mp4,m4a,3gp,3g2,mj2"),
    ],
)
def test_more_kinds_of_video_are_written(tmp_path, make_clip, draw, name, codec, container):
    first = make_clip(tmp_path / "first.mkv", draw(12), "ffv1", "yuv422p" if name != "a.ts" else "yuv420p")
    before = read(first)[1]
    copy(first, tmp_path / name, quality=95)
    info, frames = read(tmp_path / name)
    assert (info.codec, info.container, info.rate, len(frames)) == (codec, container, 25, 12)
    errors = [np.abs(a.pixels.astype(int) - b.pixels).mean() for a, b in zip(before, frames, strict=True)]
    assert max(errors) < {"a.y4m": 0.5, "a.mj2": 1e-9}.get(name, 8)


@pytest.mark.parametrize("codec", ["h264_nvenc", "hevc_nvenc"])
def test_encoder_of_a_gpu_that_is_not_there(tmp_path, av, codec):
    if codec not in av.codecs_available:
        pytest.skip(f"this FFmpeg was built without {codec}")
    try:
        open_sink(tmp_path / "film.mp4", replace(INFO, shape=(480, 640, 3)), codec=codec).abort()
    except NoDeviceError as error:
        assert "needs an NVIDIA GPU and its driver" in str(error)  # noqa: PT017 - with a GPU, there is no error
        assert "permission" not in str(error).lower()  # noqa: PT017
    assert not list(tmp_path.iterdir())

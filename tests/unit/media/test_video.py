"""Film comes back as it was: bit for bit where the format allows it, else within the codec's own loss."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from subband.errors import ArgumentError, DtypeError, FormatError, ShapeError
from subband.media import ColourTags, Frame, SourceInfo, open_sink, open_source
from subband.media.video_pixels import FrameReader, FrameWriter, PixelFormat

pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")


def copy(source_path, sink_path, *, colours="rgb", **options):
    """Copy a film without any operation, and return what the source said."""
    with open_source(source_path, colours=colours) as source, open_sink(sink_path, source.info, **options) as sink:
        for frame in source:
            sink.write(frame)
    return source.info


def read(path, **options):
    with open_source(path, **options) as source:
        return source.info, list(source)


def decode(av, path, pixel_format=None):
    """Decode with PyAV alone."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format=pixel_format) for frame in container.decode(video=0)]


def measure_psnr(first, second):
    errors = np.mean([np.mean((a.astype(float) - b) ** 2) for a, b in zip(first, second, strict=True)])
    return 10 * np.log10(255**2 / max(errors, 1e-9))


FORMATS = {
    "film.mkv": ("ffv1", "bgr0"),
    "film.avi": ("rawvideo", "bgr24"),
    "film.mp4": ("libx264", "yuv420p"),
    "film.mov": ("libx264", "yuv420p"),
    "film.mpg": ("mpeg1video", "yuv420p"),
    "film.wmv": ("wmv2", "yuv420p"),
    "film.webm": ("libvpx-vp9", "yuv420p"),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("colours", ["rgb", "ycbcr"])
def test_copies_keep_frames_rate_and_times(tmp_path, av, make_clip, draw, name, colours):
    codec, pixel_format = FORMATS[name]
    first = make_clip(tmp_path / name, draw(20), codec, pixel_format)
    second = tmp_path / f"copy-{name}"
    info = copy(first, second, colours=colours)
    copied, frames = read(second)
    assert len(frames) == 20
    assert copied.rate == info.rate == 25
    assert (copied.codec, copied.shape) == (info.codec, info.shape)
    np.testing.assert_allclose([frame.time for frame in frames], np.arange(20) / 25, atol=1e-3)
    before, after = decode(av, first, "rgb24"), decode(av, second, "rgb24")
    if pixel_format.startswith("bgr"):
        assert measure_psnr(before, after) > 100
    else:
        assert measure_psnr(before, after) > 30


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p12le", "yuv444p16le"])
@pytest.mark.parametrize("shape", [(48, 64), (47, 63)])
def test_ycbcr_without_loss_is_bit_exact(tmp_path, av, make_clip, draw, pixel_format, shape):
    first = make_clip(tmp_path / "first.mkv", draw(4, *shape), "ffv1", pixel_format)
    copy(first, tmp_path / "second.mkv", colours="ycbcr")
    with av.open(str(first)) as one, av.open(str(tmp_path / "second.mkv")) as two:
        pairs = list(zip(one.decode(video=0), two.decode(video=0), strict=True))
        assert len(pairs) == 4
        for before, after in pairs:
            assert after.format.name == before.format.name == pixel_format
            for ours, theirs in zip(after.planes, before.planes, strict=True):
                # Padding at the end of a line is nobody's pixel.
                size = (1 if pixel_format.endswith("p") else 2) * ours.width
                lines = [np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, :size] for p in (ours, theirs)]
                np.testing.assert_array_equal(*lines)


@pytest.mark.parametrize(
    ("pixel_format", "source", "dtype"),
    [("bgr0", "rgb24", np.uint8), ("gbrp10le", "rgb48le", np.uint16), ("gbrp16le", "rgb48le", np.uint16)],
)
def test_rgb_without_loss_is_bit_exact(tmp_path, av, make_clip, draw, pixel_format, source, dtype):
    first = make_clip(tmp_path / "first.mkv", draw(4, dtype=dtype), "ffv1", pixel_format, source=source)
    info = copy(first, tmp_path / "second.mkv")
    assert info.dtype == dtype
    assert info.bits == PixelFormat(pixel_format).bits
    native = "rgb24" if dtype == np.uint8 else pixel_format
    for before, after in zip(decode(av, first, native), decode(av, tmp_path / "second.mkv", native), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("pixel_format", "dtype"), [("gray", np.uint8), ("gray10le", np.uint16), ("gray16le", np.uint16)]
)
def test_grey_stays_grey(tmp_path, av, make_clip, draw, pixel_format, dtype):
    grey = [frame[..., 0].copy() for frame in draw(3, dtype=dtype)]
    native = [frame >> (16 - 10) for frame in grey] if pixel_format == "gray10le" else grey
    first = make_clip(tmp_path / "first.mkv", native, "ffv1", pixel_format, source=pixel_format)
    info = copy(first, tmp_path / "second.mkv")
    assert info.colours == "grey"
    assert info.shape == (48, 64)
    np.testing.assert_array_equal(decode(av, tmp_path / "second.mkv"), native)


@pytest.mark.parametrize("ending", [".mp4", ".avi"])
def test_grey_frames_to_other_films(tmp_path, draw, ending):
    frames = [frame[..., 1].copy() for frame in draw(5)]
    info = SourceInfo("film", (48, 64), np.dtype(np.uint8), colours="grey", rate=Fraction(25))
    with open_sink(tmp_path / f"grey{ending}", info) as sink:
        for number, pixels in enumerate(frames):
            sink.write(Frame(pixels, number, number / 25))
    _, back = read(tmp_path / f"grey{ending}")
    grey = [frame.pixels if frame.pixels.ndim == 2 else frame.pixels[..., 1] for frame in back]
    assert measure_psnr(frames, grey) > (100 if ending == ".avi" else 38)


def test_ten_bits_fill_sixteen(tmp_path, make_clip):
    values = np.tile(np.arange(1024, dtype=np.uint16), (4, 1))
    first = make_clip(tmp_path / "film.mkv", [np.stack([values] * 3, -1)], "ffv1", "gbrp10le", source="gbrp10le")
    _, (frame,) = read(first)
    assert frame.pixels.min() == 0
    assert frame.pixels.max() == 65535
    assert (np.diff(frame.pixels[0, :, 0].astype(int)) > 0).all()


def test_ten_bit_film_in_colour(tmp_path, make_clip, draw):
    first = make_clip(tmp_path / "film.mp4", draw(5), "libx264", "yuv420p10le")
    info = copy(first, tmp_path / "copy.mp4")
    assert (info.dtype, info.bits) == (np.uint16, 10)
    copied, frames = read(tmp_path / "copy.mp4")
    assert copied.pixel_format == "yuv420p10le"
    before = read(first)[1]
    assert measure_psnr([f.pixels / 257 for f in before], [f.pixels / 257 for f in frames]) > 30


def test_transparency_is_kept(tmp_path, av, draw):
    alpha = draw(1)[0][..., 0].copy()
    info = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8), has_alpha=True)
    with open_sink(tmp_path / "film.mkv", info) as sink:
        sink.write(Frame(draw(1)[0], alpha=alpha))
    read_info, (frame,) = read(tmp_path / "film.mkv")
    assert read_info.has_alpha
    np.testing.assert_array_equal(frame.alpha, alpha)
    np.testing.assert_array_equal(frame.pixels, draw(1)[0])


@pytest.mark.parametrize(
    ("name", "sound"), [("film.mp4", "aac"), ("film.mkv", "flac"), ("film.avi", "pcm_s16le"), ("film.mpg", "mp2"),
                        ("film.wmv", "wmav2"), ("film.webm", "libopus")],
)  # fmt: skip
def test_sound_is_copied_packet_by_packet(tmp_path, av, make_clip, draw, hash_packets, name, sound):
    codec, pixel_format = FORMATS[name]
    try:
        first = make_clip(tmp_path / name, draw(25), codec, pixel_format, audio=sound)
    except (ValueError, av.FFmpegError) as error:
        pytest.skip(f"this FFmpeg does not make {sound}: {error}")
    second = tmp_path / f"copy-{name}"
    assert copy(first, second).has_audio
    before, after = hash_packets(first), hash_packets(second)
    assert len(before) > 3
    assert after == before
    copy(first, second, audio=False, overwrite=True)
    assert not read(second)[0].has_audio


def test_sound_starts_with_the_picture(tmp_path, av, make_clip, draw):
    first = make_clip(tmp_path / "film.mpg", draw(25), "mpeg1video", "yuv420p", audio="mp2")
    copy(first, tmp_path / "film.mkv", codec="h264")
    gaps = []
    for path in (first, tmp_path / "film.mkv"):
        with av.open(str(path)) as container:
            video, audio = container.streams.video[0], container.streams.audio[0]
            gaps.append(float(audio.start_time * audio.time_base - video.start_time * video.time_base))
    assert gaps[0] == pytest.approx(gaps[1], abs=0.005)


def test_sound_that_does_not_fit_is_named(tmp_path, make_clip, draw):
    first = make_clip(tmp_path / "film.mp4", draw(5), "libx264", "yuv420p", audio="aac")
    with pytest.raises(ArgumentError, match=r"aac.*audio=False"):
        copy(first, tmp_path / "film.webm")
    assert not list(tmp_path.glob("*.webm"))


@pytest.mark.parametrize("rate", [Fraction(30000, 1001), Fraction(24), Fraction(15), Fraction(50)])
@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.avi"])
def test_rates_survive(tmp_path, make_clip, draw, rate, name):
    codec, pixel_format = FORMATS[name]
    first = make_clip(tmp_path / name, draw(12), codec, pixel_format, rate=rate)
    copy(first, tmp_path / "copy.mkv", codec="h264")
    copy(tmp_path / "copy.mkv", tmp_path / "copy.mp4")
    info, frames = read(tmp_path / "copy.mp4")
    assert info.rate == pytest.approx(rate, rel=1e-4)
    assert len(frames) == 12


def test_uneven_times_survive(tmp_path, draw):
    times = [0.0, 0.04, 0.1, 0.13, 0.25]
    info = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8), rate=Fraction(25))
    for name in ("film.mp4", "film.mkv"):
        with open_sink(tmp_path / name, info) as sink:
            for number, (pixels, time) in enumerate(zip(draw(5), times, strict=True)):
                sink.write(Frame(pixels, number, time))
        np.testing.assert_allclose([frame.time for frame in read(tmp_path / name)[1]], times, atol=1e-3)


@pytest.mark.parametrize("tags", [ColourTags(1, True, 1, 1), ColourTags(5, False, 5, 6), ColourTags(9, False, 9, 14)])
@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_colour_tags_survive_and_are_used(tmp_path, make_clip, tags, name):
    still = np.broadcast_to(np.array([200, 60, 30], np.uint8), (48, 64, 3))
    info = SourceInfo("film", still.shape, still.dtype, tags=tags)
    with open_sink(tmp_path / name, info, codec="h264", quality=90) as sink:
        sink.write(Frame(still))
    for colours in ("rgb", "ycbcr"):
        again = tmp_path / f"{colours}-{name}"
        copy(tmp_path / name, again, colours=colours, codec="h264", quality=90)
        read_info, (frame,) = read(again)
        assert read_info.tags == tags
        np.testing.assert_allclose(frame.pixels.mean((0, 1)), still[0, 0], atol=3)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_film_comes_upright(tmp_path, av, make_clip, draw, degrees):
    flat = draw(2, 48, 64)
    path = make_clip(tmp_path / "film.mp4", flat, "libx264", "yuv444p", options={"crf": "4"}, rotation=degrees)
    info, frames = read(path)
    assert info.shape[:2] == ((64, 48) if degrees % 180 else (48, 64))
    with av.open(str(path)) as container:
        rotation = next(container.decode(video=0)).rotation
    assert rotation % 360 in (degrees, 360 - degrees)
    # The matrix turns the picture anticlockwise by its angle when it is shown.
    assert measure_psnr([np.rot90(flat[0], round(rotation / 90))], [frames[0].pixels]) > 25
    copy(path, tmp_path / "copy.mp4")
    with av.open(str(tmp_path / "copy.mp4")) as container:
        assert next(container.decode(video=0)).rotation == 0


def test_shape_of_pixels_survives(tmp_path, make_clip, draw):
    path = make_clip(tmp_path / "film.mp4", draw(3), "libx264", "yuv420p", sample_aspect_ratio=Fraction(16, 11))
    assert copy(path, tmp_path / "copy.mp4").pixel_aspect == Fraction(16, 11)
    assert read(tmp_path / "copy.mp4")[0].pixel_aspect == Fraction(16, 11)


@pytest.mark.parametrize("name", ["film.mp4", "film.webm", "film.mkv", "film.avi"])
def test_odd_sizes(tmp_path, draw, name):
    info = SourceInfo("film", (47, 63, 3), np.dtype(np.uint8))
    with open_sink(tmp_path / name, info) as sink:
        for number, pixels in enumerate(draw(3, 47, 63)):
            sink.write(Frame(pixels, number, number / 25))
    assert read(tmp_path / name)[0].shape == (47, 63, 3)


def test_quality_and_preset_do_something(tmp_path, draw):
    noise = np.random.default_rng(0).integers(0, 256, (8, 48, 64, 3), dtype=np.uint8)
    info = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8))
    for name in ("film.mp4", "film.mpg", "film.wmv", "film.webm"):
        sizes = []
        for quality in (20, 90):
            with open_sink(tmp_path / name, info, quality=quality, preset="ultrafast", overwrite=True) as sink:
                for number, pixels in enumerate(noise):
                    sink.write(Frame(pixels, number, number / 25))
            sizes.append((tmp_path / name).stat().st_size)
        assert sizes[0] < 0.8 * sizes[1], name


@pytest.mark.parametrize(
    ("options", "message"),
    [({"codec": "h246"}, "did you mean .*'h264'"), ({"quality": 101}, "quality=101"),
     ({"preset": "quik"}, "preset='quik'"),
     ({"codec": "aac"}, "does not encode video")],
)  # fmt: skip
def test_options_that_are_none(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        open_sink(tmp_path / "film.mp4", SourceInfo("film", (48, 64, 3), np.dtype(np.uint8)), **options)
    assert not list(tmp_path.iterdir())


def test_what_a_film_cannot_hold(tmp_path, draw):
    info = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8))
    with pytest.raises(DtypeError, match="float32"):
        open_sink(tmp_path / "film.mp4", replace(info, dtype=np.dtype(np.float32)))
    with pytest.raises(ArgumentError, match="MPEG-1 has no rate of 12"):
        open_sink(tmp_path / "film.mpg", replace(info, rate=Fraction(12)))
    with pytest.raises(ArgumentError, match="without loss"):
        open_sink(tmp_path / "film.avi", replace(info, dtype=np.dtype(np.uint16), bits=16))
    with open_sink(tmp_path / "film.mp4", info) as sink:
        with pytest.raises(ShapeError, match="frame 7 has the shape"):
            sink.write(Frame(draw(1, 10, 10)[0], 7))
        with pytest.raises(DtypeError, match="frame 7 has the dtype"):
            sink.write(Frame(draw(1)[0].astype(np.uint16), 7))
        sink.write(Frame(draw(1)[0]))


def test_sound_alone_is_no_film(tmp_path, av):
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=44100, layout="mono")
        chunk = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        chunk.sample_rate = 44100
        container.mux(stream.encode(chunk))
        container.mux(stream.encode())
    with pytest.raises(FormatError, match="only sound"):
        open_source(tmp_path / "sound.mp4")


@pytest.mark.parametrize("name", ["nv12", "yuyv422", "uyvy422", "p010le", "yuvj420p", "yuv411p", "rgb565le", "pal8"])
def test_unusual_pixel_formats_are_read(av, draw, name):
    frame = av.VideoFrame.from_ndarray(draw(1)[0], format="rgb24")
    if name == "pal8":
        frame = av.VideoFrame.from_ndarray(
            (np.zeros((48, 64), np.uint8), np.full((256, 4), 255, np.uint8)), format="pal8"
        )
    else:
        frame = frame.reformat(format=name)
    for colours in ("rgb", "ycbcr"):
        pixels, _ = FrameReader(name, ColourTags(), 48, colours, quick=False).read(frame)
        assert pixels.shape == (48, 64, 3)
        assert pixels.dtype == PixelFormat(name).dtype
        assert pixels.std() > 10 or name == "pal8"


def test_quick_conversion_is_near(tmp_path, make_clip, draw):
    path = make_clip(tmp_path / "film.mp4", draw(3), "libx264", "yuv420p")
    careful, quick = read(path)[1], read(path, quick=True)[1]
    assert 25 < measure_psnr([f.pixels for f in careful], [f.pixels for f in quick]) < 90


def test_careful_conversion_there_and_back(draw):
    smooth = np.repeat(np.repeat(np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8), 16, 0), 16, 1)
    info = SourceInfo("film", smooth.shape, smooth.dtype, tags=ColourTags(1, False, 1, 1))
    made = FrameWriter(info, "yuv444p").write(Frame(smooth))
    back, _ = FrameReader("yuv444p", info.tags, 96, "rgb", quick=False).read(made)
    assert np.abs(back.astype(int) - smooth).max() <= 2


def test_frames_belong_to_the_caller(tmp_path, make_clip, draw):
    path = make_clip(tmp_path / "film.mkv", draw(6), "ffv1", "bgr0")
    seen = []
    with open_source(path) as source:
        for frame in source:
            seen.append(frame.pixels.copy())
            frame.pixels[...] = 0
    np.testing.assert_array_equal(seen, draw(6))
    with pytest.raises(ArgumentError, match="walked through before"):
        next(iter(source))


@pytest.mark.parametrize("name", ["second.mp4", "second.mov"])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv420p10le"])
def test_odd_sizes_of_films_that_come_from_elsewhere(tmp_path, av, make_clip, draw, name, pixel_format):
    first = make_clip(tmp_path / "first.mkv", draw(5, 97, 131), "ffv1", pixel_format)
    copy(first, tmp_path / name, colours="ycbcr")
    info, frames = read(tmp_path / name)
    assert (info.shape, len(frames)) == ((97, 131, 3), 5)
    assert info.pixel_format == ("yuv444p10le" if "10" in pixel_format else "yuv444p")
    # The brightness alone, as FFmpeg does not repeat chroma to make it larger.
    assert measure_psnr(decode(av, first, "gray"), decode(av, tmp_path / name, "gray")) > 35


@pytest.mark.parametrize("pixel_format", ["yuv411p", "yuv440p"])
def test_eight_bits_stay_eight(tmp_path, make_clip, draw, pixel_format):
    first = make_clip(tmp_path / "first.mkv", draw(5), "ffv1", pixel_format)
    copy(first, tmp_path / "second.mp4", colours="ycbcr")
    assert read(tmp_path / "second.mp4")[0].pixel_format == "yuv420p"


def make_talkie(av, path, frames, codec, layout):
    """Write uncompressed film with uncompressed sound."""
    with av.open(str(path), "w") as container:
        film = container.add_stream("rawvideo", rate=25)
        film.height, film.width, film.pix_fmt = *frames[0].shape[:2], "bgr24"
        sound = container.add_stream(codec, rate=44100, layout=layout)
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(film.encode(frame))
        samples = np.arange(2 * 1764 * len(frames)).astype({"u8": np.uint8, "s16": np.int16}[sound.format.name])
        chunk = av.AudioFrame.from_ndarray(samples[None], format=sound.format.name, layout=layout)
        chunk.sample_rate, chunk.pts, chunk.time_base = 44100, 0, Fraction(1, 44100)
        container.mux(sound.encode(chunk))
        container.mux(sound.encode())
    return path


@pytest.mark.parametrize(
    ("name", "codec"), [("o.webm", "pcm_s16le"), ("o.mpg", "pcm_s16le"), ("o.mp4", "pcm_u8"), ("o.mkv", "pcm_mulaw")]
)
def test_plain_sound_that_does_not_fit_is_refused_at_once(tmp_path, av, draw, name, codec):
    first = make_talkie(av, tmp_path / "first.avi", draw(3), codec, "stereo")
    with open_source(first) as source, pytest.raises(ArgumentError, match=rf"{codec}.*audio=False"):
        open_sink(tmp_path / name, source.info)
    assert [path.name for path in tmp_path.iterdir()] == ["first.avi"]


def test_plain_sound_whose_channels_have_no_names(tmp_path, av, draw, hash_packets):
    first = make_talkie(av, tmp_path / "first.avi", draw(10), "pcm_s16le", "stereo")
    copy(first, tmp_path / "second.mp4")
    assert b"".join(hash_packets(tmp_path / "second.mp4")) == b"".join(hash_packets(first))


def test_sound_that_only_the_head_of_the_file_refuses(tmp_path, make_clip, draw):
    first = make_clip(tmp_path / "first.mkv", draw(5), audio="flac")
    with open_source(first) as source, pytest.raises(ArgumentError, match=r"flac.*audio=False"):
        open_sink(tmp_path / "second.mov", source.info)


def test_encoder_that_does_not_fit_is_named(tmp_path):
    info = SourceInfo("film", (48, 64, 3), np.dtype(np.uint8))
    with pytest.raises(ArgumentError, match=r"'film\.webm' cannot hold codec='libx264'"):
        open_sink(tmp_path / "film.webm", info, codec="h264")

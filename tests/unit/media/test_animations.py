"""Moving pictures are written as well as read: every frame at its time."""

from fractions import Fraction

import numpy as np
import pytest
from PIL import Image, ImageCms

from subband.errors import ArgumentError
from subband.media import Frame, LossWarning, OutputError, SourceInfo, animations, open_sink, open_source

RNG = np.random.default_rng(0)
# each frame in a few colours, which the palette of GIF holds
FRAMES = [np.kron(RNG.integers(0, 256, (4, 5, 3), dtype=np.uint8), np.ones((6, 6, 1), np.uint8)) for _ in range(5)]
TIMES = [0.0, 0.1, 0.15, 0.6, 1.0]
OPAQUE = [None] * 100
ENDINGS = ["gif", "apng", "webp", "avif"]
LOSSLESS = ["gif", "apng", "webp"]


def describe(**changes):
    known = {"kind": "film", "shape": FRAMES[0].shape, "dtype": np.dtype(np.uint8), "count": 5, "rate": None, **changes}
    return SourceInfo(**known)


def write(path, frames=FRAMES, times=TIMES, *, alphas=OPAQUE, info=None, **options):
    with open_sink(path, info or describe(), **options) as sink:
        for number, (pixels, time, alpha) in enumerate(zip(frames, times, alphas, strict=False)):
            sink.write(Frame(pixels, number, time, alpha))
    return path


def read(path):
    with open_source(path) as source:
        return source.info, list(source)


@pytest.mark.parametrize("ending", ENDINGS)
def test_frames_and_times(tmp_path, ending):
    info, frames = read(write(tmp_path / f"film.{ending}", quality=100))
    assert (info.kind, info.count) == ("film", 5)
    assert [frame.time for frame in frames] == pytest.approx(TIMES, abs=1e-9)
    for frame, pixels in zip(frames, FRAMES, strict=True):
        if ending in LOSSLESS:
            np.testing.assert_array_equal(frame.pixels, pixels)
        else:
            np.testing.assert_allclose(frame.pixels.astype(int), pixels, atol=12)


@pytest.mark.parametrize("ending", ["gif", "apng", "webp"])
def test_others_agree_about_frames_and_times(tmp_path, av, ending):
    path = write(tmp_path / f"film.{ending}", quality=100)
    if ending == "webp":  # FFmpeg does not read moving WebP files
        with Image.open(path) as image:
            assert image.n_frames == 5
        return
    with av.open(str(path), format="apng" if ending == "apng" else None) as container:
        decoded = [(float(frame.time), frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]
    assert [time for time, _ in decoded] == pytest.approx(TIMES, abs=1e-6)
    for (_, theirs), pixels in zip(decoded, FRAMES, strict=True):
        np.testing.assert_array_equal(theirs, pixels)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("rate", [24, 30, 60])
def test_rates_do_not_drift(tmp_path, ending, rate):
    count = 25
    frames = [np.full((8, 8, 3), 9 * number, np.uint8) for number in range(count)]
    info = describe(shape=(8, 8, 3), count=count, rate=rate)
    path = write(tmp_path / f"film.{ending}", frames, [number / rate for number in range(count)], info=info)
    _, back = read(path)
    tick = {"gif": 0.01, "apng": 1e-6}.get(ending, 0.001)
    assert [frame.time for frame in back] == pytest.approx([number / rate for number in range(count)], abs=tick * 0.51)


@pytest.mark.parametrize("ending", ENDINGS)
def test_frames_without_time_follow_at_the_rate(tmp_path, ending):
    info = describe(kind="volume", shape=(24, 30), rate=None)
    greys = [pixels[..., 0].copy() for pixels in FRAMES]
    _, back = read(write(tmp_path / f"film.{ending}", greys, [0.0] * 5, info=info))
    assert [frame.time for frame in back] == pytest.approx([0, 0.04, 0.08, 0.12, 0.16], abs=1e-9)


@pytest.mark.parametrize("ending", ["apng", "webp", "gif"])
def test_opacity_moves_along(tmp_path, ending):
    alphas = [np.where(np.arange(30) < 6 * number, 0, 255).astype(np.uint8) * np.ones((24, 1), np.uint8)
              for number in range(1, 6)]  # fmt: skip
    path = write(tmp_path / f"film.{ending}", alphas=alphas, info=describe(has_alpha=True), quality=100)
    info, frames = read(path)
    assert info.has_alpha
    for frame, pixels, alpha in zip(frames, FRAMES, alphas, strict=True):
        np.testing.assert_array_equal(frame.alpha, alpha)
        np.testing.assert_array_equal(frame.pixels[alpha > 0], pixels[alpha > 0])


def copy(first, second, **options):
    with open_source(first) as source, open_sink(second, source.info, **options) as sink:
        for frame in source:
            sink.write(frame)
    return second


@pytest.mark.parametrize("first", LOSSLESS)
@pytest.mark.parametrize("second", LOSSLESS)
def test_from_one_format_to_another(tmp_path, first, second):
    # all times are whole hundredths of a second, which GIF has
    write(tmp_path / f"first.{first}", quality=100)
    copy(tmp_path / f"first.{first}", tmp_path / f"second.{second}", quality=100)
    _, frames = read(tmp_path / f"second.{second}")
    assert [frame.time for frame in frames] == pytest.approx(TIMES, abs=1e-9)
    for frame, pixels in zip(frames, FRAMES, strict=True):
        np.testing.assert_array_equal(frame.pixels, pixels)


def test_last_frame_stays_as_long_as_it_did(tmp_path):
    images = [Image.fromarray(pixels) for pixels in FRAMES]
    images[0].save(tmp_path / "first.gif", save_all=True, append_images=images[1:], duration=[50, 50, 50, 50, 900])
    for ending in ENDINGS:
        copy(tmp_path / "first.gif", tmp_path / f"second.{ending}")
        with Image.open(tmp_path / f"second.{ending}") as image:
            waits = []
            for number in range(image.n_frames):
                image.seek(number)
                image.load()
                waits.append(image.info["duration"])
        assert waits == pytest.approx([50, 50, 50, 50, 900])


@pytest.mark.parametrize("loop", [0, 1, 3])
@pytest.mark.parametrize("ending", LOSSLESS)
def test_it_runs_as_often_as_it_did(tmp_path, ending, loop):
    info = describe(metadata={"loop": loop})
    path = write(tmp_path / f"film.{ending}", info=info)
    assert read(path)[0].metadata["loop"] == loop
    assert read(copy(path, tmp_path / f"copy.{ending}"))[0].metadata["loop"] == loop


def test_a_moving_png_file_stays_one_and_film_does_not_become_one(tmp_path):
    write(tmp_path / "film.apng").rename(tmp_path / "first.png")
    copy(tmp_path / "first.png", tmp_path / "second.png")
    assert read(tmp_path / "second.png")[0].count == 5
    with pytest.raises(ArgumentError, match=r"video\.mp4.*video\.apng.*out%04d\.png"):
        write(tmp_path / "out.png")


def test_a_still_does_not_move(tmp_path):
    Image.fromarray(FRAMES[0]).save(tmp_path / "still.png")
    for ending in LOSSLESS:
        copy(tmp_path / "still.png", tmp_path / f"copy.{ending}", quality=100)
        assert read(tmp_path / f"copy.{ending}")[0].kind == "still"


def test_lossless_webp_stays_lossless(tmp_path):
    write(tmp_path / "first.webp", quality=100)
    copy(tmp_path / "first.webp", tmp_path / "second.webp")
    for frame, pixels in zip(read(tmp_path / "second.webp")[1], FRAMES, strict=True):
        np.testing.assert_array_equal(frame.pixels, pixels)
    copy(tmp_path / "first.webp", tmp_path / "third.webp", quality=30)
    assert any(
        np.any(frame.pixels != pixels) for frame, pixels in zip(read(tmp_path / "third.webp")[1], FRAMES, strict=True)
    )


def test_profile_and_comment_go_along(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    known = {"icc": profile, "comment": "a sunset"}
    apng = write(tmp_path / "film.apng", info=describe(metadata=known))
    assert {name: read(apng)[0].metadata[name] for name in known} == known
    with pytest.warns(LossWarning, match=r"'film\.webp' cannot hold the comment"):
        webp = copy(apng, tmp_path / "film.webp")
    assert read(webp)[0].metadata["icc"] == profile
    with pytest.warns(LossWarning, match=r"'film\.gif' cannot hold the colour profile"):
        gif = copy(apng, tmp_path / "film.gif")
    assert read(gif)[0].metadata["comment"] == "a sunset"


def test_deep_frames_are_refused_at_once(tmp_path):
    with pytest.raises(ArgumentError, match=r"moves in 8 bits, and this is uint16.*film%04d\.png"):
        open_sink(tmp_path / "film.gif", describe(dtype=np.dtype(np.uint16)))
    with pytest.raises(ArgumentError, match="colours='rgb'"):
        animations.AnimationSink(tmp_path / "film.gif", describe(colours="ycbcr"))
    with pytest.raises(ArgumentError, match="quality=101"):
        open_sink(tmp_path / "film.webp", describe(), quality=101)
    assert not list(tmp_path.iterdir())


def test_deep_animation_is_read_aloud(tmp_path):
    path = tmp_path / "deep.apng"
    path.touch()
    writer = animations._PngWriter(path, describe(shape=(4, 6), dtype=np.dtype(np.uint16)))
    for number in range(2):
        writer.write(Frame(np.full((4, 6), 20000 * number, np.uint16), number), Fraction(1, 10))
    writer.finish()
    with pytest.warns(LossWarning, match="16 bits, of which 8 are read"):
        assert read(path)[0].count == 2


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_of_what_was_given_up(tmp_path, ending):
    sink = open_sink(tmp_path / f"film.{ending}", describe())
    sink.write(Frame(FRAMES[0]))
    sink.write(Frame(FRAMES[1], 1, 0.1))
    sink.abort()
    assert not list(tmp_path.iterdir())


def test_too_many_frames_for_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(animations, "_MOST_SAMPLES", FRAMES[0].size * 3)
    with pytest.raises(ArgumentError, match=r"memory; take a name of a video"):
        write(tmp_path / "film.gif")
    # this one is written frame by frame
    write(tmp_path / "film.apng")
    assert [path.name for path in tmp_path.iterdir()] == ["film.apng"]


def test_folder_that_takes_no_files(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(animations._PngWriter, "finish", fail)
    with pytest.raises(OutputError, match="the disk is full"):
        write(tmp_path / "film.apng")
    assert not list(tmp_path.iterdir())


def test_many_colours_become_those_nearest(tmp_path, draw):
    frames = draw(3, rows=96, columns=128)
    _, back = read(write(tmp_path / "film.gif", frames, info=describe(shape=(96, 128, 3), count=3)))
    for frame, pixels in zip(back, frames, strict=True):
        assert len(np.unique(frame.pixels.reshape(-1, 3), axis=0)) <= 256
        ours = np.mean((frame.pixels.astype(float) - pixels) ** 2)
        theirs = np.asarray(Image.fromarray(pixels).quantize(256).convert("RGB"), float)
        assert ours < 1.5 * np.mean((theirs - pixels) ** 2)


def test_film_becomes_an_animation(tmp_path, make_clip, draw):
    clip = make_clip(tmp_path / "film.mkv", draw(6), rate=10)
    for ending in ENDINGS:
        _, frames = read(copy(clip, tmp_path / f"film.{ending}"))
        assert [frame.time for frame in frames] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5], abs=1e-6)

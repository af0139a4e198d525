"""Images as sources and sinks: single, moving and numbered."""

import contextlib

import numpy as np
import pytest
from PIL import Image, ImageCms

from subband.errors import ArgumentError, FormatError
from subband.media import DamagedError, DamageWarning, Frame, SourceInfo, open_sink, open_source

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)


def copy(first, second, **options):
    with open_source(first) as source, open_sink(second, source.info, **options) as sink:
        for frame in source:
            sink.write(frame)
    return source.info


@pytest.mark.parametrize("ending", ["png", "tiff", "bmp", "webp"])
def test_still_from_file_to_file(tmp_path, ending):
    Image.fromarray(COLOUR).save(tmp_path / "first.png")
    info = copy(tmp_path / "first.png", tmp_path / f"second.{ending}", quality=100)
    assert (info.kind, info.count, info.shape) == ("still", 1, COLOUR.shape)
    with Image.open(tmp_path / f"second.{ending}") as image:
        np.testing.assert_array_equal(np.asarray(image.convert("RGB")), COLOUR)


def test_transparency_and_profile_pass_through(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    image = Image.fromarray(COLOUR)
    image.putalpha(Image.fromarray(COLOUR[..., 0].copy()))
    image.save(tmp_path / "first.png", icc_profile=profile)
    copy(tmp_path / "first.png", tmp_path / "second.tiff")
    with Image.open(tmp_path / "second.tiff") as second:
        assert second.info["icc_profile"] == profile
        np.testing.assert_array_equal(np.asarray(second), np.asarray(image))


def test_existing_picture_stays(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "first.png")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        copy(tmp_path / "first.png", tmp_path / "first.png")
    copy(tmp_path / "first.png", tmp_path / "first.png", overwrite=True)


def test_second_frame_of_a_still(tmp_path):
    make_animation(tmp_path / "moving.gif")
    with pytest.raises(ArgumentError, match=r"video\.mp4.*a%04d\.png"):
        copy(tmp_path / "moving.gif", tmp_path / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["moving.gif"]


def make_animation(path, count=6):
    frames = [Image.fromarray(np.full((12, 17), 20 * number, np.uint8)).convert("P") for number in range(count)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=40)


def test_moving_gif_is_film(tmp_path):
    make_animation(tmp_path / "moving.gif")
    with open_source(tmp_path / "moving.gif") as source:
        frames = list(source)
    assert (source.info.kind, source.info.count, source.info.rate) == ("film", 6, 25)
    assert [frame.pixels[0, 0].tolist() for frame in frames] == [[20 * number] * 3 for number in range(6)]
    assert [frame.time for frame in frames] == pytest.approx([0.04 * number for number in range(6)])


def test_moving_gif_to_film(tmp_path, av):
    make_animation(tmp_path / "moving.gif")
    copy(tmp_path / "moving.gif", tmp_path / "film.mkv")
    with av.open(str(tmp_path / "film.mkv")) as container:
        assert [frame.to_ndarray(format="rgb24")[0, 0, 0] for frame in container.decode(video=0)] == [
            20 * number for number in range(6)
        ]


def test_cut_animation_gives_the_frames_before(tmp_path):
    make_animation(tmp_path / "moving.gif", 12)
    content = (tmp_path / "moving.gif").read_bytes()
    (tmp_path / "moving.gif").write_bytes(content[: int(len(content) * 0.7)])
    seen = []
    with contextlib.suppress(DamagedError), open_source(tmp_path / "moving.gif") as source:
        seen.extend(frame.number for frame in source)
    assert 2 <= len(seen) < 12


def test_series_of_pictures(tmp_path):
    with open_source("test:20x10?count=12&noise=3") as source, open_sink(tmp_path / "f%03d.png", source.info) as sink:
        frames = [frame.pixels for frame in source]
        for number, pixels in enumerate(frames):
            sink.write(Frame(pixels, number))
    assert len(list(tmp_path.iterdir())) == 12
    with open_source(tmp_path / "f%03d.png", rate=10) as series:
        back = list(series)
    assert (series.info.kind, series.info.count, series.info.rate) == ("sequence", 12, 10)
    assert back[3].time == 0.3
    np.testing.assert_array_equal([frame.pixels for frame in back], frames)
    (tmp_path / "f005.png").write_bytes(b"nothing")
    with pytest.raises(DamagedError, match="frame 5"), open_source(tmp_path / "f%03d.png") as series:
        list(series)


def test_numbers_order_a_series(tmp_path):
    for number in (2, 10, 1):
        Image.fromarray(np.full((4, 4), number, np.uint8)).save(tmp_path / f"f{number}.png")
    with open_source(tmp_path / "f%d.png") as series:
        assert [frame.pixels[0, 0] for frame in series] == [1, 2, 10]


def test_aborted_series_leaves_nothing(tmp_path):
    info = SourceInfo("film", COLOUR.shape, COLOUR.dtype)
    sink = open_sink(tmp_path / "f%03d.png", info)
    sink.write(Frame(COLOUR))
    sink.abort()
    assert not list(tmp_path.iterdir())


def test_names_and_contents(tmp_path, make_clip, draw):
    Image.fromarray(COLOUR).save(tmp_path / "picture", format="png")
    with open_source(tmp_path / "picture") as source:
        assert source.info.kind == "still"
    make_clip(tmp_path / "film.mkv", draw(3)).rename(tmp_path / "film.bin")
    with open_source(tmp_path / "film.bin") as source:
        assert source.info.kind == "film"
    (tmp_path / "text.txt").write_text("hello")
    with pytest.raises(FormatError, match="neither an image nor a video nor a volume"):
        open_source(tmp_path / "text.txt")
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "no.png")
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "no%d.png")
    with pytest.raises(FormatError, match="no DICOM image"):
        open_source(tmp_path)
    info = SourceInfo("still", COLOUR.shape, COLOUR.dtype)
    with pytest.raises(ArgumentError, match="does not end like anything"):
        open_sink(tmp_path / "a.xyz", info)
    with pytest.raises(ArgumentError, match="apply to video only"):
        open_sink(tmp_path / "a.png", info, codec="h264")


def test_tolerant_animation(tmp_path, monkeypatch):
    make_animation(tmp_path / "moving.gif", 5)
    source = open_source(tmp_path / "moving.gif", tolerant=True)
    seek = source._image.seek

    def fail(number):
        if number == 3:
            raise OSError("broken data stream")
        seek(number)

    monkeypatch.setattr(source._image, "seek", fail)
    with pytest.warns(DamageWarning, match="after frame 3"), source:
        assert sum(1 for _ in source) == 3


def make_series(folder, numbers, name="f%03d.png"):
    for number in numbers:
        Image.fromarray(np.full((4, 6), number, np.uint8)).save(folder / (name % number))
    return folder / name


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_that_happen_to_have_a_part_name_stay(tmp_path):
    (tmp_path / "v.part.npy").write_bytes(b"mine")
    (tmp_path / "v.part2.npy").write_bytes(b"mine too")
    info = SourceInfo("volume", (4, 6), np.dtype(np.uint8), colours="grey", count=1)
    with open_sink(tmp_path / "v.npy", info) as sink:
        sink.write(Frame(np.zeros((4, 6), np.uint8)))
        assert list_names(tmp_path) == ["v.part.npy", "v.part2.npy", "v.part3.npy"]
    sink = open_sink(tmp_path / "v.npy", info, overwrite=True)
    sink.abort()
    assert list_names(tmp_path) == ["v.npy", "v.part.npy", "v.part2.npy"]
    assert (tmp_path / "v.part.npy").read_bytes() == b"mine"
    assert (tmp_path / "v.part2.npy").read_bytes() == b"mine too"


def test_series_keeps_its_numbers(tmp_path):
    series = make_series(tmp_path, [1, 2, 5])
    copy(series, tmp_path / "out%02d.png")
    assert list_names(tmp_path)[3:] == ["out01.png", "out02.png", "out05.png"]
    assert np.asarray(Image.open(tmp_path / "out05.png"))[0, 0] == 5


def test_frames_of_two_series_follow_each_other(tmp_path):
    series = make_series(tmp_path, [1, 2])
    with open_source(series) as source:
        frames = list(source)
    with open_sink(tmp_path / "out%d.png", source.info) as sink:
        for frame in (*frames, *frames):
            sink.write(frame)
    assert list_names(tmp_path)[2:] == ["out1.png", "out2.png", "out3.png", "out4.png"]


def test_aborted_series_leaves_what_it_would_have_replaced(tmp_path):
    series = make_series(tmp_path, [0, 1, 2])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    info = SourceInfo("film", (4, 6), np.dtype(np.uint8), colours="grey", count=3)
    for keep_partial in (False, True):
        sink = open_sink(series, info, overwrite=True, keep_partial=keep_partial)
        sink.write(Frame(np.full((4, 6), 99, np.uint8)))
        sink.abort()
        assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert set(list_names(tmp_path)) - set(before) == {"f000.part.png"}


def test_series_can_replace_itself(tmp_path):
    series = make_series(tmp_path, [3, 4])
    with open_source(series) as source, open_sink(series, source.info, overwrite=True) as sink:
        for frame in source:
            sink.write(frame.replace_pixels(frame.pixels + 100))
    assert list_names(tmp_path) == ["f003.png", "f004.png"]
    assert [np.asarray(Image.open(tmp_path / f"f00{number}.png"))[0, 0] for number in (3, 4)] == [103, 104]


def test_a_later_frame_that_is_there_is_told_at_once(tmp_path):
    (tmp_path / "f002.png").write_bytes(b"mine")
    info = SourceInfo("film", (4, 6), np.dtype(np.uint8), colours="grey", count=3)
    with pytest.raises(ArgumentError, match=r"f002\.png' is there already"):
        open_sink(tmp_path / "f%03d.png", info)
    assert list_names(tmp_path) == ["f002.png"]


def test_frame_that_appears_meanwhile_stays(tmp_path):
    info = SourceInfo("film", (4, 6), np.dtype(np.uint8), colours="grey", count=2)
    sink = open_sink(tmp_path / "f%03d.png", info)
    for number in range(2):
        sink.write(Frame(np.zeros((4, 6), np.uint8), number))
    (tmp_path / "f001.png").write_bytes(b"mine")
    with pytest.raises(ArgumentError, match="there already"):
        sink.finish()
    assert list_names(tmp_path) == ["f001.png"]
    assert (tmp_path / "f001.png").read_bytes() == b"mine"


def test_failed_frame_leaves_nothing(tmp_path):
    info = SourceInfo("film", (1, 16384), np.dtype(np.uint8), colours="grey")
    with pytest.raises(ArgumentError, match="16384"), open_sink(tmp_path / "f%d.webp", info) as sink:
        sink.write(Frame(np.zeros((1, 16384), np.uint8)))
    assert not list_names(tmp_path)

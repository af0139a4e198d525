"""Frames in order, at their pace, with the noise that belongs to them, in the format that suits the link."""

import json
import struct

import anyio
import numpy as np
import pytest

from subband import data
from subband.errors import FormatError
from subband.media import open_source
from subband.studio.admission import check_volume
from subband.studio.encoding import Link
from subband.studio.library import Item, Library, as_bytes
from subband.studio.meter import Meter
from subband.studio.noise import add_noise
from subband.studio.parts import write_parts
from subband.studio.player import Clock, Player

CLIP = Item("sample", "clip", "Clip", data.clip_path())


@pytest.fixture(scope="module")
def frames():
    with open_source(data.clip_path(), quick=True) as source:
        return [frame.pixels for frame in source]


@pytest.fixture
def player():
    opened = Player(CLIP)
    yield opened
    opened.close()


def test_all_frames_come_in_order_and_begin_again(player, frames):
    taken = [player.take() for _ in range(63)]
    assert [picture.number for picture in taken] == [*range(60), 0, 1, 2]
    np.testing.assert_array_equal(taken[61].pixels, frames[1])


def test_a_film_ends_if_it_is_not_to_be_repeated(player):
    player.is_looping = False
    assert player.seek(59).number == 59
    assert player.take() is None
    assert player.count == 60


@pytest.mark.parametrize("ahead", [False, True])
def test_seeking_goes_anywhere(player, frames, ahead):
    for position in (10, 10, 11, 40, 5, 0, 59, 500, 3):
        if ahead:
            player.prefetch()
        picture = player.seek(position)
        assert picture.number == min(position, 59)
        np.testing.assert_array_equal(picture.pixels, frames[picture.number])


def test_seeking_can_be_given_up(player):
    player.take()
    assert player.seek(50, lambda: False).number < 10
    # and what comes then is what comes after the frame that is shown
    assert player.take().number == 1


def test_frames_are_left_out(player):
    player.take()
    player.prefetch()
    assert player.take(3).number == 4


def test_the_last_frame_is_shown_however_many_are_left_out(player):
    player.is_looping = False
    assert player.seek(57).number == 57
    assert player.take(8).number == 59
    assert player.is_at_end
    assert player.take(8) is None
    assert player.count == 60


def test_a_film_is_as_long_as_it_was_after_frames_are_left_out_at_its_end(player):
    player.seek(57)
    assert player.take(3).number == 1
    assert player.count == 60


def test_stills_have_one_frame():
    player = Player(Library([]).find({"kind": "sample", "name": "camera"}))
    assert not player.is_video
    first = player.take()
    assert player.seek(7) is first
    player.close()


def test_a_volume_is_walked_slice_by_slice_and_along_other_axes(tmp_path):
    volume = np.arange(4 * 8 * 8, dtype=np.float32).reshape(4, 8, 8)
    np.save(tmp_path / "volume.npy", volume)
    player = Player(Item("media", "volume.npy", "volume.npy", tmp_path / "volume.npy"))
    for number in (2, 0, 3, 9):
        frame = player.seek(number)
        assert frame.number == min(number, 3)
        np.testing.assert_array_equal(frame.pixels, volume[frame.number])
    np.testing.assert_array_equal(player.turn(1).pixels, volume[::-1, 4])
    assert (player.count, player.info.shape, player.depth) == (8, (4, 8), 4)
    np.testing.assert_array_equal(player.seek(7).pixels, volume[::-1, 7])
    np.testing.assert_array_equal(player.turn(2).pixels, volume[::-1, :, 4])
    back = player.turn(0)
    assert back.number == 2
    np.testing.assert_array_equal(back.pixels, volume[2])
    block = player.add_block(back).block
    assert block.middle == 2
    np.testing.assert_array_equal(block.values, volume)
    player.close()


def test_volumes_of_pages_are_let_in_by_what_their_headers_claim(tmp_path):
    np.save(tmp_path / "small.npy", np.zeros((4, 8, 8), np.float32))
    np.save(tmp_path / "wide.npy", np.zeros((1, 4, 80), np.float32))
    (tmp_path / "bomb.nii").write_bytes(struct.pack("<i36x8h", 348, 3, 32767, 32767, 1, 1, 1, 1, 1) + bytes(400))
    (tmp_path / "bomb.h5").write_bytes(bytes(400))
    check_volume(tmp_path / "small.npy", "small.npy", 100)
    check_volume(tmp_path / "photo.png", "photo.png", 100)
    for name, why in (("wide.npy", "80 × 4"), ("bomb.nii", "32767 × 32767"), ("bomb.h5", "unpacked whole")):
        with pytest.raises(FormatError, match=why):
            check_volume(tmp_path / name, name, 100)


@pytest.mark.parametrize(
    "names", [["../x", "y"], ["a/../../x"], ["/etc/x"], ["x", "x"], ["a\0b"], [".."], [], ["a/" * 20 + "x"]]
)
def test_names_of_several_files_cannot_lead_out_of_their_folder(tmp_path, names):
    async def give():
        yield json.dumps([[name, 1] for name in names]).encode()
        yield b"." * len(names)

    listed = len(json.dumps([[name, 1] for name in names]))
    with pytest.raises(FormatError, match="names that are not used"):
        anyio.run(write_parts, tmp_path / "in", give(), listed, "series")
    assert not (tmp_path / "in").exists()


def test_several_files_are_written_as_their_list_says(tmp_path):
    text = json.dumps([["a/one", 3], [".zattrs", 0], ["two", 2]]).encode()

    async def give(ending):
        yield text[:5]
        yield text[5:] + b"AA"
        yield b"ABB"[: 3 - ending]

    anyio.run(write_parts, tmp_path / "in", give(0), len(text), "store")
    found = {path.name: path.read_bytes() for path in (tmp_path / "in").rglob("*") if path.is_file()}
    assert found == {"one": b"AAA", ".zattrs": b"", "two": b"BB"}
    with pytest.raises(FormatError, match="ended in the middle of 'two'"):
        anyio.run(write_parts, tmp_path / "again", give(1), len(text), "store")


def test_every_frame_is_found_by_its_keyframe_and_steps_go_both_ways(player):
    expected = {}
    player.is_looping = False
    while (frame := player.take()) is not None:
        expected[frame.number] = frame.pixels
    assert len(expected) == 60
    again = Player(player.item)
    for number in (45, 7, 59, 30, 31, 0):
        found = again.seek(number)
        assert found.number == number
        np.testing.assert_array_equal(found.pixels, expected[number])
    again.seek(40)
    for number in (39, 38, 37):
        assert again.take_back().number == number
        np.testing.assert_array_equal(again.current.pixels, expected[number])
    assert again.take().number == 38
    again.close()


def test_a_step_back_after_a_seek_decodes_nothing_anew(player, monkeypatch):
    expected = [player.take().pixels for _ in range(60)]
    again = Player(player.item)
    again.seek(40)

    def fail(*_):
        pytest.fail("the video was sought again")

    monkeypatch.setattr(again, "_jump", fail)
    for number in (39, 38, 37, 36):
        assert again.take_back().number == number
        np.testing.assert_array_equal(again.current.pixels, expected[number])
    assert [again.take().number for _ in range(6)] == [37, 38, 39, 40, 41, 42]
    np.testing.assert_array_equal(again.current.pixels, expected[42])
    again.close()


def test_a_part_is_repeated_both_ways(player):
    player.start, player.stop = 10, 12
    player.seek(11)
    assert [player.take().number for _ in range(4)] == [12, 10, 11, 12]
    assert [player.take_back().number for _ in range(4)] == [11, 10, 12, 11]
    player.is_looping = False
    player.seek(12)
    assert player.is_at_end
    assert player.take() is None


def test_the_clock_leaves_out_what_is_late_and_forgets_long_pauses():
    clock = Clock(25.0)
    clock.start(0.0)
    assert [clock.advance(now) for now in (0.0, 0.041, 0.08, 0.3)] == [0, 0, 0, 4]
    assert clock.advance(100.0) == 8
    assert clock.due == 100.0


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (np.array([[0, 128, 65535]], np.uint16), [0, 0, 255]),
        (np.array([[0.0, 0.5, 1.0, 2.0, np.nan]], np.float32), [0, 128, 255, 255, 0]),
        (np.array([[-32768, 32767]], np.int16), [0, 255]),
    ],
)
def test_every_depth_is_shown_in_8_bits(pixels, expected):
    assert as_bytes(pixels).tolist() == [expected]


@pytest.mark.parametrize("kind", ["gaussian", "speckle"])
def test_noise_differs_between_frames_and_is_as_strong_as_it_says(kind):
    grey = np.full((200, 300, 3), 128, np.uint8)
    noisy = [add_noise(grey, kind, 15.0, number).astype(int) for number in range(3)]
    assert noisy[0].std() == pytest.approx(15, rel=0.05)
    assert abs(np.corrcoef(noisy[0].ravel(), noisy[1].ravel())[0, 1]) < 0.05
    np.testing.assert_array_equal(noisy[2], add_noise(grey, kind, 15.0, 2))


def test_no_noise_is_no_copy():
    grey = np.zeros((4, 4), np.uint8)
    assert add_noise(grey, "none", 10.0) is grey
    assert add_noise(grey, "gaussian", 0.0) is grey


def run_link(link, raw, jpeg, count=1200):
    """Return what a link chooses in the end if frames take so long."""
    chosen = []
    for _ in range(count):
        name = link.choose("auto", 230_400, is_moving=True)
        link.note(name, 230_400, raw if name == "raw" else jpeg)
        chosen.append(name)
    return chosen


@pytest.mark.parametrize("is_near", [True, False])
@pytest.mark.parametrize(("raw", "jpeg", "best"), [(0.01, 0.02, "raw"), (0.03, 0.01, "jpeg"), (0.9, 0.02, "jpeg")])
def test_the_faster_format_is_found(is_near, raw, jpeg, best):
    chosen = run_link(Link(is_near=is_near), raw, jpeg)
    assert chosen[100:].count(best) > 0.95 * len(chosen[100:])
    assert set(chosen) == {"raw", "jpeg"}


def test_a_link_that_changes_is_noticed():
    link = Link(is_near=True)
    run_link(link, 0.01, 0.02)
    chosen = run_link(link, 0.05, 0.02)
    assert chosen[600:].count("jpeg") > 500


def test_what_stands_still_is_sent_exactly_if_that_takes_a_moment():
    link = Link(is_near=True)
    assert link.choose("auto", 10**6, is_moving=False) == "raw"
    link.note("raw", 10**6, 3.0)
    assert link.choose("auto", 10**6, is_moving=False) == "jpeg"
    assert link.choose("auto", 10**4, is_moving=False) == "raw"
    assert link.choose("webp", 10**6, is_moving=False) == "webp"
    assert link.choose("strange", 10**6, is_moving=False) == "raw"


def test_a_meter_forgets():
    meter = Meter()
    assert meter.measure_rate(0.0) == 0
    for number in range(50):
        meter.note(number / 50)
    assert meter.measure_rate(1.0) == pytest.approx(50, rel=0.05)
    assert meter.measure_rate(100.0) == 0

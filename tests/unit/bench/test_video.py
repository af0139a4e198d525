"""Film in real time: the figures are of what they say, and likeness is measured frame by frame."""

from contextlib import contextmanager
from hashlib import sha256

import numpy as np
import pytest

from subband.bench import likeness, video
from subband.bench.checking import WrongResultError
from subband.data import clip_path
from subband.errors import ArgumentError, ShapeError
from subband.media.base import Frame, Source, SourceInfo


class MemorySource(Source):
    def __init__(self, frames, kind="film"):
        self.frames = frames
        colours = "rgb" if frames[0].ndim == 3 else "grey"
        self.info = SourceInfo(kind, frames[0].shape, frames[0].dtype, colours, count=len(frames))

    def __iter__(self):
        return iter([Frame(frame, number) for number, frame in enumerate(self.frames)])


def opener(*frames, kind="film"):
    @contextmanager
    def open_again():
        yield MemorySource(frames, kind)

    return open_again


def test_both_directions_are_timed_frame_by_frame():
    passes = video.measure_transform(clip_path(), "cpu", count=9, shape=(72, 96))
    assert [each.direction for each in passes] == ["forward", "inverse"]
    for each in passes:
        assert len(each.seconds) == 9
        assert 0 < each.least <= each.average <= each.most


def test_no_two_frames_are_the_same(monkeypatch):
    """The bundled clip has 60 frames; the acceptance test takes 400."""
    timed = {"forward": [], "inverse": []}
    clock = video._clock

    def note(work, things, seconds):
        is_forward = isinstance(things[0], np.ndarray)
        timed["forward" if is_forward else "inverse"] += [
            sha256(np.ascontiguousarray(thing if is_forward else thing.approximation)).digest() for thing in things
        ]
        return clock(work, things, seconds)

    monkeypatch.setattr(video, "_clock", note)
    passes = video.measure_transform(clip_path(), "cpu", count=130, shape=(72, 96))
    assert [len(each.seconds) for each in passes] == [130, 130]
    for hashes in timed.values():
        assert len(hashes) == len(set(hashes)) == 130


def test_the_slowest_frame_is_judged():
    quick, slow = (0.01,) * 99, 0.05
    for seconds, is_met in ((quick, True), ((*quick, slow), False)):
        passes = [video.Passes(direction, seconds) for direction in ("forward", "inverse")]
        assert all(each.average > 2 * video.BAR for each in passes)
        report = video.report(passes, [], "cpu", clip_path())
        assert [goal.is_met for goal in report.goals] == [is_met, is_met]
        assert "slowest frame" in report.goals[0].text
    assert "100 different frames" in report.sheets[0].note


def test_wrong_frames_are_found(monkeypatch):
    reconstruct = video.subband.reconstruct
    monkeypatch.setattr(video.subband, "reconstruct", lambda *args, **options: reconstruct(*args, **options) + 1)
    with pytest.raises(WrongResultError, match="come back with a difference"):
        video.measure_transform(clip_path(), "cpu", count=2, shape=(72, 96))


def test_grey_film_is_refused(tmp_path):
    np.save(tmp_path / "volume.npy", np.zeros((4, 8, 8), np.uint8))
    with pytest.raises(ArgumentError, match="no film of 8 bits in colour"):
        video.measure_transform(tmp_path / "volume.npy", "cpu", count=2)


def test_files_and_report():
    runs = list(video.measure_files(clip_path(), "cpu", is_quick=True, shape=(72, 128)))
    assert [run.name for run in runs] == list(video.CASES)
    assert all(run.result.frames == 24 for run in runs)
    passes = [video.Passes("forward", (0.01, 0.02)), video.Passes("inverse", (0.05, 0.06))]
    report = video.report(passes, runs, "cpu", clip_path())
    assert [goal.is_met for goal in report.goals[:2]] == [True, False]
    assert len(report.goals) == 3
    speeds, histogram, files = report.sheets
    assert speeds.rows[0] == ("forward", "66.7", "50.0", "100.0", "60.9", "49.9", "77.2")
    assert [row[0] for row in files.rows] == list(video.CASES)
    drawn = [sum(int(row[column].split()[0]) for row in histogram.rows) for column in (1, 2)]
    assert drawn == [2, 2]
    assert report.to_json()["passes"]["inverse"] == [0.05, 0.06]


def test_judged_case_is_one_of_the_cases():
    assert video._JUDGED in video.CASES


def test_likeness_of_frames():
    one = np.full((16, 16), 100, np.uint8)
    other = one.copy()
    other[0, 0] = 151
    found = likeness.compare_sources(opener(one, one, one), opener(one, other, one))
    assert [frame.largest for frame in found.frames] == [0, 51, 0]
    assert found.frames[0].psnr == np.inf
    assert found.frames[1].psnr == pytest.approx(10 * np.log10(255**2 / (51**2 / 256)))
    assert found.psnr == pytest.approx(10 * np.log10(255**2 / (51**2 / 768)))
    assert found.worst[0] == 1
    assert found.frames[0].ssim == pytest.approx(1)
    joined = likeness.join_pictures(found)
    assert joined.shape == (16, 3 * 16 + 16)
    assert joined[0, 48] == 255  # white between the pictures, and a difference beyond it
    assert joined[8, 60] == 128


def test_small_frames_have_no_ssim():
    tiny = np.zeros((4, 4), np.uint8)
    assert likeness.compare_sources(opener(tiny), opener(tiny)).ssim is None


def test_likeness_refuses_other_sizes():
    with pytest.raises(ShapeError, match="16 × 8"):
        likeness.compare_sources(opener(np.zeros((8, 16), np.uint8)), opener(np.zeros((9, 16), np.uint8)))


def test_constant_volume_has_a_white():
    slices = np.full((2, 12, 12), 5.0, np.float32)
    found = likeness.compare_sources(opener(*slices, kind="volume"), opener(*(slices + 1), kind="volume"))
    assert found.psnr == 0

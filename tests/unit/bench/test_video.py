"""Film in real time: the figures are of what they say."""

from hashlib import sha256

import numpy as np
import pytest

from subband.bench import video
from subband.data import clip_path
from subband.engines.measuring.judging import WrongResultError
from subband.errors import ArgumentError


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
    with pytest.raises(ArgumentError, match="no video of 8 bits in colour"):
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

"""The acceptance test: different frames, wrong bands refused, and the slowest frame judged."""

import numpy as np
import pytest

import subband
from subband.bench.papers import acceptance
from subband.bench.papers.acceptance import QUICK_COUNT, THEIRS, Passes, make_frames, measure
from subband.bench.rendering import to_html
from subband.engines.measuring.judging import WrongResultError
from subband.errors import MissingExtraError
from subband.pyramid import Pyramid

RNG = np.random.default_rng(7)
IMAGES = [RNG.integers(0, 256, (24, 40, 3), np.uint8) for _ in range(3)]
SMALL = (48, 64)


def test_average_and_rate_are_of_the_same_times_in_their_table():
    for method in THEIRS.values():
        assert 1e3 / method.average == pytest.approx(method.rate, abs=0.03)
        assert method.fastest < method.average < method.slowest < acceptance.LIMIT
    # the text: lifting at 60.91 and 61.63 frames a second, and filtering at 47.80
    assert [method.rate for method in THEIRS.values()] == [47.80, 60.91, 61.63]


def test_no_two_frames_are_the_same():
    frames = list(make_frames(IMAGES, 20, SMALL))
    assert len(frames) == 20
    assert len({frame.tobytes() for frame in frames}) == 20
    assert {(frame.shape, frame.dtype.name, frame.flags.c_contiguous) for frame in frames} == {
        ((3, *SMALL), "float32", True)
    }


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_every_frame_goes_through_all_methods(engine, monkeypatch):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    seen = []
    real = subband.decompose

    def decompose(x, wavelet, *args, **kwargs):
        if kwargs["engine"] != "reference":
            seen.append((x.tobytes(), getattr(wavelet, "lifting", None) is None))
        return real(x, wavelet, *args, **kwargs)

    monkeypatch.setattr(subband, "decompose", decompose)
    passes = measure(engine, 5, SMALL, IMAGES)
    assert {name: len(times) for name, times in passes.seconds.items()} == dict.fromkeys(THEIRS, 5)
    assert all(second > 0 for times in passes.seconds.values() for second in times)
    # by filters and by lifting, and each with all frames
    for is_filtered in (False, True):
        assert {frame.tobytes() for frame in make_frames(IMAGES, 5, SMALL)} <= {
            frame for frame, is_own in seen if is_own is is_filtered
        }
    report = acceptance.report(passes, engine)
    assert not report.goals
    assert report.sheets[0].rows[0][:5] == ["filtering, decomposition", "20.91", "47.80", "24.35", "16.98"]


@pytest.mark.parametrize("is_filtered", [False, True])
def test_wrong_bands_are_not_timed(monkeypatch, is_filtered):
    """Bands of twice their size that are halved on the way back: only a comparison of bands shows it."""
    decompose, reconstruct = subband.decompose, subband.reconstruct

    def wrong(x, wavelet, *args, **kwargs):
        pyramid = decompose(x, wavelet, *args, **kwargs)
        is_own = kwargs["engine"] != "reference" and (getattr(wavelet, "lifting", None) is None) == is_filtered
        return pyramid.map(lambda band, level, key: 2 * band) if is_own else pyramid

    def halve(pyramid, **kwargs):
        return reconstruct(pyramid.map(lambda band, level, key: band / 2), **kwargs)

    monkeypatch.setattr(subband, "decompose", wrong)
    monkeypatch.setattr(subband, "reconstruct", reconstruct if is_filtered else halve)
    with pytest.raises(WrongResultError, match="filtering" if is_filtered else "lifting"):
        measure("cpu", 2, SMALL, IMAGES)


def test_frames_that_do_not_come_back_are_refused(monkeypatch):
    reconstruct = subband.reconstruct
    monkeypatch.setattr(subband, "reconstruct", lambda pyramid, **kwargs: reconstruct(pyramid, **kwargs) + 0.1)
    with pytest.raises(WrongResultError, match="frame 0 comes back"):
        measure("cpu", 2, SMALL, IMAGES)


def test_the_slowest_frame_is_judged():
    times = [0.010] * (QUICK_COUNT - 1)
    slow = Passes({name: [*times, 0.041 if "reconstruction" in name else 0.039] for name in THEIRS}, "made of nothing")
    report = acceptance.report(slow, "cpu")
    assert [goal.is_met for goal in report.goals] == [True, True, False]
    assert report.remarks == ["made of nothing"]
    row = report.sheets[0].rows[2]
    assert row[0] == "lifting, reconstruction"
    assert row[7:] == ["41.00", "10.00"]
    assert float(row[5]) == pytest.approx(10.775, abs=0.01)
    assert "61.63" in report.to_markdown()
    assert "41.00" in to_html("Acceptance", {"acceptance": report})


def test_without_a_library_for_video_there_are_photographs(monkeypatch):
    def refuse(path):
        raise MissingExtraError("reading video", "video")

    monkeypatch.setattr("subband.media.open_source", refuse)
    images, remark = acceptance.load_images()
    assert {image.shape[2] for image in images} == {3}
    assert "subband[video]" in remark
    passes = measure("cpu", 2, SMALL)
    assert passes.remark == remark
    assert isinstance(subband.decompose(next(make_frames(images, 1, SMALL))), Pyramid)

"""Two files compared frame by frame."""

import json
from contextlib import contextmanager

import numpy as np
import pytest

from subband.errors import ShapeError
from subband.media.base import Frame, Source, SourceInfo
from subband.pipeline.comparison import compare_sources, join_images


class MemorySource(Source):
    def __init__(self, frames, kind="film", alpha=None):
        self.frames, self.alpha = frames, alpha
        colours = "rgb" if frames[0].ndim == 3 else "grey"
        self.info = SourceInfo(
            kind, frames[0].shape, frames[0].dtype, colours, count=len(frames), has_alpha=alpha is not None
        )

    def __iter__(self):
        return iter([Frame(frame, number, alpha=self.alpha) for number, frame in enumerate(self.frames)])


def opener(*frames, kind="film", alpha=None):
    @contextmanager
    def open_again():
        yield MemorySource(frames, kind, alpha)

    return open_again


def test_frames_are_compared_one_by_one():
    one = np.full((16, 16), 100, np.uint8)
    other = one.copy()
    other[0, 0] = 151
    found = compare_sources(opener(one, one, one), opener(one, other, one))
    assert [frame.largest for frame in found.frames] == [0, 51, 0]
    assert found.frames[0].psnr == np.inf
    assert found.frames[1].psnr == pytest.approx(10 * np.log10(255**2 / (51**2 / 256)))
    assert found.psnr == pytest.approx(10 * np.log10(255**2 / (51**2 / 768)))
    assert found.worst[0] == 1
    assert found.frames[0].ssim == pytest.approx(1)
    joined = join_images(found)
    assert joined.shape == (16, 3 * 16 + 16)
    assert joined[0, 48] == 255  # white between the pictures, and a difference beyond it
    assert joined[8, 60] == 128


def test_small_frames_have_no_ssim():
    tiny = np.zeros((4, 4), np.uint8)
    assert compare_sources(opener(tiny), opener(tiny)).ssim is None


def test_other_sizes_are_refused():
    with pytest.raises(ShapeError, match="16 × 8"):
        compare_sources(opener(np.zeros((8, 16), np.uint8)), opener(np.zeros((9, 16), np.uint8)))


def test_constant_volume_has_a_white():
    slices = np.full((2, 12, 12), 5.0, np.float32)
    found = compare_sources(opener(*slices, kind="volume"), opener(*(slices + 1), kind="volume"))
    assert found.psnr == 0


@pytest.mark.parametrize("kind", ["still", "volume"])
def test_what_is_not_finite_is_left_out(kind):
    one = np.random.default_rng(0).random((16, 16)).astype(np.float32)
    one[2, 3], one[5, 5] = np.nan, np.inf
    other = one + np.float32(0.25)
    found = compare_sources(opener(one, kind=kind), opener(other, kind=kind))
    assert found.largest == pytest.approx(0.25, rel=1e-5)
    assert np.isfinite(found.psnr)
    assert "NaN or infinite: 2 samples" in found.remark
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["identical"] is False
    assert join_images(found).shape == (16, 64)
    assert compare_sources(opener(one, kind=kind), opener(one, kind=kind)).is_identical
    # equal where both are finite, and something else where one of them is not
    gap = one.copy()
    gap[2, 3] = 0
    same = compare_sources(opener(one, kind=kind), opener(gap, kind=kind))
    assert (same.largest, same.is_identical) == (0, False)


def test_nothing_finite_is_no_difference():
    empty = np.full((12, 12), np.nan, np.float32)
    found = compare_sources(opener(empty, kind="volume"), opener(empty, kind="volume"))
    assert (found.psnr, found.ssim, found.largest) == (np.inf, None, 0)


def test_opacity_that_differs_is_told():
    pixels = np.full((12, 12), 7, np.uint8)
    half = np.full((12, 12), 128, np.uint8)
    found = compare_sources(opener(pixels), opener(pixels, alpha=half))
    assert found.largest == 0
    assert not found.is_identical
    assert found.remark == "their opacity differs, which is not in these figures"
    deep = pixels.astype(np.uint16) * 257, half.astype(np.uint16) * 257
    assert compare_sources(opener(pixels, alpha=half), opener(deep[0], alpha=deep[1])).is_identical
    assert compare_sources(opener(pixels), opener(pixels, alpha=np.full_like(half, 255))).is_identical

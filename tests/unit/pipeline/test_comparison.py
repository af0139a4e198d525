"""Two files compared frame by frame."""

from contextlib import contextmanager

import numpy as np
import pytest

from subband.errors import ShapeError
from subband.media.base import Frame, Source, SourceInfo
from subband.pipeline.comparison import compare_sources, join_images


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

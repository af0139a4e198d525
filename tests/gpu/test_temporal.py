"""Video over time on a real GPU: averages are those of the CPU, and recorded work is that of kernels one by one."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data
from subband.engines import get_engine
from subband.engines.replay import Replays
from subband.engines.temporal import find_temporal_filters
from subband.enhance import Denoise, Enhancer
from subband.pipeline import process_frames
from subband.pipeline.planes import PlaneWork, join_planes
from subband.pipeline.sequence import Sequence
from subband.testing.temporal import TemporalFilterTests

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")
SIGMA = 20.0
OVER_TIME = Enhancer(Denoise(), sigma=SIGMA, temporal=True)


class TestCudaTemporalFilters(TemporalFilterTests):
    filters = find_temporal_filters(ENGINE)

    def upload(self, x):
        return ENGINE.device.upload(x)

    def download(self, x):
        return ENGINE.device.download(x)


def make_frames(count, shape=(160, 224)):
    """A camera that moves, and a cut after half of the frames."""
    image, rng = data.photograph(), np.random.default_rng(0)
    for time in range(count):
        top, left = (2 * time, 3 * time) if time < count // 2 else (150 - time, 250 - 2 * time)
        frame = image[top : top + shape[0], left : left + shape[1]]
        yield np.rint(frame + rng.normal(0, SIGMA, frame.shape)).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_frames_are_those_of_the_cpu(sigma):
    frames, enhancer = list(make_frames(12)), Enhancer(Denoise(), sigma=sigma, temporal=True)
    found, expected = (np.stack(list(process_frames(frames, enhancer, engine=each))) for each in ("cuda", "cpu"))
    differences = np.abs(found.astype(int) - expected)
    assert (differences > 1).mean() < 1e-3
    assert (differences > 0).mean() < 1e-2


def test_planes_of_video_are_those_of_the_cpu():
    planes = [(each[..., 1], each[::2, ::2, 0], each[::2, ::2, 2]) for each in make_frames(8)]
    frames = [join_planes(each, (2, 2)) for each in planes]
    found, expected = (
        np.stack(list(PlaneWork(OVER_TIME, (2, 2), engine=each)(iter(frames)))) for each in ("cuda", "cpu")
    )
    assert (np.abs(found.astype(int) - expected) > 1).mean() < 1e-3


def test_recorded_work_is_the_same(monkeypatch):
    frames = list(make_frames(10))
    recorded = list(process_frames(frames, OVER_TIME, engine=ENGINE))
    monkeypatch.setattr(Replays, "find", lambda *_: None)
    np.testing.assert_array_equal(recorded, list(process_frames(frames, OVER_TIME, engine=ENGINE)))


def test_frames_stay_on_the_device():
    sequence, expected = Sequence(OVER_TIME, ENGINE), Sequence(OVER_TIME, ENGINE)
    for frame in make_frames(7):
        result = sequence.apply(ENGINE.device.upload(frame))
        assert ENGINE.device.owns(result)
        np.testing.assert_array_equal(result.get(), expected.apply(frame))

"""The time that is drawn into an image is read from it, after a codec, too; and from nothing else."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from subband.errors import ShapeError
from subband.media import TestSource, camera
from subband.media.time_code import draw_time, measure_delay


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(24, 56, 3), (48, 64, 3), (1080, 1920, 3)])
def test_times_come_back(shape, dtype):
    most = np.iinfo(dtype).max
    pixels = np.random.default_rng(0).integers(0, most, shape, dtype, endpoint=True)
    draw_time(pixels, 1.7e9)
    assert measure_delay(pixels, 1.7e9 + 0.0402) == pytest.approx(0.0402, abs=1e-3)
    # the clock of a receiver may be behind
    assert measure_delay(pixels, 1.7e9 - 0.5) == pytest.approx(-0.5, abs=1e-3)
    noisy = pixels + np.random.default_rng(1).normal(0, most / 30, shape)
    assert measure_delay(np.clip(noisy, 0, most).astype(dtype), 1.7e9 + 1) == pytest.approx(1.0, abs=1e-3)


def test_other_images_show_no_time():
    rng = np.random.default_rng(2)
    images = [np.zeros((48, 64, 3), np.uint8), rng.integers(0, 256, (480, 640, 3), np.uint8)]
    images += [frame.pixels for frame in TestSource(64, 48, count=3)]
    images += [np.full((48, 64), 255, np.uint8), np.zeros((48, 64, 3), np.float32), np.zeros((5, 5, 3), np.uint8)]
    damaged = np.full((48, 64, 3), 128, np.uint8)
    draw_time(damaged, 5.0)
    damaged[4:8, 4:8, 0] = 255 - damaged[4:8, 4:8, 0]
    assert all(measure_delay(image, 1e9) is None for image in [*images, damaged])


def test_small_images_have_no_room():
    with pytest.raises(ShapeError, match="56 × 24"):
        draw_time(np.zeros((20, 200, 3), np.uint8), 0.0)


def test_test_sources_draw_the_time_if_asked():
    shown, other = (TestSource.from_name(f"test:64x48?count=1{option}") for option in ("&clock=1", ""))
    assert abs(measure_delay(next(iter(shown)).pixels, time.time())) < 60
    assert measure_delay(next(iter(other)).pixels, 0.0) is None


@pytest.mark.parametrize(("option", "waits"), [("&clock=1", [0.0, 0.04, 0.04]), ("", [])])
def test_frames_that_show_the_time_come_at_their_rate(monkeypatch, option, waits):
    slept = []
    clock = SimpleNamespace(time=time.time, sleep=slept.append, monotonic=lambda: 100.0 + sum(slept))
    monkeypatch.setattr(camera, "time", clock)
    assert len(list(TestSource.from_name(f"test:64x48@25?count=3{option}"))) == 3
    assert slept == pytest.approx(waits)

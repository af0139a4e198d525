"""Cameras, of which there are none here, and the test source that stands for them."""

import sys

import numpy as np
import pytest

from subband.errors import ArgumentError, DeviceError, MissingExtraError, NoDeviceError
from subband.media import CameraSource, TestSource, open_sink, open_source


def test_frames_are_the_same_every_time():
    name = "test:40x30@50?count=5&seed=7&noise=10"
    first, second = ([frame.pixels for frame in open_source(name)] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = [frame.pixels for frame in open_source(name.replace("seed=7", "seed=8"))]
    assert (first[0] != other[0]).any()


def test_frames_move_and_have_their_noise():
    source = TestSource(80, 60, count=4, seed=1, noise=10)
    frames = list(source)
    assert [frame.number for frame in frames] == [0, 1, 2, 3]
    assert [frame.time for frame in frames] == [0, 0.04, 0.08, 0.12]
    noise = frames[2].pixels - source.make_clean(2)
    inside = (source.make_clean(2) > 40) & (source.make_clean(2) < 215)
    assert noise[inside].std() == pytest.approx(10, rel=0.05)
    assert np.abs(source.make_clean(3) - source.make_clean(2)).mean() > 1
    np.testing.assert_array_equal(source.make_frame(2).pixels, frames[2].pixels)


def test_what_a_name_can_say():
    source = TestSource.from_name("test:32x16@30000/1001?count=2&bits=16&noise=0")
    assert source.info.shape == (16, 32, 3)
    assert float(source.info.rate) == pytest.approx(29.97, abs=0.01)
    (frame, _) = source
    assert frame.pixels.dtype == np.uint16
    np.testing.assert_allclose(frame.pixels, source.make_clean(0), atol=0.51)
    assert TestSource.from_name("test:").info.count is None


@pytest.mark.parametrize(
    "name", ["test:big", "test:0x3", "test:4x4@0", "test:4x4?bits=9", "test:4x4?hue=red", "test:4x4?noise=-1"]
)
def test_names_that_say_nothing(name):
    with pytest.raises(ArgumentError):
        open_source(name)


@pytest.fixture
def pretend_camera(av):
    """Give a function that opens a camera which runs for some frames and is then pulled out."""

    def make(count):
        return av.open(f"testsrc=size=64x48:rate=25:duration={count / 25}", format="lavfi")

    return make


def test_camera_that_disappears(pretend_camera):
    numbers = []
    with CameraSource("camera:0", container=pretend_camera(10)) as camera:
        assert camera.info.kind == "camera"
        assert camera.info.count is None
        with pytest.raises(DeviceError, match="'camera:0' is gone after 10 frames"):
            numbers.extend(frame.number for frame in camera)
    assert numbers == list(range(10))


def write_all(source, sink):
    for frame in source:
        sink.write(frame)


def test_frames_before_the_camera_disappears_can_be_kept(pretend_camera, tmp_path):
    with CameraSource("camera:0", container=pretend_camera(10)) as camera:
        sink = open_sink(tmp_path / "film.mkv", camera.info)
        with pytest.raises(DeviceError):
            write_all(camera, sink)
        sink.finish()
    with open_source(tmp_path / "film.mkv") as film:
        assert sum(1 for _ in film) == 10


def test_camera_for_some_frames(pretend_camera):
    with CameraSource("camera:0", container=pretend_camera(10), count=4) as camera:
        assert [round(frame.time, 2) for frame in camera] == [0, 0.04, 0.08, 0.12]


def test_no_camera(av):
    with pytest.raises(NoDeviceError, match="camera:97"):
        open_source("camera:97", size=(640, 480), rate=30)


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"subband\[video\]"):
        open_source("camera:0")

"""HTJ2K video on a real GPU: frames of 4K in flight, and in memory that the GPU reads by itself.

`tests/codecs/test_device.py` compares blocks and small frames with the host's, on a GPU too if there is one.
"""

from __future__ import annotations

import numpy as np
import pytest

from subband.codecs.jpeg2000 import Decoder, Encoder, decode
from subband.data import photograph
from subband.engines import get_engine
from subband.engines.tracks import CudaTrack, make_track

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")


@pytest.fixture(scope="module")
def frames():
    image = photograph()
    pad = [(0, max(0, side - own)) for side, own in zip((2160, 3840), image.shape[:2], strict=True)]
    image = np.pad(image, [*pad, (0, 0)], mode="symmetric")[:2160, :3840]
    return [np.ascontiguousarray(np.roll(image, 100 * k, axis=1)) for k in range(6)]


def test_lossless_frames_come_back(frames):
    encoder, decoder = Encoder(frames[0].shape, engine=ENGINE, lossless=True), Decoder(engine=ENGINE)
    lent = encoder.lend()
    lent[...] = frames[2]
    streams = list(encoder.encode_all([*frames[:2], lent, *frames[3:]]))
    for frame, expected in zip(decoder.decode_all(streams), frames, strict=True):
        np.testing.assert_array_equal(frame, expected)


def test_lossy_frames_are_those_of_the_host(frames):
    encoder, decoder = Encoder(frames[0].shape, engine=ENGINE, step=4.0), Decoder(engine=ENGINE)
    streams = list(encoder.encode_all(frames))
    decoded = [frame.copy() for frame in decoder.decode_all(streams)]
    assert np.abs(decoded[0].astype(np.int16) - decode(streams[0]).samples).max() <= 1
    for number, (stream, frame) in enumerate(zip(streams, decoded, strict=True)):
        # alone, a frame is what it is beside others
        assert encoder.encode(frames[number]) == stream
        np.testing.assert_array_equal(decoder.decode(stream), frame)


def test_work_is_recorded_once():
    import cupy

    track = make_track(ENGINE.device)
    assert isinstance(track, CudaTrack)
    x, y = cupy.zeros(1000, np.float32), cupy.zeros(1000, np.float32)
    calls = []

    def work():
        calls.append(1)
        cupy.multiply(x, 2, out=y)

    run = track.prepare(work)
    count = len(calls)
    host, back = np.arange(1000, dtype=np.float32), np.empty(1000, np.float32)
    track.upload(host, x)
    run()
    track.download(y, back)
    track.wait()
    np.testing.assert_array_equal(back, 2 * host)
    assert len(calls) == count

"""VC-2 on a GPU: `measure_device` compares coefficients, quantiser steps and samples with the CPU, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from subband.bench.vc2 import DeviceCase, measure_device
from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat
from subband.codecs.vc2.stream import find_units
from subband.codecs.vc2.wavelets import WAVELETS
from subband.engines.measuring.harness import open_device

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("wavelet", [wavelet.name for wavelet in WAVELETS])
@pytest.mark.parametrize(("shape", "depth", "bits"), [((70, 100), 2, 10), ((250, 1026), 4, 10), ((34, 66), 1, 8)])
def test_every_stage_is_that_of_the_cpu(wavelet, shape, depth, bits):
    case = DeviceCase("small", wavelet, depth, shape, bits)
    (found,) = measure_device(open_device("cuda"), [case], turns=1, count=1)
    assert found.rate > 0


@pytest.mark.parametrize("settings", [Settings(), Settings(rate=3e6, wavelet="dd97"), Settings(quantiser=9, depth=2)])
def test_streams_and_frames_are_those_of_the_cpu(settings):
    video = VideoFormat(198, 106, "4:2:0", VideoFormat.make_signal(10))
    rng = np.random.default_rng(0)
    planes = [rng.integers(0, 1024, shape).astype(np.uint16) for shape in video.plane_shapes]
    streams, frames = [], []
    for engine in ("cpu", "cuda"):
        encoder = Encoder(video, settings, engine=engine)
        streams.append(encoder.encode(planes) + encoder.encode(planes[:1] + planes[:0:-1]) + encoder.finish())
        decoder = Decoder(engine=engine)
        frames.append([frame for unit in find_units(streams[0]) for frame in decoder.feed(unit)])
    assert streams[0] == streams[1]
    for one, other in zip(*frames, strict=True):
        for mine, theirs in zip(one.planes, other.planes, strict=True):
            np.testing.assert_array_equal(mine, theirs)

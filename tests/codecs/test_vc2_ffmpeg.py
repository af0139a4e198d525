"""FFmpeg decodes what we write, and we decode what FFmpeg writes, bit for bit."""

import io
from fractions import Fraction

import numpy as np
import pytest

from subband.codecs.vc2 import Settings, VideoFormat, decode, encode

av = pytest.importorskip("av")

FORMATS = {"yuv420p": ("4:2:0", 8), "yuv422p10le": ("4:2:2", 10), "yuv444p12le": ("4:4:4", 12)}


def draw(video, seed=0):
    rng = np.random.default_rng(seed)
    top = (1 << video.bits[0]) - 1
    kind = np.uint8 if video.bits[0] == 8 else np.uint16
    return [np.clip(rng.normal(0.5, 0.1, shape) * top, 0, top).astype(kind) for shape in video.plane_shapes]


def view(plane, dtype):
    return np.frombuffer(plane, dtype).reshape(plane.height, -1)[:, : plane.width]


def decode_by_ffmpeg(data):
    with av.open(io.BytesIO(data), format="dirac") as container:
        return [
            [np.array(view(plane, np.uint8 if frame.format.components[0].bits == 8 else np.uint16))
             for plane in frame.planes]
            for frame in container.decode(video=0)
        ]  # fmt: skip


def encode_by_ffmpeg(frames, pixel_format, video, **options):
    context = av.CodecContext.create("vc2", "w")
    context.width, context.height, context.pix_fmt = video.columns, video.rows, pixel_format
    context.time_base, context.framerate, context.bit_rate = Fraction(1, 25), 25, 3_000_000
    context.options = {"strict": "-1", **options}
    packets = []
    for number, planes in enumerate(frames):
        frame = av.VideoFrame(video.columns, video.rows, pixel_format)
        frame.pts = number
        for plane, values in zip(frame.planes, planes, strict=True):
            view(plane, values.dtype)[...] = values
        packets += context.encode(frame)
    return b"".join(bytes(packet) for packet in [*packets, *context.encode(None)])


def compare(data, count):
    ours, theirs = list(decode(data)), decode_by_ffmpeg(data)
    assert len(ours) == len(theirs) == count
    for frame, planes in zip(ours, theirs, strict=True):
        for mine, known in zip(frame.planes, planes, strict=True):
            np.testing.assert_array_equal(mine, known)


# FFmpeg computes daub97 in too few bits, and has another tap in the fidelity wavelet than the standard.
@pytest.mark.parametrize("wavelet", ["dd97", "legall53", "dd137", "haar0", "haar1"])
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_ffmpeg_decodes_ours(wavelet, pixel_format):
    sampling, bits = FORMATS[pixel_format]
    video = VideoFormat(128, 64, sampling, VideoFormat.make_signal(bits))
    for depth in (1, 2, 3, 4):
        settings = Settings(wavelet=wavelet, depth=depth, quantiser=12 + depth, slice_size=(32, 64))
        compare(encode([draw(video, 0), draw(video, 1)], video, settings), 2)


@pytest.mark.parametrize("wavelet", ["9_7", "5_3", "haar", "haar_noshift"])
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_we_decode_that_of_ffmpeg(wavelet, pixel_format):
    sampling, bits = FORMATS[pixel_format]
    video = VideoFormat(128, 64, sampling, VideoFormat.make_signal(bits))
    for depth in ("1", "3"):
        data = encode_by_ffmpeg(
            [draw(video, 0), draw(video, 1)], pixel_format, video, wavelet_type=wavelet, wavelet_depth=depth
        )
        compare(data, 2)
        assert next(decode(data)).video.bits == (bits, bits)


def test_a_whole_frame_at_the_default_settings_is_decoded_by_ffmpeg():
    video = VideoFormat(1920, 1080, "4:2:2", VideoFormat.make_signal(10))
    compare(encode([draw(video)], video, Settings(rate=400e6)), 1)

"""FFmpeg decodes what we write, and we decode what FFmpeg writes, bit for bit."""

import io
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from subband.codecs.vc2 import Settings, VideoFormat, decode, encode
from subband.data import clip_path, photograph
from subband.quality import measure_psnr

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


def encode_by_ffmpeg(frames, pixel_format, video, rate=3_000_000, **options):
    context = av.CodecContext.create("vc2", "w")
    context.width, context.height, context.pix_fmt = video.columns, video.rows, pixel_format
    context.time_base, context.framerate, context.bit_rate = Fraction(1, 25), 25, rate
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


def load_content(kind):
    """Return three frames of 4:2:2 in 10 bits, 480 × 256: of a rendered video, a photograph that pans, or noise."""
    rows, columns = 256, 480
    if kind == "video":
        with av.open(str(clip_path())) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in islice(container.decode(video=0), 3)]
        images = [frame[:rows, :columns] for frame in frames]
    elif kind == "photograph":
        whole = photograph()
        images = [whole[8 * k : 8 * k + rows, 8 * k : 8 * k + columns] for k in range(3)]
    else:
        rng, (y, x) = np.random.default_rng(0), np.mgrid[:rows, :columns]
        waves = 128 + 90 * np.sin(x / 17) * np.cos(y / 23)
        images = [np.clip(waves[..., None] + rng.normal(0, 3, (rows, columns, 3)), 0, 255) for _ in range(3)]
    made = []
    for image in images:
        red, green, blue = np.moveaxis(image.astype(np.float64) / 255, -1, 0)
        luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        chroma = [((c - luma) / scale)[:, ::2] for c, scale in ((blue, 1.8556), (red, 1.5748))]
        planes = [64 + 876 * luma, *(512 + 896 * each for each in chroma)]
        made.append([np.clip(np.rint(plane), 4, 1019).astype(np.uint16) for plane in planes])
    return made


def measure_mean_psnr(frames, known):
    return np.mean(
        [
            measure_psnr(plane.astype(np.float64), own.astype(np.float64), 1023)
            for frame, planes in zip(frames, known, strict=True)
            for plane, own in zip(frame.planes, planes, strict=True)
        ]
    )


@pytest.mark.parametrize("ratio", [3, 5, 8])
@pytest.mark.parametrize("kind", ["video", "photograph", "noise"])
def test_at_the_same_rate_frames_are_as_good_as_those_of_ffmpeg(kind, ratio):
    video = VideoFormat(480, 256, "4:2:2", VideoFormat.make_signal(10))
    frames, rate = load_content(kind), 480 * 256 * 2 * 10 * 25 // ratio
    ours = encode(frames, video, Settings(rate=rate))
    theirs = encode_by_ffmpeg(frames, "yuv422p10le", video, rate=rate)
    assert len(ours) <= rate / 8 / 25 * len(frames)
    mine, known = (measure_mean_psnr(list(decode(data)), frames) for data in (ours, theirs))
    print(f"{kind} {ratio}:1 {mine:.2f} dB, FFmpeg {known:.2f} dB, bytes {len(ours)} and {len(theirs)}")
    assert mine >= known

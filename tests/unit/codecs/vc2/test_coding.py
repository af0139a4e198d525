"""Encoding and decoding: lossless, to a rate, in fragments and fields; and what is refused."""

import numpy as np
import pytest

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat, decode, encode
from subband.codecs.vc2.stream import HQ_FRAGMENT, find_units
from subband.codecs.vc2.wavelets import WAVELETS
from subband.errors import ArgumentError, CodecError, DtypeError, ShapeError
from subband.quality import measure_psnr


def draw(video, seed=0):
    """Draw waves and noise."""
    rng = np.random.default_rng(seed)
    planes = []
    for (rows, columns), bits in zip(video.plane_shapes, (video.bits[0], *video.bits[1:] * 2), strict=True):
        y, x = np.mgrid[0:rows, 0:columns]
        waves = 0.5 + 0.35 * np.sin(x / 9 + seed) * np.cos(y / 7) + rng.normal(0, 0.02, x.shape)
        values = np.clip(np.rint(waves * ((1 << bits) - 1)), 0, (1 << bits) - 1)
        planes.append(values.astype(np.uint8 if bits <= 8 else np.uint16))
    return planes


def is_same(planes, others):
    return all(np.array_equal(a, b) for a, b in zip(planes, others, strict=True))


@pytest.mark.parametrize("wavelet", [wavelet.name for wavelet in WAVELETS])
@pytest.mark.parametrize("bits", [8, 10, 16])
@pytest.mark.parametrize(("depth", "depth_ho"), [(0, 0), (3, 0), (2, 2), (0, 1)])
def test_nothing_is_lost(wavelet, bits, depth, depth_ho):
    video = VideoFormat(75, 46, "4:4:4", VideoFormat.make_signal(bits, is_full=True))
    planes = draw(video)
    settings = Settings(wavelet=wavelet, depth=depth, depth_ho=depth_ho)
    (frame,) = decode(encode([planes], video, settings))
    assert is_same(frame.planes, planes)
    assert frame.video == video


def test_extremes_are_not_lost():
    rng = np.random.default_rng(1)
    for bits in (8, 16):
        video = VideoFormat(40, 24, "4:4:4", VideoFormat.make_signal(bits, is_full=True))
        planes = [rng.integers(0, 2, shape).astype(f"uint{bits}") * ((1 << bits) - 1) for shape in video.plane_shapes]
        for wavelet in WAVELETS:
            (frame,) = decode(encode([planes], video, Settings(wavelet=wavelet.name)))
            assert is_same(frame.planes, planes)


@pytest.mark.parametrize("ratio", [3, 8])
@pytest.mark.parametrize("fragment", [None, 400])
def test_a_rate_is_kept_and_used(ratio, fragment):
    video = VideoFormat(192, 128, "4:2:2", VideoFormat.make_signal(10))
    frames = [draw(video, seed) for seed in range(3)]
    rate = 192 * 128 * 2 * 10 * 25 / ratio
    encoder = Encoder(video, Settings(rate=rate, fragment=fragment))
    sizes = [len(encoder.encode(frame)) for frame in frames]
    assert max(sizes) <= rate / 8 / 25
    assert min(sizes) > 0.9 * rate / 8 / 25


def test_finer_quantisers_are_nearer():
    video = VideoFormat(128, 96, "4:2:0")
    planes = draw(video)
    found = []
    for quantiser in (0, 8, 16, 24, 40):
        data = encode([planes], video, Settings(quantiser=quantiser))
        (frame,) = decode(data)
        found.append((len(data), measure_psnr(frame.planes[0], planes[0], 255)))
    sizes, ratios = zip(*found, strict=True)
    assert list(sizes) == sorted(sizes, reverse=True)
    assert list(ratios) == sorted(ratios, reverse=True)
    assert ratios[0] == np.inf
    assert ratios[2] > 40


@pytest.mark.parametrize("top", [True, False])
def test_fields_are_woven(top):
    video = VideoFormat(64, 48, "4:2:0", is_interlaced=True, top_field_first=top)
    frames = [draw(video, seed) for seed in range(2)]
    found = list(decode(encode(frames, video)))
    assert [frame.number for frame in found] == [0, 2]
    assert all(is_same(frame.planes, planes) for frame, planes in zip(found, frames, strict=True))


def test_fragments_are_small_and_complete():
    video = VideoFormat(256, 128, "4:2:0")
    planes = draw(video)
    data = encode([planes], video, Settings(quantiser=20, depth=3, fragment=500))
    fragments = [unit for unit in find_units(data) if unit.code == HQ_FRAGMENT]
    assert len(fragments) > 3
    assert max(len(unit.payload) for unit in fragments) <= 500
    whole = next(decode(encode([planes], video, Settings(quantiser=20, depth=3))))
    assert is_same(next(decode(data)).planes, whole.planes)


def test_lost_fragments_stay_as_they_were():
    video = VideoFormat(256, 128, "4:2:0")
    planes = draw(video)
    encoder = Encoder(video, Settings(quantiser=20, fragment=300))
    units = [unit for _ in range(2) for unit in find_units(encoder.encode(planes))]
    fragments = [number for number, unit in enumerate(units) if unit.code == HQ_FRAGMENT]
    lost = fragments[len(fragments) // 2 + 3]
    decoder = Decoder(tolerant=True)
    frames = [frame for number, unit in enumerate(units) if number != lost for frame in decoder.feed(unit)]
    frames += decoder.flush()
    assert [bool(frame.missing) for frame in frames] == [False, True]
    # both frames show the same, so that nothing is to be seen of it
    assert is_same(frames[1].planes, frames[0].planes)
    strict = Decoder()
    for number, unit in enumerate(units):
        if number != lost:
            strict.feed(unit)
    with pytest.raises(CodecError, match="slices are whole"):
        strict.flush()


def test_compact_slices_are_smaller_and_the_same():
    video = VideoFormat(128, 96, "4:2:0")
    planes = draw(video)
    whole, compact = (encode([planes], video, Settings(quantiser=32, compact=each)) for each in (False, True))
    assert len(compact) < 0.9 * len(whole)
    assert is_same(next(decode(compact)).planes, next(decode(whole)).planes)


def test_custom_matrices_and_prefixes_come_back():
    video = VideoFormat(64, 48, "4:2:0")
    planes = draw(video)
    settings = Settings(depth=2, matrix=(3, 1, 4, 1, 5, 9, 2), prefix=5, quantiser=9, slice_size=(11, 13))
    (frame,) = decode(encode([planes], video, settings))
    assert measure_psnr(frame.planes[0], planes[0], 255) > 45


def test_long_slices_have_longer_units():
    video = VideoFormat(256, 256, "4:4:4", VideoFormat.make_signal(16))
    planes = draw(video)
    (frame,) = decode(encode([planes], video, Settings(slice_size=(256, 256))))
    assert is_same(frame.planes, planes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 1e6, "quantiser": 3}, "both given"),
        ({"rate": -1}, "rate=-1"),
        ({"quantiser": 117}, "quantiser=117"),
        ({"depth": 13}, "depth=13"),
        ({"wavelet": "cdf97"}, "wavelet='cdf97'"),
        ({"matrix": (1, 2)}, "13 numbers"),
        ({"slice_size": (0, 4)}, "slice_size"),
        ({"fragment": 3}, "fragment=3"),
        ({"prefix": -1}, "prefix=-1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        Encoder(VideoFormat(64, 48), Settings(**settings))


def test_too_many_bits_are_refused():
    with pytest.raises(ArgumentError, match="fewer levels"):
        Encoder(VideoFormat(64, 48, signal=VideoFormat.make_signal(16)), Settings(depth=8))


def test_odd_sizes_are_refused_where_chroma_is_shared():
    with pytest.raises(ArgumentError, match="4:4:4"):
        Encoder(VideoFormat(63, 48, "4:2:2"))


def test_frames_that_are_others_are_refused():
    video = VideoFormat(64, 48, "4:4:4")
    encoder = Encoder(video)
    with pytest.raises(ShapeError, match="no frame of"):
        encoder.encode([np.zeros((48, 64), np.uint8)] * 2)
    with pytest.raises(DtypeError, match="float64"):
        encoder.encode([np.zeros((48, 64))] * 3)
    with pytest.raises(ShapeError, match=r"^48 planes are no frame of .* a frame is"):
        encode([np.zeros((48, 64, 3), np.uint8)], video)
    with pytest.raises(ArgumentError, match="256 does not fit the 8 bits"):
        encoder.encode([np.full((48, 64), 256, np.uint16)] * 3)


@pytest.mark.parametrize("end", [3, 10, 60, 200, 1000])
def test_streams_that_end_early_say_so(end):
    video = VideoFormat(64, 48, "4:2:0")
    data = encode([draw(video)], video)
    with pytest.raises(CodecError, match=r"early|whole"):
        list(decode(data[:end]))


def test_frames_larger_than_allowed_are_refused():
    video = VideoFormat(64, 48, "4:2:0")
    with pytest.raises(CodecError, match="most_pixels"):
        list(decode(encode([draw(video)], video), most_pixels=1000))


def test_pictures_before_a_header_are_refused():
    video = VideoFormat(64, 48, "4:2:0")
    units = list(find_units(encode([draw(video)], video)))
    with pytest.raises(CodecError, match="before the first sequence header"):
        Decoder().feed(units[1])

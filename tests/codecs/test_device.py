"""High-throughput blocks and video on devices give what the host gives: bytes of blocks and coefficients bit by bit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from subband.codecs.jpeg2000 import CodecWarning, Decoder, Encoder, decode, encode
from subband.codecs.jpeg2000.blocks import decode_blocks, encode_blocks
from subband.codecs.jpeg2000.device_blocks import BlockDecoder, BlockEncoder
from subband.data import photograph
from subband.engines import get_engine
from subband.errors import ArgumentError, DtypeError, MissingExtraError, NoDeviceError, ShapeError

FRAME = np.ascontiguousarray(photograph()[100:243, 60:251])

#: Rows and columns of blocks, and how large their numbers are.
BLOCKS = (
    (64, 64, 0.3), (1, 1, 3.0), (2, 3, 30.0), (5, 7, 3e3), (64, 33, 0.8), (17, 64, 1.5), (3, 64, 200.0), (64, 1, 5.0),
    (1, 64, 5.0), (32, 32, 1e5), (64, 64, 1e-3), (64, 64, 0.5), (64, 64, 1e7), (8, 8, 2.0), (33, 62, 40.0),
)  # fmt: skip

PITCH = 80


@pytest.fixture(
    scope="module",
    params=[pytest.param("opencl", marks=pytest.mark.opencl), pytest.param("cuda", marks=pytest.mark.gpu)],
)
def engine(request):
    try:
        return get_engine(request.param)
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(f"{missing}")


@pytest.fixture(params=[False, True], ids=["float", "integer"])
def is_reversible(request):
    return request.param


def make_blocks(seed):
    """Return numbers that hold blocks, the table of a device, and that of the host."""
    rng = np.random.default_rng(seed)
    x = np.zeros((64 * len(BLOCKS), PITCH), np.float32)
    rows = []
    for k, (height, width, size) in enumerate(BLOCKS):
        x[64 * k : 64 * k + height, 10 : 10 + width] = rng.laplace(size=(height, width)) * size
        rows.append((64 * k * PITCH + 10, PITCH, height, width, 0))
    table = np.array(rows, np.int64)
    own = np.concatenate([np.arange(len(rows))[:, None] % 2, table[:, :4]], axis=1).astype(np.int32)
    return x.ravel(), own, table


def make_coefficients(x, is_reversible, scale):
    if is_reversible:
        return x.astype(np.int32), x.astype(np.int32)
    return x, (x * np.float32(scale)).astype(np.int32)


@pytest.mark.parametrize("lanes", [None, 3])
def test_blocks_are_encoded_as_by_the_host(engine, is_reversible, lanes):
    x, own, table = make_blocks(1)
    scale = 1.0 if is_reversible else 0.37
    coefficients, whole = make_coefficients(x, is_reversible, scale)
    expected = encode_blocks(whole, table, 64, is_reversible)
    scales = np.full(len(own), scale, np.float32)
    coder = BlockEncoder(engine, own, scales, 2, is_reversible, 29, lanes)
    device = engine.device
    # blocks of both arrays: every other one has its numbers in the second
    coder.run([device.upload(coefficients), device.upload(coefficients)])
    sizes, starts = (device.download(each) for each in coder.results)
    sizes = sizes.reshape(-1, 4)
    assert not coder.overflows(sizes, int(starts[-1]))
    np.testing.assert_array_equal(sizes[:, 3], expected.planes)
    np.testing.assert_array_equal(sizes[:, :3].sum(axis=1), expected.ends[:, 0])
    np.testing.assert_array_equal(np.diff(starts), expected.ends[:, 0])
    np.testing.assert_array_equal(device.download(coder.data)[: starts[-1]], expected.data)


def test_blocks_too_large_are_told_and_overwrite_nothing(engine):
    x, own, _ = make_blocks(2)
    coder = BlockEncoder(engine, own, np.ones(len(own), np.float32), 2, False, 4)
    coder.run([engine.device.upload(x)] * 2)
    sizes, starts = (engine.device.download(each) for each in coder.results)
    assert coder.overflows(sizes.reshape(-1, 4), int(starts[-1]))


@pytest.mark.parametrize("damage", [0, 40, 400, -1])
@pytest.mark.parametrize("plane", [0, 3])
def test_blocks_are_decoded_as_by_the_host(engine, is_reversible, damage, plane):
    x, own, table = make_blocks(3)
    rng = np.random.default_rng(damage + 1)
    blocks = encode_blocks(make_coefficients(x, is_reversible, 1.0)[1], table, 64, is_reversible)
    count, lengths, data = len(own), blocks.ends[:, 0].astype(np.int64), blocks.data.copy()
    if damage < 0:
        lengths //= 2
    elif damage:
        data[rng.integers(0, len(data), damage)] = rng.integers(0, 256, damage)
    chosen = np.flatnonzero(lengths > 0)
    expected = np.zeros(x.size, np.int32 if is_reversible else np.float32)
    segments = np.stack([blocks.starts, lengths, np.ones(count, np.int64)], axis=1)[chosen]
    is_damaged = decode_blocks(
        data, table[chosen], np.full(len(chosen), plane + 1), np.ones(len(chosen)), segments,
        np.arange(len(chosen) + 1), 64, expected, 0, is_reversible,
    )  # fmt: skip
    device = engine.device
    coder = BlockDecoder(engine, own, 2, is_reversible)
    spans = np.stack([blocks.starts, lengths, np.full(count, plane)], axis=1).astype(np.int32)
    coder.spans = device.upload(spans.ravel())
    coder.scales = device.upload(np.full(count, 2.0 ** (plane - 1), np.float32))
    bands = [device.upload(np.full(x.size, 7, expected.dtype)) for _ in range(2)]
    coder.run(device.upload(data), bands)
    np.testing.assert_array_equal(device.download(coder.damaged)[chosen].astype(bool), is_damaged)
    bands = [device.download(band).reshape(-1, PITCH) for band in bands]
    for k, (height, width, _) in enumerate(BLOCKS):
        part = np.s_[64 * k : 64 * k + height, 10 : 10 + width]
        np.testing.assert_array_equal(bands[k % 2][part], expected.reshape(-1, PITCH)[part], err_msg=f"block {k}")
        # what lies around a block stays
        bands[k % 2][part] = 7
    assert all((band == 7).all() for band in bands)


FRAMES = {
    "colour": FRAME,
    "grey": np.ascontiguousarray(FRAME[..., 1]),
    "two": np.ascontiguousarray(FRAME[..., :2]),
    "deep": FRAME.astype(np.uint16) * 257,
    "low": np.ascontiguousarray(FRAME[:9, :200]),
    "dot": np.ascontiguousarray(FRAME[:1, :1]),
}

OPTIONS = {
    "plain": {},
    "small blocks": {"block": (16, 32), "levels": 2, "colour": False},
    "packets": {"progression": "RPCL", "plt": True, "tlm": True, "sop": True, "eph": True, "precincts": [(64, 64)]},
    "no levels": {"levels": 0},
}


def find_largest(a, b):
    return int(np.abs(a.astype(np.int64) - b).max())


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("frame", FRAMES)
def test_lossless_streams_are_those_of_the_host(engine, frame, options):
    image, options = FRAMES[frame], dict(OPTIONS[options])
    if image.ndim == 2:
        options.pop("colour", None)
    data = Encoder(image.shape, image.dtype, engine=engine, lossless=True, **options).encode(image)
    assert data == encode(image, form="j2k", ht=True, **options)
    np.testing.assert_array_equal(Decoder(engine=engine).decode(data), image)


@pytest.mark.parametrize("step", [0.25, 2.0, 16.0])
@pytest.mark.parametrize("frame", FRAMES)
def test_lossy_streams_are_decoded_as_by_the_host(engine, frame, step):
    image = FRAMES[frame]
    step *= 257 if image.dtype == np.uint16 else 1
    data = Encoder(image.shape, image.dtype, engine=engine, step=step).encode(image)
    expected = encode(image, form="j2k", ht=True, step=step)
    # numbers that are a rounding apart fall on either side of a step
    assert abs(len(data) - len(expected)) <= 2 + len(expected) // 1000
    theirs, ours = decode(expected).samples, decode(data).samples
    assert np.abs(ours.astype(float) - image).mean() <= 1.01 * np.abs(theirs.astype(float) - image).mean() + 0.01
    for stream in (data, expected):
        assert find_largest(Decoder(engine=engine).decode(stream), decode(stream).samples) <= 1


def test_openjph_reads_streams_of_devices(engine):
    imagecodecs = pytest.importorskip("imagecodecs", reason="OpenJPH is not installed")
    exact = Encoder(FRAME.shape, engine=engine, lossless=True).encode(FRAME)
    np.testing.assert_array_equal(np.asarray(imagecodecs.htj2k_decode(exact, planar=False)), FRAME)
    # it lets what is above white or below black wrap around
    data = Encoder(FRAME.shape, engine=engine, step=2.0).encode(FRAME // 2 + 64)
    assert find_largest(np.asarray(imagecodecs.htj2k_decode(data, planar=False)), decode(data).samples) <= 1


def test_devices_read_streams_of_openjph(engine):
    imagecodecs = pytest.importorskip("imagecodecs", reason="OpenJPH is not installed")
    decoder = Decoder(engine=engine)
    np.testing.assert_array_equal(decoder.decode(imagecodecs.htj2k_encode(FRAME, reversible=True)), FRAME)
    data = imagecodecs.htj2k_encode(FRAME, reversible=False, level=0.01)
    assert find_largest(decoder.decode(data), decode(data).samples) <= 1


def test_many_frames_come_in_their_order(engine):
    frames = [np.roll(FRAME, 7 * k, axis=1) // (1 + k % 3) for k in range(9)]
    encoder = Encoder(FRAME.shape, engine=engine, lossless=True, in_flight=3)
    lent = encoder.lend()
    lent[...] = frames[4]
    given = [lent if k == 4 else frame for k, frame in enumerate(frames)]
    streams = list(encoder.encode_all(given))
    assert streams == [encoder.encode(frame) for frame in frames]
    # kinds change, and some are for the host: tiles, refined blocks, Part 1
    grey = encode(FRAMES["grey"], ht=True)
    others = [encode(FRAME, ht=True, tile=(64, 64)), grey, encode(FRAME, ht=True, rate=2.0), encode(FRAME), grey]
    decoder = Decoder(engine=engine, in_flight=2)
    decoded = list(decoder.decode_all([*streams, *others]))
    for frame, expected in zip(decoded, frames, strict=False):
        np.testing.assert_array_equal(frame, expected)
    for frame, data in zip(decoded[9:], others, strict=True):
        assert find_largest(frame, decode(data).samples) <= 1


def test_a_reader_may_stop_early(engine):
    encoder = Encoder(FRAME.shape, engine=engine, step=4.0, in_flight=2)
    for data in encoder.encode_all([FRAME] * 5):
        first = data
        break
    assert list(encoder.encode_all([FRAME] * 3)) == [first] * 3
    decoder = Decoder(engine=engine, in_flight=2)
    for frame in decoder.decode_all([first] * 5):
        expected = frame.copy()
        break
    for frame in decoder.decode_all([first] * 3):
        np.testing.assert_array_equal(frame, expected)


def test_frames_of_any_size_of_stream(engine):
    """More bytes than were fetched ahead, and more than there was room for."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, FRAME.shape, dtype=np.uint8)
    encoder = Encoder(FRAME.shape, engine=engine, lossless=True)
    frames = [np.zeros_like(FRAME), noise, FRAME, noise]
    streams = list(encoder.encode_all(frames))
    for frame, expected in zip(Decoder(engine=engine).decode_all(streams), frames, strict=True):
        np.testing.assert_array_equal(frame, expected)


def test_damaged_streams_end_as_with_the_host(engine):
    rng = np.random.default_rng(5)
    data = encode(FRAME, form="j2k", ht=True)
    decoder = Decoder(engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        for _ in range(20):
            broken = bytearray(data)
            for position in rng.integers(200, len(data), 5):
                broken[position] = int(rng.integers(0, 256))
            cut = bytes(broken[: int(rng.integers(300, len(data)))]) if rng.random() < 0.3 else bytes(broken)
            np.testing.assert_array_equal(decoder.decode(cut), decode(cut).samples)


def test_damaged_blocks_are_told(engine):
    data = bytearray(encode(FRAME, form="j2k", ht=True, levels=1))
    data[-3:-2] = b"\xff"
    data[-4:-3] = b"\xff"
    with pytest.warns(CodecWarning, match="code-blocks are damaged"):
        decode(bytes(data))
    with pytest.warns(CodecWarning, match="code-blocks are damaged"):
        Decoder(engine=engine).decode(bytes(data))


@pytest.mark.parametrize(
    ("shape", "dtype", "options", "error"),
    [
        ((8, 8), np.uint8, {"rate": 1.0}, ArgumentError),
        ((8, 8), np.uint8, {"tile": (4, 4)}, ArgumentError),
        ((8, 8), np.uint8, {"ht": False}, ArgumentError),
        ((8, 8), np.uint8, {"quality": 3}, ArgumentError),
        ((8, 8), np.uint8, {"colour": True}, ArgumentError),
        ((8, 8), np.uint8, {"in_flight": 0}, ArgumentError),
        ((8, 8), np.uint8, {"bits": 12}, ArgumentError),
        ((8, 8), np.float32, {}, DtypeError),
        ((8,), np.uint8, {}, ShapeError),
        ((8, 8, 5), np.uint8, {}, ShapeError),
        ((50_000, 50_000), np.uint8, {}, ShapeError),
    ],
)
def test_what_devices_do_not_do_is_refused(engine, shape, dtype, options, error):
    with pytest.raises(error):
        Encoder(shape, dtype, engine=engine, **options)


def test_wrong_frames_and_engines_are_refused(engine):
    with pytest.raises(ShapeError, match="this encoder takes"):
        Encoder((8, 9), engine=engine).encode(np.zeros((9, 8), np.uint8))
    with pytest.raises(ArgumentError, match="has no device"):
        Encoder((8, 9), engine="cpu")
    with pytest.raises(ArgumentError, match="in_flight"):
        Decoder(engine=engine, in_flight=0)

"""The block coder: round trips, cuts, gains, damage, and OpenJPEG as the judge."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import numpy as np
import pytest
import pywt

from subband.codecs.jpeg2000.blocks import EncodedBlocks, decode_blocks, encode_blocks
from subband.codecs.jpeg2000.blocks.coder import _share
from subband.codecs.jpeg2000.blocks.styles import HIGH_THROUGHPUT
from subband.data import camera
from subband.engines import get_threads, set_threads
from subband.errors import ArgumentError, DtypeError, ShapeError

SHAPES = [(1, 1), (1, 5), (3, 2), (4, 4), (5, 7), (33, 17), (64, 64), (4, 1024), (1024, 4), (1, 4096)]
STYLES = range(64)
GUARD = 2


def make_table(height, width, orientation=0):
    return np.array([[0, width, height, width, orientation]], np.int64)


def encode(block, style=0, orientation=0, **options):
    block = np.ascontiguousarray(block, np.int32)
    return encode_blocks(block.ravel(), make_table(*block.shape, orientation), style, **options)


def cut_segments(passes, style):
    """Return the first and last pass of each segment of a block with that many passes."""
    segments, first = [], 0
    for number in range(passes):
        is_end = number == passes - 1 or style & 4 or (style & 1 and number >= 9 and (number + 2) % 3 > 0)
        if is_end:
            segments.append((first, number))
            first = number + 1
    return segments


def list_segments(blocks: EncodedBlocks, style, passes=None, block=0):
    """Return start, length and number of passes of the segments that the first passes of a block need."""
    whole = int(blocks.passes[block])
    passes = whole if passes is None else min(int(passes), whole)
    rows, start = [], 0
    for first, last in cut_segments(whole, style):
        if first >= passes:
            break
        kept = min(last, passes - 1)
        rows.append((int(blocks.starts[block]) + start, int(blocks.ends[block, kept]) - start, kept - first + 1))
        start = int(blocks.ends[block, last])
    return rows


def decode(blocks, shape, style=0, orientation=0, passes=None, dtype=np.int32, **options):
    """Decode the first passes of a single block; return it and whether it is damaged."""
    rows = list_segments(blocks, style, passes)
    out = np.full(shape[0] * shape[1], 99, dtype)
    count = np.array([sum(row[2] for row in rows)], np.int32)
    damaged = decode_blocks(
        blocks.data, make_table(*shape, orientation), blocks.planes, count,
        np.array(rows, np.int64).reshape(-1, 3), np.array([0, len(rows)]), style, out, **options,
    )  # fmt: skip
    return out.reshape(shape), bool(damaged[0])


class HeaderBits:
    """Bits of a packet header; behind 0xFF comes a zero."""

    def __init__(self, data=b""):
        self.bits, self.data, self.at, self.free = [], data, 0, 0

    def put(self, value, count):
        self.bits += [value >> k & 1 for k in reversed(range(count))]

    def join(self):
        out, bits = bytearray(), list(self.bits)
        while bits:
            size = 7 if out and out[-1] == 0xFF else 8
            part, bits = bits[:size], bits[size:]
            part += [0] * (size - len(part))
            out.append(sum(bit << k for k, bit in zip(reversed(range(size)), part, strict=True)))
        if out and out[-1] == 0xFF:
            out.append(0)
        return bytes(out)

    def get(self, count=1):
        value = 0
        for _ in range(count):
            if self.free == 0:
                self.free = 7 if self.at and self.data[self.at - 1] == 0xFF else 8
                self.at += 1
            self.free -= 1
            value = 2 * value + (self.data[self.at - 1] >> self.free & 1)
        return value


def write_stream(blocks, shape, style=0, precision=16, passes=None):
    """Return a codestream of signed samples that are the coefficients of a single block."""
    height, width = shape
    exponents = [max((size - 1).bit_length(), 2) for size in (width, height)]
    siz = struct.pack(">HIIIIIIIIHBBB", 0, width, height, 0, 0, width, height, 0, 0, 1, 0x80 | precision - 1, 1, 1)
    cod = struct.pack(">BBHBBBBBB", 0, 0, 1, 0, 0, exponents[0] - 2, exponents[1] - 2, style, 1)
    qcd = struct.pack(">BB", GUARD << 5, precision << 3)
    packet = _write_packet(blocks, style, GUARD + precision - 1, passes)
    sot = struct.pack(">HIBB", 0, 14 + len(packet), 0, 1)
    parts = [b"\xff\x4f"]
    for marker, body in ((0x51, siz), (0x52, cod), (0x5C, qcd), (0x90, sot)):
        parts.append(struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body)
    return b"".join([*parts, b"\xff\x93", packet, b"\xff\xd9"])


def _write_packet(blocks, style, most_planes, passes):
    rows = list_segments(blocks, style, passes)
    header = HeaderBits()
    if not rows:
        return b"\0"
    header.put(0b11, 2)
    header.put(1, most_planes - int(blocks.planes[0]) + 1)
    total = sum(row[2] for row in rows)
    if total < 3:
        header.put(*((0, 1), (0b10, 2))[total - 1])
    elif total < 6:
        header.put(0b1100 + total - 3, 4)
    elif total < 37:
        header.put((0b1111 << 5) + total - 6, 9)
    else:
        header.put((0b111111111 << 7) + total - 37, 16)
    growth = max(max(length.bit_length() - 3 - (count.bit_length() - 1), 0) for _, length, count in rows)
    header.put((1 << growth + 1) - 2, growth + 1)
    for _, length, count in rows:
        header.put(length, 3 + growth + count.bit_length() - 1)
    return header.join() + b"".join(blocks.data[start : start + length].tobytes() for start, length, _ in rows)


def read_packet(data, most_planes):
    """Return planes, passes and bytes of the only block of a packet, which has one segment."""
    header = HeaderBits(data)
    assert header.get(2) == 0b11
    planes = most_planes
    while not header.get():
        planes -= 1
    passes = _read_passes(header)
    size = 3
    while header.get():
        size += 1
    length = header.get(size + passes.bit_length() - 1)
    start = header.at + (data[header.at - 1] == 0xFF)
    return planes, passes, data[start : start + length]


def _read_passes(header):
    if not header.get():
        return 1
    if not header.get():
        return 2
    few = header.get(2)
    if few < 3:
        return 3 + few
    some = header.get(5)
    return 6 + some if some < 31 else 37 + header.get(7)


def draw_block(shape, scale, seed=0):
    """Return coefficients as natural pictures have them: most are small, some are large."""
    random = np.random.default_rng([*shape, int(10 * scale), seed])
    return np.clip(random.laplace(0, scale, shape), -32000, 32000).astype(np.int32)


def make_natural_blocks():
    """Return the coefficients of two levels of a picture, and the table of their blocks."""
    picture = camera().astype(np.float64)[:300, :333]
    flat, rows, offset = [], [], 0
    approximation, *levels = pywt.wavedec2(picture, "bior2.2", mode="reflect", level=2)
    bands = [(approximation / 4, 0)]
    for horizontal, vertical, diagonal in levels:
        bands += [(horizontal, 0), (vertical, 1), (diagonal, 2)]
    for band, orientation in bands:
        height, width = band.shape
        for top in range(0, height, 64):
            for left in range(0, width, 64):
                size = min(64, height - top), min(64, width - left)
                rows.append((offset + top * width + left, width, *size, orientation))
        flat.append(np.rint(band).astype(np.int32).ravel())
        offset += band.size
    return np.concatenate(flat), np.array(rows, np.int64)


def decode_all(blocks, table, style, size, **options):
    rows, starts = [], [0]
    for block in range(len(table)):
        rows += list_segments(blocks, style, block=block)
        starts.append(len(rows))
    out = np.zeros(size, options.pop("dtype", np.int32))
    segments = np.array(rows, np.int64).reshape(-1, 3)
    damaged = decode_blocks(
        blocks.data, table, blocks.planes, blocks.passes, segments, np.array(starts), style, out, **options
    )
    return out, damaged


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_style_brings_blocks_back(shape):
    for style in STYLES:
        for scale in (0.4, 5, 3000):
            block = draw_block(shape, scale, style)
            orientation = style % 3
            blocks = encode(block, style, orientation)
            decoded, damaged = decode(blocks, shape, style, orientation)
            np.testing.assert_array_equal(decoded, block, err_msg=f"{style=}, {scale=}")
            assert not damaged, style


@pytest.mark.parametrize("style", [0, 1, 4, 5, 8, 16, 21, 63])
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (30, 33), (64, 64)], ids=str)
def test_each_pass_may_be_the_last_and_lowers_the_error_by_its_gain(shape, style):
    block = draw_block(shape, 50)
    blocks = encode(block, style)
    assert np.all(np.diff(blocks.ends[0]) >= 0)
    energy = np.sum(block.astype(np.float64) ** 2)
    for passes in range(1, int(blocks.passes[0]) + 1):
        decoded, damaged = decode(blocks, shape, style, passes=passes)
        error = np.sum((block - decoded.astype(np.float64)) ** 2)
        assert energy - error == blocks.gains[0, passes - 1]
        assert not damaged
    assert error == 0


def test_irreversible_gains_are_those_of_the_middle_of_the_interval():
    block = draw_block((64, 64), 20)
    values = block + 0.5 * np.sign(block)
    blocks = encode(block, is_reversible=False)
    for passes in range(1, int(blocks.passes[0]) + 1):
        decoded, _ = decode(blocks, block.shape, passes=passes, dtype=np.float32, is_reversible=False)
        error = np.sum((values - decoded) ** 2)
        assert np.sum(values**2) - error == pytest.approx(blocks.gains[0, passes - 1], rel=1e-12)
    assert error == 0


def test_a_cut_cannot_be_one_byte_earlier():
    earlier = 0
    for seed in range(20):
        block = draw_block((16, 16), 30, seed)
        blocks = encode(block)
        for passes in range(1, int(blocks.passes[0]) + 1):
            whole, _ = decode(blocks, block.shape, passes=passes)
            shorter = EncodedBlocks(
                blocks.data, blocks.starts, blocks.planes, blocks.passes, blocks.ends - 1, blocks.gains
            )
            cut, _ = decode(shorter, block.shape, passes=passes)
            earlier += np.array_equal(whole, cut)
    assert earlier == 0


@pytest.mark.parametrize("style", [0, 1, 4, 8, 32])
def test_natural_bands_come_back(style):
    samples, table = make_natural_blocks()
    blocks = encode_blocks(samples, table, style)
    out, damaged = decode_all(blocks, table, style, samples.size)
    np.testing.assert_array_equal(out, samples)
    assert not damaged.any()
    assert blocks.data.size < samples.size


@pytest.mark.parametrize("style", [0, 8, 16, 32])
def test_blocks_encoded_together_are_those_encoded_alone(style):
    samples, table = make_natural_blocks()
    table = np.concatenate([table[:9], table[-9:]])
    samples[table[3, 0] : table[3, 0] + 64] = 0
    together = encode_blocks(samples, table, style)
    for number, row in enumerate(table):
        alone = encode_blocks(samples, row[None], style)
        start, passes = int(together.starts[number]), int(alone.passes[0])
        bytes_together = together.data[start : start + int(together.ends[number, -1])] if passes else alone.data
        np.testing.assert_array_equal(bytes_together, alone.data)
        np.testing.assert_array_equal(together.ends[number, :passes], alone.ends[0])
        np.testing.assert_array_equal(together.gains[number, :passes], alone.gains[0])


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_blocks_of_all_sizes_are_encoded_together(count):
    rng = np.random.default_rng(count)
    # noise has all bytes and carries; blocks of one plane end while others have hardly begun
    blocks = [rng.integers(-(2 << 3 * (k % 4)), 2 << 3 * (k % 4), 4096 >> k % 3).astype(np.int32) for k in range(count)]
    starts = np.cumsum([0, *map(len, blocks)])
    table = np.array(
        [
            [start, 64, len(block) // 64, 64, k % 3]
            for k, (start, block) in enumerate(zip(starts[:-1], blocks, strict=True))
        ]
    )
    together = encode_blocks(np.concatenate(blocks), table)
    for number, block in enumerate(blocks):
        row = np.array([[0, *table[number, 1:]]])
        alone = encode_blocks(block, row)
        start = int(together.starts[number])
        np.testing.assert_array_equal(together.data[start : start + alone.data.size], alone.data)
        np.testing.assert_array_equal(together.ends[number, : alone.ends.shape[1]], alone.ends[0])


def test_threads_change_nothing():
    samples, table = make_natural_blocks()
    before = get_threads()
    try:
        set_threads(1)
        one = encode_blocks(samples, table)
        set_threads(3)
        three = encode_blocks(samples, table)
    finally:
        set_threads(before)
    for name in ("data", "starts", "planes", "passes", "ends", "gains"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_empty_blocks_have_no_bytes():
    samples = np.zeros(32, np.int32)
    samples[20] = -1
    table = np.array([[0, 4, 4, 4, 0], [16, 4, 4, 4, 1], [0, 4, 4, 4, 2]])
    blocks = encode_blocks(samples, table)
    assert blocks.planes.tolist() == [0, 1, 0]
    assert blocks.passes.tolist() == [0, 1, 0]
    assert blocks.ends[0].tolist() == [0]
    out, _ = decode_all(blocks, table, 0, 32)
    np.testing.assert_array_equal(out, samples)


def test_the_largest_magnitudes():
    block = np.array([[2**31 - 1, -(2**31) + 1], [2**30, -1]], np.int32)
    for style in (0, 1, 63):
        blocks = encode(block, style)
        assert blocks.planes[0] == 31
        decoded, damaged = decode(blocks, block.shape, style)
        np.testing.assert_array_equal(decoded, block)
        assert not damaged


def test_blocks_of_a_wider_array_leave_the_rest_alone():
    samples = np.arange(-600, 600, dtype=np.int32)
    table = np.array([[45, 40, 9, 7, 1]])
    blocks = encode_blocks(samples, table)
    out = np.full(samples.size, 77, np.int32)
    segments = np.array([[0, blocks.data.size, int(blocks.passes[0])]])
    decode_blocks(blocks.data, table, blocks.planes, blocks.passes, segments, np.array([0, 1]), 0, out)
    inside = np.zeros((30, 40), bool)
    inside[1:10, 5:12] = True
    np.testing.assert_array_equal(out, np.where(inside.ravel(), samples, 77))


def test_reversible_coefficients_as_floats():
    block = draw_block((9, 30), 50)
    blocks = encode(block)
    for passes in range(1, int(blocks.passes[0]) + 1):
        whole, _ = decode(blocks, block.shape, passes=passes)
        floats, _ = decode(blocks, block.shape, passes=passes, dtype=np.float32)
        np.testing.assert_array_equal(floats, whole)


def test_a_region_of_interest_is_shifted_down():
    background, region = draw_block((20, 20), 9), draw_block((20, 20), 9, 1)
    shift = 8
    inside = np.zeros((20, 20), bool)
    inside[5:15, 3:9] = True
    inside &= region != 0
    blocks = encode(np.where(inside, region << shift, background))
    decoded, _ = decode(blocks, (20, 20), roi_shift=shift)
    np.testing.assert_array_equal(decoded, np.where(inside, region, background))
    floats, _ = decode(blocks, (20, 20), roi_shift=shift, dtype=np.float32, is_reversible=False)
    expected = background + 0.5 * np.sign(background)
    np.testing.assert_array_equal(floats[~inside], expected[~inside])
    np.testing.assert_allclose(np.abs(floats[inside]), np.abs(region[inside]), atol=2.0**-shift)


@pytest.mark.parametrize("style", [32, 20, 21, 16])
def test_damage_is_noticed(style):
    noticed = 0
    for seed in range(40):
        block = draw_block((32, 32), 40, seed)
        blocks = encode(block, style)
        data = blocks.data.copy()
        data[len(data) // 3] ^= 0x10
        broken = EncodedBlocks(data, blocks.starts, blocks.planes, blocks.passes, blocks.ends, blocks.gains)
        noticed += decode(broken, block.shape, style)[1]
    assert noticed >= (30 if style & 32 else 20)


def decode_nonsense(count, seed=0):
    """Decode random bytes with random tables; return how many blocks were decoded."""
    random = np.random.default_rng(seed)
    done = 0
    for _ in range(count):
        n = int(random.integers(1, 12))
        data = random.choice(np.array([0, 0x7F, 0x8F, 0x90, 0xFF, 3, 0x55], np.uint8), int(random.integers(0, 400)))
        size = random.integers(1, 65, (n, 2))
        offsets = np.cumsum(size.prod(1)) - size.prod(1)
        table = np.column_stack([offsets, size[:, 1], size, random.integers(0, 3, n)])
        out = np.zeros(int(size.prod(1).sum()), np.int32)
        pieces = random.integers(0, 5, n)
        starts = np.concatenate([[0], np.cumsum(pieces)])
        segments = np.column_stack(
            [
                random.integers(-9, 500, starts[-1]),
                random.integers(-9, 500, starts[-1]),
                random.integers(-2, 40, starts[-1]),
            ]
        )
        planes, passes = random.integers(-2, 40, n), random.integers(-2, 120, n)
        decode_blocks(
            data, table, planes, passes, segments, starts, int(random.integers(64)), out, int(random.integers(40))
        )
        done += n
    return done


def test_nonsense_is_decoded_to_something():
    # with NUMBA_BOUNDSCHECK=1 in the environment every index is checked
    assert decode_nonsense(300) > 300


def test_importing_compiles_nothing():
    code = "import sys, subband.codecs.jpeg2000.blocks; sys.exit('numba' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=600)


GOOD = (np.zeros(16, np.int32), np.array([[0, 4, 4, 4, 0]]), 0)


@pytest.mark.parametrize(
    ("place", "value", "error", "message"),
    [
        (0, np.zeros(16), DtypeError, "samples is of float64"),
        (0, np.zeros((4, 4), np.int32), ShapeError, "contiguous"),
        (0, np.zeros(15, np.int32), ArgumentError, r"table\[0\]"),
        (0, np.full(16, -(2**31), np.int32), ArgumentError, "31"),
        (1, np.zeros((1, 4), int), ShapeError, "rows of offset"),
        (1, np.array([[0, 4, 4, 4, 3]]), ArgumentError, "orientation"),
        (1, np.array([[-1, 4, 4, 4, 0]]), ArgumentError, r"\[-1, 4, 4, 4, 0\]"),
        (1, np.array([[0, 2**62, 4, 4, 0]]), ArgumentError, "no block"),
        (1, np.array([[0, 4, 2**62, 4, 0]]), ArgumentError, "no block"),
        (1, np.array([[0, 4, 0, 4, 0]]), ArgumentError, "no block"),
        (2, 65, ArgumentError, "style=65"),
    ],
)
def test_wrong_arguments_of_the_encoder(place, value, error, message):
    arguments = list(GOOD)
    arguments[place] = value
    with pytest.raises(error, match=message):
        encode_blocks(*arguments)


def test_wrong_arguments_of_the_decoder():
    data, table, one = np.zeros(4, np.uint8), GOOD[1], np.ones(1, np.int32)
    segments, starts, out = np.array([[0, 4, 1]]), np.array([0, 1]), np.zeros(16, np.int32)
    with pytest.raises(DtypeError, match="between them"):
        decode_blocks(data, table, one, one, segments, starts, 0, out, 0, False)
    with pytest.raises(ArgumentError, match="segment_starts"):
        decode_blocks(data, table, one, one, segments, np.array([0, 2]), 0, out)
    with pytest.raises(ArgumentError, match="roi_shift=-1"):
        decode_blocks(data, table, one, one, segments, starts, 0, out, -1)
    with pytest.raises(ShapeError, match="planes"):
        decode_blocks(data, table, np.ones(2), one, segments, starts, 0, out)
    with pytest.raises(ShapeError, match="segments"):
        decode_blocks(data, table, one, one, segments[:, :2], starts, 0, out)
    with pytest.raises(ArgumentError, match="read-only"):
        decode_blocks(data, table, one, one, segments, starts, 0, np.frombuffer(bytes(64), np.int32))
    with pytest.raises(DtypeError, match="out is of float64"):
        decode_blocks(data, table, one, one, segments, starts, 0, np.zeros(16))


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
def test_openjpeg_reads_every_style_and_cut(shape):
    imagecodecs = pytest.importorskip("imagecodecs")
    random = np.random.default_rng(5)
    for style in STYLES:
        for scale in (0.4, 5, 1000):
            block = draw_block(shape, scale, style)
            blocks = encode(block, style)
            whole = int(blocks.passes[0])
            for passes in {whole, *random.integers(1, whole + 1, 2).tolist()} if whole else {0}:
                theirs = imagecodecs.jpeg2k_decode(write_stream(blocks, shape, style, passes=passes)).reshape(shape)
                ours, _ = decode(blocks, shape, style, passes=passes)
                np.testing.assert_array_equal(theirs, ours, err_msg=f"{style=}, {scale=}, {passes=}")
                assert passes < whole or np.array_equal(theirs, block)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (31, 64), (64, 64)], ids=str)
def test_blocks_of_openjpeg(shape):
    imagecodecs = pytest.importorskip("imagecodecs")
    picture = camera()[100 : 100 + shape[0], 200 : 200 + shape[1]].astype(np.uint8)
    stream = imagecodecs.jpeg2k_encode(
        picture, level=0, reversible=True, codecformat="j2k", resolutions=1, mct=False, numthreads=1
    )
    quantisation = stream.index(b"\xff\x5c")
    guard, exponent = stream[quantisation + 4] >> 5, stream[quantisation + 5] >> 3
    packet = stream[stream.index(b"\xff\x93") + 2 : stream.rindex(b"\xff\xd9")]
    planes, passes, data = read_packet(packet, guard + exponent - 1)
    out = np.zeros(shape[0] * shape[1], np.int32)
    damaged = decode_blocks(
        np.frombuffer(data, np.uint8), make_table(*shape), np.array([planes]), np.array([passes]),
        np.array([[0, len(data), passes]]), np.array([0, 1]), 0, out,
    )  # fmt: skip
    np.testing.assert_array_equal(out.reshape(shape) + 128, picture)
    assert not damaged.any()
    assert encode(out.reshape(shape)).data.size <= len(data)


@pytest.mark.parametrize("style", [0, HIGH_THROUGHPUT])
def test_tasks_take_every_block_once_and_about_as_many_samples(style):
    # those of a picture of 1024 x 1024, from coarse to fine
    sides = [32] + [side for side in (32, 64) for _ in range(3)] + [64] * 252
    table = np.array([(0, side, side, side, 0) for side in sides])
    set_threads(2)
    try:
        tasks = _share(table, style)
    finally:
        set_threads(None)
    assert [block for first, last in tasks for block in range(first, last)] == list(range(len(table)))
    areas = [sum(side**2 for side in sides[first:last]) for first, last in tasks]
    assert len(tasks) >= 8
    assert max(areas) < 1.5 * min(areas)


def test_blocks_of_small_pictures_are_shared_too():
    set_threads(2)
    try:
        assert len(_share(np.array([(0, 64, 64, 64, 0)] * 4), 0)) == 2
        assert _share(np.zeros((0, 5), np.int64), 0) == []
    finally:
        set_threads(None)

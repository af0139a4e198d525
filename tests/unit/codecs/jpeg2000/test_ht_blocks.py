"""High-throughput blocks that are coded side by side, two quads at a time: the same as each alone and plainly."""

import numba as nb
import numpy as np
import pytest

from subband.codecs.jpeg2000.blocks import decode_blocks, encode_blocks
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import (
    stuff_backward,
    stuff_forward,
    unstuff_backward,
    unstuff_forward,
)
from subband.codecs.jpeg2000.blocks.loops.words import count_bits, keep_bits
from subband.codecs.jpeg2000.blocks.styles import HIGH_THROUGHPUT


def draw_blocks(rng, count, most_bits):
    """Draw blocks of a few sizes, one behind the other, each with its own range of samples."""
    sizes = [tuple(int(side) for side in rng.integers(1, 34, 2)) for _ in range(3)]
    rows, parts, offset = [], [], 0
    for _ in range(count):
        height, width = sizes[int(rng.integers(3))]
        largest = float(2 ** rng.uniform(0, most_bits) - 1)
        samples = np.rint(rng.laplace(0, max(largest / 12, 0.2), height * width)).clip(-largest, largest)
        parts.append(samples.astype(np.int32))
        rows.append((offset, width, height, width, 0))
        offset += height * width
    return np.concatenate(parts), np.array(rows, np.int64)


def decode_all(blocks, table, size, chosen):
    """Decode some blocks in one call; return all samples, and which are damaged."""
    out = np.full(size, 77, np.int32)
    segments = np.stack([blocks.starts, blocks.ends[:, 0], np.minimum(blocks.passes, 1)], axis=1)[chosen]
    damaged = decode_blocks(
        blocks.data, table[chosen], np.ones(len(chosen), np.int32), blocks.passes[chosen], segments,
        np.arange(len(chosen) + 1), HIGH_THROUGHPUT, out,
    )  # fmt: skip
    return out, damaged


@pytest.mark.parametrize("seed", range(30))
def test_blocks_side_by_side_are_those_of_each_alone(seed):
    rng = np.random.default_rng(seed)
    # beyond 28 bits samples are read one by one
    samples, table = draw_blocks(rng, 12, (4, 9, 14, 20, 29)[seed % 5])
    blocks = encode_blocks(samples, table, HIGH_THROUGHPUT)
    there = np.flatnonzero(blocks.passes > 0)
    together, damaged = decode_all(blocks, table, len(samples), there)
    assert not damaged.any()
    for block in there:
        alone, _ = decode_all(blocks, table, len(samples), np.array([block]))
        own = slice(table[block, 0], table[block, 0] + table[block, 2] * table[block, 3])
        np.testing.assert_array_equal(together[own], samples[own])
        np.testing.assert_array_equal(alone[own], samples[own])


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_neighbour_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    samples, table = draw_blocks(rng, 2, 9)
    table[1, 1:4] = table[0, 1:4]
    samples = np.resize(samples, int(table[:, 2] @ table[:, 3]))
    table[1, 0] = table[0, 2] * table[0, 3]
    # a block of zeros would have no bytes
    samples[table[:, 0]] = 5
    blocks = encode_blocks(samples, table, HIGH_THROUGHPUT)
    first = slice(0, int(blocks.starts[1]))
    blocks.data[first] = np.frombuffer(rng.bytes(first.stop), np.uint8)
    out, _ = decode_all(blocks, table, len(samples), np.arange(2))
    np.testing.assert_array_equal(out[table[1, 0] :], samples[table[1, 0] :])


def test_more_bytes_than_there_is_room_for_are_the_same():
    """Noise takes more than the byte a sample for which there is room; blocks behind it move along."""
    rng = np.random.default_rng(0)
    samples = rng.integers(-(2**20), 2**20, (40, 64, 64), dtype=np.int32)
    samples[::3] >>= 19
    table = np.array([(4096 * number, 64, 64, 64, 0) for number in range(40)])
    together = encode_blocks(samples.ravel(), table, HIGH_THROUGHPUT)
    assert len(together.data) > samples.size
    for number in range(40):
        alone = encode_blocks(samples.ravel(), table[number : number + 1], HIGH_THROUGHPUT)
        start = together.starts[number]
        np.testing.assert_array_equal(together.data[start : start + len(alone.data)], alone.data)
        assert together.ends[number].tolist() == alone.ends[0].tolist()
        assert together.planes[number] == alone.planes[0] == int(np.abs(samples[number]).max()).bit_length()


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 4096), (4096, 1), (2, 2048), (4, 1024), (1024, 4), (64, 64), (63, 65), (5, 819)], ids=str
)
def test_noise_of_every_depth_comes_back_from_the_largest_blocks(shape):
    rng = np.random.default_rng(0)
    # with NUMBA_BOUNDSCHECK=1 in the environment every index is checked
    for bits in range(1, 30):
        peak = 2**bits - 1
        parts = [rng.integers(-peak, peak + 1, shape), rng.choice([-peak, peak], shape), np.full(shape, peak)]
        samples = np.stack(parts).astype(np.int32).ravel()
        table = np.array([(number * parts[0].size, shape[1], *shape, 0) for number in range(len(parts))])
        blocks = encode_blocks(samples, table, HIGH_THROUGHPUT)
        there = np.flatnonzero(blocks.passes)
        found, damaged = decode_all(blocks, table, samples.size, there)
        assert not damaged.any()
        for number in there:
            own = slice(number * parts[0].size, (number + 1) * parts[0].size)
            np.testing.assert_array_equal(found[own], samples[own])
        # two passes more have at most two bits of each sample
        refined = encode_blocks(samples, table, HIGH_THROUGHPUT, lowest=1, passes=3)
        assert int(refined.ends[:, -1:].sum()) == refined.data.size


def test_blocks_of_nothing_have_no_passes():
    samples = np.array([0] * 16 + [3] * 16, np.int32)
    table = np.array([(0, 4, 4, 4, 0), (16, 4, 4, 4, 0)])
    blocks = encode_blocks(samples, table, HIGH_THROUGHPUT, lowest=1, passes=3)
    assert (blocks.planes.tolist(), blocks.passes.tolist(), blocks.ends.shape) == ([0, 2], [0, 3], (2, 3))
    # whatever is asked for, there is no column that nobody has
    assert encode_blocks(samples, table, HIGH_THROUGHPUT, lowest=2, passes=3).ends.shape == (2, 0)


@nb.njit
def measure(numbers, counts, bits, kept):
    for k in range(numbers.size):
        bits[k], kept[k] = count_bits(numbers[k]), keep_bits(numbers[k], counts[k])


def test_words_are_measured_and_cut():
    rng = np.random.default_rng(0)
    numbers = (rng.integers(0, 2**31, 4000) >> rng.integers(0, 31, 4000)).tolist()
    numbers += [2**n + more for n in range(31) for more in (-1, 0)] + [2**31 - 1]
    counts = rng.integers(0, 32, len(numbers)).astype(np.int32)
    bits, kept = np.empty((2, len(numbers)), np.int32)
    measure(np.array(numbers, np.int32), counts, bits, kept)
    assert bits.tolist() == [number.bit_length() for number in numbers]
    assert kept.tolist() == [number & (1 << count) - 1 for number, count in zip(numbers, counts.tolist(), strict=True)]


@nb.njit
def run_stuffing(bits, total, out, back):
    end = stuff_forward(bits, total, 1, out, 0)
    return end, stuff_backward(bits, total, 15, 4, back)


@pytest.mark.parametrize("seed", range(40))
def test_bits_are_put_together_eight_bytes_at_a_time_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    # few of the bytes are the ones that matter, in half of the cases
    values = np.arange(256) if seed % 2 else np.array([0, 3, 0x7F, 0x80, 0x90, 0xFE, 0xFF])
    plain = rng.choice(values, 120).astype(np.uint8)
    total = int(rng.integers(1, 800))
    bits = np.unpackbits(plain, bitorder="little")[:total].tolist()
    out, back = np.zeros((2, 400), np.uint8)
    end, (count, byte, used) = run_stuffing(plain, total, out, back)
    found = list_bits(out[:end], (), 0, False)
    # a byte of ones that is left out is what a decoder goes on with
    assert found[:total] == bits[: len(found)]
    assert all(bits[len(found) :])
    assert all(found[total:])
    last = [byte >> bit & 1 for bit in range(used)]
    assert list_bits(back[:count][::-1], (), 0x9F, True) + last == [1, 1, 1, 1, *bits]


@nb.njit
def run_backward(data, pending, count, before, out):
    return unstuff_backward(data, 0, data.size - 1, pending, count, before, out)


@nb.njit
def run_forward(data, out):
    return unstuff_forward(data, 0, data.size, 1, data.size, out)


def list_bits(data, pending, before, is_backward):
    """Return plain bits, byte by byte."""
    bits = list(pending)
    for byte in map(int, data[::-1] if is_backward else data):
        is_stuffed = before > 0x8F and byte & 127 == 127 if is_backward else before == 255
        bits += [byte >> bit & 1 for bit in range(7 if is_stuffed else 8)]
        before = byte
    return bits


@pytest.mark.parametrize("seed", range(40))
def test_bytes_are_taken_apart_eight_at_a_time_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    values = np.arange(256) if seed % 2 else np.array([0, 3, 0x7F, 0x80, 0x90, 0xFE, 0xFF])
    data = rng.choice(values, int(rng.integers(1, 90))).astype(np.uint8)
    out = np.zeros(300, np.uint8)
    total = run_backward(data, 5, 4, 0x9F, out)
    assert np.unpackbits(out, bitorder="little")[:total].tolist() == list_bits(data, (1, 0, 1, 0), 0x9F, True)
    total = run_forward(data, out)
    assert np.unpackbits(out, bitorder="little")[:total].tolist() == list_bits(data, (), 0, False)


@pytest.mark.parametrize("bits", [3, 9, 24, 28])
@pytest.mark.parametrize("shape", [(64, 64), (8, 4), (2, 60), (7, 8), (8, 7), (6, 30)])
def test_integers_that_are_written_at_once_are_those_of_floats(shape, bits):
    """Whole pairs of quads go straight to integers, others and floats by a buffer; both leave the rest alone."""
    rng = np.random.default_rng(bits)
    height, width = shape
    stride, offset = width + 5, 3
    samples = np.rint(rng.laplace(0, 2 ** (bits - 3), 2 * height * stride + offset)).astype(np.int32)
    samples = samples.clip(1 - 2**bits, 2**bits - 1)
    rows = [(offset + number * height * stride, stride, height, width, 0) for number in range(2)]
    table = np.array(rows, np.int64)
    # every block has something in its highest plane
    samples[table[:, 0]] = 2**bits - 1
    for lowest, passes in ((0, 1), (2, 1), (2, 3)):
        blocks = encode_blocks(samples, table, HIGH_THROUGHPUT, True, lowest, passes)
        assert (blocks.passes == passes).all()
        segments, starts = [], [0]
        for start, ends in zip(blocks.starts, blocks.ends, strict=True):
            segments.append((start, ends[0], 1))
            if passes > 1:
                segments.append((start + ends[0], ends[-1] - ends[0], passes - 1))
            starts.append(len(segments))
        found = []
        for dtype in (np.int32, np.float32):
            out = np.full(len(samples), 77, dtype)
            damaged = decode_blocks(
                blocks.data, table, np.full(2, lowest + 1, np.int32), blocks.passes, np.array(segments),
                np.array(starts), HIGH_THROUGHPUT, out,
            )  # fmt: skip
            assert not damaged.any()
            found.append(out)
        # beyond 24 bits floats have gaps
        np.testing.assert_array_equal(found[0].astype(np.float32), found[1])
        inside = np.zeros(len(samples), bool)
        for start, *_ in rows:
            inside[start : start + height * stride].reshape(height, stride)[:, :width] = True
        assert (found[0][~inside] == 77).all()
        if lowest == 0:
            np.testing.assert_array_equal(found[0][inside], samples[inside])

"""What every block coder does, whatever its codewords: the contract of `encode_blocks` and `decode_blocks`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

from subband.codecs.jpeg2000.blocks import decode_blocks, encode_blocks
from subband.engines import get_threads, set_threads
from subband.errors import ArgumentError

SHAPES = [
    (1, 1),
    (1, 5),
    (2, 2),
    (3, 2),
    (4, 4),
    (5, 7),
    (33, 17),
    (64, 64),
    (4, 1024),
    (1024, 4),
    (1, 4096),
    (4096, 1),
]


def draw_block(shape, scale, seed=0):
    random = np.random.default_rng([*shape, int(10 * scale), seed])
    return np.clip(random.laplace(0, scale, shape), -(2**28), 2**28).astype(np.int32)


def draw_blocks(count, seed=0):
    """Return several blocks inside one array that is wider than they are, and their table."""
    random = np.random.default_rng(seed)
    samples = random.laplace(0, 30, (count * 40, 90)).astype(np.int32)
    sizes = random.integers(1, 40, (count, 2))
    lefts = random.integers(0, 50, count)
    rows = [
        (k * 40 * 90 + left, 90, height, width, k % 3)
        for k, (left, (height, width)) in enumerate(zip(lefts, sizes, strict=True))
    ]
    return samples.ravel(), np.array(rows, np.int64)


class BlockCoderTests:
    """Subclasses say the styles of their coder, and where its segments end."""

    styles: tuple[int, ...]
    #: Options of `encode_blocks` that give several passes.
    several: Mapping[str, int]

    def count_planes(self, blocks, lowest=0):
        raise NotImplementedError

    def is_end(self, number, style):
        raise NotImplementedError

    def list_segments(self, blocks, block, style, passes):
        rows, first, start = [], 0, 0
        for number in range(int(blocks.passes[block])):
            if number == blocks.passes[block] - 1 or self.is_end(number, style):
                if first < passes:
                    kept = min(number, passes - 1)
                    rows.append(
                        (int(blocks.starts[block]) + start, int(blocks.ends[block, kept]) - start, kept - first + 1)
                    )
                first, start = number + 1, int(blocks.ends[block, number])
        return rows

    def decode(self, blocks, table, style, size, passes=None, lowest=0, dtype=np.int32, **options):
        counts = blocks.passes if passes is None else np.minimum(blocks.passes, passes)
        rows, starts = [], [0]
        for block, count in enumerate(counts.tolist()):
            rows += self.list_segments(blocks, block, style, count)
            starts.append(len(rows))
        out = np.full(size, 99, dtype)
        segments = np.array(rows, np.int64).reshape(-1, 3)
        planes = self.count_planes(blocks, lowest)
        return out, decode_blocks(
            blocks.data, table, planes, counts, segments, np.array(starts), style, out, **options
        )  # fmt: skip

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("scale", [0.4, 3, 500, 2e7])
    def test_blocks_come_back(self, shape, scale):
        for style in self.styles:
            block = draw_block(shape, scale, style)
            block[0, 0] = 1
            table = np.array([[0, shape[1], *shape, style % 3]])
            blocks = encode_blocks(block.ravel(), table, style)
            decoded, damaged = self.decode(blocks, table, style, block.size)
            np.testing.assert_array_equal(decoded.reshape(shape), block)
            assert not damaged[0]

    def test_a_block_of_zeros_has_nothing(self):
        blocks = encode_blocks(np.zeros(64, np.int32), np.array([[0, 8, 8, 8, 0]]), self.styles[0])
        assert blocks.data.size == blocks.passes[0] == blocks.planes[0] == 0

    def test_blocks_inside_an_array_are_the_same_for_any_number_of_threads(self):
        samples, table = draw_blocks(40)
        before = get_threads()
        found = []
        try:
            for threads in (1, 2):
                set_threads(threads)
                found.append(encode_blocks(samples, table, self.styles[0]))
        finally:
            set_threads(before)
        np.testing.assert_array_equal(found[0].data, found[1].data)
        out, damaged = self.decode(found[0], table, self.styles[0], samples.size)
        inside = np.zeros(samples.size, bool)
        for offset, stride, height, width, _ in table.tolist():
            inside[(offset + stride * np.arange(height)[:, None] + np.arange(width)).ravel()] = True
        np.testing.assert_array_equal(out[inside], samples[inside])
        assert np.all(out[~inside] == 99)
        assert not damaged.any()

    @pytest.mark.parametrize("is_broken", [False, True])
    def test_blocks_decoded_together_are_those_decoded_alone(self, is_broken):
        # two at a time, which have unlike planes, passes and shapes; and in another order, since there are many
        random = np.random.default_rng(5)
        shapes = [*map(tuple, random.integers(1, 60, (32, 2)).tolist()), (64, 64), (3, 130), (70, 2)]
        blocks = [draw_block(shape, scale) for shape, scale in zip(shapes, random.uniform(0.3, 900, 35), strict=True)]
        ends = np.cumsum([block.size for block in blocks])
        table = np.array([(end - h * w, w, h, w, end % 3) for end, (h, w) in zip(ends, shapes, strict=True)])
        lowest = self.several.get("lowest", 0)
        for style in self.styles:
            coded = encode_blocks(np.concatenate([block.ravel() for block in blocks]), table, style, **self.several)
            if is_broken:
                where = random.integers(0, coded.data.size, 40)
                coded.data[where] = random.integers(0, 256, 40)
            passes = random.integers(0, coded.passes + 1)
            planes = self.count_planes(coded, lowest)
            rows = [self.list_segments(coded, k, style, int(count)) for k, count in enumerate(passes)]
            starts = np.cumsum([0, *map(len, rows)])
            segments = np.array([row for some in rows for row in some], np.int64).reshape(-1, 3)
            together, alone = np.zeros(ends[-1], np.int32), np.zeros(ends[-1], np.int32)
            damaged = decode_blocks(coded.data, table, planes, passes, segments, starts, style, together)
            for k in range(len(blocks)):
                here = slice(k, k + 1)
                is_damaged = decode_blocks(
                    coded.data, table[here], planes[here], passes[here], segments, starts[k : k + 2], style, alone
                )
                assert is_damaged[0] == damaged[k]
            np.testing.assert_array_equal(together, alone)

    @pytest.mark.parametrize("shape", [(1, 1), (5, 7), (30, 33), (64, 64), (3, 70)], ids=str)
    @pytest.mark.parametrize("is_reversible", [True, False])
    def test_each_pass_may_be_the_last_and_lowers_the_error_by_its_gain(self, shape, is_reversible):
        for style in self.styles:
            block = draw_block(shape, 50)
            block[0, 0] = 77
            table = np.array([[0, shape[1], *shape, 0]])
            blocks = encode_blocks(block.ravel(), table, style, is_reversible, **self.several)
            middle = block + (0 if is_reversible else 0.5 * np.sign(block))
            # what lies nearest to zero counts from the middle of its interval, too
            middle = np.where(block == 0, 0, middle).ravel()
            assert blocks.passes[0] > 2
            lowest = self.several.get("lowest", 0)
            for passes in range(1, int(blocks.passes[0]) + 1):
                decoded, damaged = self.decode(
                    blocks, table, style, block.size, passes, lowest, np.float32, is_reversible=is_reversible
                )
                error = np.sum(middle**2) - np.sum((middle - decoded) ** 2)
                assert error == pytest.approx(blocks.gains[0, passes - 1], rel=1e-6), (style, passes)
                assert not damaged[0]

    def test_a_region_of_interest_is_shifted_down(self):
        background, region = draw_block((20, 20), 9), draw_block((20, 20), 9, 1)
        inside = np.zeros((20, 20), bool)
        inside[5:15, 3:9] = True
        inside &= region != 0
        table = np.array([[0, 20, 20, 20, 0]])
        for style in self.styles:
            blocks = encode_blocks(np.where(inside, region << 8, background).ravel(), table, style)
            decoded, _ = self.decode(blocks, table, style, 400, roi_shift=8)
            np.testing.assert_array_equal(decoded.reshape(20, 20), np.where(inside, region, background))

    def test_any_bytes_are_decoded_the_same_way_each_time(self):
        # with NUMBA_BOUNDSCHECK=1 in the environment every index is checked
        for seed in range(300):
            assert np.array_equal(decode_nonsense(self.styles, seed), decode_nonsense(self.styles, seed))

    def test_broken_bytes_give_a_block(self):
        random = np.random.default_rng(0)
        block = draw_block((40, 37), 60)
        table = np.array([[0, 37, 40, 37, 0]])
        for style in self.styles:
            blocks = encode_blocks(block.ravel(), table, style, **self.several)
            whole = blocks.data.copy()
            for _ in range(60):
                blocks.data[:] = whole
                blocks.data[random.integers(0, whole.size, 3)] = random.integers(0, 256, 3)
                decoded, _ = self.decode(blocks, table, style, block.size, lowest=self.several.get("lowest", 0))
                assert np.abs(decoded.astype(np.int64)).max() < 2**31


def decode_nonsense(styles, seed):
    """Decode random bytes with random tables."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 12))
    data = random.choice(np.array([0, 0x7F, 0x8F, 0x90, 0xFF, 3, 0x55], np.uint8), int(random.integers(0, 400)))
    size = random.integers(1, 65, (n, 2))
    offsets = np.cumsum(size.prod(1)) - size.prod(1)
    table = np.column_stack([offsets, size[:, 1], size, random.integers(0, 3, n)])
    out = np.zeros(int(size.prod(1).sum()), np.int32)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 5, n))])
    count = starts[-1]
    segments = np.column_stack(
        [random.integers(-9, 500, count), random.integers(-9, 500, count), random.integers(-2, 5, count)]
    )
    planes, passes = random.integers(-2, 40, n), random.integers(-2, 120, n)
    style = int(random.choice(styles))
    decode_blocks(data, table, planes, passes, segments, starts, style, out, int(random.integers(40)))
    return out


class TestPart1(BlockCoderTests):
    styles = (0, 1, 4, 8, 21, 63)
    several = MappingProxyType({})

    def count_planes(self, blocks, lowest=0):
        return blocks.planes

    def is_end(self, number, style):
        return bool(style & 4) or bool(style & 1 and number >= 9 and number % 3 != 1)


class TestHighThroughput(BlockCoderTests):
    styles = (64, 72)
    several = MappingProxyType({"lowest": 2, "passes": 3})

    def count_planes(self, blocks, lowest=0):
        return np.full(len(blocks.planes), lowest + 1, np.int32)

    def is_end(self, number, style):
        return number % 3 != 1

    @pytest.mark.parametrize("passes", [1, 2, 3])
    @pytest.mark.parametrize("lowest", [1, 2, 6])
    def test_refined_blocks_have_the_plane_below(self, passes, lowest):
        block = draw_block((37, 50), 40)
        table = np.array([[0, 50, 37, 50, 0]])
        blocks = encode_blocks(block.ravel(), table, 64, lowest=lowest, passes=passes)
        decoded, _ = self.decode(blocks, table, 64, block.size, lowest=lowest)
        magnitude, found = np.abs(block).ravel(), np.abs(decoded)
        is_old = magnitude >> lowest > 0
        plane = lowest - 1 if passes == 3 else lowest
        np.testing.assert_array_equal(found[is_old], ((magnitude >> plane << plane) + (1 << plane >> 1))[is_old])
        is_new = (found > 0) & ~is_old
        assert bool(is_new.any()) == (passes > 1)
        assert np.all(magnitude[is_new] >> (lowest - 1) == 1)
        np.testing.assert_array_equal(np.sign(decoded[found > 0]), np.sign(block.ravel()[found > 0]))

    def test_bytes_that_make_no_sense_are_damage(self):
        block = draw_block((32, 32), 40)
        table = np.array([[0, 32, 32, 32, 0]])
        blocks = encode_blocks(block.ravel(), table, 64)
        # the last byte and a half say where the streams meet
        for value in (0, 0xFF):
            blocks.data[-1] = value
            decoded, damaged = self.decode(blocks, table, 64, block.size)
            assert damaged[0]
            assert not decoded.any()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"style": 65}, "style=65"),
            ({"style": 192}, "style=192"),
            ({"style": 64, "lowest": 0, "passes": 2}, "lowest plane 0 and 2 passes"),
            ({"style": 64, "lowest": 1, "passes": 4}, "4 passes"),
            ({"style": 64, "lowest": -1}, "lowest plane -1"),
        ],
    )
    def test_what_cannot_be_coded(self, options, message):
        with pytest.raises(ArgumentError, match=message):
            encode_blocks(np.ones(16, np.int32), np.array([[0, 4, 4, 4, 0]]), **options)

    def test_large_magnitudes_are_refused(self):
        with pytest.raises(ArgumentError, match="30 bits; 29"):
            encode_blocks(np.full(16, 2**29, np.int32), np.array([[0, 4, 4, 4, 0]]), 64)

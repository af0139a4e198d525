"""Packets of a single layer are those that the packer of any number of layers writes, and are read back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.packing import Packer
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize
from subband.codecs.jpeg2000.single_layer import SingleLayerPacker


def make_packers(seed, markers):
    """Return both packers for blocks of random lengths, in one precinct or in many."""
    rng = np.random.default_rng(seed)
    width, height = (int(side) for side in rng.integers(1, 700, 2))
    size = ImageSize(width, height, 0, 0, width, height, 0, 0, (ComponentSize(8),) * 2)
    precincts = ((7, 6),) * 4 if seed % 2 else ()
    style = CodingStyle(levels=3, block_width=5, block_height=4, block_style=64, precincts=precincts)
    layout = lay_out_tile(size, [style] * 2, 0)
    count = len(layout.blocks)
    lengths = np.where(rng.random(count) < rng.random(), rng.integers(2, 1 << rng.integers(2, 12), count), 0)
    if seed == 3:
        lengths[:] = 0
    planes = rng.integers(0, 12, count) if seed % 3 else np.full(count, 7)
    data = rng.integers(0, 256, int(lengths.sum()), dtype=np.uint8)
    arguments = (
        [layout], planes.astype(np.int32), lengths.astype(np.int32)[:, None], data, np.cumsum(lengths) - lengths, 64,
    )  # fmt: skip
    options = {"sop": bool(markers & 1), "eph": bool(markers & 2)}
    return Packer.from_layouts(*arguments, **options), SingleLayerPacker.from_layouts(*arguments, **options)


@pytest.mark.parametrize("markers", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_packets_are_those_of_the_general_packer(seed, markers):
    reference, packer = make_packers(seed, markers)
    assert isinstance(packer, SingleLayerPacker)
    kept = (reference.ends.T > 0).astype(np.int32)
    sizes = reference.measure(kept)
    np.testing.assert_array_equal(packer.measure(kept), sizes)
    offsets = (np.cumsum(sizes) - sizes[:, 0])[:, None] + 5
    numbers = np.arange(len(sizes))[:, None] + 250
    found, expected = (np.full(int(sizes.sum()) + 10, 77, np.uint8) for _ in range(2))
    reference.write(kept, offsets, numbers, expected)
    packer.write(kept, offsets, numbers, found)
    np.testing.assert_array_equal(found, expected)
    # what was written once is not kept for other blocks
    halved = replace(packer, zero_planes=packer.zero_planes + 1)
    np.testing.assert_array_equal(
        halved.measure(kept), replace(reference, zero_planes=halved.zero_planes).measure(kept)
    )

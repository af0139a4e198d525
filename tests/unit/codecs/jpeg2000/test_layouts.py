"""Layouts that tiles share: those of each tile alone, moved."""

import numpy as np
import pytest

from subband.codecs.jpeg2000 import decode, encode
from subband.codecs.jpeg2000.geometry import count_tiles, lay_out_tile
from subband.codecs.jpeg2000.layouts import lay_out_tiles
from subband.codecs.jpeg2000.packing import list_packets
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize, Order


def draw_size(rng):
    """Draw an image with its tiles anywhere on the grid, and a style."""
    x0, y0 = (int(first) for first in rng.integers(0, 200, 2))
    width, height = (int(side) for side in rng.integers(1, 300, 2))
    tile_width, tile_height = (int(side) for side in rng.choice([16, 24, 33, 64, 100], 2))
    tile_x0 = max(x0 - int(rng.integers(0, tile_width)), 0)
    tile_y0 = max(y0 - int(rng.integers(0, tile_height)), 0)
    steps = [(1, 1), (int(rng.choice([1, 2, 3])), int(rng.choice([1, 2])))]
    components = tuple(ComponentSize(8, False, dx, dy) for dx, dy in steps)
    levels = int(rng.integers(0, 6))
    precincts = () if rng.random() < 0.5 else ((int(rng.integers(3, 7)), int(rng.integers(3, 7))),) * (levels + 1)
    style = CodingStyle(
        levels=levels, block_width=int(rng.integers(2, 7)), block_height=int(rng.integers(2, 6)), precincts=precincts
    )
    return ImageSize(x0 + width, y0 + height, x0, y0, tile_width, tile_height, tile_x0, tile_y0, components), style


@pytest.mark.parametrize("seed", range(60))
def test_shared_layouts_are_those_of_each_tile_moved(seed):
    size, style = draw_size(np.random.default_rng(seed))
    wide, high = count_tiles(size)
    shared = lay_out_tiles(size, [style] * 2)
    alone = [lay_out_tile(size, [style] * 2, tile) for tile in range(wide * high)]
    for mine, own in zip(shared, alone, strict=True):
        assert (mine.rectangle, mine.components, mine.node_count) == (own.rectangle, own.components, own.node_count)
        np.testing.assert_array_equal(mine.precinct_cells, own.precinct_cells)
        np.testing.assert_array_equal(mine.cells, own.cells)
        firsts = [np.array([(band.rectangle.x0, band.rectangle.y0) for band in layout.bands]) for layout in (mine, own)]
        blocks = [layout.blocks[:, :4] - np.tile(first[layout.blocks[:, 4]], 2)
                  for layout, first in zip((mine, own), firsts, strict=True)]  # fmt: skip
        np.testing.assert_array_equal(*blocks)
        for band, other in zip(mine.bands, own.bands, strict=True):
            assert (band.kind, band.level, band.number) == (other.kind, other.level, other.number)
            assert (band.rectangle.width, band.rectangle.height) == (other.rectangle.width, other.rectangle.height)
    for order in Order:
        np.testing.assert_array_equal(list_packets(size, shared, order, 2), list_packets(size, alone, order, 2))


@pytest.mark.parametrize("options", [{}, {"ht": True}, {"origin": (3, 5), "progression": "PCRL"}, {"rate": 3.0}])
def test_tiles_that_are_alike_are_decoded_as_each_alone(options):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:150, 0:170]
    waves = np.sin(x[..., None] / (5 + np.arange(3))) * np.cos(y[..., None] / 9)
    image = np.clip(128 + 90 * waves + rng.normal(0, 4, (150, 170, 3)), 0, 255).astype(np.uint8)
    data = encode(image, tile=(32, 48), **options)
    whole = decode(data).samples
    if "rate" not in options:
        np.testing.assert_array_equal(whole, image)
    # a region within a tile is prepared without those that are known
    for top, left in ((0, 0), (40, 60), (130, 150)):
        part = decode(data, region=(top, left, top + 20, left + 20)).samples
        np.testing.assert_array_equal(part, whole[top : top + 20, left : left + 20])

import numpy as np
import pytest

from subband.codecs.jpeg2000.geometry import Rectangle, count_tiles, find_component_rectangle, lay_out_tile
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize, Order, Progression
from subband.codecs.jpeg2000.progressions import iterate_packets, order_packets, tabulate_precincts
from subband.errors import CodecError

SIZE = ImageSize(131, 97, 13, 6, 60, 50, 3, 2, (ComponentSize(8), ComponentSize(8, False, 2, 3)))
STYLE = CodingStyle(levels=3, block_width=3, block_height=2, precincts=((2, 3), (3, 3), (4, 3), (5, 5)))
STYLES = [STYLE, CodingStyle(levels=2, block_width=4, block_height=4)]


def test_tiles_cover_the_picture_once():
    wide, high = count_tiles(SIZE)
    seen = np.zeros((97, 131), int)
    for tile in range(wide * high):
        area = lay_out_tile(SIZE, STYLES, tile).rectangle
        seen[area.y0 : area.y1, area.x0 : area.x1] += 1
    assert (seen[6:, 13:] == 1).all()
    assert seen.sum() == (97 - 6) * (131 - 13)


@pytest.mark.parametrize("tile", range(6))
def test_blocks_cover_each_band_once(tile):
    layout = lay_out_tile(SIZE, STYLES, tile)
    for number, band in enumerate(layout.bands):
        area = band.rectangle
        seen = np.zeros((area.height, area.width), int)
        for x0, y0, x1, y1, own in layout.blocks:
            if own == number:
                assert x1 - x0 <= 1 << band.block_width
                assert y1 - y0 <= 1 << band.block_height
                assert x0 >> band.block_width == (x1 - 1) >> band.block_width
                seen[y0 - area.y0 : y1 - area.y0, x0 - area.x0 : x1 - area.x0] += 1
        assert (seen == 1).all()


@pytest.mark.parametrize("tile", range(6))
def test_bands_of_a_resolution_have_its_samples(tile):
    layout = lay_out_tile(SIZE, STYLES, tile)
    for levels in layout.resolutions:
        below = 0
        for level in levels:
            below += sum(layout.bands[number].rectangle.area for number in level.bands)
            assert below == level.rectangle.area


def test_cells_count_their_blocks():
    layout = lay_out_tile(SIZE, STYLES, 0)
    counts = layout.cells[:, 1] * layout.cells[:, 2]
    assert counts.sum() == len(layout.blocks)
    assert (np.cumsum(counts) - counts == layout.cells[:, 3]).all()
    assert layout.precinct_cells[-1] == len(layout.cells)


def test_too_many_blocks_are_refused_before_they_are_listed():
    huge = ImageSize(2**30, 2**30, 0, 0, 2**30, 2**30, 0, 0, (ComponentSize(8),))
    with pytest.raises(CodecError, match="precincts"):
        lay_out_tile(huge, [CodingStyle(levels=0, precincts=((0, 0),))], 0, most_blocks=1000)
    with pytest.raises(CodecError, match="code-blocks"):
        lay_out_tile(huge, [CodingStyle(levels=0, block_width=2, block_height=2)], 0, most_blocks=1 << 40)


def test_component_rectangle_is_rounded_up():
    assert find_component_rectangle(SIZE, 1) == Rectangle(7, 2, 66, 33)
    assert find_component_rectangle(SIZE, 1, reduce=1) == Rectangle(4, 1, 33, 17)


def walk_by_the_book(size, layout, order, layers):
    """Yield packets by the loops of B.12, over every position of the reference grid."""
    area = layout.rectangle
    levels = layout.resolutions
    most = max(map(len, levels))
    count = len(levels)

    def all_of(c, r):
        return range(levels[c][r].precinct_count) if r < len(levels[c]) else range(0)

    def at(c, r, x, y):
        if r >= len(levels[c]):
            return []
        level, steps = levels[c][r], size.components[c]
        if level.precinct_count == 0:
            return []

        def fits(place, start, origin, exponent, step):
            unit = step << (exponent + level.scale)
            return place % unit == 0 or (place == start and (origin << level.scale) % (1 << (exponent + level.scale)))

        if not fits(y, area.y0, level.rectangle.y0, level.precinct_height, steps.dy):
            return []
        if not fits(x, area.x0, level.rectangle.x0, level.precinct_width, steps.dx):
            return []
        column = -(-x // (steps.dx << level.scale)) >> level.precinct_width
        row = -(-y // (steps.dy << level.scale)) >> level.precinct_height
        column -= level.rectangle.x0 >> level.precinct_width
        row -= level.rectangle.y0 >> level.precinct_height
        return [row * level.precincts_wide + column]

    spots = [(x, y) for y in range(area.y0, area.y1) for x in range(area.x0, area.x1)]
    packets = {
        Order.LRCP: (
            (n, r, c, k) for n in range(layers) for r in range(most) for c in range(count) for k in all_of(c, r)
        ),
        Order.RLCP: (
            (n, r, c, k) for r in range(most) for n in range(layers) for c in range(count) for k in all_of(c, r)
        ),
        Order.RPCL: (
            (n, r, c, k) for r in range(most) for x, y in spots for c in range(count)
            for k in at(c, r, x, y) for n in range(layers)
        ),
        Order.PCRL: (
            (n, r, c, k) for x, y in spots for c in range(count) for r in range(most)
            for k in at(c, r, x, y) for n in range(layers)
        ),
        Order.CPRL: (
            (n, r, c, k) for c in range(count) for x, y in spots for r in range(most)
            for k in at(c, r, x, y) for n in range(layers)
        ),
    }  # fmt: skip
    return list(packets[order])


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("tile", [0, 4])
def test_orders_are_those_of_the_standard(order, tile):
    layout = lay_out_tile(SIZE, STYLES, tile)
    found = list(iterate_packets(layout, SIZE, [Progression(order)], 2))
    assert found == walk_by_the_book(SIZE, layout, order, 2)


def test_changes_send_each_packet_once():
    layout = lay_out_tile(SIZE, STYLES, 0)
    changes = [Progression(Order.RPCL, 0, 2, 0, 2, 1), Progression(Order.CPRL, 0, 4, 1, 2, 3), Progression(Order.LRCP)]
    found = list(iterate_packets(layout, SIZE, changes, 3))
    assert len(set(found)) == len(found) == 3 * layout.precinct_count
    first = [packet for packet in found if packet[1] < 2 and packet[0] == 0]
    assert found[: len(first)] == sorted(first, key=lambda packet: packet[1])


def test_layers_of_a_change_are_limited():
    layout = lay_out_tile(SIZE, STYLES, 0)
    order = order_packets(tabulate_precincts(layout, SIZE), Progression(Order.LRCP, layer_stop=2), 5)
    assert order.layers == 2

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.packets import PacketReader
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize, Order, Progression
from subband.codecs.jpeg2000.progressions import order_packets, tabulate_precincts

SIZE = ImageSize(117, 133, 17, 33, 117, 133, 0, 0, (ComponentSize(8), ComponentSize(8, False, 2, 1)))
PRECINCTS = ((3, 4), (4, 4), (5, 4), (5, 6))


class Packets:
    """Random contributions to the blocks of a tile, and the packets that hold them."""

    def __init__(self, write, order=Order.LRCP, layers=4, style=0, sop=False, eph=False):
        rng = np.random.default_rng(7)
        coding = CodingStyle(3, 3, 3, style, precincts=PRECINCTS)
        self.layout = lay_out_tile(SIZE, [coding] * 2, 0)
        count, most = len(self.layout.blocks), 40
        inclusion = rng.integers(0, 14, (count, layers)) * (rng.random((count, layers)) < 0.6)
        self.passes = np.minimum(np.cumsum(inclusion, axis=1), most)
        self.ends = np.cumsum(rng.integers(0, 400, (count, most)) * (rng.random((count, most)) < 0.7), axis=1)
        self.starts = np.cumsum(self.ends[:, -1]) - self.ends[:, -1]
        self.data = rng.integers(0, 256, self.ends[:, -1].sum(), dtype=np.uint8)
        self.zero_planes = rng.integers(0, 20, count)
        self.styles = [style] * len(self.layout.bands)
        self.layers = layers
        self.markers = {"uses_sop": sop, "uses_eph": eph}
        table = tabulate_precincts(self.layout, SIZE)
        self.orders = [order_packets(table, Progression(order), layers)]
        self._write = write
        self.written = self.write()

    def write(self):
        return self._write(
            self.layout, self.orders, self.styles, self.zero_planes, self.passes, self.ends, self.starts, self.data,
            **self.markers,
        )  # fmt: skip

    def read(self, stop=None, lengths=None, **options):
        reader = PacketReader(self.layout, self.styles, **self.markers, **options)
        reader.follow(self.orders, self.layers)
        stop = len(self.written.data) if stop is None else stop
        status = reader.read(self.written.data, 0, stop, lengths=lengths)
        return status, reader.gather(self.written.data)

    def check(self, blocks, chosen=slice(None), layer=-1):
        count = len(self.passes)
        for number in np.arange(count)[chosen]:
            passes = self.passes[number, layer]
            assert blocks.passes[number] == passes
            segments = blocks.segments[blocks.segment_starts[number] : blocks.segment_starts[number + 1]]
            assert segments[:, 2].sum() == passes
            if passes:
                assert blocks.zero_planes[number] == self.zero_planes[number]
                found = b"".join(blocks.data[start : start + length].tobytes() for start, length, _ in segments)
                own = self.data[self.starts[number] :][: self.ends[number, passes - 1]]
                assert found == own.tobytes()


@pytest.fixture
def make_packets(write_packets):
    return partial(Packets, write_packets)


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("style", [0, 1, 4, 5])
def test_what_is_written_is_read(make_packets, order, style):
    packets = make_packets(order, style=style)
    status, blocks = packets.read()
    assert status == "done"
    packets.check(blocks)


def test_blocks_that_never_come_cost_nothing_more(make_packets):
    packets = make_packets(layers=1)
    never = packets.passes[:, -1] == 0
    assert never.any()
    for planes in (0, 30):
        packets.zero_planes[never] = planes
        assert packets.write().data.tobytes() == packets.written.data.tobytes()


@pytest.mark.parametrize(("sop", "eph"), [(True, False), (False, True), (True, True)])
def test_markers_are_passed_over(make_packets, sop, eph):
    packets = make_packets(sop=sop, eph=eph)
    status, blocks = packets.read()
    assert status == "done"
    packets.check(blocks)
    assert packets.written.data.tobytes().count(b"\xff\x91\x00\x04") >= (len(packets.written.packets) if sop else 0)


def test_segments_end_where_the_style_says(make_packets):
    packets = make_packets(style=1, layers=1)
    _, blocks = packets.read()
    number = int(np.argmax(packets.passes[:, -1]))
    segments = blocks.segments[blocks.segment_starts[number] : blocks.segment_starts[number + 1]]
    passes = packets.passes[number, -1]
    wanted = [10]
    while sum(wanted) < passes:
        wanted.append(2 if len(wanted) % 2 else 1)
    wanted[-1] -= sum(wanted) - passes
    assert segments[:, 2].tolist() == wanted


def test_first_layers_only(make_packets):
    packets = make_packets()
    status, blocks = packets.read(layers=2)
    assert status == "done"
    packets.check(blocks, layer=1)


@pytest.mark.parametrize("has_lengths", [False, True])
def test_some_precincts_only(make_packets, has_lengths):
    packets = make_packets(Order.RPCL)
    wanted = np.zeros(packets.layout.precinct_count, bool)
    wanted[::3] = True
    lengths = packets.written.packets[:, 4].copy() if has_lengths else None
    status, blocks = packets.read(wanted=wanted, lengths=lengths)
    assert status == "done"
    cells = np.repeat(np.arange(len(packets.layout.cells)), packets.layout.cells[:, 1] * packets.layout.cells[:, 2])
    precinct = np.searchsorted(packets.layout.precinct_cells, cells, "right") - 1
    packets.check(blocks, wanted[precinct])
    assert not blocks.passes[~wanted[precinct]].any()


def test_lengths_spare_the_headers(make_packets):
    packets = make_packets(Order.RPCL)
    wanted = np.zeros(packets.layout.precinct_count, bool)
    wanted[5] = True
    starts = packets.written.packets
    other = starts[starts[:, 0] != 5]
    # what is passed over by its length is never looked at
    for _, _, start, header, _ in other:
        packets.written.data[start : start + header] = 0xFF
    status, blocks = packets.read(wanted=wanted, lengths=starts[:, 4].copy())
    assert status == "done"
    assert blocks.passes.sum() > 0


def test_cut_stream_keeps_what_came_before(make_packets):
    packets = make_packets(Order.LRCP)
    rows = packets.written.packets
    middle = len(rows) // 2
    status, blocks = packets.read(stop=int(rows[middle, 2]))
    assert status == "more"
    whole = packets.passes[:, 1]
    assert blocks.passes.sum() == whole.sum()
    status, more = packets.read(stop=int(rows[-1, 2] + rows[-1, 4] - 1))
    assert status in ("cut", "done")
    assert whole.sum() < more.passes.sum() <= packets.passes[:, -1].sum()


def test_parts_go_on_where_the_last_one_ended(make_packets):
    packets = make_packets(Order.CPRL)
    rows = packets.written.packets
    reader = PacketReader(packets.layout, packets.styles)
    reader.follow(packets.orders, packets.layers)
    edges = [int(rows[len(rows) * number // 5, 2]) for number in range(5)] + [len(packets.written.data)]
    found = [reader.read(packets.written.data, a, b) for a, b in pairwise(edges)]
    assert found == ["more"] * 4 + ["done"]
    packets.check(reader.gather(packets.written.data))


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_never_read_beyond_its_end(make_packets, seed):
    packets = make_packets(layers=2)
    rng = np.random.default_rng(seed)
    packets.written.data[rng.integers(0, len(packets.written.data), 200)] = 255
    status, blocks = packets.read()
    assert status in ("done", "more", "cut", "corrupt")
    assert blocks.segments[:, 0].max(initial=0) <= len(blocks.data)
    assert blocks.data.size <= packets.written.data.size

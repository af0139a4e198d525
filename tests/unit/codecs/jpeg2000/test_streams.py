"""Codestreams written step by step, with freedoms that the standard gives and encoders seldom take."""

from __future__ import annotations

from functools import partial
from itertools import chain

import numpy as np
import pytest

from subband.codecs.jpeg2000.blocks import encode_blocks
from subband.codecs.jpeg2000.colours import find_range
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.geometry import count_tiles, lay_out_tile
from subband.codecs.jpeg2000.markers import PackedHeaders, PackedTileHeaders, PacketLengths, TileLengths, TilePart
from subband.codecs.jpeg2000.parameters import (
    CodingComponent,
    CodingDefault,
    CodingStyle,
    ComponentSize,
    ImageSize,
    Order,
    Progression,
    ProgressionChange,
    Quantisation,
    QuantisationComponent,
    QuantisationDefault,
    RegionOfInterest,
)
from subband.codecs.jpeg2000.progressions import order_packets, tabulate_precincts
from subband.codecs.jpeg2000.transform import analyse
from subband.errors import CodecError

GUARD = 2


def quantise_nothing(style, precision):
    """Return the exponents of a reversible component: the bits of a sample and the gain of the band."""
    gains = [0] + [1, 1, 2] * style.levels
    return Quantisation(0, GUARD, tuple((precision + gain + 1, 0) for gain in gains))


def _write_stream(
    write_packets,
    planes,
    size,
    coding,
    *,
    styles=None,
    changes=(),
    packed=None,
    parts=1,
    shift=0,
    has_plt=False,
    has_tlm=False,
    mix=False,
):
    """Return the codestream of planes of integers, without a colour transform, reversible.

    `styles` gives components styles of their own (COC, QCC), `changes` are progressions (POC), `packed` puts packet
    headers to the front ("ppm", "ppt"), `parts` cuts each tile, `mix` interleaves the parts of different tiles, `shift`
    declares a region of interest, the left half of each block.
    """
    count = len(planes)
    styles = styles or [coding.style] * count
    progressions = changes or (Progression(coding.order),)
    wide, high = count_tiles(size)
    tile_parts = []
    for tile in range(wide * high):
        layout = lay_out_tile(size, styles, tile)
        written = _write_tile(write_packets, planes, size, layout, styles, coding, progressions, shift)
        tile_parts.append(_cut_tile(tile, written, parts, packed))
    ordered = (
        [part for several in zip(*tile_parts, strict=True) for part in several] if mix else list(chain(*tile_parts))
    )
    head = b"\xff\x4f" + size.write() + coding.write()
    head += QuantisationDefault(quantise_nothing(coding.style, size.components[0].precision)).write()
    for component in range(count):
        if styles[component] != coding.style:
            head += CodingComponent(component, styles[component]).write(count)
        own = quantise_nothing(styles[component], size.components[component].precision)
        if own != quantise_nothing(coding.style, size.components[0].precision):
            head += QuantisationComponent(component, own).write(count)
        if shift:
            head += RegionOfInterest(component, shift).write(count)
    if changes:
        head += ProgressionChange(tuple(changes)).write(count)
    if packed == "ppm":
        text = b"".join(len(part["headers"]).to_bytes(4, "big") + part["headers"] for part in ordered)
        pieces = [text[place : place + 60000] for place in range(0, len(text), 60000)]
        head += b"".join(PackedHeaders(number, piece).write() for number, piece in enumerate(pieces))
    texts = [_join_part(part, packed, has_plt) for part in ordered]
    if has_tlm:
        head += TileLengths(0, tuple(part["tile"] for part in ordered), tuple(map(len, texts))).write()
    return head + b"".join(texts) + b"\xff\xd9"


def _write_tile(write_packets, planes, size, layout, styles, coding, progressions, shift):
    samples, table, bits, starts_of_bands = [], np.zeros((len(layout.blocks), 5), np.int64), [], []
    place = 0
    for component, style in enumerate(styles):
        area, steps = layout.components[component], size.components[component]
        x0, y0 = -(-size.x0 // steps.dx), -(-size.y0 // steps.dy)
        plane = planes[component][area.y0 - y0 : area.y1 - y0, area.x0 - x0 : area.x1 - x0].astype(np.int32)
        found = analyse(plane - find_range(steps)[0], area, style.levels, True)
        bands = [band for level in found for band in level.values()]
        numbers = [number for level in layout.resolutions[component] for number in level.bands]
        exponents = quantise_nothing(style, steps.precision)
        for number, band in zip(numbers, bands, strict=True):
            starts_of_bands.append((place, band.shape[1]))
            place += band.size
            samples.append(band.ravel())
            bits.append(GUARD + exponents.step(layout.bands[number].number)[0] - 1 + shift)
    flat = np.ascontiguousarray(np.concatenate(samples).astype(np.int32))
    for row, (x0, y0, x1, y1, number) in enumerate(layout.blocks):
        band = layout.bands[number]
        place, stride = starts_of_bands[number]
        offset = place + (y0 - band.rectangle.y0) * stride + (x0 - band.rectangle.x0)
        table[row] = (offset, stride, y1 - y0, x1 - x0, band.orientation)
        if shift:
            for y in range(y1 - y0):
                flat[offset + y * stride : offset + y * stride + (x1 - x0 + 1) // 2] <<= shift
    block_styles = [styles[band.component].block_style for band in layout.bands]
    coded = _encode_each(flat, table, [block_styles[number] for number in layout.blocks[:, 4]])
    layers = coding.layers
    most = coded["ends"].shape[1]
    cumulative = np.stack([coded["passes"] * (layer + 1) // layers for layer in range(layers)], axis=1)
    precincts = tabulate_precincts(layout, size)
    orders = [order_packets(precincts, each, layers) for each in progressions]
    zero_planes = np.array(bits)[layout.blocks[:, 4]] - coded["planes"]
    assert most == 0 or zero_planes.min() >= 0
    return write_packets(
        layout,
        orders,
        block_styles,
        zero_planes,
        cumulative,
        coded["ends"],
        coded["starts"],
        coded["data"],
        uses_sop=coding.uses_sop,
        uses_eph=coding.uses_eph,
    )


def _encode_each(flat, table, styles):
    """Encode blocks, those of each style together, and put the results in the order of the table."""
    styles = np.array(styles)
    found = {style: encode_blocks(flat, table[styles == style], int(style)) for style in np.unique(styles)}
    most = max(blocks.ends.shape[1] for blocks in found.values())
    joined = {
        "ends": np.zeros((len(table), most), np.int64),
        "planes": np.zeros(len(table), np.int64),
        "passes": np.zeros(len(table), np.int64),
        "starts": np.zeros(len(table), np.int64),
    }
    data, start = [], 0
    for style, blocks in found.items():
        mine = styles == style
        joined["ends"][mine, : blocks.ends.shape[1]] = blocks.ends
        joined["planes"][mine], joined["passes"][mine] = blocks.planes, blocks.passes
        joined["starts"][mine] = blocks.starts + start
        data.append(blocks.data)
        start += len(blocks.data)
    return {**joined, "data": np.concatenate(data)}


def _cut_tile(tile, written, parts, packed):
    edges = [len(written.packets) * number // parts for number in range(parts + 1)]
    found = []
    for number in range(parts):
        headers, body, lengths = b"", b"", []
        for _, _, start, header, length in written.packets[edges[number] : edges[number + 1]]:
            text = written.data[start : start + length].tobytes()
            if packed:
                # the marker before a packet stays with its body
                sop = 6 if text[:2] == b"\xff\x91" else 0
                headers += text[sop:header]
                text = text[:sop] + text[header:]
            body += text
            lengths.append(int(length))
        found.append(
            {"tile": tile, "part": number, "count": parts, "headers": headers, "body": body, "lengths": lengths}
        )
    return found


def _join_part(part, packed, has_plt):
    segments = b""
    if packed in ("ppt", "ppt anew"):
        # two pieces, so that they have to be joined in their order
        text, half = part["headers"], len(part["headers"]) // 2
        first = 2 * part["part"] if packed == "ppt" else 0
        segments += PackedTileHeaders(first, text[:half]).write() + PackedTileHeaders(first + 1, text[half:]).write()
    if has_plt:
        segments += PacketLengths(0, tuple(part["lengths"])).write()
    length = 12 + len(segments) + 2 + len(part["body"])
    return TilePart(part["tile"], length, part["part"], part["count"]).write() + segments + b"\xff\x93" + part["body"]


# --- the tests ---

imagecodecs = pytest.importorskip("imagecodecs")

HEIGHT, WIDTH = 61, 83
STYLE = CodingStyle(levels=3, block_width=4, block_height=4, precincts=((4, 4), (5, 5), (5, 5), (6, 6)))
CHANGES = (
    Progression(Order.RLCP, 0, 2, 0, 3, 1),
    Progression(Order.CPRL, 0, 4, 0, 2, 2),
    Progression(Order.LRCP, 0, 4, 0, 3, 3),
)


def make_planes():
    rng = np.random.default_rng(2)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    smooth = [128 + 100 * np.sin(x / (6 + c)) * np.cos(y / (9 - c)) for c in range(3)]
    return [np.clip(plane + rng.normal(0, 5, plane.shape), 0, 255).astype(np.uint8) for plane in smooth]


PLANES = make_planes()


COLOURS = (ComponentSize(8),) * 3


def make_size(x0=0, y0=0, tile=(0, 0), tile_origin=(0, 0), components=COLOURS):
    wide, high = tile[0] or x0 + WIDTH, tile[1] or y0 + HEIGHT
    return ImageSize(x0 + WIDTH, y0 + HEIGHT, x0, y0, wide, high, *tile_origin, components)


TILED = make_size(5, 3, (40, 35), (2, 1))


@pytest.fixture
def write_stream(write_packets):
    return partial(_write_stream, write_packets)


def check(data, planes=PLANES, *, is_judged=True):
    found = decode(data).planes
    assert all((plane == wanted).all() for plane, wanted in zip(found, planes, strict=True))
    if is_judged:
        judged = imagecodecs.jpeg2k_decode(data)
        assert all((judged[..., number] == plane).all() for number, plane in enumerate(planes))


@pytest.mark.parametrize("order", list(Order))
def test_tile_parts_in_turns(write_stream, order):
    coding = CodingDefault(order, 3, style=STYLE, uses_sop=True, uses_eph=True)
    check(write_stream(PLANES, TILED, coding, parts=3, mix=True))


@pytest.mark.parametrize("packed", ["ppt", "ppt anew", "ppm"])
@pytest.mark.parametrize("has_markers", [False, True])
def test_packed_headers(write_stream, packed, has_markers):
    coding = CodingDefault(Order.RPCL, 2, style=STYLE, uses_sop=has_markers, uses_eph=has_markers)
    check(write_stream(PLANES, make_size(), coding, packed=packed))
    # OpenJPEG does not read packed headers of the main header where tile-parts take turns
    data = write_stream(PLANES, TILED, coding, packed=packed, parts=2, mix=True)
    check(data, is_judged=packed == "ppt")


@pytest.mark.parametrize("parts", [1, 4])
def test_changes_of_progression(write_stream, parts):
    coding = CodingDefault(Order.LRCP, 3, style=STYLE)
    check(write_stream(PLANES, TILED, coding, changes=CHANGES, parts=parts))


@pytest.mark.parametrize("bits", [1, 2, 4, 5, 8, 16, 20, 32, 33, 63])
def test_block_styles(write_stream, bits):
    coding = CodingDefault(Order.LRCP, 2, style=CodingStyle(levels=2, block_style=bits))
    check(write_stream(PLANES, make_size(), coding))


def test_region_of_interest(write_stream):
    check(write_stream(PLANES, make_size(), CodingDefault(style=CodingStyle(levels=2)), shift=12))


def test_styles_of_components(write_stream):
    styles = [
        CodingStyle(levels=2),
        CodingStyle(levels=4, block_width=5, block_height=3),
        CodingStyle(levels=0, block_style=1),
    ]
    check(write_stream(PLANES, make_size(), CodingDefault(style=styles[0]), styles=styles))


@pytest.mark.parametrize("size", [make_size(), TILED], ids=["plain", "tiles"])
def test_colours_whose_components_are_coded_differently(write_stream, size):
    red, green, blue = (plane.astype(int) - 128 for plane in PLANES)
    planes = [((red + 2 * green + blue) >> 2) + 128, blue - green + 128, red - green + 128]
    styles = [CodingStyle(levels=2), CodingStyle(levels=2, block_width=4, block_height=4), CodingStyle(levels=2)]
    coding = CodingDefault(style=styles[0], has_colour_transform=True)
    check(write_stream(planes, size, coding, styles=styles))


def test_lengths_lead_to_a_region(write_stream):
    size = make_size(tile=(32, 32))
    coding = CodingDefault(layers=2, style=CodingStyle(levels=2))
    data = write_stream(PLANES, size, coding, has_plt=True, has_tlm=True, parts=2)
    check(data)
    # what lies in other tiles is never looked at: here it is overwritten
    parts = [place for place in range(len(data)) if data[place : place + 4] == b"\xff\x90\x00\x0a"]
    broken = bytearray(data)
    broken[parts[4] : parts[6]] = bytes(parts[6] - parts[4])
    found = decode(bytes(broken), region=(0, 32, 30, 64)).samples
    assert (found == np.stack(PLANES, axis=-1)[:30, 32:64]).all()


@pytest.mark.parametrize("order", list(Order))
def test_components_of_different_sizes(write_stream, order):
    components = (ComponentSize(8), ComponentSize(8, False, 2, 2), ComponentSize(12, True, 3, 1))
    size = make_size(5, 3, (50, 40), (1, 2), components)
    planes = []
    for plane, steps in zip(PLANES, components, strict=True):
        rows = -(-(3 + HEIGHT) // steps.dy) - -(-3 // steps.dy)
        columns = -(-(5 + WIDTH) // steps.dx) - -(-5 // steps.dx)
        planes.append(plane[:rows, :columns])
    planes[2] = planes[2].astype(np.int16) * 16 - 2048
    data = write_stream(planes, size, CodingDefault(order, 2, style=STYLE), parts=2)
    check(data, planes, is_judged=False)
    picture = decode(data)
    assert [plane.dtype.name for plane in picture.planes] == ["uint8", "uint8", "int16"]
    assert picture.upsample().shape == (HEIGHT, WIDTH, 3)
    part = decode(data, region=(10, 20, 30, 50)).planes
    assert (part[1] == planes[1][-(-13 // 2) - 2 : -(-33 // 2) - 2, -(-25 // 2) - 3 : -(-55 // 2) - 3]).all()


def test_deep_samples_come_back(write_stream):
    rng = np.random.default_rng(1)
    plane = rng.integers(-(1 << 23), 1 << 23, (HEIGHT, WIDTH)).astype(np.int32)
    size = make_size(components=(ComponentSize(24, True),))
    data = write_stream([plane], size, CodingDefault(style=CodingStyle(levels=2)))
    assert (decode(data).samples == plane).all()


def test_more_bits_than_integers_hold(write_stream):
    size = make_size(components=(ComponentSize(38),))
    data = write_stream([PLANES[0]], make_size(components=(ComponentSize(8),)), CodingDefault(style=STYLE))
    stop = data.index(b"\xff\x52")
    with pytest.raises(CodecError, match="38 bits"):
        decode(b"\xff\x4f" + size.write() + data[stop:])

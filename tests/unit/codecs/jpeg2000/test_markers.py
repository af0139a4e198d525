from dataclasses import replace

import pytest

from subband.codecs.jpeg2000.markers import (
    Comment,
    ComponentRegistration,
    PackedHeaders,
    PackedTileHeaders,
    PacketLengths,
    TileLengths,
    TilePart,
    UnknownSegment,
    read_segment,
)
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
from subband.errors import CodecError

STYLE = CodingStyle(2, 5, 4, 0x3F, False, ((3, 4), (5, 6), (7, 8)))
SIZE = ImageSize(300, 200, 5, 3, 64, 70, 1, 2, (ComponentSize(8), ComponentSize(12, True, 2, 3)), 2)
STEPS = Quantisation(2, 3, ((10, 5), (9, 2047), (8, 0)))


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize(
    "segment",
    [
        CodingComponent(2, STYLE),
        QuantisationComponent(1, STEPS),
        RegionOfInterest(2, 11),
        ProgressionChange((Progression(Order.CPRL, 1, 4, 0, 2, 7), Progression(Order.RLCP, 0, 33, 1, 3, 65535))),
    ],
    ids=lambda segment: segment.name,
)
def test_segments_of_components_come_back(segment, count):
    text = segment.write(count)
    assert int.from_bytes(text[2:4], "big") == len(text) - 2
    assert read_segment(segment.code, text[4:], count) == segment


@pytest.mark.parametrize(
    "segment",
    [
        SIZE,
        CodingDefault(Order.PCRL, 300, True, STYLE, True, True),
        CodingDefault(),
        QuantisationDefault(STEPS),
        QuantisationDefault(Quantisation(0, 2, ((8, 0), (9, 0)))),
        QuantisationDefault(Quantisation(1, 1, ((13, 77),))),
        TilePart(3, 1000, 2, 5),
        TileLengths(1, (0, 5), (100, 70000)),
        PacketLengths(2, (0, 127, 128, 16384, 2**31)),
        PackedHeaders(1, b"abc"),
        PackedTileHeaders(0, b""),
        ComponentRegistration(((1, 2), (3, 65535))),
        Comment(b"hello"),
        Comment(b"\x00\xff", is_text=False),
    ],
    ids=lambda segment: segment.name,
)
def test_segments_come_back(segment):
    text = segment.write()
    assert int.from_bytes(text[:2], "big") == segment.code
    assert int.from_bytes(text[2:4], "big") == len(text) - 2
    assert read_segment(segment.code, text[4:], 2) == segment


def test_unknown_segment_is_kept():
    segment = read_segment(0xFF70, b"xyz", 1)
    assert isinstance(segment, UnknownSegment)
    assert (segment.name, segment.data) == ("0xff70", b"xyz")


def test_short_tile_lengths():
    assert TileLengths.read(bytes.fromhex("00100201000300")).lengths == (256,)
    assert TileLengths.read(bytes.fromhex("0000 0100 0200")).tiles == (None, None)


@pytest.mark.parametrize("exponent", range(7))
def test_derived_steps_fall_by_one_a_level(exponent):
    assert Quantisation(1, 2, ((12, 9),)).step(exponent) == (12 - max(exponent - 1, 0) // 3, 9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": 300}, "empty image"),
        ({"tile_width": 0}, "empty tiles"),
        ({"tile_x0": 6}, "first tile"),
        ({"tile_width": 4, "tile_x0": 0}, "first tile"),
    ],
)
def test_sizes_that_make_no_picture(change, message):
    text = replace(SIZE, **change).write()
    with pytest.raises(CodecError, match=message):
        ImageSize.read(text[4:])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (5, 5, "progression 5"),
        (8, 2, "colour transform"),
        (9, 33, "33 levels"),
        (10, 9, "code-blocks"),
        (12, 0x80, "block style 0x80"),
        (12, 0xC4, "mixed blocks"),
        (13, 2, "wavelet 2"),
        (15, 0x05, "precinct"),
    ],
)
def test_codings_that_are_not_known(place, value, message):
    text = bytearray(CodingDefault(style=STYLE).write())
    text[place] = value
    with pytest.raises(CodecError, match=message):
        CodingDefault.read(bytes(text[4:]))


@pytest.mark.parametrize("segment", [SIZE, CodingDefault(), QuantisationDefault(STEPS), TilePart(0, 20)])
def test_segments_that_end_early(segment):
    text = segment.write()[4:]
    for length in range(len(text)):
        try:
            read_segment(segment.code, text[:length], 2)
        except CodecError:
            continue
        assert segment.code == QuantisationDefault.code
        assert length > 1

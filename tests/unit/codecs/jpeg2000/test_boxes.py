from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from subband.codecs.jpeg2000 import decode, encode, read_header, transcode
from subband.codecs.jpeg2000.boxes import (
    SIGNATURE,
    BitsPerComponent,
    ChannelDefinition,
    ColourSpecification,
    ImageHeader,
    Jp2Header,
    Palette,
    Resolution,
    pack_box,
    read_boxes,
    write_jp2,
)
from subband.errors import ArgumentError, CodecError


def as_array(text):
    return np.frombuffer(text, np.uint8)


def test_header_comes_back():
    palette = Palette(np.array([[0, -5], [255, 7]]), ((8, False), (12, True)))
    header = Jp2Header(
        ImageHeader(30, 20, 2, None, True),
        BitsPerComponent(((8, False), (12, True))),
        (ColourSpecification(1, 16), ColourSpecification(2, None, b"profile")),
        palette,
        ((0, 0), (0, 1), (1, None)),
        (ChannelDefinition(0, 0, 1), ChannelDefinition(1, 1, 0)),
        (Resolution("resc", Fraction(3000), Fraction(11811, 100)), Resolution("resd", Fraction(1, 3), Fraction(10**7))),
    )
    data = as_array(write_jp2(b"stream", header, [pack_box("xml ", b"<a/>")]))
    boxes = read_boxes(data)
    assert [box.kind for box in boxes] == ["jP  ", "ftyp", "jp2h", "xml ", "jp2c"]
    assert data[boxes[-1].start : boxes[-1].stop].tobytes() == b"stream"
    read = Jp2Header.read(data, boxes[2])
    assert (read.palette.entries == palette.entries).all()
    for name in ("image", "bits", "colours", "mapping", "channels", "resolutions"):
        assert getattr(read, name) == getattr(header, name)


def test_long_box_and_box_to_the_end():
    text = (1).to_bytes(4, "big") + b"long" + (19).to_bytes(8, "big") + b"abc" + bytes(4) + b"last" + b"rest"
    boxes = read_boxes(as_array(text))
    assert [(box.kind, box.start, box.stop) for box in boxes] == [("long", 16, 19), ("last", 27, 31)]


def test_box_that_is_cut_ends_with_the_file():
    box = read_boxes(as_array(pack_box("abcd", b"0123456789")[:12]))[0]
    assert (box.start, box.stop) == (8, 12)


def test_box_shorter_than_its_head():
    with pytest.raises(CodecError, match="less than its own head"):
        read_boxes(as_array((4).to_bytes(4, "big") + b"abcd"))


def test_deep_boxes_end():
    text = b""
    for _ in range(200):
        text = pack_box("asoc", text)
    depth, boxes = 0, read_boxes(as_array(text))
    while boxes:
        depth, boxes = depth + 1, boxes[0].boxes
    assert depth < 20


@pytest.mark.parametrize("content", ["0000 01 07", "0001 00", "0001 01 07", "0401 01 07"])
def test_palettes_that_make_no_sense(content):
    with pytest.raises(CodecError, match="pclr"):
        Palette.read(bytes.fromhex(content))


def test_channel_of_a_column_that_is_missing():
    header = Jp2Header(ImageHeader(1, 1, 1, (8, False)), mapping=((0, 3),))
    data = as_array(header.write())
    with pytest.raises(CodecError, match="column 3"):
        Jp2Header.read(data, read_boxes(data)[0])


GEO = ("uuid", bytes.fromhex("b14bf8bd083d4b43a5ae8cd7d5a6ce03") + b"II*\0" + bytes(12))
IMAGE = np.arange(600, dtype=np.uint8).reshape(20, 30)


def test_boxes_beside_the_image_go_both_ways():
    boxes = (GEO, ("xml ", b"<gml/>"), ("asoc", pack_box("lbl ", b"gml.data")))
    data = encode(IMAGE, boxes=boxes)
    assert read_header(data).extras == boxes
    assert encode(decode(data).samples, boxes=read_header(data).extras) == data
    assert read_header(transcode(data)).extras == boxes
    np.testing.assert_array_equal(decode(data).samples, IMAGE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boxes": [("jp2c", b"")]}, "use one of"),
        ({"boxes": [("uuid", b"short")]}, "16 bytes"),
        ({"boxes": [GEO], "form": "j2k"}, "no room for"),
        ({"palette": np.zeros((256, 3))}, "as uint8 or uint16"),
        ({"palette": np.zeros((100, 3), np.uint8)}, "names entry 255 of a palette of 100"),
        ({"palette": np.zeros((2000, 3), np.uint8)}, "1 to 1024"),
    ],
)
def test_boxes_that_do_not_fit(options, message):
    with pytest.raises(ArgumentError, match=message):
        encode(IMAGE, **options)


@pytest.mark.parametrize(("dtype", "channels"), [(np.uint8, 3), (np.uint16, 3), (np.uint8, 4), (np.uint8, 1)])
def test_palettes_are_written(dtype, channels):
    table = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (256, channels)).astype(dtype)
    data = encode(IMAGE, palette=table)
    wanted = table[IMAGE] if channels > 1 else table[IMAGE][..., 0]
    np.testing.assert_array_equal(decode(data).samples, wanted)
    assert read_header(data).colour_space == ("greyscale" if channels == 1 else "sRGB")
    if dtype == np.uint8 and channels == 3:
        judge = pytest.importorskip("imagecodecs")
        np.testing.assert_array_equal(judge.jpeg2k_decode(data), wanted)


def make_jpx(*boxes):
    kind = pack_box("ftyp", b"jpx " + bytes(4) + b"jpx jp2 jpxb")
    return b"".join((SIGNATURE, kind, pack_box("rreq", bytes(8)), *boxes))


STREAM = encode(np.dstack([IMAGE] * 3), form="j2k")
HEADER = ImageHeader(20, 30, 3, (8, False)).write()
COLOUR = ColourSpecification(1, 16).write()


def test_headers_of_jpx_files():
    apart = make_jpx(pack_box("jpch", HEADER), pack_box("jplh", pack_box("cgrp", COLOUR)), pack_box("jp2c", STREAM))
    header = read_header(apart)
    assert header.colour_space == "sRGB"
    np.testing.assert_array_equal(decode(apart).samples[..., 0], IMAGE)
    shared = make_jpx(pack_box("jp2h", HEADER), pack_box("jplh", pack_box("cgrp", COLOUR)), pack_box("jp2c", STREAM))
    assert read_header(shared).colour_space == "sRGB"
    own = ColourSpecification(1, 17).write()
    other = pack_box("jplh", pack_box("cgrp", COLOUR))
    first = make_jpx(pack_box("jp2h", HEADER + own), other, pack_box("jp2c", STREAM))
    assert read_header(first).colour_space == "greyscale"


def test_the_first_of_several_codestreams_is_read():
    other = encode(np.zeros((20, 30, 3), np.uint8), form="j2k")
    data = make_jpx(pack_box("jp2h", HEADER + COLOUR), pack_box("jp2c", STREAM), pack_box("jp2c", other))
    with pytest.warns(UserWarning, match="2 codestreams; the first"):
        np.testing.assert_array_equal(decode(data).samples[..., 0], IMAGE)


def make_fragments(pieces):
    """Return a file whose codestream lies in pieces: offset, length, and the number of another file, or 0."""

    def build(start):
        entries = b"".join(
            (start + first).to_bytes(8, "big") + length.to_bytes(4, "big") + other.to_bytes(2, "big")
            for first, length, other in pieces
        )
        table = pack_box("ftbl", pack_box("flst", len(pieces).to_bytes(2, "big") + entries))
        return make_jpx(pack_box("jp2h", HEADER + COLOUR), table, pack_box("mdat", STREAM))

    return build(len(build(0)) - len(STREAM))


@pytest.mark.parametrize("cuts", [[], [50], [50, 51, 200]])
def test_codestreams_in_fragments(cuts):
    edges = [0, *cuts, len(STREAM)]
    data = make_fragments([(a, b - a, 0) for a, b in pairwise(edges)])
    np.testing.assert_array_equal(decode(data).samples[..., 0], IMAGE)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([(0, 20, 1)], "another file"),
        ([(0, 1 << 30, 0)], "the file has"),
        ([], "no part"),
        ([(0, 250, 0)] * 1000, "longer than the file"),
    ],
)
def test_fragments_that_make_no_sense(pieces, message):
    with pytest.raises(CodecError, match=message):
        decode(make_fragments(pieces))

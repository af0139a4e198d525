from fractions import Fraction

import numpy as np
import pytest

from subband.codecs.jpeg2000.boxes import (
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
from subband.errors import CodecError


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

"""Small files that declare much: refused, or decoded soon and in memory of the order of the image."""

import time
import tracemalloc
import warnings
from io import BytesIO

import numpy as np
import pytest

from subband.codecs.jpeg2000 import encode
from subband.codecs.jpeg2000.boxes import ColourSpecification, ImageHeader, Jp2Header, Palette, write_jp2
from subband.codecs.jpeg2000.files import imread
from subband.codecs.jpeg2000.markers import Comment, TilePart
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
    QuantisationDefault,
)
from subband.engines.memory import release_memory
from subband.errors import CodecError

#: Times its own size that an image may take, and bytes that any may.
MOST_TIMES, FREE = 4, 1 << 26

#: Processor seconds after which a file counts as one that does not end: ten times what the slowest takes.
TOO_LONG = 15.0

FLAT, PLAIN = CodingStyle(levels=0), (ComponentSize(8),)


def make_size(side, components=PLAIN, tile=None):
    return ImageSize(side, side, 0, 0, tile or side, tile or side, 0, 0, tuple(components))


def make_stream(size, style=FLAT, *, body=bytes(8), extra=b"", parts=None, tiles=1):
    quantisation = QuantisationDefault(Quantisation(0, 2, ((10, 0),) * 97)).write()
    head = b"\xff\x4f" + size.write() + CodingDefault(style=style).write() + quantisation + extra
    if parts is None:
        parts = b"".join(make_part(tile, body=body) for tile in range(tiles))
    return head + parts + b"\xff\xd9"


def make_part(tile, extra=b"", body=b""):
    return TilePart(tile, 14 + len(extra) + len(body), 0, 1).write() + extra + b"\xff\x93" + body


def box(stream, side, components=1, space=17, palette=None, mapping=()):
    image = ImageHeader(side, side, components, (8, False))
    return write_jp2(stream, Jp2Header(image, None, (ColourSpecification(1, space),), palette, mapping))


def make_palette(columns):
    return Palette(np.zeros((1, columns), np.int64), ((8, False),) * columns)


def make_own_styles(components, tile, count):
    """Return tiles that declare the styles of components, each in another way."""
    size = make_size(1024, (ComponentSize(8, False, 255, 255),) * components, tile)
    number = (1024 // tile) ** 2
    parts = []
    for each in range(number):
        first = CodingComponent(0, CodingStyle(levels=0, block_width=2 + each % 5)).write(components)
        others = CodingComponent(1 + each // 5 % (components - 1), CodingStyle(levels=1)).write(components)
        parts.append(make_part(each, first + others * (count // number), bytes(8)))
    return make_stream(size, parts=b"".join(parts))


STEPS = (ComponentSize(8, False, 255, 1), ComponentSize(8, False, 1, 255))
CHANGES = ProgressionChange((Progression(Order.RPCL, 0, 1, 0, 1, 1),) * 512).write(1)
NOTHING = ProgressionChange((Progression(Order.RPCL, 5, 6, 0, 1, 1),) * 512).write(1)
FINE = CodingStyle(levels=0, precincts=((1, 1),))

BOMBS = {
    "steps that make two thin planes a square": lambda: make_stream(make_size(8192, STEPS)),
    "steps beyond the limit": lambda: make_stream(make_size(65535, STEPS)),
    "255 columns of a palette": lambda: box(make_stream(make_size(1024)), 1024, palette=make_palette(255)),
    "255 columns beyond the limit": lambda: box(make_stream(make_size(4096)), 4096, palette=make_palette(255)),
    "16000 channels of a component": lambda: box(
        make_stream(make_size(128)), 128, palette=make_palette(1), mapping=((0, 0),) * 16000
    ),
    "16000 channels beyond the limit": lambda: box(
        make_stream(make_size(1024)), 1024, palette=make_palette(1), mapping=((0, 0),) * 16000
    ),
    "512 progressions over a million precincts": lambda: make_stream(make_size(2048), FINE, extra=CHANGES),
    "512 progressions over none of them": lambda: make_stream(make_size(2048), FINE, extra=NOTHING),
    "512 progressions of 1024 tiles": lambda: make_stream(
        make_size(2048, tile=64), CodingStyle(levels=5), body=bytes(10), extra=CHANGES, tiles=1024
    ),
    "styles of components in the main header": lambda: make_stream(
        make_size(1024, (ComponentSize(8, False, 255, 255),) * 255, 16),
        extra=b"".join(CodingComponent(each, CodingStyle(levels=1)).write(255) for each in range(255)) * 400,
        tiles=4096,
    ),
    "styles of components in each tile": lambda: make_own_styles(255, 16, 100_000),
    "styles of a thousand components in each tile": lambda: make_own_styles(1000, 32, 100_000),
    "a tile in 40000 parts": lambda: make_stream(
        make_size(64), parts=make_part(0, Comment(b"").write()) * 40000
    ),
    "luminance and differences of an empty stream": lambda: box(
        make_stream(make_size(4096, (ComponentSize(8),) * 3)), 4096, 3, 18
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Have everything compiled, which may take longer than a test allows."""
    imread(BytesIO(encode(np.zeros((40, 40, 3), np.uint8), tile=(16, 16), space="ycc")))


def read_bomb(data):
    """Return the bytes of what becomes of a file: none if it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return imread(BytesIO(data)).nbytes
        except CodecError:
            return 0


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end(name):
    data = BOMBS[name]()
    begin = time.process_time()
    read_bomb(data)
    assert time.process_time() - begin < TOO_LONG


# to trace many small objects takes minutes
@pytest.mark.parametrize("name", [name for name in BOMBS if not name.startswith(("styles", "a tile"))])
def test_bombs_take_little_memory(name):
    data = BOMBS[name]()
    release_memory()
    tracemalloc.start()
    try:
        size = read_bomb(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < FREE + MOST_TIMES * size

"""Damaged and malicious files: a picture, a warning or a CodecError, soon, and in little memory."""

import io
import tracemalloc
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from subband.codecs.jpeg2000.boxes import ColourSpecification, ImageHeader, Jp2Header, Palette, write_jp2
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.files import encode, imread
from subband.codecs.jpeg2000.header import open_file
from subband.codecs.jpeg2000.inspection import inspect
from subband.codecs.jpeg2000.markers import PacketLengths, TilePart
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
from subband.errors import CodecError

Image = pytest.importorskip("PIL.Image")

SIZE = ImageSize(64, 64, 0, 0, 64, 64, 0, 0, (ComponentSize(8),))


def make_stream(size=SIZE, coding=None, body=b"\x00" * 40, extra=b"", steps=97, tile_extra=b"", tiles=1):
    coding = coding or CodingDefault(style=CodingStyle(levels=2))
    quantisation = QuantisationDefault(Quantisation(0, 2, ((10, 0),) * steps)).write()
    length = 14 + len(tile_extra) + len(body)
    parts = b"".join(TilePart(tile, length, 0, 1).write() + tile_extra + b"\xff\x93" + body for tile in range(tiles))
    return b"\xff\x4f" + size.write() + coding.write() + quantisation + extra + parts + b"\xff\xd9"


def write(picture, **options):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG2000", **options)
    return file.getvalue()


def make_files():
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:48, :56]
    smooth = 128 + 100 * np.sin(x / 5)[..., None] * np.cos(y / 4)[..., None] + rng.normal(0, 9, (48, 56, 3))
    picture = np.clip(smooth, 0, 255).astype(np.uint8)
    return [
        write(picture, num_resolutions=3),
        write(picture, num_resolutions=2, tile_size=(32, 32), plt=True, irreversible=True, quality_layers=[20, 5]),
        write(picture[..., 0].copy(), num_resolutions=4, precinct_size=(32, 32), progression="PCRL", no_jp2=True),
    ]


FILES = make_files()


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Have everything compiled, which may take longer than a test allows."""
    for data in FILES:
        decode(data)


def mutate(data, rng):
    data = bytearray(data)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(data[: rng.integers(len(data))])
    if kind == 3:
        start, source = rng.integers(len(data), size=2)
        data[start : start + rng.integers(1, 20)] = data[source : source + rng.integers(0, 20)]
        return bytes(data)
    # headers are short, and most of what can go wrong is there
    most = min(300, len(data)) if kind == 1 else len(data)
    for _ in range(rng.integers(1, 12)):
        data[rng.integers(most)] = rng.integers(256)
    return bytes(data)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files(seed):
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(60):
            data = mutate(FILES[number % len(FILES)], rng)
            try:
                samples = decode(data, most_pixels=1 << 20).samples
                assert sum(plane.size for plane in (samples if isinstance(samples, tuple) else (samples,))) <= 1 << 20
            except CodecError:
                pass
            with suppress(CodecError):
                str(inspect(data))


def test_an_empty_tile_is_grey():
    assert (decode(make_stream(body=bytes(3))).samples == 128).all()


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (
            make_stream(replace(SIZE, x1=2**32 - 1, y1=2**32 - 1, tile_width=2**32 - 1, tile_height=2**32 - 1)),
            "most_pixels",
        ),
        (make_stream(replace(SIZE, x1=2**20, y1=2**20, tile_width=1, tile_height=1)), "tiles"),
        (make_stream(replace(SIZE, components=(ComponentSize(8),) * 16384)), "resolutions"),
        (
            make_stream(
                replace(SIZE, x1=8192, y1=8192, tile_width=8192, tile_height=8192),
                CodingDefault(style=CodingStyle(levels=0, precincts=((0, 0),))),
            ),
            "precincts",
        ),
        (
            make_stream(
                replace(SIZE, x1=8192, y1=8192, tile_width=8192, tile_height=8192),
                CodingDefault(style=CodingStyle(levels=0, block_width=2, block_height=2)),
            ),
            "code-blocks",
        ),
        (make_stream(steps=3), "steps"),
        (make_stream(coding=CodingDefault(has_colour_transform=True)), "colour transform"),
        (
            make_stream(extra=ProgressionChange((Progression(Order.LRCP, 0, 1, 0, 1, 1),) * 1000).write(1)),
            "1000 progressions",
        ),
        (make_stream(tiles=0), "EOC"),
        (
            make_stream(
                replace(SIZE, x1=256, y1=256, tile_width=2, tile_height=2, components=(ComponentSize(8),) * 900),
                tiles=200,
            ),
            "resolutions",
        ),
    ],
    ids=[
        "size",
        "tiles",
        "components",
        "precincts",
        "blocks",
        "steps",
        "colours",
        "changes",
        "none",
        "parts",
    ],
)
def test_declared_sizes_are_checked_first(stream, message):
    tracemalloc.start()
    try:
        with pytest.raises(CodecError, match=message):
            decode(stream)
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
    finally:
        tracemalloc.stop()


def test_many_layers_of_nothing_end():
    coding = CodingDefault(layers=65535, style=CodingStyle(levels=5))
    with pytest.warns(UserWarning, match="ends early"):
        assert (decode(make_stream(coding=coding)).samples == 128).all()


def test_lengths_of_nothing_end():
    coding = CodingDefault(Order.LRCP, layers=65535, style=CodingStyle(levels=2))
    extra = PacketLengths(0, (0,) * 50000).write()
    with pytest.warns(UserWarning, match="ends early"):
        decode(make_stream(coding=coding, tile_extra=extra), reduce=1)


def test_lengths_that_lie():
    data = bytearray(FILES[1])
    place = data.index(b"\xff\x58") + 5
    data[place : place + 4] = b"\x7f\x7f\x7f\x7f"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert decode(bytes(data), reduce=1).samples.shape == (24, 28, 3)


def test_blocks_of_random_bytes():
    rng = np.random.default_rng(3)
    for style in (0, 1, 4, 8, 16, 32, 63):
        coding = CodingDefault(style=CodingStyle(levels=2, block_style=style))
        body = b"\xc0" + rng.integers(0, 256, 3000, dtype=np.uint8).tobytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert decode(make_stream(coding=coding, body=body)).samples.shape == (64, 64)


def make_bomb(palette=None, mapping=()):
    """Return a file of few bytes whose channels would be many times its component."""
    size = replace(SIZE, x1=1024, y1=1024, tile_width=1024, tile_height=1024)
    header = Jp2Header(ImageHeader(1024, 1024, 1, (8, False)), None, (ColourSpecification(1, 17),), palette, mapping)
    return write_jp2(make_stream(size), header)


@pytest.mark.parametrize(
    "data",
    [
        make_bomb(Palette(np.zeros((1, 255), np.int64), ((8, False),) * 255)),
        make_bomb(Palette(np.zeros((1, 1), np.int64), ((8, False),)), ((0, 0),) * 16000),
    ],
    ids=["columns", "mapping"],
)
def test_channels_of_palettes_count(data):
    tracemalloc.start()
    try:
        with pytest.raises(CodecError, match="samples, and most_pixels=4194304"):
            decode(data, most_pixels=1 << 22)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_channels_that_are_brought_to_one_size_count():
    steps = (ComponentSize(8, False, 255, 1), ComponentSize(8, False, 1, 255))
    size = replace(SIZE, x1=8192, y1=8192, tile_width=8192, tile_height=8192, components=steps)
    data = make_stream(size, CodingDefault(style=CodingStyle(levels=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [plane.shape for plane in decode(data, most_pixels=1 << 20).planes] == [(8192, 33), (33, 8192)]
        with pytest.raises(CodecError, match="134217728 samples"):
            imread(io.BytesIO(data), most_pixels=1 << 20)


def test_progressions_of_nothing_over_many_precincts():
    size = replace(SIZE, x1=2048, y1=2048, tile_width=2048, tile_height=2048)
    coding = CodingDefault(style=CodingStyle(levels=0, precincts=((2, 2),)))
    changes = ProgressionChange((Progression(Order.RPCL, 5, 6, 0, 1, 1),) * 500).write(1)
    with pytest.raises(CodecError, match=r"POC goes over \d+ precincts"):
        decode(make_stream(size, coding, body=bytes(300_000), extra=changes))


def test_tiles_have_room_for_blocks_together():
    size = replace(SIZE, x1=2048, y1=2048, tile_width=1024, tile_height=1024)
    coding = CodingDefault(style=CodingStyle(levels=0, block_width=2, block_height=2, precincts=((2, 2),)))
    whole = decode(make_stream(replace(size, x1=1024, y1=1024), coding, body=bytes(65536)))
    assert (whole.samples == 128).all()
    wide = replace(size, x1=20480, tile_width=1024)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(CodecError, match="can hold"):
            decode(make_stream(wide, coding, body=bytes(10), tiles=40))


def test_tiles_share_what_the_main_header_says():
    size = replace(SIZE, tile_width=32, tile_height=32, components=(ComponentSize(8),) * 3)
    own = CodingComponent(1, CodingStyle(levels=1)).write(3)
    stream = open_file(make_stream(size, extra=own, tiles=4)).stream
    first, second = (stream.read_tile(tile, [stream.tile_parts.all[tile]]) for tile in (0, 1))
    assert [style.levels for style in first.styles] == [2, 1, 2]
    assert first.styles is second.styles
    assert first.quantisations is second.quantisations
    assert first.shifts is second.shifts


def test_a_single_tile_whose_headers_are_damaged_is_an_error():
    with pytest.raises(CodecError, match="COM at byte"):
        decode(make_stream(tile_extra=b"\xff\x64\xff\xff"))


def test_extensions_of_part_2_are_told():
    with pytest.raises(CodecError, match="MCT, an extension of Part 2"):
        decode(make_stream(extra=b"\xff\x74\x00\x04\x00\x00"))
    with pytest.raises(CodecError, match="NLT, an extension of Part 2"):
        decode(make_stream(tile_extra=b"\xff\x76\x00\x04\x00\x00"))
    with pytest.warns(UserWarning, match="SIZ declares extensions of Part 2"):
        decode(make_stream(replace(SIZE, capabilities=0x8000), body=bytes(3)))


def test_bytes_behind_the_last_packet_are_told():
    with pytest.warns(UserWarning, match="tile 0 has 37 bytes behind its last packet"):
        assert (decode(make_stream()).samples == 128).all()
    # a tile-part without a length goes on to the end of the stream, and holds its last marker
    data = make_stream(body=bytes(3))
    at = data.index(b"\xff\x90")
    whole = data[: at + 6] + bytes(4) + data[at + 10 :]
    assert (decode(whole).samples == 128).all()


def test_passes_beyond_the_bit_planes_are_told():
    data = encode(np.arange(4096, dtype=np.uint8).reshape(64, 64), form="j2k", levels=0)
    # guard bits are two more bit planes; without them blocks have more passes than planes
    at = data.index(b"\xff\x5c") + 4
    assert data[at] >> 5 == 2
    fewer = data[:at] + bytes([data[at] & 31]) + data[at + 1 :]
    with pytest.warns(UserWarning, match="code-blocks have more passes than their bit planes"):
        decode(fewer)


def test_a_single_tile_without_a_packet_that_makes_sense_is_an_error():
    size = replace(SIZE, tile_width=32)
    nonsense = b"\xff\x7f" * 400
    with pytest.raises(CodecError, match="nothing of it can be decoded"):
        decode(make_stream(body=nonsense))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (decode(make_stream(size, body=nonsense, tiles=2)).samples == 128).all()
    assert sum("cannot be decoded" in str(warning.message) for warning in caught) == 2


def test_memory_that_is_not_there_is_an_error_of_the_codec(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("subband.codecs.jpeg2000.decoder.decode_tiles", fail)
    with pytest.raises(CodecError, match="8064 samples take more memory than there is"):
        decode(FILES[0])

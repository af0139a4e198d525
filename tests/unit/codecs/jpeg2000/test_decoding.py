"""Decoding what OpenJPEG writes, with OpenJPEG as the judge."""

import io
import warnings
from itertools import pairwise

import numpy as np
import pytest

from subband.codecs.jpeg2000.boxes import (
    ChannelDefinition,
    ColourSpecification,
    ImageHeader,
    Jp2Header,
    Palette,
    write_jp2,
)
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.faults import CodecWarning
from subband.codecs.jpeg2000.files import encode
from subband.codecs.jpeg2000.geometry import Rectangle
from subband.codecs.jpeg2000.header import read_header
from subband.codecs.jpeg2000.parameters import Order
from subband.codecs.jpeg2000.transform import analyse
from subband.engines.memory import release_memory
from subband.errors import ArgumentError, CodecError

Image = pytest.importorskip("PIL.Image")
imagecodecs = pytest.importorskip("imagecodecs")

ORDERS = [order.name for order in Order]


def make_picture(height=97, width=129, channels=3):
    """Return smooth slopes, edges and noise, so that every band holds something."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[:height, :width]
    planes = [
        128 + 90 * np.sin(x / (7 + 3 * c)) * np.cos(y / (5 + c)) + 40 * ((x // 16 + y // 16) % 2)
        for c in range(channels)
    ]
    noisy = np.stack(planes, axis=-1) + rng.normal(0, 4, (height, width, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)


PICTURE = make_picture()


def write(picture, **options):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG2000", **options)
    return file.getvalue()


def judge(data, reduce=0):
    picture = Image.open(io.BytesIO(data))
    picture.reduce = reduce
    return np.asarray(picture).astype(int)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"precinct_size": (32, 64), "codeblock_size": (16, 8)},
        {"tile_size": (57, 50), "tile_offset": (3, 2), "offset": (13, 7), "codeblock_size": (4, 64)},
        {"tile_size": (160, 160), "offset": (21, 30), "precinct_size": (64, 32)},
    ],
    ids=["plain", "precincts", "tiles", "offset"],
)
def test_lossless_files(order, options):
    data = write(PICTURE, progression=order, num_resolutions=4, **options)
    found = decode(data).samples
    assert found.dtype == np.uint8
    assert (found == PICTURE).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [{}, {"tile_size": (50, 60), "offset": (5, 9)}], ids=["plain", "tiles"])
def test_lossy_files(order, options):
    data = write(
        PICTURE, progression=order, irreversible=True, quality_layers=[40, 12, 5], num_resolutions=4, **options
    )
    assert np.abs(decode(data).samples - judge(data)).max() <= 1


@pytest.mark.parametrize("is_lossy", [False, True])
@pytest.mark.parametrize("levels", range(6))
def test_numbers_of_levels(levels, is_lossy):
    data = write(PICTURE, num_resolutions=levels + 1, irreversible=is_lossy)
    assert np.abs(decode(data).samples - judge(data)).max() <= is_lossy


@pytest.mark.parametrize(
    "picture",
    [
        PICTURE[..., 0],
        PICTURE[..., 0].astype(np.uint16) * 257,
        PICTURE[..., :2],
        np.concatenate([PICTURE, PICTURE[..., :1]], axis=-1),
    ],
    ids=["grey", "deep", "grey and opacity", "colours and opacity"],
)
@pytest.mark.parametrize(
    "options", [{"mct": 0}, {"mct": 1, "plt": True, "tile_size": (64, 64)}], ids=["plain", "tiles"]
)
def test_kinds_of_pictures(picture, options):
    data = write(np.ascontiguousarray(picture), **options)
    found = decode(data).samples
    assert found.dtype == picture.dtype
    # not the picture itself: Pillow cuts deep ones wrongly into tiles
    assert (found == imagecodecs.jpeg2k_decode(data)).all()


def test_signed_samples():
    picture = np.ascontiguousarray(PICTURE[..., 0])
    found = decode(write(picture, signed=True)).samples
    assert found.dtype == np.int8
    # Pillow writes the bytes as they are
    assert (found.view(np.uint8) == picture).all()


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (8, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("options", [{"reversible": True, "level": 0}, {"level": 50}], ids=["lossless", "lossy"])
def test_small_pictures(size, options):
    picture = np.ascontiguousarray(PICTURE[: size[0], : size[1], 0])
    data = imagecodecs.jpeg2k_encode(picture, **options)
    assert np.abs(decode(data).samples.astype(int) - imagecodecs.jpeg2k_decode(data)).max() <= 1


@pytest.mark.parametrize("bits", [1, 2, 5, 10, 12, 16])
def test_depths(bits):
    dtype = np.uint8 if bits <= 8 else np.uint16
    picture = (make_picture(channels=1)[..., 0].astype(int) * ((1 << bits) - 1) // 255).astype(dtype)
    data = imagecodecs.jpeg2k_encode(picture, reversible=True, level=0, bitspersample=bits)
    picked = decode(data)
    assert picked.header.components[0].precision == bits
    assert (picked.samples == picture).all()


@pytest.mark.parametrize("is_lossy", [False, True])
@pytest.mark.parametrize("reduce", [1, 2, 3])
def test_reduced_files(reduce, is_lossy):
    # a multiple of the scale, since Pillow reads no other
    picture = np.ascontiguousarray(make_picture(96, 128))
    data = write(picture, num_resolutions=4, irreversible=is_lossy)
    assert np.abs(decode(data, reduce=reduce).samples - judge(data, reduce)).max() <= is_lossy


@pytest.mark.parametrize("reduce", [-1, 1.5, True, "1"])
def test_what_is_no_number_of_levels_is_refused(reduce):
    with pytest.raises(ArgumentError, match="is not a number of levels"):
        decode(encode(np.zeros((8, 8), np.uint8)), reduce=reduce)


def test_reduced_tiles_are_the_low_bands():
    picture = np.ascontiguousarray(PICTURE[..., 0])
    data = write(picture, tile_size=(57, 50), offset=(13, 7), num_resolutions=4)
    found = decode(data, reduce=2).samples
    rows, columns = [7, 50, 100, 104], [13, 57, 114, 142]
    for y0, y1 in pairwise(rows):
        for x0, x1 in pairwise(columns):
            area = Rectangle(x0, y0, x1, y1)
            tile = picture[y0 - 7 : y1 - 7, x0 - 13 : x1 - 13].astype(np.int32) - 128
            low = np.clip(analyse(tile, area, 2, True)[0]["LL"] + 128, 0, 255)
            small = area.divide(4, 4)
            part = found[small.y0 - 2 : small.y1 - 2, small.x0 - 4 : small.x1 - 4]
            assert (part == low).all()


@pytest.mark.parametrize("reduce", [0, 1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tile_size": (44, 35), "tile_offset": (3, 5), "offset": (10, 7), "plt": True},
        {
            "irreversible": True,
            "precinct_size": (32, 32),
            "codeblock_size": (16, 16),
            "plt": True,
            "progression": "RPCL",
        },
        {"irreversible": True, "tile_size": (60, 60), "offset": (1, 1)},
    ],
    ids=["plain", "tiles", "precincts", "lossy tiles"],
)
def test_regions_are_parts_of_the_whole(options, reduce, tmp_path):
    path = tmp_path / "picture.jp2"
    path.write_bytes(write(PICTURE, num_resolutions=4, **options))
    whole = decode(path, reduce=reduce).samples
    left, top = options.get("offset", (0, 0))
    for y0, x0, y1, x1 in ((0, 0, 97, 129), (5, 7, 30, 90), (50, 60, 58, 68), (90, 0, 97, 8), (0, 100, 97, 129)):
        part = decode(path, reduce=reduce, region=(y0, x0, y1, x1)).samples
        edges = [-((-(place + first)) >> reduce) for place, first in ((y0, top), (y1, top), (x0, left), (x1, left))]
        first_row, first_column = -((-top) >> reduce), -((-left) >> reduce)
        wanted = whole[edges[0] - first_row : edges[1] - first_row, edges[2] - first_column : edges[3] - first_column]
        assert part.shape == wanted.shape
        assert (part == wanted).all()


def test_chosen_components():
    data = write(PICTURE, mct=1)
    assert (decode(data, components=[2]).samples == PICTURE[..., 2]).all()
    assert (decode(data, components=[2, 0]).samples == PICTURE[..., [2, 0]]).all()


def test_fewer_layers_are_coarser():
    data = write(PICTURE, quality_layers=[60, 20, 1])
    errors = [np.mean((decode(data, layers=layers).samples.astype(float) - PICTURE) ** 2) for layers in (1, 2, 3)]
    assert errors[0] > errors[1] > errors[2] == 0


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_engines(engine):
    data = write(PICTURE, irreversible=True, quality_layers=[8], offset=(5, 9), tile_size=(200, 200))
    assert np.abs(decode(data, engine=engine).samples - judge(data)).max() <= 1


@pytest.mark.parametrize("order", ["LRCP", "RPCL"])
def test_cut_files_are_decoded_as_far_as_they_go(order):
    data = write(PICTURE, quality_layers=[40, 10, 1], progression=order)
    last = np.inf
    for share in (0.2, 0.5, 0.9):
        with pytest.warns(CodecWarning):
            found = decode(data[: int(share * len(data))]).samples
        error = np.mean((found.astype(float) - PICTURE) ** 2)
        assert error < last
        last = error


def test_missing_tiles_are_grey():
    data = write(PICTURE, tile_size=(64, 64))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = decode(data[: len(data) // 2]).samples
    assert any("tiles are missing" in str(warning.message) for warning in caught)
    assert (found[:64, :64] == PICTURE[:64, :64]).all()
    assert (found[-5:, -5:] == 128).all()


def test_palette_and_channels():
    indices = (PICTURE[..., 0] >> 6).astype(np.uint8)
    stream = imagecodecs.jpeg2k_encode(indices, reversible=True, level=0, codecformat="j2k")
    colours = np.array([[255, 0, 9], [0, 255, 8], [7, 7, 255], [90, 80, 70]])
    header = Jp2Header(
        ImageHeader(97, 129, 1, (8, False)),
        colours=(ColourSpecification(1, 16),),
        palette=Palette(colours, ((8, False),) * 3),
        mapping=((0, 0), (0, 1), (0, 2)),
        channels=(ChannelDefinition(0, 0, 3), ChannelDefinition(1, 0, 2), ChannelDefinition(2, 0, 1)),
    )
    data = write_jp2(stream, header)
    found = decode(data)
    assert found.header.colour_space == "sRGB"
    assert (found.samples == colours[indices][..., ::-1]).all()
    assert (decode(data, components=[0]).samples == indices).all()


def test_header_without_decoding():
    data = write(PICTURE, tile_size=(64, 50), quality_layers=[9, 3], progression="CPRL", num_resolutions=3, mct=1)
    header = read_header(data)
    assert (header.width, header.height, header.tiles) == (129, 97, (3, 2))
    assert (header.levels, header.layers, header.order) == (2, 2, Order.CPRL)
    assert (header.is_reversible, header.has_colour_transform, header.colour_space) == (True, True, "sRGB")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"region": (0, 0, 98, 10)}, "not a part of an image"),
        ({"region": (5, 5, 5, 10)}, "not a part of an image"),
        ({"region": (1, 2, 3)}, "has 3 numbers"),
        ({"reduce": 6}, "use at most 5"),
        ({"reduce": -1}, "not a number of levels"),
        ({"layers": 0}, "no number of layers"),
        ({"components": [3]}, "3 components"),
        ({"components": []}, "3 components"),
        ({"components": [1, 1]}, "each once"),
    ],
)
def test_arguments_that_do_not_fit(options, message):
    with pytest.raises(ArgumentError, match=message):
        decode(write(PICTURE), **options)


def test_too_many_samples():
    with pytest.raises(CodecError, match="most_pixels=1000"):
        decode(write(PICTURE), most_pixels=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(write(PICTURE), most_pixels=1000, region=(0, 0, 10, 10)).samples.shape == (10, 10, 3)


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\x4f\xff\x51", b"GIF89a", bytes(100)])
def test_other_files(data):
    with pytest.raises(CodecError):
        decode(data)


def test_what_is_remembered_of_small_images_belongs_to_their_headers():
    """Layouts go from one stream to the next; steps, shapes, orders and levels must not."""
    small = PICTURE[:40, :50]
    settings = [
        {},
        {"ht": True},
        {"levels": 2},
        {"lossless": False, "step": 2.0},
        {"lossless": False, "step": 9.0},
        {"progression": "RPCL", "precincts": [(32, 32)]},
        {"layers": 3},
        {"block": (16, 16)},
    ]
    streams = [encode(small, **each) for each in settings]
    found = [decode(stream).samples for stream in streams]
    for stream, own in zip(streams[::-1], found[::-1], strict=True):
        release_memory()
        np.testing.assert_array_equal(decode(stream).samples, own)
    for stream, own in zip(streams, settings, strict=True):
        release_memory()
        assert encode(small, **own) == stream
    for own, stream in zip(settings, found, strict=True):
        if own.get("lossless", True):
            np.testing.assert_array_equal(stream, small)

"""What stands in the streams that are written, and what is refused."""

import io

import numpy as np
import pytest

from subband.codecs.jpeg2000 import CodecWarning, Settings, Times, decode, encode, imread, imwrite, read_header
from subband.codecs.jpeg2000.components import as_components
from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.inspection import inspect
from subband.codecs.jpeg2000.lazy import open_image
from subband.codecs.jpeg2000.packing import list_packets
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize, Order, Progression
from subband.codecs.jpeg2000.progressions import iterate_packets, tabulate_precincts
from subband.errors import ArgumentError, DtypeError, ShapeError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (61, 83), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (61, 83, 3), dtype=np.uint8)


def read_back(data, **options):
    return imread(io.BytesIO(data), **options)


@pytest.mark.parametrize("order", list(Order))
def test_packets_come_in_the_order_of_the_standard(order):
    sizes = (ComponentSize(8), ComponentSize(8, False, 2, 1), ComponentSize(8, False, 2, 2))
    size = ImageSize(150, 97, 5, 3, 70, 60, 2, 1, sizes)
    style = CodingStyle(levels=3, precincts=((3, 4), (4, 4), (5, 4), (5, 5)))
    layouts = [lay_out_tile(size, [style] * 3, tile) for tile in range(6)]
    found = list_packets(size, layouts, order, 3)
    first, expected = 0, []
    for layout in layouts:
        table = tabulate_precincts(layout, size)
        number = {
            key: place
            for place, key in enumerate(
                zip(table.resolution.tolist(), table.component.tolist(), table.index.tolist(), strict=True)
            )
        }
        for layer, *key in iterate_packets(layout, size, [Progression(order)], 3):
            expected.append((first + number[tuple(key)]) * 3 + layer)
        first += layout.precinct_count
    assert found.tolist() == expected


def test_lengths_for_random_access_are_right():
    data = encode(COLOUR, form="j2k", tile=(32, 40), plt=True, tlm=True, layers=2, progression="RPCL")
    tree = inspect(data)
    parts = [element for _, element in tree.walk() if element.kind == "tile-part"]
    assert len(parts) == 6
    for part in parts:
        lengths = sum(len(each.fields.get("lengths", ())) for each in part.find("PLT"))
        assert lengths > 0
    assert len(tree.find("TLM")) == 1
    np.testing.assert_array_equal(read_back(data, region=(33, 41, 60, 70)), COLOUR[33:60, 41:70])


def test_markers_around_packets():
    plain = encode(GREY, form="j2k")
    marked = encode(GREY, form="j2k", sop=True, eph=True)
    assert marked.count(b"\xff\x91\x00\x04") > plain.count(b"\xff\x91\x00\x04")
    packets = marked.count(b"\xff\x91\x00\x04\x00")
    assert len(marked) == len(plain) + 8 * packets


def test_boxes():
    icc = bytes(16) + b"RGB " + bytes(200)
    data = encode(np.dstack([COLOUR, GREY]), icc=icc, dpi=(300.0, 150.0), comment="Grüße")
    header = read_header(data)
    assert header.icc_profile == icc
    assert [entry.role for entry in header.jp2.channels] == [0, 0, 0, 1]
    resolution = header.jp2.resolutions[0]
    assert float(resolution.vertical) == pytest.approx(300 / 0.0254, rel=1e-4)
    assert float(resolution.horizontal) == pytest.approx(150 / 0.0254, rel=1e-4)
    assert "Grüße" in header.comments


def test_depths_and_signs_of_components():
    planes = [
        RNG.integers(0, 2, (20, 30)).astype(bool),
        RNG.integers(-5, 5, (20, 30)).astype(np.int16),
        RNG.integers(0, 4096, (10, 15)).astype(np.uint16),
    ]
    data = encode(planes, bits=[1, 4, 12])
    picture = decode(data)
    assert [(each.precision, each.is_signed) for each in picture.header.components] == [
        (1, False), (4, True), (12, False)
    ]  # fmt: skip
    for found, plane in zip(picture.planes, planes, strict=True):
        np.testing.assert_array_equal(found, plane)


def test_any_layout_of_memory():
    for picture in (COLOUR[::-1, ::2], np.asfortranarray(COLOUR), COLOUR.astype(">u2"), COLOUR.swapaxes(0, 1)):
        np.testing.assert_array_equal(read_back(encode(picture)), picture)


def test_progress_and_times():
    told = []
    times = Times()
    data = encode(COLOUR, on_progress=told.append, times=times)
    assert told == sorted(told)
    assert told[-1] == 1
    assert data == encode(COLOUR)
    assert times.blocks > 0
    assert times.transform > 0


def test_batches_of_tiles_give_the_same_file(monkeypatch):
    options = {"tile": (16, 16), "rate": 2.0}
    lossless = encode(COLOUR, tile=(16, 16))
    monkeypatch.setattr("subband.codecs.jpeg2000.coding._BATCH", 1000)
    assert encode(COLOUR, tile=(16, 16)) == lossless
    assert 0.98 <= len(encode(COLOUR, **options)) / (2 * 61 * 83 / 8) <= 1 or len(encode(COLOUR, **options)) < 3000


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_engines(engine):
    np.testing.assert_array_equal(read_back(encode(GREY, engine=engine), engine=engine), GREY)
    ours, theirs = (read_back(encode(GREY, step=2.0, lossless=False, engine=each)) for each in (engine, "cpu"))
    assert np.abs(ours.astype(int) - theirs).max() <= 3


def test_a_block_of_zeros_and_a_flat_picture():
    for value in (0, 128, 255):
        flat = np.full((70, 70), value, np.uint8)
        np.testing.assert_array_equal(read_back(encode(flat)), flat)
        assert np.abs(read_back(encode(flat, rate=0.5)).astype(int) - value).max() <= 1
        assert np.abs(read_back(encode(flat, psnr=40)).astype(int) - value).max() <= 1


@pytest.mark.parametrize("name", ["a.jp2", "a.j2k", "a.j2c", "a.jpx", "a.jpc"])
def test_files(name, tmp_path):
    imwrite(tmp_path / name, COLOUR)
    np.testing.assert_array_equal(imread(tmp_path / name), COLOUR)
    is_stream = (tmp_path / name).read_bytes().startswith(b"\xff\x4f")
    assert is_stream == (name not in ("a.jp2", "a.jpx"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.0, "psnr": 30}, "rate and psnr are both given"),
        ({"rate": -1}, "rate=-1 is not a positive number"),
        ({"rate": [2.0, 1.0]}, "several that rise"),
        ({"layers": 0}, "layers=0 is not from 1"),
        ({"layers": 2, "rate": [1.0, 2.0, 3.0]}, "does not go with 3 values"),
        ({"levels": 33}, "levels=33"),
        ({"block": (128, 64)}, "4096 samples"),
        ({"block": 64}, "not a pair"),
        ({"precincts": [(3, 4)]}, "powers of two"),
        ({"progression": "LRPC"}, "use one of LRCP"),
        ({"style": ["bypas"]}, "did you mean 'bypass'"),
        ({"tile": (0, 5)}, "tile="),
        ({"tile": 64}, "tile=64 is not a size; use rows and columns"),
        ({"origin": (1, 1), "tile_origin": (2, 0)}, "lies beyond"),
        ({"origin": (10, 10), "tile": (5, 5)}, "leaves the first tile empty"),
        ({"tile": (1, 1)}, None),
        ({"colour": True}, "colour=True needs three"),
        ({"step": 0.0}, "step=0.0"),
        ({"step": 2.0, "lossless": True}, "step=2.0 does not go with lossless=True"),
        ({"form": "png"}, "neither 'jp2' nor 'j2k'"),
        ({"ratte": 1.0}, "did you mean 'rate'"),
        ({"bpp": 1.0}, "no setting of JPEG 2000; use lossless, rate, size"),
        ({"bits": 4}, "4 bits hold 0 to 15"),
        ({"bits": 40}, "bits=40"),
        ({"space": "rgb"}, "needs 3 components"),
        ({"space": "cmyk"}, "space='cmyk'"),
        ({"dpi": 0.0}, "dpi=0.0"),
        ({"form": "j2k", "dpi": 300.0}, "no room"),
    ],
)
def test_what_cannot_be_done(options, message):
    if message is None:
        np.testing.assert_array_equal(read_back(encode(GREY[:5, :5], **options)), GREY[:5, :5])
        return
    with pytest.raises(ArgumentError, match=message):
        encode(GREY, **options)


def test_pictures_that_are_none():
    with pytest.raises(DtypeError, match="float64"):
        encode(GREY / 255)
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        encode(np.zeros(3, np.uint8))
    with pytest.raises(ShapeError, match=r"\(0, 5\)"):
        encode(np.zeros((0, 5), np.uint8))
    with pytest.raises(ArgumentError, match="say how many bits it uses"):
        encode(GREY.astype(np.int64))
    with pytest.raises(ArgumentError, match="does not end like JPEG 2000"):
        imwrite("a.png", GREY)
    with pytest.raises(ShapeError, match="component 1"):
        encode([GREY, GREY[:50]])


def test_subsampling_that_is_said():
    components, size = as_components([GREY, GREY[:31, :42]], subsampling=[(1, 1), (2, 2)])
    assert size == (61, 83)
    assert (components[1].dy, components[1].dx) == (2, 2)
    with pytest.raises(ArgumentError, match="subsampling"):
        as_components([GREY, GREY], subsampling=[(1, 1)])


def test_settings_know_their_defaults():
    assert Settings().choose_levels(1000, 500) == 5
    assert Settings().choose_levels(1000, 3) == 1
    assert Settings().choose_levels(1, 1) == 0
    assert Settings(precincts=[(256, 128), (64, 64)]).make_style(3).precincts == ((6, 6), (6, 6), (6, 6), (7, 8))


def test_a_step_is_lossy_by_itself():
    assert encode(GREY, step=6.0) == encode(GREY, step=6.0, lossless=False)
    assert len(encode(GREY, step=6.0)) < len(encode(GREY))


@pytest.mark.parametrize("lossless", [None, True])
def test_a_psnr_is_met(lossless):
    for psnr in (30.0, 40.0, 47.0):
        error = read_back(encode(COLOUR, psnr=psnr, lossless=lossless)).astype(float) - COLOUR
        assert 10 * np.log10(255**2 / np.mean(error**2)) >= psnr


@pytest.mark.parametrize("ht", [False, True])
@pytest.mark.parametrize("psnr", [30, 40, 50, 60])
def test_a_psnr_is_met_by_samples_that_use_a_part_of_their_range(psnr, ht):
    y, x = np.mgrid[:40, :50]
    noise = np.random.default_rng(0).normal(0, 30, (40, 50))
    image = (1000 + 700 * np.sin(x / 8) * np.cos(y / 7) + noise).astype(np.uint16)
    found = read_back(encode(image, psnr=psnr, ht=ht))
    assert 10 * np.log10(65535**2 / np.mean((found.astype(float) - image) ** 2)) >= psnr


@pytest.mark.parametrize("target", [{"psnr": 90.0}, {"rate": 40.0}, {"size": 10**6}, {"rate": [1.0, 40.0]}], ids=str)
@pytest.mark.parametrize("ht", [False, True])
def test_a_target_beyond_lossless_loses_nothing(target, ht):
    if ht and isinstance(target.get("rate"), list):
        target = {"psnr": 120.0}
    data = encode(COLOUR, ht=ht, **target)
    layers = read_header(data).layers
    assert len(data) <= len(encode(COLOUR, ht=ht, lossless=True, layers=layers))
    np.testing.assert_array_equal(read_back(data), COLOUR)


def test_a_size_below_the_headers_is_refused():
    with pytest.raises(ArgumentError, match=r"size=50 is too small, for headers alone take \d+ bytes; allow more"):
        encode(GREY, size=50)
    # bits per pixel are for folders of images of any size
    assert read_back(encode(GREY, rate=0.001)).shape == GREY.shape


def test_more_layers_than_others_read_are_told():
    with pytest.warns(CodecWarning, match="300 layers are written"):
        encode(GREY[:16, :16], layers=300)


def test_luminance_and_differences_are_shown_as_colours():
    planes = [np.full((8, 8), 100, np.uint8), np.full((8, 8), 128, np.uint8), np.full((8, 8), 178, np.uint8)]
    data = encode(planes, space="ycc", colour=False)
    assert imread(io.BytesIO(data))[0, 0].tolist() == [170, 64, 100]
    assert imread(io.BytesIO(data), components=[0, 1, 2])[0, 0].tolist() == [100, 128, 178]
    assert open_image(data)[0, 0].tolist() == [170, 64, 100]
    assert decode(data).samples[0, 0].tolist() == [100, 128, 178]


@pytest.mark.parametrize("progression", ["RLCP", "RPCL"])
@pytest.mark.parametrize("options", [{}, {"rate": 2.0, "layers": 2}, {"ht": True}], ids=str)
def test_tiles_divided_by_resolution(progression, options):
    options = {
        "progression": progression,
        "tile": (32, 40),
        "levels": 2,
        "plt": True,
        "tlm": True,
        "form": "j2k",
    } | options
    data = encode(COLOUR, tile_parts="R", **options)
    stream = open_image(data).file.stream
    parts = [(part.sot.tile, part.sot.part, part.sot.count) for part in stream.tile_parts.all]
    assert parts == [(tile, part, 3) for tile in range(6) for part in range(3)]
    assert [part.start for part in stream.tile_parts.find([4])[4]] == [
        part.start for part in stream.tile_parts.all[12:15]
    ]
    if "rate" in options:
        assert len(data) <= 2 * GREY.size / 8
    else:
        np.testing.assert_array_equal(read_back(data), read_back(encode(COLOUR, **options)))
    # the coarsest resolution needs the packets of first parts only
    cut = bytearray(data)
    for part in stream.tile_parts.all:
        if part.sot.part:
            _, body = stream.read_tile_part_header(part)
            cut[body : part.stop] = bytes(part.stop - body)
    np.testing.assert_array_equal(read_back(bytes(cut), reduce=2), read_back(data, reduce=2))


def test_parts_by_resolution_need_an_order_by_resolution():
    with pytest.raises(ArgumentError, match="does not go with progression='LRCP'"):
        encode(GREY, tile_parts="R")
    with pytest.raises(ArgumentError, match="tile_parts='L'"):
        encode(GREY, tile_parts="L", progression="RPCL")

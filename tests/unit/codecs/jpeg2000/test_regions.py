"""Regions of interest and changes of progression that we write, with OpenJPEG as the judge."""

import io

import numpy as np
import pytest

from subband.codecs.jpeg2000 import Order, Progression, Settings, decode, encode, imread, imwrite_rows, transcode
from subband.codecs.jpeg2000.header import open_file
from subband.codecs.jpeg2000.parameters import ProgressionChange, RegionOfInterest
from subband.errors import ArgumentError

imagecodecs = pytest.importorskip("imagecodecs")

RNG = np.random.default_rng(5)
Y, X = np.mgrid[:120, :150]
WAVES = 128 + 70 * np.sin(X / 6)[..., None] * np.cos(Y / 5)[..., None] * [1, 0.7, -0.8]
IMAGE = np.clip(WAVES + RNG.normal(0, 12, (120, 150, 3)), 0, 255).astype(np.uint8)
REGION = (31, 40, 77, 95)


def measure(a, b, region=None):
    y0, x0, y1, x1 = region or (0, 0, *a.shape[:2])
    return float(np.mean((a[y0:y1, x0:x1].astype(float) - b[y0:y1, x0:x1]) ** 2))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tile": (50, 64), "levels": 3},
        {"origin": (7, 13), "tile": (64, 48), "tile_origin": (3, 5), "block": (16, 32)},
        {"style": ["reset", "terminate", "segmentation"], "layers": 3, "progression": "RPCL", "precincts": [(64, 64)]},
        {"colour": False, "roi": [REGION, (60, 80, 110, 140), (0, 0, 2, 2)]},
    ],
    ids=["plain", "tiles", "origin", "styles", "several"],
)
def test_nothing_is_lost_around_a_region(options):
    data = encode(IMAGE, form="j2k", **({"roi": REGION} | options))
    shifts = open_file(data).stream.select(RegionOfInterest)
    assert [each.component for each in shifts] == [0, 1, 2]
    assert min(each.shift for each in shifts) > 7
    np.testing.assert_array_equal(decode(data).samples, IMAGE)
    np.testing.assert_array_equal(imagecodecs.jpeg2k_decode(data), IMAGE)


def test_bypass_around_a_region():
    # without OpenJPEG, which counts the bit planes before the bypass without those of the shift
    data = encode(IMAGE, roi=REGION, style=["bypass"], layers=2)
    np.testing.assert_array_equal(imread(io.BytesIO(data)), IMAGE)


@pytest.mark.parametrize("options", [{}, {"tile": (64, 64)}, {"lossless": True}], ids=["9/7", "tiles", "5/3"])
def test_a_region_comes_first(options):
    data = encode(IMAGE, form="j2k", rate=5.0, roi=REGION, **options)
    plain = encode(IMAGE, form="j2k", rate=5.0, **options)
    found, theirs = decode(data).samples, imagecodecs.jpeg2k_decode(data)
    assert np.abs(found.astype(int) - theirs).max() <= 1
    assert measure(found, IMAGE, REGION) < 0.2 * measure(decode(plain).samples, IMAGE, REGION)
    assert measure(found, IMAGE) > measure(found, IMAGE, REGION)


def test_layers_of_a_lossless_file_begin_with_the_region():
    data = encode(IMAGE, form="j2k", layers=6, roi=REGION)
    errors = [
        (measure(found, IMAGE, REGION), measure(found, IMAGE))
        for found in (decode(data, layers=layers).samples for layers in (4, 5, 6))
    ]
    assert all(inside < outside for inside, outside in errors[:2])
    assert errors[-1] == (0.0, 0.0)


def test_subsampled_components_have_their_part_of_a_region():
    planes = [IMAGE[..., 0], IMAGE[::2, ::2, 1], IMAGE[::2, ::2, 2]]
    for own, plane in zip(decode(encode(planes, form="j2k", roi=REGION)).planes, planes, strict=True):
        np.testing.assert_array_equal(own, plane)


def test_regions_are_transcoded():
    data = encode(IMAGE, roi=REGION)
    np.testing.assert_array_equal(imread(io.BytesIO(transcode(data))), IMAGE)


def test_batches_have_one_shift(monkeypatch):
    whole = encode(IMAGE, roi=REGION, tile=(40, 50))
    monkeypatch.setattr("subband.codecs.jpeg2000.coding._BATCH", 8000)
    assert encode(IMAGE, roi=REGION, tile=(40, 50)) == whole


CHANGES = {
    "coarse first": [Progression(Order.RPCL, resolution_stop=3)],
    "a component first": [Progression(Order.CPRL, component_start=1, component_stop=2)],
    "a layer first": [Progression(Order.LRCP, layer_stop=1), Progression(Order.RLCP, resolution_stop=2)],
    "nothing first": [Progression(Order.PCRL, resolution_start=6)],
}


@pytest.mark.parametrize("options", [{}, {"tile": (64, 64)}], ids=["one tile", "tiles"])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_changes_of_progression(changes, options):
    data = encode(
        IMAGE, form="j2k", layers=2, levels=4, precincts=[(64, 64)], changes=changes, sop=True, plt=True, **options
    )
    (found,) = open_file(data).stream.select(ProgressionChange)
    assert [each.order for each in found.progressions] == [*(each.order for each in changes), Order.LRCP]
    np.testing.assert_array_equal(decode(data).samples, IMAGE)
    np.testing.assert_array_equal(imagecodecs.jpeg2k_decode(data), IMAGE)


def test_a_cut_file_has_what_came_first():
    coarse = [Progression(Order.RLCP, resolution_stop=3)]
    data = encode(IMAGE, form="j2k", progression="CPRL", changes=coarse)
    plain = encode(IMAGE, form="j2k", progression="CPRL")
    with pytest.warns(UserWarning, match="ends"):
        first, other = (decode(each[: len(each) // 4]).samples for each in (data, plain))
    assert measure(first, IMAGE) < 0.5 * measure(other, IMAGE)


def test_changes_and_a_rate():
    data = encode(IMAGE, rate=2.0, changes=[Progression(Order.RLCP, resolution_stop=2)])
    assert len(data) <= IMAGE.shape[0] * IMAGE.shape[1] / 4
    assert np.abs(imread(io.BytesIO(data)).astype(int) - imagecodecs.jpeg2k_decode(data)).max() <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roi": (1, 2, 3)}, r"not rows and columns as \(y0, x0, y1, x1\)"),
        ({"roi": (5, 5, 5, 9)}, "not rows and columns"),
        ({"roi": "all"}, "not rows and columns"),
        ({"roi": REGION, "ht": True}, "does not go with ht=True"),
        ({"roi": REGION, "psnr": 40}, "does not go with psnr"),
        ({"changes": CHANGES["coarse first"], "tile_parts": "R", "progression": "RLCP"}, "does not go with changes"),
    ],
)
def test_what_does_not_go_together(options, message):
    with pytest.raises(ArgumentError, match=message):
        Settings(**options).check()


def test_deep_samples_have_no_room_for_regions():
    deep = RNG.integers(0, 65536, (40, 40)).astype(np.uint16)
    with pytest.raises(ArgumentError, match="roi needs"):
        encode(deep, roi=(0, 0, 9, 9))


def test_rows_have_no_region(tmp_path):
    with pytest.raises(ArgumentError, match="use imwrite"):
        imwrite_rows(tmp_path / "a.jp2", [IMAGE], 120, roi=REGION)

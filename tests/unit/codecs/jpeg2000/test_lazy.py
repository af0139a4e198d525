"""Files as arrays that are decoded where they are looked at."""

import numpy as np
import pytest

from subband.codecs import jpeg2000
from subband.codecs.jpeg2000 import header as headers
from subband.errors import ArgumentError, ArgumentTypeError, CodecError

IMAGE = np.random.default_rng(3).integers(0, 4096, (149, 203, 3)).astype(np.uint16)
TILED = jpeg2000.encode(IMAGE, bits=12, tile=(48, 64), tlm=True, plt=True, levels=3, origin=(5, 9), tile_origin=(2, 3))

KEYS = [
    np.s_[:],
    np.s_[...],
    np.s_[10:20, 30:90],
    np.s_[10:20, 30:90, 1],
    np.s_[-1],
    np.s_[47:49, ..., 2],
    np.s_[::-1, 100:40:-7],
    np.s_[0:0, 3],
    np.s_[5, 6, 0:2],
    np.s_[140:1000, -3:],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("reduce", [0, 2])
def test_slices_are_those_of_the_whole(key, reduce):
    image = jpeg2000.open(TILED, reduce=reduce)
    whole = jpeg2000.decode(TILED, reduce=reduce).samples
    assert image.shape == whole.shape
    assert image.dtype == whole.dtype
    np.testing.assert_array_equal(image[key], whole[key])


@pytest.mark.parametrize("origin", [(0, 0), (1, 3), (6, 5)])
@pytest.mark.parametrize("reduce", [0, 1])
def test_components_of_other_sizes_are_repeated_as_in_the_whole(origin, reduce):
    steps = [(1, 1), (2, 3), (4, 2)]
    planes = []
    for number, (dy, dx) in enumerate(steps):
        rows = -(-(origin[0] + 61) // dy) - -(-origin[0] // dy)
        columns = -(-(origin[1] + 70) // dx) - -(-origin[1] // dx)
        planes.append((np.arange(rows * columns).reshape(rows, columns) * (number + 1) % 251).astype(np.uint8))
    data = jpeg2000.encode(planes, subsampling=steps, origin=origin, tile=(32, 24), form="j2k", levels=2)
    whole = jpeg2000.decode(data, reduce=reduce).upsample()
    image = jpeg2000.open(data, reduce=reduce)
    assert image.shape == whole.shape
    for row in range(0, whole.shape[0], 5):
        np.testing.assert_array_equal(image[row], whole[row])
        np.testing.assert_array_equal(image[row:, row : row + 1], whole[row:, row : row + 1])


def test_chunks_are_those_of_tiles():
    image = jpeg2000.open(TILED)
    assert image.chunks == ((45, 48, 48, 8), (58, 64, 64, 17), (3,))
    assert [len(each.chunks[0]) for each in image.resolutions] == [4, 4, 4, 4]
    assert [sum(each.chunks[1]) for each in image.resolutions] == [each.shape[1] for each in image.resolutions]
    assert jpeg2000.open(jpeg2000.encode(IMAGE)).chunks == ((149,), (203,), (3,))


def test_dask_takes_it():
    dask = pytest.importorskip("dask.array")
    image = jpeg2000.open(TILED)
    view = dask.from_array(image, chunks=image.chunks)
    np.testing.assert_array_equal(view[40:100, 50:60].compute(), IMAGE[40:100, 50:60])


def test_only_what_is_needed_is_read():
    """With all other tiles overwritten, a window of one tile is what it was."""
    data = bytearray(TILED)
    image = jpeg2000.open(data)
    assert image.dtype == np.uint16
    part = image.file.stream.tile_parts.find([5])[5][0]
    body = image.file.stream.body
    data[body : part.start] = b"\xff" * (part.start - body)
    data[part.stop :] = b"\xff" * (len(data) - part.stop)
    np.testing.assert_array_equal(image[50:60, 70:80], IMAGE[50:60, 70:80])


def test_headers_are_read_once(monkeypatch):
    image = jpeg2000.open(TILED)
    monkeypatch.setattr(headers, "read_codestream", None)
    assert image[3, 4].tolist() == IMAGE[3, 4].tolist()


def test_a_slice_may_be_too_large():
    image = jpeg2000.open(TILED, most_pixels=3000)
    assert image[:10, :10].shape == (10, 10, 3)
    with pytest.raises(CodecError, match="most_pixels=3000"):
        image[:]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (np.s_[149], IndexError, "index 149 is out of bounds for axis 0 with 149 samples"),
        (np.s_[0, 0, 0, 0], ArgumentError, "4 indices"),
        (np.s_[[1, 2]], ArgumentTypeError, "type list"),
        (np.s_[True], ArgumentTypeError, "type bool"),
        (np.s_[0, np.False_], ArgumentTypeError, "type bool"),
    ],
    ids=str,
)
def test_what_is_no_part_of_it(key, error, message):
    with pytest.raises(error, match=message):
        jpeg2000.open(TILED)[key]


def test_rows_can_be_gone_through():
    assert len(list(jpeg2000.open(jpeg2000.encode(IMAGE[:3, :4])))) == 3

"""JPEG 2000 files as groups of Zarr."""

import numpy as np
import pytest

from subband.codecs import jpeg2000
from subband.errors import SubbandError
from subband.integrations.zarr import ImageStore, open_zarr

zarr = pytest.importorskip("zarr")

IMAGE = np.random.default_rng(1).integers(0, 4096, (149, 203, 3)).astype(np.uint16)
DATA = jpeg2000.encode(IMAGE, bits=12, tile=(48, 64), tlm=True, levels=2, origin=(5, 9), tile_origin=(2, 3))


def test_arrays_are_the_resolutions():
    group = open_zarr(jpeg2000.open(DATA))
    assert sorted(group.array_keys()) == ["0", "1", "2"]
    for reduce in range(3):
        whole = jpeg2000.decode(DATA, reduce=reduce).samples
        array = group[str(reduce)]
        assert (array.shape, array.dtype) == (whole.shape, whole.dtype)
        np.testing.assert_array_equal(array[...], whole)
    np.testing.assert_array_equal(group["0"][40:60, 60:70, 1], IMAGE[40:60, 60:70, 1])


def test_the_group_says_what_its_levels_are():
    group = open_zarr(jpeg2000.open(DATA))
    image = group.attrs["ome"]["multiscales"][0]
    assert [each["path"] for each in image["datasets"]] == ["0", "1", "2"]
    assert image["datasets"][2]["coordinateTransformations"][0]["scale"] == [4.0, 4.0, 1.0]
    assert [axis["name"] for axis in image["axes"]] == ["y", "x", "c"]


def test_it_is_only_read():
    group = open_zarr(jpeg2000.open(DATA))
    with pytest.raises((ValueError, SubbandError)):
        group["0"][0, 0] = 1
    assert ImageStore(jpeg2000.open(DATA)) != group.store


@pytest.mark.parametrize("key", ["", "3/zarr.json", "0/c/9/0/0", "0/c/0/0", "x", "0/c/a/0/0"])
def test_keys_that_are_not_there(key):
    import asyncio

    from zarr.core.buffer import default_buffer_prototype

    store = ImageStore(jpeg2000.open(DATA))
    assert not asyncio.run(store.exists(key))
    assert asyncio.run(store.get(key, default_buffer_prototype())) is None

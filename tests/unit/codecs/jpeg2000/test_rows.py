"""Images that are encoded row by row of tiles."""

import io
import tracemalloc

import numpy as np
import pytest

from subband.codecs import jpeg2000
from subband.errors import ArgumentError, ShapeError

IMAGE = np.random.default_rng(5).integers(0, 256, (149, 90, 3)).astype(np.uint8)


def write(image, count, **options):
    file = io.BytesIO()
    pieces = (image[first : first + count] for first in range(0, len(image), count))
    jpeg2000.imwrite_rows(file, pieces, len(image), **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {"tile": (32, 40)},
        {"tile": (64, 256), "origin": (5, 9), "tile_origin": (3, 2), "form": "j2k"},
        {"tile": (32, 32), "ht": True, "plt": True},
        {"tile": (50, 30), "layers": 3, "tlm": False},
        {"tile": (50, 40), "tile_parts": "R", "progression": "RPCL"},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("count", [1, 47, 149])
def test_nothing_is_lost(options, count):
    data = write(IMAGE, count, **options)
    np.testing.assert_array_equal(jpeg2000.decode(data).samples, IMAGE)
    assert jpeg2000.open(data).header.levels == jpeg2000.read_header(data).levels


def test_samples_are_those_of_the_whole_at_one_step():
    options = {"tile": (48, 32), "step": 3.0, "levels": 3, "form": "j2k"}
    whole = jpeg2000.decode(jpeg2000.encode(IMAGE, **options)).samples
    np.testing.assert_array_equal(jpeg2000.decode(write(IMAGE, 20, **options)).samples, whole)


def test_openjpeg_reads_it(tmp_path):
    imagecodecs = pytest.importorskip("imagecodecs")
    path = tmp_path / "tall.jp2"
    jpeg2000.imwrite_rows(path, iter([IMAGE[:100], IMAGE[100:]]), len(IMAGE), tile=(64, 64))
    np.testing.assert_array_equal(imagecodecs.jpeg2k_decode(path.read_bytes()), IMAGE)


def test_lengths_of_tiles_are_true():
    stream = jpeg2000.open(write(IMAGE, 40, tile=(32, 32), form="j2k")).file.stream
    told = stream.tile_parts.find([7, 11])
    walked = {part.sot.tile: part for part in stream.tile_parts.all}
    assert {tile: (parts[0].start, parts[0].stop) for tile, parts in told.items()} == {
        tile: (walked[tile].start, walked[tile].stop) for tile in (7, 11)
    }


def test_memory_is_that_of_a_row_of_tiles():
    def rows():
        for number in range(64):
            yield np.full((32, 256), number, np.uint8)

    class Nothing(io.BytesIO):
        """A file that forgets what is written."""

        def write(self, data):
            return len(data)

    def measure(count):
        pieces = (piece for _ in range(count) for piece in rows())
        tracemalloc.start()
        jpeg2000.imwrite_rows(Nothing(), pieces, count * 64 * 32, tile=(32, 256), levels=2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    measure(1)
    assert measure(4) < 1.2 * measure(1) + 4 * 64 * 1000


@pytest.mark.parametrize(
    ("pieces", "options", "error", "message"),
    [
        ([IMAGE[:100]], {}, ArgumentError, "rows ends behind 100 rows, and height=149"),
        ([IMAGE, IMAGE], {}, ArgumentError, "rows has 298 rows, and height=149"),
        ([IMAGE[:9], IMAGE[9:, :50]], {}, ShapeError, "from row 9 on"),
        ([IMAGE], {"rate": 1.0}, ArgumentError, "rate is decided over the whole image"),
        ([IMAGE], {"tile": (1, 1), "levels": 0, "form": "j2k", "height": 2**16}, ArgumentError, "tiles"),
        ([IMAGE], {"form": "j2k", "colours": jpeg2000.Colours(dpi=300)}, ArgumentError, "no room"),
    ],
)
def test_what_cannot_be_written(pieces, options, error, message, tmp_path):
    options = {"height": len(IMAGE)} | options
    with pytest.raises(error, match=message):
        jpeg2000.imwrite_rows(tmp_path / "a.jp2", pieces, **options)
    assert not list(tmp_path.iterdir())

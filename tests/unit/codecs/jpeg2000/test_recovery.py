"""Reading on behind damage: packets by their markers or lengths, tile-parts by their markers."""

import warnings

import numpy as np
import pytest

from subband.codecs.jpeg2000 import CodecWarning, decode, encode
from subband.codecs.jpeg2000.header import open_file
from subband.codecs.jpeg2000.recovery import find_marked_pieces, find_told_pieces
from subband.errors import CodecError

RNG = np.random.default_rng(1)
Y, X = np.mgrid[:96, :128]
IMAGE = np.clip(128 + 80 * np.sin(X / 9) * np.cos(Y / 7) + RNG.normal(0, 9, (96, 128)), 0, 255).astype(np.uint8)
OPTIONS = {"form": "j2k", "progression": "RPCL", "precincts": [(32, 32)], "block": (16, 16), "levels": 3, "layers": 2}


def read_damaged(data):
    """Return samples and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CodecWarning)
        samples = decode(data).samples
    return samples, [str(warning.message) for warning in caught]


def find_packets(data, *, by_lengths=False):
    stream = open_file(data).stream
    tile = stream.read_tile(0, stream.tile_parts.find([0])[0])
    if by_lengths:
        return find_told_pieces(tile.bodies, tile.lengths)
    return find_marked_pieces(stream.data, tile.bodies)


def spoil(data, start, stop):
    """Replace bytes by others that look like no marker."""
    return data[:start] + b"\xe5" * (stop - start) + data[stop:]


def measure(samples):
    return float(np.mean((samples.astype(float) - IMAGE) ** 2))


@pytest.mark.parametrize("markers", [{"sop": True}, {"sop": True, "eph": True}, {"plt": True}], ids=str)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_packets_behind_a_damaged_one_are_read(markers, share):
    data = encode(IMAGE, **OPTIONS, **markers)
    by_lengths = "plt" in markers
    pieces = find_packets(data, by_lengths=by_lengths)
    piece = pieces[int(share * len(pieces))]
    head = piece.start + (0 if by_lengths else 6)
    spoiled = spoil(data, head, head + min(4, piece.stop - head))
    samples, said = read_damaged(spoiled)
    # the same damage with nothing that tells where packets begin
    plain = encode(IMAGE, **OPTIONS)
    (at,) = (number for number, each in enumerate(pieces) if each == piece)
    bare = spoil(plain, *_locate(plain, pieces, at, 6 * ("sop" in markers) + 2 * ("eph" in markers)))
    lost, _ = read_damaged(bare)
    assert any("packets of tile 0 are damaged" in text for text in said)
    assert measure(samples) < 0.5 * measure(lost)
    # all but what the precinct touches is exact
    assert np.mean(samples == IMAGE) > (0.8 if share > 0.5 else 0.02)


def _locate(plain, pieces, number, extra):
    """Return the first bytes of the same packet in a stream in which packets are shorter by their markers."""
    start = open_file(plain).stream.tile_parts.all[0].start + 14
    start += sum(each.stop - each.start - extra for each in pieces[:number])
    return start, start + 4


def test_bytes_that_are_missing_or_too_many():
    data = encode(IMAGE, **OPTIONS, sop=True, eph=True)
    pieces = find_packets(data)
    piece = pieces[len(pieces) // 2]
    middle = (piece.start + piece.stop) // 2
    part = data.index(b"\xff\x90") + 6
    for cut in (data[:middle] + data[middle + 5 :], data[:middle] + b"\x11\x22\x33" + data[middle:]):
        length = int.from_bytes(data[part : part + 4], "big") + len(cut) - len(data)
        fixed = cut[:part] + length.to_bytes(4, "big") + cut[part + 4 :]
        samples, said = read_damaged(fixed)
        assert any("packets of tile 0 are damaged" in text for text in said)
        assert np.mean(samples == IMAGE) > 0.5


def test_a_packet_that_is_lost_as_a_whole():
    data = encode(IMAGE, **OPTIONS, sop=True)
    pieces = find_packets(data)
    piece = pieces[len(pieces) * 3 // 4]
    part = data.index(b"\xff\x90") + 6
    length = int.from_bytes(data[part : part + 4], "big") - (piece.stop - piece.start)
    cut = data[:part] + length.to_bytes(4, "big") + data[part + 4 : piece.start] + data[piece.stop :]
    samples, said = read_damaged(cut)
    assert any("are damaged or cannot be used" in text for text in said)
    assert np.mean(samples == IMAGE) > 0.8


def test_a_number_that_is_damaged_costs_nothing_else():
    data = encode(IMAGE, **OPTIONS, sop=True)
    pieces = find_packets(data)
    one, other = pieces[5], pieces[len(pieces) // 2]
    spoiled = bytearray(spoil(data, other.start + 6, other.start + 9))
    spoiled[one.start + 4 : one.start + 6] = b"\x55\x55"
    clean, _ = read_damaged(bytes(spoil(data, other.start + 6, other.start + 9)))
    samples, _ = read_damaged(bytes(spoiled))
    assert abs(measure(samples) - measure(clean)) < 1


@pytest.mark.parametrize("options", [{"tlm": True}, {}], ids=["lengths", "none"])
def test_tiles_behind_a_damaged_one_are_read(options):
    data = encode(IMAGE, form="j2k", tile=(32, 32), levels=2, **options)
    parts = open_file(data).stream.tile_parts.all
    for change in (b"\x00\x00\x00\x40", b"\x00\x01\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x05"):
        at = parts[4].start + 6
        samples, said = read_damaged(data[:at] + change + data[at + 4 :])
        assert said
        # the fifth of twelve tiles lies at the left of the second row
        np.testing.assert_array_equal(samples[64:], IMAGE[64:])
        np.testing.assert_array_equal(samples[:32], IMAGE[:32])
        np.testing.assert_array_equal(samples[32:64, 32:], IMAGE[32:64, 32:])


def test_tiles_behind_a_marker_that_is_damaged():
    data = encode(IMAGE, form="j2k", tile=(32, 32), levels=2)
    start = open_file(data).stream.tile_parts.all[4].start
    for at, change in ((start, b"\x00\x00"), (start + 4, b"\x7f\x00")):
        samples, said = read_damaged(data[:at] + change + data[at + len(change) :])
        assert said
        np.testing.assert_array_equal(samples[64:], IMAGE[64:])
        assert (samples[32:64, :32] == 128).all()


def test_bytes_behind_the_last_packet_do_not_cost_it():
    data = encode(IMAGE, **OPTIONS, sop=True)
    part = data.index(b"\xff\x90") + 6
    length = int.from_bytes(data[part : part + 4], "big") + 9
    padded = data[:part] + length.to_bytes(4, "big") + data[part + 4 : -2] + bytes(9) + data[-2:]
    samples, said = read_damaged(padded)
    np.testing.assert_array_equal(samples, IMAGE)
    assert any("9 bytes behind its last packet" in text for text in said)


def test_a_region_of_a_damaged_file():
    data = encode(IMAGE, **OPTIONS, sop=True)
    pieces = find_packets(data)
    piece = pieces[len(pieces) // 2]
    spoiled = spoil(data, piece.start + 6, piece.start + 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        whole = decode(spoiled).samples
        part = decode(spoiled, region=(0, 0, 96, 128)).samples
    np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize("seed", range(4))
def test_noise_ends(seed):
    rng = np.random.default_rng(seed)
    data = encode(IMAGE, **OPTIONS, sop=True, plt=bool(seed % 2))
    for _ in range(30):
        spoiled = bytearray(data)
        for at in rng.integers(100, len(data), 12):
            spoiled[at] = rng.integers(256)
        try:
            samples, _ = read_damaged(bytes(spoiled))
            assert samples.shape == IMAGE.shape
        except CodecError:
            pass

"""What is counted in parts of a band decides what the whole band decides in memory."""

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.plain import PlainFilters
from subband.engines.filters.tallies import choose_rows
from subband.enhance.methods import Band, DecidingMethod, Part, find_method, list_methods

RNG = np.random.default_rng(0)
FILTERS = {"plain": PlainFilters(), "compiled": find_filters(get_engine("cpu"))}
DECIDING = [method for method in list_methods() if isinstance(method, DecidingMethod)]
SHAPES = [(400,), (60, 50), (12, 20, 18)]
NOISE = np.array([1.0, 0.0, 3.0])


def make_band(space, dtype):
    values = RNG.normal(0, 1, (3, *space))
    values[:, : space[0] // 3] *= 6
    return values.astype(dtype)


def cut(band, halo):
    """Give parts of a band with what lies around them; where each is in itself and in the whole; and its first row."""
    space = band.shape[1:]
    for begin, end in ((0, space[-1] // 3), (space[-1] // 3, space[-1])):
        for top, bottom in ((0, space[0] // 2), (space[0] // 2, space[0])) if len(space) > 1 else ((0, 1),):
            parts, inner, whole = ([slice(None)] * len(space) for _ in range(3))
            ranges = {len(space) - 1: (begin, end)} | ({0: (top, bottom)} if len(space) > 1 else {})
            for axis, (a, b) in ranges.items():
                first = max(a - halo, 0)
                parts[axis] = slice(first, min(b + halo, space[axis]))
                inner[axis] = slice(a - first, b - first)
                whole[axis] = slice(a, b)
            row = parts[-2].start or 0 if len(space) > 1 else 0
            yield np.ascontiguousarray(band[(slice(None), *parts)]), tuple(inner), tuple(whole), row


@pytest.mark.parametrize("method", DECIDING, ids=lambda method: method.name)
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("space", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_follow_what_the_whole_decides(method, name, space, dtype):
    filters, values, gain = FILTERS[name], make_band(space, dtype), 1.5
    count, halo = values[0].size, method.measure_window(len(space)) // 2
    noise = NOISE * gain if method.needs_noise else None
    parts = list(cut(values, halo))
    tally = sum(
        method.tally(filters, part, noise, Part(count, len(space), inner, row)) for part, inner, _, row in parts
    )
    decision = method.decide(tally, noise, Part(count, len(space)))
    uploaded = filters.upload(NOISE)
    expected = method.shrink(filters, Band(values.copy(), uploaded, gain, dimensions=len(space)))
    # without noise nothing shrinks, and with noise something does
    np.testing.assert_array_equal(expected[1], values[1])
    assert (expected[0] != values[0]).any()
    for part, inner, whole, _ in parts:
        band = Band(part.copy(), uploaded, gain, dimensions=len(space))
        shrunk = method.follow(filters, band, decision)[(slice(None), *inner)]
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(shrunk, expected[(slice(None), *whole)], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FILTERS)
def test_magnitudes_are_all_counted(name):
    band = make_band((60, 50), "float32")
    tables = FILTERS[name].count_magnitudes(band, NOISE, 0.1)
    assert tables[0, 0].sum() == tables[2, 0].sum() == band[0].size


@pytest.mark.parametrize("distance", [1, 3])
def test_compiled_sums_are_the_plain_ones(distance):
    band = make_band((40, 30), "float64")
    inner = slice(2, 33), slice(3, 30)
    rows = choose_rows((40, 30), inner, 7, distance)
    assert rows.tolist() == [row for row in range(2, 33) if (row + 7) % distance == 0]
    compiled, plain = (each.count_neighbours(band, NOISE, inner, rows) for each in FILTERS.values())
    np.testing.assert_allclose(compiled[[0, 2]], plain[[0, 2]], rtol=1e-9)
    # all w² - 2 of the rows that count, whatever bin they are in
    total = (np.square(band[0][rows][:, 3:]) - 2).sum()
    np.testing.assert_allclose(plain[0, :, 0].sum(axis=-1), total)


def test_large_bands_count_the_rows_that_memory_counts():
    values = RNG.normal(0, 1, (1, 600, 700)).astype(np.float32)
    filters, noise, method = FILTERS["compiled"], np.ones(1), find_method("neigh")
    assert filters.choose_row_distance(values[0].size) == 3
    assert FILTERS["plain"].choose_row_distance(values[0].size) == 1
    halves = [(values[:, :303], (slice(0, 301), slice(None)), 0), (values[:, 299:], (slice(2, None), slice(None)), 299)]
    tables = sum(
        method.tally(filters, np.ascontiguousarray(part), noise, Part(values[0].size, 2, inner, row))
        for part, inner, row in halves
    )
    whole = method.tally(filters, values, noise, Part(values[0].size, 2, (slice(None), slice(None))))
    np.testing.assert_allclose(tables, whole, rtol=1e-4, atol=1e-3)
    decision = method.decide(tables, noise, Part(values[0].size, 2))
    band = Band(values, noise, 1.0)
    np.testing.assert_array_equal(method.follow(filters, band, decision), method.shrink(filters, band))

"""What is counted in parts of a band decides what the whole band decides in memory."""

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.plain import PlainFilters
from subband.integrations.dask.risks import (
    choose_neighbours,
    choose_threshold,
    count_magnitudes,
    count_neighbours,
    find_distance,
    scale_neighbours,
)

RNG = np.random.default_rng(0)
FILTERS = {"plain": PlainFilters(), "compiled": find_filters(get_engine("cpu"))}
SHAPES = [(400,), (60, 50), (12, 20, 18)]
NOISE = np.array([1.0, 0.0, 3.0])


def make_band(space, dtype):
    values = RNG.normal(0, 1, (3, *space))
    values[:, : space[0] // 3] *= 6
    return values.astype(dtype)


def cut(band, halo):
    """Give parts of a band with what lies around them, where each part is, and its first row."""
    space = band.shape[1:]
    for begin, end in ((0, space[-1] // 3), (space[-1] // 3, space[-1])):
        for top, bottom in ((0, space[0] // 2), (space[0] // 2, space[0])) if len(space) > 1 else ((0, 1),):
            parts, inner = [slice(None)] * len(space), [slice(None)] * len(space)
            ranges = {len(space) - 1: (begin, end)} | ({0: (top, bottom)} if len(space) > 1 else {})
            for axis, (a, b) in ranges.items():
                first = max(a - halo, 0)
                parts[axis] = slice(first, min(b + halo, space[axis]))
                inner[axis] = slice(a - first, b - first)
            rows = parts[-2].start or 0 if len(space) > 1 else 0
            yield np.ascontiguousarray(band[(slice(None), *parts)]), tuple(inner), rows


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("space", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thresholds_are_those_of_memory(name, space, dtype):
    filters, band = FILTERS[name], make_band(space, dtype)
    count = band[0].size
    tables = sum(
        count_magnitudes(filters, np.ascontiguousarray(part[(slice(None), *inner)]), NOISE, count)
        for part, inner, _ in cut(band, 0)
    )
    assert tables[0, 0].sum() == count
    np.testing.assert_array_equal(
        choose_threshold(tables, NOISE, count), filters.find_sure_threshold(band, filters.upload(NOISE), 1.0)
    )


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("space", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbourhoods_are_those_of_memory(name, space, dtype):
    filters, band = FILTERS[name], make_band(space, dtype)
    distance = find_distance(filters, band[0].size)
    tables = sum(count_neighbours(filters, part, NOISE, inner, row, distance) for part, inner, row in cut(band, 2))
    chosen = choose_neighbours(tables, NOISE, len(space))
    assert chosen[1, 0] == 0
    assert chosen[0, 0] > 0
    expected = filters.shrink_neighbours(band, filters.upload(NOISE), 1.0)
    for part, inner, row in cut(band, 2):
        shrunk = scale_neighbours(filters, part, NOISE, chosen)[(slice(None), *inner)]
        whole = [slice(None)] * len(space)
        whole[-1] = slice(0, space[-1] // 3) if inner[-1].start == 0 else slice(space[-1] // 3, None)
        if len(space) > 1:
            whole[0] = slice(0, space[0] // 2) if inner[0].start == 0 else slice(space[0] // 2, None)
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(shrunk, expected[(slice(None), *whole)], atol=tolerance, err_msg=str(row))


@pytest.mark.parametrize("distance", [1, 3])
def test_compiled_sums_are_the_plain_ones(distance):
    band = make_band((40, 30), "float64")
    inner = slice(2, 33), slice(3, 30)
    compiled, plain = (count_neighbours(each, band, NOISE, inner, 7, distance) for each in FILTERS.values())
    np.testing.assert_allclose(compiled[[0, 2]], plain[[0, 2]], rtol=1e-9)
    rows = [row for row in range(2, 33) if (row + 7) % distance == 0]
    # all w² - 2 of the rows that count, whatever bin they are in
    total = (np.square(band[0][rows][:, 3:]) - 2).sum()
    np.testing.assert_allclose(plain[0, :, 0].sum(axis=-1), total)


def test_large_bands_count_the_rows_that_memory_counts():
    band = RNG.normal(0, 1, (1, 600, 700)).astype(np.float32)
    filters, noise = FILTERS["compiled"], np.ones(1)
    distance = find_distance(filters, band[0].size)
    assert distance == 3
    halves = [(band[:, :303], (slice(0, 301), slice(None)), 0), (band[:, 299:], (slice(2, None), slice(None)), 299)]
    tables = sum(
        count_neighbours(filters, np.ascontiguousarray(part), noise, inner, row, distance)
        for part, inner, row in halves
    )
    whole = count_neighbours(filters, band, noise, (slice(None), slice(None)), 0, distance)
    np.testing.assert_allclose(tables, whole, rtol=1e-4, atol=1e-3)
    shrunk = scale_neighbours(filters, band, noise, choose_neighbours(tables, noise, 2))
    np.testing.assert_array_equal(shrunk, filters.shrink_neighbours(band, noise, 1.0))

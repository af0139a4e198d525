"""Medians by histogram, and the sketch of magnitudes: how near it is, and that parts merge in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subband.engines.filters.median import ERROR, collect_magnitudes, find_bracket, merge_sketches, sketch_magnitudes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e8, 1e300])
@pytest.mark.parametrize("law", ["normal", "laplace", "lognormal"])
def test_median_is_within_what_is_promised(law, scale):
    # drawn anew, so that which tests run before makes no difference
    numbers = getattr(np.random.default_rng(0), law)(size=200_001) * scale
    parts = [sketch_magnitudes(part) for part in np.array_split(numbers, 7)]
    assert abs(merge_sketches(parts).median / np.median(np.abs(numbers)) - 1) < 2e-4


def test_worst_of_all_numbers():
    # two values in one bin, the smaller by one less than half
    numbers = np.r_[np.full(30_000, 1.0), np.full(30_001, 1.0 + 2.0**-9.1)]
    assert abs(sketch_magnitudes(numbers).median / np.median(numbers) - 1) <= ERROR < 0.005


def test_few_are_exact():
    numbers = RNG.normal(size=1000)
    parts = [sketch_magnitudes(numbers[:1]), sketch_magnitudes(numbers[1:])]
    assert merge_sketches(parts).median == np.median(np.abs(numbers))


@settings(max_examples=30)
@given(st.permutations(range(5)))
def test_order_does_not_matter(order):
    parts = [sketch_magnitudes(np.random.default_rng(k).normal(size=9000 * (k + 1))) for k in range(5)]
    a = merge_sketches([merge_sketches([parts[k] for k in order[:2]]), merge_sketches([parts[k] for k in order[2:]])])
    b = merge_sketches(parts)
    assert a.median == b.median
    assert a.total == b.total == 135_000


def test_zeros_and_nothing():
    assert sketch_magnitudes(np.zeros(50_000)).median == 0
    assert np.isnan(sketch_magnitudes(np.zeros(0)).median)


@pytest.mark.parametrize("count", [20_000, 20_001])
@pytest.mark.parametrize("law", ["normal", "ties"])
def test_second_look_finds_the_median_itself(law, count):
    numbers = RNG.normal(size=count) if law == "normal" else np.repeat([1.0, -2.0], [count // 2, count - count // 2])
    parts = np.array_split(RNG.permutation(numbers), 5)
    bracket = merge_sketches(map(sketch_magnitudes, parts)).bracket
    found = np.concatenate([collect_magnitudes(part, bracket) for part in parts], axis=1)
    assert bracket.pick(found) == np.median(np.abs(numbers))
    # equal ones come once from each part
    assert found.shape[1] < count / 100
    assert sketch_magnitudes(numbers[:100]).bracket is None


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(any))
def test_the_bracket_of_a_histogram_holds_the_middle(counts):
    numbers = np.repeat(np.arange(len(counts)), counts)
    bracket = find_bracket(np.array(counts))
    inside = numbers[(numbers >= bracket.first) & (numbers <= bracket.last)].astype(float)
    assert bracket.select(inside[::-1].copy()) == np.median(numbers)

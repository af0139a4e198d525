"""Which passes are kept."""

import numpy as np
import pytest

from subband.codecs.jpeg2000.rate_control import Target, allocate_passes, trace_curves


def draw_blocks(count=40, most=12, seed=0):
    rng = np.random.default_rng(seed)
    passes = rng.integers(0, most + 1, count).astype(np.int32)
    ends = np.cumsum(rng.integers(0, 30, (count, most)), axis=1).astype(np.int32)
    gains = np.cumsum(rng.uniform(-0.1, 1, (count, most)) * 0.6 ** np.arange(most), axis=1) * 100
    return passes, ends, gains, rng.uniform(0.5, 2, count)


def measure(passes, ends):
    """Return what measures a file: the bytes of blocks, and one for each block that is there."""

    def run(kept):
        last = kept[-1]
        rows = np.flatnonzero(last)
        return int(ends[rows, last[rows] - 1].sum()) + len(rows)

    return run


def sum_gains(kept, gains, weights):
    rows = np.flatnonzero(kept)
    return float((gains[rows, kept[rows] - 1] * weights[rows]).sum())


def test_hulls_are_convex_and_true():
    passes, ends, gains, weights = draw_blocks()
    curves = trace_curves(passes, ends, gains, weights)
    assert np.all(np.diff(curves.slopes) <= 0)
    for block in range(len(passes)):
        own = curves.owners[0] == block
        counts = curves.owners[2][own]
        assert np.all(np.diff(counts) > 0)
        assert counts.max(initial=0) <= passes[block]
        if len(counts):
            assert curves.sizes[own].sum() == ends[block, counts[-1] - 1]
            assert curves.gains[own].sum() == pytest.approx(gains[block, counts[-1] - 1] * weights[block])
            # no pass lies above the hull
            best = gains[block, : passes[block]].max()
            assert gains[block, counts[-1] - 1] == best


@pytest.mark.parametrize("size", [50, 500, 1500, 4000])
def test_size_is_not_exceeded_and_used(size):
    passes, ends, gains, weights = draw_blocks()
    curves = trace_curves(passes, ends, gains, weights)
    kept = allocate_passes(curves, [Target(size=size)], 0.0, measure(passes, ends))
    found = measure(passes, ends)(kept)
    assert found <= size
    assert found >= min(size - 30, measure(passes, ends)(passes[None]) - 200)


def test_no_other_choice_of_the_same_size_is_much_better():
    passes, ends, gains, weights = draw_blocks(8, 4, seed=3)
    curves = trace_curves(passes, ends, gains, weights)
    target = 150
    kept = allocate_passes(curves, [Target(size=target)], 0.0, measure(passes, ends))[0]
    rng = np.random.default_rng(1)
    best = 0.0
    for _ in range(20000):
        other = (rng.random(len(passes)) * (passes + 1)).astype(np.int32)
        if measure(passes, ends)(other[None]) <= target:
            best = max(best, sum_gains(other, gains, weights))
    # segments are not divided, which costs less than the last of them
    assert sum_gains(kept, gains, weights) > 0.9 * best


def test_error_is_met_by_the_fewest_segments():
    passes, ends, gains, weights = draw_blocks()
    curves = trace_curves(passes, ends, gains, weights)
    whole = curves.gains.sum()
    for part in (0.9, 0.5, 0.1):
        allowed = part * whole + 7.0
        kept = allocate_passes(curves, [Target(error=allowed)], 7.0, measure(passes, ends))[0]
        left = whole - sum_gains(kept, gains, weights) + 7.0
        assert left <= allowed + 1e-9
        assert left > allowed - curves.gains.max()


def test_layers_never_lose_passes():
    passes, ends, gains, weights = draw_blocks()
    curves = trace_curves(passes, ends, gains, weights)
    targets = [Target(size=200), Target(size=900), Target(size=901), Target()]
    kept = allocate_passes(curves, targets, 0.0, measure(passes, ends))
    assert np.all(np.diff(kept, axis=0) >= 0)
    np.testing.assert_array_equal(kept[-1], passes)


def test_nothing_to_keep():
    curves = trace_curves(np.zeros(3, np.int32), np.zeros((3, 0), np.int32), np.zeros((3, 0)), np.ones(3))
    kept = allocate_passes(curves, [Target(size=10), Target(error=1.0), Target()], 0.0, lambda kept: 5)
    assert not kept.any()

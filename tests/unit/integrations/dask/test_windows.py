"""Windows say which samples are fetched, and blocks of them become what a filter sees."""

from itertools import pairwise

import dask.array as da
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subband.boundary import MODES, extend
from subband.integrations.dask.decomposition import extend_array
from subband.integrations.dask.graphs import BlockMap, draw_array
from subband.integrations.dask.levels import Share
from subband.integrations.dask.windows import clip_run, join_chunks, walk_segments, wrap_window


def cut(data, length):
    """Draw the edges of any chunks of an axis."""
    return (0, *sorted(data.draw(st.sets(st.integers(1, length - 1), max_size=4))), length) if length > 1 else (0, 1)


@given(st.integers(1, 40), st.integers(-60, 60), st.integers(1, 80), st.booleans(), st.data())
def test_any_stretch_is_that_of_the_periodic_signal(length, start, size, is_even, data):
    x = np.random.default_rng(length).normal(size=length)
    edges = cut(data, length)
    lazy = da.from_array(x, chunks=(tuple(b - a for a, b in pairwise(edges)),))
    window = wrap_window(start, start + size, length, length + (length % 2 if is_even else 0))
    share = Share((slice(None),), (), ())
    blocks = BlockMap(lambda _where, block: block, [(0, size)], [(lazy, [[window]])], lambda _index: share)
    expected = extend("periodization" if is_even else "periodic", length, start, start + size).apply(x)
    np.testing.assert_array_equal(draw_array(blocks, "test").compute(scheduler="synchronous"), expected)


@given(st.sampled_from(MODES), st.integers(1, 40), st.integers(0, 60), st.integers(0, 60), st.data())
def test_extended_arrays_are_extended_signals(mode, length, before, behind, data):
    x = np.random.default_rng(length).normal(size=length)
    lazy = da.from_array(x, chunks=(tuple(b - a for a, b in pairwise(cut(data, length))),))
    got = extend_array(lazy, 0, mode, before, behind)
    expected = extend(mode, length, -before, length + behind).apply(x)
    np.testing.assert_allclose(got.compute(scheduler="synchronous"), expected, atol=1e-12)
    assert max(got.chunks[0]) <= 1.5 * max(lazy.chunks[0])


@given(st.sampled_from([mode for mode in MODES if "period" not in mode]), st.integers(20, 60), st.data())
def test_what_is_clipped_goes_on_as_the_whole_signal(mode, length, data):
    start = data.draw(st.integers(-9, length - 1))
    stop = data.draw(st.integers(max(start, 0) + 1, length + 9))
    x = np.random.default_rng(length).normal(size=length)
    begin, end = clip_run(start, stop, length)
    block = extend(mode, end - begin, start - begin, stop - begin).apply(x[begin:end])
    np.testing.assert_allclose(block, extend(mode, length, start, stop).apply(x), atol=1e-12)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=10), st.integers(1, 30), st.integers(0, 40))
def test_joined_chunks_are_long_enough(lengths, least, wanted):
    edges = tuple(np.cumsum([0, *lengths]).tolist())
    joined = join_chunks(edges, least, wanted)
    assert set(joined) <= set(edges)
    assert (joined[0], joined[-1]) == (0, edges[-1])
    if len(joined) > 2:
        assert min(b - a for a, b in pairwise(joined)) >= least


def test_runs_are_cut_at_chunks():
    assert [each[:3] for each in walk_segments((0, 5, 6, 20), ((4, 7),))] == [(0, 4, 5), (1, 0, 1), (2, 0, 1)]

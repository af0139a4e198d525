"""Windows say which samples are fetched, and how they become what a filter sees."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subband.boundary import MODES, extend
from subband.integrations.dask.blocks import fetch
from subband.integrations.dask.graphs import Draft, Grid
from subband.integrations.dask.windows import join_chunks, open_window, split_run


@given(st.sampled_from(MODES), st.integers(1, 40), st.integers(-60, 60), st.integers(1, 80), st.data())
def test_any_stretch_is_that_of_the_extended_signal(mode, length, start, size, data):
    x = np.random.default_rng(length).normal(size=length)
    window = open_window(lambda a, b: extend(mode, length, a, b), length, start, start + size)
    edges = (0, *sorted(data.draw(st.sets(st.integers(1, length - 1), max_size=4))), length) if length > 1 else (0, 1)
    draft = Draft("draft")
    recipe, keys = draft.request(Grid("x", (edges,)), [window])
    pieces = []
    for key in keys:
        if key[0] == "x":
            pieces.append(x[edges[key[1]] : edges[key[1] + 1]])
        else:
            task = draft.tasks[key]
            number = task.args[0].key[1]
            pieces.append(task.func(x[edges[number] : edges[number + 1]], task.args[1]))
    expected = extend(mode, length, start, start + size).apply(x)
    np.testing.assert_allclose(fetch(recipe, pieces), expected, atol=1e-12)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=10), st.integers(1, 30), st.integers(0, 40))
def test_joined_chunks_are_long_enough(lengths, least, wanted):
    edges = tuple(np.cumsum([0, *lengths]).tolist())
    joined = join_chunks(edges, least, wanted)
    assert set(joined) <= set(edges)
    assert (joined[0], joined[-1]) == (0, edges[-1])
    if len(joined) > 2:
        assert min(b - a for a, b in pairwise(joined)) >= least


def test_runs_are_cut_at_chunks():
    assert list(split_run((0, 5, 6, 20), (4, 7))) == [(0, 4, 5), (1, 0, 1), (2, 0, 1)]

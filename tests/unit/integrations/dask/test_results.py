"""Computed arrays are what Dask makes of their chunks, in memory that is used again."""

import pickle
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subband
from subband.engines import memory
from subband.integrations.dask.results import ComputedArray, put_together

RNG = np.random.default_rng(5)


@st.composite
def arrays_in_chunks(draw):
    shape = draw(st.lists(st.integers(0, 12), min_size=1, max_size=3))
    chunks = []
    for length in shape:
        cuts = draw(st.sets(st.integers(1, length - 1), max_size=3)) if length > 1 else set()
        chunks.append(tuple(b - a for a, b in pairwise([0, *sorted(cuts), length])))
    return RNG.normal(size=shape), tuple(chunks)


@settings(max_examples=40)
@given(arrays_in_chunks())
def test_chunks_are_put_where_they_belong(case):
    x, chunks = case
    lazy = da.from_array(x, chunks=chunks)
    got = ComputedArray(lazy.dask, lazy.name, lazy.chunks, meta=lazy._meta).compute(scheduler="synchronous")
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, x)
    got[...] = 1
    assert not np.shares_memory(got, x)


def test_chunks_of_others_are_left_to_dask():
    class Other(np.ndarray):
        """Stands for the arrays of another library."""

    def join(chunks, name):
        return name, len(chunks)

    assert put_together([np.ones(2).view(Other), np.ones(3)], join, "other") == ("other", 2)
    assert put_together([np.ones(2), np.ones(3).view(Other)], join, "mixed") == ("mixed", 2)
    assert put_together([np.ones(2), np.ones(3, "float32")], join, "dtypes") == ("dtypes", 2)
    assert put_together([np.ones((2, 2))], join, "depth") == ("depth", 1)
    assert put_together([], join, "empty") == ("empty", 0)


def test_large_results_are_copied_by_several_threads():
    x = RNG.normal(size=(1100, 900))
    blocks = [[x[row : row + 200, column : column + 450] for column in (0, 450)] for row in range(0, 1100, 200)]
    np.testing.assert_array_equal(put_together(blocks, list), x)


def test_results_stand_in_lent_memory():
    lazy = subband.dwt2(da.from_array(RNG.normal(size=(512, 512)), chunks=128), "db2")[0]
    assert isinstance(lazy.compute(scheduler="synchronous").base, memory._Loan)


def test_what_is_made_from_them_is_of_dask_alone():
    lazy = subband.dwt(da.from_array(RNG.normal(size=100), chunks=50), "db2")[0]
    assert isinstance(lazy, da.Array)
    for other in (lazy + 1, lazy[:3], lazy.rechunk(7), lazy.persist(scheduler="synchronous")):
        assert type(other) is da.Array
    again = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(*dask.compute(again, lazy, scheduler="synchronous"))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_every_scheduler_has_the_transform_in_memory(scheduler):
    x = RNG.normal(size=(300, 200)).astype(np.float32)
    lazy = subband.dwt2(da.from_array(x, chunks=64), "cdf97", "symmetric")[1]
    for band, other in zip(dask.compute(*lazy, scheduler=scheduler), subband.dwt2(x, "cdf97")[1], strict=True):
        np.testing.assert_allclose(band, other, atol=1e-5)

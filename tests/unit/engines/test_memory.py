from __future__ import annotations

import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

from subband.engines import memory
from subband.engines.memory import _Store, allocate, prepare_allocation, release_memory

FLOATS = np.dtype(np.float32)
LARGE = (1024, 1024)


@pytest.fixture(autouse=True)
def _fresh_store(monkeypatch):
    monkeypatch.setattr("subband.engines.memory._store", _Store())


def test_memory_comes_back_when_the_last_view_is_gone():
    array = allocate(LARGE, FLOATS)
    address = array.ctypes.data
    view = array[10:20].T
    del array
    other = allocate(LARGE, FLOATS)
    assert other.ctypes.data != address
    view[...] = 1.0
    del view
    assert allocate(LARGE, FLOATS).ctypes.data == address


def test_results_are_never_shared():
    arrays = [allocate(LARGE, FLOATS) for _ in range(4)]
    for number, array in enumerate(arrays):
        array[...] = number
    assert [array.max() for array in arrays] == [0, 1, 2, 3]


def test_no_more_is_kept_than_was_needed_at_one_time():
    store = _Store()
    first = store.lend(1 << 22)
    store.take_back(first)
    store.lend(1 << 21)
    assert store._lent + store._kept <= 1 << 22


def test_arrays_made_together_are_those_made_one_by_one():
    forms = [((3,), np.dtype(np.int64)), ((64, 1024), np.dtype(np.float32)), ((512, 512), np.dtype(np.float64))]
    for order in (forms, forms[::-1]):
        made = prepare_allocation(order)()
        assert [(x.shape, x.dtype) for x in made] == order
        for number, x in enumerate(made):
            x[...] = number
        assert all((x == number).all() for number, x in enumerate(made))


def test_details_of_a_level_share_a_block_and_the_approximation_has_its_own():
    low, *details = prepare_allocation([((256, 256), FLOATS)] * 4)()
    assert len({id(x.base) for x in details}) == 1
    assert low.base is not details[0].base
    for number, x in enumerate(details):
        x[...] = number
    assert [x.max() for x in details] == [0, 1, 2]
    assert [x.min() for x in details] == [0, 1, 2]
    assert all(x.ctypes.data % 64 == 0 for x in (low, *details))


def test_a_shared_block_comes_back_when_all_of_it_are_gone():
    make = prepare_allocation([((1,), FLOATS), *[((300, 301), FLOATS)] * 3])
    _, *details = make()
    address = details[0].ctypes.data
    kept = details.pop()
    del details[:]
    kept[...] = 1.0
    others = make()
    assert others[1].ctypes.data != address
    others[1][...] = others[2][...] = others[3][...] = 0.0
    assert (kept == 1.0).all()
    del kept
    assert make()[1].ctypes.data == address


@pytest.mark.parametrize("shape", [(256, 256), (512, 512), (1024, 1024)])
def test_what_is_kept_keeps_no_more_than_a_few_neighbours(shape):
    arrays = prepare_allocation([(shape, FLOATS)] * 9)()
    for array in arrays:
        assert array.base.size <= max(array.nbytes, min(3 * array.nbytes, 2 << 20)) * 9 / 8


def test_blocks_come_back_if_there_is_no_memory_for_all():
    store = _Store()
    with pytest.raises(MemoryError):
        store.lend_all([1 << 20, 1 << 62])
    assert store.lend(1 << 20).size == 1 << 20
    assert store._lent == 1 << 20


def test_released_memory_is_gone():
    array = allocate(LARGE, FLOATS)
    del array
    release_memory()
    assert memory._store._kept == 0


def test_what_was_used_last_is_kept_longest(monkeypatch):
    monkeypatch.setattr("subband.engines.memory._LIMIT", 3 << 20)
    store = _Store()
    blocks = [store.lend(size << 20) for size in (2, 1, 2)]
    for block in blocks:
        store.take_back(block)
    assert store._kept == 2 << 20
    assert store.lend(2 << 20) is blocks[2]


@pytest.mark.parametrize("size", [1 << 16, 70_000, 2 << 20, 3 << 20])
def test_blocks_begin_at_whole_lines_and_large_ones_at_whole_pages(size):
    address = _Store().lend(size).ctypes.data
    assert address % 64 == 0
    assert size < 2 << 20 or address % (2 << 20) == 0 or not hasattr(mmap, "MAP_PRIVATE")


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system takes no part of a block back")
def test_of_a_large_block_no_more_is_given_back_than_is_too_much():
    store = _Store()
    large = store.lend(16 << 20)
    large[:] = 1
    store.take_back(large)
    small = store.lend(1 << 20)
    assert store._lent + store._kept <= 16 << 20
    assert store._kept == 14 << 20
    assert large.kept == 14 << 20
    assert large[: 14 << 20].all()
    assert not large[14 << 20 :].any()
    store.take_back(small)
    assert store.lend(16 << 20) is large
    # what was given back of it is asked for again: from now on there is room for both
    assert store._kept == 1 << 20


def test_sizes_that_come_again_are_kept_up_to_a_quarter_more(monkeypatch):
    """The blocks of five levels, of which one is given back before the last ones are asked for."""
    made = []
    make_block = memory._make_block
    monkeypatch.setattr(memory, "_make_block", lambda size: made.append(size) or make_block(size))
    store = _Store()
    for turn in range(8):
        made.clear()
        first = store.lend_all([4 << 20, 4 << 20])
        store.take_back(first.pop())
        first += store.lend_all([1 << 20, 1 << 20])
        for block in first:
            store.take_back(block)
        assert not made or turn < 4
        assert store._lent + store._kept <= (8 << 20) * 5 // 4
    assert store._most_lent == 8 << 20


def test_what_comes_once_does_not_widen_what_is_kept():
    store = _Store()
    for size in (8, 4, 2, 1):
        store.take_back(store.lend(size << 20))
    assert store._kept <= 8 << 20
    assert store._missed == 0


@pytest.mark.parametrize("size", [1 << 16, 70_000, 100_001, (1 << 24) + 1])
def test_a_block_is_at_most_an_eighth_larger(size):
    assert size <= _Store().lend(size).size <= size * 9 / 8


def test_small_arrays_are_numpys_own():
    assert allocate((10, 10), FLOATS).base is None


def test_a_limit_that_is_none_is_named():
    environment = {**os.environ, "SUBBAND_KEEP_BYTES": "much"}
    run = subprocess.run(
        [sys.executable, "-c", "import subband"], env=environment, capture_output=True, text=True, check=False
    )
    assert "SUBBAND_KEEP_BYTES='much' is not a number of bytes" in run.stderr

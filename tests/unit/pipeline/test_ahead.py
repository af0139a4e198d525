"""Frames that are finished while others are begun: in their order, with errors in their place, and never too many."""

from threading import Event, current_thread, get_ident

import numpy as np
import pytest

from subband import set_threads
from subband.engines import get_engine
from subband.pipeline.ahead import AHEAD, count_ahead, run_ahead


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    set_threads(request.param)
    yield request.param
    set_threads(None)


def make_jobs(count, done=None):
    for number in range(count):
        yield lambda number=number: (done.append(number) if done is not None else None, np.full(2, number))[1]


@pytest.mark.parametrize("ahead", [0, 1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_results_come_in_order(ahead, count, threads):
    assert [int(each[0]) for each in run_ahead(make_jobs(count), ahead)] == list(range(count))


def test_no_more_are_begun_than_may_wait():
    begun = []

    def begin():
        for number in range(9):
            begun.append(number)
            yield lambda number=number: np.full(1, number)

    results = run_ahead(begin(), 2)
    for number in range(6):
        next(results)
        assert len(begun) == number + 3
    results.close()
    assert len(begun) == 8


def test_the_oldest_is_finished_beside_what_is_begun():
    begun = Event()

    def wait():
        # would never end if the next one waited for it
        assert begun.wait(10)
        return np.zeros(1)

    def begin():
        yield wait
        begun.set()
        yield lambda: np.ones(1)

    assert [int(each[0]) for each in run_ahead(begin(), 1)] == [0, 1]


def test_nothing_leaves_this_thread_if_nothing_is_ahead():
    (result,) = run_ahead([lambda: np.array([get_ident()])], 0)
    assert int(result[0]) == get_ident()
    (result,) = run_ahead([lambda: np.array([current_thread().name.startswith("subband frames")])], 1)
    assert bool(result[0])


@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_of_the_source_comes_after_the_results_before_it(ahead):
    def fail():
        yield from make_jobs(3)
        raise OSError("gone")

    results = run_ahead(fail(), ahead)
    assert [int(next(results)[0]) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="gone"):
        next(results)


@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_of_a_job_comes_in_its_place(ahead):
    def fail():
        raise ArithmeticError("broken")

    results = run_ahead([*make_jobs(2), fail, *make_jobs(3)], ahead)
    assert [int(next(results)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(ArithmeticError, match="broken"):
        next(results)
    assert list(results) == []


def test_one_thread_is_one_thread(threads):
    assert count_ahead(get_engine("cpu")) == (0 if threads == 1 else AHEAD)

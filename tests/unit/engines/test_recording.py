"""What is recorded is replayed on other arrays, and what cannot be replayed is not."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import subband
from subband.compiled import Kernels
from subband.engines import get_engine, threads
from subband.engines.cpu import jobs
from subband.engines.recording import record, recordings
from subband.plan import level_plan
from subband.testing import draw_samples
from subband.wavelets import Wavelet

CPU = get_engine("cpu")
PLAN = level_plan((40,), (0,), (Wavelet("db3"),), ("symmetric",))


def transform(x):
    return CPU.forward(PLAN, x)


def test_a_replay_computes_other_arrays():
    x, other = draw_samples((2, 40))
    result, replay = record(lambda: transform(x), [x])
    expected = transform(other)
    found = replay([other])
    assert list(found) == list(result) == ["a", "d"]
    for key, band in expected.items():
        np.testing.assert_array_equal(found[key], band)
        assert found[key] is not result[key]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: transform(x)["a"] + 1,
        lambda x: transform(x + 1),
        lambda x: [transform(x)["a"], x],
        lambda x: transform(x)["a"][:4],
        lambda x: [transform(x)["a"]] * 2,
        lambda x: (transform(x)["a"], "text"),
        lambda x: x,
        lambda x: None,
    ],
)
def test_what_other_code_computed_is_not_replayed(function):
    x = draw_samples((40,))
    _, replay = record(lambda: function(x), [x])
    assert replay is None


def test_giving_up():
    x = draw_samples((40,))

    def warn():
        recordings.current.give_up()
        return transform(x)

    assert record(warn, [x])[1] is None


def test_an_error_ends_the_recording():
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 / 0, [])
    assert recordings.current is None


@pytest.fixture
def threads_asked(monkeypatch):
    """The number of threads of each run of large jobs; how many are set is restored."""
    before, asked = subband.get_threads(), []
    monkeypatch.setattr(threads, "_sharing", threads._Sharing())
    monkeypatch.setattr(threads, "_PATIENCE", float("inf"))
    share = jobs.share_tasks

    def note(entry, count, *rest):
        asked.append(count)
        return share(entry, count, *rest)

    monkeypatch.setattr(jobs, "share_tasks", note)
    yield asked
    subband.set_threads(before)


@pytest.mark.parametrize("count", [1, 2])
def test_large_arrays_are_for_as_many_threads_as_there_are_then(threads_asked, count):
    plan = level_plan((600, 600), (0, 1), (Wavelet("haar"),) * 2, ("zero",) * 2)
    x = draw_samples(plan.shape)
    subband.set_threads(count)
    expected, replay = record(lambda: CPU.forward(plan, x), [x])
    for other in (1, 2, 3):
        subband.set_threads(other)
        for key, band in replay([x]).items():
            np.testing.assert_array_equal(band, expected[key])
    assert threads_asked == [count, 1, 2, 3]


def test_large_constants_are_not_kept():
    plan = level_plan((600, 600), (0, 1), (Wavelet("haar"),) * 2, ("zero",) * 2)
    bands = CPU.forward(plan, draw_samples(plan.shape))
    assert record(lambda: CPU.inverse(plan, bands), [*bands.values()])[1] is not None
    assert record(lambda: CPU.inverse(plan, {"aa": bands["aa"]}), [bands["aa"]])[1] is None


def test_a_replay_keeps_no_samples():
    def prepare():
        x = draw_samples((40,))
        result, replay = record(lambda: transform(x), [x])
        return replay, [weakref.ref(x), *map(weakref.ref, result.values())]

    replay, kept = prepare()
    gc.collect()
    assert not any(reference() is not None for reference in kept)
    assert replay is not None


def test_threads_replay_at_once():
    signals = draw_samples((64, 200))
    expected = [subband.wavedec(x, "db2") for x in signals]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda x: [subband.wavedec(x, "db2") for _ in range(20)][-1], signals))
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("is_compiled_here", [False, True])
def test_entries_refuse_what_is_not_in_order(is_compiled_here):
    kernel = Kernels("subband.engines.cpu.job_loops").run_jobs
    run = kernel.dispatcher if is_compiled_here else kernel.find_entry("int64[2C], addresses")
    none = np.zeros((0, 29), np.int64)
    x = np.zeros((4, 4))
    assert run(none, x, x[1]) is None
    for wrong in (x.T[1:], x[:, ::2], [1.0], np.zeros(3).view(np.memmap)):
        assert run(none, x, wrong) is NotImplemented
    room = np.zeros(17, np.uint8)[1:].view(np.float64)
    assert run(none, room) is NotImplemented

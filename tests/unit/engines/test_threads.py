from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import subband
from subband.engines import board, get_threads, set_threads, threads
from subband.engines.cpu import jobs
from subband.engines.threads import count_threads, run_tasks, run_together, share_tasks
from subband.errors import ArgumentError


@pytest.fixture(autouse=True)
def _restore_threads(monkeypatch):
    monkeypatch.setattr(threads, "_sharing", threads._Sharing())
    before = get_threads()
    yield
    set_threads(before)


def run_code(code, **environment):
    """Run code in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def threads_of_a_new_process(value):
    """Return what a process with that environment variable prints."""
    return run_code("from subband.engines import get_threads; print(get_threads())", SUBBAND_NUM_THREADS=value)


def test_default_is_the_number_of_usable_cores(monkeypatch):
    monkeypatch.delenv("SUBBAND_NUM_THREADS", raising=False)
    set_threads(None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert get_threads() == cores


def test_set_and_get():
    set_threads(5)
    assert get_threads() == 5


def test_environment_variable():
    assert threads_of_a_new_process("3").stdout.strip() == "3"
    assert int(threads_of_a_new_process(" ").stdout) >= 1


@pytest.mark.parametrize("value", ["many", "0", "-2", "1.5"])
def test_bad_environment_variable(value):
    finished = threads_of_a_new_process(value)
    assert finished.returncode != 0
    assert f"SUBBAND_NUM_THREADS={value!r} is not a number of threads; use 1 or more" in finished.stderr


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_bad_counts(count):
    before = get_threads()
    with pytest.raises(ArgumentError, match=r"count=.*use 1 or more"):
        set_threads(count)
    assert get_threads() == before


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_task_runs_once(count):
    set_threads(count)
    done, lock = [], threading.Lock()

    def work(*task):
        with lock:
            done.append(task)

    tasks = [(k, k + 1) for k in range(100)]
    run_tasks(work, tasks)
    assert sorted(done) == tasks


def test_no_tasks_are_done_at_once():
    waiting = threading.Thread(target=run_tasks, args=(print, []), daemon=True)
    waiting.start()
    waiting.join(timeout=300.0)
    assert not waiting.is_alive()


def test_work_is_shared():
    """Two tasks that wait for each other can only end if two threads run them."""
    set_threads(2)
    meeting = threading.Barrier(2, timeout=300.0)
    names = []

    def work(_):
        meeting.wait()
        names.append(threading.current_thread().name)

    run_tasks(work, [(0,), (1,)])
    assert len(set(names)) == 2


@pytest.mark.parametrize("count", [1, 3])
def test_a_failing_task_is_heard_of(count):
    set_threads(count)

    def work(k):
        if k == 5:
            raise RuntimeError("task 5")

    with pytest.raises(RuntimeError, match="task 5"):
        run_tasks(work, [(k,) for k in range(20)])


def test_more_threads_later():
    for count in (2, 4, 3):
        set_threads(count)
        meeting = threading.Barrier(count, timeout=300.0)
        run_tasks(lambda _, meeting=meeting: meeting.wait(), [(k,) for k in range(count)])


# --- On a busy machine. ---


@pytest.fixture
def held_up_helper(monkeypatch):
    """Let the only helper of a new pool be in the middle of somebody else's task, until the event is set."""
    pool = threads._Pool()
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: pool)
    pool.grow(1)
    begun, over = threading.Event(), threading.Event()

    def hold_up():
        begun.set()
        over.wait(60.0)

    job = threads._Job(hold_up, 1, pool)
    pool.call(job)
    assert begun.wait(60.0)
    yield over
    over.set()


def test_a_helper_that_is_held_up_is_not_waited_for(held_up_helper):
    done = []
    for _ in range(50):
        run_together(lambda: done.append(threading.current_thread()), 2)
    assert done == [threading.current_thread()] * 50
    assert threads._find_pool(1)._calls.qsize() <= 1, "calls that nobody answers pile up"


def test_compiled_tasks_do_without_a_helper_that_is_held_up(held_up_helper):
    x = np.random.default_rng(0).normal(size=(700, 700))
    set_threads(1)
    expected = subband.dwt2(x, "db4")[0]
    set_threads(2)
    for _ in range(5):
        np.testing.assert_array_equal(subband.dwt2(x, "db4")[0], expected)


def test_who_calls_beside_others_calls_no_helper(monkeypatch):
    """Threads that compute already have the cores that helpers would take."""
    monkeypatch.setattr(threads, "_PATIENCE", float("inf"))
    pool = threads._Pool()
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: pool)
    set_threads(2)
    x = np.zeros((700, 700))
    for others in (1, 0, 5):
        pool.board[board.CALLERS] = others
        posts = pool.board[board.POSTS]
        subband.dwt2(x, "db4")
        assert pool.board[board.POSTS] - posts == (others == 0)
        assert pool.board[board.CALLERS] == others


def test_whoever_has_the_last_task_waits_for_a_longer_one(monkeypatch):
    x = np.random.default_rng(0).normal(size=(2048, 1024))
    set_threads(1)
    expected = subband.dwt2(x, "haar")[0]
    boxes = np.array([(0, 1, 0, 300, 0, 512), (0, 1, 300, 1023, 0, 512), (0, 1, 1023, 1024, 0, 512)])
    monkeypatch.setattr(jobs, "_tabulate_tasks", lambda *_: boxes)
    set_threads(2)
    for _ in range(20):
        np.testing.assert_array_equal(subband.dwt2(x, "haar")[0], expected)


def test_what_is_done_keeps_nothing_alive(held_up_helper):
    array = np.zeros(10)
    gone = weakref.ref(array)
    run_together(lambda array=array: array.sum(), 2)
    del array
    assert gone() is None


def test_calls_that_lose_time_are_left_to_one_thread(monkeypatch):
    """Nobody measures seconds here: the clocks are ours."""
    now, asked = [100.0], []
    pool = threads._Pool()
    monkeypatch.setattr(threads, "perf_counter", lambda: now[0])
    monkeypatch.setattr(threads, "_busy_clock", lambda: 0.0)
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: asked.append(helpers) or pool)

    def run(lost, **options):
        run_together(lambda: now.__setitem__(0, now[0] + lost), 2, **options)
        return len(asked)

    few = threads._SUSPICION - 1
    assert run(0.0, is_even=True) == 1
    assert run(0.01) == 2
    for number in range(few):
        assert run(0.01, is_even=True) == 3 + number, "tasks of any size say nothing about the machine"
    assert run(0.0, is_even=True) == 3 + few, "first calls, which load kernels, are held up too"
    for _ in range(few + 1):
        run(0.01, is_even=True)
    count = len(asked)
    assert run(0.0, is_even=True) == count, "calls a helper right after several were held up"
    assert run(0.0) == count + 1
    now[0] += threads._LONGEST_PAUSE
    assert run(0.01, is_even=True) == count + 2, "does not come back to several threads"
    assert run(0.0, is_even=True) == count + 2, "one that is held up is enough after a pause"
    now[0] += threads._LONGEST_PAUSE
    assert run(0.0, is_even=True) == count + 3
    assert run(0.0, is_even=True) == count + 4


def test_compiled_tasks_that_lose_time_are_left_to_one_thread_at_once(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(threads, "perf_counter", lambda: now[0])
    monkeypatch.setattr(threads, "_busy_clock", lambda: 0.0)
    set_threads(2)

    def run(lost):
        share_tasks(lambda board, count: now.__setitem__(0, now[0] + lost), 2)
        return count_threads()

    assert run(threads._PATIENCE / 2) == 2
    assert run(0.01) == 1
    now[0] += threads._LONGEST_PAUSE
    assert count_threads() == 2


def test_an_interrupted_caller_leaves_nobody_behind():
    set_threads(2)
    meeting = threading.Barrier(2, timeout=60.0)
    left = []

    def work(_):
        meeting.wait()
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        left.append(True)

    caller = threading.current_thread()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(work, [(0,), (1,)])
    assert left == [True]


def test_threads_that_cannot_be_started_are_done_without(monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "Thread", refuse)
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    set_threads(8)
    done = []
    run_tasks(done.append, [(k,) for k in range(20)])
    assert sorted(done) == list(range(20))


def test_no_kernel_starts_threads_of_openmp():
    """They would go on turning when they have nothing to do, and take the cores from everybody else."""
    code = """
import threading, numba, numpy as np, subband
x = np.random.default_rng(0).normal(size=(700, 700)).astype(np.float32)
subband.dwt2(x, "haar")
subband.denoise(x, method="bayes", wavelet="haar")
from subband.engines import get_engine
from subband.bench.papers.level_orders import order_level
from subband.engines.measuring.harness import plan_array
order_level(get_engine("cpu"), "block-based")(plan_array(x.shape, "haar", 1).levels[0], x)
try:
    print(numba.threading_layer())
except ValueError:
    print("none,", sum(thread.name.startswith("subband") for thread in threading.enumerate()))
"""
    finished = run_code(code, SUBBAND_NUM_THREADS="3")
    assert finished.stdout.strip() == "none, 2", finished.stderr


def test_small_transforms_wake_nobody(monkeypatch):
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: pytest.fail("woke a thread"))
    set_threads(2)
    subband.wavedec(np.zeros(100_000), "db4")
    subband.wavedec2(np.zeros((256, 256)), "db4")


def test_large_transforms_are_shared(monkeypatch):
    asked = []
    pool = threads._find_pool(1)
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: asked.append(helpers) or pool)
    set_threads(2)
    x = np.zeros((1024, 1024))
    subband.dwt2(x, "db4")
    subband.idwt2((x, (x, None, None)), "db4")
    subband.swt2(x, "db4", level=1)
    assert set(asked) == {1}


def test_many_threads_may_call_at_once():
    set_threads(3)
    images = [np.random.default_rng(seed).normal(size=(600, 600)) for seed in range(6)]
    expected = [subband.dwt2(image, "db4")[0] for image in images]
    found = {}
    meeting = threading.Barrier(len(images), timeout=60.0)

    def work(number):
        meeting.wait()
        for _ in range(5):
            found[number] = subband.dwt2(images[number], "db4")[0]

    callers = [threading.Thread(target=work, args=(number,)) for number in range(len(images))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for number, band in enumerate(expected):
        np.testing.assert_array_equal(found[number], band)
    words = threads._pool.board
    assert words[board.CALLERS] == 0
    assert not words[board.FREE + board.STATE : board.FIRST : board.SLOT].any(), "a slot that nobody closed"


def test_threads_end_with_the_program():
    pool = threads._Pool()
    pool.grow(3)
    pool.end()
    for thread in pool._threads:
        thread.join(60.0)
        assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own(monkeypatch):
    monkeypatch.setattr(threads, "_PATIENCE", float("inf"))
    set_threads(2)
    x = np.random.default_rng(0).normal(size=(600, 600))
    expected = subband.dwt2(x, "db4")[0]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work():
        band = subband.dwt2(x, "db4")[0]
        sender.send((band, threads._pool.is_own))

    child = context.Process(target=work)
    child.start()
    sender.close()
    assert receiver.poll(60.0)
    band, is_own = receiver.recv()
    child.join()
    np.testing.assert_array_equal(band, expected)
    assert is_own

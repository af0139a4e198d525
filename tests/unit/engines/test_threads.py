from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from subband.engines import get_threads, set_threads
from subband.engines.threads import run_tasks
from subband.errors import ArgumentError


@pytest.fixture(autouse=True)
def _restore_threads():
    before = get_threads()
    yield
    set_threads(before)


def threads_of_a_new_process(value):
    """Return what a process with that environment variable prints."""
    code = "from subband.engines import get_threads; print(get_threads())"
    environment = {**os.environ, "SUBBAND_NUM_THREADS": value, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


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


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_task_runs_once(threads):
    set_threads(threads)
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
    waiting.join(timeout=5.0)
    assert not waiting.is_alive()


def test_work_is_shared():
    """Two tasks that wait for each other can only end if two threads run them."""
    set_threads(2)
    meeting = threading.Barrier(2, timeout=30.0)
    names = []

    def work(_):
        meeting.wait()
        names.append(threading.current_thread().name)

    run_tasks(work, [(0,), (1,)])
    assert len(set(names)) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failing_task_is_heard_of(threads):
    set_threads(threads)

    def work(k):
        if k == 5:
            raise RuntimeError("task 5")

    with pytest.raises(RuntimeError, match="task 5"):
        run_tasks(work, [(k,) for k in range(20)])


def test_more_threads_later():
    for threads in (2, 4, 3):
        set_threads(threads)
        meeting = threading.Barrier(threads, timeout=30.0)
        run_tasks(lambda _, meeting=meeting: meeting.wait(), [(k,) for k in range(threads)])

"""Work in threads that the main thread waits for: its order, its errors, and an end to it."""

from threading import Event, Thread

import pytest

from subband.cli import interruption
from subband.cli.interruption import has_left_threads, run_together
from subband.outputs import Unfinished, place_output, remove_unfinished


def test_results_have_the_order_of_the_tasks():
    told = []
    first = Event()

    def late():
        assert first.wait(10)
        return "late"

    def early():
        first.set()
        return "early"

    results = run_together([late, early], 2, Event(), lambda number, result: told.append((number, result)))
    assert results == ["late", "early"]
    assert sorted(told) == [(0, "late"), (1, "early")]


def test_no_more_threads_than_tasks_and_workers():
    assert run_together([], 3, Event(), lambda *_: None) == []
    assert run_together([lambda: 1] * 5, 2, Event(), lambda *_: None) == [1] * 5


def test_what_a_task_raises_is_raised_here_and_ends_the_others():
    cancelled = Event()

    def fail():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run_together([fail, lambda: cancelled.wait(10)], 2, cancelled, lambda *_: None)
    assert cancelled.is_set()


@pytest.mark.parametrize("keep", [False, True])
def test_what_does_not_stop_is_left_and_cleaned_up_after(tmp_path, monkeypatch, keep):
    monkeypatch.setattr(interruption, "_GRACE", 0.05)
    monkeypatch.setattr(interruption, "_GRACE_TO_KEEP", 0.05)
    monkeypatch.setattr(interruption, "_LEFT", [])
    begun, end = Event(), Event()
    files = []

    def stubborn():
        files.append(Unfinished(tmp_path / "film.mkv"))
        begun.set()
        end.wait(30)
        files[0].remove()

    def interrupt():
        assert begun.wait(10)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_together([stubborn, interrupt], 2, Event(), lambda *_: None, keep_partial=keep)
    assert has_left_threads()
    assert [path.name for path in tmp_path.iterdir()] == (["film.part.mkv"] if keep else [])
    end.set()
    for thread in interruption._LEFT:
        assert isinstance(thread, Thread)
        thread.join(10)
    assert not has_left_threads()


def test_what_is_moved_into_place_later_is_removed_too(tmp_path):
    (tmp_path / "done.txt").write_text("mine")

    def write():
        with place_output(tmp_path / "done.txt", overwrite=True) as unfinished:
            unfinished.write_text("half")
            remove_unfinished()

    with pytest.raises(OSError, match="cannot be written"):
        write()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("done.txt", "mine")]

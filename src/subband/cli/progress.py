"""How far files are, on a terminal, and what is waited for before the first frame: kernels that are compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import TaskID

    from subband.pipeline.relay import Observe, Progress

__all__ = ["Compilation", "Watch", "watch_progress"]

_COMPILING = "compiling kernels, once for this machine"


class Compilation:
    """Tells whether Numba is compiling right now; what comes from its cache on disk does not count.

    Numba is not loaded for that, because commands that compute on a GPU do without: it is asked as soon as something
    else has loaded it.

    Examples
    --------
    >>> with Compilation() as compilation:
    ...     compilation.is_under_way
    False
    """

    def __init__(self) -> None:
        self._depth = 0
        self._listening: ExitStack | None = None

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening is not None:
            self._listening.close()

    @property
    def is_under_way(self) -> bool:
        """Whether a kernel is being compiled."""
        if self._listening is None and is_loaded("numba.core.event"):
            self._listen()
        return self._depth > 0

    def _listen(self) -> None:
        from numba.core import event

        compilation = self

        class Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
            # Numba compiles under a lock, so these are never called by two threads at once
            def on_start(self, _: Any) -> None:
                compilation._depth += 1

            def on_end(self, _: Any) -> None:
                # what had begun before anyone listened ends too
                compilation._depth = max(compilation._depth - 1, 0)

        self._listening = ExitStack()
        self._listening.enter_context(event.install_listener("numba:compile", Listener()))


def is_loaded(name: str) -> bool:
    """Tell whether a module is there for use, and not only begun.

    Examples
    --------
    >>> is_loaded("sys"), is_loaded("no.such.module")
    (True, False)
    """
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


class Watch:
    """Shows how far files are; called with the name of a file, it gives what observes that one.

    Parameters
    ----------
    display : rich.progress.Progress
        Where.
    files : int
        How many files there will be; several have a line of their own.
    """

    def __init__(self, display: Display, files: int = 1) -> None:
        self._display = display
        self._files, self._done = files, 0
        self._all = display.add_task(self._count(), total=files, rate="") if files > 1 else None
        self._tasks: dict[Observe, TaskID] = {}

    def __call__(self, name: str) -> Observe:
        """Begin a file."""
        task = self._display.add_task(name, total=None, rate="")

        def observe(progress: Progress) -> None:
            rate = f"{progress.rate:.1f} a second"
            self._display.update(task, completed=progress.frames, total=progress.count, rate=rate)
            if progress.frames == progress.count:
                self._display.update(task, visible=False)

        self._tasks[observe] = task
        return observe

    def end(self, observe: Observe) -> None:
        """End a file, well or not."""
        self._display.remove_task(self._tasks.pop(observe))
        self._done += 1
        if self._all is not None:
            self._display.update(self._all, completed=self._done, description=self._count())

    def _count(self) -> str:
        return f"{self._done} of {self._files} files"


@contextmanager
def watch_progress(*, is_quiet: bool, files: int = 1) -> Iterator[Watch]:
    """Show how far files are, on a terminal; the context gives what makes an observer for a file."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Display
    from rich.text import Text

    class Activity(ProgressColumn):
        """The name of a file, and why its first frame is not there yet."""

        def render(self, task: Task) -> Text:
            is_waiting = not task.completed and compilation.is_under_way
            return Text(f"{task.description}: {_COMPILING}" if is_waiting else task.description)

    errors = Console(stderr=True)
    columns = (
        Activity(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
    )
    is_hidden = is_quiet or not errors.is_terminal
    with (
        Compilation() as compilation,
        # what is printed meanwhile goes above the display, but only where both are on one screen
        Display(
            *columns, console=errors, transient=True, disable=is_hidden, redirect_stdout=sys.stdout.isatty()
        ) as display,
    ):
        yield Watch(display, files)

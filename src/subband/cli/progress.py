"""How far files are, on a terminal, and what is waited for before the first frame: kernels that are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subband.pipeline.relay import Observe, Progress

__all__ = ["Compilation", "watch_progress"]

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


@contextmanager
def watch_progress(*, is_quiet: bool) -> Iterator[Callable[[str], Observe]]:
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
    with Compilation() as compilation, Display(*columns, console=errors, transient=True, disable=is_hidden) as display:

        def observe_file(name: str) -> Observe:
            task = display.add_task(name, total=None, rate="")

            def observe(progress: Progress) -> None:
                rate = f"{progress.rate:.1f} a second"
                display.update(task, completed=progress.frames, total=progress.count, rate=rate)
                if progress.frames == progress.count:
                    display.update(task, visible=False)

            return observe

        yield observe_file

"""Dispatching the jobs of a page: one at a time to the thread of its engine, and always the newest."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition

from subband.studio.jobs import Job, Message

__all__ = ["Dispatcher"]


class Dispatcher:
    """At most one job that waits for its engine, or is rendered there.

    Parameters
    ----------
    changed : Condition
        Guards everything here; notified when the next job can be started.
    submit : callable
        Runs something in the thread of an engine; see `subband.studio.workers.Workers.submit`.
    render : callable
        Makes a message of a job; see `subband.studio.rendering.Renderer.render`.
    deliver : callable
        Takes job and message, in the thread of the engine; returns what is to be rendered right after it, if anything.

    Examples
    --------
    >>> tasks, done = [], []
    >>> submit = lambda engine, task: tasks.append(task) or True
    >>> dispatcher = Dispatcher(Condition(), submit, lambda job: Message(), lambda job, message: done.append(job))
    >>> old, new = (Job(None, "cpu", None, len, echo={"settings": number}) for number in (1, 2))
    >>> dispatcher.start(old)
    >>> dispatcher.supersede(new), dispatcher.is_busy
    (True, True)
    >>> tasks[0]()
    >>> done == [new], dispatcher.is_busy
    (True, False)
    """

    def __init__(
        self,
        changed: Condition,
        submit: Callable[[str, Callable[[], None]], bool],
        render: Callable[[Job], Message],
        deliver: Callable[[Job, Message], Job | None],
    ) -> None:
        self.is_busy = False
        self._changed = changed
        self._submit = submit
        self._render = render
        self._deliver = deliver
        self._job: Job | None = None

    def start(self, job: Job) -> None:
        """Hand a job to its engine, which must not be busy with another one of this page."""
        with self._changed:
            self._job, self.is_busy = job, True
        if not self._submit(job.engine, self._work):
            with self._changed:
                self._job, self.is_busy = None, False

    def supersede(self, job: Job | None) -> bool:
        """Replace the job that has not begun; False if none waits for that engine."""
        with self._changed:
            if self._job is not None and job is not None and job.engine == self._job.engine:
                self._job = job
                return True
            self._job = None
            return False

    def _work(self) -> None:
        try:
            with self._changed:
                job, self._job = self._job, None
            while job is not None:
                job = self._deliver(job, self._render(job))
        finally:
            with self._changed:
                self.is_busy = False
                self._changed.notify()

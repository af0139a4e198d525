"""Frames finished by other threads while the next ones are begun, where only the beginning waits for those before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from subband.engines import Engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.threads import get_threads
from subband.typing import Array

__all__ = ["AHEAD", "count_ahead", "run_ahead"]

#: Frames that may be begun before the oldest one is finished: enough for one to be late.
AHEAD = 2


def count_ahead(engine: Engine) -> int:
    """Return how many frames may be begun while one is finished: a device of the host's own has nothing to gain."""
    is_own = isinstance(engine, DeviceEngine) and not engine.device.is_gpu
    return 0 if is_own or get_threads() == 1 else AHEAD


def run_ahead(jobs: Iterable[Callable[[], Array]], ahead: int) -> Iterator[Array]:
    """Call jobs, and yield what they return in their order.

    Parameters
    ----------
    jobs : iterable of callable
        Walked through in this thread; the jobs themselves are done by others, if any are to be ahead. An error of it is
        raised after the results of the jobs before.
    ahead : int
        How many jobs may wait or be at work before the oldest one's result is waited for.

    Examples
    --------
    >>> import numpy as np
    >>> squares = run_ahead((lambda k=k: np.full(1, k * k) for k in range(4)), 2)
    >>> [int(each[0]) for each in squares]
    [0, 1, 4, 9]
    """
    if ahead == 0:
        yield from (job() for job in jobs)
        return
    waiting: deque[Future[Array]] = deque()
    failure: Exception | None = None
    # this thread computes too
    with ThreadPoolExecutor(max(1, min(ahead, get_threads() - 1)), "subband frames") as helpers:
        source = iter(jobs)
        while True:
            try:
                job = next(source)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below, after the frames that are on their way
                failure = error
                break
            waiting.append(helpers.submit(job))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    if failure is not None:
        raise failure

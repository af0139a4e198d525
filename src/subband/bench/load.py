"""CPU load from other processes, as in CI or on a shared server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["keep_busy"]

# ends by itself when whoever started it is gone, however that happened: then its input is closed
_LOOP = """
import select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def keep_busy(processes: int) -> Iterator[None]:
    """Keep so many other processes busy inside a ``with`` block.

    Examples
    --------
    >>> with keep_busy(1):
    ...     measured = True
    """
    with ExitStack() as stack:
        for _ in range(processes):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _LOOP], stdin=subprocess.PIPE))
            stack.callback(process.kill)
        yield

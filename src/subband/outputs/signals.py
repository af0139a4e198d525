"""Deferred signals, for code that must not be interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

__all__ = ["defer_signals"]


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer Ctrl-C and termination signals until a block is done.

    Python raises `KeyboardInterrupt` where it runs next, which may be a function that a library in C calls back and
    that must not fail. Blocks have to be short.

    Examples
    --------
    >>> with defer_signals():
    ...     print("to the end")
    to the end
    """
    if current_thread() is not main_thread():
        # they only ever come in the main thread
        yield
        return
    usual: dict[int, Any] = {}
    waiting: list[tuple[int, Any]] = []
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and callable(handler := signal.getsignal(number)):
                usual[number] = handler
                signal.signal(number, lambda number, frame: waiting.append((number, frame)))
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            usual[number](number, frame)

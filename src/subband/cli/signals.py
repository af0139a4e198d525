"""What ends a command from outside: Ctrl-C, a request to terminate, and a terminal that is closed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Terminated", "describe_interrupt", "end_by_signals"]

_WORDS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}


class Terminated(KeyboardInterrupt):
    """A signal asks to end; what is unfinished is tidied up as after Ctrl-C.

    Parameters
    ----------
    number : int
        Of the signal.

    Examples
    --------
    >>> Terminated(15).code
    143
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """What shells know such an end by."""
        return 128 + self.number


def describe_interrupt(error: KeyboardInterrupt) -> tuple[str, int]:
    """Return a word for what ended a command, and its exit code.

    Examples
    --------
    >>> describe_interrupt(KeyboardInterrupt()), describe_interrupt(Terminated(15))
    (('interrupted', 130), ('terminated', 143))
    """
    if not isinstance(error, Terminated):
        return "interrupted", 128 + signal.SIGINT
    return _WORDS.get(signal.Signals(error.number).name, "terminated"), error.code


@contextmanager
def end_by_signals() -> Iterator[None]:
    """Raise `Terminated` where the main thread is when one of the signals comes, and end with its exit code.

    A signal that is ignored, as that of a closed terminal under ``nohup``, stays ignored.
    """
    caught: list[int] = []
    numbers = [getattr(signal, name) for name in _WORDS if hasattr(signal, name)]
    mine = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: Any) -> None:
        caught.append(number)
        # several may come at once, and what tidies up is not to be stopped half-way
        for each in mine:
            signal.signal(each, signal.SIG_IGN)
        raise Terminated(number)

    for number in mine:
        signal.signal(number, end)
    try:
        yield
    except BaseException:
        if not caught:
            raise
        # whatever came of it on the way, such as a terminal that nothing can be written to any more
        sys.exit(Terminated(caught[0]).code)
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)

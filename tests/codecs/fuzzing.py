"""Trying what is damaged, each thing made from its number alone: the loop and the command line of ``fuzz*.py``."""

from __future__ import annotations

import argparse
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


def measure_memory() -> int:
    """Return the most bytes that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass
class Outcome:
    """What became of damaged things.

    Attributes
    ----------
    kinds : Counter
        How many ended how.
    failures : list of (int, str)
        What must not have happened, with its number, or -1 for all together.
    slowest : (float, int)
        The most seconds of the processor that one took, and its number.
    memory : int
        The most bytes that the process ever had.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    memory: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items()))
        seconds, number = self.slowest
        return (
            f"{sum(self.kinds.values())} tried: {kinds}; {len(self.failures)} failures; slowest {seconds:.2f} s of the "
            f"processor (number {number}); largest memory {self.memory >> 20} MiB"
        )


def run(
    attempt: Callable[[int], str],
    count: int,
    first: int = 0,
    seconds: float | None = None,
    *,
    most_seconds: float,
    most_bytes: int,
) -> Outcome:
    """Call `attempt` with one number after the other.

    An exception is a failure, and so are more seconds of the processor for one of them, or more bytes for all.
    """
    before, begin = measure_memory(), time.perf_counter()
    outcome = Outcome()
    for number in range(first, first + count):
        if seconds is not None and time.perf_counter() - begin > seconds:
            break
        # of the processor: other programs may keep it from us
        start = time.process_time()
        try:
            outcome.kinds[attempt(number)] += 1
            taken = time.process_time() - start
            outcome.slowest = max(outcome.slowest, (taken, number))
            assert taken < most_seconds, f"took {taken:.1f} s of the processor"
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not happen
            outcome.failures.append((number, "".join(traceback.format_exception_only(error)).strip()))
    outcome.memory = measure_memory()
    if outcome.memory - before > most_bytes:
        outcome.failures.append((-1, f"memory grew by {(outcome.memory - before) >> 20} MiB"))
    return outcome


def main(run_some: Callable[[int, int, float | None], Outcome], about: str | None) -> int:
    """Read the arguments, run, and tell what happened: a line for each failure, and one for all."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("count", type=int, nargs="?", default=20000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first; several processes share a range")
    parser.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    outcome = run_some(arguments.count, arguments.first, arguments.seconds)
    for number, message in outcome.failures:
        print(f"{number}: {message}")
    print(f"from {arguments.first} on, {outcome}")
    return 1 if outcome.failures else 0

"""Trying what is damaged, each thing made from its number alone: the loop and the command line of ``fuzz*.py``."""

from __future__ import annotations

import argparse
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable


def measure_memory() -> int:
    """Return the most bytes that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(
    attempt: Callable[[int], str],
    count: int,
    first: int = 0,
    seconds: float | None = None,
    *,
    most_seconds: float,
    most_bytes: int,
) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Call `attempt` with one number after the other.

    Return how many ended how, and what must not have happened: an exception, more seconds of the processor for one of
    them, or more bytes for all.
    """
    before, begin = measure_memory(), time.perf_counter()
    found: Counter[str] = Counter()
    failures = []
    for number in range(first, first + count):
        if seconds is not None and time.perf_counter() - begin > seconds:
            break
        # of the processor: other programs may keep it from us
        start = time.process_time()
        try:
            found[attempt(number)] += 1
            taken = time.process_time() - start
            assert taken < most_seconds, f"took {taken:.1f} s of the processor"
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not happen
            failures.append((number, "".join(traceback.format_exception_only(error)).strip()))
    grown = measure_memory() - before
    if grown > most_bytes:
        failures.append((-1, f"memory grew by {grown >> 20} MiB"))
    return found, failures


def main(
    run_some: Callable[[int, int, float | None], tuple[Counter[str], list[tuple[int, str]]]], about: str | None
) -> int:
    """Read the arguments, run, and tell what happened."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("count", type=int, nargs="?", default=20000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    found, failures = run_some(arguments.count, arguments.first, arguments.seconds)
    for number, message in failures:
        print(f"{number}: {message}")
    print(", ".join(f"{kind} {count}" for kind, count in sorted(found.items())), f"- {len(failures)} failures")
    return 1 if failures else 0

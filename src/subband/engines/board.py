"""The board by which the threads of a pool meet: where its numbers stand; see `subband.engines.cpu.pool_loops`."""

from __future__ import annotations

import numpy as np

from subband.typing import Array

__all__ = ["make_board"]

#: Numbers that are written by different threads stand so far apart, in lines of the cache of their own.
_LINE = 16

#: How many helpers were started, and how often a number is read before a thread falls asleep.
HELPERS, LOOKS = 0, 1

#: How many posts there were: counted, so that helpers who look for news need look at one number only.
POSTS = _LINE

#: Threads that compute for themselves, with or without helpers.
CALLERS = 2 * _LINE

#: Work in Python that waits for a helper.
ERRANDS = 3 * _LINE

#: So many callers may share their tasks at the same time; others do them alone.
SLOTS = 8

#: Where the slots begin, and what each takes: two numbers that everybody changes, and those that only its owner does.
FREE, SLOT = 4 * _LINE, 3 * _LINE
STATE, TAKEN = 0, _LINE
LOCK, FUNCTION, ARGUMENT, COUNT, THREADS = range(2 * _LINE, 2 * _LINE + 5)

#: The state of a slot: how many helpers are inside, and whether it has an owner, is open, or its owner sleeps.
INSIDE, OWNED, OPEN, SLEEPER = (1 << 32) - 1, 1 << 32, 1 << 33, 1 << 34

#: Where the helpers begin, and what each takes: whether it sleeps, and the lock that it sleeps on.
FIRST, HELPER = FREE + SLOTS * SLOT, _LINE
ASLEEP, AWAKE = 1, 0
HELPER_LOCK = 1

#: The most helpers that there may be.
MOST = 1024

#: Helpers that each thread wakes, so that many are awake soon, and nobody spends long waking others.
CALLS = 2


def make_board() -> Array:
    """Return a board with nobody at it."""
    return np.zeros(FIRST + MOST * HELPER, np.int64)

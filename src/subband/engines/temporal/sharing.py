"""Rows of a frame, shared among threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subband.engines.threads import run_tasks

__all__ = ["share_rows"]


def share_rows(count: int, work: Callable[..., Any], step: int = 4) -> None:
    """Let threads share rows, `step` of them at a time: ``work(first, last)``."""
    run_tasks(work, [(first, min(first + step, count)) for first in range(0, count, step)], is_even=True)

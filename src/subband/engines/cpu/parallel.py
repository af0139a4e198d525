"""When Numba's own threads may be used.

They wake in microseconds, where Python's take tens of them. But they need OpenMP or TBB, the only ones that several
Python threads may call at once; and OpenMP ends a process that was forked after it was used. Elsewhere, and in such
children, `subband.engines.threads` does the work.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module

import numba as nb

__all__ = ["enter_parallel"]

_home = os.getpid()


def enter_parallel(threads: int) -> bool:
    """Set the number of threads of the next parallel kernel, if one may be called here."""
    if os.getpid() != _home or not _has_safe_layer():
        return False
    nb.set_num_threads(min(threads, nb.config.NUMBA_NUM_THREADS))
    return True


@lru_cache(maxsize=1)
def _has_safe_layer() -> bool:
    """Tell whether Numba would choose OpenMP or TBB, in its own order, unless it is told otherwise."""
    if nb.config.THREADING_LAYER in ("workqueue", "forksafe"):
        return False
    for module in ("tbbpool", "omppool"):
        try:
            import_module(f"numba.np.ufunc.{module}")
        except ImportError:
            continue
        return True
    return False

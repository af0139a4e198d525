"""The peak of memory that a call adds, measured in a process of its own.

The system counts the pages of a process, so whoever allocates them, NumPy, Numba or a thread, is counted. Linux can
set its high-water mark back to what is in use now; elsewhere the mark only rises, and a case for which it already
stands too high is not measured.

It is the first call of its size that is measured, when there are no blocks yet that `subband.engines.memory` keeps and
lends again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from subband.bench.cases import Case
from subband.engines.measuring.judging import flatten_bands
from subband.errors import SubbandError

__all__ = ["measure_peak", "print_peak"]

# Large enough that threads are started and the same kernels are loaded as for the case itself.
_WARM_UP_SIZE = 2**18


def measure_peak(case: Case) -> float | None:
    """Return the peak of memory that a case adds, as a multiple of what it returns.

    Parameters
    ----------
    case : Case
        A large one: pages of the interpreter itself, a megabyte or so, are counted too.

    Returns
    -------
    float or None
        The result is part of it, the input is not, so 1 is the least. None where the system does not tell.

    Raises
    ------
    SubbandError
        If the process that measures fails.

    Examples
    --------
    >>> peak = measure_peak(Case((2048, 2048), "haar"))
    >>> peak is None or peak > 0.9
    True
    """
    program = f"from subband.bench.memory import print_peak; print_peak({json.dumps(asdict(case))!r})"
    package = Path(__file__).resolve().parent.parent.parent
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH", "")]))
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    if finished.returncode:
        raise SubbandError(f"measuring the memory of {case.name} failed: {finished.stderr.strip()[-500:]}")
    peak: float | None = json.loads(finished.stdout)
    return peak


def print_peak(text: str) -> None:
    """Measure the case that `text` describes, in this process, and print the result as JSON."""
    import subband

    fields = json.loads(text)
    case = Case(**{**fields, "shape": tuple(fields["shape"])})
    side = round(_WARM_UP_SIZE ** (1 / len(case.shape)))
    small = replace(case, shape=(side,) * len(case.shape), level=min(case.level, 3))
    small.prepare(subband, small.make_samples())()
    # Not computed: what the way there leaves behind for reuse would hide what the way back asks for.
    if case.inverse:
        call = case.bind(subband, _draw_coefficients(case))
    else:
        call = case.prepare(subband, case.make_samples())
    is_reset = _reset_peak()
    before, mark = _read_usage()
    result = call()
    after = _read_usage()[1]
    returned = sum(band.nbytes for band in flatten_bands(result))
    is_known = is_reset or mark - before < 0.02 * returned
    sys.stdout.write(json.dumps((after - before) / returned if is_known else None))


def _draw_coefficients(case: Case) -> Any:
    """Draw bands of the right shapes, arranged as the way there would return them."""
    import numpy as np

    from subband.plan import transform_plan
    from subband.pyramid import Pyramid
    from subband.wavelets import Wavelet

    count = len(case.shape)
    wavelet = Wavelet(case.wavelet)
    plan = transform_plan(case.shape, tuple(range(count)), (wavelet,) * count, (case.mode,) * count, case.level)
    rng = np.random.default_rng(0)
    details = [
        {key: rng.random(shape, dtype=np.float32) for key, shape in level.band_shapes.items() if "d" in key}
        for level in reversed(plan.levels)
    ]
    pyramid = Pyramid(plan, rng.random(plan.approximation_shape, dtype=np.float32), details)
    if case.mode == "whole":
        return pyramid
    if count > 2 and case.level == 1:
        return {"a" * count: pyramid.approximation, **pyramid.details[0]}
    return pyramid.to_coeffs()


def _reset_peak() -> bool:
    """Set the high-water mark back to what is in use now; say whether the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _read_usage() -> tuple[int, int]:
    """Return the bytes in use now and their high-water mark."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not from `resource`: there, a new process starts with the mark of the one that started it.
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        now, peak = (int(lines[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
        return now, peak
    import psutil

    usage: Any = psutil.Process().memory_info()
    if hasattr(usage, "peak_wset"):
        return usage.rss, usage.peak_wset
    import resource

    # macOS counts in bytes, other systems in kibibytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.rss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

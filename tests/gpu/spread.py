"""Runs the tests of the GPU in several processes, which compile their kernels side by side.

Most of the time goes into compiling, which a card does not limit. What is given is passed on to pytest; the output of
each process follows when it has ended, those that failed last.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

#: Each process takes about half a gigabyte of the card's memory before its first array.
MOST = 14

NOTHING_COLLECTED = 5


def main(arguments: list[str]) -> int:
    """Return 0 if all processes have passed."""
    count = max(1, min(MOST, (os.cpu_count() or 1) - 1))
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder, f"{number}.log").open("w+", encoding="utf-8") for number in range(count)]  # noqa: SIM115 - closed below
        claims = Path(folder, "claims")
        claims.mkdir()
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", str(Path(__file__).parent), *arguments],
                # JAX would take most of the card's memory for itself
                env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, "SUBBAND_TEST_CLAIMS": str(claims)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            for log in logs
        ]
        failed = [process.wait() not in (0, NOTHING_COLLECTED) for process in processes]
        for is_failed, log in sorted(zip(failed, logs, strict=True), key=lambda pair: pair[0]):
            log.seek(0)
            text = log.read().rstrip()
            print(text if is_failed else text.rpartition("\n")[2])
            log.close()
    print(f"{count} processes, {sum(failed)} of them failed")
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

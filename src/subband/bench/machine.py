"""What a measurement was taken on: the processor, the memory, and the versions of what computes."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from subband._version import __version__
from subband.engines import get_threads

if TYPE_CHECKING:
    from subband.bench.devices import DeviceRecord

__all__ = ["Machine", "describe_machine", "measure_copy"]

_LIBRARIES = ("numpy", "numba", "PyWavelets")


@dataclass(frozen=True)
class Machine:
    """What a measurement was taken on.

    Attributes
    ----------
    processor : str
        Model, as the system calls it.
    cores : int
        Logical processors that this process may use.
    threads : int
        Threads that the CPU engine uses.
    memory : int or None
        Bytes of main memory.
    system : str
        Operating system and architecture.
    versions : dict
        Of Python, subband and the libraries that compute.
    device : str or None
        The GPU, where one was measured.
    date : str
        The day, as ISO 8601 writes it.
    """

    processor: str
    cores: int
    threads: int
    memory: int | None
    system: str
    versions: dict[str, str] = field(default_factory=dict)
    device: str | None = None
    date: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        memory = "" if self.memory is None else f", {self.memory / 2**30:.0f} GiB"
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        device = "" if self.device is None else f"{self.device}; "
        date = f"; {self.date}" if self.date else ""
        host = f"{self.processor}, {self.threads} of {self.cores} threads{memory}"
        return f"{device}{host}; {self.system}; {versions}{date}"


def describe_machine(device: DeviceRecord | None = None, libraries: Sequence[str] = ()) -> Machine:
    """Describe the machine that this process runs on, and the device that was measured, if one was.

    Parameters
    ----------
    device : DeviceRecord, optional
        What was measured, if it was not the host.
    libraries : sequence of str
        Names of distributions whose versions matter besides those of what computes; left out where not installed.

    Examples
    --------
    >>> machine = describe_machine()
    >>> machine.cores >= 1, "numpy" in machine.versions
    (True, True)
    """
    versions = {"Python": platform.python_version(), "subband": __version__}
    for library in (*_LIBRARIES, *libraries):
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    name = None
    if device is not None:
        name = device.device if device.memory is None else f"{device.device}, {device.memory / 2**30:.0f} GiB"
        versions.update(device.versions)
    system = f"{platform.system()} {platform.machine()}"
    today = datetime.now(UTC).date().isoformat()
    return Machine(_name_processor(), cores, get_threads(), _count_memory(), system, versions, name, today)


def measure_copy(size: int = 2**28, turns: int = 7) -> float:
    """Measure how many bytes a second ``np.copyto`` reads and writes, in one thread, beyond all caches.

    Parameters
    ----------
    size : int
        Bytes of the array that is copied.
    turns : int
        The best of so many is taken.

    Examples
    --------
    >>> measure_copy(2**20) > 1e6
    True
    """
    source = np.zeros(size // 4, np.float32)
    source[:] = 1
    target = np.zeros_like(source)
    target[:] = 2
    best = float("inf")
    for _ in range(turns):
        start = perf_counter()
        np.copyto(target, source)
        best = min(best, perf_counter() - start)
    return 2 * source.nbytes / best


def _name_processor() -> str:
    """Ask the system what its processor is called."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.split(":", 1)[1].strip()
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.stdout.strip():
            return found.stdout.strip()
    return platform.processor() or platform.machine() or "unknown processor"


def _count_memory() -> int | None:
    """Return the bytes of main memory, where the system tells them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None

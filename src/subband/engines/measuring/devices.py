"""Descriptions of this machine and its devices: the CPU, and all that CUDA and OpenCL find.

Nothing here fails because a library or a driver is missing or broken: then the record of its engine says what is
missing, and how to get it.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from subband._version import __version__
from subband.engines.measuring.harness import open_harness
from subband.engines.registry import get_engine, is_device_engine
from subband.engines.threads import get_threads
from subband.errors import SubbandError

__all__ = [
    "DeviceRecord",
    "Machine",
    "count_cores",
    "describe_device",
    "describe_machine",
    "list_records",
    "measure_record",
    "name_processor",
]

_LIBRARIES = ("numpy", "numba", "PyWavelets")

# What engines of the host take, and what those of devices take besides.
_HOST_DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")
_DEVICE_DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int16", "int32", "int64")
_DOUBLES = ("float64", "complex128")

# Bytes of arrays that are beyond all caches, of the host and of devices.
_HOST_COPY, _COPY_SIZE = 2**28, 2**30


@dataclass(frozen=True)
class Machine:
    """The machine and device that a measurement was taken on.

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
        """Return all fields as a dict for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        memory = "" if self.memory is None else f", {self.memory / 2**30:.0f} GiB"
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        device = "" if self.device is None else f"{self.device}; "
        date = f"; {self.date}" if self.date else ""
        host = f"{self.processor}, {self.threads} of {self.cores} threads{memory}"
        return f"{device}{host}; {self.system}; {versions}{date}"


def describe_machine(device: DeviceRecord | str | None = None, libraries: Sequence[str] = ()) -> Machine:
    """Describe the machine that this process runs on, and the device that was measured, if one was.

    Parameters
    ----------
    device : DeviceRecord or str, optional
        What was measured, or the name of the engine that was, such as ``cuda:0``; the host's have no device.
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
    if isinstance(device, str):
        device = describe_device(device) if is_device_engine(device) else None
    name = None
    if device is not None:
        name = device.device if device.memory is None else f"{device.device}, {device.memory / 2**30:.0f} GiB"
        versions.update(device.versions)
    system = f"{platform.system()} {platform.machine()}"
    today = datetime.now(UTC).date().isoformat()
    return Machine(name_processor(), count_cores(), get_threads(), _count_memory(), system, versions, name, today)


def count_cores() -> int:
    """Return how many logical processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def name_processor() -> str:
    """Return the name of the processor, as the system gives it."""
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


@dataclass(frozen=True)
class DeviceRecord:
    """One engine on one device.

    Attributes
    ----------
    engine : str
        The name to choose it by.
    device : str
        What the driver calls it; empty where there is none.
    memory : int or None
        Bytes.
    dtypes : tuple of str
        What it takes.
    runtime : str
        What runs the kernels, with its version.
    versions : dict
        Of the driver and the libraries.
    copy : float or None
        Measured bytes per second, read and written.
    missing : str or None
        Why it cannot be used, and the way out.
    """

    engine: str
    device: str = ""
    memory: int | None = None
    dtypes: tuple[str, ...] = ()
    runtime: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    copy: float | None = None
    missing: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict for JSON."""
        fields = asdict(self)
        fields["copy_bytes_per_second"] = fields.pop("copy")
        return {**fields, "dtypes": list(self.dtypes)}


def list_records() -> list[DeviceRecord]:
    """List every engine on every device, those that cannot be used too.

    Examples
    --------
    >>> [record.engine for record in list_records()][:2]
    ['cpu', 'reference']
    """
    machine = describe_machine()
    threads = f"{machine.threads} of {machine.cores} threads"
    runtimes = {
        "cpu": f"Numba {machine.versions.get('numba', '')}, {threads}",
        "reference": f"NumPy {machine.versions['numpy']}, 1 thread",
    }
    records = [
        DeviceRecord(name, runtime=runtime, device=machine.processor, memory=machine.memory, dtypes=_HOST_DTYPES)
        for name, runtime in runtimes.items()
    ]
    for family, find in (("cuda", _find_cuda), ("opencl", _find_opencl)):
        records += _find_safely(family, find)
    return records


def describe_device(engine_name: str) -> DeviceRecord:
    """Describe the device of an engine such as ``cuda:0``."""
    found = {record.engine: record for record in list_records()}
    return found.get(engine_name, DeviceRecord(engine_name))


def measure_record(record: DeviceRecord) -> DeviceRecord:
    """Return the record with the speed of a copy, or with what kept it from being measured.

    Engines of the host are measured with ``np.copyto``, in one thread.
    """
    if record.missing is not None:
        return record
    try:
        return replace(record, copy=_measure_copy(record))
    except Exception as error:  # noqa: BLE001 - drivers fail in ways of their own, and the list goes on
        return replace(record, missing=f"copying fails: {_format(error)}")


def _measure_copy(record: DeviceRecord) -> float:
    """Return the bandwidth of a copy, read and written, in bytes per second."""
    harness = open_harness(record.engine, has_plain_copies=True)
    if harness.is_device:
        size = min(_COPY_SIZE, (record.memory or _COPY_SIZE) // 8)
        source = harness.engine.device.allocate((size // 4,), np.dtype(np.float32))
    else:
        size = _HOST_COPY
        source = np.zeros(size // 4, np.float32)
    # pages that nobody has written to may all be one and the same
    harness.poison(source)
    copy = harness.prepare_copy(source)
    copy()
    harness.time_calls(copy, 1)
    count = 5 if harness.is_device else 1
    return 2 * size / min(harness.time_calls(copy, count) / count for _ in range(5))


def _find_safely(family: str, find: Callable[[], Iterator[DeviceRecord]]) -> list[DeviceRecord]:
    """Return the devices of a family, or one record that says why there are none."""
    try:
        return list(find())
    except SubbandError as error:
        return [DeviceRecord(family, missing=_format(error))]
    except Exception as error:  # noqa: BLE001 - a broken driver or library is to be told, not to stop the list
        return [DeviceRecord(family, missing=f"its library fails: {type(error).__name__}: {_format(error)}")]


def _find_cuda() -> Iterator[DeviceRecord]:
    get_engine("cuda")
    import cupy

    runtime = cupy.cuda.runtime
    versions = {"driver": _read_driver(), "CUDA": _format_cuda(runtime.runtimeGetVersion()), "CuPy": cupy.__version__}
    versions = {name: number for name, number in versions.items() if number}
    for number in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(number)
        yield DeviceRecord(
            f"cuda:{number}",
            properties["name"].decode(),
            int(properties["totalGlobalMem"]),
            _DEVICE_DTYPES,
            f"CUDA {versions['CUDA']} by CuPy {cupy.__version__}",
            versions,
        )


def _find_opencl() -> Iterator[DeviceRecord]:
    get_engine("opencl")
    from subband.engines.opencl import list_devices

    try:
        library = version("pyopencl")
    except PackageNotFoundError:
        library = ""
    for number, device in enumerate(list_devices()):
        has_doubles = bool(device.double_fp_config)
        yield DeviceRecord(
            f"opencl:{number}",
            device.name.strip(),
            int(device.global_mem_size),
            tuple(dtype for dtype in _DEVICE_DTYPES if has_doubles or dtype not in _DOUBLES),
            f"{device.platform.name} by PyOpenCL {library}",
            {
                "driver": device.driver_version,
                "OpenCL": device.version.removeprefix("OpenCL ").strip(),
                "PyOpenCL": library,
            },
        )


def _read_driver() -> str:
    """Return the version of NVIDIA's driver, which CUDA itself does not tell."""
    module = Path("/sys/module/nvidia/version")
    if module.exists():
        return module.read_text(encoding="ascii").strip()
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.split("\n")[0].strip() if found.returncode == 0 else ""


def _format_cuda(number: int) -> str:
    """Format CUDA's version, such as 12.4.

    Examples
    --------
    >>> _format_cuda(13010)
    '13.1'
    """
    return f"{number // 1000}.{number % 1000 // 10}"


def _format(error: Exception) -> str:
    """Format an error in one line."""
    return " ".join(str(error).split())

"""What there is to compute on: the CPU, and whatever CUDA and OpenCL find.

Nothing here fails because a library or a driver is missing or broken: then the record of its engine says what is
missing, and how to get it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from subband.bench.beds import open_bed
from subband.bench.machine import describe_machine, measure_copy
from subband.engines import get_engine
from subband.errors import SubbandError

__all__ = ["DeviceRecord", "describe_device", "list_records", "measure_record"]

# What engines of the host take, and what those of devices take besides.
_HOST_DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")
_DEVICE_DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int16", "int32", "int64")
_DOUBLES = ("float64", "complex128")

#: Bytes of an array that is beyond all caches.
_COPY_SIZE = 2**30


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
        Measured bytes a second, read and written.
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
        """Return everything as what JSON can hold."""
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
    """Return the record with the speed of a copy, or with what kept it from being measured."""
    if record.missing is not None:
        return record
    if record.engine in ("cpu", "reference"):
        return replace(record, copy=measure_copy())
    try:
        bed = open_bed(record.engine)
        size = min(_COPY_SIZE, (record.memory or _COPY_SIZE) // 8)
        source = bed.engine.device.allocate((size // 4,), np.dtype(np.float32))
        # pages that nobody has written to may all be one and the same
        bed.poison(source)
        copy = bed.prepare_copy(source)
        copy()
        bed.time_calls(copy, 1)
        return replace(record, copy=2 * size / min(bed.time_calls(copy, 5) / 5 for _ in range(5)))
    except Exception as error:  # noqa: BLE001 - drivers fail in ways of their own, and the list goes on
        return replace(record, missing=f"copying fails: {_spell(error)}")


def _find_safely(family: str, find: Callable[[], Iterator[DeviceRecord]]) -> list[DeviceRecord]:
    """Return the devices of a family, or one record that says why there are none."""
    try:
        return list(find())
    except SubbandError as error:
        return [DeviceRecord(family, missing=_spell(error))]
    except Exception as error:  # noqa: BLE001 - a broken driver or library is to be told, not to stop the list
        return [DeviceRecord(family, missing=f"its library fails: {type(error).__name__}: {_spell(error)}")]


def _find_cuda() -> Iterator[DeviceRecord]:
    get_engine("cuda")
    import cupy

    runtime = cupy.cuda.runtime
    versions = {"driver": _read_driver(), "CUDA": _spell_cuda(runtime.runtimeGetVersion()), "CuPy": cupy.__version__}
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


def _spell_cuda(number: int) -> str:
    """Write CUDA's version as people do.

    Examples
    --------
    >>> _spell_cuda(13010)
    '13.1'
    """
    return f"{number // 1000}.{number % 1000 // 10}"


def _spell(error: Exception) -> str:
    """Write an error in one line."""
    return " ".join(str(error).split())

"""What there is to compute on, in the words of people."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from subband.engines import get_engine
from subband.engines.device_engine import DeviceEngine

__all__ = ["EngineChoice", "describe_hardware", "list_engines"]

_FAMILIES = {"cpu": "CPU", "opencl": "OpenCL", "cuda": "CUDA"}


@dataclass(frozen=True)
class EngineChoice:
    """An engine that works here: the name to choose it by, and what people call it."""

    name: str
    title: str


@cache
def list_engines() -> tuple[EngineChoice, ...]:
    """Return the engines that can be used on this machine; the CPU's is the first.

    Examples
    --------
    >>> list_engines()[0].name
    'cpu'
    """
    choices = []
    for name, family in _FAMILIES.items():
        try:
            engine = get_engine(name)
            device = engine.device.name.strip() if isinstance(engine, DeviceEngine) else _name_processor()
        except Exception:  # noqa: BLE001 - drivers fail in ways of their own, and the others go on
            continue
        choices.append(EngineChoice(name, f"{family}: {device}"))
    return tuple(choices)


def describe_hardware() -> str:
    """Return the name of the processor and how many threads there are."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{_name_processor()} ({cores} thread{'s' * (cores != 1)})"


@cache
def _name_processor() -> str:
    """Ask the system what its processor is called."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine() or "unknown processor"

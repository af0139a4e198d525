"""Engines and hardware of this machine, as the page names them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from subband.engines import get_engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.measuring.devices import count_cores, name_processor

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
            device = engine.device.name.strip() if isinstance(engine, DeviceEngine) else name_processor()
        except Exception:  # noqa: BLE001 - drivers fail in ways of their own, and the others go on
            continue
        choices.append(EngineChoice(name, f"{family}: {device}"))
    return tuple(choices)


def describe_hardware() -> str:
    """Return the name of the processor and how many threads there are."""
    cores = count_cores()
    return f"{name_processor()} ({cores} thread{'s' * (cores != 1)})"

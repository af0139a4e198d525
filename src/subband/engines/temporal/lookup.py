"""The averages over time of an engine."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from subband.engines.base import Engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.temporal.base import TemporalFilters
from subband.engines.temporal.compiled import CompiledTemporalFilters

__all__ = ["find_temporal_filters"]

_compiled = CompiledTemporalFilters()
_found: WeakKeyDictionary[Engine, TemporalFilters] = WeakKeyDictionary()


def find_temporal_filters(engine: Engine) -> TemporalFilters:
    """Return what averages frames over time: kernels of an engine's device, or loops of the CPU.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> type(find_temporal_filters(get_engine("cpu"))).__name__
    'CompiledTemporalFilters'
    """
    if not isinstance(engine, DeviceEngine):
        return _compiled
    found = _found.get(engine)
    if found is None:
        # imported with the first device that averages, with the texts of its kernels
        from subband.engines.temporal.device import DeviceTemporalFilters

        found = _found[engine] = DeviceTemporalFilters(engine.device)
    return found

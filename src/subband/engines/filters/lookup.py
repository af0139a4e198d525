"""The filters of an engine: those that work on the device that holds its arrays."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from subband.engines.array import ArrayEngine
from subband.engines.base import Engine
from subband.engines.filters.base import Filters
from subband.engines.filters.plain import PlainFilters

__all__ = ["find_filters"]

_plain = PlainFilters()
_found: WeakKeyDictionary[Engine, Filters] = WeakKeyDictionary()


def find_filters(engine: Engine) -> Filters:
    """Return the filters for the arrays that an engine computes on.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> type(find_filters(get_engine("reference"))).__name__
    'PlainFilters'
    """
    found = _found.get(engine)
    if found is None:
        found = _found[engine] = _make_filters(engine)
    return found


def _make_filters(engine: Engine) -> Filters:
    # each is imported with the first engine that needs it, because both bring large libraries along
    if engine.name == "cpu":
        from subband.engines.filters.compiled import CompiledFilters

        return CompiledFilters()
    if isinstance(engine, ArrayEngine):
        from subband.engines.filters.functional import FunctionalFilters

        return FunctionalFilters()
    from subband.engines.device_engine import DeviceEngine

    if isinstance(engine, DeviceEngine):
        from subband.engines.filters.device import DeviceFilters

        return DeviceFilters(engine.device)
    return _plain

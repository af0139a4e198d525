"""Engines by name, each imported when it is first asked for."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from subband.engines.base import Engine
from subband.engines.recent import Recent
from subband.errors import ArgumentError, ArgumentTypeError, MissingExtraError, UnknownEngineError, suggest_names

__all__ = ["ENGINES", "get_engine", "is_device_engine", "set_engine", "uses_device"]

#: Name of each engine, and the class that implements it.
ENGINES = {
    "cpu": "subband.engines.cpu:CpuEngine",
    "reference": "subband.engines.reference:ReferenceEngine",
    "cuda": "subband.engines.cuda:CudaEngine",
    "opencl": "subband.engines.opencl:OpenCLEngine",
    "array": "subband.engines.array:ArrayEngine",
}

#: Engines whose arrays are not in the memory of the host; the library that they need, and the extra that brings it.
_LIBRARIES = {"cuda": ("cupy", "cuda"), "opencl": ("pyopencl", "opencl")}

_DEFAULT = "cpu"


def is_device_engine(name: str | Engine | None) -> bool:
    """Tell whether an engine, or one of that name, computes on arrays of a device of its own.

    Examples
    --------
    >>> is_device_engine("cuda:1"), is_device_engine("cpu")
    (True, False)
    """
    text = name.name if isinstance(name, Engine) else name
    return isinstance(text, str) and text.partition(":")[0] in _LIBRARIES


# read once: looking it up on every call would take as long as a short transform
_chosen: str | Engine | None = os.environ.get("SUBBAND_ENGINE")

#: The engine that calls get which name none, as soon as the first has asked for it.
_current: Engine | None = None

#: Whether calls that name no engine go to a device; read on every call.
uses_device = is_device_engine(_chosen)

#: How many ways of calling a transform are remembered.
_PREPARED = 1024

#: What was prepared for calls that name no engine, by `subband.engines.prepared`; another engine begins anew.
prepared = Recent[Any](_PREPARED)


def set_engine(name: str | Engine | None) -> None:
    """Choose the engine (CPU, CUDA, OpenCL, reference) for arrays of the host in calls that name none.

    Arrays that are on a device already are computed there, whatever is set.

    Parameters
    ----------
    name : str or None
        ``"cpu"``, ``"reference"``, ``"cuda"``, ``"opencl"``, ``"array"``, or one device of these, such as ``"cuda:1"``
        and ``"opencl:0"``. None or ``"auto"`` is the default, the CPU's. The environment variable ``SUBBAND_ENGINE``,
        read when subband is imported, does the same for a whole process.

    Raises
    ------
    UnknownEngineError
        If no engine has that name.
    MissingExtraError
        If the library that the engine needs is not installed.

    Examples
    --------
    >>> from subband import get_engine, set_engine
    >>> set_engine("reference")
    >>> get_engine().name
    'reference'
    >>> set_engine(None)
    """
    global _chosen, _current, uses_device, prepared
    if name == "auto":
        name = None
    engine = None if name is None else get_engine(name)
    _chosen, _current, uses_device, prepared = name, engine, is_device_engine(name), Recent[Any](_PREPARED)


def get_engine(name: str | Engine | None = None) -> Engine:
    """Return an engine: the one named, else the one set or that of ``SUBBAND_ENGINE``, else the CPU's.

    Parameters
    ----------
    name : str, Engine or None
        As `set_engine` takes it; an engine stands for itself.

    Raises
    ------
    UnknownEngineError
        If no engine has that name.
    MissingExtraError
        If the library that the engine needs is not installed.

    Examples
    --------
    >>> from subband import get_engine
    >>> get_engine("reference")
    <engine 'reference'>
    """
    global _current
    if name is None or name == "auto":
        if _current is None:
            _current = get_engine(_DEFAULT if _chosen is None or _chosen == "auto" else _chosen)
        return _current
    if isinstance(name, Engine):
        return name
    if not isinstance(name, str):
        raise ArgumentTypeError(f"engine={name!r} is neither a name nor an engine; engines: auto, {', '.join(ENGINES)}")
    return _load_engine(name)


@cache
def _load_engine(name: str) -> Engine:
    """Make the engine of a name such as ``cuda:1``: that of a family, perhaps on one of its devices."""
    family, colon, device = name.partition(":")
    if family not in ENGINES:
        raise UnknownEngineError(
            f"engine={name!r} is not known{suggest_names(family, ENGINES)}; engines: auto, {', '.join(ENGINES)}"
        )
    if colon and family not in _LIBRARIES:
        raise ArgumentError(f"engine={name!r} names a device, and {family!r} has none; use {family!r}")
    if colon and not device:
        raise ArgumentError(f"engine={name!r} names no device; use {family + ':0'!r}, or {family!r} for the first")
    library, extra = _LIBRARIES.get(family, ("", ""))
    if library and find_spec(library) is None:
        raise MissingExtraError(f"engine={name!r}", extra)
    module, _, attribute = ENGINES[family].partition(":")
    kind = getattr(import_module(module), attribute)
    engine: Engine = kind(device) if device else kind()
    return engine

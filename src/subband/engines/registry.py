"""Engines by name, each imported when it is first asked for."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

from subband.engines.base import Engine
from subband.errors import ArgumentTypeError, UnknownEngineError, suggest_names

__all__ = ["ENGINES", "get_engine", "set_engine"]

#: Name of each engine, and the class that implements it.
ENGINES = {
    "cpu": "subband.engines.cpu:CpuEngine",
    "reference": "subband.engines.reference:ReferenceEngine",
}

# read once: looking it up on every call would take as long as a short transform
_chosen: str | None = os.environ.get("SUBBAND_ENGINE")
_default = "cpu"


def set_engine(name: str | None) -> None:
    """Choose the engine for all calls that do not name one; ``None`` or ``"auto"`` is the default, the CPU's.

    The environment variable ``SUBBAND_ENGINE``, read when subband is imported, does the same for a whole process.

    Examples
    --------
    >>> set_engine("reference")
    >>> get_engine().name
    'reference'
    >>> set_engine(None)
    """
    global _chosen
    if name is not None and name != "auto":
        get_engine(name)
    _chosen = None if name == "auto" else name


def get_engine(name: str | Engine | None = None) -> Engine:
    """Return an engine: the one named, else the one set or that of ``SUBBAND_ENGINE``, else the CPU's.

    Raises
    ------
    UnknownEngineError
        If no engine has that name.

    Examples
    --------
    >>> get_engine("reference")
    <engine 'reference'>
    """
    if name is None or name == "auto":
        name = _chosen
    if isinstance(name, Engine):
        return name
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"engine={name!r} is neither a name nor an engine; engines: auto, {', '.join(ENGINES)}")
    return _load_engine(_default if name is None or name == "auto" else name)


@cache
def _load_engine(name: str) -> Engine:
    if name not in ENGINES:
        raise UnknownEngineError(
            f"engine={name!r} is not known{suggest_names(name, ENGINES)}; engines: auto, {', '.join(ENGINES)}"
        )
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(import_module(module), attribute)()
    return engine

"""What takes the place of subband's own functions and engines when the array is one of Dask.

`subband.arrays.kinds` asks here, by the name of this module. Transforms need nothing but another engine. Functions that
look at numbers before they decide what to do need another form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from subband.engines import Engine
from subband.errors import ArgumentTypeError
from subband.integrations.dask.engine import DaskEngine

__all__ = ["find_engine", "find_substitute"]

#: Functions that cannot be told chunk by chunk, and what is to be done instead.
_REFUSED = {
    "cwt": "its filters are as long as the signal",
}

#: Functions that have another form here, and where that stands.
_SUBSTITUTES = {
    "subband.transforms.decomposition._decompose": "subband.integrations.dask.decomposition:decompose",
    "subband.transforms.decomposition._reconstruct": "subband.integrations.dask.decomposition:reconstruct",
    "subband.transforms.packing.coeffs_to_array": "subband.integrations.dask.decomposition:pack_coefficients",
    "subband.transforms.padding.pad": "subband.integrations.dask.decomposition:pad",
    "subband.enhance.enhancer.Enhancer._apply": "subband.integrations.dask.enhancement:enhance",
}


def find_engine(engine: str | Engine | None) -> DaskEngine:
    """Return the engine for arrays of Dask, whose blocks are computed by the one that is named.

    Examples
    --------
    >>> find_engine("reference").engine
    'reference'
    """
    if isinstance(engine, DaskEngine):
        return engine
    return DaskEngine(None if engine in (None, "auto") else engine)


def find_substitute(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return what is called in the place of a function with arrays of Dask; None if the function will do."""
    name = function.__name__
    if name in _REFUSED:
        raise ArgumentTypeError(f"{name} does not take arrays of Dask: {_REFUSED[name]}; give x.compute()")
    module, _, attribute = _SUBSTITUTES.get(f"{function.__module__}.{function.__qualname__}", "").partition(":")
    if not module:
        return None
    substitute: Callable[..., Any] = getattr(import_module(module), attribute)
    owner = getattr(function, "__self__", None)
    return substitute if owner is None else partial(substitute, owner)

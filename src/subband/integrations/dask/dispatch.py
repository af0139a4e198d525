"""The engine for arrays of Dask, and functions that replace subband's own for them.

`subband.arrays.kinds` asks here, by the name of this module. Transforms need nothing but another engine. Functions that
look at numbers before they decide what to do need another form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from subband.engines import Engine
from subband.errors import ArgumentTypeError
from subband.integrations.dask.engine import DaskEngine

__all__ = ["find_engine", "find_substitute"]

#: Functions that cannot be told chunk by chunk, and what is to be done instead.
_REFUSED = {
    "cwt": "its filters are as long as the signal",
    "icwt": "its filters are as long as the signal",
    "dtcwt": "its trees meet at the borders of the whole array",
    "idtcwt": "its trees meet at the borders of the whole array",
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
    """Return what is called instead of a function with arrays of Dask; None if the function will do."""
    name = function.__name__
    if name in _REFUSED:
        raise ArgumentTypeError(f"{name} does not take arrays of Dask: {_REFUSED[name]}; give x.compute()")
    substitute = _list_substitutes().get(inspect.unwrap(getattr(function, "__func__", function)))
    owner = getattr(function, "__self__", None)
    return substitute if owner is None or substitute is None else partial(substitute, owner)


@cache
def _list_substitutes() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return functions that have another form here; imported late, because transforms alone do not need `enhance`."""
    from subband.enhance.enhancer import Enhancer
    from subband.integrations.dask import decomposition, enhancement
    from subband.transforms import decomposition as in_memory
    from subband.transforms import packing, padding

    return {
        in_memory._decompose: decomposition.decompose,
        in_memory._reconstruct: decomposition.reconstruct,
        inspect.unwrap(packing.coeffs_to_array): decomposition.pack_coefficients,
        inspect.unwrap(padding.pad): decomposition.pad,
        Enhancer._apply: enhancement.enhance,
    }

"""The short way of short calls: one look-up from what a function is given to what computes the result.

The key is the function, the shapes and dtypes of its arrays, and its other arguments as they were given. What it leads
to was recorded when the function was first called like that (`subband.engines.recording`), and does no more than make
the arrays of the result and call compiled code. All arguments are checked by the function itself, which runs if there
is nothing yet, or nothing to be recorded: only what it took without an error or a warning is ever looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any

import numpy as np

from subband.engines import registry
from subband.engines.recording import record
from subband.plan import TransformPlan
from subband.pyramid import Pyramid
from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["DEVICE_FORMS", "UnknownForm", "describe", "is_described", "list_kinds", "prepare"]

#: Kinds of arguments that are what they are: nothing changes them while they are part of a key.
_FIXED = frozenset((str, int, bool, float, NoneType, Wavelet))


_ARRAYS = frozenset((np.ndarray,))

#: What is looked up for arrays of a device, by their type; engines that can be recorded enter it.
DEVICE_FORMS: dict[type, Callable[[Any], object]] = {}


def is_described(x: object) -> bool:
    """Tell whether calls with an array are looked up: those of NumPy, and of devices in use.

    Examples
    --------
    >>> is_described(np.zeros(3)), is_described([0, 0, 0])
    (True, False)
    """
    return type(x) is np.ndarray or type(x) in DEVICE_FORMS


class UnknownForm(TypeError):
    """Raised for an argument that holds something else than arrays that are taken as they are."""


def describe(given: Sequence[Any]) -> tuple[Sequence[Array], object]:
    """Return the arrays among arguments, and what is looked up for them: their shapes and dtypes, and where they are.

    Raises
    ------
    UnknownForm
        If there are none, or others than NumPy's and those of devices, which must be converted first.

    Examples
    --------
    >>> arrays, form = describe([np.zeros(3)])
    >>> len(arrays), form
    (1, ((3,), dtype('float64')))
    >>> arrays, form = describe([[np.zeros(3), None]])
    >>> len(arrays), form
    (1, ((<class 'list'>, ((3,), dtype('float64')), None),))
    """
    # most functions take one array or two, and are short
    if len(given) == 2:
        first, second = given
        if type(first) is np.ndarray and type(second) is np.ndarray:
            return given, (first.shape, first.dtype, second.shape, second.dtype)
    elif len(given) == 1:
        (first,) = given
        if type(first) is np.ndarray:
            return given, (first.shape, first.dtype)
        if (describe_device := DEVICE_FORMS.get(type(first))) is not None:
            return given, describe_device(first)
    arrays: list[Array] = []
    form = tuple([_describe(value, arrays) for value in given])
    if not arrays:
        raise UnknownForm
    return arrays, form


def _describe(value: Any, arrays: list[Array]) -> object:
    kind = type(value)
    if kind is np.ndarray:
        arrays.append(value)
        return value.shape, value.dtype
    if kind is list or kind is tuple:
        if _ARRAYS.issuperset(map(type, value)):
            arrays += value
            return kind, *[(x.shape, x.dtype) for x in value]
        if value and (describe_device := DEVICE_FORMS.get(type(value[0]))) and len({*map(type, value)}) == 1:
            arrays += value
            return kind, *map(describe_device, value)
        return kind, *[_describe(part, arrays) for part in value]
    if kind is dict:
        return tuple(value), *[_describe(part, arrays) for part in value.values()]
    if value is None:
        return None
    if kind in DEVICE_FORMS:
        arrays.append(value)
        return DEVICE_FORMS[kind](value)
    if kind is Pyramid and isinstance(value.plan, TransformPlan):
        low = _describe(value.approximation, arrays)
        return value.plan, value.dtype, low, *[_describe(bands, arrays) for bands in value.details]
    raise UnknownForm


def list_kinds(values: Iterable[Any]) -> list[Any]:
    """Return the types of arguments, and of what tuples hold: 1 and 1.0 are equal, and not the same axis.

    Examples
    --------
    >>> list_kinds((1, (2.0,)))
    [<class 'int'>, <class 'tuple'>, <class 'float'>]
    """
    kinds = [*map(type, values)]
    if tuple in kinds:
        for value in values:
            if type(value) is tuple:
                kinds += list_kinds(value)
    return kinds


def prepare(call: Callable[[], Any], key: tuple[Any, ...], arrays: Sequence[Array], others: Iterable[Any]) -> Any:
    """Call a function that was not called like that before, and record what it does.

    Parameters
    ----------
    call : callable
        Calls the function, which computes with the engine that is set, or where its arrays are.
    key : tuple
        What is looked up the next time.
    arrays : sequence of arrays
        All that it is given.
    others : iterable
        What it is called with apart from `arrays`.
    """
    # what is recorded belongs to the engine that is set now
    calls, engine = registry.prepared, registry.get_engine()
    # two arguments that are one array would be one to the recording, which they need not be the next time
    is_fixed = all(map(_is_fixed, others)) and len(set(map(id, arrays))) == len(arrays)
    if not is_fixed or engine is not registry.get_engine("cpu"):
        return call()
    result, replay = record(call, arrays)
    calls.find(key, lambda: replay or False)
    return result


def _is_fixed(value: Any) -> bool:
    kind = type(value)
    return all(map(_is_fixed, value)) if kind is tuple else kind in _FIXED

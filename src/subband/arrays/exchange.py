"""Conversion of the arguments of a call to native arrays, and of its results back to the caller's kind of array.

Arrays may be in lists, tuples and dictionaries, and in objects that have a method ``_replace_arrays``, which takes a
function of one array and returns a copy of the object with its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from subband.arrays.functional import FunctionalArray
from subband.arrays.kinds import TRACED, Kind, find_kind
from subband.errors import ArgumentTypeError
from subband.typing import Array

__all__ = ["Owner", "find_owner", "map_arrays", "to_host"]

_SCALARS = (int, float, complex, str, np.generic)

#: A name, or the path of something in what has that name: ``("coeffs", 1)`` for ``coeffs[1]``.
_Path: TypeAlias = "str | tuple[_Path, Any]"


@dataclass(frozen=True)
class Owner:
    """The library and device that the arrays of a call belong to.

    Attributes
    ----------
    kind : Kind
        The library that they belong to.
    device : str
        ``cpu``, or the name of the engine of their device.
    sample : array
        One of them; a traced one if there is any.
    """

    kind: Kind
    device: str
    sample: Any

    @property
    def is_native(self) -> bool:
        """Whether engines compute on such arrays as they are."""
        return self.kind.is_native

    @property
    def is_traced(self) -> bool:
        """Whether functions of their own library compute them."""
        return self.device == TRACED and not self.is_native

    def enter(self) -> AbstractContextManager[Any]:
        """Return the context in which to compute: device and stream of the arrays."""
        return nullcontext() if self.is_traced else self.kind.enter(self.sample)

    def take(self, value: Any, name: str) -> Any:
        """Return what the caller gave with native arrays in it."""
        if self.is_native:
            return value
        if self.is_traced:
            return map_arrays(value, self._wrap)
        return map_arrays(value, lambda x: self.kind.to_native(x, name))

    def give_back(self, value: Any) -> Any:
        """Return a result with arrays of the caller's kind in it."""
        if self.is_native:
            return value
        if self.is_traced:
            return map_arrays(value, self._unwrap)
        return map_arrays(value, lambda x: self.kind.from_native(x, self.sample))

    def _wrap(self, x: Any) -> FunctionalArray:
        return FunctionalArray(self._make_constant(x) if isinstance(x, np.ndarray) else x)

    def _unwrap(self, x: Any) -> Any:
        # numbers that depend on no argument have stayed with NumPy
        return x.array if isinstance(x, FunctionalArray) else self._make_constant(x)

    def _make_constant(self, x: Any) -> Any:
        return FunctionalArray(self.sample).library.constant(x, self.sample)


def find_owner(named: Iterable[tuple[str, Any]]) -> Owner | None:
    """Return the owner of the arrays in these named values; None if they hold no array.

    Raises
    ------
    ArgumentTypeError
        If they are of several kinds, or on several devices.

    Examples
    --------
    >>> find_owner([("data", np.zeros(4))]).kind.name
    'numpy.ndarray'
    >>> find_owner([("data", [1, 2, 3])]) is None
    True
    """
    arrays: list[tuple[Any, Kind, _Path]] = []
    for name, value in named:
        _collect_arrays(value, name, arrays)
    if not arrays:
        return None
    sample, kind, path = next((each for each in arrays if each[1].is_traced(each[0])), arrays[0])
    device = TRACED if kind.is_traced(sample) else kind.device_of(sample)
    for x, other, where in arrays:
        # a library takes its own arrays, and NumPy's, as constants of what it traces
        if device == TRACED and isinstance(x, np.ndarray):
            continue
        if other is not kind:
            raise ArgumentTypeError(
                f"{_format_path(where)} is a {other.name} and {_format_path(path)} a {kind.name}; "
                "give all arrays of one kind"
            )
        if device != TRACED and other.device_of(x) != device:
            raise ArgumentTypeError(
                f"{_format_path(where)} is on {other.device_of(x)} and {_format_path(path)} on {device}; "
                "move all arrays to one device"
            )
    return Owner(kind, device, sample)


def map_arrays(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return `value`, whatever it holds arrays in, with every array replaced by ``function(array)``.

    Examples
    --------
    >>> map_arrays([np.ones(2), {"d": np.zeros(1)}, 3], lambda x: x.shape)
    [(2,), {'d': (1,)}, 3]
    """
    if isinstance(value, list | tuple):
        return type(value)(map_arrays(entry, function) for entry in value)
    if isinstance(value, Mapping):
        return {key: map_arrays(entry, function) for key, entry in value.items()}
    if hasattr(type(value), "_replace_arrays"):
        return value._replace_arrays(function)
    return value if find_kind(value) is None else function(value)


def to_host(x: Any) -> Array:
    """Return a copy of an array of any kind, wherever it is, as a NumPy array: for files and images.

    Examples
    --------
    >>> to_host(np.ones(2))
    array([1., 1.])
    """
    kind = find_kind(x)
    if kind is None or isinstance(x, np.ndarray):
        return np.asarray(x)
    with kind.enter(x):
        native = kind.to_native(x, "an array")
        if not isinstance(native, np.ndarray) and hasattr(native, "get"):
            native = native.get()
        return np.asarray(native)


def _collect_arrays(value: Any, path: _Path, found: list[tuple[Any, Kind, _Path]]) -> None:
    """Append every array in `value`, with its kind and path."""
    if (kind := find_kind(value)) is not None:
        found.append((value, kind, path))
    elif isinstance(value, list | tuple):
        # a list that begins with a number is data itself, and may be long
        if value and not isinstance(value[0], _SCALARS):
            for number, entry in enumerate(value):
                _collect_arrays(entry, (path, number), found)
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            _collect_arrays(entry, (path, key), found)
    elif hasattr(type(value), "_replace_arrays"):

        def collect(x: Any) -> Any:
            _collect_arrays(x, path, found)
            return x

        value._replace_arrays(collect)


def _format_path(path: _Path) -> str:
    """Format the path of an array as a Python expression."""
    return path if isinstance(path, str) else f"{_format_path(path[0])}[{path[1]!r}]"

"""Arrays in and out: those of a call become native ones, and those of its result the caller's own kind again.

Arrays may stand in lists, tuples and dictionaries, and in objects that have a method ``_replace_arrays``, which takes a
function of one array and returns a copy of the object with its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.arrays.kinds import Kind, find_kind
from subband.errors import ArgumentTypeError
from subband.typing import Array

__all__ = ["Owner", "find_owner", "map_arrays", "numpy_dtype", "to_host"]

_SCALARS = (int, float, complex, str, np.generic)


@dataclass(frozen=True)
class Owner:
    """Whose arrays a call has got.

    Attributes
    ----------
    kind : Kind
        The library that they belong to.
    place : str
        Where they are: ``cpu``, or the name of the engine there.
    sample : array
        One of them.
    name : str
        What the caller calls it.
    """

    kind: Kind
    place: str
    sample: Any
    name: str

    @property
    def is_native(self) -> bool:
        """Whether engines compute on such arrays as they are."""
        return self.kind.is_native

    def enter(self) -> AbstractContextManager[Any]:
        """Return the context in which to compute: device and stream of the arrays."""
        return self.kind.enter(self.sample)

    def take(self, value: Any, name: str) -> Any:
        """Return what the caller gave with native arrays in it."""
        return value if self.is_native else map_arrays(value, lambda x: self.kind.to_native(x, name))

    def give_back(self, value: Any) -> Any:
        """Return a result with arrays of the caller's kind in it."""
        return value if self.is_native else map_arrays(value, lambda x: self.kind.from_native(x, self.sample))


def find_owner(named: Iterable[tuple[str, Any]]) -> Owner | None:
    """Return whose arrays these values, each with its name, hold; None if they hold no array.

    Raises
    ------
    ArgumentTypeError
        If they are of several kinds, or in several places.

    Examples
    --------
    >>> find_owner([("data", np.zeros(4))]).kind.name
    'numpy.ndarray'
    >>> find_owner([("data", [1, 2, 3])]) is None
    True
    """
    owner: Owner | None = None
    for name, value in named:
        for where, x, kind in _find_arrays(value, name):
            place = kind.place(x)
            if owner is None:
                owner = Owner(kind, place, x, where)
            elif owner.kind is not kind:
                raise ArgumentTypeError(
                    f"{where} is a {kind.name} and {owner.name} a {owner.kind.name}; give all arrays of one kind"
                )
            elif owner.place != place:
                raise ArgumentTypeError(
                    f"{where} is on {place} and {owner.name} on {owner.place}; move all arrays to one device"
                )
    return owner


def map_arrays(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return `value`, whatever it holds arrays in, with ``function(array)`` in the place of every array.

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
    """Return a copy of an array of any kind, wherever it is, as one of NumPy: for files and pictures.

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


def numpy_dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array of any kind as NumPy calls it, that of bfloat16 as the float32 it is computed in.

    Examples
    --------
    >>> numpy_dtype(np.ones(2, "float32"))
    dtype('float32')
    """
    dtype: Any = x.dtype
    if isinstance(dtype, np.dtype):
        return dtype
    # Torch's are objects of its own, which are written torch.float32
    name = str(dtype).rpartition(".")[2]
    return np.dtype("float32" if name == "bfloat16" else name)


def _find_arrays(value: Any, name: str) -> Iterator[tuple[str, Any, Kind]]:
    """Yield name, array and kind of every array in `value`."""
    if value is None or isinstance(value, _SCALARS):
        return
    if isinstance(value, list | tuple):
        # a list that begins with a number is data itself, and may be long
        if value and not isinstance(value[0], _SCALARS):
            for number, entry in enumerate(value):
                yield from _find_arrays(entry, f"{name}[{number}]")
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _find_arrays(entry, f"{name}[{key!r}]")
    elif hasattr(type(value), "_replace_arrays"):
        found: list[Any] = []

        def collect(x: Any) -> Any:
            found.append(x)
            return x

        value._replace_arrays(collect)
        for entry in found:
            yield from _find_arrays(entry, name)
    elif (kind := find_kind(value)) is not None:
        yield name, value, kind

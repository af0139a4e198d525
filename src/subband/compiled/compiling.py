"""Numba's decorators with a disk cache that is used where there is one.

Numba keeps compiled code beside the package or in the user's cache. In a container neither may be writable, and then
it refuses to define the function at all. Here the code is compiled in every process instead, and a warning says so
once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np
from numba.core.caching import FunctionCache

from subband.compiled.kinds import ADDRESSES, format_kinds, parse_kinds

__all__ = ["Gathering", "Pointed", "gathering", "pointed", "stored"]

_has_warned = False


def stored(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit` with these options, whose compiled code is kept on disk if that is possible."""

    def decorate(function: Any) -> Any:
        dispatcher = nb.njit(**options)(function)
        # without a compiler (NUMBA_DISABLE_JIT) there is nothing to keep
        if dispatcher is not function:
            found = _find_cache(function)
            if found is not None:
                dispatcher._cache = found
        return dispatcher

    return decorate


def pointed(**options: Any) -> Callable[[Any], Pointed]:
    """Return a decorator for functions that are called by their address, with these options of Numba."""
    return lambda function: Pointed(function, options)


class Pointed:
    """A function that is called by its address: its arguments are addresses and numbers, and it returns nothing."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._function, self._options = function, options

    @property
    def dispatcher(self) -> Any:
        """The same as a function of Numba."""
        return nb.njit(**self._options)(self._function)

    def compile_pointer(self, kinds: str) -> Any:
        """Return a `numba.cfunc` for these kinds of arguments, kept on disk if that is possible."""
        signature = nb.types.void(*parse_kinds(kinds))
        if _find_cache(self._function) is not None:
            try:
                return nb.cfunc(signature, cache=True, **self._options)(self._function)
            except OSError as error:
                _warn_once(error)
        return nb.cfunc(signature, **self._options)(self._function)


def gathering(**options: Any) -> Callable[[Any], Gathering]:
    """Return a decorator for functions whose last argument holds the addresses of any number of arrays."""
    return lambda function: Gathering(function, stored(**options)(function))


class Gathering:
    """A function that is called with arrays and takes their addresses, so that it is compiled once for all kinds.

    All of them must be C-contiguous and aligned; otherwise it does nothing and returns ``NotImplemented``.
    """

    def __init__(self, function: Any, dispatcher: Any) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        #: The same as a function of Numba, whose last argument is an array of integers.
        self.dispatcher = dispatcher
        self._count = len(inspect.signature(function).parameters) - 1

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; the last of these are its arrays."""
        arrays = arguments[self._count :]
        if not all(type(x) is np.ndarray and x.flags.c_contiguous and x.flags.aligned for x in arrays):
            return NotImplemented
        addresses = np.array([x.ctypes.data for x in arrays], np.int64)
        return self.dispatcher(*arguments[: self._count], addresses)

    def list_compiled(self) -> list[str]:
        """Return the kinds of arguments that Numba has compiled it for."""
        return [", ".join([format_kinds(kinds[:-1]), ADDRESSES]) for kinds in self.dispatcher.overloads]


class _TolerantCache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """A cache that a full disk or a lost folder turns into none."""

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(error)


def _find_cache(function: Any) -> _TolerantCache | None:
    """Return where the code of a function is kept, if it can be.

    Code that checks its indices is not kept: Numba's cache would take it for code that does not, and the other way.
    """
    if nb.config.BOUNDSCHECK:
        return None
    try:
        return _TolerantCache(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
        _warn_once(error)
        return None


def _warn_once(error: Exception) -> None:
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(
            "compiled kernels cannot be kept on disk, so that every process compiles them again, which takes seconds; "
            f"set NUMBA_CACHE_DIR to a folder that can be written to ({error})",
            RuntimeWarning,
            stacklevel=2,
        )

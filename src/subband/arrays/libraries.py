"""Functions of array libraries under the names of the array API standard.

`find_library` returns those of an array's own library. JAX and libraries such as ``array_api_strict`` follow the
standard themselves; the little in which JAX and PyTorch differ from it is here.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from subband.typing import Array

__all__ = ["Library", "find_library"]


class Library:
    """The functions of a library that follows the array API standard.

    Parameters
    ----------
    module : module
        What the arrays' ``__array_namespace__`` returns.
    """

    #: Whether its arrays have an engine that computes on numbers of 16 bits.
    takes_halves = False

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def find_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Return the dtype of the library that NumPy calls `dtype`."""
        return getattr(self.module, dtype.name)

    def constant(self, numbers: Array, like: Any) -> Any:
        """Return an array of the library with numbers of the host, on the device of `like`."""
        return self.module.asarray(numbers, dtype=self.find_dtype(numbers.dtype), device=like.device)

    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        """Return zeros on the device of `like`."""
        return self.module.zeros(shape, dtype=self.find_dtype(dtype), device=like.device)

    def astype(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array in another dtype."""
        return self.module.astype(x, self.find_dtype(dtype))

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return `yes` where a condition holds, else `no`; both are arrays."""
        return self.module.where(condition, yes, no)

    def take(self, x: Any, indices: Array, axis: int) -> Any:
        """Return the entries at constant indices along an axis."""
        return self.module.take(x, self.constant(indices, x), axis=axis)


class JaxLibrary(Library):
    """JAX: traced arrays have no device, and 64 bits are there only if they were asked for."""

    def find_dtype(self, dtype: np.dtype[Any]) -> Any:
        return sys.modules["jax"].dtypes.canonicalize_dtype(dtype)

    def constant(self, numbers: Array, like: Any) -> Any:  # noqa: ARG002 - where it is needed is known to the compiler
        return self.module.asarray(numbers, dtype=self.find_dtype(numbers.dtype))

    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:  # noqa: ARG002 - as above
        return self.module.zeros(shape, dtype=self.find_dtype(dtype))

    def tensordot(self, a: Any, b: Any, *, axes: int) -> Any:
        """Return a product of matrices in all the precision that there is."""
        return self.module.tensordot(a, b, axes=axes, precision="highest")


class TorchLibrary(Library):
    """PyTorch, whose functions have names and arguments of their own."""

    takes_halves = True

    def constant(self, numbers: Array, like: Any) -> Any:
        return self.module.as_tensor(numbers, device=like.device)

    def astype(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return x.to(self.find_dtype(dtype))

    def take(self, x: Any, indices: Array, axis: int) -> Any:
        return self.module.index_select(x, axis, self.constant(indices, x))

    def stack(self, arrays: list[Any], *, axis: int) -> Any:
        return self.module.stack(arrays, axis)

    def concat(self, arrays: list[Any], *, axis: int) -> Any:
        return self.module.cat(arrays, axis)

    def permute_dims(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.permute(axes)

    def sort(self, x: Any, *, axis: int) -> Any:
        return self.module.sort(x, axis).values

    def min(self, x: Any, *, axis: Any = None) -> Any:
        return x.amin() if axis is None else x.amin(axis)

    def max(self, x: Any, *, axis: Any = None) -> Any:
        return x.amax() if axis is None else x.amax(axis)

    def tensordot(self, a: Any, b: Any, *, axes: int) -> Any:
        return self.module.tensordot(a, b, dims=axes)


@lru_cache(maxsize=16)
def _make_library(module: ModuleType) -> Library:
    kinds = {"torch": TorchLibrary, "jax": JaxLibrary}
    return kinds.get(module.__name__.partition(".")[0], Library)(module)


def find_library(x: Any) -> Library:
    """Return the functions for an array of any library.

    Examples
    --------
    >>> find_library(np.ones(2)).module.__name__
    'numpy'
    """
    if hasattr(x, "__array_namespace__"):
        return _make_library(x.__array_namespace__())
    return _make_library(sys.modules[type(x).__module__.partition(".")[0]])

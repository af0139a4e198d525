"""Types of the signatures of public functions."""

from __future__ import annotations

import os
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

__all__ = [
    "COMPUTED",
    "AnyArray",
    "Array",
    "ArrayT",
    "Bands",
    "Direction",
    "ModeName",
    "PathLike",
]

#: The dtypes that engines compute in.
COMPUTED = ("float32", "float64", "complex64", "complex128")

#: A NumPy array of any dtype.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class AnyArray(Protocol):
    """An array of any library: NumPy, CuPy, Torch, JAX."""

    @property
    def shape(self) -> Any:
        """How many entries each axis has."""

    @property
    def dtype(self) -> Any:
        """What kind of number it holds."""

    def __getitem__(self, key: Any, /) -> Any: ...


#: The kind of array that comes in and goes out.
ArrayT = TypeVar("ArrayT", bound=AnyArray)

#: The bands of one level: ``'aa'``, ``'ad'``, ``'da'``, ``'dd'`` for two axes; one letter an axis.
Bands: TypeAlias = dict[str, Array]

#: The name of a file or folder.
PathLike: TypeAlias = str | os.PathLike[str]

#: From samples to bands, or back.
Direction: TypeAlias = Literal["forward", "inverse"]

#: The boundary modes.
ModeName: TypeAlias = Literal[
    "zero",
    "constant",
    "symmetric",
    "periodic",
    "smooth",
    "periodization",
    "reflect",
    "antisymmetric",
    "antireflect",
    "whole",
]

"""Conversion of arrays of any dtype to the dtypes that engines compute on.

Engines take float32, float64, complex64 and complex128 in the machine's byte order, with any strides; those of GPUs
also numbers of 16 bits. Everything else that holds numbers is converted here, and what holds none is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays.functional import is_functional
from subband.arrays.kinds import HOST, find_kind
from subband.errors import ArgumentTypeError, DtypeError, ShapeError, TextError
from subband.typing import COMPUTED, Array

__all__ = ["as_array", "as_computable", "as_numbers", "cast", "computed_dtype"]

_COMPUTED = frozenset(map(np.dtype, COMPUTED))

#: User-defined dtypes, such as the bfloat16 of ml_dtypes, have numbers from here on (NumPy's NPY_USERDEF).
_FIRST_USER_DTYPE = 256


def as_computable(x: Any, name: str = "data") -> Array:
    """Return `x` as an array that every engine takes, without a copy where it is one already.

    float16 and bfloat16-like numbers become float32; integers, booleans and long doubles float64; long complex
    numbers complex128. Byte-swapped arrays are turned round. Numbers of 16 bits on a device stay what they are.

    Parameters
    ----------
    x : array_like
        Anything that holds numbers.
    name : str
        What to call `x` in an error.

    Returns
    -------
    ndarray
        Of float32, float64, complex64 or complex128, in native byte order; perhaps `x` itself.

    Raises
    ------
    DtypeError
        If `x` holds text, dates or Python objects, or masked values.
    ShapeError
        If `x` is a nested sequence with rows of different lengths.

    Examples
    --------
    >>> as_computable([1, 2, 3])
    array([1., 2., 3.])
    >>> as_computable(np.ones(2, ">f4")).dtype
    dtype('float32')
    >>> as_computable("abc")
    Traceback (most recent call last):
        ...
    subband.errors.TextError: data has dtype <U3, which holds no numbers; convert it with .astype(float)
    """
    if type(x) is np.ndarray or ((kind := find_kind(x)) is not None and kind.is_native and kind.is_elsewhere):
        own: Array = x
        if own.dtype in _COMPUTED:
            return own
    array = as_numbers(x, name)
    if type(array) is not np.ndarray and _is_half(array.dtype) and _takes_halves(array):
        return array
    return cast(array, computed_dtype(array.dtype, name))


def as_numbers(x: Any, name: str = "data") -> Array:
    """Return `x` as a plain array in its own precision, for what no engine computes on.

    Parameters
    ----------
    x : array_like
        Anything that holds numbers.
    name : str
        What to call `x` in an error.

    Returns
    -------
    ndarray
        Of the dtype of `x`; perhaps `x` itself.

    Raises
    ------
    DtypeError
        If `x` holds text, dates or Python objects, or masked values.
    ShapeError
        If `x` is a nested sequence with rows of different lengths.

    Examples
    --------
    >>> as_numbers([1, 2, 3])
    array([1, 2, 3])
    >>> as_numbers(np.ma.masked_array([1.0, -99.0], [False, True]))
    Traceback (most recent call last):
        ...
    subband.errors.DtypeError: data has 1 masked value, which would count like any other; fill it with .filled(...)
    """
    if type(x) is not np.ndarray and (native := _find_device_array(x, name)) is not None:
        computed_dtype(native.dtype, name)
        on_device: Array = native
        return on_device
    try:
        array: Array = np.asarray(x)
    except ValueError as error:
        raise ShapeError(f"{name} makes no array: {error}; all its rows must have the same length") from error
    computed_dtype(array.dtype, name)
    # Asking for numpy.ma imports it, which only who has a subclass of arrays should wait for.
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray and np.ma.is_masked(x):
        count = int(np.count_nonzero(np.ma.getmask(x)))
        values, them = ("value", "it") if count == 1 else ("values", "them")
        raise DtypeError(
            f"{name} has {count} masked {values}, which would count like any other; fill {them} with .filled(...)"
        )
    return array


def computed_dtype(dtype: np.dtype[Any], name: str = "data") -> np.dtype[Any]:
    """Return the dtype that numbers of `dtype` are computed in.

    Examples
    --------
    >>> computed_dtype(np.dtype("float16")), computed_dtype(np.dtype("uint8"))
    (dtype('float32'), dtype('float64'))
    """
    kind = dtype.kind
    if kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if kind == "c":
        return np.dtype(np.complex64 if dtype.itemsize <= 8 else np.complex128)
    if kind in "iub":
        return np.dtype(np.float64)
    if dtype.num >= _FIRST_USER_DTYPE and np.can_cast(dtype, np.float32, "same_kind"):
        return np.dtype(np.float32)
    error = TextError if kind in "SU" else DtypeError
    raise error(f"{name} has dtype {_format_dtype(dtype)}, which holds no numbers; convert it with .astype(float)")


def as_array(x: Any) -> Array:
    """Return `x` as an array, as `numpy.asarray` does; one on a device stays there.

    Examples
    --------
    >>> as_array([1, 2])
    array([1, 2])
    """
    if type(x) is np.ndarray:
        return x
    native = _find_device_array(x, "an array")
    return np.asarray(x) if native is None else native


def cast(x: Array, dtype: Any) -> Array:
    """Return an array in another dtype, itself if it has that already.

    Examples
    --------
    >>> cast(np.ones(2), "float32").dtype
    dtype('float32')
    """
    wanted: np.dtype[Any] = np.dtype(dtype)
    return x if x.dtype == wanted else x.astype(wanted)


def _find_device_array(x: Any, name: str) -> Any:
    """Return `x` if it is an array on a device that engines compute on, and None if it is anything of the host's."""
    kind = find_kind(x)
    if kind is None or (device := kind.device_of(x)) == HOST:
        return None
    if kind.is_native:
        return x
    raise ArgumentTypeError(f"{name} is a {kind.name} on {device}, and this function takes arrays of the host only")


def _takes_halves(x: Any) -> bool:
    """Tell whether numbers of 16 bits of an array's library stay what they are."""
    takes: bool = not is_functional(x) or x.library.takes_halves
    return takes


def _is_half(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and (dtype.kind == "f" or dtype.num >= _FIRST_USER_DTYPE)


def _format_dtype(dtype: np.dtype[Any]) -> str:
    """Format a dtype by its name; ``object`` rather than ``|O``."""
    return "object" if dtype.kind == "O" else dtype.str

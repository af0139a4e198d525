"""The few operations on native arrays that have to be the same for every library.

CuPy follows NumPy's functions to the letter, and takes part in `numpy.concatenate` and its kind. PyOpenCL does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from subband.arrays.functional import FUNCTIONS, FunctionalArray
from subband.arrays.kinds import find_kind
from subband.errors import ArgumentTypeError

__all__ = [
    "allocate_zeros",
    "assemble",
    "concatenate",
    "find_extremes",
    "flip",
    "is_finite_sum",
    "is_opencl",
    "join_complex",
    "namespace",
    "pad_zeros",
    "rearrange",
    "split_complex",
    "stack_last",
    "take_flat",
]


def namespace(x: Any, task: str) -> Any:
    """Return the module whose functions work on a native array: ``numpy``, ``cupy``, ``dask.array`` or their like.

    Parameters
    ----------
    x : array
        A native array.
    task : str
        What is to be done, for an error.

    Raises
    ------
    ArgumentTypeError
        If `x` is an array of PyOpenCL, which has no such functions.

    Examples
    --------
    >>> namespace(np.zeros(3), "padding").__name__
    'numpy'
    """
    if isinstance(x, np.ndarray):
        return np
    if isinstance(x, FunctionalArray):
        return FUNCTIONS
    if is_opencl(x):
        raise ArgumentTypeError(f"{task} does not take arrays of PyOpenCL; give a copy on the host, x.get()")
    name = type(x).__module__.partition(".")[0]
    return sys.modules["dask.array" if name == "dask" else name]


def concatenate(arrays: Sequence[Any], axis: int) -> Any:
    """Join native arrays along an axis.

    Examples
    --------
    >>> concatenate([np.ones(2), np.zeros(1)], 0)
    array([1., 1., 0.])
    """
    if is_opencl(arrays[0]):
        return sys.modules["pyopencl.array"].concatenate(list(arrays), axis)
    return np.concatenate(arrays, axis)


def pad_zeros(x: Any, widths: Sequence[tuple[int, int]]) -> Any:
    """Return a native array with zeros around it: one pair of widths for each axis.

    Examples
    --------
    >>> pad_zeros(np.ones(2), [(1, 2)])
    array([0., 1., 1., 0., 0.])
    """
    if not any(before or after for before, after in widths):
        return x
    if isinstance(x, FunctionalArray):
        return np.pad(x, widths)
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, widths, strict=True))
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))
    padded = allocate_zeros(shape, x)
    padded[inner] = x
    return padded


def assemble(
    parts: Iterable[tuple[tuple[slice, ...], Any]], shape: tuple[int, ...], like: Any, dtype: Any, fill: float = 0
) -> Any:
    """Return a native array with other arrays in its regions, which do not overlap.

    Parameters
    ----------
    parts : iterable of pair
        Slices with a stop, and what goes there.
    shape, dtype
        Of the whole.
    like : array
        Of the library and device of the parts.
    fill : float
        What stands between the parts.

    Examples
    --------
    >>> assemble([((slice(0, 2),), np.ones(2)), ((slice(3, 4),), np.ones(1))], (4,), np.ones(1), float, 9)
    array([1., 1., 9., 1.])
    """
    if is_opencl(like):
        whole = allocate_zeros(shape, like)
    elif isinstance(like, FunctionalArray):
        return _add_regions(list(parts), shape, dtype, fill)
    else:
        whole = np.full_like(like, fill, dtype=dtype, shape=shape)
    for region, part in parts:
        whole[region] = part
    return whole


def _add_regions(
    parts: list[tuple[tuple[slice, ...], FunctionalArray]], shape: tuple[int, ...], dtype: Any, fill: float
) -> FunctionalArray:
    """Return the sum of parts with zeros around them, and of what stands between."""
    gaps = np.full(shape, fill)
    whole: Any = 0
    for region, part in parts:
        spans = [span.indices(length) for span, length in zip(region, shape, strict=True)]
        whole = whole + np.pad(part.astype(dtype), [(a, n - b) for (a, b, _), n in zip(spans, shape, strict=True)])
        gaps[region] = 0
    added: FunctionalArray = whole + gaps if gaps.any() else whole
    return added


def take_flat(x: Any, indices: Any) -> Any:
    """Return the elements of a native array at flat (C order) indices, in an array of the shape of `indices`.

    Parameters
    ----------
    x : array
        C-contiguous.
    indices : ndarray of int
        Of the host.

    Examples
    --------
    >>> take_flat(np.array([[5, 6], [7, 8]]), np.array([3, 0]))
    array([8, 5])
    """
    if is_opencl(x):
        module = sys.modules["pyopencl.array"]
        flat = module.to_device(x.queue, indices.astype(np.int32).reshape(-1))
        return module.take(x.reshape(-1), flat).reshape(indices.shape)
    library = namespace(x, "taking numbers")
    return x.reshape(-1)[library.asarray(indices)]


def flip(x: Any, axis: int) -> Any:
    """Return a native array, but one of PyOpenCL, with one axis reversed; a view where the library has such views.

    Examples
    --------
    >>> flip(np.array([1, 2, 3]), 0)
    array([3, 2, 1])
    """
    return x[(slice(None),) * axis + (slice(None, None, -1),)]


def rearrange(function: Callable[..., Any], *arrays: Any) -> Any:
    """Return ``function(*arrays)`` for a function that moves, repeats and leaves out elements, and computes nothing.

    PyOpenCL lacks most such operations: there the function is told the positions of the elements, which are then taken.

    Examples
    --------
    >>> rearrange(lambda x: flip(x, 1).T, np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    if not is_opencl(arrays[0]):
        return function(*arrays)
    ends = np.cumsum([0, *(x.size for x in arrays)])
    positions = [np.arange(end, end + x.size).reshape(x.shape) for end, x in zip(ends, arrays, strict=False)]
    whole = concatenate([x.reshape(-1) for x in arrays], 0) if len(arrays) > 1 else arrays[0]
    return take_flat(whole, np.ascontiguousarray(function(*positions)))


def stack_last(arrays: Sequence[Any]) -> Any:
    """Return arrays of any one library, but not of PyOpenCL, with an entry for each in a new last axis.

    Examples
    --------
    >>> stack_last([np.zeros(2), np.ones(2)])
    array([[0., 1.],
           [0., 1.]])
    """
    first = arrays[0]
    if hasattr(first, "__array_namespace__"):
        return first.__array_namespace__().stack(list(arrays), axis=-1)
    return namespace(first, "stacking arrays").stack(list(arrays), -1)


def join_complex(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return a complex array of pairs of real and imaginary parts, with an entry for each pair in a new last axis.

    Examples
    --------
    >>> join_complex([(np.array([1.0, 2.0]), np.array([0.0, 1.0]))])
    array([[1.+0.j],
           [2.+1.j]])
    """
    shape = pairs[0][0].shape
    dtype = pairs[0][0].dtype
    if is_opencl(pairs[0][0]):
        last = rearrange(lambda *parts: np.stack(parts, -1), *(part for pair in pairs for part in pair))
        return last.reshape(-1).view(np.result_type(dtype, np.complex64)).reshape((*shape, len(pairs)))
    if type(pairs[0][0]).__module__.partition(".")[0] not in ("numpy", "cupy"):
        # arrays that are traced cannot be written to
        return stack_last([real + 1j * imaginary for real, imaginary in pairs])
    xp = namespace(pairs[0][0], "complex numbers")
    # each entry is contiguous, as those want it who look at one after the other
    joined = xp.empty((len(pairs), *shape), np.result_type(dtype, np.complex64))
    for entry, (real, imaginary) in zip(joined, pairs, strict=True):
        entry.real = real
        entry.imag = imaginary
    return xp.moveaxis(joined, 0, -1)


def split_complex(x: Any) -> list[tuple[Any, Any]]:
    """Undo `join_complex`.

    Examples
    --------
    >>> split_complex(np.array([[1.0], [2.0 + 1.0j]]))
    [(array([1., 2.]), array([0., 1.]))]
    """
    if is_opencl(x):
        parts = x.reshape(-1).view(np.empty(0, x.dtype).real.dtype).reshape((*x.shape, 2))
        first = rearrange(lambda each: np.moveaxis(each, (-2, -1), (0, 1)), parts)
        return [(first[entry, 0], first[entry, 1]) for entry in range(x.shape[-1])]
    entries = [x[..., entry] for entry in range(x.shape[-1])]
    return [(z.real, z.imag if hasattr(z, "imag") else (z * -1j).real) for z in entries]


def find_extremes(x: Any) -> tuple[int, int]:
    """Return the least and the greatest integer of a native array that is not empty.

    Examples
    --------
    >>> find_extremes(np.array([3, -1, 2]))
    (-1, 3)
    """
    if is_opencl(x):
        module = sys.modules["pyopencl.array"]
        return int(module.min(x).get()), int(module.max(x).get())
    return int(x.min()), int(x.max())


def allocate_zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Return an array of zeros of the library, device and dtype of `like`."""
    if is_opencl(like):
        return sys.modules["pyopencl.array"].zeros(like.queue, shape, like.dtype)
    return np.zeros_like(like, shape=shape)


def is_opencl(x: Any) -> bool:
    """Tell whether `x` is an array of PyOpenCL.

    Examples
    --------
    >>> is_opencl(np.zeros(3))
    False
    """
    if isinstance(x, np.ndarray):
        return False
    kind = find_kind(x)
    return kind is not None and kind.module == "pyopencl.array"


def is_finite_sum(x: Any) -> bool:
    """Say whether the sum of a native array, computed where it is, is a finite number.

    Examples
    --------
    >>> is_finite_sum(np.array([1.0, np.nan]))
    False
    """
    if is_opencl(x):
        return bool(np.isfinite(sys.modules["pyopencl.array"].sum(x).get()))
    return bool(np.isfinite(float(x.sum())))

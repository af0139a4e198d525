"""Recognise and convert the arrays of callers: NumPy, CuPy, Torch, JAX, PyOpenCL, Dask."""

from __future__ import annotations

from subband.arrays.exchange import Owner, find_owner, map_arrays, to_host
from subband.arrays.functional import FunctionalArray, is_functional, numpy_dtype
from subband.arrays.kinds import HOST, KINDS, TRACED, Kind, device_of, find_kind, is_array, is_foreign, is_on_device
from subband.arrays.numbers import as_array, as_computable, as_numbers, cast, computed_dtype
from subband.arrays.operations import (
    allocate_zeros,
    assemble,
    concatenate,
    find_extremes,
    flip,
    is_finite_sum,
    is_opencl,
    join_complex,
    namespace,
    pad_zeros,
    rearrange,
    split_complex,
    stack_last,
)

__all__ = [
    "HOST",
    "KINDS",
    "TRACED",
    "FunctionalArray",
    "Kind",
    "Owner",
    "allocate_zeros",
    "as_array",
    "as_computable",
    "as_numbers",
    "assemble",
    "cast",
    "computed_dtype",
    "concatenate",
    "device_of",
    "find_extremes",
    "find_kind",
    "find_owner",
    "flip",
    "is_array",
    "is_finite_sum",
    "is_foreign",
    "is_functional",
    "is_on_device",
    "is_opencl",
    "join_complex",
    "map_arrays",
    "namespace",
    "numpy_dtype",
    "pad_zeros",
    "rearrange",
    "split_complex",
    "stack_last",
    "to_host",
]

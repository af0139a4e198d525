"""How the arguments of a compiled function are written down.

``float32[3C]`` is a C-contiguous array with three axes, ``uint8[1Cr]`` one that is only read, ``(int32[1C], int64)`` a
tuple, and ``addresses``, at the end, any number of C-contiguous arrays of any kind, of which the function gets the
addresses. Anything else is a number, by the name that Numba has for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["ADDRESSES", "format_kinds", "list_array_dtypes", "list_dtypes", "parse_kinds", "read_dtypes"]

#: Stands for all arrays that are given by their addresses.
ADDRESSES = "addresses"

_ARRAY = re.compile(r"(\w+)\[(\d+)([CFA])(r?)\]")


def format_kinds(kinds: Iterable[Any]) -> str:
    """Return the text for types of Numba.

    Examples
    --------
    >>> import numba as nb
    >>> format_kinds([nb.types.Array(nb.float32, 2, "C"), nb.int64])
    'float32[2C], int64'
    """
    return ", ".join(map(_format_kind, kinds))


def _format_kind(kind: Any) -> str:
    types = _load_types()
    if isinstance(kind, types.Array) and not kind.aligned:
        return ADDRESSES
    if isinstance(kind, types.Array):
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}]"
    if isinstance(kind, types.BaseTuple):
        return f"({format_kinds(kind)})"
    if isinstance(kind, types.CPointer):
        return f"{kind.dtype}*"
    return str(types.unliteral(kind))


def _load_types() -> Any:
    """Return Numba's types, whose module tells type checkers nothing of them."""
    from numba.core import types

    return types


def parse_kinds(text: str) -> tuple[Any, ...]:
    """Return the types of Numba for a text; see `format_kinds`."""
    types = _load_types()

    def parse_array(match: re.Match[str]) -> str:
        dtype, axes, layout, is_read_only = match.groups()
        return f"array({dtype}, {axes}, {layout!r}, {bool(is_read_only)})"

    names = {
        "array": lambda dtype, axes, layout, is_read_only: types.Array(dtype, axes, layout, readonly=is_read_only),
        "pointer": types.CPointer,
        "bool": types.boolean,
        # no other array is said not to be aligned
        ADDRESSES: types.Array(types.int64, 1, "C", aligned=False),
    }
    code = re.sub(r"(\w+)\*", r"pointer(\1)", _ARRAY.sub(parse_array, text))
    found = eval(f"({code},)", {**vars(types), **names})
    return tuple(types.Tuple(list(kind)) if isinstance(kind, tuple) else kind for kind in found)


def read_dtypes(text: str) -> tuple[str, ...]:
    """Return the kinds of numbers of all arrays in a text.

    Examples
    --------
    >>> read_dtypes("float32[2C], int64, (int32[1C], uint8[1Cr])")
    ('float32', 'int32', 'uint8')
    """
    return tuple(match[1] for match in _ARRAY.finditer(text))


def list_array_dtypes(text: str) -> list[str]:
    """Return for each part of a flat tuple the kind of its numbers, or nothing if it is no array.

    Examples
    --------
    >>> list_array_dtypes("(int64[2C], int64)")
    ['int64', '']
    """
    found = [_ARRAY.fullmatch(part.strip("() ")) for part in text.split(",")]
    return [match[1] if match else "" for match in found]


def list_dtypes(arguments: Iterable[Any]) -> tuple[str, ...]:
    """Return the kinds of numbers of all arrays among arguments.

    Examples
    --------
    >>> list_dtypes([np.zeros(2), 3, (np.zeros(1, "int32"),)])
    ('float64', 'int32')
    """
    names: list[str] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            names.append(argument.dtype.name)
        elif isinstance(argument, tuple):
            names.extend(list_dtypes(argument))
    return tuple(names)

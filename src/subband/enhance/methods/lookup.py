"""Which denoising methods there are: those of this folder, and those that users register."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from subband.enhance.methods.base import Method
from subband.errors import ArgumentError, ArgumentTypeError, suggest_names
from subband.settings import list_settings, make_settings_table, read_call

__all__ = ["find_method", "list_methods", "make_table", "register_method"]

_METHODS: dict[str, Method] = {}

#: Modules of the folder that hold no method.
_OTHERS = ("base", "lookup")


def register_method(method: Method) -> Method:
    """Make a method known under its name, to all who ask for one.

    Raises
    ------
    ArgumentTypeError
        If it is no method.
    ArgumentError
        If another one has that name.

    Examples
    --------
    >>> register_method(find_method("visu")) is find_method("visu")
    True
    """
    if not isinstance(method, Method):
        raise ArgumentTypeError(f"method is a {type(method).__name__}; register an object of a class made from Method")
    known = _METHODS.setdefault(method.name, method)
    if type(known) is not type(method):
        raise ArgumentError(f"there is a method {method.name!r} already; give this one another name")
    return known


def list_methods() -> tuple[Method, ...]:
    """Return all methods, the default one first.

    Examples
    --------
    >>> [method.name for method in list_methods()][:2]
    ['bivariate', 'wiener']
    """
    _load_folder()
    return tuple(sorted(_METHODS.values(), key=lambda method: (method.rank, method.name)))


def find_method(name: Any) -> Method:
    """Return the method of a name; those of scikit-image, such as BayesShrink, are known too.

    Parameters
    ----------
    name : str or Method
        With settings of the method behind a colon, such as ``'name:setting=2,other=3'``; a method is returned as it is.

    Raises
    ------
    ArgumentError
        If there is none, or it has no such setting.

    Examples
    --------
    >>> find_method("BayesShrink").title
    'BayesShrink'
    """
    if isinstance(name, Method):
        return name
    method: Method = read_call(str(name), _find_name, "method")
    return method


def _find_name(name: str) -> Method:
    _load_folder()
    short = name.lower().removesuffix("shrink")
    if short not in _METHODS:
        known = [method.name for method in list_methods()]
        raise ArgumentError(
            f"method={name!r} is not a method{suggest_names(short, known)}; use one of {', '.join(known)}"
        )
    return _METHODS[short]


def make_table() -> list[str]:
    """Return the lines of the documentation's table of methods, and those of the settings that methods have.

    Examples
    --------
    >>> print(make_table()[0])
    | `method` | what it looks at | when |
    """
    rows = [f"| `{method.name}` | {method.looks_at} | {method.advice} |" for method in list_methods()]
    table = ["| `method` | what it looks at | when |", "| --- | --- | --- |", *rows]
    for method in list_methods():
        if list_settings(method):
            table += ["", f"Settings of `{method.name}`:", "", *make_settings_table(method)]
    return table


@cache
def _load_folder() -> None:
    for found in iter_modules(sys.modules[str(__package__)].__path__):
        if found.name not in _OTHERS:
            register_method(import_module(f"{__package__}.{found.name}").METHOD)

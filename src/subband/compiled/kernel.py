"""Kernels as Python sees them: called like functions, loaded or compiled when that happens first."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from threading import Lock
from typing import Any

from subband.compiled.kinds import format_kinds, list_dtypes, read_dtypes
from subband.compiled.library import find_library

__all__ = ["Kernel", "Kernels", "list_compiled"]

#: All that were asked for, by module and name.
_kernels: dict[tuple[str, str], Kernel] = {}

_log = logging.getLogger("subband.compiled")


class Kernels:
    """The kernels of a module, which is imported only if one has to be compiled: that takes Numba.

    Parameters
    ----------
    module : str
        The module's name; its functions are attributes.

    Examples
    --------
    >>> loops = Kernels("subband.engines.cpu.kernels")
    >>> loops.forward
    Kernel('subband.engines.cpu.kernels', 'forward')
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        kernel = _kernels.setdefault((self._module, name), Kernel(self._module, name))
        setattr(self, name, kernel)
        return kernel


class Kernel:
    """A function of a module of loops, compiled for whatever it is called with.

    Parameters
    ----------
    module, name : str
        Where it is written, decorated with `subband.compiled.compiling.stored`.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._entries: list[Callable[..., Any]] = []
        self._asked: set[tuple[str, ...]] = set()
        self._addresses: dict[str, int] = {}
        self._found: dict[str, Callable[..., Any]] = {}
        self._kept: list[tuple[str, Any]] = []
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Kernel({self._module!r}, {self._name!r})"

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, compiled for the kinds of these arguments."""
        # an entry that is not for these arguments says so before it does anything
        for entry in self._entries:
            result = entry(*arguments)
            if result is not NotImplemented:
                return result
        for entry in self._load(list_dtypes(arguments)):
            result = entry(*arguments)
            if result is not NotImplemented:
                return result
        return self.dispatcher(*arguments)

    def find_address(self, kinds: str) -> int:
        """Return where the function is that takes these kinds of arguments, such as ``float32*, int64``.

        For loops that are called by their address, and are decorated with `subband.compiled.compiling.pointed`.
        """
        address = self._addresses.get(kinds)
        if address is None:
            with self._lock:
                address = self._addresses[kinds] = self._load_address(kinds) or self._compile_address(kinds)
        return address

    def find_entry(self, kinds: str) -> Callable[..., Any]:
        """Return what is called for these kinds of arguments: it does no more than that, and says so.

        For loops that are decorated with `subband.compiled.compiling.gathering`. What is not C-contiguous it leaves
        alone, and returns ``NotImplemented``.
        """
        entry = self._found.get(kinds)
        if entry is None:
            with self._lock:
                library = find_library()
                items = library.list_items(self._module, self._name)
                loaded = (library.load_entry(item) for item in items if item.kinds == kinds)
                entry = next((each for each in loaded if each is not None), None)
                self._found[kinds] = entry = self.dispatcher if entry is None else entry
        return entry

    def _load_address(self, kinds: str) -> int:
        library = find_library()
        items = library.list_items(self._module, self._name)
        return next((library.load_address(item) for item in items if item.kinds == kinds), 0)

    def _compile_address(self, kinds: str) -> int:
        _log.debug("%s is compiled for %s", self._name, kinds)
        compiled = self.dispatcher.compile_pointer(kinds)
        self._kept.append((kinds, compiled))
        return int(compiled.address)

    def list_compiled(self) -> list[str]:
        """Return the kinds of arguments that Numba has compiled it for in this process."""
        if self._module not in sys.modules:
            return []
        if hasattr(self.dispatcher, "list_compiled"):
            return list(self.dispatcher.list_compiled())
        called = [format_kinds(kinds) for kinds in getattr(self.dispatcher, "overloads", ())]
        return called + [kinds for kinds, compiled in self._kept]

    @cached_property
    def dispatcher(self) -> Any:
        """The function that Numba compiles."""
        return getattr(import_module(self._module), self._name)

    def _load(self, dtypes: tuple[str, ...]) -> list[Callable[..., Any]]:
        """Return the entries for such arrays that were not loaded before."""
        if dtypes in self._asked:
            return []
        with self._lock:
            if dtypes in self._asked:
                return list(self._entries)
            library = find_library()
            items = library.list_items(self._module, self._name)
            found = [library.load_entry(item) for item in items if read_dtypes(item.kinds) == dtypes]
            entries = [entry for entry in found if entry is not None]
            if not entries:
                _log.debug("%s is compiled for %s", self._name, ", ".join(dtypes) or "numbers")
            if not items:
                # Numba's function takes everything, so nothing has to be looked for again
                entries = [self.dispatcher]
            self._entries = [*self._entries, *entries]
            self._asked.add(dtypes)
            return entries


def list_compiled() -> list[tuple[str, str, str]]:
    """Return module, name and kinds of arguments of all that Numba has compiled in this process."""
    found = []
    for (module, name), kernel in _kernels.items():
        found += [(module, name, kinds) for kinds in kernel.list_compiled()]
    return sorted(found)

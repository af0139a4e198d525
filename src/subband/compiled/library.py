"""Kernels that were compiled when the package was built, loaded without Numba.

A file of kernels is used only if the processor can run it, if it was compiled from the very sources that are here, and
if Python and NumPy keep their objects as its entries expect. Otherwise kernels are compiled when they are first
called, with the same results.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from subband.compiled.container import Container, Contents, Item
from subband.compiled.kinds import list_array_dtypes

__all__ = ["PROCESSOR", "Library", "describe_interface", "digest_sources", "find_library", "list_missing"]

#: Where the files of kernels are.
FOLDER = Path(__file__).parent / "objects"

#: Set to 0 to have all kernels compiled here.
_VARIABLE = "SUBBAND_KERNELS"

#: Numba's own variable for the processor to compile for, which kernels compiled in advance follow too.
PROCESSOR = "NUMBA_CPU_NAME"

_METH_FASTCALL = 0x80

#: All libraries of this process. Kernels are called by their addresses, so that what was loaded once must stay.
_libraries: list[Library] = []

_log = logging.getLogger("subband.compiled")


class Library:
    """The kernels of a container, each loaded when it is first asked for.

    Parameters
    ----------
    container : Container or None
        Where they are; without one there are none.
    """

    def __init__(self, container: Container | None) -> None:
        self._container = container
        self._sources = container.contents.sources if container is not None else {}
        self._items: dict[tuple[str, str], list[Item]] = {}
        for item in container.contents.items if container is not None else ():
            self._items.setdefault((item.module, item.function), []).append(item)
        self._loaded: dict[Item, int] = {}
        self._fresh: dict[str, bool] = {}
        self._kept: list[Any] = []
        self._lock = Lock()
        self._linker: Any = None
        _libraries.append(self)

    def list_items(self, module: str, function: str) -> list[Item]:
        """Return what there is of a function, in the order of preference; none if its source has changed."""
        found = self._items.get((module, function), [])
        return found if found and self._is_fresh(module) else []

    def load_address(self, item: Item) -> int:
        """Return the address of a function of C, or 0 if it cannot be loaded."""
        with self._lock:
            address = self._loaded.get(item)
            if address is None:
                try:
                    address = self._link(item)
                except (OSError, ValueError, RuntimeError) as error:
                    _log.debug("%s of %s cannot be loaded, and is compiled: %s", item.function, item.module, error)
                    address = 0
                self._loaded[item] = address
            return address

    def load_entry(self, item: Item) -> Callable[..., Any] | None:
        """Return a kernel as a function of Python, or None if it cannot be loaded."""
        address = self.load_address(item)
        if not address:
            return None
        method = _Method(item.function.encode(), address, _METH_FASTCALL, item.module.encode())
        self._kept.append(method)
        entry = _make_function(ctypes.addressof(method), np.ndarray, item.module, None)
        return _unpack_arrays(entry, item.returns) if "[" in item.returns else entry

    def _link(self, item: Item) -> int:
        import llvmlite.binding as llvm

        assert self._container is not None  # whose item it is
        code = self._container.read(item)
        if self._linker is None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            machine = llvm.Target.from_default_triple().create_target_machine()
            self._linker = llvm.create_lljit_compiler(machine)
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(item.symbol)
        tracker = builder.link(self._linker, f"{item.module}.{item.symbol}")
        self._kept.append(tracker)
        return int(tracker[item.symbol])

    def _is_fresh(self, module: str) -> bool:
        """Tell whether a module, and all that its loops are made of, is what it was when they were compiled."""
        fresh = self._fresh.get(module)
        if fresh is None:
            recorded = self._sources.get(module, {})
            try:
                fresh = bool(recorded) and digest_sources(list(recorded)) == recorded
            except OSError:
                fresh = False
            if not fresh:
                _log.debug("%s has changed since its kernels were compiled; they are compiled anew", module)
            self._fresh[module] = fresh
        return fresh


@cache
def find_library() -> Library:
    """Return the kernels that suit this processor best; there may be none."""
    paths = [] if os.environ.get(_VARIABLE, "") == "0" else sorted(FOLDER.glob("*.kernels"), reverse=True)
    for path in paths:
        try:
            container = Container(path)
        except (OSError, ValueError) as error:
            _log.debug("kernels compiled in advance are not used: %s", error)
            continue
        reason = _find_obstacle(container.contents)
        if reason is None:
            return Library(container)
        _log.debug("%s is not used: %s", path.name, reason)
    return Library(None)


def describe_interface() -> str:
    """Return what entries rely on: the machine, and how Python and NumPy keep their objects."""
    # the size of an object tells Python with and without the global lock apart
    layout = f"{sys.implementation.name}{object.__basicsize__}", f"numpy{np.__version__.split('.')[0]}"
    return "-".join((sys.platform, platform.machine(), *layout))


def _find_obstacle(contents: Contents) -> str | None:
    """Return why kernels cannot be used here, or None."""
    here = describe_interface()
    if contents.interface != here:
        return f"it was built for {contents.interface}, and this is {here}"
    asked = os.environ.get(PROCESSOR, contents.processor)
    if contents.processor != asked:
        return f"it was built for {contents.processor}, and {PROCESSOR} is {asked}"
    missing = list_missing(contents.features)
    if missing:
        return f"the processor has no {', '.join(missing)}"
    return None


def list_missing(features: Iterable[str]) -> list[str]:
    """Return what the processor cannot do."""
    import llvmlite.binding as llvm

    here = llvm.get_host_cpu_features()
    return sorted(name for name in features if not here.get(name))


def digest_sources(names: list[str]) -> dict[str, str]:
    """Return a checksum for each file of the package, of which names are given relative to it."""
    root = Path(__file__).parent.parent
    return {name: blake2b((root / name).read_bytes(), digest_size=8).hexdigest() for name in names}


def _unpack_arrays(entry: Callable[..., Any], returns: str) -> Callable[..., Any]:
    """Return an entry that makes arrays of what `entry` returns for them: bytes and lengths."""
    parts = list_array_dtypes(returns)
    is_tuple = returns.startswith("(")

    def call(*arguments: Any) -> Any:
        result = entry(*arguments)
        if result is NotImplemented:
            return result
        values = result if is_tuple else (result,)
        made = [
            np.frombuffer(value[0], dtype).reshape(value[1:]) if dtype else value
            for value, dtype in zip(values, parts, strict=True)
        ]
        return tuple(made) if is_tuple else made[0]

    return call


class _Method(ctypes.Structure):
    """A ``PyMethodDef``, by which CPython makes a function of an address."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


_make_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object, ctypes.c_void_p
)(("PyCMethod_New", ctypes.pythonapi))

"""Kernels of CUDA launched as one graph, with other arguments each time.

A graph of three kernels takes a third of the time that their launches take, even if the arguments of all its nodes are
set before. CuPy cannot set them, so that CUDA's driver is called here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import finalize

from subband.errors import DeviceError

__all__ = ["CudaGraph", "KernelLaunch", "load_driver"]

#: The kernel, its grid and block in three directions, and its shared memory in bytes; then the address of the pointers
#: to its arguments.
KernelLaunch = tuple[tuple[int, int, int, int, int, int, int, int], int]

_FUNCTIONS = (
    "cuGraphCreate",
    "cuGraphDestroy",
    "cuGraphAddKernelNode_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphExecDestroy",
    "cuGraphLaunch",
)


class _NodeParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("arguments", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


@cache
def load_driver() -> Any:
    """Return CUDA's driver; None where it is missing, or too old for what is called here."""
    try:
        # functions that take a microsecond are not worth giving Python's lock away for
        driver = ctypes.PyDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    return driver if all(hasattr(driver, name) for name in _FUNCTIONS) else None


class CudaGraph:
    """Kernels that run one after another, launched at once; CUDA orders launches of one graph on several streams.

    Parameters
    ----------
    driver : object
        As `load_driver` returns it.
    kernels : sequence of KernelLaunch
        In the order in which they run. Arguments are read from where they are when the graph is launched.

    Raises
    ------
    DeviceError
        If the driver cannot make the graph.
    """

    def __init__(self, driver: Any, kernels: Sequence[KernelLaunch]) -> None:
        graph, self._instance = ctypes.c_void_p(), ctypes.c_void_p()
        self._nodes = []
        _check(driver.cuGraphCreate(ctypes.byref(graph), 0))
        # it stays, because its nodes name those of what is launched
        finalize(self, driver.cuGraphDestroy, graph).atexit = False
        before = None
        for (function, *sizes, shared), arguments in kernels:
            grid, block = (ctypes.c_uint * 3)(*sizes[:3]), (ctypes.c_uint * 3)(*sizes[3:])
            parameters = ctypes.byref(_NodeParameters(function, grid, block, shared, arguments))
            node, count = ctypes.c_void_p(), ctypes.c_size_t(before is not None)
            _check(driver.cuGraphAddKernelNode_v2(ctypes.byref(node), graph, before, count, parameters))
            before = ctypes.byref(node)
            self._nodes.append((node, parameters))
        _check(driver.cuGraphInstantiateWithFlags(ctypes.byref(self._instance), graph, ctypes.c_ulonglong(0)))
        finalize(self, driver.cuGraphExecDestroy, self._instance).atexit = False
        self._set, self._launch = driver.cuGraphExecKernelNodeSetParams_v2, driver.cuGraphLaunch

    def launch(self, stream: int) -> None:
        """Launch the kernels with the arguments that are there now, which are copied.

        Raises
        ------
        DeviceError
            If the driver does not.
        """
        instance, set_parameters = self._instance, self._set
        for node, parameters in self._nodes:
            if status := set_parameters(instance, node, parameters):
                _check(status)
        _check(self._launch(instance, ctypes.c_void_p(stream)))


def _check(status: int) -> None:
    if status:
        raise DeviceError(f"CUDA's driver answered with error {status}; an earlier kernel may have failed")

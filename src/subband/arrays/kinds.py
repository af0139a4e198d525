"""The array libraries that callers use, and how their arrays are converted for engines and back.

Engines compute on *native* arrays: those of NumPy in the memory of the host, of CuPy on CUDA GPUs, of PyOpenCL on
OpenCL devices. An array of any other library is viewed as the native one of its device, without a copy, and
results go back the same way. One that is *traced*, and so has no numbers yet, or that has nothing but the functions of
the array API standard, is wrapped instead: a `FunctionalArray` is native too. A library is asked only if it has been
imported already: nobody can have an array of a library that is not loaded.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isnan
from typing import Any, Protocol

import numpy as np

from subband.arrays.functional import FunctionalArray
from subband.errors import ArgumentTypeError, MissingExtraError, ShapeError

__all__ = [
    "HOST",
    "KINDS",
    "TRACED",
    "Integration",
    "Kind",
    "device_of",
    "find_kind",
    "is_array",
    "is_foreign",
    "is_on_device",
    "register_integration",
]

#: The device name of arrays in host memory; other devices have the name of their engine, such as ``cuda:0``.
HOST = "cpu"

#: The device name of arrays that are computed by functions of their own library, also that of the engine.
TRACED = "array"


class Kind(ABC):
    """The arrays of one library.

    Attributes
    ----------
    name : str
        What its arrays are called in errors.
    module : str
        The module that must be loaded for such an array to exist.
    is_native : bool
        Whether engines compute on such arrays.
    is_elsewhere : bool
        Whether such an array is never a plain one in the memory of the host.
    """

    name: str
    module: str
    is_native: bool = False
    is_elsewhere: bool = False

    @abstractmethod
    def is_mine(self, x: Any) -> bool:
        """Tell whether `x` is an array of this kind; the module is loaded."""

    @abstractmethod
    def device_of(self, x: Any) -> str:
        """Return the device of an array: ``cpu``, or the name of its engine, such as ``cuda:0``."""

    def is_traced(self, x: Any) -> bool:
        """Tell whether an array can only be computed by functions of its own library: it has no numbers yet."""
        return False

    def to_native(self, x: Any, name: str) -> Any:
        """Return `x`, which an error calls `name`, as a native array on the same device, without a copy."""
        return x

    def from_native(self, array: Any, like: Any) -> Any:
        """Return a native array as one of this kind, on the device of `like`."""
        return array

    def enter(self, x: Any) -> AbstractContextManager[Any]:
        """Return the context in which to compute with `x`: its device, and the stream that its owner uses."""
        return nullcontext()

    def find_engine(self, x: Any, engine: Any) -> Any:
        """Return the engine for arrays that have one of their own, given what the caller has named; else None."""
        return None

    def find_substitute(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return the replacement of a function that cannot work on such arrays; None if it can."""
        return None


class NumpyKind(Kind):
    """NumPy, native on the host."""

    name = "numpy.ndarray"
    module = "numpy"
    is_native = True

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, np.ndarray)

    def device_of(self, x: Any) -> str:
        return HOST


class CupyKind(Kind):
    """CuPy, native on CUDA GPUs."""

    name = "cupy.ndarray"
    module = "cupy"
    is_native = True
    is_elsewhere = True

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, _loaded("cupy").ndarray)

    def device_of(self, x: Any) -> str:
        return f"cuda:{x.device.id}"

    def enter(self, x: Any) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = x.device
        return context


class OpenCLKind(Kind):
    """PyOpenCL, native on OpenCL devices."""

    name = "pyopencl.array.Array"
    module = "pyopencl.array"
    is_native = True
    is_elsewhere = True

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, _loaded("pyopencl.array").Array)

    def device_of(self, x: Any) -> str:
        device = x.context.devices[0] if x.queue is None else x.queue.device
        devices = [device for platform in _loaded("pyopencl").get_platforms() for device in platform.get_devices()]
        return f"opencl:{devices.index(device)}"


class TorchKind(Kind):
    """PyTorch: NumPy's view of tensors on the CPU, CuPy's of those on CUDA GPUs.

    Those that require a gradient are traced, and computed by the operators of `subband.integrations.torch`.
    """

    name = "torch.Tensor"
    module = "torch"

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, _loaded("torch").Tensor)

    def is_traced(self, x: Any) -> bool:
        torch = _loaded("torch")
        if x.requires_grad and torch.is_grad_enabled():
            return True
        # what torch.func passes looks like any tensor, and only this tells
        is_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
        return is_wrapped is not None and bool(is_wrapped(x))

    def device_of(self, x: Any) -> str:
        device = x.device
        if device.type == "cpu":
            return HOST
        if device.type == "cuda":
            return f"cuda:{device.index}"
        raise ArgumentTypeError(f"a tensor is on device {str(device)!r}; subband takes 'cpu' and 'cuda': use .cpu()")

    def to_native(self, x: Any, name: str) -> Any:
        torch = _loaded("torch")
        if self.is_traced(x):
            raise ArgumentTypeError(f"{name} requires grad, and this function has no gradient; give {name}.detach()")
        if x.layout is not torch.strided:
            raise ArgumentTypeError(f"{name} has layout {x.layout}; give {name}.to_dense()")
        x = x.detach().resolve_conj().resolve_neg()
        if x.device.type == "cpu":
            return (x.float() if x.dtype == torch.bfloat16 else x).numpy()
        return _as_cupy(x, name)

    def from_native(self, array: Any, like: Any) -> Any:
        torch = _loaded("torch")
        if not isinstance(array, np.ndarray):
            return torch.from_dlpack(array)
        if not array.flags.writeable or any(step < 0 for step in array.strides):
            array = array.copy()
        return torch.from_numpy(array)

    def enter(self, x: Any) -> AbstractContextManager[Any]:
        if x.device.type != "cuda":
            return nullcontext()
        # CuPy is to work where Torch has queued what comes before, and will queue what comes after
        stream = _loaded("torch").cuda.current_stream(x.device)
        return _follow_stream(_import_cupy(self.name), x.device.index, stream.cuda_stream)


class JaxKind(Kind):
    """JAX: NumPy's view of arrays on the CPU, CuPy's of those on CUDA GPUs."""

    name = "jax.Array"
    module = "jax"

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, _loaded("jax").Array)

    def is_traced(self, x: Any) -> bool:
        return isinstance(x, _loaded("jax").core.Tracer)

    def device_of(self, x: Any) -> str:
        if self.is_traced(x):
            return TRACED
        device = self._device(x)
        if device.platform == "cpu":
            return HOST
        if device.platform in ("gpu", "cuda"):
            return f"cuda:{device.local_hardware_id}"
        raise ArgumentTypeError(
            f"an array is on the device {str(device)!r}; subband takes those of CPUs and CUDA GPUs: use jax.device_get"
        )

    def to_native(self, x: Any, name: str) -> Any:
        device = self.device_of(x)
        if device == TRACED:
            raise ArgumentTypeError(
                f"jax.jit, vmap or grad traces {name}, which has no numbers yet; call this outside of them, or through "
                "jax.pure_callback"
            )
        return np.asarray(x) if device == HOST else _as_cupy(x, name)

    def from_native(self, array: Any, like: Any) -> Any:
        jax = _loaded("jax")
        if isinstance(array, np.ndarray):
            return jax.device_put(array, self._device(like))
        return jax.dlpack.from_dlpack(_import_cupy(self.name).ascontiguousarray(array))

    def enter(self, x: Any) -> AbstractContextManager[Any]:
        device = self.device_of(x)
        if device in (HOST, TRACED):
            return nullcontext()
        context: AbstractContextManager[Any] = _import_cupy(self.name).cuda.Device(int(device.partition(":")[2]))
        return context

    def _device(self, x: Any) -> Any:
        devices = x.devices()
        if len(devices) != 1:
            raise ArgumentTypeError(f"an array is spread over {len(devices)} devices; use jax.device_put for one")
        return next(iter(devices))


class DaskKind(Kind):
    """Dask: chunks of another kind, to be computed later and perhaps elsewhere.

    Functions work on such arrays as on native ones, and what they do becomes a graph of tasks. What makes the graph
    builds on all transforms, so this room cannot import it: `register_integration` brings it here, and it is loaded
    when the first Dask array arrives.
    """

    name = "dask.array.Array"
    module = "dask.array"
    is_native = True
    is_elsewhere = True

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, _loaded("dask.array").Array)

    def device_of(self, x: Any) -> str:
        # every function asks for the device first, and all of them need lengths
        if any(map(isnan, x.shape)):
            raise ShapeError("the lengths of some chunks are not known; call x.compute_chunk_sizes() first")
        return "dask"

    def find_engine(self, x: Any, engine: Any) -> Any:
        return _INTEGRATIONS[self.name]().find_engine(engine)

    def find_substitute(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        return _INTEGRATIONS[self.name]().find_substitute(function)


class FunctionalKind(Kind):
    """Arrays that are wrapped already: functions that call each other pass them on."""

    name = "FunctionalArray"
    module = FunctionalArray.__module__
    is_native = True
    is_elsewhere = True

    def is_mine(self, x: Any) -> bool:
        return isinstance(x, FunctionalArray)

    def device_of(self, x: Any) -> str:
        return TRACED

    def find_engine(self, x: Any, engine: Any) -> Any:
        kind = find_kind(x.array)
        load = None if kind is None else _INTEGRATIONS.get(kind.name)
        return None if load is None else load().find_engine(engine)


class StandardKind(Kind):
    """Arrays of any other library that follows the array API standard."""

    name = "array of the array API standard"
    module = "numpy"

    def is_mine(self, x: Any) -> bool:
        return hasattr(type(x), "__array_namespace__") and not isinstance(x, np.generic)

    def is_traced(self, x: Any) -> bool:
        return True

    def device_of(self, x: Any) -> str:
        return TRACED


class Integration(Protocol):
    """What computes on arrays that this room only recognises: any module with these two functions."""

    def find_engine(self, engine: Any) -> Any: ...

    def find_substitute(self, function: Callable[..., Any]) -> Callable[..., Any] | None: ...


#: How to load the integration of a kind of array, by the kind's name.
_INTEGRATIONS: dict[str, Callable[[], Integration]] = {}


def register_integration(kind: str, load: Callable[[], Integration]) -> None:
    """Say what computes on a kind of array; `load` is called when such an array arrives.

    The package itself registers its integrations, so that a room of transforms need not name one above it.
    """
    _INTEGRATIONS[kind] = load


#: Every kind of array; the first that says an array is its own takes it.
KINDS: list[Kind] = [
    NumpyKind(),
    CupyKind(),
    TorchKind(),
    JaxKind(),
    OpenCLKind(),
    DaskKind(),
    FunctionalKind(),
    StandardKind(),
]

#: The kinds of types that have been asked about, and are arrays.
_KNOWN: dict[type, Kind] = {}


def find_kind(x: Any) -> Kind | None:
    """Return the kind of an array, or None if `x` is not an array.

    Examples
    --------
    >>> find_kind(np.zeros(3)).name
    'numpy.ndarray'
    >>> find_kind([1, 2]) is None
    True
    """
    known = _KNOWN.get(type(x))
    if known is not None:
        return known if sys.modules.get(known.module) is not None else None
    for kind in KINDS:
        if sys.modules.get(kind.module) is not None and kind.is_mine(x):
            _KNOWN[type(x)] = kind
            return kind
    return None


def is_array(x: Any) -> bool:
    """Tell whether `x` is an array of any kind.

    Examples
    --------
    >>> is_array(np.zeros(3)), is_array([1, 2])
    (True, False)
    """
    return type(x) is np.ndarray or find_kind(x) is not None


def is_foreign(x: Any) -> bool:
    """Tell whether `x` is an array of another library than NumPy.

    Examples
    --------
    >>> is_foreign(np.zeros(3)), is_foreign([1, 2])
    (False, False)
    """
    return is_array(x) and not isinstance(x, np.ndarray)


def device_of(x: Any) -> str:
    """Return the device of an array: ``cpu``, or the name of its engine, such as ``cuda:0``.

    Examples
    --------
    >>> device_of(np.zeros(3)), device_of([1, 2])
    ('cpu', 'cpu')
    """
    if type(x) is np.ndarray:
        return HOST
    kind = find_kind(x)
    return HOST if kind is None else kind.device_of(x)


def is_on_device(x: Any) -> bool:
    """Tell whether `x` is an array that is not in host memory."""
    return device_of(x) != HOST


def _loaded(module: str) -> Any:
    """Return a library that its user has imported already."""
    return sys.modules[module]


def _import_cupy(name: str) -> Any:
    """Import CuPy, which gives views of other libraries' CUDA arrays."""
    try:
        import cupy
    except ImportError:
        raise MissingExtraError(f"a {name} on a CUDA GPU", "cuda") from None
    return cupy


def _as_cupy(x: Any, name: str) -> Any:
    """Return a view of a CUDA array of another library as a CuPy array."""
    return _import_cupy(name).from_dlpack(x)


@contextmanager
def _follow_stream(cupy: Any, device: int, stream: int) -> Iterator[None]:
    """Make a stream of another library the current one of CuPy."""
    with cupy.cuda.Device(device):
        followed = (
            cupy.cuda.Stream.from_external(_Stream(stream))
            if hasattr(cupy.cuda.Stream, "from_external")
            else cupy.cuda.ExternalStream(stream, device)
        )
        with followed:
            yield


class _Stream:
    """A stream with CUDA's Python protocol, which not every version of Torch implements."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address

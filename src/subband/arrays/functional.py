"""NumPy's interface to arrays of any library that has the functions of the array API standard.

Such an array may hold no numbers yet: inside of ``jax.jit``, ``jax.grad``, ``jax.vmap`` and the transforms of
``torch.func``, libraries pass *traced* arrays, and write down what is done with them. So nothing here looks at numbers
or writes into an array; whatever is written in NumPy's functions with the same restraint runs on these arrays, and on
those of NumPy itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from subband.errors import ArgumentTypeError
from subband.typing import Array

if TYPE_CHECKING:
    from subband.arrays.libraries import Library

__all__ = ["FUNCTIONS", "FunctionalArray", "is_functional", "numpy_dtype"]

N = TypeVar("N", bool, int, float)

_Key: TypeAlias = "int | slice | EllipsisType | None"

#: Functions of NumPy with another name in the standard.
_NAMES = {"absolute": "abs", "conjugate": "conj", "rint": "round"}

#: What an operator is in NumPy, as a function of the operands.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "negative": lambda a: -a,
    "right_shift": lambda a, b: a >> b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "invert": lambda a: ~a,
}


class FunctionalArray(NDArrayOperatorsMixin):
    """An array of any library with the attributes, operators and functions of NumPy's.

    Constants of NumPy take on the precision of the array that they meet.

    Parameters
    ----------
    array : array
        The array of the library.

    Attributes
    ----------
    array : array
        The same.
    library : Library
        The functions of its library.
    dtype : numpy.dtype
        Of its numbers.

    Examples
    --------
    >>> x = FunctionalArray(np.array([[1.0, -2.0], [3.0, 4.0]], np.float32))
    >>> y = np.concatenate([np.absolute(x), 2 * x[:, ::-1] + np.ones(2)], axis=1)
    >>> y.array
    array([[ 1.,  2., -3.,  3.],
           [ 3.,  4.,  9.,  7.]], dtype=float32)
    """

    def __init__(self, array: Any) -> None:
        # imported here, because those who have none of these arrays need not wait for it
        from subband.arrays.libraries import find_library

        self.library: Library = find_library(array)
        self.dtype = numpy_dtype(array)
        is_narrow = str(array.dtype).endswith("bfloat16") and not self.library.takes_halves
        self.array = self.library.astype(array, np.dtype(np.float32)) if is_narrow else array
        if is_narrow:
            self.dtype = np.dtype(np.float32)

    # --- What NumPy asks. ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        # x += 1 asks for a result in x, which then is another array of that name
        is_renamed = set(options) == {"out"} and options["out"][0] is inputs[0]
        if method != "__call__" or (options and not is_renamed):
            raise self._refuse(f"numpy.{name} with options")
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*inputs)
        if name in _OPERATORS:
            return FunctionalArray(_OPERATORS[name](*_open_operands(inputs)))
        function = getattr(self.library, _NAMES.get(name, name), None)
        if function is None:
            raise self._refuse(f"numpy.{name}")
        return FunctionalArray(function(*_open_operands(inputs)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = _FUNCTIONS.get(function.__name__)
        if own is None:
            raise self._refuse(f"numpy.{function.__name__}")
        return own(*args, **kwargs)

    def __array__(self, *_args: Any, **_options: Any) -> Array:
        raise self._refuse("a conversion to NumPy")

    def _refuse(self, task: str) -> ArgumentTypeError:
        name = self.library.module.__name__.partition(".")[0]
        return ArgumentTypeError(
            f"{task} cannot be done with arrays of {name} that are traced or only follow the array API standard; call "
            "this outside of what traces them, such as jax.jit, grad, vmap and torch.func, or give NumPy's arrays"
        )

    # --- What an array has. ---

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.array.shape)

    @property
    def size(self) -> int:
        """Number of numbers."""
        return int(np.prod(self.shape))

    @property
    def real(self) -> FunctionalArray:
        """The real part."""
        return FunctionalArray(self.library.real(self.array)) if self.dtype.kind == "c" else self

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[FunctionalArray]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, key: Any) -> FunctionalArray:
        x = self
        keys, turned = _normalise_key(key, self)
        for axis, indices in turned:
            x = _take(x, indices, axis)
        return FunctionalArray(x.array[keys])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._refuse("writing into an array")

    def __bool__(self) -> bool:
        return self._read(bool)

    def __int__(self) -> int:
        return self._read(int)

    def __float__(self) -> float:
        return self._read(float)

    def _read(self, convert: Callable[[Any], N]) -> N:
        """Return a single number, where there are numbers."""
        try:
            return convert(self.array)
        except Exception as error:
            raise self._refuse("reading numbers, as reversible transforms do,") from error

    # --- What an array does. ---

    def astype(self, dtype: Any, copy: bool = False) -> FunctionalArray:  # noqa: ARG002 - nothing is written to
        """Return the numbers in another dtype, the nearest one that the library has."""
        wanted = np.dtype(dtype)
        return self if wanted == self.dtype else FunctionalArray(self.library.astype(self.array, wanted))

    def copy(self) -> FunctionalArray:
        """Return the array itself, because nobody writes into it."""
        return self

    def reshape(self, *shape: Any) -> FunctionalArray:
        """Return the numbers in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return FunctionalArray(self.library.reshape(self.array, tuple(wanted)))

    def ravel(self) -> FunctionalArray:
        """Return the numbers in one row."""
        return self.reshape(-1)

    def sum(self, axis: Any = None) -> FunctionalArray:
        """Return the sum of all numbers, or of those along an axis."""
        return _sum(self, axis)

    def min(self) -> FunctionalArray:
        """Return the least number."""
        return _min(self)

    def max(self) -> FunctionalArray:
        """Return the greatest number."""
        return FunctionalArray(self.library.max(self.array))


def numpy_dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array of any kind as NumPy calls it, that of bfloat16 as the float32 it is computed in.

    Examples
    --------
    >>> numpy_dtype(np.ones(2, "float32"))
    dtype('float32')
    """
    dtype: Any = x.dtype
    if isinstance(dtype, np.dtype):
        return dtype
    # those of Torch and others are objects of their own, which are written torch.float32
    name = str(dtype).rpartition(".")[2]
    return np.dtype("float32" if name == "bfloat16" else name)


def is_functional(x: Any) -> bool:
    """Tell whether functions of its own library compute an array.

    Examples
    --------
    >>> is_functional(np.ones(2)), is_functional(FunctionalArray(np.ones(2)))
    (False, True)
    """
    return isinstance(x, FunctionalArray)


def _normalise_key(key: Any, x: FunctionalArray) -> tuple[tuple[_Key, ...], list[tuple[int, Array]]]:
    """Return a key that every library takes, and axes of which other entries are to be taken before.

    The standard knows no slices beyond the ends and no keys that leave out axes, and Torch none that go backwards.
    """
    given = key if isinstance(key, tuple) else (key,)
    shape = x.shape
    if not all(entry is None or isinstance(entry, int | slice | EllipsisType) for entry in given):
        raise x._refuse("indexing by arrays")
    missing = len(shape) - sum(entry is not None and entry is not Ellipsis for entry in given)
    if Ellipsis in given:
        cut = given.index(Ellipsis)
        given = (*given[:cut], *(slice(None),) * missing, *given[cut + 1 :])
    else:
        given = (*given, *(slice(None),) * missing)
    keys: list[_Key] = []
    turned = []
    axis = 0
    for entry in given:
        if entry is not None:
            if isinstance(entry, slice):
                span = range(shape[axis])[entry]
                if span.step < 0:
                    turned.append((axis, np.array(span, np.int64)))
                    entry = slice(None)
                else:
                    entry = slice(span.start, span.stop, span.step) if len(span) else slice(0, 0)
            axis += 1
        keys.append(entry)
    return tuple(keys), turned


def _open_operands(operands: Sequence[Any]) -> list[Any]:
    """Return operands as the library takes them: its own arrays, and Python's numbers.

    NumPy's numbers become Python's, and its arrays arrays of the library, in the precision of those that are there.
    """
    first = next(x for x in operands if isinstance(x, FunctionalArray))
    return [_open_operand(x, first) for x in operands]


def _open_operand(x: Any, like: FunctionalArray) -> Any:
    if isinstance(x, FunctionalArray):
        return x.array
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return x.item()
    if isinstance(x, np.ndarray | list | tuple):
        numbers = np.asarray(x)
        if numbers.dtype.kind != "b" and like.dtype.kind in "fc":
            single = like.dtype.itemsize == (8 if like.dtype.kind == "c" else 4)
            narrow, wide = ("c8", "c16") if numbers.dtype.kind == "c" else ("f4", "f8")
            numbers = numbers.astype(narrow if single else wide)
        return like.library.constant(numbers, like.array)
    return x


def _as_arrays(*operands: Any) -> tuple[Library, list[Any]]:
    """Return operands of a function that takes arrays alone: numbers become arrays of the dtype that they meet."""
    first = next(
        (x for x in operands if isinstance(x, FunctionalArray) and x.dtype.kind != "b"),
        next(x for x in operands if isinstance(x, FunctionalArray)),
    )
    opened = [_open_operand(x, first) for x in operands]
    arrays = [
        first.library.constant(np.asarray(x, first.dtype), first.array) if isinstance(x, int | float | complex) else x
        for x in opened
    ]
    return first.library, arrays


# --- Functions of NumPy. ---


def _concatenate(arrays: Sequence[Any], axis: int = 0) -> FunctionalArray:
    library, opened = _as_arrays(*arrays)
    return FunctionalArray(library.concat(opened, axis=axis))


def _stack(arrays: Sequence[Any], axis: int = 0) -> FunctionalArray:
    library, opened = _as_arrays(*arrays)
    return FunctionalArray(library.stack(opened, axis=axis))


def _where(condition: Any, yes: Any, no: Any) -> FunctionalArray:
    if not any(isinstance(x, FunctionalArray) for x in (yes, no)):
        dtype = np.result_type(yes, no)
        make = condition.library.constant
        yes, no = (FunctionalArray(make(np.asarray(x, dtype), condition.array)) for x in (yes, no))
    library, (test, *choices) = _as_arrays(condition, yes, no)
    return FunctionalArray(library.where(test, *choices))


def _maximum(a: Any, b: Any) -> FunctionalArray:
    library, operands = _as_arrays(a, b)
    return FunctionalArray(library.maximum(*operands))


def _minimum(a: Any, b: Any) -> FunctionalArray:
    library, operands = _as_arrays(a, b)
    return FunctionalArray(library.minimum(*operands))


def _fmax(a: Any, b: Any) -> FunctionalArray:
    return _where(np.greater(a, b), a, b)


def _take(x: Any, indices: Any, axis: int) -> FunctionalArray:
    numbers = np.asarray(indices, np.int64) % max(x.shape[axis], 1)
    return FunctionalArray(x.library.take(x.array, numbers, axis % x.ndim))


def _transpose(x: Any, axes: Sequence[int]) -> FunctionalArray:
    return FunctionalArray(x.library.permute_dims(x.array, tuple(int(axis) for axis in axes)))


def _moveaxis(x: Any, source: int, destination: int) -> FunctionalArray:
    order = [axis for axis in range(x.ndim) if axis != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return _transpose(x, order)


def _zeros_like(x: Any, dtype: Any = None, shape: Any = None) -> FunctionalArray:
    kind = x.dtype if dtype is None else np.dtype(dtype)
    return FunctionalArray(x.library.make_zeros(x.shape if shape is None else tuple(shape), kind, x.array))


def _pad(x: Any, widths: Sequence[tuple[int, int]], mode: str = "constant") -> FunctionalArray:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            if mode == "constant":
                sides = [_zeros_like(x, shape=(*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in (before, after)]
                x = _concatenate([sides[0], x, sides[1]], axis)
            else:
                indices: Any = np.arange(x.shape[axis])
                x = _take(x, np.pad(indices, (before, after), mode=mode), axis)  # type: ignore[call-overload]  # any str
    padded: FunctionalArray = x
    return padded


def _sum(x: Any, axis: Any = None) -> FunctionalArray:
    return FunctionalArray(x.library.sum(x.array, axis=axis))


def _min(x: Any, axis: Any = None) -> FunctionalArray:
    return FunctionalArray(x.library.min(x.array, axis=axis))


def _mean(x: Any, axis: Any = None) -> FunctionalArray:
    return FunctionalArray(x.library.mean(x.array, axis=axis))


def _sort(x: Any, axis: int) -> FunctionalArray:
    return FunctionalArray(x.library.sort(x.array, axis=axis))


def _median(x: Any, axis: int) -> FunctionalArray:
    ordered = _moveaxis(_sort(x, axis), axis, -1)
    count = ordered.shape[-1]
    middle: FunctionalArray = (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2
    return middle


def _tensordot(a: Any, b: Any, axes: int) -> FunctionalArray:
    library, operands = _as_arrays(a, b)
    return FunctionalArray(library.tensordot(*operands, axes=axes))


def _clip(x: Any, low: Any, high: Any) -> FunctionalArray:
    return _minimum(_maximum(x, low), high)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ascontiguousarray": lambda x, dtype=None: x if dtype is None else x.astype(dtype),
    "clip": _clip,
    "concatenate": _concatenate,
    "fft": lambda x, n: FunctionalArray(x.library.fft.fft(x.array, n=n)),
    "irfft": lambda x, n: FunctionalArray(x.library.fft.irfft(x.array, n=n)),
    "rfft": lambda x, n: FunctionalArray(x.library.fft.rfft(x.array, n=n)),
    "fmax": _fmax,
    "ifft": lambda x, n: FunctionalArray(x.library.fft.ifft(x.array, n=n)),
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "maximum": _maximum,
    "mean": _mean,
    "median": _median,
    "minimum": _minimum,
    "min": _min,
    "moveaxis": _moveaxis,
    "ndim": lambda x: x.ndim,
    "pad": _pad,
    "shape": lambda x: x.shape,
    "sort": _sort,
    "stack": _stack,
    "sum": _sum,
    "take": _take,
    "tensordot": _tensordot,
    "transpose": _transpose,
    "where": _where,
    "zeros_like": _zeros_like,
}


class _Functions:
    """NumPy's functions, used like its module; those that do not ask their arguments how are replaced."""

    def __getattr__(self, name: str) -> Any:
        return _FUNCTIONS[name] if name == "ascontiguousarray" else getattr(np, name)


FUNCTIONS = _Functions()

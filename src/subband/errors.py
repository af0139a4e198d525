"""The exceptions that subband raises.

Every one of them is a `SubbandError`, and also the built-in exception that PyWavelets users catch already::

    SubbandError
    ├── ArgumentError (ValueError)        an argument has a value that cannot be used
    │   ├── UnknownWaveletError           no wavelet has that name
    │   ├── ModeError                     no such boundary mode, or the wavelet cannot take it
    │   │   └── ModeTypeError (TypeError) a mode that is neither a name nor a number
    │   ├── LevelError                    too many levels, or a negative number of them
    │   │   └── LevelTypeError (TypeError)    a level that is not an integer
    │   ├── AxesError (NumPy's AxisError) an axis is missing, repeated or out of range
    │   │   ├── AxesTypeError (TypeError)     an axis that is not an integer
    │   │   └── SingleAxisError (TypeError)   one axis where several belong
    │   ├── ShapeError                    an array has a shape that cannot be transformed
    │   ├── CoefficientsError             bands that do not belong together
    │   │   ├── BandShapesError (RuntimeError)    stationary bands of different shapes
    │   │   └── CoefficientsTypeError (TypeError) something that is no list of bands
    │   ├── PathError (IndexError)        a path leads to no node of a packet tree
    │   │   └── MissingNodeError (TypeError)  nothing is known about the node
    │   └── UnknownEngineError            no engine has that name
    ├── ArgumentTypeError (TypeError)     an argument is of a kind that cannot be used
    │   ├── PathTypeError                 a path that is neither text nor a tuple of texts
    │   └── DtypeError                    an array holds something that is not a number
    │       └── TextError (ValueError)    an array holds text
    ├── IntegerRangeError (OverflowError) a reversible transform would leave the range of its integers
    ├── MissingExtraError (ImportError)   an optional library is not installed
    ├── DeviceError (RuntimeError)        a device cannot do what is asked of it
    │   ├── NoDeviceError                 there is no such device, or no driver for it
    │   ├── KernelError                   a kernel does not compile; has `source` and `log`
    │   └── DeviceMemoryError (MemoryError)   the memory of the device is full
    └── FormatError (ValueError)          a file does not hold what its name promises
        └── CodecError                    a compressed stream is damaged, or too large, or of a kind not known
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from numpy.exceptions import AxisError

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "AxesError",
    "AxesTypeError",
    "BandShapesError",
    "CodecError",
    "CoefficientsError",
    "CoefficientsTypeError",
    "DeviceError",
    "DeviceMemoryError",
    "DtypeError",
    "FormatError",
    "IntegerRangeError",
    "KernelError",
    "LevelError",
    "LevelTypeError",
    "MissingExtraError",
    "MissingNodeError",
    "ModeError",
    "ModeTypeError",
    "NoDeviceError",
    "PathError",
    "PathTypeError",
    "ShapeError",
    "SingleAxisError",
    "SubbandError",
    "TextError",
    "UnknownEngineError",
    "UnknownWaveletError",
    "suggest_names",
]


class SubbandError(Exception):
    """The root of everything that subband raises on purpose."""


class ArgumentError(SubbandError, ValueError):
    """An argument has a value that cannot be used."""


class UnknownWaveletError(ArgumentError):
    """No wavelet has that name."""


class ModeError(ArgumentError):
    """No boundary mode has that name, or the wavelet cannot take it."""


class ModeTypeError(ModeError, TypeError):
    """A boundary mode that is neither a name nor a number."""


class LevelError(ArgumentError):
    """Too many levels for the array, or a negative number of them."""


class LevelTypeError(LevelError, TypeError):
    """A level that is not an integer."""


class AxesError(ArgumentError, AxisError):
    """An axis is missing, repeated or out of range."""


class AxesTypeError(AxesError, TypeError):
    """An axis that is not an integer."""


class SingleAxisError(AxesError, TypeError):
    """One axis where several belong."""


class ShapeError(ArgumentError):
    """An array has a shape that cannot be transformed."""


class CoefficientsError(ArgumentError):
    """Bands that do not belong together: ragged, missing or of the wrong shape."""


class BandShapesError(CoefficientsError, RuntimeError):
    """Stationary bands of one level that have different shapes."""


class CoefficientsTypeError(CoefficientsError, TypeError):
    """Something that is no list of bands where one belongs."""


class PathError(ArgumentError, IndexError):
    """A path leads below the deepest level of a packet tree, or names a node that is not there."""


class MissingNodeError(PathError, TypeError):
    """Nothing is known about a node of a packet tree."""


class UnknownEngineError(ArgumentError):
    """No engine has that name."""


class ArgumentTypeError(SubbandError, TypeError):
    """An argument is of a kind that cannot be used."""


class PathTypeError(ArgumentTypeError):
    """A path in a packet tree that is neither text nor a tuple of texts."""


class DtypeError(ArgumentTypeError):
    """An array holds something that is not a number."""


class TextError(DtypeError, ValueError):
    """An array holds text, which NumPy, and so PyWavelets, answers with a ValueError."""


class IntegerRangeError(SubbandError, OverflowError):
    """A reversible transform would leave the range of its integers."""


class FormatError(SubbandError, ValueError):
    """A file does not hold what its name promises."""


class CodecError(FormatError):
    """A compressed stream is damaged, declares more than the limits allow, or uses what is not known here."""


class MissingExtraError(SubbandError, ImportError):
    """An optional library is not installed.

    Parameters
    ----------
    feature : str
        What needs the library, as a user would call it.
    extra : str
        The extra of the distribution that brings it.

    Examples
    --------
    >>> from subband.errors import MissingExtraError
    >>> print(MissingExtraError("reading video", "video"))
    reading video needs an optional library; install it with: pip install 'subband[video]'
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional library; install it with: pip install 'subband[{extra}]'")


class DeviceError(SubbandError, RuntimeError):
    """A device cannot do what is asked of it."""


class NoDeviceError(DeviceError):
    """There is no such device, or no driver for it."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The memory of the device is full."""


class KernelError(DeviceError):
    """A kernel does not compile.

    Parameters
    ----------
    message : str
        Where it was to run.
    source : str
        The text of the kernel.
    log : str
        What the compiler said.

    Examples
    --------
    >>> from subband.errors import KernelError
    >>> print(KernelError("GPU 0 does not compile a kernel", "void f(", "error: expected ')'"))
    GPU 0 does not compile a kernel (its text is in .source):
    error: expected ')'
    """

    def __init__(self, message: str, source: str, log: str) -> None:
        super().__init__(f"{message} (its text is in .source):\n{log}")
        self.source = source
        self.log = log


def suggest_names(name: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'db4' or 'db5'?"`, or nothing when no known name is near.

    Examples
    --------
    >>> from subband.errors import suggest_names
    >>> suggest_names("bd4", ["db4", "sym4", "haar"])
    "; did you mean 'db4'?"
    >>> suggest_names("quux", ["db4"])
    ''
    """
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    if not near:
        return ""
    return f"; did you mean {' or '.join(repr(match) for match in near)}?"

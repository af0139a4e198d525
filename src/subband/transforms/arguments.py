"""Reading the arguments that all transforms share: axes, one wavelet or mode for each, and levels."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, TypeAlias

from subband.engines.recording import recordings
from subband.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxesError,
    AxesTypeError,
    LevelError,
    LevelTypeError,
    ModeError,
    SingleAxisError,
)
from subband.transforms.modes import mode_name
from subband.typing import ModeName
from subband.wavelets import Wavelet, WaveletLike, as_wavelet
from subband.wavelets.cascade import read_count

__all__ = [
    "Axes",
    "ModeLike",
    "check_level",
    "modes_for_axes",
    "normalise_axes",
    "normalise_axis",
    "read_length",
    "read_shape",
    "useful_levels",
    "warn_caller",
    "wavelets_for_axes",
]

#: A mode by name or number.
ModeLike: TypeAlias = ModeName | str | int

#: Which axes of an array, negative ones counted from the end.
Axes: TypeAlias = Iterable[int] | int | None


def normalise_axis(axis: int, ndim: int) -> int:
    """Return `axis` counted from the front.

    Raises
    ------
    AxesError
        If an array of `ndim` dimensions has no such axis.

    Examples
    --------
    >>> normalise_axis(-1, 3)
    2
    >>> normalise_axis(3, 2)
    Traceback (most recent call last):
        ...
    subband.errors.AxesError: axis=3 is out of range for an array of 2 dimensions; use -2 to 1
    """
    try:
        number = index(axis)
    except TypeError:
        raise AxesTypeError(f"axis={axis!r} is not an integer") from None
    if -ndim <= number < ndim:
        return number % ndim
    if ndim == 0:
        raise AxesError(f"axis={axis} does not exist: the array is a single number; give at least one dimension")
    plural = "" if ndim == 1 else "s"
    raise AxesError(f"axis={axis} is out of range for an array of {ndim} dimension{plural}; use {-ndim} to {ndim - 1}")


def normalise_axes(axes: Axes, ndim: int, *, count: int | None = None, distinct: bool = False) -> tuple[int, ...]:
    """Return `axes` as a tuple counted from the front; None is all of them.

    Parameters
    ----------
    axes : int, iterable of int, or None
        As the caller gave them.
    ndim : int
        Number of dimensions of the array.
    count : int, optional
        How many there must be.
    distinct : bool
        Whether each axis may be named only once.

    Raises
    ------
    AxesError
        If an axis does not exist, there are too many or too few, or one is repeated and may not be.

    Examples
    --------
    >>> normalise_axes((-2, -1), 3)
    (1, 2)
    >>> normalise_axes(None, 2)
    (0, 1)
    >>> normalise_axes((0, -2), 2, distinct=True)
    Traceback (most recent call last):
        ...
    subband.errors.AxesError: axes=(0, -2) names axis 0 twice; each may stand there once
    """
    if axes is None:
        given: tuple[Any, ...] = tuple(range(ndim))
    elif isinstance(axes, Iterable):
        given = tuple(axes)
    elif count is None:
        given = (axes,)
    else:
        raise SingleAxisError(f"axes={axes!r} is not a sequence; this transform takes exactly {count} axes")
    if count is not None and len(given) != count:
        raise AxesError(f"axes={given} names {len(given)} axes; this transform takes exactly {count}")
    normal = tuple(normalise_axis(axis, ndim) for axis in given)
    if distinct and len(set(normal)) != len(normal):
        twice = next(axis for position, axis in enumerate(normal) if axis in normal[:position])
        raise AxesError(f"axes={given} names axis {twice} twice; each may stand there once")
    return normal


def wavelets_for_axes(wavelet: WaveletLike | Sequence[WaveletLike], axes: Sequence[int]) -> tuple[Wavelet, ...]:
    """Return one wavelet for each of `axes`.

    Parameters
    ----------
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    axes : sequence of int
        Only its length counts.

    Raises
    ------
    ArgumentError
        If there is neither one wavelet nor one for each axis, or a name is not known.

    Examples
    --------
    >>> [w.name for w in wavelets_for_axes("db2", (0, 1))]
    ['db2', 'db2']
    >>> [w.name for w in wavelets_for_axes(["db2", "haar"], (0, 1))]
    ['db2', 'haar']
    """
    if isinstance(wavelet, str | Wavelet) or not isinstance(wavelet, Iterable):
        return (as_wavelet(wavelet),) * len(axes)
    given = tuple(wavelet)
    if len(given) not in (1, len(axes)):
        raise ArgumentError(
            f"wavelet names {len(given)} wavelets for {len(axes)} axes; give one for all axes, or one for each"
        )
    return tuple(map(as_wavelet, given * (len(axes) if len(given) == 1 else 1)))


def modes_for_axes(mode: ModeLike | Sequence[ModeLike], axes: Sequence[int]) -> tuple[str, ...]:
    """Return the full name of one mode for each of `axes`.

    Parameters
    ----------
    mode : str, int, or sequence of these
        One for all axes, or one for each: a name, or a number of `Modes`.
    axes : sequence of int
        Only its length counts.

    Raises
    ------
    ModeError
        If there is neither one mode nor one for each axis, or there is no such mode.

    Examples
    --------
    >>> modes_for_axes("periodization", (0, 1))
    ('periodization', 'periodization')
    >>> modes_for_axes(["zero", "whole"], (0, 1))
    ('zero', 'whole')
    """
    if isinstance(mode, str | int) or not isinstance(mode, Iterable):
        return (mode_name(mode),) * len(axes)
    given = tuple(mode)
    if len(given) not in (1, len(axes)):
        raise ModeError(f"mode names {len(given)} modes for {len(axes)} axes; give one for all axes, or one for each")
    return tuple(map(mode_name, given * (len(axes) if len(given) == 1 else 1)))


def read_length(length: Any, name: str) -> int:
    """Return a number of samples as an integer; fractions are cut off, as PyWavelets does.

    Raises
    ------
    ArgumentTypeError
        If it is no number.
    ArgumentError
        If it is not finite.

    Examples
    --------
    >>> read_length(8.5, "data_len")
    8
    >>> read_length("a", "data_len")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentTypeError: data_len='a' is not a number of samples; use an integer
    """
    return read_count(length, name, "a number of samples; use an integer")


def read_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of an array as integers.

    Raises
    ------
    ArgumentTypeError
        If it is no sequence of numbers.

    Examples
    --------
    >>> read_shape([64, 32])
    (64, 32)
    """
    if isinstance(shape, str | bytes) or not isinstance(shape, Iterable):
        raise ArgumentTypeError(f"shape={shape!r} is not a sequence of integers; use a tuple such as (64, 32)")
    return tuple(read_length(length, f"shape[{axis}]") for axis, length in enumerate(shape))


def useful_levels(length: int, taps: int) -> int:
    """Return how often `length` samples can be halved before a filter of `taps` taps meets only borders.

    Examples
    --------
    >>> useful_levels(256, 8)
    5
    """
    return max(length // (taps - 1), 1).bit_length() - 1


def check_level(lengths: Iterable[int], wavelets: Iterable[Wavelet], level: int | None) -> int:
    """Return the number of levels to compute, the greatest useful one if `level` is None.

    Parameters
    ----------
    lengths : iterable of int
        Number of samples along each transformed axis.
    wavelets : iterable of Wavelet
        One for each of `lengths`.
    level : int or None
        What the caller asked for.

    Raises
    ------
    LevelError
        If `level` is negative or not an integer.

    Warns
    -----
    UserWarning
        If `level` is greater than the greatest useful one. It is computed all the same.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> check_level([256, 64], [Wavelet("db4")] * 2, None)
    3
    """
    most, length, wavelet = min(
        ((useful_levels(n, w.dec_len), n, w) for n, w in zip(lengths, wavelets, strict=True)),
        key=lambda limit: limit[0],
        default=(0, 0, None),
    )
    if level is None:
        return most
    try:
        level = index(level)
    except TypeError:
        raise LevelTypeError(f"level={level!r} is not an integer; the greatest useful level is {most}") from None
    if level < 0:
        raise LevelError(f"level={level} is negative; use 0 to {most}, or None for the greatest useful level")
    if level > most and wavelet is not None:
        warn_caller(
            f"level={level} is too high for an axis of length {length} with {wavelet.name!r}: beyond level {most} "
            "every coefficient depends on samples outside the signal"
        )
    return level


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the stack level of the caller outside of subband.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("level=9 is too high")
    >>> str(caught[0].message)
    'level=9 is too high'
    """
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "subband":
        frame, stacklevel = frame.f_back, stacklevel + 1
    if recordings.current is not None:
        recordings.current.give_up()  # what warns once has to warn each time
    warnings.warn(message, category, stacklevel=stacklevel)

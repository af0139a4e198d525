"""Partial transforms: only the low or only the high coefficients of one signal, at any level."""

from __future__ import annotations

from operator import index
from typing import Any, Literal

from subband.arrays import as_computable
from subband.engines import Engine
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, ArgumentTypeError, LevelError, LevelTypeError, ShapeError
from subband.transforms.arguments import ModeLike
from subband.transforms.levels import merge_level, split_level
from subband.transforms.modes import mode_name
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["downcoef", "upcoef"]


@takes_arrays("data")
def downcoef(
    part: Literal["a", "d"],
    data: Any,
    wavelet: WaveletLike,
    mode: ModeLike = "symmetric",
    level: int = 1,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Partial wavelet decomposition: return the coefficients of one kind at one level.

    Parameters
    ----------
    part : {"a", "d"}
        Low or high coefficients.
    data : array_like of one dimension
        Samples.
    wavelet : Wavelet or str
        The wavelet, or its name.
    mode : str or int
        The boundary mode.
    level : int
        Which level, 1 being the finest.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        As the entry of `wavedec`.

    Raises
    ------
    ArgumentError
        If `part` is neither ``"a"`` nor ``"d"``, `data` has more dimensions, or `level` is not positive.

    Examples
    --------
    >>> from subband import downcoef
    >>> downcoef("a", [1, 1, 1, 1], "haar", level=2)
    array([2.])
    >>> downcoef("d", [1, 2, 3, 4], "haar").round(3)
    array([-0.707, -0.707])
    """
    low, repeat = _check_part(part), _check_count(level)
    x = _as_signal(data, "data")
    wavelets, modes = (as_wavelet(wavelet),), (mode_name(mode),)
    for _ in range(repeat - 1):
        x = split_level(x, (0,), wavelets, modes)["a"]
    return split_level(x, (0,), wavelets, modes)["a" if low else "d"]


@takes_arrays("coeffs")
def upcoef(
    part: Literal["a", "d"],
    coeffs: Any,
    wavelet: WaveletLike,
    level: int = 1,
    take: int = 0,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Partial wavelet reconstruction: what coefficients of one kind at one level contribute to the samples.

    Parameters
    ----------
    part : {"a", "d"}
        Low or high coefficients.
    coeffs : array_like of one dimension
        The coefficients.
    wavelet : Wavelet or str
        The wavelet, or its name.
    level : int
        Which level they are of, 1 being the finest.
    take : int
        Return only this many samples from the middle; 0 returns all.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The whole sum of shifted filters: ``2 * m + L - 2`` samples a level for ``m`` coefficients and ``L`` taps.

    Raises
    ------
    ArgumentError
        If `part` is neither ``"a"`` nor ``"d"``, `coeffs` has more dimensions, `level` is not positive or `take` is
        negative.

    Examples
    --------
    >>> from subband import upcoef
    >>> upcoef("d", [1.0], "haar").round(3)
    array([ 0.707, -0.707])
    >>> upcoef("a", [1.0, 1.0], "db2", take=4).round(3)
    array([0.837, 0.707, 0.707, 0.224])
    """
    low, repeat = _check_part(part), _check_count(level)
    wanted = _check_take(take)
    x = _as_signal(coeffs, "coeffs")
    bank = as_wavelet(wavelet)
    for number in range(repeat):
        x = merge_level({"a" if low or number else "d": x}, (0,), (bank,), ("full",))
    if 0 < wanted < x.size:
        start = (x.size - wanted) // 2
        return x[start : start + wanted]
    return x


def _check_part(part: str) -> bool:
    """Return whether low coefficients are meant."""
    if part not in ("a", "d"):
        error = ArgumentError if isinstance(part, str) else ArgumentTypeError
        raise error(f"part={part!r} is neither 'a' for low coefficients nor 'd' for high ones")
    return part == "a"


def _check_count(level: int) -> int:
    """Return a positive number of levels."""
    try:
        count = index(level)
    except TypeError:
        raise LevelTypeError(f"level={level!r} is not an integer; the finest level is 1") from None
    if count < 1:
        raise LevelError(f"level={level} is not positive; the finest level is 1")
    return count


def _check_take(take: int) -> int:
    """Return a number of samples that is not negative."""
    try:
        count = index(take)
    except TypeError:
        raise ArgumentTypeError(f"take={take!r} is not an integer; use 0 for all samples") from None
    if count < 0:
        raise ArgumentError(f"take={take} is negative; use 0 for all samples")
    return count


def _as_signal(x: Any, name: str) -> Array:
    """Return an array of one dimension that is not empty."""
    array = as_computable(x, name)
    if array.ndim != 1 or array.size == 0:
        raise ShapeError(
            f"{name} has shape {array.shape}; this takes one dimension with at least 1 number, "
            "wavedec and waverec take any"
        )
    return array

"""Levels of the stationary transforms: how many a length allows, normalised filters, and their computation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import sqrt
from operator import index

from subband.engines.dispatch import engine_for
from subband.errors import AxesError, LevelError, LevelTypeError, ShapeError
from subband.stationary import stationary_plan
from subband.transforms.arguments import read_length, warn_caller
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = [
    "check_stationary_level",
    "prepare_wavelets",
    "split_stationary",
    "swt_max_level",
    "warn_unless_orthogonal",
]

#: What `swt_max_level` has returned without a warning, and how much of it is remembered: to count would take longer.
_known_levels: dict[int, int] = {}
_MOST_KNOWN = 4096


def swt_max_level(input_len: int) -> int:
    """Return the maximum number of levels of the stationary transform: how often the length can be halved.

    Parameters
    ----------
    input_len : int
        Number of samples.

    Returns
    -------
    int
        The greatest ``n`` for which `input_len` is a multiple of ``2**n``.

    Raises
    ------
    ShapeError
        If `input_len` is not positive.

    Warns
    -----
    UserWarning
        If the length is odd, and so not even one level is possible.

    Examples
    --------
    >>> from subband import swt_max_level
    >>> swt_max_level(48)
    4
    """
    try:
        return _known_levels[input_len]
    except (KeyError, TypeError):
        pass
    length = read_length(input_len, "input_len")
    if length < 1:
        raise ShapeError(f"input_len={input_len} is not positive; a transform takes at least 1 sample")
    most = _count_halvings(length)
    if most:
        if len(_known_levels) >= _MOST_KNOWN:
            _known_levels.clear()
        _known_levels[length] = most
    else:
        warn_caller(
            f"a signal of length {length} has no stationary level: it must be a multiple of 2**level; "
            "pad it with numpy.pad, or use decompose(..., stationary=True), which takes any length"
        )
    return most


def check_stationary_level(
    shape: Sequence[int], axes: Sequence[int], level: int, start_level: int = 0, *, least: int = 0
) -> None:
    """Check that every axis can be halved as often as there are levels.

    Raises
    ------
    AxesError
        If there are no axes.
    ShapeError
        If an axis is empty or of odd length.
    LevelError
        If there are fewer levels than `least`, or more than an axis allows.
    """
    if len(axes) == 0:
        raise AxesError("axes=() names no axis; name at least one, or leave it out for all")
    for name, number, smallest in (("level", level, least), ("start_level", start_level, 0)):
        try:
            too_small = index(number) < smallest
        except TypeError:
            raise LevelTypeError(f"{name}={number!r} is not an integer; use {smallest} or more") from None
        if too_small:
            raise LevelError(f"{name}={number} is too small; use {smallest} or more")
    for axis in axes:
        if shape[axis] == 0:
            raise ShapeError(f"axis {axis} of an array of shape {tuple(shape)} is empty; it needs at least 2 samples")
        most = _count_halvings(shape[axis])
        if level and most == 0:
            raise ShapeError(
                f"axis {axis} has {shape[axis]} samples; this stationary transform takes an even number: "
                "pad it with numpy.pad, or use decompose(..., stationary=True), which takes any length"
            )
        if level + start_level > most and level:
            raise LevelError(
                f"level={level} with start_level={start_level} is too large for axis {axis} of length "
                f"{shape[axis]}, which must be a multiple of 2**(start_level + level); "
                f"together they can be {most} at most; decompose(..., stationary=True) takes any length"
            )


def warn_unless_orthogonal(wavelets: Iterable[Wavelet], subject: str) -> None:
    """Warn that scaled filters do not keep the energy if a wavelet is not orthogonal."""
    others = sorted({wavelet.name for wavelet in wavelets if not wavelet.orthogonal})
    if others:
        warn_caller(
            f"norm=True, but the {subject} not orthogonal ({', '.join(others)}): the energy of the "
            "coefficients will not be that of the signal"
        )


def split_stationary(
    x: Array, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], level: int, start_level: int, norm: bool
) -> list[Bands]:
    """Transform level by level and return all bands, coarsest level first."""
    engine = engine_for(x)
    wavelets = prepare_wavelets(wavelets, norm)
    levels = []
    for number in range(start_level + 1, start_level + level + 1):
        bands = engine.stationary_forward(stationary_plan(x.shape, axes, wavelets, number), x)
        levels.append(bands)
        x = bands["a" * len(axes)]
    return levels[::-1]


def prepare_wavelets(wavelets: tuple[Wavelet, ...], norm: bool) -> tuple[Wavelet, ...]:
    """Return the wavelets to compute with: with `norm` those of scaled filters."""
    return tuple(map(_normalise, wavelets)) if norm else wavelets


def _count_halvings(length: int) -> int:
    """Return how often `length` is divisible by two."""
    return (length & -length).bit_length() - 1


@lru_cache(maxsize=256)
def _normalise(wavelet: Wavelet) -> Wavelet:
    """Scale the filters so that twice as many coefficients carry the same energy."""
    dec_lo, dec_hi, rec_lo, rec_hi = wavelet.filter_bank
    analysis = [[tap / sqrt(2) for tap in taps] for taps in (dec_lo, dec_hi)]
    synthesis = [[tap * sqrt(2) for tap in taps] for taps in (rec_lo, rec_hi)]
    return Wavelet(f"{wavelet.name} normalised", filter_bank=[*analysis, *synthesis])

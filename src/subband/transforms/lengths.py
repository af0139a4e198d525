"""Numbers of coefficients and of levels: lengths and shapes of bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from subband.errors import ArgumentError, ShapeError
from subband.plan import level_plan
from subband.transforms.arguments import (
    Axes,
    ModeLike,
    check_level,
    modes_for_axes,
    normalise_axes,
    read_length,
    read_shape,
    useful_levels,
    wavelets_for_axes,
)
from subband.transforms.modes import mode_name
from subband.wavelets import Wavelet, WaveletLike, as_wavelet

__all__ = ["dwt_coeff_len", "dwt_max_level", "dwtn_max_level", "wavedecn_shapes", "wavedecn_size"]

#: Modes with half as many coefficients as samples, whatever the filters.
_HALVING = frozenset(("periodization", "whole"))


def dwt_coeff_len(data_len: int, filter_len: int | WaveletLike, mode: ModeLike) -> int:
    """Return the number of approximation coefficients of one level of the DWT.

    There are as many high ones, except that an odd number of samples has one fewer in mode ``whole``.

    Parameters
    ----------
    data_len : int
        Number of samples.
    filter_len : int, Wavelet or str
        Number of taps, or the wavelet that has them.
    mode : str or int
        The boundary mode.

    Returns
    -------
    int
        ``(data_len + filter_len - 1) // 2``, and ``(data_len + 1) // 2`` for ``periodization`` and ``whole``.

    Raises
    ------
    ArgumentError
        If a length is not positive or the mode does not exist.

    Examples
    --------
    >>> from subband import dwt_coeff_len
    >>> dwt_coeff_len(64, 4, "symmetric")
    33
    >>> dwt_coeff_len(64, "db2", "periodization")
    32
    """
    if type(filter_len) is int and type(data_len) is int and filter_len > 0 < data_len:
        taps, samples = filter_len, data_len
    else:
        taps = _count_taps(filter_len, least=1)
        samples = read_length(data_len, "data_len")
        if samples < 1:
            raise ArgumentError(f"data_len={data_len} is not positive; there must be at least 1 sample")
    if mode_name(mode) in _HALVING:
        taps = 2
    return (samples + taps - 1) // 2


def dwt_max_level(data_len: int, filter_len: int | WaveletLike) -> int:
    """Return the maximum useful number of levels of the DWT along one axis.

    Beyond it every coefficient depends on samples outside the signal.

    Parameters
    ----------
    data_len : int
        Number of samples.
    filter_len : int, Wavelet or str
        Number of taps, or the wavelet that has them.

    Returns
    -------
    int
        ``floor(log2(data_len / (filter_len - 1)))``, and never less than 0.

    Raises
    ------
    ArgumentError
        If `filter_len` is not an integer of at least 2 and not a discrete wavelet.

    Examples
    --------
    >>> from subband import dwt_max_level
    >>> dwt_max_level(1000, "db4")
    7
    >>> dwt_max_level(16, 2)
    4
    """
    samples = read_length(data_len, "data_len")
    if samples < 0:
        raise ArgumentError(f"data_len={data_len} is negative; it is a number of samples")
    return useful_levels(samples, _count_taps(filter_len, least=2))


def dwtn_max_level(shape: Sequence[int], wavelet: WaveletLike | Sequence[WaveletLike], axes: Axes = None) -> int:
    """Return the maximum useful number of levels of the n-dimensional DWT: that of the axis with the fewest.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    axes : sequence of int, optional
        The axes to transform, all by default.

    Returns
    -------
    int
        The smallest `dwt_max_level` of the axes.

    Raises
    ------
    ShapeError
        If `shape` is empty.

    Examples
    --------
    >>> from subband import dwtn_max_level
    >>> dwtn_max_level((64, 32), "db2")
    3
    >>> dwtn_max_level((64, 32), ("db2", "haar"), axes=(0, 1))
    4
    """
    if axes is None:
        try:
            return _find_max_level(shape, wavelet)
        except TypeError:  # something that cannot be looked up, or that is refused below
            pass
    return _find_max_level.__wrapped__(shape, wavelet, axes)


@lru_cache(maxsize=1024, typed=True)
def _find_max_level(shape: Any, wavelet: Any, axes: Axes = None) -> int:
    """Find the number of levels, cached, because programs ask for that of the same few shapes."""
    lengths = read_shape(shape)
    if len(lengths) == 0:
        raise ShapeError("shape=() has no axis; a transform takes at least one dimension")
    normal = normalise_axes(axes, len(lengths), distinct=True)
    wavelets = wavelets_for_axes(wavelet, normal)
    return check_level([lengths[axis] for axis in normal], wavelets, None)


def wavedecn_shapes(
    shape: Sequence[int],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    level: int | None = None,
    axes: Axes = None,
) -> list[Any]:
    """Return the shapes of the bands of `wavedecn` for an array of `shape`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.
    wavelet, mode, level, axes
        As for `wavedecn`.

    Returns
    -------
    list
        Shape of the approximation, then for each level, coarsest first, a dictionary of the shapes of its details.

    Examples
    --------
    >>> from subband import wavedecn_shapes
    >>> wavedecn_shapes((64, 32), "db2", level=1)
    [(33, 17), {'ad': (33, 17), 'da': (33, 17), 'dd': (33, 17)}]
    """
    current = read_shape(shape)
    normal = normalise_axes(axes, len(current), distinct=True)
    wavelets, modes = wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal)
    details: list[dict[str, tuple[int, ...]]] = []
    for _ in range(check_level([current[axis] for axis in normal], wavelets, level)):
        shapes = dict(level_plan(current, normal, wavelets, modes).band_shapes)
        current = shapes.pop("a" * len(normal))
        details.append(shapes)
    return [current, *reversed(details)]


def wavedecn_size(shapes: Sequence[Any]) -> int:
    """Return the number of coefficients in all bands.

    Parameters
    ----------
    shapes : list
        What `wavedecn_shapes` or `wavedecn` returned; `wavedec2` too.

    Returns
    -------
    int
        The sum of the sizes of the bands.

    Examples
    --------
    >>> from subband import wavedecn_shapes, wavedecn_size
    >>> wavedecn_size(wavedecn_shapes((64, 32), "db2", mode="periodization", level=3))
    2048
    """
    return sum(_count_band(band) for entry in shapes for band in _list_bands(entry))


def _list_bands(entry: Any) -> Iterable[Any]:
    """Return the bands in one entry of a list of coefficients or shapes."""
    if isinstance(entry, dict):
        return entry.values()
    if isinstance(entry, tuple) and any(hasattr(part, "size") and hasattr(part, "shape") for part in entry):
        return entry
    return (entry,)


def _count_band(band: Any) -> int:
    """Return the number of coefficients of a band, which is an array or a shape."""
    if band is None:
        return 0
    return int(band.size) if hasattr(band, "shape") else prod(band)


def _count_taps(filter_len: Any, *, least: int) -> int:
    """Return a number of taps that was given as such, or as the wavelet that has them."""
    if isinstance(filter_len, str | Wavelet) or hasattr(filter_len, "filter_bank"):
        return as_wavelet(filter_len).dec_len
    try:
        taps = int(filter_len)
    except (TypeError, ValueError):
        taps = -1
    if taps != filter_len or taps < least:
        raise ArgumentError(f"filter_len={filter_len!r} is neither a wavelet nor an integer of at least {least}")
    return taps

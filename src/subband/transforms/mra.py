"""Multiresolution analysis: a signal as a sum of parts, one for each band, all as large as the signal itself.

Each part is what the inverse transform makes of one band alone. Because the transform is linear the parts add
up to the signal, and because they have come back through the inverse, features keep their positions in the
signal, whatever the wavelet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np

from subband.arrays import as_computable, as_numbers, cast
from subband.engines import Engine
from subband.engines.dispatch import engine_for, takes_arrays
from subband.engines.sums import add_up
from subband.errors import ArgumentError, CoefficientsError, CoefficientsTypeError, ModeError, ShapeError
from subband.plan import transform_plan
from subband.stationary import stationary_plan
from subband.transforms.arguments import (
    Axes,
    ModeLike,
    check_level,
    modes_for_axes,
    normalise_axes,
    normalise_axis,
    wavelets_for_axes,
)
from subband.transforms.stationary import DETAILS_2D
from subband.transforms.stationary_levels import (
    check_stationary_level,
    swt_max_level,
    warn_unless_orthogonal,
)
from subband.typing import Array, Bands
from subband.wavelets import Wavelet, WaveletLike

__all__ = ["imra", "imra2", "imran", "mra", "mra2", "mran"]


@takes_arrays("data")
def mra(
    data: Any,
    wavelet: WaveletLike,
    level: int | None = None,
    axis: int = -1,
    transform: str = "swt",
    mode: ModeLike = "periodization",
    *,
    engine: str | Engine | None = None,
) -> list[Array]:
    """Multiresolution analysis (MRA): write a signal as a sum of parts from coarse to fine, along one axis.

    Parameters
    ----------
    data : array_like
        Samples; all axes but `axis` are carried along.
    wavelet : Wavelet or str
        The wavelet.
    level : int, optional
        Number of levels; as many as `transform` allows if not given.
    axis : int
        The axis to analyse.
    transform : {"swt", "dwt"}
        The transform whose bands make the parts. With ``swt`` a shifted signal has shifted parts.
    mode : str or int
        The boundary mode of ``dwt``; ``swt`` takes ``periodization`` only.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list of ndarray
        The part of the approximation, then those of the details, coarsest first; all of the shape of `data`.

    Raises
    ------
    ArgumentError
        If an argument has no meaning, or the length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    imra : The sum.
    swt : Coefficients instead of parts.

    References
    ----------
    D. B. Percival and H. O. Mofjeld, Analysis of subtidal coastal sea level fluctuations using wavelets,
    Journal of the American Statistical Association 92, 1997, doi:10.2307/2965551.

    Examples
    --------
    >>> from subband import mra
    >>> smooth, fine = mra([1, 2, 3, 6], "haar", level=1, transform="dwt")
    >>> smooth.round(6), fine.round(6)
    (array([1.5, 1.5, 4.5, 4.5]), array([-0.5,  0.5, -1.5,  1.5]))
    >>> len(mra([1, 2, 3, 6], "haar"))
    3
    """
    x = as_computable(data)
    axes = (normalise_axis(axis, x.ndim),)
    wavelets = wavelets_for_axes(wavelet, axes)
    if _is_stationary(transform, "swt", "dwt", mode):
        warn_unless_orthogonal(wavelets, "wavelet is")
        level = swt_max_level(x.shape[axes[0]]) if level is None else level
        check_stationary_level(x.shape, axes, level, least=1)
        approximation, details = _project_stationary(x, axes, wavelets, level)
    else:
        approximation, details = _project_decimated(x, axes, wavelets, mode, level)
    return [approximation, *(parts["d"] for parts in details)]


def imra(mra_coeffs: Sequence[Array]) -> Array:
    """Inverse multiresolution analysis: add up the parts that `mra` returned.

    Parameters
    ----------
    mra_coeffs : list of ndarray
        The parts.

    Returns
    -------
    ndarray
        The signal.

    Raises
    ------
    CoefficientsError
        If there are no parts, or their shapes do not belong together.

    Examples
    --------
    >>> from subband import imra, mra
    >>> imra(mra([1, 2, 3, 6], "db2")).round(12)
    array([1., 2., 3., 6.])
    """
    total = add_up(mra_coeffs) if type(mra_coeffs) is list else None
    return _add_parts(mra_coeffs, lambda part: (part,)) if total is None else total


@takes_arrays("data")
def mra2(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None = None,
    axes: Iterable[int] = (-2, -1),
    transform: str = "swt2",
    mode: ModeLike | Sequence[ModeLike] = "periodization",
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """2-D multiresolution analysis: write an image as a sum of parts from coarse to fine.

    Parameters
    ----------
    data : array_like
        Samples of at least two dimensions.
    wavelet : Wavelet, str, or pair of these
        One for both axes, or one for each.
    level : int, optional
        Number of levels. If not given, as many as ``dwt2`` finds useful, or as many as ``swt2`` could take
        along every axis of the array, the others included.
    axes : pair of int
        The axes to analyse, two different ones.
    transform : {"swt2", "dwt2"}
        The transform whose bands make the parts.
    mode : str or int, or pair of these
        The boundary mode of ``dwt2``; ``swt2`` takes ``periodization`` only.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        The part of the approximation, then for each level, coarsest first, a tuple of those of the
        horizontal, vertical and diagonal details; all of the shape of `data`.

    Raises
    ------
    ArgumentError
        If an argument has no meaning, or a length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    imra2 : The sum.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import mra2
    >>> smooth, (horizontal, vertical, diagonal) = mra2(np.arange(16.0).reshape(4, 4), "haar", level=1)
    >>> horizontal[:, 0].round(6)
    array([-4.,  0.,  0.,  4.])
    """
    x = as_computable(data)
    if x.ndim < 2:
        raise ShapeError(f"data has {x.ndim} dimensions; mra2 takes at least 2, mra takes 1")
    pair = normalise_axes(tuple(axes), x.ndim, count=2, distinct=True)
    approximation, details = _analyse(x, wavelet, level, pair, ("swt2", "dwt2", transform), mode)
    return [approximation, *(tuple(parts[key] for key in DETAILS_2D) for parts in details)]


def imra2(mra_coeffs: Sequence[Any]) -> Array:
    """Inverse 2-D multiresolution analysis: add up the parts that `mra2` returned.

    Parameters
    ----------
    mra_coeffs : list
        The parts.

    Returns
    -------
    ndarray
        The image.

    Raises
    ------
    CoefficientsError
        If there are no parts, or their shapes do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import imra2, mra2
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> np.allclose(imra2(mra2(x, "db2", level=1)), x)
    True
    """
    total = None
    if type(mra_coeffs) is list and mra_coeffs:
        first, *details = mra_coeffs
        try:
            total = add_up([first, *chain.from_iterable(details)])
        except TypeError:
            total = None  # what is wrong with them is told below
    return _add_parts(mra_coeffs, iter) if total is None else total


@takes_arrays("data")
def mran(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None = None,
    axes: Axes = None,
    transform: str = "swtn",
    mode: ModeLike | Sequence[ModeLike] = "periodization",
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """N-dimensional multiresolution analysis: write an array as a sum of parts from coarse to fine.

    Parameters
    ----------
    data : array_like
        Samples of at least one dimension.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    level : int, optional
        Number of levels. If not given, as many as ``dwtn`` finds useful, or as many as ``swtn`` could take
        along every axis of the array, the others included.
    axes : sequence of int, optional
        The axes to analyse, each once; all if not given.
    transform : {"swtn", "dwtn"}
        The transform whose bands make the parts.
    mode : str or int, or sequence of these
        The boundary mode of ``dwtn``; ``swtn`` takes ``periodization`` only.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        The part of the approximation, then for each level, coarsest first, a dictionary of those of the
        details by name; all of the shape of `data`.

    Raises
    ------
    ArgumentError
        If an argument has no meaning, or a length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    imran : The sum.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import mran
    >>> smooth, parts = mran(np.ones((4, 4, 4)), "haar", level=1, axes=(0, 2))
    >>> {key: part.shape for key, part in parts.items()}
    {'ad': (4, 4, 4), 'da': (4, 4, 4), 'dd': (4, 4, 4)}
    """
    x = as_computable(data)
    if x.ndim < 1:
        raise ShapeError("data is a single number; give at least one dimension")
    normal = normalise_axes(axes, x.ndim, distinct=True)
    approximation, details = _analyse(x, wavelet, level, normal, ("swtn", "dwtn", transform), mode)
    return [approximation, *details]


def imran(mra_coeffs: Sequence[Any]) -> Array:
    """Inverse n-dimensional multiresolution analysis: add up the parts that `mran` returned.

    Parameters
    ----------
    mra_coeffs : list
        The parts.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    CoefficientsError
        If there are no parts, or their shapes do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import imran, mran
    >>> x = np.arange(64.0).reshape(4, 4, 4)
    >>> np.allclose(imran(mran(x, "db2", level=1)), x)
    True
    """
    total = None
    if type(mra_coeffs) is list and mra_coeffs:
        first, *details = mra_coeffs
        try:
            total = add_up([first, *chain.from_iterable(map(dict.values, details))])
        except TypeError:
            total = None  # what is wrong with them is told below
    return _add_parts(mra_coeffs, lambda parts: parts.values()) if total is None else total


def _analyse(
    x: Array,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None,
    axes: tuple[int, ...],
    names: tuple[str, str, str],
    mode: ModeLike | Sequence[ModeLike],
) -> tuple[Array, list[Bands]]:
    """Do what `mra2` and `mran` have in common; `names` are both transforms and the one that is asked for."""
    stationary, decimated, transform = names
    wavelets = wavelets_for_axes(wavelet, axes)
    if not _is_stationary(transform, stationary, decimated, mode):
        return _project_decimated(x, axes, wavelets, mode, level)
    warn_unless_orthogonal(wavelets, "wavelets used are")
    level = min(map(swt_max_level, x.shape)) if level is None else level
    check_stationary_level(x.shape, axes, level)
    return _project_stationary(x, axes, wavelets, level)


def _is_stationary(transform: str, stationary: str, decimated: str, mode: Any) -> bool:
    """Tell whether the stationary transform is wanted, and check that it can take the mode."""
    if transform == decimated:
        return False
    if transform != stationary:
        raise ArgumentError(f"transform={transform!r} is not known; use {stationary!r} or {decimated!r}")
    if set(modes_for_axes(mode, (0,) if isinstance(mode, str | int) else tuple(mode))) != {"periodization"}:
        raise ModeError(
            f"mode={mode!r} is not for transform={stationary!r}, which takes 'periodization' only; "
            f"use transform={decimated!r} for other modes"
        )
    return True


def _project_stationary(
    x: Array, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], level: int
) -> tuple[Array, list[Bands]]:
    # The scaling that `swt` calls norm cancels on the way back, so that it is left out.
    plans = [stationary_plan(x.shape, axes, wavelets, number) for number in range(1, level + 1)]
    engine = engine_for(x)
    return _project(x, "a" * len(axes), plans, engine.stationary_forward, engine.stationary_inverse)


def _project_decimated(
    x: Array,
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    mode: ModeLike | Sequence[ModeLike],
    level: int | None,
) -> tuple[Array, list[Bands]]:
    level = check_level([x.shape[axis] for axis in axes], wavelets, level)
    plans = transform_plan(x.shape, axes, wavelets, modes_for_axes(mode, axes), level).levels
    engine = engine_for(x)
    return _project(x, "a" * len(axes), plans, engine.forward, engine.inverse)


def _project(
    x: Array,
    low: str,
    plans: Sequence[Any],
    forward: Callable[[Any, Array], Bands],
    inverse: Callable[[Any, Mapping[str, Array]], Array],
) -> tuple[Array, list[Bands]]:
    """Return the inverse transform of each band alone: the approximation, and the details, coarsest level first."""
    # Every part has come through up to twice as many filters as there are levels, and all of them are to add up to
    # the signal: in single precision the rounding would show.
    wide = np.result_type(x.dtype, np.float64)

    def bring_home(bands: Bands, number: int) -> Array:
        for plan in reversed(plans[: number + 1]):
            bands = {low: inverse(plan, bands)}
        return cast(bands[low], x.dtype)

    details = []
    approximation = cast(x, wide) if plans or x.dtype != wide else x.copy()
    for number, plan in enumerate(plans):
        bands = forward(plan, approximation)
        approximation = bands.pop(low)
        details.append({key: bring_home({key: band}, number) for key, band in bands.items()})
    return bring_home({low: approximation}, len(plans) - 1), details[::-1]


@takes_arrays("mra_coeffs", transforms=False)
def _add_parts(mra_coeffs: Sequence[Any], list_parts: Callable[[Any], Iterable[Any]]) -> Array:
    """Add approximation and details, which `list_parts` takes out of a level, without writing into any."""
    if isinstance(mra_coeffs, str | Mapping) or not isinstance(mra_coeffs, Iterable):
        raise CoefficientsTypeError(
            f"mra_coeffs is a {type(mra_coeffs).__name__}; give the list that the analysis returned"
        )
    levels = list(mra_coeffs)
    if not levels:
        raise CoefficientsError("mra_coeffs is empty; give the list that the analysis returned")
    parts = [as_numbers(levels[0], "mra_coeffs[0]")]
    for number, details in enumerate(levels[1:], start=1):
        try:
            listed = list(list_parts(details))
        except (TypeError, AttributeError):
            raise CoefficientsError(
                f"mra_coeffs[{number}] is a {type(details).__name__}; give the list that the analysis returned"
            ) from None
        parts += [as_numbers(part, f"mra_coeffs[{number}]") for part in listed]
        try:
            np.broadcast_shapes(*(part.shape for part in parts))
        except ValueError:
            shapes = sorted({part.shape for part in parts})
            raise CoefficientsError(
                f"mra_coeffs has parts of shapes {', '.join(map(str, shapes))}; all must have one shape"
            ) from None
    return reduce(add, parts)

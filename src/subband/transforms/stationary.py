"""The stationary transform: every band keeps all samples, so that coefficients move with the signal.

Where the decimated transform drops every second coefficient and filters the rest again, this one drops
nothing and spreads the taps of its filters instead, by two on the second level, by four on the third and so
on ("à trous"). The signal is taken to be periodic. ``level`` levels of an array hold ``(2**axes - 1) * level
+ 1`` times as many numbers as the array itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from subband.arrays import as_computable
from subband.engines import Engine
from subband.engines.dispatch import engine_for, takes_arrays
from subband.errors import BandShapesError, CoefficientsError, CoefficientsTypeError, ShapeError
from subband.stationary import stationary_plan
from subband.transforms.arguments import Axes, normalise_axes, normalise_axis, wavelets_for_axes
from subband.transforms.levels import as_bands, check_axes_fit, check_keys
from subband.transforms.stationary_levels import (
    check_stationary_level,
    prepare_wavelets,
    split_stationary,
    swt_max_level,
    warn_unless_orthogonal,
)
from subband.typing import Array, Bands
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["iswt", "iswt2", "iswtn", "swt", "swt2", "swt_max_level", "swtn"]

#: The details of two axes in the order of PyWavelets: horizontal, vertical, diagonal.
DETAILS_2D = ("da", "ad", "dd")


@takes_arrays("data")
def swt(
    data: Any,
    wavelet: WaveletLike,
    level: int | None = None,
    start_level: int = 0,
    axis: int = -1,
    trim_approx: bool = False,
    norm: bool = False,
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """Stationary (undecimated) wavelet transform along one axis.

    Parameters
    ----------
    data : array_like
        Samples; all axes but `axis` are carried along.
    wavelet : Wavelet or str
        The wavelet.
    level : int, optional
        Number of levels; as many as the length allows if not given.
    start_level : int
        Number of levels that count as done: `data` are the approximation that they left.
    axis : int
        The axis to transform; its length must be a multiple of ``2**(start_level + level)``.
    trim_approx : bool
        Whether to give the approximation of the last level only.
    norm : bool
        Whether to scale the filters so that an orthogonal wavelet keeps the energy of the signal: the squares
        of all coefficients, with `trim_approx`, add up to those of the samples.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        ``[(cA_n, cD_n), ..., (cA_1, cD_1)]``, coarsest level first, or ``[cA_n, cD_n, ..., cD_1]`` with
        `trim_approx`; arrays of the shape of `data`.

    Raises
    ------
    ArgumentError
        If the wavelet or axis does not exist, or the length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    Warns
    -----
    UserWarning
        If `norm` is asked of a wavelet that is not orthogonal.

    See Also
    --------
    iswt : The inverse.
    mra : The same split, in parts that add up to the signal.

    References
    ----------
    D. B. Percival and A. T. Walden, Wavelet Methods for Time Series Analysis, Cambridge University Press,
    2000.

    Examples
    --------
    >>> from subband import swt
    >>> [(low, high)] = swt([1, 2, 3, 6], "haar", level=1)
    >>> low.round(3), high.round(3)
    (array([2.121, 3.536, 6.364, 4.95 ]), array([-0.707, -0.707, -2.121,  3.536]))
    >>> len(swt([1, 2, 3, 6], "haar", trim_approx=True))
    3
    """
    x = as_computable(data)
    axes = (normalise_axis(axis, x.ndim),)
    wavelets = (as_wavelet(wavelet),)
    if norm:
        warn_unless_orthogonal(wavelets, "wavelet is")
    if level is None:
        level = swt_max_level(x.shape[axes[0]])
    check_stationary_level(x.shape, axes, level, start_level, least=1)
    levels = split_stationary(x, axes, wavelets, level, start_level, norm)
    if trim_approx:
        return [levels[0]["a"], *(bands["d"] for bands in levels)]
    return [(bands["a"], bands["d"]) for bands in levels]


@takes_arrays("coeffs")
def iswt(
    coeffs: Sequence[Any],
    wavelet: WaveletLike,
    norm: bool = False,
    axis: int = -1,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Inverse stationary wavelet transform along one axis.

    Parameters
    ----------
    coeffs : list
        What `swt` returned, trimmed or not, from `start_level` 0.
    wavelet, norm, axis
        As they were for `swt`.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples: the mean of what the decimated transforms of all shifts give back.

    Raises
    ------
    CoefficientsError
        If there are no coefficients, or their shapes do not belong together.

    Examples
    --------
    >>> from subband import iswt, swt
    >>> iswt(swt([1, 2, 3, 6], "db2", level=2), "db2").round(12)
    array([1., 2., 3., 6.])
    """
    approximation, details = _read_levels(coeffs, "(cA, cD)")
    return iswtn([approximation, *({"d": band} for band in details)], wavelet, axes=(axis,), norm=norm)


@takes_arrays("data")
def swt2(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int,
    start_level: int = 0,
    axes: Iterable[int] = (-2, -1),
    trim_approx: bool = False,
    norm: bool = False,
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """2-D stationary (undecimated) wavelet transform.

    Parameters
    ----------
    data : array_like
        Samples of at least two dimensions.
    wavelet : Wavelet, str, or pair of these
        One for both axes, or one for each.
    level : int
        Number of levels.
    axes : pair of int
        The axes to transform, two different ones.
    start_level, trim_approx, norm
        As for `swt`.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        ``[(cA_n, (cH_n, cV_n, cD_n)), ...]``, coarsest level first, or ``[cA_n, (cH_n, cV_n, cD_n), ...]``
        with `trim_approx`; arrays of the shape of `data`. Horizontal details are high along the first axis.

    Raises
    ------
    ArgumentError
        If a wavelet or axis does not exist, or a length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    iswt2 : The inverse.

    Examples
    --------
    >>> from subband import swt2
    >>> approximation, (horizontal, vertical, diagonal) = swt2([[1, 2], [5, 9]], "haar", level=1, trim_approx=True)
    >>> vertical.round(6)
    array([[-2.5,  2.5],
           [-2.5,  2.5]])
    """
    x = as_computable(data)
    given = tuple(axes)
    if x.ndim < 2:
        raise ShapeError(f"data has {x.ndim} dimensions; swt2 takes at least 2, swt takes 1")
    pair = normalise_axes(given, x.ndim, count=2, distinct=True)
    levels = swtn(x, wavelet, level, start_level, pair, trim_approx, norm)
    if trim_approx:
        return [levels[0], *(tuple(bands[key] for key in DETAILS_2D) for bands in levels[1:])]
    return [(bands["aa"], tuple(bands[key] for key in DETAILS_2D)) for bands in levels]


@takes_arrays("coeffs")
def iswt2(
    coeffs: Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    norm: bool = False,
    axes: Iterable[int] = (-2, -1),
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Inverse 2-D stationary wavelet transform.

    Parameters
    ----------
    coeffs : list
        What `swt2` returned, trimmed or not, from `start_level` 0.
    wavelet, norm, axes
        As they were for `swt2`.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples.

    Raises
    ------
    CoefficientsError
        If there are no coefficients, or their shapes do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import iswt2, swt2
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> np.allclose(iswt2(swt2(x, "db2", level=2), "db2"), x)
    True
    """
    approximation, details = _read_levels(coeffs, "(cA, (cH, cV, cD))")
    levels = [_name_details(bands, len(details) - number) for number, bands in enumerate(details)]
    return iswtn([approximation, *levels], wavelet, axes=axes, norm=norm)


@takes_arrays("data")
def swtn(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int,
    start_level: int = 0,
    axes: Axes = None,
    trim_approx: bool = False,
    norm: bool = False,
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """N-dimensional stationary (undecimated) wavelet transform.

    Parameters
    ----------
    data : array_like
        Samples of at least one dimension.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    level : int
        Number of levels.
    axes : sequence of int, optional
        The axes to transform, each once; all if not given.
    start_level, trim_approx, norm
        As for `swt`.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list of dict
        For each level, coarsest first, the bands by name: one letter for each of `axes`, ``a`` where the band
        is low and ``d`` where it is high. With `trim_approx` the approximation of the last level comes first,
        as an array, and the dictionaries hold details only.

    Raises
    ------
    ArgumentError
        If a wavelet or axis does not exist, or a length does not allow the levels.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    iswtn : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import swtn
    >>> [bands] = swtn(np.ones((4, 6, 3)), "haar", level=1, axes=(0, 1))
    >>> {key: band.shape for key, band in bands.items()}
    {'aa': (4, 6, 3), 'ad': (4, 6, 3), 'da': (4, 6, 3), 'dd': (4, 6, 3)}
    """
    x = as_computable(data)
    if x.ndim < 1:
        raise ShapeError("data is a single number; give at least one dimension")
    normal = normalise_axes(axes, x.ndim, distinct=True)
    wavelets = wavelets_for_axes(wavelet, normal)
    if norm:
        warn_unless_orthogonal(wavelets, "wavelets used are")
    check_stationary_level(x.shape, normal, level, start_level)
    levels: list[Any] = split_stationary(x, normal, wavelets, level, start_level, norm)
    if trim_approx:
        low = "a" * len(normal)
        approximations = [bands.pop(low) for bands in levels]
        levels.insert(0, approximations[0] if approximations else x.copy())
    return levels


@takes_arrays("coeffs")
def iswtn(
    coeffs: Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    axes: Axes = None,
    norm: bool = False,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Inverse n-dimensional stationary wavelet transform.

    Parameters
    ----------
    coeffs : list of dict
        What `swtn` returned, trimmed or not, from `start_level` 0. A band left out counts as zeros.
    wavelet, axes, norm
        As they were for `swtn`.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples.

    Raises
    ------
    CoefficientsError
        If there are no coefficients, or their shapes do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import iswtn, swtn
    >>> x = np.arange(32.0).reshape(4, 4, 2)
    >>> coeffs = swtn(x, "db2", level=2, axes=(0, 1), norm=True)
    >>> np.allclose(iswtn(coeffs, "db2", axes=(0, 1), norm=True), x)
    True
    """
    levels = _check_list(coeffs)
    trimmed = None if isinstance(levels[0], Mapping) else levels.pop(0)
    for number, bands in zip(range(len(levels), 0, -1), levels, strict=True):
        if not isinstance(bands, Mapping):
            raise CoefficientsError(
                f"level {number} of coeffs is a {type(bands).__name__}; "
                "it must be a dictionary of bands as swtn returns it"
            )
    letters = check_keys(key for bands in levels for key in bands) if levels else None
    approximation = levels[0].get("a" * letters) if trimmed is None and letters else trimmed
    if approximation is None:
        raise CoefficientsError("coeffs has no approximation of its coarsest level; use np.zeros instead")
    x = as_computable(approximation, "the coarsest approximation")
    letters = len(normalise_axes(axes, x.ndim)) if letters is None else letters
    normal = normalise_axes(axes, x.ndim, distinct=True)
    check_axes_fit(letters, normal)
    wavelets = prepare_wavelets(wavelets_for_axes(wavelet, normal), norm)
    if not levels:
        return x.copy()
    engine = engine_for(x)
    for number, bands in zip(range(len(levels), 0, -1), levels, strict=True):
        together = as_bands({**bands, "a" * letters: x})
        _check_shapes(together, number)
        x = engine.stationary_inverse(stationary_plan(x.shape, normal, wavelets, number), together)
    return x


def _check_list(coeffs: Sequence[Any]) -> list[Any]:
    """Return the coefficients as a list, which must not be empty."""
    try:
        # Text and dictionaries have lengths and entries too, but none that are bands.
        levels = None if isinstance(coeffs, str | Mapping) else [coeffs[index] for index in range(len(coeffs))]
    except (TypeError, LookupError):
        levels = None
    if levels is None:
        raise CoefficientsTypeError(
            f"coeffs is a {type(coeffs).__name__}; give the list that the forward transform returned"
        )
    if not levels:
        raise CoefficientsError("coeffs is empty; give what the forward transform returned")
    return levels


def _read_levels(coeffs: Sequence[Any], form: str) -> tuple[Any, list[Any]]:
    """Return the coarsest approximation and the details of each level, whether trimmed or not."""
    levels = _check_list(coeffs)
    if not isinstance(levels[0], tuple | list):
        return levels[0], levels[1:]
    for number, entry in enumerate(levels):
        if not isinstance(entry, tuple | list):
            raise CoefficientsError(f"coeffs[{number}] is a {type(entry).__name__}; it must be a pair {form}")
        if len(entry) != 2:
            raise CoefficientsError(f"coeffs[{number}] has {len(entry)} entries; it must be a pair {form}")
    return levels[0][0], [details for _, details in levels]


def _name_details(details: Any, number: int) -> dict[str, Any]:
    """Return the three details of a level by their keys."""
    try:
        count = len(details)
    except TypeError:
        raise CoefficientsError(
            f"the details of level {number} are a {type(details).__name__}; they must be three, (cH, cV, cD)"
        ) from None
    if count != len(DETAILS_2D):
        raise CoefficientsError(f"level {number} of coeffs has {count} details; it takes three, (cH, cV, cD)")
    return dict(zip(DETAILS_2D, details, strict=True))


def _check_shapes(bands: Bands, number: int) -> None:
    shapes = {band.shape for band in bands.values()}
    if len(shapes) > 1:
        listed = ", ".join(f"{key!r} {band.shape}" for key, band in bands.items())
        raise BandShapesError(f"the bands of level {number} have different shapes: {listed}; they must have one shape")

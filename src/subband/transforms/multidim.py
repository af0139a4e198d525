"""One level along several axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from subband.arrays import as_computable
from subband.engines import Engine
from subband.engines.dispatch import takes_arrays
from subband.errors import AxesError, CoefficientsError, CoefficientsTypeError, ShapeError
from subband.transforms.arguments import (
    Axes,
    ModeLike,
    modes_for_axes,
    normalise_axes,
    wavelets_for_axes,
)
from subband.transforms.levels import as_bands, check_axes_fit, check_keys, merge_level, split_level
from subband.typing import Array, ArrayT, Bands
from subband.wavelets import WaveletLike

__all__ = ["dwt2", "dwtn", "idwt2", "idwtn"]

Details2 = tuple[Array, Array, Array]


@overload
def dwt2(
    data: Array | Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> tuple[Array, Details2]: ...
@overload
def dwt2(
    data: ArrayT,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> tuple[ArrayT, tuple[ArrayT, ArrayT, ArrayT]]: ...
@takes_arrays("data")
def dwt2(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    axes: Axes = (-2, -1),
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Single-level 2-D discrete wavelet transform (DWT) of an image.

    Parameters
    ----------
    data : array_like of at least two dimensions
        Samples; axes not in `axes` are carried along.
    wavelet : Wavelet, str, or two of these
        One for both axes, or one for each.
    mode : str, int, or two of these
        The boundary mode, one for both axes or one for each.
    axes : two integers
        Rows and columns. An axis that is named twice is transformed twice.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    cA : ndarray
        The approximation.
    (cH, cV, cD) : tuple of ndarray
        Horizontal, vertical and diagonal details: high along the first axis, the second, and both.

    Raises
    ------
    AxesError
        If there are not two axes, or one does not exist.

    See Also
    --------
    idwt2 : The inverse.
    wavedec2 : Several levels.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dwt2
    >>> cA, (cH, cV, cD) = dwt2(np.ones((4, 6)), "haar")
    >>> cA.shape, cH.shape
    ((2, 3), (2, 3))
    >>> float(cA[0, 0].round(12)), float(abs(cD).max().round(12))
    (2.0, 0.0)
    """
    bands = _split(as_computable(data), wavelet, mode, axes, count=2)
    return bands["aa"], (bands["da"], bands["ad"], bands["dd"])


@takes_arrays("coeffs")
def idwt2(
    coeffs: tuple[Any, tuple[Any, Any, Any]],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    axes: Axes = (-2, -1),
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Single-level 2-D inverse discrete wavelet transform (IDWT).

    Parameters
    ----------
    coeffs : tuple
        ``cA, (cH, cV, cD)`` as `dwt2` returns them; None counts as zeros.
    wavelet, mode, axes
        As in the forward transform.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples. An odd axis comes back with one more sample, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If the bands do not belong together, or all are None.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dwt2, idwt2
    >>> idwt2(dwt2(np.ones((4, 6)), "haar"), "haar").shape
    (4, 6)
    >>> idwt2((np.ones((2, 3)), (None, None, None)), "haar").shape
    (4, 6)
    """
    try:
        cA, (cH, cV, cD) = coeffs
    except (TypeError, ValueError) as wrong:
        error = CoefficientsTypeError if isinstance(wrong, TypeError) else CoefficientsError
        raise error("coeffs is not of the form (cA, (cH, cV, cD)), which dwt2 returns") from None
    return _merge({"aa": cA, "da": cH, "ad": cV, "dd": cD}, wavelet, mode, axes, count=2)


@overload
def dwtn(
    data: Array | Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> Bands: ...
@overload
def dwtn(
    data: ArrayT,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> dict[str, ArrayT]: ...
@takes_arrays("data")
def dwtn(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Single-level n-dimensional discrete wavelet transform (DWT).

    Parameters
    ----------
    data : array_like
        Samples; axes not in `axes` are carried along.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    mode : str, int, or sequence of these
        The boundary mode, one for all axes or one for each.
    axes : sequence of int, optional
        The axes to transform, all by default. An axis that is named twice is transformed twice.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    dict of str to ndarray
        The bands. A key has one letter for each axis, ``a`` for low and ``d`` for high: ``'aa'``, ``'ad'``,
        ``'da'`` and ``'dd'`` for two axes.

    Raises
    ------
    ShapeError
        If `data` is a single number, or an axis is empty.
    AxesError
        If there is no axis to transform, or one does not exist.

    See Also
    --------
    idwtn : The inverse.
    wavedecn : Several levels.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dwtn
    >>> {key: band.shape for key, band in dwtn(np.ones((4, 6)), "haar").items()}
    {'aa': (2, 3), 'ad': (2, 3), 'da': (2, 3), 'dd': (2, 3)}
    >>> sorted(dwtn(np.ones((4, 6)), "haar", axes=(1,)))
    ['a', 'd']
    """
    x = as_computable(data)
    if x.ndim == 0:
        raise ShapeError("data is a single number; a transform takes at least one dimension")
    return _split(x, wavelet, mode, axes)


@takes_arrays("coeffs")
def idwtn(
    coeffs: Mapping[str, Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Single-level n-dimensional inverse discrete wavelet transform (IDWT).

    Parameters
    ----------
    coeffs : dict of str to array_like
        Bands as `dwtn` returns them. One that is missing or None counts as zeros.
    wavelet, mode, axes
        As in the forward transform.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples. An odd axis comes back with one more sample, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If a key is no name of a band, the bands do not belong together, or there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dwtn, idwtn
    >>> x = np.arange(24.0).reshape(4, 6)
    >>> np.allclose(idwtn(dwtn(x, "db2"), "db2"), x)
    True
    >>> idwtn({"ad": np.ones((2, 3))}, "haar").shape
    (4, 6)
    """
    return _merge(coeffs, wavelet, mode, axes)


def _split(
    x: Array,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike],
    axes: Axes,
    *,
    count: int | None = None,
) -> Bands:
    normal = normalise_axes(axes, x.ndim, count=count)
    if not normal:
        raise AxesError("axes=() names no axis to transform; leave it out to transform all")
    return split_level(x, normal, wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal))


def _merge(
    coeffs: Mapping[str, Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike],
    axes: Axes,
    *,
    count: int | None = None,
) -> Array:
    bands = as_bands(coeffs)
    letters = check_keys(bands)
    ndim = min(band.ndim for band in bands.values())
    normal = normalise_axes(range(letters) if axes is None else axes, ndim, count=count)
    check_axes_fit(letters, normal)
    return merge_level(bands, normal, wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal))

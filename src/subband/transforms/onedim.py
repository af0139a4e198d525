"""One level along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from subband.arrays import as_computable
from subband.engines import Engine
from subband.engines.dispatch import engine_for, takes_arrays
from subband.errors import CoefficientsError
from subband.transforms.arguments import ModeLike, normalise_axis
from subband.transforms.levels import as_bands, forward_plan, merge_level
from subband.transforms.modes import mode_name
from subband.typing import Array, ArrayT
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["dwt", "idwt"]


@overload
def dwt(
    data: Array | Sequence[Any],
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> tuple[Array, Array]: ...
@overload
def dwt(
    data: ArrayT, wavelet: WaveletLike, mode: ModeLike = ..., axis: int = ..., *, engine: str | Engine | None = ...
) -> tuple[ArrayT, ArrayT]: ...
@takes_arrays("data")
def dwt(
    data: Any, wavelet: WaveletLike, mode: ModeLike = "symmetric", axis: int = -1, *, engine: str | Engine | None = None
) -> Any:
    """Single-level discrete wavelet transform (DWT) along one axis.

    Parameters
    ----------
    data : array_like
        Samples; all axes but `axis` are carried along.
    wavelet : Wavelet or str
        The wavelet, or its name.
    mode : str or int
        What the signal is taken to be outside its samples; `subband.boundary` lists the modes.
    axis : int
        The axis to transform.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    cA, cD : ndarray
        Low and high coefficients: float32, float64, complex64 or complex128 as the data, integers as float64.

    Raises
    ------
    ArgumentError
        If the wavelet, mode or axis does not exist, the axis is empty, or the wavelet cannot take the mode.
    DtypeError
        If `data` holds no numbers.

    See Also
    --------
    idwt : The inverse.
    wavedec : Several levels.

    Notes
    -----
    ``n`` samples and a wavelet of ``L`` taps give ``(n + L - 1) // 2`` coefficients of each kind; in mode
    ``periodization`` ``(n + 1) // 2`` of each; in mode ``whole`` ``(n + 1) // 2`` low and ``n // 2`` high ones.

    Examples
    --------
    >>> from subband import dwt
    >>> low, high = dwt([1, 2, 3, 4], "haar")
    >>> low.round(3), high.round(3)
    (array([2.121, 4.95 ]), array([-0.707, -0.707]))
    >>> low, high = dwt([1, 2, 3, 4, 5], "cdf53", mode="whole")
    >>> low.shape, high.shape
    ((3,), (2,))
    """
    x = as_computable(data)
    plan = forward_plan(x.shape, (normalise_axis(axis, x.ndim),), (as_wavelet(wavelet),), (mode_name(mode),))
    bands = engine_for(x).forward(plan, x)
    return bands["a"], bands["d"]


@overload
def idwt(
    cA: Array | Sequence[Any] | None,
    cD: Array | Sequence[Any] | None,
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@overload
def idwt(
    cA: ArrayT | None,
    cD: ArrayT | None,
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> ArrayT: ...
@takes_arrays("cA", "cD")
def idwt(
    cA: Any,
    cD: Any,
    wavelet: WaveletLike,
    mode: ModeLike = "symmetric",
    axis: int = -1,
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Single-level inverse discrete wavelet transform (IDWT) along one axis.

    Parameters
    ----------
    cA, cD : array_like or None
        Low and high coefficients; one of them may be None and counts as zeros.
    wavelet : Wavelet or str
        The wavelet, or its name.
    mode : str or int
        The mode of the forward transform.
    axis : int
        The axis that was transformed.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples. An odd number of them comes back with one more at the end, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If both are None, or their shapes do not belong together.

    See Also
    --------
    dwt : The forward transform.

    Examples
    --------
    >>> from subband import dwt, idwt
    >>> idwt(*dwt([1, 2, 3, 4], "db2"), "db2").round(12)
    array([1., 2., 3., 4.])
    >>> idwt([2.0, 2.0], None, "haar").round(3)
    array([1.414, 1.414, 1.414, 1.414])
    """
    if cA is None and cD is None:
        raise CoefficientsError("cA and cD are both None; give at least one of them")
    bands = as_bands({"a": cA, "d": cD})
    # The axis counts in the array that is there; one of another number of dimensions is refused later.
    ndim = min(band.ndim for band in bands.values())
    return merge_level(bands, (normalise_axis(axis, ndim),), (as_wavelet(wavelet),), (mode_name(mode),))

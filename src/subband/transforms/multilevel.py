"""Multilevel decimated transforms: the approximation is transformed again on each level.

`wavedec`, `wavedec2` and `wavedecn` are one computation; they differ in how they lay the bands out for the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

from subband.arrays import is_array
from subband.engines import Engine
from subband.engines.dispatch import takes_arrays
from subband.errors import CoefficientsError, CoefficientsTypeError
from subband.pyramid import Pyramid
from subband.transforms.arguments import Axes, ModeLike
from subband.transforms.chain import ModesLike, Wavelets, analyse, synthesise
from subband.transforms.decomposition import reconstruct_alike
from subband.typing import Array, ArrayT
from subband.wavelets import WaveletLike

__all__ = ["wavedec", "wavedec2", "wavedecn", "waverec", "waverec2", "waverecn"]


@overload
def wavedec(
    data: Array | Sequence[Any],
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    level: int | None = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> list[Array]: ...
@overload
def wavedec(
    data: ArrayT,
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    level: int | None = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> list[ArrayT]: ...
@takes_arrays("data")
def wavedec(
    data: Any,
    wavelet: WaveletLike,
    mode: ModeLike = "symmetric",
    level: int | None = None,
    axis: int = -1,
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Multilevel discrete wavelet transform (DWT) along one axis.

    Parameters
    ----------
    data : array_like
        Samples; all axes but `axis` are carried along.
    wavelet : Wavelet or str
        The wavelet, or its name.
    mode : str or int
        The boundary mode.
    level : int, optional
        Number of levels, `dwt_max_level` by default.
    axis : int
        The axis to transform.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list of ndarray
        ``[cA_n, cD_n, …, cD_1]``: the approximation, then the details from coarse to fine.

    Raises
    ------
    LevelError
        If `level` is negative.
    ArgumentError
        If another argument cannot be used.

    Warns
    -----
    UserWarning
        If `level` is greater than `dwt_max_level`.

    See Also
    --------
    waverec : The inverse.

    Examples
    --------
    >>> from subband import wavedec
    >>> cA2, cD2, cD1 = wavedec([1, 2, 3, 4, 5, 6, 7, 8], "haar", level=2)
    >>> cA2.round(3), cD2.round(3)
    (array([ 5., 13.]), array([-2., -2.]))
    >>> cD1.shape
    (4,)
    """
    approximation, details = analyse(data, wavelet, mode, level, (axis,))
    return [approximation, *(bands["d"] for bands in details)]


@overload
def waverec(
    coeffs: Pyramid,
    wavelet: WaveletLike | None = ...,
    mode: ModeLike | None = ...,
    axis: int | None = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@overload
def waverec(
    coeffs: Sequence[Any],
    wavelet: WaveletLike,
    mode: ModeLike = ...,
    axis: int = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@takes_arrays("coeffs", on_pyramid=partial(reconstruct_alike, 1))  # type: ignore[misc]  # which takes them without a wavelet
def waverec(
    coeffs: Any,
    wavelet: WaveletLike,
    mode: ModeLike = "symmetric",
    axis: int = -1,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Multilevel inverse discrete wavelet transform along one axis.

    Parameters
    ----------
    coeffs : list of ndarray or None
        ``[cA_n, cD_n, …, cD_1]`` as `wavedec` returns them; None counts as zeros. A `Pyramid` needs no more arguments.
    wavelet, mode, axis
        As in the forward transform.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples. An odd number of them comes back with one more at the end, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If `coeffs` is not such a list, or its arrays do not belong together.

    Examples
    --------
    >>> from subband import wavedec, waverec
    >>> waverec(wavedec([1, 2, 3, 4, 5, 6, 7, 8], "haar", level=2), "haar").round(12)
    array([1., 2., 3., 4., 5., 6., 7., 8.])
    """
    approximation, details = _open_list(coeffs, "wavedec", lambda entry: entry is None or is_array(entry), "an array")
    levels = [{"d": detail} for detail in details]
    return synthesise(approximation, levels, wavelet, mode, (axis,))


@takes_arrays("data")
def wavedec2(
    data: Any,
    wavelet: Wavelets,
    mode: ModesLike = "symmetric",
    level: int | None = None,
    axes: Axes = (-2, -1),
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """Multilevel 2-D discrete wavelet transform (DWT) of an image.

    Parameters
    ----------
    data : array_like of at least two dimensions
        Samples; axes not in `axes` are carried along.
    wavelet : Wavelet, str, or two of these
        One for both axes, or one for each.
    mode : str, int, or two of these
        The boundary mode, one for both axes or one for each.
    level : int, optional
        Number of levels, `dwtn_max_level` by default.
    axes : two integers
        Rows and columns.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        ``[cA_n, (cH_n, cV_n, cD_n), …, (cH_1, cV_1, cD_1)]``: the approximation, then the details from coarse to
        fine, each as `dwt2` returns them.

    Raises
    ------
    AxesError
        If there are not two different axes, or one does not exist.
    LevelError
        If `level` is negative.

    Warns
    -----
    UserWarning
        If `level` is greater than `dwtn_max_level`.

    See Also
    --------
    waverec2 : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import wavedec2
    >>> cA2, (cH2, cV2, cD2), (cH1, cV1, cD1) = wavedec2(np.ones((8, 12)), "haar", level=2)
    >>> cA2.shape, cH2.shape, cH1.shape
    ((2, 3), (2, 3), (4, 6))
    """
    approximation, details = analyse(data, wavelet, mode, level, axes, count=2)
    return [approximation, *((bands["da"], bands["ad"], bands["dd"]) for bands in details)]


@overload
def waverec2(
    coeffs: Pyramid,
    wavelet: Wavelets | None = ...,
    mode: ModesLike | None = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@overload
def waverec2(
    coeffs: Sequence[Any],
    wavelet: Wavelets,
    mode: ModesLike = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@takes_arrays("coeffs", on_pyramid=partial(reconstruct_alike, 2))  # type: ignore[misc]  # which takes them without a wavelet
def waverec2(
    coeffs: Any,
    wavelet: Wavelets,
    mode: ModesLike = "symmetric",
    axes: Axes = (-2, -1),
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Multilevel 2-D inverse discrete wavelet transform.

    Parameters
    ----------
    coeffs : list
        ``[cA_n, (cH_n, cV_n, cD_n), …]`` as `wavedec2` returns them; None instead of an array counts as zeros. A
        `Pyramid` needs no more arguments.
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
        If `coeffs` is not such a list, or its arrays do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import wavedec2, waverec2
    >>> x = np.arange(96.0).reshape(8, 12)
    >>> np.allclose(waverec2(wavedec2(x, "db2", level=1), "db2"), x)
    True
    """
    form = "a tuple of three arrays"
    approximation, details = _open_list(coeffs, "wavedec2", lambda entry: isinstance(entry, tuple | list), form)
    levels = []
    for number, detail in enumerate(details, start=1):
        if len(detail) != 3:
            raise CoefficientsError(f"coeffs[{number}] has {len(detail)} entries; wavedec2 gives {form}")
        levels.append(dict(zip(("da", "ad", "dd"), detail, strict=True)))
    return synthesise(approximation, levels, wavelet, mode, axes, count=2)


@takes_arrays("data")
def wavedecn(
    data: Any,
    wavelet: Wavelets,
    mode: ModesLike = "symmetric",
    level: int | None = None,
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> list[Any]:
    """Multilevel n-dimensional discrete wavelet transform (DWT).

    Parameters
    ----------
    data : array_like
        Samples; axes not in `axes` are carried along.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    mode : str, int, or sequence of these
        The boundary mode, one for all axes or one for each.
    level : int, optional
        Number of levels, `dwtn_max_level` by default.
    axes : sequence of int, optional
        The axes to transform, all by default.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    list
        The approximation, then one dictionary of details for each level, coarsest first, with keys as `dwtn` has
        them: ``[cA_n, {'ad': …, 'da': …, 'dd': …}, …]`` for two axes.

    Raises
    ------
    AxesError
        If an axis does not exist or is repeated, or there is none.
    LevelError
        If `level` is negative.

    Warns
    -----
    UserWarning
        If `level` is greater than `dwtn_max_level`.

    See Also
    --------
    waverecn : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import wavedecn
    >>> coarse, details = wavedecn(np.ones((8, 8, 8)), "db1", level=1)
    >>> coarse.shape, sorted(details)
    ((4, 4, 4), ['aad', 'ada', 'add', 'daa', 'dad', 'dda', 'ddd'])
    """
    approximation, details = analyse(data, wavelet, mode, level, axes)
    return [approximation, *details]


@overload
def waverecn(
    coeffs: Pyramid,
    wavelet: Wavelets | None = ...,
    mode: ModesLike | None = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@overload
def waverecn(
    coeffs: Sequence[Any],
    wavelet: Wavelets,
    mode: ModesLike = ...,
    axes: Axes = ...,
    *,
    engine: str | Engine | None = ...,
) -> Array: ...
@takes_arrays("coeffs", on_pyramid=partial(reconstruct_alike, None))  # type: ignore[misc]  # which takes them without a wavelet
def waverecn(
    coeffs: Any,
    wavelet: Wavelets,
    mode: ModesLike = "symmetric",
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> Array:
    """Multilevel n-dimensional inverse discrete wavelet transform.

    Parameters
    ----------
    coeffs : list
        ``[cA_n, {…}, …]`` as `wavedecn` returns them. The approximation may be None, and keys may be missing:
        both count as zeros. A `Pyramid` needs no more arguments.
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
        If `coeffs` is not such a list, a detail is None, or the arrays do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import wavedecn, waverecn
    >>> x = np.arange(64.0).reshape(4, 4, 4)
    >>> np.allclose(waverecn(wavedecn(x, "haar"), "haar"), x)
    True
    """
    approximation, details = _open_list(
        coeffs, "wavedecn", lambda entry: isinstance(entry, Mapping), "a dictionary of arrays"
    )
    for number, detail in enumerate(details, start=1):
        missing = [key for key, band in detail.items() if band is None]
        if missing:
            raise CoefficientsError(
                f"coeffs[{number}] has None for {missing}; leave the keys out, or use np.zeros_like of the arrays"
            )
    return synthesise(approximation, details, wavelet, mode, axes)


def _open_list(
    coeffs: Sequence[Any], function: str, is_detail: Callable[[Any], bool], form: str
) -> tuple[Any, Sequence[Any]]:
    """Return approximation and details of a list of coefficients, each detail being of the right form."""
    if not isinstance(coeffs, list | tuple):
        raise CoefficientsTypeError(
            f"coeffs is a {type(coeffs).__name__}; it must be the list of coefficients that {function} returns"
        )
    if not coeffs:
        raise CoefficientsError("coeffs is empty; it must hold at least the approximation")
    for number, detail in enumerate(coeffs[1:], start=1):
        if not is_detail(detail):
            raise CoefficientsError(
                f"Unexpected detail coefficient type: coeffs[{number}] is a {type(detail).__name__}, and "
                f"{function} gives {form}; with array_to_coeffs and unravel_coeffs use output_format={function!r}"
            )
    return coeffs[0], coeffs[1:]

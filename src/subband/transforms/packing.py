"""Pack all coefficients into one array as a mosaic of bands, and unpack them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from subband.arrays import as_array, assemble, namespace
from subband.engines.dispatch import takes_arrays
from subband.errors import CoefficientsError
from subband.plan import list_keys
from subband.pyramid import Pyramid
from subband.transforms.arguments import Axes
from subband.transforms.coefficient_lists import (
    DETAILS_2D,
    FORMATS,
    REFUSALS,
    OutputFormat,
    cut_by_key,
    cut_out,
    lay_out,
    match_axes,
    open_coefficients,
)
from subband.typing import Array, Bands

__all__ = ["array_to_coeffs", "coeffs_to_array"]


@takes_arrays("coeffs", transforms=False)
def coeffs_to_array(
    coeffs: Sequence[Any] | Pyramid, padding: float | None = 0, axes: Axes = None
) -> tuple[Array, list[Any]]:
    """Arrange the coefficients of all bands in one array, as in the classical mosaic image.

    Parameters
    ----------
    coeffs : list
        What `wavedec`, `wavedec2` or `wavedecn` returned, without None; or a `Pyramid`.
    padding : float or None
        What to fill the gaps with. With None it is an error if there are gaps: only ``periodization`` of sizes that
        can be halved every time, and ``whole``, leave none.
    axes : sequence of int, optional
        The transformed axes; needed if these are not all.

    Returns
    -------
    coeff_arr : ndarray
        All coefficients, the approximation in the first corner.
    coeff_slices : list
        The slices of each band, in the form of `wavedecn`: a tuple of slices, then dictionaries of these.

    Raises
    ------
    CoefficientsError
        If a band is missing or does not fit its slices, or there are gaps and `padding` is None.
    AxesError
        If `axes` does not name as many axes as were transformed.

    See Also
    --------
    array_to_coeffs : The inverse.
    ravel_coeffs : One dimension, never a gap.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import coeffs_to_array, wavedec2
    >>> mosaic, slices = coeffs_to_array(wavedec2(np.ones((8, 8)), "haar", level=1))
    >>> mosaic.shape, slices[0]
    ((8, 8), (slice(None, 4, None), slice(None, 4, None)))
    >>> slices[1]["dd"]
    (slice(4, 8, None), slice(4, 8, None))
    """
    axes = coeffs.axes if isinstance(coeffs, Pyramid) and axes is None else axes
    approximation, details = open_coefficients(coeffs)
    if not details:
        return approximation, [(slice(None),) * approximation.ndim]
    normal = match_axes(details, axes, approximation.ndim)
    shapes = tuple([tuple([(key, band.shape) for key, band in bands.items()]) for bands in details])
    filled, regions = _find_regions(approximation.shape, shapes, normal)
    slices: list[Any] = [regions[0], *map(dict, regions[1:])]
    used = approximation.size + sum(band.size for bands in details for band in bands.values())
    if padding is None and used != prod(filled):
        raise CoefficientsError(
            f"the {used} coefficients leave gaps in an array of shape {filled}; "
            "give a padding to fill them with, or use ravel_coeffs"
        )
    namespace(approximation, "coeffs_to_array")
    parts = [(slices[0], approximation)]
    for bands, windows in zip(details, slices[1:], strict=True):
        parts += [(windows[key], band) for key, band in bands.items()]
    dtype = _common_dtype(approximation, details)
    return assemble(parts, filled, approximation, dtype, 0 if padding is None else padding), slices


def array_to_coeffs(arr: Any, coeff_slices: Sequence[Any], output_format: OutputFormat = "wavedecn") -> list[Any]:
    """Take the coefficients out of an array that `coeffs_to_array` made.

    Parameters
    ----------
    arr : array_like
        The coefficients.
    coeff_slices : list
        The slices of each band, as `coeffs_to_array` returned it.
    output_format : {"wavedecn", "wavedec", "wavedec2", "swtn", "swt", "swt2"}
        Of which function the result is to have the form.

    Returns
    -------
    list
        The bands, as views of `arr`.

    Raises
    ------
    ArgumentError
        If there is no such format, or the list of slices is empty.
    CoefficientsError
        If the bands are not those of that format.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import array_to_coeffs, coeffs_to_array, wavedec
    >>> packed, slices = coeffs_to_array(wavedec(np.arange(8.0), "haar", level=2))
    >>> [band.shape for band in array_to_coeffs(packed, slices, output_format="wavedec")]
    [(2,), (2,), (4,)]
    """
    # NumPy makes a view in a tenth of a microsecond: nothing is checked that does not show by itself
    if type(arr) is np.ndarray and type(coeff_slices) is list:
        try:
            wanted = FORMATS[output_format]
            bands: list[Any] = [arr[coeff_slices[0]]]
            if wanted is None:
                bands += cut_by_key(arr, coeff_slices[1:])
            elif wanted is DETAILS_2D:
                for each in coeff_slices[1:]:
                    if len(each) != 3:
                        return _cut_carefully(arr, coeff_slices, output_format)
                    bands.append((arr[each["da"]], arr[each["ad"]], arr[each["dd"]]))
            else:
                for each in coeff_slices[1:]:
                    if len(each) != 1:
                        return _cut_carefully(arr, coeff_slices, output_format)
                    bands.append(arr[each["d"]])
            return bands
        except REFUSALS:
            pass
    return _cut_carefully(arr, coeff_slices, output_format)


@takes_arrays("arr", transforms=False)
def _cut_carefully(arr: Any, coeff_slices: Any, output_format: str) -> list[Any]:
    """Check all that `array_to_coeffs` was given, and take the bands out of an array of any kind."""
    array = as_array(arr)
    return lay_out(coeff_slices, lambda region, where: cut_out(array, region, where), output_format)


@lru_cache(maxsize=256)
def _find_regions(
    shape: tuple[int, ...], levels: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...], axes: tuple[int, ...]
) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of all coefficients in one array, and where each band is; cached, and not to be changed."""
    filled = list(shape)
    regions: list[Any] = [tuple(slice(n) for n in filled)]
    for number, level in enumerate(levels, start=1):
        _check_complete([key for key, _ in level], len(axes), number)
        regions.append({key: _find_region(key, band, axes, filled) for key, band in level})
        for position, axis in enumerate(axes):
            lows = {band[axis] for key, band in level if key[position] == "a"}
            highs = {band[axis] for key, band in level if key[position] == "d"}
            if len(highs) > 1 or max(lows, default=0) > filled[axis]:
                raise CoefficientsError(
                    f"coeffs[{number}] has {sorted(lows)} low and {sorted(highs)} high coefficients along axis {axis}, "
                    f"which do not belong with {filled[axis]} of the levels before"
                )
            filled[axis] += highs.pop()
    for number, (level, windows) in enumerate(zip(levels, regions[1:], strict=True), start=1):
        for key, band in level:
            if band != tuple(len(range(n)[span]) for n, span in zip(filled, windows[key], strict=True)):
                raise CoefficientsError(
                    f"coeffs[{number}][{key!r}] has shape {band}, which does not belong with the other bands of "
                    "its level"
                )
    return tuple(filled), regions


def _check_complete(keys: Sequence[str], letters: int, number: int) -> None:
    """Refuse a level that lacks a band, as its region would be unknown."""
    missing = set(list_keys(letters)[1:]) - set(keys)
    if missing:
        raise CoefficientsError(f"coeffs[{number}] has no band {min(missing)!r}; use np.zeros instead")


def _find_region(key: str, shape: tuple[int, ...], axes: tuple[int, ...], filled: Sequence[int]) -> tuple[slice, ...]:
    """Return the region of a band: beyond what is filled along the axes where it is high."""
    region = [slice(n) for n in filled]
    for letter, axis in zip(key, axes, strict=True):
        region[axis] = slice(shape[axis])
        if letter == "d":
            region[axis] = slice(filled[axis], filled[axis] + shape[axis])
    return tuple(region)


def _common_dtype(approximation: Array, details: list[Bands]) -> np.dtype[Any]:
    """Return the dtype that holds all bands without loss."""
    return np.result_type(approximation.dtype, *(band.dtype for bands in details for band in bands.values()))

"""Concatenate all coefficients in one flat array, and divide it again."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from subband.arrays import as_array, concatenate
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, CoefficientsError
from subband.pyramid import Pyramid
from subband.transforms.arguments import Axes
from subband.transforms.coefficient_lists import (
    DETAILS_2D,
    FORMATS,
    REFUSALS,
    OutputFormat,
    check_list,
    cut_by_key,
    cut_out,
    lay_out,
    match_axes,
    open_coefficients,
)
from subband.typing import Array

__all__ = ["ravel_coeffs", "unravel_coeffs"]


@takes_arrays("coeffs", transforms=False)
def ravel_coeffs(coeffs: Sequence[Any] | Pyramid, axes: Axes = None) -> tuple[Array, list[Any], list[Any]]:
    """Concatenate the coefficients of all bands in one flat array.

    Parameters
    ----------
    coeffs : list
        What `wavedec`, `wavedec2` or `wavedecn` returned, or `swt` and its kin with ``trim_approx=True``, without
        None; or a `Pyramid`.
    axes : sequence of int, optional
        The transformed axes; needed if these are not all.

    Returns
    -------
    coeff_arr : ndarray of one dimension
        All coefficients: the approximation, then the details from coarse to fine.
    coeff_slices, coeff_shapes : list
        Range and shape of each band, in the form of `wavedecn`.

    Raises
    ------
    CoefficientsError
        If a band is missing.

    See Also
    --------
    unravel_coeffs : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import ravel_coeffs, wavedec2
    >>> line, slices, shapes = ravel_coeffs(wavedec2(np.ones((8, 8)), "db2", level=1))
    >>> line.shape, slices[1]["dd"], shapes[1]["dd"]
    ((100,), slice(75, 100, None), (5, 5))
    """
    axes = coeffs.axes if isinstance(coeffs, Pyramid) and axes is None else axes
    approximation, details = open_coefficients(coeffs)
    if details:
        match_axes(details, axes, approximation.ndim)
    stop = approximation.size
    slices: list[Any] = [slice(stop)]
    shapes: list[Any] = [approximation.shape]
    pieces = [approximation.ravel()]
    for bands in details:
        ranges, sizes = {}, {}
        for key, band in bands.items():
            start, stop = stop, stop + band.size
            ranges[key], sizes[key] = slice(start, stop), band.shape
            pieces.append(band.ravel())
        slices.append(ranges)
        shapes.append(sizes)
    return concatenate(pieces, 0), slices, shapes


def unravel_coeffs(
    arr: Any, coeff_slices: Sequence[Any], coeff_shapes: Sequence[Any], output_format: OutputFormat = "wavedecn"
) -> list[Any]:
    """Take the coefficients out of a flat array that `ravel_coeffs` made.

    Parameters
    ----------
    arr : array_like of one dimension
        The coefficients.
    coeff_slices, coeff_shapes : list
        Range and shape of each band, as `ravel_coeffs` returned them.
    output_format : {"wavedecn", "wavedec", "wavedec2", "swtn", "swt", "swt2"}
        Of which function the result is to have the form.

    Returns
    -------
    list
        The bands, as views of `arr` where possible.

    Raises
    ------
    ArgumentError
        If there is no such format, or the lists are empty or not equally long.
    CoefficientsError
        If the bands are not those of that format, or `arr` is too short.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import ravel_coeffs, unravel_coeffs, wavedec
    >>> packed = ravel_coeffs(wavedec(np.arange(8.0), "haar", level=2))
    >>> [band.shape for band in unravel_coeffs(*packed, output_format="wavedec")]
    [(2,), (2,), (4,)]
    """
    # as in `array_to_coeffs`
    if type(arr) is np.ndarray and type(coeff_slices) is type(coeff_shapes) is list:
        try:
            wanted = FORMATS[output_format]
            bands: list[Any] = [arr[coeff_slices[0]].reshape(coeff_shapes[0])]
            number = 1
            if wanted is None:
                levels = zip(cut_by_key(arr, coeff_slices[1:]), coeff_shapes[1:], strict=True)
                bands += [{key: band.reshape(shapes[key]) for key, band in level.items()} for level, shapes in levels]
            elif wanted is DETAILS_2D:
                for each in coeff_slices[1:]:
                    shapes = coeff_shapes[number]
                    if len(each) != 3:
                        return _unravel_carefully(arr, coeff_slices, coeff_shapes, output_format)
                    bands.append(
                        (
                            arr[each["da"]].reshape(shapes["da"]),
                            arr[each["ad"]].reshape(shapes["ad"]),
                            arr[each["dd"]].reshape(shapes["dd"]),
                        )
                    )
                    number += 1
            else:
                for each in coeff_slices[1:]:
                    band, shape = arr[each["d"]], coeff_shapes[number]["d"]
                    if len(each) != 1:
                        return _unravel_carefully(arr, coeff_slices, coeff_shapes, output_format)
                    bands.append(band if band.shape == shape else band.reshape(shape))
                    number += 1
            if len(coeff_slices) == len(coeff_shapes):
                return bands
        except REFUSALS:
            pass
    return _unravel_carefully(arr, coeff_slices, coeff_shapes, output_format)


@takes_arrays("arr", transforms=False)
def _unravel_carefully(arr: Any, coeff_slices: Any, coeff_shapes: Any, output_format: str) -> list[Any]:
    """Check all that `unravel_coeffs` was given, and take the bands out of an array of any kind."""
    array = as_array(arr)
    for name, entries in (("coeff_slices", coeff_slices), ("coeff_shapes", coeff_shapes)):
        check_list(name, entries)
    if len(coeff_slices) != len(coeff_shapes):
        raise ArgumentError(
            f"coeff_slices has {len(coeff_slices)} entries and coeff_shapes {len(coeff_shapes)}; "
            "both come from ravel_coeffs"
        )

    def take(region: slice, where: tuple[int, str | None]) -> Array:
        number, key = where
        try:
            shape = tuple(coeff_shapes[number] if key is None else coeff_shapes[number][key])
        except (TypeError, LookupError):
            raise CoefficientsError(
                f"coeff_shapes[{number}] has no shape of the band at {region}; it comes from ravel_coeffs, "
                "together with coeff_slices"
            ) from None
        piece = cut_out(array, region, where)
        if piece.size != prod(shape):
            raise CoefficientsError(
                f"arr has {array.size} coefficients, too few for a band of shape {shape} at {region}"
            )
        return piece.reshape(shape)

    return lay_out(coeff_slices, take, output_format)

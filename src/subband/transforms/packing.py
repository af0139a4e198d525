"""Pack all coefficients into one array, and unpack them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.arrays import as_array, assemble, concatenate, is_array, namespace
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, ArgumentTypeError, AxesError, CoefficientsError
from subband.pyramid import Pyramid
from subband.transforms.arguments import Axes, normalise_axes
from subband.transforms.levels import check_keys
from subband.typing import Array, Bands

__all__ = ["array_to_coeffs", "coeffs_to_array", "open_coefficients", "ravel_coeffs", "unravel_coeffs"]

OutputFormat: TypeAlias = Literal["wavedec", "wavedec2", "wavedecn", "swt", "swt2", "swtn"]

#: The order of the three details of `wavedec2`.
_DETAILS_2D = ("da", "ad", "dd")

#: The bands of each level that an output format takes, in its order; None for a dictionary of any.
_FORMATS = {
    "wavedec": ("d",),
    "wavedec2": _DETAILS_2D,
    "wavedecn": None,
    "swt": ("d",),
    "swt2": _DETAILS_2D,
    "swtn": None,
}

_ARRAYS = {np.ndarray}

#: What is raised where slices or shapes are not as they should be.
_REFUSALS = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


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
    normal = _match_axes(details, axes, approximation.ndim)
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
            wanted = _FORMATS[output_format]
            bands: list[Any] = [arr[coeff_slices[0]]]
            if wanted is None:
                bands += _cut_by_key(arr, coeff_slices[1:])
            elif wanted is _DETAILS_2D:
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
        except _REFUSALS:
            pass
    return _cut_carefully(arr, coeff_slices, output_format)


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
        _match_axes(details, axes, approximation.ndim)
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
            wanted = _FORMATS[output_format]
            bands: list[Any] = [arr[coeff_slices[0]].reshape(coeff_shapes[0])]
            number = 1
            if wanted is None:
                levels = zip(_cut_by_key(arr, coeff_slices[1:]), coeff_shapes[1:], strict=True)
                bands += [{key: band.reshape(shapes[key]) for key, band in level.items()} for level, shapes in levels]
            elif wanted is _DETAILS_2D:
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
        except _REFUSALS:
            pass
    return _unravel_carefully(arr, coeff_slices, coeff_shapes, output_format)


def _cut_by_key(array: Array, levels: list[Any]) -> list[Any]:
    """Cut out the bands of levels; in a function of its own because others are slower if they hold a comprehension."""
    return [{key: array[region] for key, region in regions.items()} for regions in levels]


@takes_arrays("arr", transforms=False)
def _cut_carefully(arr: Any, coeff_slices: Any, output_format: str) -> list[Any]:
    """Check all that `array_to_coeffs` was given, and take the bands out of an array of any kind."""
    array = as_array(arr)
    return _lay_out(coeff_slices, lambda region, where: _cut_out(array, region, where), output_format)


@takes_arrays("arr", transforms=False)
def _unravel_carefully(arr: Any, coeff_slices: Any, coeff_shapes: Any, output_format: str) -> list[Any]:
    """Check all that `unravel_coeffs` was given, and take the bands out of an array of any kind."""
    array = as_array(arr)
    for name, entries in (("coeff_slices", coeff_slices), ("coeff_shapes", coeff_shapes)):
        _check_list(name, entries)
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
        piece = _cut_out(array, region, where)
        if piece.size != prod(shape):
            raise CoefficientsError(
                f"arr has {array.size} coefficients, too few for a band of shape {shape} at {region}"
            )
        return piece.reshape(shape)

    return _lay_out(coeff_slices, take, output_format)


def _lay_out(
    coeff_slices: Sequence[Any],
    take: Callable[[Any, tuple[int, str | None]], Array],
    output_format: str,
) -> list[Any]:
    """Make a list in the form of one of the `wavedec` functions, getting each band from `take`."""
    if output_format not in _FORMATS:
        raise ArgumentError(f"output_format={output_format!r} is none of {', '.join(map(repr, _FORMATS))}")
    _check_list("coeff_slices", coeff_slices)
    if len(coeff_slices) == 0:
        raise ArgumentError("coeff_slices is empty; it comes from coeffs_to_array or ravel_coeffs")
    wanted = _FORMATS[output_format]
    result: list[Any] = [take(coeff_slices[0], (0, None))]
    for number, regions in enumerate(coeff_slices[1:], start=1):
        if not isinstance(regions, Mapping):
            raise CoefficientsError(
                f"coeff_slices[{number}] is a {type(regions).__name__}; it must be a dictionary of slices as "
                "coeffs_to_array and ravel_coeffs return it"
            )
        if wanted is not None and set(wanted) != set(regions):
            raise CoefficientsError(
                f"output_format={output_format!r} takes bands {list(wanted)} and there are {sorted(regions)}; "
                "use 'wavedecn'"
            )
        bands = {key: take(regions[key], (number, key)) for key in wanted or regions}
        if wanted is None:
            result.append(bands)
        else:
            result.append(bands["d"] if len(wanted) == 1 else tuple(bands.values()))
    return result


def _check_list(name: str, entries: Any) -> None:
    """Refuse what cannot be a list of slices or shapes."""
    if not isinstance(entries, list | tuple):
        raise ArgumentTypeError(
            f"{name} is a {type(entries).__name__}; it must be the list that coeffs_to_array or ravel_coeffs returned"
        )


def _cut_out(array: Array, region: Any, where: tuple[int, str | None]) -> Array:
    """Return a region of the array, which has to be given by slices."""
    try:
        return as_array(array[region])
    except (IndexError, TypeError) as error:
        number, key = where
        name = f"coeff_slices[{number}]" + ("" if key is None else f"[{key!r}]")
        raise CoefficientsError(
            f"{name}={region!r} does not fit arr of shape {array.shape}: {error}; give both as they were returned"
        ) from None


def open_coefficients(coeffs: Sequence[Any] | Pyramid) -> tuple[Array, list[Bands]]:
    """Return approximation and details, whichever of the `wavedec` functions made them, or `decompose`."""
    if isinstance(coeffs, Pyramid):
        return coeffs.approximation, [{key: bands[key] for key in sorted(bands)} for bands in coeffs.details]
    if not isinstance(coeffs, list | tuple) or len(coeffs) == 0:
        raise CoefficientsError("coeffs must be a list as wavedec, wavedec2 or wavedecn return it, and not empty")
    if coeffs[0] is None:
        raise CoefficientsError("coeffs[0] is None; use np.zeros for a missing band")
    if isinstance(coeffs[0], tuple | Mapping):
        raise CoefficientsError("coeffs[0] is not an array; undecimated transforms need trim_approx=True for one")
    return as_array(coeffs[0]), [_name_details(entry, number) for number, entry in enumerate(coeffs) if number]


def _name_details(entry: Any, number: int) -> Bands:
    """Return the details of one level by their keys, in order of these."""
    if type(entry) is tuple and len(entry) == 3 and {*map(type, entry)} == _ARRAYS:
        rows, columns, both = entry
        return {"ad": columns, "da": rows, "dd": both}  # as most are, and in order
    if is_array(entry):
        bands: Mapping[str, Any] = {"d": entry}
    elif isinstance(entry, Mapping):
        bands = entry
    elif isinstance(entry, list | tuple) and len(entry) == 3:
        bands = dict(zip(_DETAILS_2D, entry, strict=True))
    else:
        raise CoefficientsError(
            f"coeffs[{number}] is a {type(entry).__name__}; it must be an array, a tuple of three arrays or a "
            "dictionary, as wavedec, wavedec2 and wavedecn return them"
        )
    for key, band in bands.items():
        if band is None:
            raise CoefficientsError(f"coeffs[{number}] has no band {key!r}; use np.zeros instead")
    return {key: as_array(bands[key]) for key in sorted(bands)}


def _match_axes(details: list[Bands], axes: Axes, ndim: int) -> tuple[int, ...]:
    """Return the transformed axes, as many as the keys have letters."""
    letters = check_keys(key for bands in details for key in bands)
    if axes is None and letters != ndim:
        raise AxesError(f"only {letters} of {ndim} axes were transformed; name them with axes")
    normal = normalise_axes(axes, ndim, distinct=True)
    if len(normal) != letters:
        raise AxesError(f"axes={normal} names {len(normal)} axes and {letters} were transformed")
    return normal


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
    missing = {"".join(key) for key in product("ad", repeat=letters)} - {"a" * letters} - set(keys)
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

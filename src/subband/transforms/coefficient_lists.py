"""Lists of coefficients as `wavedec`, `wavedec2` and `wavedecn` return them: opened, and made of single bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.arrays import as_array, is_array
from subband.errors import ArgumentError, ArgumentTypeError, AxesError, CoefficientsError
from subband.pyramid import Pyramid
from subband.transforms.arguments import Axes, normalise_axes
from subband.transforms.levels import check_keys
from subband.typing import Array, Bands

__all__ = [
    "DETAILS_2D",
    "FORMATS",
    "REFUSALS",
    "OutputFormat",
    "check_list",
    "cut_by_key",
    "cut_out",
    "lay_out",
    "match_axes",
    "open_coefficients",
]

OutputFormat: TypeAlias = Literal["wavedec", "wavedec2", "wavedecn", "swt", "swt2", "swtn"]

#: The order of the three details of `wavedec2`.
DETAILS_2D = ("da", "ad", "dd")

#: The bands of each level that an output format takes, in its order; None for a dictionary of any.
FORMATS = {
    "wavedec": ("d",),
    "wavedec2": DETAILS_2D,
    "wavedecn": None,
    "swt": ("d",),
    "swt2": DETAILS_2D,
    "swtn": None,
}

_ARRAYS = {np.ndarray}

#: What is raised where slices or shapes are not as they should be.
REFUSALS = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


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
        bands = dict(zip(DETAILS_2D, entry, strict=True))
    else:
        raise CoefficientsError(
            f"coeffs[{number}] is a {type(entry).__name__}; it must be an array, a tuple of three arrays or a "
            "dictionary, as wavedec, wavedec2 and wavedecn return them"
        )
    for key, band in bands.items():
        if band is None:
            raise CoefficientsError(f"coeffs[{number}] has no band {key!r}; use np.zeros instead")
    return {key: as_array(bands[key]) for key in sorted(bands)}


def match_axes(details: list[Bands], axes: Axes, ndim: int) -> tuple[int, ...]:
    """Return the transformed axes, as many as the keys have letters."""
    letters = check_keys(key for bands in details for key in bands)
    if axes is None and letters != ndim:
        raise AxesError(f"only {letters} of {ndim} axes were transformed; name them with axes")
    normal = normalise_axes(axes, ndim, distinct=True)
    if len(normal) != letters:
        raise AxesError(f"axes={normal} names {len(normal)} axes and {letters} were transformed")
    return normal


def cut_by_key(array: Array, levels: list[Any]) -> list[Any]:
    """Cut out the bands of levels; in a function of its own because others are slower if they hold a comprehension."""
    return [{key: array[region] for key, region in regions.items()} for regions in levels]


def lay_out(
    coeff_slices: Sequence[Any],
    take: Callable[[Any, tuple[int, str | None]], Array],
    output_format: str,
) -> list[Any]:
    """Make a list in the form of one of the `wavedec` functions, getting each band from `take`."""
    if output_format not in FORMATS:
        raise ArgumentError(f"output_format={output_format!r} is none of {', '.join(map(repr, FORMATS))}")
    check_list("coeff_slices", coeff_slices)
    if len(coeff_slices) == 0:
        raise ArgumentError("coeff_slices is empty; it comes from coeffs_to_array or ravel_coeffs")
    wanted = FORMATS[output_format]
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


def check_list(name: str, entries: Any) -> None:
    """Refuse what cannot be a list of slices or shapes."""
    if not isinstance(entries, list | tuple):
        raise ArgumentTypeError(
            f"{name} is a {type(entries).__name__}; it must be the list that coeffs_to_array or ravel_coeffs returned"
        )


def cut_out(array: Array, region: Any, where: tuple[int, str | None]) -> Array:
    """Return a region of the array, which has to be given by slices."""
    try:
        return as_array(array[region])
    except (IndexError, TypeError) as error:
        number, key = where
        name = f"coeff_slices[{number}]" + ("" if key is None else f"[{key!r}]")
        raise CoefficientsError(
            f"{name}={region!r} does not fit arr of shape {array.shape}: {error}; give both as they were returned"
        ) from None

"""The fully separable transform: all levels of one axis, then all levels of the next."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from operator import index
from typing import Any

import numpy as np

from subband.arrays import as_array, as_computable, concatenate
from subband.engines import Engine
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, CoefficientsError, LevelError
from subband.transforms.arguments import (
    Axes,
    ModeLike,
    check_level,
    modes_for_axes,
    normalise_axes,
    wavelets_for_axes,
)
from subband.transforms.levels import split_level
from subband.transforms.modes import mode_name
from subband.transforms.multilevel import waverec
from subband.typing import Array
from subband.wavelets import Wavelet, WaveletLike

__all__ = ["FswavedecnResult", "fswavedecn", "fswaverecn"]


class FswavedecnResult:
    """The coefficients of a fully separable wavelet transform: one array, and the slices of each band.

    A band has one number for each transformed axis: 0 for the approximation, 1 for the coarsest details, and so on.

    Parameters
    ----------
    coeffs : ndarray
        All coefficients.
    coeff_slices : list of list of slice
        For each transformed axis the ranges of approximation and details, from coarse to fine.
    wavelets : list of Wavelet
        One for each transformed axis.
    mode_enums : list of str or int
        One for each transformed axis.
    axes : tuple of int
        The transformed axes.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import fswavedecn
    >>> result = fswavedecn(np.ones((8, 8)), "haar", levels=(1, 2))
    >>> result.levels, result.approx.shape, result[1, 2].shape
    ([1, 2], (4, 2), (4, 4))
    >>> result.detail_keys()
    [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """

    def __init__(
        self,
        coeffs: Array,
        coeff_slices: list[list[slice]],
        wavelets: Sequence[Wavelet],
        mode_enums: Sequence[ModeLike],
        axes: Sequence[int],
    ) -> None:
        self._coeffs = coeffs
        self._coeff_slices = coeff_slices
        self._wavelets = list(wavelets)
        self._modes = [mode_name(mode) for mode in mode_enums]
        self._axes = tuple(axes)
        if not len(self._axes) == len(coeff_slices) == len(self._wavelets) == len(self._modes):
            raise CoefficientsError(
                f"there are {len(self._axes)} axes, {len(coeff_slices)} lists of slices, "
                f"{len(self._wavelets)} wavelets and {len(self._modes)} modes; give as many of each"
            )

    @property
    def coeffs(self) -> Array:
        """All coefficients in one array; a new one must have the same shape."""
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Array) -> None:
        if value.shape != self._coeffs.shape:
            raise CoefficientsError(f"coeffs has shape {self._coeffs.shape} and cannot become one of {value.shape}")
        self._coeffs = value

    @property
    def coeff_slices(self) -> list[list[slice]]:
        """For each transformed axis the ranges of approximation and details."""
        return self._coeff_slices

    @property
    def ndim(self) -> int:
        """Number of dimensions of the array."""
        return self._coeffs.ndim

    @property
    def ndim_transform(self) -> int:
        """Number of transformed axes."""
        return len(self._axes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The transformed axes."""
        return self._axes

    @property
    def levels(self) -> list[int]:
        """Number of levels along each transformed axis."""
        return [len(slices) - 1 for slices in self._coeff_slices]

    @property
    def wavelets(self) -> list[Wavelet]:
        """The wavelet of each transformed axis."""
        return self._wavelets

    @property
    def wavelet_names(self) -> list[str]:
        """The name of the wavelet of each transformed axis."""
        return [wavelet.name for wavelet in self._wavelets]

    @property
    def modes(self) -> list[str]:
        """The boundary mode of each transformed axis."""
        return self._modes

    @property
    def approx(self) -> Array:
        """The approximation along all axes; setting it writes into `coeffs`."""
        return self[(0,) * self.ndim_transform]

    @approx.setter
    def approx(self, value: Array) -> None:
        self[(0,) * self.ndim_transform] = value

    def detail_keys(self) -> list[tuple[int, ...]]:
        """Return the keys of all bands but the approximation, in order."""
        return list(product(*(range(level + 1) for level in self.levels)))[1:]

    def __getitem__(self, levels: tuple[int, ...]) -> Array:
        return self._coeffs[self._locate(levels)]

    def __setitem__(self, levels: tuple[int, ...], value: Array) -> None:
        region = self._locate(levels)
        band = as_array(value)
        if band.shape != self._coeffs[region].shape:
            raise CoefficientsError(
                f"band {levels} has shape {self._coeffs[region].shape} and cannot become one of {band.shape}"
            )
        if band.dtype != self._coeffs.dtype:
            warnings.warn(
                f"band {levels} of dtype {band.dtype} is converted to {self._coeffs.dtype}, that of all coefficients",
                stacklevel=2,
            )
        self._coeffs[region] = band

    def _replace_arrays(self, function: Callable[[Any], Any]) -> FswavedecnResult:
        """Return the same bands in an array of another kind; called by `subband.arrays`."""
        return FswavedecnResult(function(self._coeffs), self._coeff_slices, self._wavelets, self._modes, self._axes)

    def _locate(self, levels: tuple[int, ...]) -> tuple[slice, ...]:
        """Return the slices of a band in the array."""
        try:
            numbers = [index(level) for level in levels]
        except TypeError:
            numbers = [-1]
        if min(numbers, default=0) < 0:
            raise ArgumentError(f"levels={levels!r} is not a key; use a tuple of integers from 0, such as (0, 1)")
        if len(numbers) != self.ndim_transform:
            raise ArgumentError(f"levels={levels} has not one number for each of the {self.ndim_transform} axes")
        region = [slice(None)] * self.ndim
        for axis, slices, number in zip(self._axes, self._coeff_slices, numbers, strict=True):
            if number >= len(slices):
                raise LevelError(f"levels={levels} is out of range; the numbers of levels are {self.levels}")
            region[axis] = slices[number]
        return tuple(region)


@takes_arrays("data")
def fswavedecn(
    data: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    levels: int | Sequence[int | None] | None = None,
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> FswavedecnResult:
    """Fully separable wavelet decomposition: all levels along one axis, then along the next.

    Unlike `wavedecn`, which splits only the approximation further, this gives bands that are fine along one axis and
    coarse along another.

    Parameters
    ----------
    data : array_like
        Samples; axes not in `axes` are carried along.
    wavelet : Wavelet, str, or sequence of these
        One for all axes, or one for each.
    mode : str, int, or sequence of these
        The boundary mode, one for all axes or one for each.
    levels : int, or one for each axis, optional
        Number of levels; None is `dwt_max_level` of that axis.
    axes : sequence of int, optional
        The axes to transform, all by default.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    FswavedecnResult
        All coefficients in one array, with access to single bands.

    Raises
    ------
    LevelError
        If there are not as many levels as axes, or one is negative.
    AxesError
        If an axis does not exist or is repeated.

    Warns
    -----
    UserWarning
        If a level is greater than `dwt_max_level`.

    References
    ----------
    P. H. Westerink, *Subband Coding of Images*, Delft University of Technology, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import fswavedecn, fswaverecn
    >>> x = np.arange(64.0).reshape(8, 8)
    >>> result = fswavedecn(x, "haar", levels=(1, 3))
    >>> result.coeffs.shape, result.levels
    ((8, 8), [1, 3])
    >>> np.allclose(fswaverecn(result), x)
    True
    """
    x = as_computable(data)
    normal = normalise_axes(axes, x.ndim, distinct=True)
    wavelets, modes = wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal)
    counts = _list_levels(levels, len(normal))
    if len(counts) != len(normal):
        raise LevelError(f"levels names {len(counts)} levels for {len(normal)} axes; give one, or one for each axis")
    coeff_slices = []
    for axis, bank, name, count in zip(normal, wavelets, modes, counts, strict=True):
        level = check_level([x.shape[axis]], [bank], count)
        bands = _split_axis(x, axis, bank, name, level) if level else [x]
        ends = np.cumsum([0, *(band.shape[axis] for band in bands)]).tolist()
        coeff_slices.append([slice(start, stop) for start, stop in pairwise(ends)])
        x = concatenate(bands, axis)
    return FswavedecnResult(x, coeff_slices, wavelets, modes, normal)


@takes_arrays("x", are_read=True)
def _split_axis(x: Array, axis: int, wavelet: Wavelet, mode: str, level: int) -> list[Array]:
    """Return the approximation along an axis, and the details from coarse to fine."""
    details: list[Array] = []
    for _ in range(level):
        split = split_level(x, (axis,), (wavelet,), (mode,))
        x = split["a"]
        details.append(split["d"])
    return [x, *reversed(details)]


def _list_levels(levels: Any, count: int) -> list[Any]:
    """Return one number of levels for each axis: the same for all, unless there are several."""
    # Text and arrays of no dimension can be asked for an iterator, and have none that means anything.
    if isinstance(levels, Iterable) and not isinstance(levels, str) and getattr(levels, "ndim", 1) != 0:
        return list(levels)
    return [levels] * count


def fswaverecn(fswavedecn_result: FswavedecnResult, *, engine: str | Engine | None = None) -> Array:
    """Inverse fully separable wavelet transform.

    Parameters
    ----------
    fswavedecn_result : FswavedecnResult
        What `fswavedecn` returned.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    ndarray
        The samples. An odd axis comes back with one more sample, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If it is given something else.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import fswavedecn, fswaverecn
    >>> fswaverecn(fswavedecn(np.ones((4, 8)), "db2", mode="periodization")).shape
    (4, 8)
    """
    result = fswavedecn_result
    if not isinstance(result, FswavedecnResult):
        raise CoefficientsError(
            f"fswavedecn_result is a {type(result).__name__}; it must be the FswavedecnResult that fswavedecn returns"
        )
    return _merge_axes(result.coeffs, result) if engine is None else _merge_axes(result.coeffs, result, engine=engine)


@takes_arrays("x")
def _merge_axes(x: Array, result: FswavedecnResult, *, engine: str | Engine | None = None) -> Array:
    """Merge an array along all axes that `result` has, as it says."""
    for axis, slices, bank, name in zip(result.axes, result.coeff_slices, result.wavelets, result.modes, strict=True):
        before = (slice(None),) * axis
        x = waverec([x[(*before, window)] for window in slices], bank, name, axis)
    return x

"""Labelled arrays of xarray: denoising and transforms that keep dimensions, coordinates and attributes.

Importing this module gives every ``DataArray`` an accessor ``.wavelets``. Arrays of Dask inside stay lazy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from importlib.util import find_spec
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.enhance import denoise
from subband.errors import AxesError, MissingExtraError
from subband.integrations.centres import find_centre
from subband.pyramid import Pyramid
from subband.transforms.decomposition import decompose, reconstruct
from subband.typing import Array
from subband.wavelets import WaveletLike

if find_spec("xarray") is None:
    raise MissingExtraError("subband.integrations.xarray", "xarray")

import xarray as xr

__all__ = ["LabelledPyramid", "WaveletAccessor"]


@xr.register_dataarray_accessor("wavelets")
class WaveletAccessor:
    """What ``array.wavelets`` offers.

    Parameters
    ----------
    array : DataArray
        The array.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import subband.integrations.xarray
    >>> temperature = xarray.DataArray(
    ...     np.random.default_rng(0).normal(15, 1, (64, 96)),
    ...     coords={"lat": np.linspace(50, 40, 64), "lon": np.linspace(0, 15, 96)},
    ...     dims=("lat", "lon"),
    ...     attrs={"units": "degC"},
    ... )
    >>> better = temperature.wavelets.denoise()
    >>> better.dims, better.attrs, bool((better.lat == temperature.lat).all())
    (('lat', 'lon'), {'units': 'degC'}, True)
    """

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def denoise(
        self,
        sigma: float | None = None,
        *,
        dim: Hashable | Iterable[Hashable] | None = None,
        channel_dim: Hashable | None = None,
        **options: Any,
    ) -> xr.DataArray:
        """Denoise along some dimensions, as `subband.denoise` does.

        Parameters
        ----------
        sigma : float, optional
            Standard deviation of the noise; measured in the array if left out.
        dim : str or sequence of str, optional
            One to three dimensions of space; along others, such as time, lie images that have nothing to do with each
            other. All but the channels if left out.
        channel_dim : str, optional
            The dimension of channels, such as red, green and blue.
        **options
            Of `subband.denoise`, such as ``method="wiener"``, or ``nonfinite="mask"`` for arrays with NaN.

        Returns
        -------
        DataArray
            With the same dimensions, coordinates, attributes and name.

        Raises
        ------
        AxesError
            If there is no such dimension.
        """
        axes = None if dim is None else _find_axes(self._array, dim)
        channel = None if channel_dim is None else _find_axes(self._array, channel_dim)[0]
        cleaned = denoise(self._array.data, sigma, axes=axes, channel_axis=channel, **options)
        return self._array.copy(data=cleaned)

    def decompose(
        self,
        wavelet: WaveletLike = "cdf97",
        level: int | None = None,
        mode: str | None = None,
        dim: Hashable | Iterable[Hashable] | None = None,
        engine: str | Engine | None = None,
    ) -> LabelledPyramid:
        """Transform into bands whose coordinates say where their coefficients lie.

        Parameters
        ----------
        wavelet, level, mode, engine
            As `subband.decompose` takes them; also one wavelet or mode for each dimension.
        dim : str or sequence of str, optional
            The dimensions to transform; all if left out.

        Returns
        -------
        LabelledPyramid
            The bands.

        Raises
        ------
        AxesError
            If there is no such dimension.
        """
        axes = _find_axes(self._array, self._array.dims if dim is None else dim)
        return LabelledPyramid(decompose(self._array.data, wavelet, level, mode, axes, engine), self._array)


class LabelledPyramid(Mapping[tuple[int, str], xr.DataArray]):
    """The bands of a transformed ``DataArray``, by level and key, each with coordinates.

    Along a transformed dimension, the coordinate of a coefficient is that of the array at the centre of its filter:
    interpolated between samples, and continued where a filter begins beyond the ends. Numbers and times are; other
    coordinates along these dimensions, such as names, are left out.

    Parameters
    ----------
    pyramid : Pyramid
        The bands.
    array : DataArray
        Whose dimensions, coordinates, attributes and name they get.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import subband.integrations.xarray
    >>> array = xarray.DataArray(np.arange(8.0), {"x": np.linspace(10, 80, 8)}, ("x",), attrs={"units": "m"})
    >>> bands = array.wavelets.decompose("haar", level=1)
    >>> list(bands), bands[1, "a"].x.values
    ([(1, 'a'), (1, 'd')], array([15., 35., 55., 75.]))
    >>> bands[1, "d"] = 0
    >>> bands.reconstruct().attrs
    {'units': 'm'}
    """

    def __init__(self, pyramid: Pyramid, array: xr.DataArray) -> None:
        self.pyramid = pyramid
        # without its values, which the bands hold
        self._coords, self._dims, self._attrs, self._name = array.coords, array.dims, array.attrs, array.name

    def __getitem__(self, index: tuple[int, str]) -> xr.DataArray:
        band = self.pyramid[index]
        return xr.DataArray(band, self._find_coords(band, *index), self._dims, self._name, self._attrs)

    def __setitem__(self, index: tuple[int, str], value: Any) -> None:
        self.pyramid[index] = value.transpose(*self._dims).data if isinstance(value, xr.DataArray) else value

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return ((level, key) for level, key, _ in self.pyramid.bands())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<LabelledPyramid of {' × '.join(map(str, self._dims))}: {self.pyramid!r}>"

    def map(self, function: Callable[[xr.DataArray, int, str], xr.DataArray]) -> LabelledPyramid:
        """Return the pyramid whose every band is ``function(band, level, key)``."""
        changed = self.pyramid.map(
            lambda _, level, key: function(self[level, key], level, key).transpose(*self._dims).data
        )
        other = copy(self)
        other.pyramid = changed
        return other

    def reconstruct(self, engine: str | Engine | None = None) -> xr.DataArray:
        """Return the array that the bands make, with the coordinates and attributes that it had."""
        return xr.DataArray(reconstruct(self.pyramid, engine=engine), self._coords, self._dims, self._name, self._attrs)

    def _find_coords(self, band: Array, level: int, key: str) -> dict[Hashable, Any]:
        """Return the coordinates of a band."""
        pyramid = self.pyramid
        transformed = {self._dims[axis] for axis in pyramid.axes}
        coords = {name: each for name, each in self._coords.items() if not transformed & set(each.dims)}
        for number, (axis, letter) in enumerate(zip(pyramid.axes, key, strict=True)):
            dim = self._dims[axis]
            if dim not in self._coords or (known := self._coords[dim]).dtype.kind not in "iufmM":
                continue
            start = find_centre(pyramid.plan.wavelets[number], pyramid.plan.modes[number], level, letter)
            values = _interpolate(known.values, start + 2**level * np.arange(band.shape[axis]))
            coords[dim] = xr.DataArray(values, dims=(dim,), attrs=known.attrs)
        return coords


def _interpolate(values: Array, positions: Array) -> Array:
    """Return coordinates between samples, and beyond the ends as the outermost steps go on."""
    if values.dtype.kind in "iu":
        values = values.astype(np.float64)
    origin = values[0]
    # of times, as of numbers, the distances to the first are numbers
    distances = (values - origin).astype(np.float64)
    index = np.clip(np.floor(positions).astype(int), 0, max(len(values) - 2, 0))
    steps = np.diff(distances, append=distances[-1])[index]
    moved = distances[index] + (positions - index) * steps
    if values.dtype.kind in "mM":
        moved = np.rint(moved).astype(np.int64).astype((values[:1] - origin).dtype)
    return np.asarray(origin + moved)


def _find_axes(array: xr.DataArray, dims: Hashable | Iterable[Hashable]) -> tuple[int, ...]:
    names = [dims] if isinstance(dims, str) or not isinstance(dims, Iterable) else [*dims]
    for name in names:
        if name not in array.dims:
            raise AxesError(f"there is no dimension {name!r}; the array has {', '.join(map(repr, array.dims))}")
    return tuple(array.dims.index(name) for name in names)

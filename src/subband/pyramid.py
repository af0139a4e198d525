"""The coefficients of a multilevel transform, with all that is needed to invert them exactly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import add, neg, sub
from typing import Any, TypeAlias

import numpy as np

from subband.arrays import allocate_zeros, find_owner, is_foreign, numpy_dtype, to_host
from subband.errors import ArgumentError, CoefficientsError, DtypeError, FormatError, ShapeError
from subband.plan import LevelPlan, TransformPlan, list_keys
from subband.stationary import StationaryPlan, StationaryTransformPlan
from subband.typing import Array, Bands
from subband.wavelets import WaveletLike

__all__ = ["Pyramid"]

Plan: TypeAlias = TransformPlan | StationaryTransformPlan

#: What layers below compute for methods of pyramids, loaded when it is first asked for.
_METHODS: dict[str, Callable[[], Callable[..., Any]]] = {}


def register_method(name: str, load: Callable[[], Callable[..., Any]]) -> None:
    """Say what computes for a method of `Pyramid`: a function that takes the pyramid first."""
    _METHODS[name] = load


class Pyramid:
    """The coefficients of a multilevel wavelet transform: an approximation, and details of each level.

    A pyramid iterates like the lists of PyWavelets: the approximation, then the details from the coarsest level to
    the finest. Details are arrays for one transformed axis, tuples ``(cH, cV, cD)`` for two, and dictionaries for more.
    ``pyramid[1, "dd"]`` is one band, level 1 being the finest, and can be assigned to. Pyramids of the same transform
    are added and subtracted, and any is multiplied by a number.

    Parameters
    ----------
    plan : TransformPlan or StationaryTransformPlan
        What was done.
    approximation : array
        The coarsest band.
    details : sequence of dict
        ``{'ad': …, 'da': …, 'dd': …}`` of each level, the coarsest first.
    dtype : dtype, optional
        What the array held, where that is not what the bands hold.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose
    >>> pyramid = decompose(np.arange(48.0).reshape(6, 8), "haar", level=2)
    >>> pyramid
    <Pyramid of (6, 8) float64: 2 levels of 'haar', symmetric, along axes (0, 1)>
    >>> approximation, coarse, fine = pyramid
    >>> approximation.shape, fine[0].shape
    ((2, 2), (3, 4))
    >>> pyramid[1, "dd"] = 0
    >>> (2 * pyramid).reconstruct().shape
    (6, 8)
    """

    #: NumPy leaves arithmetic with its numbers to the pyramid.
    __array_ufunc__ = None

    def __init__(
        self, plan: Plan, approximation: Array, details: Sequence[Mapping[str, Array]], dtype: Any = None
    ) -> None:
        _check_bands(plan, approximation, details)
        self.plan = plan
        self.approximation = approximation
        self.details: tuple[Bands, ...] = tuple(dict(bands) for bands in details)
        self.dtype = numpy_dtype(approximation) if dtype is None else np.dtype(dtype)

    def refill(self, arrays: Iterator[Array]) -> Pyramid:
        """Return a pyramid of the same transform with other arrays: the approximation, then all bands in their order.

        Their shapes and dtypes are taken to be the same, and not checked.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose
        >>> pyramid = decompose(np.arange(8.0), "haar", level=1)
        >>> pyramid.refill(iter([np.zeros(4), np.ones(4)]))[1, "d"]
        array([1., 1., 1., 1.])
        """
        other = object.__new__(Pyramid)
        other.plan, other.approximation, other.dtype = self.plan, next(arrays), self.dtype
        # keys first: zip takes no array any more once they have ended
        other.details = tuple([dict(zip(bands, arrays, strict=False)) for bands in self.details])
        return other

    @property
    def level(self) -> int:
        """Number of levels."""
        return self.plan.level

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array that was transformed."""
        return self.plan.shape

    @property
    def axes(self) -> tuple[int, ...]:
        """The transformed axes."""
        return self.plan.axes

    @property
    def is_stationary(self) -> bool:
        """Whether the transform was undecimated."""
        return isinstance(self.plan, StationaryTransformPlan)

    def __len__(self) -> int:
        return 1 + len(self.details)

    def __contains__(self, index: object) -> bool:
        """Tell whether there is such a band, such as ``(1, "dd")``; arrays are not looked for."""
        try:
            self._find_band(index)
        except CoefficientsError:
            return False
        return True

    def __getitem__(self, index: int | slice | tuple[int, str]) -> Any:
        if not isinstance(index, tuple | str):
            return self.to_coeffs()[index]
        bands, key = self._find_band(index)
        return self.approximation if bands is None else bands[key]

    def __setitem__(self, index: tuple[int, str], value: Any) -> None:
        bands, key = self._find_band(index)
        old = self.approximation if bands is None else bands[key]
        if np.ndim(value) == 0 and not is_foreign(value):
            band = _fill(old, value)
        else:
            band = value if hasattr(value, "shape") else np.asarray(value)
        if band.shape != old.shape:
            raise CoefficientsError(f"band {index} has shape {old.shape} and cannot become one of {tuple(band.shape)}")
        if bands is None:
            self.approximation = band
        else:
            bands[key] = band

    def _find_band(self, index: Any) -> tuple[Bands | None, str]:
        """Return the level that holds a band and its key there; None for the approximation."""
        level, key = index if isinstance(index, tuple) and len(index) == 2 else (None, None)
        if level == self.level and key == "a" * len(self.axes):
            return None, key
        if isinstance(level, int | np.integer) and 1 <= level <= self.level:
            bands = self.details[self.level - level]
            if key in bands:
                return bands, key
        raise CoefficientsError(
            f"pyramid[{index!r}] is no band; use a level from 1, the finest, to {self.level} and one of "
            f"{', '.join(map(repr, list_keys(len(self.axes))[1:]))}, or {(self.level, 'a' * len(self.axes))} for the "
            "approximation"
        )

    def __add__(self, other: Pyramid) -> Pyramid:
        return self._combine(other, add)

    def __sub__(self, other: Pyramid) -> Pyramid:
        return self._combine(other, sub)

    def __mul__(self, factor: Any) -> Pyramid:
        if isinstance(factor, Pyramid) or np.ndim(factor):
            return NotImplemented
        return self._replace_arrays(lambda band: band * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Pyramid:
        if isinstance(divisor, Pyramid) or np.ndim(divisor):
            return NotImplemented
        return self._replace_arrays(lambda band: band / divisor)

    def __neg__(self) -> Pyramid:
        return self._replace_arrays(neg)

    def __pos__(self) -> Pyramid:
        return self

    def _combine(self, other: Pyramid, operation: Callable[[Any, Any], Any]) -> Pyramid:
        if not isinstance(other, Pyramid):
            return NotImplemented
        if other.plan != self.plan:
            raise CoefficientsError(f"{self} and {other} come from different transforms; they cannot be combined")
        return self.map(lambda band, level, key: operation(band, other[level, key]))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_coeffs())

    def to_coeffs(self) -> list[Any]:
        """Return the list that `wavedec`, `wavedec2` or `wavedecn` would return.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose, waverec
        >>> waverec(decompose(np.arange(6.0), "haar", level=1).to_coeffs(), "haar").round(12)
        array([0., 1., 2., 3., 4., 5.])
        """
        coeffs: list[Any] = [self.approximation]
        for bands in self.details:
            if len(self.axes) == 1:
                coeffs.append(bands["d"])
            elif len(self.axes) == 2:
                coeffs.append((bands["da"], bands["ad"], bands["dd"]))
            else:
                coeffs.append(dict(bands))
        return coeffs

    to_pywavelets = to_coeffs

    @classmethod
    def from_pywavelets(
        cls,
        coeffs: Sequence[Any],
        wavelet: WaveletLike | Sequence[WaveletLike],
        mode: str | Sequence[str] = "symmetric",
        axes: int | Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
    ) -> Pyramid:
        """Make a pyramid from what `wavedec`, `wavedec2` or `wavedecn` returned.

        Parameters
        ----------
        coeffs : list
            All bands, none of them None.
        wavelet, mode
            As of the forward transform.
        axes : int or sequence of int, optional
            The transformed axes: the last, the last two or all if left out, as the functions have it.
        shape : sequence of int, optional
            Of the array that was transformed, which tells odd lengths from even ones. Left out, lengths are even, as
            `waverec` has it.

        Raises
        ------
        CoefficientsError
            If the bands do not belong together.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import Pyramid, wavedec2
        >>> coeffs = wavedec2(np.ones((16, 24)), "db2", level=2)
        >>> Pyramid.from_pywavelets(coeffs, "db2")
        <Pyramid of (16, 24) float64: 2 levels of 'db2', symmetric, along axes (0, 1)>
        """
        pyramid: Pyramid = _METHODS["from_pywavelets"]()(coeffs, wavelet, mode, axes, shape)
        return pyramid

    def bands(self) -> Iterator[tuple[int, str, Array]]:
        """Yield ``(level, key, array)`` of every band: level 1 is the finest, the approximation comes first."""
        yield self.level, "a" * len(self.axes), self.approximation
        for level, bands in zip(range(self.level, 0, -1), self.details, strict=True):
            for key, band in bands.items():
                yield level, key, band

    def map(self, function: Callable[[Array, int, str], Array]) -> Pyramid:
        """Return a pyramid whose every band is ``function(band, level, key)``.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose, reconstruct
        >>> pyramid = decompose(np.arange(8.0), "haar", level=1)
        >>> smooth = pyramid.map(lambda band, level, key: band * ("d" not in key))
        >>> reconstruct(smooth).round(6)
        array([0.5, 0.5, 2.5, 2.5, 4.5, 4.5, 6.5, 6.5])
        """
        mapped = [function(band, level, key) for level, key, band in self.bands()]
        bands = iter(mapped[1:])
        details = [dict(zip(level, bands, strict=False)) for level in self.details]
        return Pyramid(self.plan, mapped[0], details, self.dtype)

    def copy(self) -> Pyramid:
        """Return a pyramid with bands of its own, which can be assigned to and changed in place.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose
        >>> pyramid = decompose(np.arange(8.0), "haar", level=1)
        >>> changed = pyramid.copy()
        >>> changed[1, "d"] *= 2
        >>> bool((changed[1, "d"] == 2 * pyramid[1, "d"]).all())
        True
        """
        # arrays of every library can be multiplied, and dtypes and signs of zeros stay
        return self * 1

    #: Bands are assigned to in place, as entries of arrays are, and ``copy.copy`` of an array is one of its own.
    __copy__ = copy

    def reconstruct(self, engine: Any = None) -> Any:
        """Return the array that the bands make, as `subband.reconstruct` does.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose
        >>> decompose(np.arange(1.0, 5.0), "haar").reconstruct().round(12)
        array([1., 2., 3., 4.])
        """
        return _METHODS["reconstruct"]()(self, engine=engine)

    def threshold(self, value: float, mode: str = "soft", substitute: float = 0) -> Pyramid:
        """Return a pyramid whose details are shrunk as `subband.threshold` does; the approximation stays.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose
        >>> decompose(np.array([1.0, 3.0, 5.0, 9.0]), "haar", level=1).threshold(2)[1, "d"].round(3)
        array([-0.   , -0.828])
        """
        shrunk: Pyramid = _METHODS["threshold"]()(self, value, mode, substitute)
        return shrunk

    def keep(self, fraction: float) -> Pyramid:
        """Return a pyramid of the coefficients with the largest magnitudes, the others being zero.

        Parameters
        ----------
        fraction : float
            How many of all coefficients are kept, from 0 to 1; those that are equal to the last are kept too.

        Raises
        ------
        ArgumentError
            If `fraction` is not between 0 and 1.

        Examples
        --------
        >>> import subband
        >>> image = subband.data.camera()
        >>> pyramid = subband.decompose(image)
        >>> [round(subband.psnr(pyramid.keep(part).reconstruct(), image)) for part in (0.01, 0.1)]
        [27, 35]
        """
        if not isinstance(fraction, int | float | np.number) or not 0 <= fraction <= 1:
            raise ArgumentError(f"fraction={fraction!r} is not a number between 0 and 1")
        magnitudes = np.concatenate([np.abs(to_host(band)).ravel() for _, _, band in self.bands()])
        count = round(fraction * magnitudes.size)
        if count == 0:
            return self * 0
        least = np.partition(magnitudes, -count)[-count]
        shrink = _METHODS["threshold"]()
        # a Python number leaves the precision of bands as it is
        return self._replace_arrays(lambda band: shrink(band, float(least), "hard"))

    def plot(self, ax: Any = None, *, gain: float = 2.0) -> Any:
        """Draw the bands with matplotlib, as `subband.plot.mosaic` does, and return the axes."""
        return _METHODS["plot"]()(self, ax, gain=gain)

    def mosaic(self) -> Array:
        """Return all bands side by side in one array, the approximation in the first corner.

        The array has the shape of the transformed one where the mode is not expansive. Bands of an expansive mode
        are cut to what fits half of the level above.

        Raises
        ------
        CoefficientsError
            If the transform was undecimated: each of its bands is as large as the whole.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import decompose
        >>> decompose(np.ones((5, 7)), "cdf53", level=1).mosaic().shape
        (5, 7)
        """
        if isinstance(self.plan, StationaryTransformPlan):
            raise CoefficientsError("an undecimated pyramid has no mosaic: each band is as large as the array")
        owner = find_owner([("approximation", self.approximation)])
        if owner is not None and not owner.is_native:
            with owner.enter():
                mosaic: Array = owner.give_back(owner.take(self, "approximation").mosaic())
                return mosaic
        # for drawing alone
        from subband.mosaic import arrange_bands

        return arrange_bands(self.plan.levels, self.approximation, self.details)

    def picture(self, gain: float = 2.0) -> Array:
        """Return the mosaic as 8-bit grey values: the approximation as an image, details around mid-grey.

        Parameters
        ----------
        gain : float
            How much the details are amplified.

        Raises
        ------
        ArgumentError, CoefficientsError, DtypeError, ShapeError
            If coefficients are not finite, or the pyramid is undecimated, complex or empty.

        Notes
        -----
        Grey values are relative to the range of the approximation, so that of a transformed 8-bit image looks
        like the image itself in the corner. The result is a NumPy array, whatever the bands are.
        """
        if is_foreign(self.approximation):
            return self._replace_arrays(to_host).picture(gain)
        if self.approximation.dtype.kind == "c":
            raise DtypeError("a complex pyramid cannot be drawn as an image; draw its real or imaginary part")
        if not self.approximation.size:
            raise ShapeError(f"an array of shape {self.shape} cannot be drawn as an image: it is empty")
        if not self._is_finite:
            raise ArgumentError(
                f"{self!r} has coefficients that are NaN or infinite, which cannot be drawn; replace such samples "
                "before the transform, as with numpy.nan_to_num"
            )
        from subband.mosaic import Tones

        tones, count = Tones.fit(self.approximation, gain), len(self.axes)
        shifted = self.map(lambda band, level, key: tones.shift(band, (self.level - level) * count, key))
        return tones.draw(shifted.mosaic())

    @property
    def _is_finite(self) -> bool:
        return all(bool(np.isfinite(to_host(band)).all()) for _, _, band in self.bands())

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Array] | None = None) -> None:
        """Write the pyramid to a file, which appears under its name only when it is complete.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.h5`` or ``.hdf5`` gives a file of HDF5, which needs the extra ``volumes``: each band
            is a data set such as ``/level1/da``, and wavelet, modes and shape are attributes. Any other name gives
            NumPy's ``.npz``.
        extra : mapping of str to array, optional
            What else to keep in the file; `load` passes it over, and names must begin with a letter.

        Raises
        ------
        MissingExtraError
            If the name asks for HDF5, and h5py is not installed.
        ArgumentError
            If the folder does not exist, or `path` is one.
        OutputError
            If the disk is full, or the folder takes no files.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from subband import Pyramid, decompose, reconstruct
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     decompose(np.arange(9), "cdf53", reversible=True).save(f"{folder}/nine.npz")
        ...     print(reconstruct(Pyramid.load(f"{folder}/nine.npz")))
        [0 1 2 3 4 5 6 7 8]
        """
        # for files alone
        from subband.pyramid_files import PyramidFile, describe_plan, write_pyramid_file

        bands = {(level, key): to_host(band) for level, key, band in self.bands()}
        write_pyramid_file(path, PyramidFile(describe_plan(self.plan, self.dtype), bands, extra or {}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pyramid:
        """Read what `save` wrote, ``.npz`` or HDF5, whatever the name ends in.

        Raises
        ------
        FormatError
            If the file is not a saved pyramid.
        MissingExtraError
            If it is one of HDF5, and h5py is not installed.
        """
        from subband.pyramid_files import FORMAT, read_pyramid_file, rebuild_plan

        content = read_pyramid_file(path)
        try:
            about = content.about
            if about["format"] != FORMAT:
                raise FormatError(f"{os.fspath(path)!r} was written by a newer subband; update this one to read it")
            plan = rebuild_plan(about)
            count = len(plan.axes)
            details = [
                {key: content.bands[level, key] for key in list_keys(count)[1:]} for level in range(plan.level, 0, -1)
            ]
            return cls(plan, content.bands[plan.level, "a" * count], details, about["dtype"])
        except FormatError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise FormatError(f"{os.fspath(path)!r} is not a pyramid that subband saved") from error

    def _replace_arrays(self, function: Callable[[Any], Any]) -> Pyramid:
        """Return the same pyramid with arrays of another kind; called by `subband.arrays`."""
        details = [{key: function(band) for key, band in bands.items()} for bands in self.details]
        return Pyramid(self.plan, function(self.approximation), details, self.dtype)

    def _repr_png_(self) -> bytes | None:
        """Return the mosaic for notebooks, None if there is none: of other than two axes, undecimated, complex, NaN."""
        # for notebooks alone
        from subband.display import encode_png

        is_drawn = len(self.shape) == 2 == len(self.axes) and 0 not in self.shape and not self.is_stationary
        is_drawn = is_drawn and self.approximation.dtype.kind != "c" and self._is_finite
        return encode_png(self.picture()) if is_drawn else None

    def _repr_html_(self) -> str:
        from subband.display import embed_png, format_paragraph, format_table

        png = self._repr_png_()
        rows = [(level, key, " × ".join(map(str, band.shape))) for level, key, band in self.bands()]
        table = format_table(rows, ("level", "band", "shape"))
        return format_paragraph(repr(self)) + ("" if png is None else embed_png(png)) + table

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(repr(wavelet.name) for wavelet in self.plan.wavelets))
        modes = ", ".join(dict.fromkeys(self.plan.modes))
        kind = "integer " if self.plan.reversible else "undecimated " if self.is_stationary else ""
        levels = f"{self.level} {kind}level{'' if self.level == 1 else 's'}"
        return f"<Pyramid of {self.shape} {self.dtype}: {levels} of {names}, {modes}, along axes {self.axes}>"


def _fill(band: Any, value: Any) -> Any:
    """Return an array of one number, of the kind and dtype of `band`, which others may hold and is left alone."""
    owner = find_owner([("band", band)])
    assert owner is not None
    with owner.enter():
        # a Python number leaves the precision as it is
        number = value.item() if hasattr(value, "item") else value
        return owner.give_back(allocate_zeros(band.shape, owner.take(band, "band")) + number)


def _check_bands(plan: Plan, approximation: Array, details: Sequence[Mapping[str, Array]]) -> None:
    """Check that bands have the keys and shapes of the plan."""
    for band in (approximation, *(band for bands in details for band in bands.values())):
        if not hasattr(band, "shape"):
            raise CoefficientsError(f"a band is {band!r}, which is not an array; functions on bands must return arrays")
    if len(details) != plan.level:
        raise CoefficientsError(f"details has {len(details)} levels, and the plan has {plan.level}")
    if approximation.shape != plan.approximation_shape:
        raise CoefficientsError(
            f"approximation has shape {approximation.shape}; the plan of an array of shape {plan.shape} asks for "
            f"{plan.approximation_shape}"
        )
    levels: list[LevelPlan | StationaryPlan] = list(reversed(plan.levels))
    for number, (bands, level) in enumerate(zip(details, levels, strict=True)):
        wanted = {key: shape for key, shape in level.band_shapes.items() if "d" in key}
        if set(bands) != set(wanted):
            raise CoefficientsError(f"details[{number}] has the bands {sorted(bands)}; it needs {sorted(wanted)}")
        for key, shape in wanted.items():
            if bands[key].shape != shape:
                raise CoefficientsError(f"details[{number}][{key!r}] has shape {bands[key].shape}; it needs {shape}")

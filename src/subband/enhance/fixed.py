"""Fixed-point wavelet transforms: coefficients as unsigned integers of 8 to 16 bits.

Frame buffers, textures and files of images hold numbers in [0, 1) and clamp all others. `FixedPoint` transforms an
image so that every coefficient of every level is such a number, in 8 to 16 bits, and undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from subband.arrays import as_numbers, is_functional, to_host
from subband.boundary import check_mode
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.fixed import FixedPass, FixedPasses
from subband.enhance.fixed_lanes import HostPasses
from subband.enhance.fixed_scales import (
    Compensation,
    Scaling,
    bound_roundings,
    compensate,
    fit_range,
    scale_band,
    span_range,
    sum_negative,
)
from subband.errors import ArgumentError, ArgumentTypeError, AxesError, DtypeError, LevelError, ModeError, ShapeError
from subband.plan import AxisPlan, TransformPlan, axis_plan, list_keys, transform_plan
from subband.pyramid import Pyramid
from subband.transforms.arguments import normalise_axes
from subband.transforms.decomposition import choose_level
from subband.typing import Array, Bands, Direction
from subband.wavelets import Wavelet, WaveletLike, as_wavelet

__all__ = ["Compensation", "FixedPoint", "Scaling", "draw_bands", "plan_pass"]

#: The modes that repeat samples. Others make up numbers, which may leave the range or mean something else in a band.
_MODES = ("symmetric", "reflect", "constant", "periodic", "periodization", "whole")

#: How an engine is named.
EngineLike: TypeAlias = str | Engine | None

_host = HostPasses()


@dataclass(frozen=True)
class FixedPoint:
    r"""A transform whose coefficients are unsigned integers, which represent numbers in [0, 1).

    Parameters
    ----------
    wavelet : str or Wavelet
        Any that reconstructs perfectly; the shorter its filters, the less is lost.
    bits : int
        From 8, held as uint8, to 16, held as uint16. From 9 to 15 the lowest bits of the uint16 are zero, so that an
        integer represents the same number whatever the bits are.
    mode : str, optional
        How the image goes on outside its borders: ``'symmetric'``, ``'reflect'``, ``'constant'``, ``'periodic'``,
        ``'periodization'`` or ``'whole'``. The wavelet's own choice if left out, which mirrors the image.

    Raises
    ------
    ArgumentError
        If `bits` is out of range, or the wavelet is not known to reconstruct perfectly.
    ModeError
        If the mode makes up numbers, or the wavelet cannot take it.

    Notes
    -----
    Let :math:`h_-` and :math:`h_+` be the sums of the negative and of the positive taps of a filter. Samples in [0, 1)
    lead to sums from :math:`h_-` to :math:`h_+`, and the scale :math:`s = 1 / (h_+ - h_-)` and the bias
    :math:`b = -h_- s` bring them into [0, 1) again, pass by pass. The inverse has the scale :math:`1 / s` and the bias
    :math:`h_- \sum_i h_{2i}` for even and :math:`h_- \sum_i h_{2i+1}` for odd samples.

    An integer represents itself divided by :math:`2^8` or :math:`2^{16}`. So the bias ½ of the high-pass filter is held
    exactly: a detail of zero is 128 or 32768, in every band. The number 1 is not held; the integer next to it is off
    by half a unit at most where it is used.

    Every pass along an axis ends in rounding, as every pass of the paper's hardware ended in a frame buffer. Halves are
    rounded to even: half of all Haar sums are halves, and rounding them up would brighten the image level by level.
    Unlike in the paper's hardware, low and high part of a sample are added before they are rounded and clamped: of any
    wavelet but Haar the low part alone can leave [0, 1) beside an edge, and would be cut there.

    In between, numbers are float32: of its 24 bits at least 8 are left for fractions. Products and sums are rounded one
    by one in a fixed order, so that results are the same on every machine, and on CUDA and OpenCL the same bit by bit.

    *Only the last bit differs*, says the paper. That is so for coefficients, but for one in 100 000, and for images
    if coefficients have some bits more than pixels: 16 bits bring images of uint8 back exactly. It is not so with as
    many bits as the pixels have. Then images are off by up to 2 units after one level of Haar and about 10 after
    nine, by 4 after one level of ``'db2'`` and about 28 after four. `bound_error` tells what is certain.

    References
    ----------
    M. Hopf and T. Ertl, Hardware based wavelet transformations, Vision, Modeling, and Visualization, 1999.

    Examples
    --------
    >>> from subband import data
    >>> from subband.enhance import FixedPoint
    >>> fixed = FixedPoint("haar")
    >>> pyramid = fixed.forward(data.camera(), level=9)
    >>> pyramid
    <Pyramid of (512, 512) uint8: 9 levels of 'haar', symmetric, along axes (0, 1)>
    >>> pyramid.approximation.dtype, bool((fixed.inverse(pyramid) == data.camera()).all())
    (dtype('uint16'), True)

    The numbers of the paper, for Haar and for the four taps of Daubechies:

    >>> for wavelet in ("haar", "db2"):
    ...     for s, b in (FixedPoint(wavelet).low, FixedPoint(wavelet).high):
    ...         print(f"{wavelet}: s = {s:.6f}, b = {b:.6f}")
    haar: s = 0.707107, b = 0.000000
    haar: s = 0.707107, b = 0.500000
    db2: s = 0.597717, b = 0.077350
    db2: s = 0.597717, b = 0.500000
    """

    wavelet: WaveletLike = "haar"
    bits: int = 16
    mode: str | None = None

    def __post_init__(self) -> None:
        wavelet, bits = self._wavelet, self.bits
        if not (wavelet.orthogonal or wavelet.biorthogonal):
            raise ArgumentError(
                f"wavelet={wavelet.name!r} is not known to reconstruct perfectly; use one of the catalogue, such as "
                "'haar' or 'db2', or set wavelet.biorthogonal = True if yours does"
            )
        if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not 8 <= bits <= 16:
            raise ArgumentError(f"bits={bits!r} is not a number of bits; use 8, which is uint8, to 16, which is uint16")
        mode = wavelet.default_mode if self.mode is None else check_mode(self.mode)
        if mode not in _MODES:
            raise ModeError(
                f"mode={mode!r} makes up numbers that the image does not have; use one of {', '.join(_MODES)}"
            )
        axis_plan(wavelet, mode, 1)  # refuses 'whole' where the wavelet cannot take it
        object.__setattr__(self, "bits", int(bits))
        object.__setattr__(self, "mode", mode)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What holds a coefficient: uint8 or uint16."""
        return np.dtype(np.uint8 if self.bits == 8 else np.uint16)

    @property
    def low(self) -> Scaling:
        """What follows a pass of the low-pass filter: the paper's s_h and b_h."""
        return fit_range(self._wavelet.dec_lo)

    @property
    def high(self) -> Scaling:
        """What follows a pass of the high-pass filter: the paper's s_g and b_g."""
        return fit_range(self._wavelet.dec_hi)

    @property
    def compensation(self) -> tuple[Compensation, Compensation]:
        """What follows a pass of the inverse low-pass and of the inverse high-pass filter.

        Examples
        --------
        >>> from subband.enhance import FixedPoint
        >>> for part in (*FixedPoint("haar").compensation, *FixedPoint("db2").compensation):
        ...     print(f"{part.scale:.4f} {part.even:+.4f} {part.odd:+.4f}")
        1.4142 +0.0000 +0.0000
        1.4142 -0.5000 +0.5000
        1.6730 -0.0915 -0.0915
        1.6730 -0.5915 +0.5915
        """
        return compensate(self._wavelet)

    def scaling(self, level: int, key: str) -> Scaling:
        """Return scale and bias of the coefficients of a band, relative to the image.

        Parameters
        ----------
        level : int
            1 is the finest, and 0 the image.
        key : str
            One letter for each axis, ``'a'`` or ``'d'``.

        Examples
        --------
        The approximation of Daubechies' wavelet uses less of the range from level to level:

        >>> from subband.enhance import FixedPoint
        >>> for level in (0, 1, 4):
        ...     scale, bias = FixedPoint("db2").scaling(level, "aa")
        ...     print(f"level {level}: black is {bias:.3f}, white is {scale * 2**level + bias:.3f}")
        level 0: black is 0.000, white is 1.000
        level 1: black is 0.143, white is 0.857
        level 4: black is 0.370, white is 0.630
        """
        _check_count(level, "level")
        if not isinstance(key, str) or not key or set(key) - {"a", "d"} or (level == 0 and "d" in key):
            raise ArgumentError(f"key={key!r} names no band of level {level}; use a letter an axis, such as 'aa'")
        return scale_band(self._wavelet, level, key)

    def bound_error(self, level: int, dimensions: int = 2) -> float:
        """Return how far from what it was a sample may be at most, in units of the last of `bits`.

        An image comes back exactly if that is less than half of its own unit. All roundings are taken to be the worst
        and to add up; images show half of that or less.

        Parameters
        ----------
        level : int
            Number of levels.
        dimensions : int
            Number of transformed axes.

        Examples
        --------
        >>> from subband.enhance import FixedPoint
        >>> round(FixedPoint("haar", bits=8).bound_error(1), 2), round(FixedPoint("haar", bits=8).bound_error(9), 2)
        (4.5, 40.5)

        A unit of uint8 is 256 units of 16 bits, so that less than 128 is nothing:

        >>> FixedPoint("haar").bound_error(9) < 128, FixedPoint("db2").bound_error(4) < 128
        (True, True)
        """
        _check_count(level, "level")
        _check_count(dimensions, "dimensions")
        return bound_roundings(self._wavelet, self.bits, level, dimensions)

    def forward(
        self, picture: Any, level: int | None = None, axes: int | Sequence[int] = (-2, -1), engine: EngineLike = None
    ) -> Pyramid:
        """Transform an image.

        Parameters
        ----------
        picture : array_like of uint8, uint16 or float
            Integers represent themselves divided by 256 or 65536; uint16 needs 16 bits. Real numbers are from 0 to 1.
        level : int, optional
            Number of levels; as many as are useful if left out.
        axes : int or sequence of int
            The axes to transform, three of them for a volume; the others are carried along.
        engine : str, optional
            The engine that computes, such as ``'cuda'``; arrays of a device stay there. See `subband.set_engine`.

        Returns
        -------
        Pyramid
            Bands of `dtype`. For `subband.reconstruct`, which knows nothing of scale and bias, `unscale` it.

        Raises
        ------
        DtypeError
            If the image holds other numbers, or more bits than coefficients have.
        ArgumentError
            If a number is not finite or out of range.
        ShapeError
            If there is no pixel.
        LevelError
            If there are more levels than make sense.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.enhance import FixedPoint
        >>> pyramid = FixedPoint("haar", bits=8).forward(np.array([[10, 20], [30, 40]], np.uint8), level=1)
        >>> pyramid.mosaic()
        array([[ 25, 123],
               [118, 128]], dtype=uint8)
        """
        pyramid: Pyramid = call_natively(self._forward, {0: "picture"}, (picture, level, axes, engine), {}, engine)
        return pyramid

    def _forward(self, image: Any, level: int | None, axes: Any, engine: EngineLike) -> Pyramid:
        array = as_numbers(image, "picture")
        axes = normalise_axes(axes, array.ndim, distinct=True)
        if not axes:
            raise AxesError(f"axes={axes} is empty; name at least one axis of an image of shape {array.shape}")
        passes = _find_passes(array, engine)
        band = self._enter(array, passes)
        wavelets, modes = (self._wavelet,) * len(axes), (str(self.mode),) * len(axes)
        level = choose_level(level, band.shape, axes, wavelets, modes, stationary=False)
        plan = transform_plan(band.shape, axes, wavelets, modes, level)
        details: list[Bands] = []
        for level_plan in plan.levels:
            bands = {"": band}
            # As in the paper, lines come before columns.
            for axis, along in zip(reversed(axes), reversed(level_plan.plans), strict=True):
                task = plan_pass(self, "forward", along)
                halves = {key: passes.split(task, axis, whole) for key, whole in bands.items()}
                bands = {letter + key: halves[key][part] for part, letter in enumerate("ad") for key in halves}
            band = bands.pop("a" * len(axes))
            details.insert(0, bands)
        return Pyramid(plan, band, details, array.dtype.newbyteorder("="))

    def inverse(self, pyramid: Pyramid, engine: EngineLike = None) -> Array:
        """Turn a pyramid back into an image of the dtype that it had.

        Parameters
        ----------
        pyramid : Pyramid
            As `forward` returns it; bands may have been changed.
        engine : str, optional
            As in `forward`.

        Raises
        ------
        ArgumentTypeError
            If it is not a pyramid.
        ArgumentError
            If it was made with another wavelet or mode.
        DtypeError
            If a band does not hold what `forward` makes.
        """
        self._check(pyramid)
        image: Array = call_natively(self._inverse, {0: "pyramid"}, (pyramid, engine), {}, engine)
        return image

    def _inverse(self, pyramid: Pyramid, engine: EngineLike) -> Array:
        plan, band = self._check(pyramid), pyramid.approximation
        count, passes = len(plan.axes), _find_passes(band, engine)
        for level_plan, details in zip(reversed(plan.levels), pyramid.details, strict=True):
            bands = {"a" * count: band, **details}
            for position, (axis, along) in enumerate(zip(plan.axes, level_plan.plans, strict=True)):
                task = plan_pass(self, "inverse", along)
                keys = list_keys(count - position - 1)
                bands = {key: passes.merge(task, axis, bands["a" + key], bands["d" + key]) for key in keys}
            band = bands[""]
        whole: Array = passes.leave(band, pyramid.dtype)
        return whole

    def unscale(self, pyramid: Pyramid) -> Pyramid:
        """Return the coefficients that the integers represent, in units of the image, as `decompose` finds them.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import data, decompose
        >>> from subband.enhance import FixedPoint
        >>> fixed = FixedPoint("db2")
        >>> found = fixed.unscale(fixed.forward(data.camera(), level=3))
        >>> right = decompose(data.camera(), "db2", level=3)
        >>> bool(np.abs(found.approximation - right.approximation).max() < 0.2)
        True
        """
        self._check(pyramid)
        unit = 2.0 ** (8 * pyramid.dtype.itemsize) if pyramid.dtype.kind == "u" else 1.0

        def restore(band: Array, level: int, key: str) -> Array:
            scale, bias = self.scaling(level, key)
            return np.asarray((band / 2.0**self._width - bias) * (unit / scale))

        bands = pyramid.map(restore)
        return Pyramid(bands.plan, bands.approximation, bands.details)

    @cached_property
    def _wavelet(self) -> Wavelet:
        return as_wavelet(self.wavelet)

    @property
    def _width(self) -> int:
        """The bits of an integer, of which `bits` are used."""
        return 8 * self.dtype.itemsize

    def _enter(self, array: Any, passes: FixedPasses) -> Any:
        """Return an image as our own integers."""
        if not array.size:
            raise ShapeError(f"picture has shape {array.shape}; it needs at least 1 pixel")
        kind, width = array.dtype.kind, 8 * array.dtype.itemsize
        if kind != "f" and not (kind == "u" and width <= self.bits):
            way = "use bits=16" if (kind, width) == ("u", 16) else "convert it if its numbers fit uint8 or uint16"
            raise DtypeError(f"picture has dtype {array.dtype}, which {self.bits} bits do not hold; {way}")
        held = passes.enter(array, self.bits, self._width)
        if held is None:
            host = to_host(array)
            least, most = float(host.min()), float(host.max())
            found = f"from {least:g} to {most:g}" if np.isfinite([least, most]).all() else "that are not finite"
            raise ArgumentError(f"picture holds numbers {found}; real ones have to be from 0 to 1: scale or clip them")
        return held

    def _check(self, pyramid: Pyramid) -> TransformPlan:
        """Return the plan of a pyramid, and refuse one that `forward` has not made."""
        if not isinstance(pyramid, Pyramid):
            raise ArgumentTypeError(f"pyramid is a {type(pyramid).__name__}; give what `forward` returned")
        plan = pyramid.plan
        made_by = {*plan.wavelets, *plan.modes}
        if not isinstance(plan, TransformPlan) or plan.reversible or made_by != {self._wavelet, self.mode}:
            raise ArgumentError(f"pyramid is {pyramid!r}, which {self!r} has not made; use the one that has")
        for level, key, band in pyramid.bands():
            if band.dtype != self.dtype:
                raise DtypeError(f"band {key!r} of level {level} holds {band.dtype}; {self.bits} bits are {self.dtype}")
        if pyramid.dtype.kind != "f" and pyramid.dtype not in (np.uint8, np.uint16):
            raise DtypeError(f"pyramid is that of an array of {pyramid.dtype}; images are uint8, uint16 or real")
        return plan


def draw_bands(pyramid: Pyramid) -> Array:
    """Return the mosaic of a pyramid of `FixedPoint` as an image: the highest 8 bits of all coefficients as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.enhance import FixedPoint
    >>> draw_bands(FixedPoint("haar").forward(np.array([[10, 20], [30, 40]], np.uint8), level=1))
    array([[ 25, 123],
           [118, 128]], dtype=uint8)
    """
    mosaic = to_host(pyramid.mosaic())
    return mosaic if mosaic.dtype == np.uint8 else (mosaic >> 8).astype(np.uint8)


def _find_passes(array: Any, engine: EngineLike) -> FixedPasses:
    """Return what computes where an array is."""
    if isinstance(array, np.ndarray):
        return _host
    # imported with the first array of a device
    from subband.engines.device_engine import DeviceEngine
    from subband.engines.fixed_device import find_device_passes

    chosen = engine_for(array, engine)
    if is_functional(array) or not isinstance(chosen, DeviceEngine):
        raise ArgumentTypeError(
            "picture is an array that only its own library computes with; fixed point takes those of the host, of CUDA "
            "and of OpenCL: copy it there"
        )
    return find_device_passes(chosen)


@lru_cache(maxsize=1024)
def plan_pass(fixed: FixedPoint, direction: Direction, plan: AxisPlan) -> FixedPass:
    """Return a pass along an axis, with scale and bias in its taps."""
    wavelet, bits, width = fixed._wavelet, fixed.bits, fixed._width
    if direction == "forward":
        fits, bank, count = (fixed.low, fixed.high), plan.forward, plan.low
        start, stop = bank.reach(count)
        index, sources = plan.extend_samples(start, stop).index, (0, 0)
        rows = [np.multiply(row, fit.scale) for row, fit in zip(bank.taps, fits, strict=True)]
        biases = [fit.bias for fit in fits]
    else:
        bank, count = plan.inverse, plan.pairs
        start, stop = bank.reach(count)
        # Positions count low and high coefficients in turn, and the first of them may be either.
        index, sources = plan.extend_coefficients(start, stop).index // 2, (start % 2, (start + 1) % 2)
        is_high = np.arange(start, start + bank.width) % 2
        filters = (wavelet.dec_lo, wavelet.dec_hi)
        spans, negatives = (np.array([*map(f, filters)])[is_high] for f in (span_range, sum_negative))
        rows = [np.multiply(row, spans) for row in bank.taps]
        biases = [float(np.dot(row, negatives)) for row in bank.taps]
    unit = 2.0 ** (width - bits)
    first, second = (tuple(float(np.float32(tap / unit)) for tap in row) for row in rows)
    low, high = (float(np.float32(bias * 2.0**bits)) for bias in biases)
    return FixedPass(
        direction,
        (first, second),
        (low, high),
        sources,
        start,
        index.astype(np.int32),
        count,
        (plan.length, plan.low, plan.high),
        bits,
        width,
        # A single sample has no high coefficient; it counts as zero, which is not the integer 0.
        round(fixed.high.bias * 2**width),
    )


def _check_count(count: int, name: str) -> None:
    """Check a number of levels or axes."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise LevelError(f"{name}={count!r} is not a number of {name}s; use an integer of 0 or more")

"""`decompose` and `reconstruct`: from an array to a `Pyramid` and back, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.arrays import as_computable
from subband.boundary import extend, is_expansive
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for, takes_arrays
from subband.engines.prepared import is_described
from subband.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxesError,
    CoefficientsError,
    LevelError,
    ModeError,
    ShapeError,
)
from subband.plan import TransformPlan, find_integer_scheme, transform_plan
from subband.pyramid import Pyramid
from subband.schedule.levels import merge_levels, split_levels
from subband.stationary import StationaryTransformPlan, stationary_transform_plan
from subband.transforms.arguments import ModeLike, modes_for_axes, normalise_axes, useful_levels, wavelets_for_axes
from subband.transforms.chain import plan_inverse
from subband.transforms.coefficient_lists import open_coefficients
from subband.transforms.integers import as_integers, decompose_integers, reconstruct_integers
from subband.transforms.levels import check_axes_fit, check_keys
from subband.transforms.padding import extend_axis
from subband.typing import Array, Bands
from subband.wavelets import Wavelet, WaveletLike

__all__ = [
    "as_computable_bands",
    "choose_level",
    "choose_modes",
    "decompose",
    "make_plan",
    "make_pyramid",
    "reconstruct",
    "reconstruct_alike",
    "run_plan",
]


def decompose(
    x: Any,
    wavelet: WaveletLike | Sequence[WaveletLike] = "cdf97",
    level: int | None = None,
    mode: ModeLike | Sequence[ModeLike] | None = None,
    axes: int | Sequence[int] | None = None,
    engine: str | Engine | None = None,
    *,
    reversible: bool = False,
    stationary: bool = False,
) -> Pyramid:
    """Multilevel wavelet transform of an array, as a pyramid of bands that inverts to the exact shape.

    Parameters
    ----------
    x : array_like
        Any number of axes of any length, odd ones and single samples included. Finite numbers are expected.
    wavelet : str or Wavelet, or one for each axis
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful along every axis if left out. There can be more, up to what the
        longest axis allows, or in the undecimated form the shortest.
    mode : str, or one for each axis, optional
        How the array goes on outside its borders. The wavelet's own choice if left out: ``'whole'`` (as many
        coefficients as samples) for ``'cdf97'`` and ``'cdf53'``, ``'symmetric'`` for the others.
    axes : int or sequence of int, optional
        The axes to transform, all if left out; the others are carried along, such as frames and channels.
    engine : str, optional
        The engine that computes; see `set_engine`.
    reversible : bool
        Transform integers to integers, so that `reconstruct` gives back every bit: for ``'cdf53'`` and ``'haar'``,
        in mode ``'whole'``. Values and coefficients have to fit 32 bits.
    stationary : bool
        Do not drop every second coefficient: all bands have the size of the array, extended on both sides by
        ``pyramid.plan.margins`` samples so that no coefficient feels the opposite border. Any wavelet takes any mode.

    Returns
    -------
    Pyramid
        The bands, and all that `reconstruct` needs.

    Raises
    ------
    LevelError
        If there are more levels than make sense.
    ModeError
        If a mode is unknown or the wavelet cannot take it.
    DtypeError
        If `x` holds no numbers, or no integers where `reversible` is asked for.
    IntegerRangeError
        If a reversible coefficient does not fit 32 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, reconstruct
    >>> x = np.arange(35.0).reshape(5, 7)
    >>> pyramid = decompose(x, level=2)
    >>> [band.shape for level, key, band in pyramid.bands()]
    [(2, 2), (2, 2), (1, 2), (1, 2), (3, 3), (2, 4), (2, 3)]
    >>> np.allclose(reconstruct(pyramid), x)
    True

    Frames of colour video, each channel of each frame by itself:

    >>> frames = np.zeros((4, 90, 160, 3), np.float32)
    >>> decompose(frames, level=1, axes=(1, 2)).approximation.shape
    (4, 45, 80, 3)
    """
    if reversible and stationary:
        raise ArgumentError("reversible=True and stationary=True exclude each other; choose one")
    if engine is None and not (reversible or stationary) and is_described(x):
        return _decompose_again(x, wavelet, level, mode, axes)
    options = (wavelet, level, mode, axes, engine, reversible, stationary)
    pyramid: Pyramid = call_natively(_decompose, {0: "x"}, (x, *options), {}, engine)
    return pyramid


@takes_arrays("x")
def _decompose_again(
    x: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None,
    mode: ModeLike | Sequence[ModeLike] | None,
    axes: int | Sequence[int] | None,
) -> Pyramid:
    """Decompose an array like others before, which is looked up."""
    return _decompose(x, wavelet, level, mode, axes, None, False, False)


def _decompose(
    x: Any,
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None,
    mode: ModeLike | Sequence[ModeLike] | None,
    axes: int | Sequence[int] | None,
    engine: str | Engine | None,
    reversible: bool,
    stationary: bool,
) -> Pyramid:
    array = as_integers(x) if reversible else as_computable(x, "x")
    return run_plan(array, make_plan(array.shape, wavelet, level, mode, axes, reversible, stationary), engine)


def make_plan(
    shape: tuple[int, ...],
    wavelet: WaveletLike | Sequence[WaveletLike],
    level: int | None,
    mode: ModeLike | Sequence[ModeLike] | None,
    axes: int | Sequence[int] | None,
    reversible: bool,
    stationary: bool,
) -> TransformPlan | StationaryTransformPlan:
    """Plan what `decompose` does to an array of a shape, with the same arguments and errors."""
    axes = normalise_axes(axes, len(shape), distinct=True)
    if not axes:
        raise AxesError(f"axes={axes} is empty; name at least one axis of an array of shape {shape}")
    for axis in axes:
        if shape[axis] == 0:
            raise ShapeError(f"axis {axis} of x, of shape {shape}, is empty; it needs at least 1 sample")
    wavelets = wavelets_for_axes(wavelet, axes)
    modes = choose_modes(mode, wavelets, axes, reversible)
    level = choose_level(level, shape, axes, wavelets, modes, stationary)
    if stationary:
        return stationary_transform_plan(shape, axes, wavelets, modes, level)
    return transform_plan(shape, axes, wavelets, modes, level, reversible)


def run_plan(x: Array, plan: TransformPlan | StationaryTransformPlan, engine: str | Engine | None = None) -> Pyramid:
    """Transform a native array, of a dtype that engines compute in, by a plan that is made already."""
    chosen = engine_for(x, engine)
    if isinstance(plan, StationaryTransformPlan):
        return _decompose_stationary(chosen, x, plan)
    if plan.reversible:
        return decompose_integers(chosen, x, plan)
    return Pyramid(plan, *chosen.forward_all(plan, x))


def reconstruct(
    pyramid: Pyramid | Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike] | None = None,
    mode: ModeLike | Sequence[ModeLike] | None = None,
    axes: int | Sequence[int] | None = None,
    engine: str | Engine | None = None,
) -> Array:
    """Inverse of `decompose`: reconstruct the array that a pyramid was made from.

    Parameters
    ----------
    pyramid : Pyramid or list
        As `decompose` or `Pyramid.map` returns it, or a list of coefficients as `wavedec`, `wavedec2` or `wavedecn`
        returns it.
    wavelet, mode, axes
        Of a list, as those functions had them; a pyramid knows its own.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    array
        Of exactly the original shape. Integers of the original dtype if the transform was reversible.

    Raises
    ------
    IntegerRangeError
        If changed integer bands lead to samples that the original dtype cannot hold.
    ArgumentError
        If a list comes without its wavelet, or what is given is not what a pyramid was made with.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, reconstruct, wavedec
    >>> x = np.arange(15, dtype=np.uint8).reshape(3, 5)
    >>> pyramid = decompose(x, "cdf53", reversible=True)
    >>> bool((reconstruct(pyramid) == x).all()), reconstruct(pyramid).dtype
    (True, dtype('uint8'))
    >>> reconstruct(wavedec([1, 2, 3, 4], "haar"), "haar").round(12)
    array([1., 2., 3., 4.])
    """
    x: Array
    if isinstance(pyramid, Pyramid):
        _check_alike(pyramid.plan, wavelet, mode, axes)
        if engine is None and is_described(pyramid.approximation):
            return _reconstruct_again(pyramid)
        x = call_natively(_reconstruct, {0: "pyramid"}, (pyramid, engine), {}, engine)
        return x
    if not isinstance(pyramid, list | tuple):
        raise ArgumentTypeError(
            f"pyramid is a {type(pyramid).__name__}; give what `decompose` returned, or a list of coefficients"
        )
    if wavelet is None:
        raise ArgumentError(
            "wavelet is needed for a list of coefficients, which does not say it: reconstruct(coeffs, 'db2')"
        )
    made = make_pyramid(pyramid, wavelet, "symmetric" if mode is None else mode, axes)
    return reconstruct(made, engine=engine)


def reconstruct_alike(
    count: int | None,
    pyramid: Pyramid,
    wavelet: WaveletLike | Sequence[WaveletLike] | None = None,
    mode: ModeLike | Sequence[ModeLike] | None = None,
    axes: int | Sequence[int] | None = None,
    *,
    axis: int | None = None,
    engine: str | Engine | None = None,
) -> Array:
    """Do for a pyramid what the functions of PyWavelets do for a list; `count` is the number of axes that they have."""
    if count not in (None, len(pyramid.axes)):
        raise CoefficientsError(f"{pyramid} has {len(pyramid.axes)} axes, and not {count}; use reconstruct")
    return reconstruct(pyramid, wavelet, mode, axes if axis is None else axis, engine)


def _check_alike(
    plan: TransformPlan | StationaryTransformPlan,
    wavelet: WaveletLike | Sequence[WaveletLike] | None,
    mode: ModeLike | Sequence[ModeLike] | None,
    axes: int | Sequence[int] | None,
) -> None:
    """Refuse arguments that contradict the plan of a pyramid."""
    if axes is not None and normalise_axes(axes, len(plan.shape), distinct=True) != plan.axes:
        raise ArgumentError(f"axes={axes} are not those of the pyramid, {plan.axes}; leave them out")
    if wavelet is not None and wavelets_for_axes(wavelet, plan.axes) != plan.wavelets:
        name = plan.wavelets[0].name
        raise ArgumentError(f"wavelet={wavelet!r} is not that of the pyramid, {name!r}; leave it out")
    if mode is not None and modes_for_axes(mode, plan.axes) != plan.modes:
        raise ArgumentError(f"mode={mode!r} is not that of the pyramid, {plan.modes[0]!r}; leave it out")


def make_pyramid(
    coeffs: Sequence[Any],
    wavelet: WaveletLike | Sequence[WaveletLike],
    mode: ModeLike | Sequence[ModeLike] = "symmetric",
    axes: int | Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
) -> Pyramid:
    """Make a pyramid from a list of coefficients, as `Pyramid.from_pywavelets` says.

    Examples
    --------
    >>> from subband import wavedec
    >>> make_pyramid(wavedec([1, 2, 3, 4, 5], "haar", level=1), "haar", shape=(5,)).shape
    (5,)
    """
    pyramid: Pyramid = call_natively(_make_pyramid, {0: "coeffs"}, (coeffs, wavelet, mode, axes, shape), {}, "cpu")
    return pyramid


def _make_pyramid(coeffs: Sequence[Any], wavelet: Any, mode: Any, axes: Any, shape: Sequence[int] | None) -> Pyramid:
    approximation, details = open_coefficients(coeffs)
    if axes is None and details and (letters := check_keys(details[0])) <= 2:
        axes = tuple(range(-letters, 0))
    normal = normalise_axes(axes, approximation.ndim, distinct=True)
    wavelets, modes = wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal)
    for number, bands in enumerate(details, start=1):
        check_axes_fit(check_keys(bands, f"coeffs[{number}]"), normal)
    plan: TransformPlan | None
    if shape is None:
        shapes = tuple(tuple((key, band.shape) for key, band in bands.items()) for bands in details)
        plan = plan_inverse(approximation.shape, shapes, normal, wavelets, modes)
    else:
        plan = transform_plan(tuple(shape), normal, wavelets, modes, len(details))
    if plan is None:
        raise CoefficientsError("coeffs has levels that do not fit each other; give the shape of the array, too")
    return Pyramid(plan, approximation, details)


@takes_arrays("pyramid", are_read=True)
def _reconstruct_again(pyramid: Pyramid) -> Array:
    """Reconstruct from a pyramid like others before, which is looked up."""
    return _reconstruct(pyramid, None)


def _reconstruct(pyramid: Pyramid, engine: str | Engine | None) -> Array:
    chosen = engine_for(pyramid.approximation, engine)
    if isinstance(pyramid.plan, StationaryTransformPlan):
        return _reconstruct_stationary(chosen, pyramid, pyramid.plan)
    if pyramid.plan.reversible:
        return reconstruct_integers(chosen, pyramid, pyramid.plan)
    approximation, details = as_computable_bands(pyramid)
    return chosen.inverse_all(pyramid.plan, approximation, details)


def choose_modes(
    mode: ModeLike | Sequence[ModeLike] | None,
    wavelets: tuple[Wavelet, ...],
    axes: tuple[int, ...],
    reversible: bool = False,
) -> tuple[str, ...]:
    """Return one mode for each axis: those that are given, or the wavelets' own."""
    if reversible:
        # integers have boundary rules of their own, with as many coefficients as samples
        for wavelet in wavelets:
            find_integer_scheme(wavelet)
        if mode is not None and set(modes_for_axes(mode, axes)) != {"whole"}:
            raise ModeError(f"mode={mode!r} cannot be reversible; use 'whole', or leave mode out")
        return ("whole",) * len(axes)
    if mode is None:
        return tuple(wavelet.default_mode for wavelet in wavelets)
    return modes_for_axes(mode, axes)


def choose_level(
    level: int | None,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    stationary: bool,
) -> int:
    """Return the number of levels, checked against the greatest possible one."""
    useful = {axis: useful_levels(shape[axis], w.dec_len) for axis, w in zip(axes, wavelets, strict=True)}
    if level is None:
        # an axis of one sample has nothing to give, and must not keep the others from being transformed
        return min((count for axis, count in useful.items() if shape[axis] > 1), default=0)
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or level < 0:
        raise LevelError(f"level={level!r} is not a number of levels; use 0 or more, or None for as many as are useful")
    for axis, mode in zip(axes, modes, strict=True):
        if not stationary and not is_expansive(mode):
            useful[axis] = (shape[axis] - 1).bit_length()
    # a decimated axis that has shrunk to nothing costs nothing; an undecimated one is extended further every level
    choose = min if stationary else max
    limiting = choose(useful, key=lambda axis: useful[axis])
    most = max(useful[limiting], 1)
    if level > most:
        name = wavelets[axes.index(limiting)].name
        raise LevelError(
            f"level={level} is too large for axis {limiting} of length {shape[limiting]} with {name!r}; "
            f"the maximum is {most}"
        )
    return int(level)


def _decompose_stationary(engine: Engine, x: Array, plan: StationaryTransformPlan) -> Pyramid:
    for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
        if margin:
            length = plan.shape[axis]
            extension = extend(mode, length, -margin, length + margin)
            x = extend_axis(x, axis, extension)
    return Pyramid(plan, *split_levels(plan.levels, x, engine.stationary_forward))


def as_computable_bands(pyramid: Pyramid) -> tuple[Array, list[Bands]]:
    """Return the bands as engines take them: quantised ones, for instance, may hold integers."""
    details = [{key: as_computable(band, f"band {key!r}") for key, band in bands.items()} for bands in pyramid.details]
    return as_computable(pyramid.approximation, "approximation"), details


def _reconstruct_stationary(engine: Engine, pyramid: Pyramid, plan: StationaryTransformPlan) -> Array:
    x = merge_levels(plan.levels, *as_computable_bands(pyramid), engine.stationary_inverse)
    inner = [slice(None)] * x.ndim
    for axis, margin in zip(plan.axes, plan.margins, strict=True):
        inner[axis] = slice(margin, margin + plan.shape[axis])
    # cut out of the extended array, which is not to be kept for the sake of its middle
    return x[tuple(inner)].copy()

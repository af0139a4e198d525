"""The stages of an enhancement, as data: what is done, and nothing of how.

`Blur` and `Sharpen` work on the picture, or on bands inside a stage that transforms. `Shrink` transforms, and shrinks
by thresholds that are given; `Denoise` finds its own in the picture. Stages are frozen and can be compared, hashed,
printed and read again: ``eval(repr(stage)) == stage``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np

from subband.engines.filters.constants import LAPLACIANS
from subband.enhance.methods import find_method
from subband.errors import ArgumentError, ArgumentTypeError, LevelError, ShapeError, suggest_names
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["FORMS", "MODES", "PLACES", "Blur", "Denoise", "PerBand", "Sharpen", "Shrink", "Spatial", "Stage"]

#: How coefficients shrink; see `subband.threshold` and `subband.threshold_firm`.
MODES = ("soft", "hard", "garrote", "firm")

#: Every second coefficient is kept; so, for several positions of the picture, and averaged; or every one is kept.
FORMS = ("decimated", "spun", "undecimated")

#: Where filters of space can stand: on the picture, on each approximation before it is split further, on the last
#: approximation, or on details.
PLACES = ("picture", "between", "approximation", "details")

#: How far a spun picture is moved for its second position: what is in step with one is out of step with the other, at
#: several levels.
SPIN = 5

#: A number for all bands, one for each level, for each level and channel, or for each level, band and channel.
PerBand: TypeAlias = float | Sequence[Any] | Array


@dataclass(frozen=True)
class Blur:
    """A Gaussian blur.

    Parameters
    ----------
    sigma : float
        Standard deviation, in samples of what is blurred.
    at : {"picture", "between", "approximation", "details"}
        Where; all but the first belong into the `filters` of a stage that transforms.
    levels : tuple of int, optional
        Which levels of details, the finest is 1; all if left out.

    Examples
    --------
    >>> [round(tap, 3) for tap in Blur(1.0).taps]
    [0.054, 0.244, 0.403, 0.244, 0.054]
    """

    sigma: float = 1.0
    at: str = "picture"
    levels: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _check_positive("sigma", self.sigma)
        object.__setattr__(self, "sigma", float(self.sigma))
        _check_place(self)

    @property
    def taps(self) -> tuple[float, ...]:
        """The weights, up to two standard deviations away; they sum to 1."""
        reach = max(1, round(2 * self.sigma))
        weights = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) / self.sigma))
        return tuple((weights / weights.sum()).tolist())


@dataclass(frozen=True)
class Sharpen:
    """Edges made steeper: the picture minus its Laplacian.

    Parameters
    ----------
    amount : float
        How much of the Laplacian.
    kernel : {"cross", "diagonal"}
        Over the four nearest neighbours, or over all eight.
    at, levels
        As in `Blur`.

    Examples
    --------
    >>> Sharpen(0.5)
    Sharpen(amount=0.5, kernel='cross', at='picture', levels=None)
    """

    amount: float = 0.5
    kernel: str = "cross"
    at: str = "picture"
    levels: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _check_number("amount", self.amount)
        object.__setattr__(self, "amount", float(self.amount))
        _check_choice("kernel", self.kernel, tuple(LAPLACIANS))
        _check_place(self)


#: What works on samples beside each other.
Spatial: TypeAlias = Blur | Sharpen


@dataclass(frozen=True)
class Shrink:
    """Shrinks the coefficients of a picture by given thresholds, and amplifies or weakens its bands.

    What thresholds and gains can be: one number; one for each level, the finest first; levels × channels; or levels ×
    bands × channels with the bands ``ad``, ``da`` and ``dd``. An axis of length 1 stands for all. The approximation
    stays as it is.

    Parameters
    ----------
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int
        Number of levels.
    mode : {"soft", "hard", "garrote", "firm"}
        How coefficients shrink; see `subband.threshold` and `subband.threshold_firm`.
    threshold : float or sequence
        In the units of the picture: out of 255 for uint8, out of 65535 for uint16.
    upper : float or sequence, optional
        The upper threshold of mode ``'firm'``.
    gains : float or sequence
        What the bands are multiplied by after that: more than 1 sharpens, less than 1 smoothes.
    boundary : str, optional
        How pictures go on outside their borders; the wavelet's own choice if left out.
    level_weights : sequence of float, optional
        What the thresholds of each level, the finest first, are multiplied by. Noise is strongest at the finest, so
        that weights that fall, such as ``(1, 0.7, 0.4)``, keep more of what is there: wavelet shrinkage.
    form : {"decimated", "spun", "undecimated"}
        See `FORMS`.
    filters : sequence of Blur or Sharpen
        Applied between the transforms, after the thresholds.

    Raises
    ------
    ArgumentError
        If there is no such mode, or thresholds are negative, too many or missing.

    Examples
    --------
    Twice as much from the colours as from the brightness, and the finest details a little stronger:

    >>> stage = Shrink(threshold=[[4.0, 8.0, 8.0]], gains=[1.2, 1.0, 1.0])
    >>> stage == eval(repr(stage))
    True
    """

    wavelet: WaveletLike = "cdf97"
    level: int = 3
    mode: str = "soft"
    threshold: PerBand = 0.0
    upper: PerBand | None = None
    gains: PerBand = 1.0
    boundary: str | None = None
    level_weights: tuple[float, ...] | None = None
    form: str = "decimated"
    filters: tuple[Spatial, ...] = ()

    def __post_init__(self) -> None:
        _settle_wavelet(self)
        _check_choice("mode", self.mode, MODES, "a threshold")
        if isinstance(self.level, bool) or not isinstance(self.level, int | np.integer) or self.level < 0:
            raise LevelError(f"level={self.level!r} is not a number of levels; use 0 or more")
        object.__setattr__(self, "level", int(self.level))
        _check_weights(self)
        if (self.upper is None) == (self.mode == "firm"):
            need = "needs an upper threshold" if self.upper is None else "has no upper threshold"
            raise ArgumentError(
                f"mode={self.mode!r} {need}; that belongs to 'firm': give upper with it, and only there"
            )
        names = ("threshold", "gains") if self.upper is None else ("threshold", "upper", "gains")
        for name in names:
            # lists and arrays become tuples, so that a stage is a key and cannot change
            object.__setattr__(self, name, _as_per_band(name, getattr(self, name), self.level))
        if np.min(self.threshold, initial=0) < 0:
            raise ArgumentError(f"threshold={self.threshold} is negative; use 0 or more")
        if self.upper is not None:
            low, high, _ = self.spread(3)
            if (high < low).any():
                raise ArgumentError(f"upper={self.upper} is less than threshold={self.threshold}; use at least that")
        _check_choice("form", self.form, FORMS)
        _check_filters(self)

    def spread(self, channels: int) -> tuple[Array, Array, Array]:
        """Return threshold, upper threshold and gain of each level, band and channel.

        Examples
        --------
        >>> low, high, gain = Shrink(level=2, threshold=[6, 3]).spread(1)
        >>> low.shape, low[:, 0, 0]
        ((2, 3, 1), array([6., 3.]))
        """
        weights = np.ones((self.level, 1, 1))
        if self.level_weights is not None:
            weights[:, 0, 0] = weigh_levels(self, self.level)
        low = _weigh(_spread("threshold", self.threshold, self.level, channels), weights)
        high = low if self.upper is None else _weigh(_spread("upper", self.upper, self.level, channels), weights)
        return low, high, _spread("gains", self.gains, self.level, channels)


@dataclass(frozen=True)
class Denoise:
    """Removes noise, as much as the picture itself tells there is.

    Parameters
    ----------
    method : {"bivariate", "neigh", "wiener", "bayes", "sure", "visu"}
        See `subband.enhance.methods`. ``'bivariate'`` looks at a coefficient, its parent and its neighbourhood, and is
        the best for its time. ``'wiener'`` denoises so first, and then again with that as a guide: better, and slower.
        ``'neigh'`` looks at neighbourhoods alone, ``'bayes'``, ``'sure'`` and ``'visu'`` have one threshold for each
        band.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at least 1 and at most 5.
    mode : {"soft", "hard", "garrote"}
        How coefficients shrink under one threshold for each band; the other methods have a way of their own.
    strength : float
        1 removes the noise that there is; more also removes faint structure, and less leaves noise.
    boundary : str, optional
        How pictures go on outside their borders; the wavelet's own choice if left out.
    level_weights : sequence of float, optional
        What the noise of each level, the finest first, is multiplied by; levels beyond the last weight have that.
    form : {"decimated", "spun", "undecimated"}, optional
        See `FORMS`; what suits the method best if left out.
    filters : sequence of Blur or Sharpen
        Applied between the transforms, after shrinking.

    Raises
    ------
    ArgumentError
        If there is no such method, mode or form.

    Examples
    --------
    >>> Denoise("bayes", "db2").form
    'decimated'
    """

    method: str = "bivariate"
    wavelet: WaveletLike = "cdf97"
    level: int | None = None
    mode: str = "soft"
    strength: float = 1.0
    boundary: str | None = None
    level_weights: tuple[float, ...] | None = None
    form: str | None = None
    filters: tuple[Spatial, ...] = ()

    def __post_init__(self) -> None:
        _settle_wavelet(self)
        method = find_method(self.method)
        object.__setattr__(self, "method", method.name)
        _check_choice("mode", self.mode, MODES[:3], "a threshold that noise can choose")
        if self.level is not None and (
            isinstance(self.level, bool) or not isinstance(self.level, int | np.integer) or self.level < 0
        ):
            raise LevelError(f"level={self.level!r} is not a number of levels; use 0 or more, or None")
        if self.level is not None:
            object.__setattr__(self, "level", int(self.level))
        _check_number("strength", self.strength)
        object.__setattr__(self, "strength", float(self.strength))
        if self.strength < 0:
            raise ArgumentError(f"strength={self.strength} is negative; use 0 or more")
        object.__setattr__(self, "form", method.form if self.form is None else self.form)
        _check_choice("form", self.form, FORMS)
        _check_weights(self)
        _check_filters(self)


Stage: TypeAlias = Blur | Sharpen | Shrink | Denoise


def weigh_levels(stage: Shrink | Denoise, count: int) -> Array:
    """Return the weight of each of `count` levels, the finest first; the last one goes on.

    Examples
    --------
    >>> weigh_levels(Denoise(level_weights=(1, 0.5)), 4)
    array([1. , 0.5, 0.5, 0.5])
    """
    given = stage.level_weights or (1.0,)
    return np.array([given[min(place, len(given) - 1)] for place in range(count)])


def _check_choice(name: str, value: Any, known: Sequence[str], what: str = "known") -> None:
    if value not in known:
        hint = suggest_names(value, known) if isinstance(value, str) else ""
        raise ArgumentError(f"{name}={value!r} is not {what}{hint}; use one of {', '.join(known)}")


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or np.ndim(value) or np.asarray(value).dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{name}={value!r} is not a number")
    if not isfinite(value):
        raise ArgumentError(f"{name}={value} is not finite; use a number such as 1.5")


def _check_positive(name: str, value: Any) -> None:
    _check_number(name, value)
    if not 0 < value < inf:
        raise ArgumentError(f"{name}={value} is not positive; use a number such as 1.5")


def _check_place(stage: Spatial) -> None:
    _check_choice("at", stage.at, PLACES)
    if stage.levels is None:
        return
    if stage.at != "details":
        raise ArgumentError(f"levels={stage.levels} belong to at='details', and at is {stage.at!r}; leave levels out")
    levels = tuple(np.atleast_1d(stage.levels).tolist())
    if not levels or any(not isinstance(level, int) or level < 1 for level in levels):
        raise LevelError(f"levels={stage.levels} are not levels; the finest is 1")
    object.__setattr__(stage, "levels", levels)


def _check_weights(stage: Shrink | Denoise) -> None:
    if stage.level_weights is None:
        return
    try:
        weights = tuple(float(weight) for weight in np.atleast_1d(np.asarray(stage.level_weights, np.float64)))
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"level_weights={stage.level_weights!r} are not numbers; use (1, 0.7, 0.4)") from None
    if not weights or not all(0 <= weight < inf for weight in weights):
        raise ArgumentError(f"level_weights={stage.level_weights} hold a negative or infinite weight; use 0 or more")
    object.__setattr__(stage, "level_weights", weights)


def _settle_wavelet(stage: Shrink | Denoise) -> None:
    """Keep a name as it is, and anything else as a wavelet of ours."""
    wavelet = as_wavelet(stage.wavelet)
    if not isinstance(stage.wavelet, str):
        object.__setattr__(stage, "wavelet", wavelet)


def _weigh(numbers: Array, weights: Array) -> Array:
    """Multiply thresholds with the weights of levels; no weight is no threshold, however high that is."""
    return np.where(weights == 0, 0.0, numbers * np.where(weights == 0, 1.0, weights))


def _check_filters(stage: Shrink | Denoise) -> None:
    if stage.form == "undecimated" and stage.boundary is not None:
        raise ArgumentError(
            f"boundary={stage.boundary!r} goes with decimated forms; an undecimated one always mirrors: leave it out"
        )
    if stage.filters is None:
        raise ArgumentTypeError("filters=None is no list of filters; use () for none")
    filters = (stage.filters,) if isinstance(stage.filters, Spatial) else tuple(stage.filters)
    if filters and stage.level == 0:
        raise ArgumentError("filters stand between the levels, and level is 0; make them stages of their own")
    for each in filters:
        if not isinstance(each, Spatial):
            raise ArgumentTypeError(f"filters hold a {type(each).__name__}; use Blur or Sharpen")
        if each.at == "picture":
            raise ArgumentError(
                f"{each} works on the picture; between the transforms use at='details', 'approximation' or 'between', "
                "or make it a stage of its own"
            )
    object.__setattr__(stage, "filters", filters)


def _as_per_band(name: str, value: Any, level: int) -> Any:
    """Return thresholds or gains as a number or tuples of numbers, refusing what does not fit the levels."""
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}={value!r} holds something that is not a number, or ragged lists") from None
    if np.isnan(numbers).any() or (name == "gains" and np.isinf(numbers).any()):
        raise ArgumentError(f"{name}={value!r} is not finite; use numbers such as 1.5")
    sizes = ((1, level), (1, 3), (1, 3))[: numbers.ndim]
    if numbers.ndim > 3 or any(size not in known for size, known in zip(numbers.shape, sizes, strict=True)):
        raise ShapeError(
            f"{name} has shape {numbers.shape}; for {level} levels it is one number, {level} of them, or an array of "
            "levels × channels or levels × 3 bands × channels"
        )
    return _freeze(numbers.tolist())


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _spread(name: str, value: PerBand, level: int, channels: int) -> Array:
    """Return a number for each level, band and channel."""
    numbers = np.asarray(value, np.float64)
    if numbers.ndim == 2:
        numbers = numbers[:, np.newaxis]
    else:
        numbers = numbers.reshape(numbers.shape + (1,) * (3 - numbers.ndim))
    if numbers.shape[2] not in (1, channels):
        raise ShapeError(
            f"{name} is given for {numbers.shape[2]} channels, and a frame has {channels}; give one for each"
        )
    return np.broadcast_to(numbers, (level, 3, channels))

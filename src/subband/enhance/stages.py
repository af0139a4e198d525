"""The stages of an enhancement, as data: what is done, and nothing of how.

`Blur` and `Sharpen` work on the image, or on bands inside a stage that transforms. `Shrink` transforms, and shrinks
by thresholds that are given; `Denoise` finds its own in the image. Stages are frozen and can be compared, hashed,
printed and read again: ``eval(repr(stage)) == stage``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from subband.boundary import MODES as BOUNDARIES
from subband.enhance.methods import Method, find_method, list_methods
from subband.enhance.per_band import LevelWeights, PerBand, as_level_weights, as_per_band, spread, weigh, weigh_levels
from subband.errors import ArgumentError, ArgumentTypeError, LevelError
from subband.settings import check_settings, setting
from subband.transforms.modes import check_boundary
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet, wavelist

__all__ = [
    "FORMS",
    "MODES",
    "POSITIONS",
    "WAVELET",
    "Blur",
    "Denoise",
    "Sharpen",
    "Shrink",
    "Spatial",
    "Stage",
]

#: How coefficients shrink; see `subband.threshold` and `subband.threshold_firm`.
MODES = {"soft": "Soft", "hard": "Hard", "garrote": "Garrote", "firm": "Firm"}

#: Every second coefficient is kept; so, for several positions of the image, and averaged; every one is kept; or two
#: trees have every second one, which are real and imaginary parts of complex ones, shrunk by their magnitude.
FORMS = {
    "decimated": "Decimated",
    "spun": "Cycle spinning",
    "undecimated": "Undecimated",
    "dual-tree": "Dual-tree complex",
}

#: Where filters of space can stand: on the image, on each approximation before it is split further, on the last
#: approximation, or on details.
POSITIONS = {
    "picture": "The image",
    "between": "Between levels",
    "approximation": "The approximation",
    "details": "Details",
}

#: By how much cycle spinning shifts what a level splits a second time: what is in step with one is out of step with
#: the other, at several levels.
SPIN = 5

#: So many of the finest levels split two shifts of what they are given: of an image, or of what the level before has
#: left of it. There is little to gain from more.
SHIFTED_LEVELS = 3


def _list_wavelets() -> Mapping[str, str]:
    """Return the wavelets of images and their titles, those of JPEG 2000 first."""
    names = dict.fromkeys([*wavelist("cdf")[::-1], "haar", *wavelist(kind="discrete")])
    titles = {"cdf97": "cdf97 (CDF 9/7, JPEG 2000)", "cdf53": "cdf53 (CDF 5/3, JPEG 2000)"}
    return {name: titles.get(name, name) for name in names}


# Settings that several stages have, each described once.
_AT: dict[str, Any] = {"help": "Where it works: on the image, or inside the transform.", "choices": POSITIONS}
_LEVELS: dict[str, Any] = {"help": "Which levels of details, the finest is 1; all by default."}
_BOUNDARY: dict[str, Any] = {
    "help": "How the image is extended beyond its borders; the wavelet's own by default.",
    "choices": lambda: {mode: mode for mode in BOUNDARIES},
}
#: What is known of the wavelet of any tool.
WAVELET: dict[str, Any] = {"help": "Wavelet; `subband wavelets` lists them.", "choices": _list_wavelets}


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
    >>> from subband.enhance import Blur
    >>> [round(tap, 3) for tap in Blur(1.0).taps]
    [0.054, 0.244, 0.403, 0.244, 0.054]
    """

    sigma: float = setting(
        1.0,
        "Standard deviation of the Gaussian.",
        label="Radius",
        unit="pixels",
        least=0,
        is_open=True,
        slider=(0.3, 10, 0.1),
    )
    at: str = setting("picture", **_AT)
    levels: tuple[int, ...] | None = setting(None, **_LEVELS)

    def __post_init__(self) -> None:
        check_settings(self)
        _check_at(self)

    @property
    def taps(self) -> tuple[float, ...]:
        """The weights, up to two standard deviations away; they sum to 1."""
        reach = max(1, round(2 * self.sigma))
        weights = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) / self.sigma))
        return tuple((weights / weights.sum()).tolist())


@dataclass(frozen=True)
class Sharpen:
    """Edges made steeper: the image minus its Laplacian.

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
    >>> from subband.enhance import Sharpen
    >>> Sharpen(0.5)
    Sharpen(amount=0.5, kernel='cross', at='picture', levels=None)
    """

    amount: float = setting(0.5, "How much of the Laplacian is taken away.", slider=(0, 3, 0.05))
    kernel: str = setting(
        "cross",
        "Which neighbours the Laplacian looks at.",
        choices={"cross": "The four nearest", "diagonal": "All eight"},
    )
    at: str = setting("picture", **_AT)
    levels: tuple[int, ...] | None = setting(None, **_LEVELS)

    def __post_init__(self) -> None:
        check_settings(self)
        _check_at(self)


#: What works on samples beside each other.
Spatial: TypeAlias = Blur | Sharpen


@dataclass(frozen=True)
class Shrink:
    """Shrinks the coefficients of an image by given thresholds, and amplifies or weakens its bands.

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
        In the units of the image: out of 255 for uint8, out of 65535 for uint16.
    upper : float or sequence, optional
        The upper threshold of mode ``'firm'``.
    gains : float or sequence
        What the bands are multiplied by after that: more than 1 sharpens, less than 1 smoothes.
    boundary : str, optional
        How images go on outside their borders; the wavelet's own choice if left out.
    level_weights : sequence of float or of three floats, optional
        What the thresholds of each level, the finest first, are multiplied by. Noise is strongest at the finest, so
        that weights that fall, such as ``(1, 0.7, 0.4)``, keep more of what is there: wavelet shrinkage. Three numbers
        instead of one are those of the bands ``ad``, ``da`` and ``dd``.
    form : {"decimated", "spun", "undecimated", "dual-tree"}
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

    >>> from subband.enhance import Shrink
    >>> stage = Shrink(threshold=[[4.0, 8.0, 8.0]], gains=[1.2, 1.0, 1.0])
    >>> stage == eval(repr(stage))
    True
    """

    wavelet: WaveletLike = setting("cdf97", **WAVELET)
    level: int = setting(3, "Number of levels.", label="Levels", least=0, slider=(1, 8, 1))
    mode: str = setting("soft", "How coefficients shrink.", choices=MODES, noun="a threshold")
    threshold: PerBand = setting(
        0, "Coefficients that are smaller count as noise.", unit="of 255", slider=(0, 128, 0.5)
    )
    upper: PerBand | None = setting(
        None, "The threshold above which firm shrinking leaves coefficients as they are.", unit="of 255"
    )
    gains: PerBand = setting(1, "What details are multiplied by, the finest level first; 1.2/1/1 for its directions.")
    boundary: str | None = setting(None, **_BOUNDARY)
    level_weights: LevelWeights | None = setting(
        None, "What the threshold of each level is multiplied by, the finest first; 1/1/0.5 for its directions."
    )
    form: str = setting("decimated", "Which coefficients are kept.", choices=FORMS)
    filters: tuple[Spatial, ...] = ()

    def __post_init__(self) -> None:
        _resolve_wavelet(self)
        check_boundary(self.boundary)
        if isinstance(self.level, bool) or not isinstance(self.level, int | np.integer) or self.level < 0:
            raise LevelError(f"level={self.level!r} is not a number of levels; use 0 or more")
        object.__setattr__(self, "level", int(self.level))
        check_settings(self)
        if self.level_weights is not None:
            object.__setattr__(self, "level_weights", as_level_weights(self.level_weights))
        if (self.upper is None) == (self.mode == "firm"):
            need = "needs an upper threshold" if self.upper is None else "has no upper threshold"
            raise ArgumentError(
                f"mode={self.mode!r} {need}; that belongs to 'firm': give upper with it, and only there"
            )
        names = ("threshold", "gains") if self.upper is None else ("threshold", "upper", "gains")
        for name in names:
            # lists and arrays become tuples, so that a stage is a key and cannot change
            object.__setattr__(self, name, as_per_band(name, getattr(self, name), self.level))
        if np.min(self.threshold, initial=0) < 0:
            raise ArgumentError(f"threshold={self.threshold} is negative; use 0 or more")
        if self.upper is not None:
            low, high, _ = self.spread(3)
            if (high < low).any():
                raise ArgumentError(f"upper={self.upper} is less than threshold={self.threshold}; use at least that")
        _check_filters(self)

    def spread(self, channels: int) -> tuple[Array, Array, Array]:
        """Return threshold, upper threshold and gain of each level, band and channel.

        Examples
        --------
        >>> from subband.enhance import Shrink
        >>> low, high, gain = Shrink(level=2, threshold=[6, 3]).spread(1)
        >>> low.shape, low[:, 0, 0]
        ((2, 3, 1), array([6., 3.]))
        """
        weights = np.ones((self.level, 1, 1))
        if self.level_weights is not None:
            weights = weigh_levels(self.level_weights, self.level).reshape(self.level, -1, 1)
        low = weigh(spread("threshold", self.threshold, self.level, channels), weights)
        high = low if self.upper is None else weigh(spread("upper", self.upper, self.level, channels), weights)
        return low, high, spread("gains", self.gains, self.level, channels)


@dataclass(frozen=True)
class Denoise:
    """Removes noise, as much as the image itself tells there is.

    Parameters
    ----------
    method : str or Method
        See `subband.enhance.methods`. ``'bivariate'`` looks at a coefficient, its parent and its neighbourhood, and is
        the best for its time. ``'wiener'`` denoises so first, and then again with that as a guide: better, and slower.
        ``'best'`` looks for groups of similar patches in what was denoised so first: the best, and the slowest.
        ``'neigh'`` looks at neighbourhoods alone, ``'bayes'``, ``'sure'`` and ``'visu'`` have one threshold for each
        band. Settings of the method itself come behind a colon, ``'name:setting=2'``.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at least 1 and at most 5.
    mode : {"soft", "hard", "garrote"}
        How coefficients shrink under one threshold for each band; the other methods have a way of their own.
    strength : float
        1 removes the estimated noise; above 1 more, with faint structure; below 1 less.
    boundary : str, optional
        How images go on outside their borders; the wavelet's own choice if left out.
    level_weights : sequence of float or of three floats, optional
        What the noise of each level, the finest first, is multiplied by; levels beyond the last weight have that. Three
        numbers instead of one are those of its bands ``ad``, ``da`` and ``dd``; where other than two axes are
        transformed, their root mean square counts.
    form : {"decimated", "spun", "undecimated", "dual-tree"}, optional
        See `FORMS`; what suits the method best if left out.
    filters : sequence of Blur or Sharpen
        Applied between the transforms, after shrinking.

    Raises
    ------
    ArgumentError
        If there is no such method, mode or form.

    Examples
    --------
    >>> from subband.enhance import Denoise
    >>> Denoise("bayes", "db2").form
    'decimated'
    """

    method: str | Method = setting(
        "bivariate",
        "Denoising method.",
        choices=lambda: {method.name: method.title for method in list_methods()},
    )
    wavelet: WaveletLike = setting("cdf97", **WAVELET)
    level: int | None = setting(
        None, "Number of levels; chosen for the image by default.", label="Levels", least=0, slider=(1, 8, 1)
    )
    mode: str = setting(
        "soft",
        "How methods with one threshold for each band shrink; the others have a way of their own.",
        choices={mode: title for mode, title in MODES.items() if mode != "firm"},
        noun="a threshold that noise can choose",
    )
    strength: float = setting(
        1.0, "1 removes the estimated noise; above 1 more, below 1 less.", least=0, slider=(0, 3, 0.05)
    )
    boundary: str | None = setting(None, **_BOUNDARY)
    level_weights: LevelWeights | None = setting(
        None, "What the noise of each level is multiplied by, the finest first; 1/1/0.5 for its directions."
    )
    form: str | None = setting(None, "Which coefficients are kept; chosen for the method by default.", choices=FORMS)
    filters: tuple[Spatial, ...] = ()

    def __post_init__(self) -> None:
        _resolve_wavelet(self)
        check_boundary(self.boundary)
        method = find_method(self.method)
        object.__setattr__(self, "method", str(method))
        if self.level is not None and (
            isinstance(self.level, bool) or not isinstance(self.level, int | np.integer) or self.level < 0
        ):
            raise LevelError(f"level={self.level!r} is not a number of levels; use 0 or more, or None")
        if self.level is not None:
            object.__setattr__(self, "level", int(self.level))
        object.__setattr__(self, "form", method.form if self.form is None else self.form)
        check_settings(self)
        if self.level_weights is not None:
            object.__setattr__(self, "level_weights", as_level_weights(self.level_weights))
        _check_filters(self)

    @property
    def resolved(self) -> dict[str, Any]:
        """What settings become that are left out."""
        return {"form": find_method(self.method).form}


Stage: TypeAlias = Blur | Sharpen | Shrink | Denoise


def _check_at(stage: Spatial) -> None:
    if stage.levels is None:
        return
    if stage.at != "details":
        raise ArgumentError(f"levels={stage.levels} belong to at='details', and at is {stage.at!r}; leave levels out")
    levels = tuple(np.atleast_1d(stage.levels).tolist())
    if not levels or any(not isinstance(level, int) or level < 1 for level in levels):
        raise LevelError(f"levels={stage.levels} are not levels; the finest is 1")
    object.__setattr__(stage, "levels", levels)


def _resolve_wavelet(stage: Shrink | Denoise) -> None:
    """Keep a name as it is, and anything else as a wavelet of ours."""
    wavelet = as_wavelet(stage.wavelet)
    if not isinstance(stage.wavelet, str):
        object.__setattr__(stage, "wavelet", wavelet)


def _check_filters(stage: Shrink | Denoise) -> None:
    if stage.form in ("undecimated", "dual-tree") and stage.boundary is not None:
        one = "an undecimated one" if stage.form == "undecimated" else "a dual-tree one"
        raise ArgumentError(
            f"boundary={stage.boundary!r} goes with decimated forms; {one} always mirrors: leave it out"
        )
    if stage.form == "dual-tree" and not (wavelet := as_wavelet(stage.wavelet)).is_whole_sample_symmetric:
        raise ArgumentError(
            f"form='dual-tree' needs symmetric filters of odd length at its first level, and wavelet={wavelet.name!r} "
            "has none; use 'cdf97', 'cdf53' or a wavelet such as 'bior4.4'"
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
                f"{each} works on the image; between the transforms use at='details', 'approximation' or 'between', "
                "or make it a stage of its own"
            )
        if each.at == "between" and stage.form == "dual-tree":
            raise ArgumentError(
                f"{each} works between the levels, where form='dual-tree' has two trees in one array; use at='details' "
                "or 'approximation'"
            )
    object.__setattr__(stage, "filters", filters)

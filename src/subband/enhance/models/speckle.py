"""Speckle: noise of coherent waves, in linear images and in those that are logarithms already."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from subband.enhance.models.base import NoiseModel, compute
from subband.enhance.models.laws import digamma, mean_root, trigamma
from subband.errors import ArgumentError
from subband.settings import check_settings, setting
from subband.typing import Array

__all__ = ["LogSpeckle", "Speckle"]

SpeckleKind: TypeAlias = Literal["rayleigh", "gamma"]

#: Steps between black and the brightest of an image of floats: darker than half of one is as good as black.
_STEPS = 256
#: Decibels in a neper, of amplitudes and of intensities.
_DECIBELS = {"rayleigh": 20 / log(10), "gamma": 10 / log(10)}
# Settings that both models have.
_LOOKS: dict[str, Any] = {
    "help": "How many independent speckles each pixel is the average of.",
    "least": 0,
    "is_open": True,
}
_KIND: dict[str, Any] = {
    "help": "Whether samples are amplitudes or intensities.",
    "choices": {"rayleigh": "Amplitudes", "gamma": "Intensities"},
    "noun": "a law of speckle",
}
#: A residual of more nepers than this is an edge that the guess has missed, and not noise.
_LARGEST_RESIDUAL = 1.5


class _SpeckleLaw(NoiseModel):
    """What both models of speckle have in common: the law of its logarithm, in nepers."""

    looks: float
    kind: SpeckleKind

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def _power(self) -> float:
        """Exponent that turns samples into amplitudes, whose speckle is nearest to normal."""
        return 1.0 if self.kind == "rayleigh" else 0.5

    @property
    def _log_sigma(self) -> float:
        return sqrt(trigamma(self.looks)) / (2 * self._power)

    @property
    def _log_mean(self) -> float:
        """Mean of the logarithm of speckle whose own mean is 1."""
        if self.kind == "gamma":
            return digamma(self.looks) - log(self.looks)
        return digamma(self.looks) / 2 - log(mean_root(self.looks))

    @property
    def _amplitude_sigma(self) -> float:
        """Standard deviation of the amplitude over its mean."""
        return sqrt(self.looks / mean_root(self.looks) ** 2 - 1)

    def _draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        intensity = generator.standard_gamma(self.looks, shape)
        return intensity / self.looks if self.kind == "gamma" else np.sqrt(intensity) / mean_root(self.looks)

    def _refine_by(self, scale: float, x: Any, guess: Any, xp: Any) -> Any:
        # exp(ψ / 2) over the mean of the root: the amplitude at the mean of the logarithm, in units of its mean
        level = exp(digamma(self.looks) / 2) / mean_root(self.looks)
        step = scale / self._power
        residual = xp.minimum((x - guess) / step, _LARGEST_RESIDUAL)
        return guess + step * (level * xp.exp(residual) - 1)


@dataclass(frozen=True)
class Speckle(_SpeckleLaw):
    """Multiplicative noise of coherent waves: ultrasound, radar, sonar, lasers. The image is linear.

    Parameters
    ----------
    looks : float
        How many independent speckles each pixel is the average of, in intensity.
    kind : {'rayleigh', 'gamma'}
        Whether samples are amplitudes (with one look, Rayleigh's law) or intensities (the gamma law).
    floor : float, optional
        What is darker counts as this dark, for there is no logarithm of 0. Half a step if left out: 0.5 for integers,
        and 1/512 of the brightest pixel for floats.

    Notes
    -----
    The noise has mean 1. Its logarithm has the standard deviation √ψ′(L) for intensities and half of that for
    amplitudes, and a mean below 0, which `restore` adds back: ψ(L) − log L for intensities, and
    ψ(L) / 2 − log(Γ(L + ½) / Γ(L)) for amplitudes, with ψ the digamma function and L the looks. A pixel at the floor
    comes back brighter than the floor by that much.

    The logarithm has a long tail towards black, and averages of it vary more than they need to: for one look by 64 per
    cent more variance than the best estimate has. `refine` looks at a residual as an amplitude instead, ``guess +
    exp(values - guess) / mean - 1``, whose law is nearly symmetric and whose variance is 4 / π − 1 instead of π² / 24.

    References
    ----------
    J. W. Goodman, Some fundamental properties of speckle, Journal of the Optical Society of America 66, 1976,
    doi:10.1364/JOSA.66.001145.

    H. H. Arsenault and G. April, Properties of speckle integrated with a finite aperture and logarithmically
    transformed, Journal of the Optical Society of America 66, 1976, doi:10.1364/JOSA.66.001160.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.enhance import Speckle
    >>> Speckle().stabilise(np.array([0, 1, 255], np.uint8)).round(3)
    array([-0.693,  0.   ,  5.541], dtype=float32)
    >>> round(Speckle().stabilised_sigma, 4), round(Speckle().refined_sigma, 4)
    (0.6413, 0.5227)
    """

    looks: float = setting(1.0, **_LOOKS)
    kind: SpeckleKind = setting("rayleigh", **_KIND)
    floor: float | None = setting(
        None, "What is darker counts as this dark; half a step by default.", unit="of 255", least=0, is_open=True
    )
    name: ClassVar[str] = "speckle"

    @property
    def stabilised_sigma(self) -> float:
        """Standard deviation of the logarithm of the noise."""
        return self._log_sigma

    @property
    def refined_sigma(self) -> float:
        """Standard deviation of the noise after `refine`."""
        return self._amplitude_sigma / self._power

    def choose_floor(self, picture: Any) -> float:
        """Return the smallest value that is not taken for black in an image.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.enhance import Speckle
        >>> Speckle().choose_floor(np.array([0, 255], np.uint8)), Speckle().choose_floor(np.array([0.0, 2.0]))
        (0.5, 0.00390625)
        """
        if self.floor is not None:
            return self.floor
        if "float" not in str(picture.dtype):
            return 0.5
        largest = float(picture.max()) if 0 not in picture.shape else 0.0
        return largest / (2 * _STEPS) if 0 < largest < inf else 0.5

    def stabilise(self, picture: Any) -> Any:
        """Return the logarithm of an image."""
        given = picture if hasattr(picture, "dtype") else np.asarray(picture)
        # the floor is that of the caller's dtype, which is gone once the image has become floats
        return compute(lambda x, xp: xp.log(xp.maximum(x, self.choose_floor(given))), picture, "picture")

    def _restore(self, x: Any, xp: Any) -> Any:
        return xp.exp(x - self._log_mean)

    def _refine(self, x: Any, guess: Any, xp: Any) -> Any:
        return self._refine_by(1.0, x, guess, xp)

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        return x * self._draw(x.shape, generator)


@dataclass(frozen=True)
class LogSpeckle(_SpeckleLaw):
    """Speckle in an image that is a logarithm already, as scanners for ultrasound show it: additive, but skewed.

    Parameters
    ----------
    dynamic_range : float
        Decibels between black and white.
    white : float
        The value of white; black is 0.
    looks, kind
        As in `Speckle`: what the samples were before the logarithm.

    Notes
    -----
    Nothing has to be stabilised; `restore` adds by how much the mean of the logarithm is too low. Where the dynamic
    range is not known, estimate the standard deviation of the noise and use `from_sigma`.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.enhance import LogSpeckle
    >>> model = LogSpeckle(dynamic_range=60)
    >>> round(model.stabilised_sigma, 1), round(model.refined_sigma, 1)
    (23.7, 19.3)
    >>> model.restore(np.array([100.0])).round(1).tolist()
    [106.2]
    """

    dynamic_range: float = setting(
        60.0, "Decibels between black and white of the scanner.", unit="dB", least=0, is_open=True, slider=(20, 120, 1)
    )
    white: float = setting(255.0, "The value of white; black is 0.", least=0, is_open=True)
    looks: float = setting(1.0, **_LOOKS)
    kind: SpeckleKind = setting("rayleigh", **_KIND)
    name: ClassVar[str] = "log-speckle"

    @classmethod
    def from_sigma(
        cls, sigma: float, white: float = 255.0, looks: float = 1.0, kind: SpeckleKind = "rayleigh"
    ) -> LogSpeckle:
        """Return the model whose noise has this standard deviation, in the units of the image.

        Examples
        --------
        >>> from subband.enhance import LogSpeckle
        >>> round(LogSpeckle.from_sigma(23.67).dynamic_range)
        60
        """
        if not 0 < sigma < inf:
            raise ArgumentError(f"sigma={sigma!r} is not positive; use a number such as 20")
        unit = cls(1.0, white, looks, kind)
        return cls(unit.stabilised_sigma / sigma, white, looks, kind)

    @property
    def _scale(self) -> float:
        """Steps in a neper."""
        return self.white * _DECIBELS[self.kind] / self.dynamic_range

    @property
    def stabilised_sigma(self) -> float:
        """Standard deviation of the noise in the units of the image."""
        return self._scale * self._log_sigma

    @property
    def refined_sigma(self) -> float:
        """Standard deviation of the noise after `refine`, in the units of the image."""
        return self._scale * self._amplitude_sigma / self._power

    def _restore(self, x: Any, _xp: Any) -> Any:
        return x - self._scale * self._log_mean

    def _refine(self, x: Any, guess: Any, xp: Any) -> Any:
        return self._refine_by(self._scale, x, guess, xp)

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        speckle = self._draw(x.shape, generator)
        return x + self._scale * np.log(np.maximum(speckle, np.finfo(np.float64).tiny))

"""Numbers that all filters share."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BIVARIATE",
    "ENOUGH",
    "FADED",
    "LAPLACIANS",
    "LARGEST_FACTOR",
    "LEAST_WEIGHT",
    "MAGNITUDES",
    "MAGNITUDE_SHIFT",
    "MIDDLE",
    "MOST",
    "NEAR",
    "NEIGHBOUR_WINDOWS",
    "NORMAL_MEDIAN",
    "RULES",
    "SURE_BINS",
    "TILE",
    "WIDTH",
    "BivariateNumbers",
]


@dataclass(frozen=True)
class BivariateNumbers:
    """The numbers of bivariate shrinkage; `subband.engines.filters.base.Filters.shrink_bivariate` has the formula.

    Attributes
    ----------
    slope : float
        How steeply more energy keeps more of a coefficient.
    parent : float
        What the energy around the parent counts beside that around the coefficient.
    floor : float
        Energy around both that is taken for noise.
    half : float
        Energy above the floor that counts by half of what any more would.
    own : float
        Energy that a coefficient is taken to have more than it has, because a small one may be signal too.
    least, far : float
        The same for a parent, and energy of a parent that counts by half of what any more would.
    most : float
        Energies count as no more than this many times that of the noise.
    """

    slope: float = 0.666
    parent: float = 0.252
    floor: float = 1.854
    half: float = 1.291
    own: float = 0.113
    least: float = 1.05
    far: float = 30.0
    most: float = 1e6


#: Fitted to photographs, textures and a printed page under three strengths of noise, so that the mean error of denoised
#: images is the least, in decibels; other images gain as much.
BIVARIATE = BivariateNumbers()

#: Samples along each axis of the smaller window of bivariate shrinkage, and of that around a parent.
NEAR = 3

#: Weights of the Laplacian over a 3 × 3 neighbourhood: its centre, the neighbours beside it and those across.
LAPLACIANS: dict[str, tuple[float, float, float]] = {"cross": (-4.0, 1.0, 0.0), "diagonal": (-8.0, 1.0, 1.0)}

#: The median magnitude of a normal distribution with standard deviation one.
NORMAL_MEDIAN = 0.6744897501960817

#: Candidates among which Stein's estimate of the risk chooses; more gain nothing.
SURE_BINS = 32

#: Windows and the largest factor that there are to choose from when a coefficient shrinks by its neighbourhood.
NEIGHBOUR_WINDOWS = (3, 5)
LARGEST_FACTOR = 6.0

#: Of a plane with more coefficients than this only some rows are looked at to choose a factor.
ENOUGH = 1 << 17

#: Columns that a window slides down at a time: a ring of so many stays in the cache.
TILE = 1024

#: One over noise is at most this, so that it times what any image has is finite in single precision.
MOST = 1e30

#: Bits of a float32 behind those that name the bin of a magnitude.
MAGNITUDE_SHIFT = 19

#: Bins of magnitudes: all numbers that share the exponent and the first four bits.
MAGNITUDES = 1 << (31 - MAGNITUDE_SHIFT)

#: How two coefficients become one.
RULES = ("max", "add", "mix")

#: How bright a well exposed sample is and how far around that, as parts of white, and what one without colour counts.
MIDDLE, WIDTH, FADED = 0.5, 0.2, 0.1

#: What a sample counts that is exposed as badly as can be, so that there is a mean where all are.
LEAST_WEIGHT = 1e-6

"""Correlated noise: as strong in each band as it says, as after demosaicing, scaling, blurring or compression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from subband.arrays import to_host
from subband.enhance.models.base import NoiseModel
from subband.enhance.noise import combine_gains
from subband.errors import ArgumentError, ArgumentTypeError, ShapeError
from subband.transforms import decompose, reconstruct
from subband.typing import Array
from subband.wavelets import as_wavelet

if TYPE_CHECKING:
    from subband.enhance.stages import Denoise

__all__ = ["WAVELET", "Correlated", "measure_bands"]

#: Bands of a level in the order of their noise, and the wavelet by which it is measured: that of `Denoise`.
_KEYS, WAVELET = ("ad", "da", "dd"), "cdf97"

#: Levels of a dark frame, at most; coarser ones have the noise of the last.
_LEVELS = 5


@dataclass(frozen=True)
class Correlated(NoiseModel):
    """Noise whose neighbouring samples have something in common: in some bands it is stronger than in others.

    Parameters
    ----------
    bands : sequence of three float, optional
        Standard deviation of the noise in the bands ``ad``, ``da`` and ``dd`` of each level, the finest first, in the
        units of the image: white noise has the same in all. Coarser levels have that of the last. If left out, it is
        measured in smooth windows of the image.

    Notes
    -----
    Methods that shrink coefficients take the noise of each band. ``'best'``, which works on groups of patches, takes
    that of the samples, and noise of each band in the result that guides it.

    Examples
    --------
    A dark frame, or any other one that has nothing but noise, tells all:

    >>> import numpy as np
    >>> from subband.enhance import Correlated
    >>> noise = np.random.default_rng(0).normal(0, 20, (257, 257))
    >>> smoothed = (noise[1:, 1:] + noise[1:, :-1] + noise[:-1, 1:] + noise[:-1, :-1]) / 4
    >>> model = Correlated.from_dark(smoothed)
    >>> round(model.sigma), [round(deviation) for deviation in model.bands[0][:2]]
    (10, [7, 7])
    """

    bands: tuple[tuple[float, float, float], ...] | None = None
    name: ClassVar[str] = "correlated"
    is_additive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bands is None:
            return
        try:
            numbers = np.asarray(self.bands, np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"bands={self.bands!r} are not numbers; give three for each level") from None
        if numbers.ndim != 2 or numbers.shape[1] != len(_KEYS) or not len(numbers):
            raise ShapeError(f"bands have shape {numbers.shape}; give three for each level, those of ad, da and dd")
        if not ((numbers >= 0) & (numbers < inf)).all():
            raise ArgumentError(f"bands={self.bands} hold a negative or infinite deviation; use 0 or more")
        object.__setattr__(self, "bands", tuple(map(tuple, numbers.tolist())))

    @classmethod
    def from_dark(cls, frame: Any) -> Correlated:
        """Measure noise in a frame that has nothing else, such as one that was taken with the lens covered.

        Parameters
        ----------
        frame : array
            Rows × columns, or rows × columns × channels, which count together. What is the same in all of a frame, its
            black level, does not matter.

        Raises
        ------
        ShapeError
            If it has fewer than 16 rows or columns.
        """
        pixels = np.asarray(to_host(frame), np.float64)
        if pixels.ndim not in (2, 3) or min(pixels.shape[:2]) < 16:
            raise ShapeError(f"frame has shape {pixels.shape}; it needs 16 rows and columns, perhaps with channels")
        planes = pixels if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
        squares = [[np.mean(np.square(band)) for band in level] for level in measure_bands(planes, _LEVELS)]
        return cls(tuple(map(tuple, np.sqrt(squares).tolist())))

    @property
    def needs_image(self) -> bool:
        """Whether nothing is known of its bands."""
        return self.bands is None

    @property
    def sigma(self) -> float | None:
        """Standard deviation of the samples: that of all bands together."""
        if self.bands is None:
            return None
        variances = np.mean(np.square(self.bands), axis=1)
        # three of four coefficients are in the finest level, and those beyond the last are as those of the last
        shares = 0.75 * 0.25 ** np.arange(len(variances))
        shares[-1] /= 0.75
        return float(np.sqrt(np.sum(shares * variances)))

    @property
    def stabilised_sigma(self) -> float | None:
        """`sigma`."""
        return self.sigma

    def weigh(self, stage: Denoise) -> Denoise:
        """Return a stage whose weights of levels are those of their bands, too."""
        if not self.bands or not self.sigma:
            return stage
        given = np.array([np.broadcast_to(row, 3) for row in stage.level_weights or (1.0,)])
        count = max(len(given), len(self.bands))
        own, others = (each[np.minimum(np.arange(count), len(each) - 1)] for each in (np.array(self.bands), given))
        return replace(stage, level_weights=tuple(map(tuple, (own / self.sigma * others).tolist())))

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        if self.bands is None:
            raise ArgumentError("bands=None says that the noise is unknown; to add noise give those of a dark frame")
        bands = self.bands
        noise = decompose(generator.standard_normal(x.shape), WAVELET, axes=(0, 1))
        last = float(np.sqrt(np.mean(np.square(bands[-1]))))

        def scale(band: Array, level: int, key: str) -> Array:
            return band * (bands[min(level, len(bands)) - 1][_KEYS.index(key)] if "d" in key else last)

        return np.asarray(x + reconstruct(noise.map(scale)))


def measure_bands(planes: Array, most: int) -> list[list[Array]]:
    """Return the bands of each level, the finest first, over what unit white noise has in them.

    Parameters
    ----------
    planes : ndarray
        Rows × columns at last.
    most : int
        Number of levels; fewer where the planes are too small.
    """
    level = max(1, min(most, int(np.log2(min(planes.shape[-2:]))) - 3))
    details = decompose(planes, WAVELET, level, axes=(-2, -1)).details[::-1]
    wavelets = (as_wavelet(WAVELET),) * 2
    return [
        [bands[key] / combine_gains(wavelets, number, key) for key in _KEYS] for number, bands in enumerate(details, 1)
    ]

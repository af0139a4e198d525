"""The contract of filters.

Filters work on *planes*: arrays whose first axis counts independent images, such as channels, and whose one to three
other axes are space. Bands of a transform along these are planes too.

- Planes are C-contiguous and hold float32 or float64; on a device float16 too, which is computed in float32. What
  editing does sample by sample, from `differ` on, takes float32 and float64 only.
- *Numbers* are one number for each plane, in a 1-D array on the device of the planes. So the strength of noise
  that was measured on a device stays there.
- Methods that work in place may modify their input: use the return value. All others return new arrays.
- Windows that reach over a border see the image mirrored there, the last sample repeated.
- Filters may be called from several threads at once.

`tests/parity/test_filters.py` compares every implementation with `PlainFilters`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.arrays import cast, concatenate
from subband.engines.filters import tallies
from subband.engines.filters.cells import Cells, cut_cells
from subband.engines.filters.constants import ENOUGH
from subband.engines.filters.groups import Groups
from subband.errors import ShapeError
from subband.typing import Array

__all__ = ["Filters", "choose_margins"]


def choose_margins(steps: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many samples are added before and behind each axis, for cycle spinning to shift planes by `steps`.

    Those behind are there so that an even number of samples stays one, which is quicker to transform.

    Examples
    --------
    >>> choose_margins((5, 0))
    [(5, 3), (0, 0)]
    """
    return [(step, -step % 4 or 4) if step else (0, 0) for step in steps]


class Filters(ABC):
    """Works on planes of one device; see the module for the contract."""

    @abstractmethod
    def upload(self, numbers: Array) -> Any:
        """Bring numbers of the host to where the planes are."""

    def upload_planes(self, planes: Array, dtype: Any) -> Any:
        """Bring planes of the host to where the others are, as an array of some dtype."""
        return cast(self.upload(planes), dtype)

    @abstractmethod
    def allocate_pixels(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array for pixels, with any contents."""

    @abstractmethod
    def read_pixels(self, pixels: Any, matrix: Array | None, dtype: Any) -> Any:
        """Turn interleaved pixels into planes.

        Parameters
        ----------
        pixels : array
            Space × channels, C-contiguous, of uint8, uint16, float16, float32 or float64.
        matrix : ndarray of shape (channels, channels) or None
            Turns the channels of a pixel into planes; None leaves them as they are.
        dtype : dtype
            Of the planes.

        Returns
        -------
        array
            Channels × space.
        """

    @abstractmethod
    def write_pixels(self, planes: Any, matrix: Array | None, dtype: Any, out: Any = None) -> Any:
        """Turn planes into interleaved pixels; integers are rounded to the nearest, halves up, and clipped.

        Parameters
        ----------
        planes : array
            Channels × space.
        matrix : ndarray of shape (channels, channels) or None
            Turns the planes into the channels of a pixel.
        dtype : dtype
            Of the pixels.
        out : array, optional
            Where they go.

        Returns
        -------
        array
            Space × channels.
        """

    @abstractmethod
    def extend(self, planes: Any, before: Sequence[int], behind: Sequence[int]) -> Any:
        """Return planes with more samples at the borders of each axis of space, mirrored at the outermost one.

        An axis of one sample repeats it; where more is asked for than there is, mirrors go on for ever
        (``numpy.pad(..., mode="reflect")``).
        """

    @abstractmethod
    def add_part(self, total: Any, planes: Any, begin: Sequence[int], weight: float) -> Any:
        """Add ``weight`` times the part of `planes` that begins at `begin`, and has the shape of `total`, to `total`.

        In place, and to as many of the first planes of `total` as there are. The first of several parts is made with
        `take_part`.
        """

    @abstractmethod
    def take_part(self, planes: Any, begin: Sequence[int], shape: Sequence[int], weight: float) -> Any:
        """Return ``weight`` times the part of `planes` that begins at `begin` in space and has the given shape."""

    def spin(self, planes: Any, steps: Sequence[int]) -> Any:
        """Return planes in two positions, one after the other: as they are, and with `steps` more samples before them.

        There are twice as many planes, all with the samples that `choose_margins` adds, mirrored as in `extend`.
        """
        origin, whole = (0,) * len(steps), [sum(own) for own in choose_margins(steps)]
        behind = [more - step for more, step in zip(whole, steps, strict=True)]
        return concatenate([self.extend(planes, origin, whole), self.extend(planes, steps, behind)], 0)

    def average_shifts(self, planes: Any, shifted: Any, shape: Sequence[int], steps: Sequence[int]) -> Any:
        """Return the mean of two results, of which the second lies `steps` samples further on, in the given shape."""
        mean = self.take_part(planes, (0,) * len(steps), shape, 0.5)
        return self.add_part(mean, shifted, steps, 0.5)

    def repeat_numbers(self, numbers: Any, count: int, planes: Any) -> Any:  # noqa: ARG002 - for those that need a dtype
        """Return numbers for `count` times as many planes, such as these: all of them, one time after the other."""
        return numbers if count == 1 else concatenate([numbers] * count, 0)

    def measure_noise(
        self,
        band: Any,
        gain: float,
        mask: Array | None = None,
        others: Sequence[tuple[Any, float]] = (),
        margin: int = 0,
        step: int = 1,
        samples: Any = None,
        ahead: int = 0,
    ) -> Any:
        """Return the standard deviation of noise: in smooth cells of a band, or its median magnitude.

        See `subband.engines.filters.cells`. The median is that over the one of the unit normal law, and stands in where
        there are no other bands or too few cells.

        Parameters
        ----------
        band : array
            The finest one that is diagonal.
        gain : float
            The standard deviation that noise of standard deviation one has in this band.
        mask : ndarray of uint8, optional
            On the host, of the shape of a plane: where it is not 0, coefficients count. One at least has to. A cell
            counts if all of its coefficients do.
        others : sequence of (array, float)
            The other bands of details of the level, which may be larger, and their gains.
        margin : int
            Coefficients at either end of each axis that cells have not, because filters see mirror images there.
        step : int
            Distance of the coefficients that cells have: 2 for a transform that has every position, in which neighbours
            share their noise.
        samples : array, optional
            The planes that were transformed, which tell where they were clipped.
        ahead : int
            Samples before the first of these that the bands begin with.

        Returns
        -------
        numbers
            The median is within a part in 2**20; halfway between the middle two, or one of them, for an even count.
        """
        shape = tuple(band.shape[1:])
        if mask is not None and mask.shape != shape:
            raise ShapeError(f"mask has shape {mask.shape}; a plane of the band has {shape}")
        cells = cut_cells(shape, len(others), margin, step, ahead)
        known = None if cells is None or mask is None else cells.find_known(mask)
        if cells is None or (known is not None and not cells.are_enough(int(np.count_nonzero(known)))):
            return self.measure_median(band, gain, mask)
        return self.measure_smooth(band, gain, others, cells, known, samples)

    @abstractmethod
    def measure_median(self, band: Any, gain: float, mask: Array | None = None) -> Any:
        """Return the median magnitude of each plane over that of the unit normal law; see `measure_noise`."""

    @abstractmethod
    def measure_smooth(
        self,
        band: Any,
        gain: float,
        others: Sequence[tuple[Any, float]],
        cells: Cells,
        known: Array | None = None,
        samples: Any = None,
    ) -> Any:
        """Return the root of the mean square of each plane in smooth cells, over the gain; see `measure_noise`.

        Cells count where they are `known`, an array for all cells of a plane, if that is given. Those that `samples`
        show as clipped count only where all are.
        """

    @abstractmethod
    def find_bayes_threshold(self, band: Any, noise: Any, gain: float) -> Any:
        """Return BayesShrink's threshold of each plane: n² / √(mean square − n²), infinite where noise is all there is.

        With ``n = gain * noise``. Zero where `noise` is zero.
        """

    @abstractmethod
    def find_sure_threshold(self, band: Any, noise: Any, gain: float) -> Any:
        """Return the soft threshold of each plane with the least of Stein's unbiased estimate of the risk.

        With ``a = |v| / n``, ``n = gain * noise`` and N coefficients, the candidates are ``e_j = j T / SURE_BINS`` with
        ``T = √(2 ln N)`` and j from 0 to SURE_BINS, and ``risk(e) = N - 2 #{a < e} + Σ_{a < e} a² + #{a >= e} e²``.
        Of equal risks the smaller threshold counts. Zero where `noise` is zero.
        """

    @abstractmethod
    def shrink(self, band: Any, threshold: Any, mode: str, upper: Any = None, gains: Any = None) -> Any:
        """Shrink every coefficient by its magnitude, then multiply; in place.

        Parameters
        ----------
        band : array
            What is shrunk.
        threshold : numbers
            0 leaves everything, infinity nothing.
        mode : {"soft", "hard", "garrote", "firm"}
            As `subband.threshold` and `subband.threshold_firm` have it.
        upper : numbers, optional
            The upper threshold of ``'firm'``, at least `threshold`.
        gains : numbers, optional
            What the result is multiplied by.
        """

    def shrink_bands(
        self,
        bands: Sequence[Any],
        threshold: Array,
        mode: str,
        upper: Array | None = None,
        gains: Array | None = None,
    ) -> list[Any]:
        """Shrink several bands with the same number of planes as `shrink` does, by numbers that are known beforehand.

        Parameters
        ----------
        bands : sequence of array
            What is shrunk, in place; some may be empty.
        threshold, upper, gains : ndarray of shape (bands, planes)
            As `shrink` has them, but on the host.
        mode : {"soft", "hard", "garrote", "firm"}
            As `shrink` has it.
        """
        numbers = [[None] * len(bands) if each is None else each for each in (threshold, upper, gains)]
        return [self.shrink(band, low, mode, high, gain) for band, low, high, gain in zip(bands, *numbers, strict=True)]

    @abstractmethod
    def shrink_bivariate(
        self,
        band: Any,
        parent: Any,
        noise: Any,
        gain: float,
        parent_gain: float = 1.0,
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> Any:
        """Shrink every coefficient by its own energy and by those around it and around its parent.

        With ``n = gain * noise`` and ``e = v² / n²``: ``q`` is the mean of e over `window` samples along each axis,
        ``m`` that over `NEAR` samples, or over `window` if that is smaller, space has three axes or `scale` is 1; ``p``
        is the energy of the parent and ``r`` the mean over as many around it, both of them q without a parent. With the
        numbers of `BIVARIATE`, ``s = max(q + parent r - floor, 0)``, ``x = slope m √((e + own) s (p + least) / ((s +
        half) (p + far)))``, and the result is ``v x / (1 + x)``; e, m, p and s count as no more than its ``most``.

        Parameters
        ----------
        band : array
            Of one orientation at one level.
        parent : array or None
            The band of the same orientation at the next coarser level, not shrunk; None at the coarsest.
        noise : numbers
            Standard deviation of the noise in the image.
        gain, parent_gain : float
            The standard deviation that noise of standard deviation one has in each band.
        window : int
            Odd.
        shift, scale : int
            The parent of coefficient k stands at ``(k + shift) // scale`` along each axis, held within the parent.
        """

    def shrink_bivariate_bands(
        self,
        bands: Sequence[Any],
        parents: Sequence[Any],
        noise: Any,
        gains: Sequence[float],
        parent_gains: Sequence[float],
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> list[Any]:
        """Shrink several bands of an image, of one level or of several, as `shrink_bivariate` does each of them.

        Parameters
        ----------
        bands, parents : sequence of array
            As `shrink_bivariate` has them, all of one dtype.
        noise : numbers
            Standard deviation of the noise in each plane of the image. A band may have all planes several times, one
            time after the other.
        gains, parent_gains : sequence of float
            One for each band.
        window, shift, scale : int
            As `shrink_bivariate` has them.
        """
        each = zip(bands, parents, gains, parent_gains, strict=True)
        return [
            self.shrink_bivariate(
                band,
                parent,
                self.repeat_numbers(noise, band.shape[0] // noise.shape[0], band),
                gain,
                parent_gain,
                window,
                shift,
                scale,
            )
            for band, parent, gain, parent_gain in each
        ]

    @abstractmethod
    def shrink_neighbours(self, band: Any, noise: Any, gain: float) -> Any:
        """Shrink every coefficient by the energy of its neighbourhood, as much as Stein's estimate of the risk advises.

        With ``w = v / n``, ``n = gain * noise`` and ``m`` the mean of w² over a window, plus 1e-9, the result is
        ``v max(1 - k / m, 0)``. The window, 3 or 5 samples along each axis, and ``k = 6 j / SURE_BINS`` with j from 0
        to SURE_BINS are chosen for each plane by the least ``risk(k) = Σ_{m < k} (w² - 2) + Σ_{m >= k} (k² w² / m² -
        2 k / m + 4 k w² / (m² c))``, with c the samples of the window. Of equal risks the smaller window counts, then
        the smaller k. Statistics may leave out coefficients of a large band, evenly.
        """

    def choose_row_distance(self, count: int) -> int:
        """Return how far rows are apart that count when a window is chosen for a band of so many coefficients."""
        return max(1, count // ENOUGH)

    def count_magnitudes(self, band: Any, noise: Array, step: float) -> Array:
        """Count magnitudes over the noise, and sum their squares, between the candidates for a threshold.

        Parameters
        ----------
        band : array
            Planes × space, a part of a band; not empty.
        noise : ndarray
            Standard deviation in this band, of each plane, on the host.
        step : float
            Between two candidates.

        Returns
        -------
        ndarray of shape (planes, 2, candidates)
            On the host; to be added to those of the other parts.
        """
        return tallies.count_magnitudes(band, noise, step)

    def count_neighbours(self, band: Any, noise: Array, inner: Sequence[slice], rows: Array) -> Array:
        """Sum what the risk of factors and windows needs, for each bin of the mean square m over a window of w = v / n.

        Parameters
        ----------
        band : array
            Planes × space: a part of a band, and half a window around that; not empty.
        noise : ndarray
            Standard deviation in this band, of each plane, on the host.
        inner : sequence of slice
            Where the part is, along each axis of space.
        rows : ndarray of int
            Which rows of it count, one at least, all equally far apart.

        Returns
        -------
        ndarray of shape (planes, windows, 3, candidates)
            For each window the sums of w² - 2, of w² / m² and of 1 / m; to be added to those of the other parts.
        """
        return tallies.count_neighbours(band, noise, inner, rows)

    def scale_neighbours(self, band: Any, noise: Array, chosen: Array) -> Any:
        """Return coefficients multiplied by ``max(1 - k / m, 0)``, with m as in `count_neighbours`.

        Parameters
        ----------
        band : array
            Planes × space.
        noise : ndarray
            Standard deviation in this band, of each plane, on the host.
        chosen : ndarray of shape (planes, 2)
            Factor k, of which 0 leaves all as it is, and window.
        """
        return tallies.scale_neighbours(band, noise, chosen)

    @abstractmethod
    def shrink_wiener(self, band: Any, guide: Any, noise: Any, gain: float) -> Any:
        """Multiply every coefficient by g² / (g² + n²), with g from the same band of a guide; in place."""

    @abstractmethod
    def filter_groups(self, planes: Any, guide: Any, noise: Any, groups: Groups) -> Any:
        """Return planes in which similar patches are replaced by linear combinations of each other.

        A group is a reference patch and those most like it in the first plane of the guide, `groups.count` at most. Its
        patches, of n samples with noise s, are the rows of a matrix: X of the guide and Y of the planes, both less the
        mean of X. With trust t, its estimate is ``Y - n s² M⁻¹ Y`` with ``M = t (X Xᵀ + n s²) + (1 - t) Y Yᵀ``. The
        mean of all estimates of a sample is taken; those of a patch weigh as much as one over the sum of the squares of
        its weights, at least over 1e-3, or as its power of 3/4 unless `groups.is_sharp`. Variances n s² count as no
        less than a few units in the last place of the largest energy of a patch (`find_floor`). Planes without noise
        stay as they are.

        Parameters
        ----------
        planes, guide : array
            Of the same shape: noisy, and denoised before.
        noise : numbers
            Standard deviation in each plane.
        groups : Groups
            How similar patches are looked for.

        References
        ----------
        S. Herbreteau and C. Kervrann, Towards a unified view of unsupervised non-local methods for image denoising: the
        NL-Ridge approach, IEEE International Conference on Image Processing, 2022.
        """

    @abstractmethod
    def convolve(self, planes: Any, taps: Sequence[float], axis: int) -> Any:
        """Return planes under a filter of an odd number of taps along one axis of space, counted from 0.

        Borders are mirrored, the last sample repeated, for ever.
        """

    @abstractmethod
    def add_laplacian(self, planes: Any, amount: float, kernel: str) -> Any:
        """Return planes minus `amount` times their Laplacian over the last two axes: edges become steeper.

        Borders are mirrored, the last sample repeated. Planes with one axis of space use ``(1, -2, 1)``.
        """

    @abstractmethod
    def differ(self, own: Any, other: Any, rule: str, strength: float) -> Any:
        """Return what has to be added to coefficients so that others are combined with them.

        Parameters
        ----------
        own, other : array
            Bands of the same shape.
        rule : {"max", "add", "mix"}
            With s for `strength`: the one of larger magnitude of ``own`` and ``s * other``; ``own + s * other``; or
            ``(1 - s) * own + s * other``.
        strength : float
            0 changes nothing.
        """

    @abstractmethod
    def raise_to(self, planes: Any, power: float, white: float) -> Any:
        """Return planes raised to a power, so that white stays white; what is negative becomes 0 unless it is 1."""

    @abstractmethod
    def measure_brightness(self, planes: Any, weights: Sequence[float], power: float, white: float) -> Any:
        """Return one plane: the weighted sum of the channels, each raised to a power; white stays white."""

    @abstractmethod
    def temper(self, light: Any, power: float, white: float, floor: float, level: float, strength: float) -> Any:
        """Make a light ready to divide by, in place.

        It is raised to a power, at least `floor`, and then ``strength`` of it is mixed with the even light `level`.
        """

    @abstractmethod
    def divide(self, planes: Any, light: Any, scale: float) -> Any:
        """Divide planes by a light of one plane, or of as many, and multiply by a scale; in place."""

    @abstractmethod
    def multiply(self, planes: Any, light: Any, scale: float) -> Any:
        """Multiply planes by a light of one plane, or of as many, and by a scale; in place."""

    def weigh_bands(self, bands: Sequence[Any], lights: Sequence[Any], *, is_product: bool) -> list[Any]:
        """Divide or multiply several bands, each by a light; in place.

        A light has one plane, or several of which each is for as many planes of the band, one behind the other.
        """
        weigh = self.multiply if is_product else self.divide
        weighed = []
        for band, light in zip(bands, lights, strict=True):
            each = band.shape[0] // light.shape[0]
            if light.shape[0] > 1:
                light = concatenate([light[k : k + 1] for k in range(light.shape[0]) for _ in range(each)], 0)
            weighed.append(weigh(band, light, 1.0))
        return weighed

    @abstractmethod
    def spread(self, plane: Any, count: int) -> Any:
        """Return so many copies of a single plane."""

    @abstractmethod
    def measure_activity(self, bands: Sequence[Any]) -> Any:
        """Return one plane: the sum of the squares of the first plane of each band."""

    @abstractmethod
    def prefer(self, best: Any, chosen: Any, rival: Any, number: int) -> None:
        """Where `rival` is larger than `best`, make it the best and `number` the chosen one; always in place."""

    @abstractmethod
    def mark(self, chosen: Any, number: int) -> Any:
        """Return 1 where `number` is the chosen one, else 0."""

    @abstractmethod
    def take_over(self, total: Any, planes: Any, chosen: Any, number: int) -> None:
        """Write planes to `total` where `number` is the chosen one; always in place. `chosen` has one plane."""

    @abstractmethod
    def judge_exposure(self, planes: Any, white: float) -> Any:
        """Return one plane: how well each sample is exposed.

        That is how near brightness, the first plane, is to mid-grey, by a bell curve; in colour times some more for
        each bit of colour, for what is too dark or too bright has little.
        """

    @abstractmethod
    def add_weighted(self, total: Any, planes: Any, weight: Any) -> None:
        """Add planes times a weight of one plane to `total`; always in place."""

    def compute_dtype(self, planes: Any) -> np.dtype[Any]:
        """Return the dtype that numbers of these planes have."""
        return np.dtype(np.float64 if planes.dtype.itemsize == 8 else np.float32)

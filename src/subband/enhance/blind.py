"""Blind noise estimation from one image: how strong it is, whether it grows with brightness, whether it is white.

Noise is measured where there is little else. Bands of an orthogonal transform have independent noise, so that windows
chosen for the little energy that they have in the other bands are a fair sample of the finest diagonal one; and in the
same way of any other band, which gives the spectrum of noise that is not white.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, inf, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from subband.arrays import to_host
from subband.enhance.clipping import find_clipped, measure_clipping
from subband.enhance.layout import arrange, check_pixels, find_layout
from subband.enhance.models import Correlated, Gaussian, NoiseModel, PoissonGaussian
from subband.enhance.models.correlated import measure_bands
from subband.errors import ShapeError
from subband.transforms import decompose
from subband.typing import Array

__all__ = ["NoiseReport", "find_noise"]

#: Samples of a window along each axis, and of the blocks that it is made of; windows are a block apart.
_WINDOW, _STEP = 8, 4

#: The part of all windows that is taken for smooth, and of those of a range of brightness; and how many are enough.
_SMOOTH, _SMOOTH_OF_RANGE, _ENOUGH = 0.05, 0.1, 8

#: Ranges of brightness in which noise is compared, at most.
_RANGES = 16

#: How often the line through their variances is drawn, and the least of these beside their mean.
_ROUNDS, _LEAST = 8, 0.01

#: How many standard errors noise has to grow with brightness, and to which part of it, to count as growing.
_SIGNIFICANT, _NOTABLE = 4.0, 0.2

#: Windows of which a larger part was clipped say nothing about noise.
_MOST_CLIPPED = 0.75

#: The part of the windows of a range of brightness that tells what clipping has left: clipping moves both the least
#: energy and the mean, and in fewer windows the former more.
_SMOOTH_IF_CLIPPED = 0.2

#: Below this, noise of the coarser bands is clearly stronger than that of the finest, if it is so by as many standard
#: errors: white noise among some texture has more, and noise that was smoothed has about 0.1.
_WHITE, _CLEARLY = 0.5, 2.0

#: Windows that are somewhat less smooth, as a part of all; where the smoothest have less than this part of their
#: energy, it is texture, which no noise is.
_LESS_SMOOTH, _EVEN = 0.3, 0.65

#: Noise that was smoothed over a few pixels hardly grows beyond the next level, to at most so many times as much, and
#: by less than to that one; what grows on is structure of an image that was not sharp, or texture, which has little in
#: the finest band and much in all others.
_GROWING = 2.5

#: Levels whose noise is measured by themselves, and coefficients of a window along each axis. Coarser ones have too few
#: smooth windows, and noise that was smoothed over a few pixels is white again from there on.
_LEVELS, _BAND_WINDOW = 3, 4

#: Slices and channels that are looked at, at most, spread over all of them.
_MOST_PLANES = 24


@dataclass(frozen=True)
class NoiseReport:
    """What was found about the noise of an image.

    Attributes
    ----------
    model : NoiseModel
        For `denoise` and `Enhancer`: `Gaussian`, `PoissonGaussian` if noise grows with brightness, or `Correlated` if
        it is stronger in coarser bands.
    sigma : float
        Standard deviation, in the units of the image; where noise grows with brightness, that of its mean variance.
    error : float
        Standard error of `sigma`, as a part of it.
    windows : int
        How many smooth windows it was measured in.
    whiteness : float
        Energy of the noise in the finest diagonal band beside that of the next: about 1 for white noise, and less for
        noise that was smoothed, as by demosaicing, scaling or compression.
    confidence : float
        How sure the choice of the model is: the chance that its tests come out the same with other noise of the kind.
    correlated : Correlated
        Noise as strong in each band as it was measured there, whatever model was chosen.
    """

    model: NoiseModel
    sigma: float
    error: float
    windows: int
    whiteness: float
    confidence: float
    correlated: Correlated

    @property
    def kind(self) -> Literal["white", "signal-dependent", "correlated"]:
        """What noise of the model is like."""
        if isinstance(self.model, Correlated):
            return "correlated"
        return "signal-dependent" if isinstance(self.model, PoissonGaussian) else "white"

    @property
    def is_white(self) -> bool:
        """Whether noise is as strong in fine bands as in coarse ones, as far as that can be told."""
        return self.kind != "correlated"

    def choose(self, model: NoiseModel) -> NoiseModel:
        """Return a model whose parameters are known: itself, or what was found."""
        if not model.needs_image:
            return model
        return self.correlated if isinstance(model, Correlated) else self.model

    def __str__(self) -> str:
        sure = "over 99" if self.confidence > 0.99 else f"{100 * self.confidence:.0f}"
        text = f"{self.kind} noise ({sure} % sure), sigma {self.sigma:.3g} ± {100 * self.error:.1f} %"
        text += f" from {self.windows} smooth windows"
        if isinstance(self.model, PoissonGaussian):
            text += f"; it grows with brightness: gain {self.model.gain:.3g}, read noise {self.model.sigma:.3g}"
        return text if self.is_white else f"{text}; it is not white, and stronger in coarser details"


class _Windows(NamedTuple):
    """What is known of each window: brightness, energy of the diagonal bands of two levels, and of the other bands.

    And how far its brightness is from where samples were clipped, below and above; infinite where none were.
    """

    mean: Array
    diagonal: Array
    coarse: Array
    others: Array
    below: Array
    above: Array


def find_noise(
    image: Any, *, axes: Sequence[int] | None = None, channel_axis: int | Literal["auto"] | None = "auto"
) -> NoiseReport:
    """Find out about the noise of an image, without being told anything: how strong it is, and which model it has.

    Parameters
    ----------
    image : array
        Rows × columns, perhaps with channels; of volumes each slice counts. Of integers the variance of rounding is
        taken away. Where pixels were clipped, noise is as strong as it was before.
    axes, channel_axis
        As in `Enhancer.apply`.

    Raises
    ------
    ShapeError
        If there are fewer than two axes of space, or the image is too small.

    Notes
    -----
    Where an image has texture everywhere, such as grain of its own, that is taken for noise, but only as much of it as
    there is in the finest band: from level to level noise that is correlated grows less, and texture does not. For
    noise that grows with brightness, gain and read noise are those of the straight line through the variances in ranges
    of brightness; an offset without read noise is what explains a line that begins below zero. Noise that grows and is
    correlated counts as correlated. Of many slices and channels, 24 are looked at. Computed on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.enhance import PoissonGaussian, find_noise
    >>> clean = data.camera().astype(float)
    >>> report = find_noise(clean + np.random.default_rng(0).normal(0, 5, clean.shape))
    >>> round(report.sigma), report.model.name, report.is_white
    (5, 'gaussian', True)
    >>> noisy = PoissonGaussian(gain=0.5, sigma=2.0).add(clean, seed=0)
    >>> find_noise(noisy).model.name
    'poisson'
    >>> print(find_noise(noisy))  # doctest: +ELLIPSIS
    signal-dependent noise (over 99 % sure), sigma ... gain ..., read noise ...
    """
    pixels = check_pixels(to_host(image), "image")
    layout = find_layout(pixels.shape, axes, channel_axis)
    if len(layout.space) < 2:
        raise ShapeError(f"image of shape {pixels.shape} has one axis of space; noise is looked for in rows × columns")
    arranged = arrange(pixels, layout).pixels
    planes = np.moveaxis(arranged, -1, 0).reshape(-1, *arranged.shape[-3:-1])
    planes = planes[:: -(-len(planes) // _MOST_PLANES)].astype(np.float64)
    found = [_look(plane) for plane in planes]
    windows = _Windows(*(np.concatenate(each) for each in zip(*found, strict=True)))
    if len(windows.mean) < _ENOUGH:
        raise ShapeError(
            f"image of shape {pixels.shape} has {len(windows.mean)} windows of {_WINDOW} × {_WINDOW} pixels that are "
            f"not mostly clipped; noise needs {_ENOUGH}"
        )
    rounding = 1 / 12 if pixels.dtype.kind in "iu" else 0.0
    return _conclude(_undo_clipping(windows), _measure_spectrum(planes, rounding), rounding)


def _look(plane: Array) -> _Windows:
    """Return what is known of the windows of a plane, half a window apart: each is made of four blocks."""
    rows, columns = (length // _STEP * _STEP for length in plane.shape)
    if min(rows, columns) < _WINDOW:
        return _Windows(*[np.zeros(0)] * len(_Windows._fields))
    is_clipped, least, most = find_clipped(plane)
    part = plane[:rows, :columns]
    coarse, fine = decompose(part, "haar", 2, "periodization").details
    diagonal = _join_blocks(_average(np.square(fine["dd"]), _STEP // 2))
    below = _join_blocks(np.square(coarse["dd"]))
    # a fine band has four times as many coefficients as a coarse one
    across = _average(np.square(fine["ad"]) + np.square(fine["da"]), _STEP // 2)
    others = _join_blocks((4 * across + np.square(coarse["ad"]) + np.square(coarse["da"])) / 10)
    mean = _join_blocks(_average(part, _STEP))
    # noise can be seen where most pixels were not clipped, and those that were are no mask
    clipped = _average(is_clipped[:rows, :columns], _STEP)
    known = (_join_blocks(clipped) <= _MOST_CLIPPED) & (_join_blocks(clipped == 1) == 0)
    found = mean, diagonal, below, others, mean - least, most - mean
    return _Windows(*(np.asarray(each)[known] for each in found))


def _join_blocks(blocks: Array) -> Array:
    """Return the means of each block and the three behind and below it."""
    pairs = blocks[:-1].astype(np.float64) + blocks[1:]
    return (pairs[:, :-1] + pairs[:, 1:]) / 4


def _undo_clipping(windows: _Windows) -> _Windows:
    """Return windows with the brightness and the energies that they had before samples were clipped.

    Noise depends on brightness at most, so that smooth windows of the same brightness tell how much of it is left.
    """
    is_bounded = np.isfinite(np.minimum(windows.below, windows.above))
    ranges = _sort_by_brightness(windows) if is_bounded.any() else []
    if not ranges:
        return windows
    ranges = [own[: _count(len(own), _SMOOTH_IF_CLIPPED)] for own in ranges]
    variance = np.array([windows.diagonal[own].mean() for own in ranges])
    middles = (windows.mean, windows.below, windows.above)
    mean, below, above = (np.array([np.median(each[own]) for own in ranges]) for each in middles)
    left, shift = measure_clipping(variance, below, above)
    left = np.where(is_bounded, np.interp(windows.mean, mean, left), 1.0)
    shift = np.where(is_bounded, np.interp(windows.mean, mean, shift), 0.0)
    diagonal, coarse, others = (each / left for each in (windows.diagonal, windows.coarse, windows.others))
    return _Windows(windows.mean - shift, diagonal, coarse, others, windows.below, windows.above)


def _average(values: Array, size: int) -> Array:
    """Return the means of all windows; what is beyond the last whole one is left out."""
    rows, columns = (length // size for length in values.shape)
    # down first, where neighbours in memory are added
    lines = values[: rows * size, : columns * size].reshape(rows, size, columns * size).sum(axis=1, dtype=np.float64)
    return np.asarray(lines.reshape(rows, columns, size).sum(axis=2) / size**2)


def _conclude(windows: _Windows, spectrum: Correlated, rounding: float) -> NoiseReport:
    """Measure noise in the smooth windows, and in those of each range of brightness, and choose a model."""
    smooth = _choose(windows.others, _SMOOTH)
    ranges = _sort_by_brightness(windows)
    variance = max(float(windows.diagonal[smooth].mean()) - rounding, 0.0)
    # each window has 16 coefficients, and windows overlap by half along both axes
    error = sqrt(0.5 / (len(smooth) * (_WINDOW // 2) ** 2 / 4))
    whiteness, deviation, evenness = _measure_whiteness(windows, ranges)
    distance = (_WHITE - whiteness) / deviation - _CLEARLY
    certainty = _find_certainty(distance)
    if distance > 0 and spectrum.sigma:
        if evenness > _EVEN and _is_flattening(spectrum, whiteness):
            return NoiseReport(spectrum, spectrum.sigma, error, len(smooth), whiteness, certainty, spectrum)
        # texture hides what noise is like
        certainty = 0.5
    grown, distance = _fit(windows, ranges, rounding)
    certainty *= _find_certainty(distance)
    if grown is None:
        sigma = sqrt(variance)
        return NoiseReport(Gaussian(sigma), sigma, error, len(smooth), whiteness, certainty, spectrum)
    model, count, mean = grown
    return NoiseReport(model, sqrt(mean), error * sqrt(len(smooth) / count), count, whiteness, certainty, spectrum)


def _is_flattening(spectrum: Correlated, whiteness: float) -> bool:
    """Tell whether noise grows less to the coarsest level than to the one before, and not much."""
    diagonals = [row[-1] for row in spectrum.bands or ()]
    most = min(_GROWING, 1 / sqrt(max(whiteness, _LEAST)))
    return len(diagonals) < _LEVELS or diagonals[-1] < most * diagonals[-2]


def _measure_whiteness(windows: _Windows, ranges: list[Array]) -> tuple[float, float, float]:
    """Return the energy of the finest diagonal band over that of the next, its standard deviation, and the evenness.

    That is the energy in smooth windows over that in less smooth ones. Texture makes both less, but not in all ranges
    of brightness: the medians count.
    """
    whiteness, evenness, counts = [], [], []
    for own in ranges or [_choose(windows.others, 1.0)]:
        count = _count(len(own), _SMOOTH_OF_RANGE)
        smooth, less = own[:count], own[count : count + _count(len(own), _LESS_SMOOTH - _SMOOTH_OF_RANGE)]
        coarse = float(windows.coarse[smooth].mean())
        beside = float(windows.coarse[less].mean()) if len(less) else coarse
        whiteness.append(float(windows.diagonal[smooth].mean()) / coarse if coarse else 1.0)
        evenness.append(coarse / beside if beside else 1.0)
        counts.append(count)
    found = _find_median(whiteness, counts)
    # both bands count, and a quarter of the windows do not overlap
    fine, below = (sum(counts) / 4 * (_WINDOW // each) ** 2 for each in (2, 4))
    return found, max(found, _LEAST) * sqrt(2 / fine + 2 / below), _find_median(evenness, counts)


def _find_median(values: Sequence[float], counts: Sequence[int]) -> float:
    """Return the median of values, each of which counts so many times."""
    order = np.argsort(values)
    total = np.cumsum(np.array(counts)[order])
    return float(values[order[np.searchsorted(total, total[-1] / 2)]])


def _find_certainty(distance: float) -> float:
    """Return the chance that a test comes out the same, so many standard errors from where it would not."""
    return 1 - erfc(abs(distance) / sqrt(2)) / 2


def _measure_spectrum(planes: Array, rounding: float) -> Correlated:
    """Measure the noise of each band: of diagonal ones in windows that have little energy in the others of their level.

    Images have least in diagonal bands. With noise that is the same along rows and columns, and along each axis by
    itself, these tell that of the others: the part of an axis that is left for coarser levels is that of their details.
    """
    clipped = [find_clipped(plane)[0] for plane in planes]
    variances: list[float] = []
    for number, level in enumerate(measure_bands(planes, _LEVELS), 1):
        parts = [_look_at_level(bands, is_clipped, number) for *bands, is_clipped in zip(*level, clipped, strict=True)]
        diagonal, others = (np.concatenate(each) for each in zip(*parts, strict=True))
        if not len(diagonal):
            break
        smooth = _choose(others, _SMOOTH_OF_RANGE)
        variances.append(max(float(diagonal[smooth].mean()) - rounding, 0.0))
    details = np.sqrt(variances or [0.0]).tolist()
    left = details[-1]
    rows: list[tuple[float, float, float]] = []
    for detail in reversed(details):
        beside = sqrt(left * detail)
        rows.insert(0, (beside, beside, detail))
        left = (left + detail) / 2
    return Correlated(tuple(rows))


def _look_at_level(bands: Sequence[Array], is_clipped: Array, level: int) -> tuple[Array, Array]:
    """Return the energy of all windows without clipped pixels, in the diagonal band and in the others."""
    found = [_average(np.square(band), _BAND_WINDOW) for band in bands]
    found.append(_average(is_clipped, _BAND_WINDOW * 2**level))
    # where lengths are odd, bands differ by one window
    rows, columns = (min(each.shape[axis] for each in found) for axis in (0, 1))
    across, down, diagonal, clipped = (each[:rows, :columns] for each in found)
    return diagonal[clipped == 0], (across + down)[clipped == 0]


def _choose(energy: Array, part: float) -> Array:
    """Return the indices of the smoothest windows."""
    return np.argsort(energy)[: _count(len(energy), part)]


def _count(windows: int, part: float) -> int:
    """Return how many of some windows are a part of them, and enough."""
    return max(_ENOUGH, int(part * windows))


def _sort_by_brightness(windows: _Windows) -> list[Array]:
    """Return the indices of the windows of each range of brightness that has enough of them, the smoothest first."""
    least, most = windows.mean.min(), windows.mean.max()
    # brightness of windows has noise too, and ranges that tell no more of it apart would sort windows by that
    width = sqrt(float(windows.diagonal[_choose(windows.others, _SMOOTH)].mean()))
    count = min(_RANGES, 1 + int((most - least) / width)) if width else _RANGES
    edges = np.linspace(least, most, count + 1)
    ranges = np.clip(np.searchsorted(edges, windows.mean, side="right") - 1, 0, count - 1)
    order = np.argsort(windows.others)
    members = (order[ranges[order] == number] for number in range(count))
    return [own for own in members if len(own) >= 4 * _ENOUGH]


def _fit(
    windows: _Windows, ranges: list[Array], rounding: float
) -> tuple[tuple[PoissonGaussian, int, float] | None, float]:
    """Return the model of noise if it grows with brightness, from how many windows, and its mean variance.

    And how many standard errors its gain lies above what counts as growing.
    """
    smooth = [own[: _count(len(own), _SMOOTH_OF_RANGE)] for own in ranges]
    brightness = [float(windows.mean[own].mean()) for own in smooth]
    variances = [max(float(windows.diagonal[own].mean()) - rounding, 0.0) for own in smooth]
    counts = [len(own) for own in smooth]
    if len(counts) < 3 or not any(variances):
        return None, inf
    x, y, n = np.array(brightness), np.array(variances), np.array(counts, float)
    level = y
    for _ in range(_ROUNDS):
        # errors of variances are parts of these; ranges with texture in all windows lie far above the line
        level = np.maximum(level, _LEAST * y.mean())
        above = np.maximum(y / level - 1, 0) * np.sqrt(n)
        line = np.polyfit(x, y, 1, w=np.sqrt(n) / level / (1 + np.square(above)))
        level = np.polyval(line, x)
    gain, zero = (float(each) for each in line)
    level = np.maximum(level, _LEAST * y.mean())
    precision = n * (_WINDOW // 2) ** 2 / 8 / np.square(level)
    middle = np.sum(precision * x) / np.sum(precision)
    deviation = 1 / sqrt(float(np.sum(precision * np.square(x - middle))))
    least = max(_SIGNIFICANT * deviation, _NOTABLE * float(level.mean()) / float(x.max() - x.min()))
    distance = (gain - least) / deviation
    if gain < least:
        return None, distance
    offset, read = (0.0, sqrt(zero)) if zero > 0 else (-zero / gain, 0.0)
    return (PoissonGaussian(gain, offset, read), int(n.sum()), float(np.average(level, weights=n))), distance

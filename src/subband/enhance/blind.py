"""Blind noise estimation from one image: how strong it is, whether it grows with brightness, whether it is white.

Noise is measured where there is little else. Bands of an orthogonal transform have independent noise, so that windows
chosen for the little energy that they have in the other bands are a fair sample of the finest diagonal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from subband.arrays import to_host
from subband.enhance.layout import arrange, check_pixels, find_layout
from subband.enhance.models import Gaussian, NoiseModel, PoissonGaussian
from subband.errors import ShapeError
from subband.transforms import decompose
from subband.typing import Array

__all__ = ["NoiseReport", "find_noise"]

#: Samples of a window along each axis, and how far windows are apart.
_WINDOW, _STEP = 8, 4

#: The part of all windows that is taken for smooth, and of those of a range of brightness; and how many are enough.
_SMOOTH, _SMOOTH_OF_RANGE, _ENOUGH = 0.05, 0.1, 8

#: Ranges of brightness in which noise is compared.
_RANGES = 16

#: How often the line through their variances is drawn, and the least of these beside their mean.
_ROUNDS, _LEAST = 8, 0.01

#: How many standard errors noise has to grow with brightness, and to which part of it, to count as growing.
_SIGNIFICANT, _NOTABLE = 4.0, 0.2

#: Where so many samples have the least or the greatest value, they were clipped.
_CLIPPED = 2e-3

#: Below this, noise of the coarser bands is so much stronger than that of the finest that it is not white.
_WHITE = 0.7


@dataclass(frozen=True)
class NoiseReport:
    """What was found about the noise of an image.

    Attributes
    ----------
    model : NoiseModel
        For `denoise` and `Enhancer`: `Gaussian`, or `PoissonGaussian` if noise grows with brightness.
    sigma : float
        Standard deviation, in the units of the image; where noise grows with brightness, that of its mean variance.
    error : float
        Standard error of `sigma`, as a part of it.
    windows : int
        How many smooth windows it was measured in.
    whiteness : float
        Energy of the noise in the finest diagonal band beside that of bands half as fine: about 1 for white noise, or
        somewhat more, and less for noise that was smoothed, as by demosaicing, scaling or compression.
    """

    model: NoiseModel
    sigma: float
    error: float
    windows: int
    whiteness: float

    @property
    def is_white(self) -> bool:
        """Whether noise is as strong in fine bands as in coarse ones."""
        return self.whiteness >= _WHITE

    def __str__(self) -> str:
        text = f"sigma {self.sigma:.3g} ± {100 * self.error:.1f} %, from {self.windows} smooth windows"
        if isinstance(self.model, PoissonGaussian):
            text += f"; it grows with brightness: gain {self.model.gain:.3g}, read noise {self.model.sigma:.3g}"
        return text if self.is_white else f"{text}; it is not white, and stronger in coarser details"


class _Windows(NamedTuple):
    """What is known of each window: its brightness, and its energy in three kinds of bands."""

    mean: Array
    diagonal: Array
    others: Array
    coarse: Array


def find_noise(
    image: Any, *, axes: Sequence[int] | None = None, channel_axis: int | Literal["auto"] | None = "auto"
) -> NoiseReport:
    """Find out about the noise of an image, without being told anything.

    Parameters
    ----------
    image : array
        Rows × columns, perhaps with channels; of volumes each slice counts. Of integers the variance of rounding is
        taken away, and windows with clipped pixels do not count.
    axes, channel_axis
        As in `Enhancer.apply`.

    Raises
    ------
    ShapeError
        If there are fewer than two axes of space, or the image is too small.

    Notes
    -----
    Where an image has texture everywhere, such as grain of its own, that is taken for noise. For noise that grows with
    brightness, gain and read noise are those of the straight line through the variances in ranges of brightness; an
    offset without read noise is what explains a line that begins below zero.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.enhance import PoissonGaussian, find_noise
    >>> clean = data.camera().astype(float)
    >>> report = find_noise(clean + np.random.default_rng(0).normal(0, 5, clean.shape))
    >>> round(report.sigma, 1), report.model.name, report.is_white
    (5.0, 'gaussian', True)
    >>> noisy = PoissonGaussian(gain=0.5, sigma=2.0).add(clean, seed=0)
    >>> find_noise(noisy).model.name
    'poisson'
    """
    pixels = check_pixels(to_host(image), "image")
    layout = find_layout(pixels.shape, axes, channel_axis)
    if len(layout.space) < 2:
        raise ShapeError(f"image of shape {pixels.shape} has one axis of space; noise is looked for in rows × columns")
    arranged = arrange(pixels, layout).pixels
    planes = np.moveaxis(arranged, -1, 0).reshape(-1, *arranged.shape[-3:-1]).astype(np.float64)
    found = [_look(plane) for plane in planes]
    windows = _Windows(*(np.concatenate(each) for each in zip(*found, strict=True)))
    if len(windows.mean) < _ENOUGH:
        raise ShapeError(
            f"image of shape {pixels.shape} has {len(windows.mean)} windows of {_WINDOW} × {_WINDOW} pixels without "
            f"clipped ones; noise needs {_ENOUGH}"
        )
    rounding = 1 / 12 if np.asarray(image).dtype.kind in "iu" else 0.0
    return _conclude(windows, rounding)


def _look(plane: Array) -> _Windows:
    """Return what is known of the windows of a plane, half a window apart."""
    extremes = [value for value in (plane.min(), plane.max()) if np.mean(plane == value) > _CLIPPED]
    is_clipped = np.isin(plane, extremes) if plane.min() < plane.max() else np.zeros(plane.shape, bool)
    parts = []
    for top in range(0, _WINDOW, _STEP):
        for left in range(0, _WINDOW, _STEP):
            part = plane[top:, left:]
            rows, columns = (length // _WINDOW * _WINDOW for length in part.shape)
            if not rows or not columns:
                continue
            part = part[:rows, :columns]
            coarse, fine = decompose(part, "haar", 2, "periodization").details
            known = _average(is_clipped[top:, left:][:rows, :columns], _WINDOW) == 0
            diagonal = _average(np.square(fine["dd"]), _WINDOW // 2)
            beside = [_average(np.square(fine[key]), _WINDOW // 2) for key in ("ad", "da")]
            below = np.mean([_average(np.square(band), _WINDOW // 4) for band in coarse.values()], axis=0)
            # a fine band has four times as many coefficients as a coarse one
            others = (4 * (beside[0] + beside[1]) + 3 * below) / 11
            parts.append([each[known] for each in (_average(part, _WINDOW), diagonal, others, below)])
    nothing = [np.zeros(0)] * len(_Windows._fields)
    return _Windows(*(np.concatenate(each) for each in zip(nothing, *parts, strict=True)))


def _average(values: Array, size: int) -> Array:
    """Return the means of all windows."""
    rows, columns = (length // size for length in values.shape)
    return np.asarray(values.reshape(rows, size, columns, size).mean(axis=(1, 3)))


def _conclude(windows: _Windows, rounding: float) -> NoiseReport:
    """Measure noise in the smooth windows, and in those of each range of brightness."""
    smooth = _choose(windows.others, _SMOOTH)
    variance = max(float(windows.diagonal[smooth].mean()) - rounding, 0.0)
    coarse = float(windows.coarse[smooth].mean())
    whiteness = float(windows.diagonal[smooth].mean()) / coarse if coarse else 1.0
    # each window has 16 coefficients, and windows overlap by half along both axes
    error = sqrt(0.5 / (len(smooth) * (_WINDOW // 2) ** 2 / 4))
    grown = _fit(windows, rounding)
    if grown is None:
        return NoiseReport(Gaussian(sqrt(variance)), sqrt(variance), error, len(smooth), whiteness)
    model, count, mean = grown
    return NoiseReport(model, sqrt(mean), error * sqrt(len(smooth) / count), count, whiteness)


def _choose(energy: Array, part: float) -> Array:
    """Return the indices of the smoothest windows."""
    return np.argsort(energy, kind="stable")[: max(_ENOUGH, int(part * len(energy)))]


def _fit(windows: _Windows, rounding: float) -> tuple[PoissonGaussian, int, float] | None:
    """Return the model of noise if it grows with brightness, from how many windows, and its mean variance."""
    edges = np.linspace(windows.mean.min(), windows.mean.max(), _RANGES + 1)
    ranges = np.clip(np.searchsorted(edges, windows.mean, side="right") - 1, 0, _RANGES - 1)
    brightness, variances, counts = [], [], []
    for number in range(_RANGES):
        own = np.flatnonzero(ranges == number)
        if len(own) < 4 * _ENOUGH:
            continue
        smooth = own[_choose(windows.others[own], _SMOOTH_OF_RANGE)]
        brightness.append(float(windows.mean[smooth].mean()))
        variances.append(max(float(windows.diagonal[smooth].mean()) - rounding, 0.0))
        counts.append(len(smooth))
    if len(counts) < 3 or not any(variances):
        return None
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
    spread = gain * float(x.max() - x.min())
    if gain < _SIGNIFICANT * deviation or spread < _NOTABLE * float(level.mean()):
        return None
    offset, read = (0.0, sqrt(zero)) if zero > 0 else (-zero / gain, 0.0)
    return PoissonGaussian(gain, offset, read), int(n.sum()), float(np.average(level, weights=n))

"""The gradient of an image or a volume at several scales, from its undecimated bands, and the noise in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from subband.boundary import extend
from subband.compiled import Kernels
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.filters.constants import NORMAL_MEDIAN
from subband.engines.threads import get_threads, run_tasks
from subband.enhance.noise import combine_gains
from subband.errors import ArgumentError
from subband.stationary import StationaryPlan, StationaryTransformPlan, stationary_transform_plan
from subband.transforms.padding import extend_axis
from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["Scale", "check_wavelet", "measure_scales", "share_lines"]

_loops = Kernels("subband.edit.edge_loops")

#: Coefficients that noise is measured from.
_MOST_COUNTED = 100_000


@dataclass
class Scale:
    """Gradient and modulus at one scale.

    Attributes
    ----------
    level : int
        1 is the finest.
    gradient : ndarray of float32
        Dimensions × slices × rows × columns; an image has one slice.
    modulus : ndarray of float32
        Slices × rows × columns: the height of a straight step that would look so.
    deviation : float
        Standard deviation of the noise in each part of the gradient.
    borders : three ndarrays of float32
        For slices, rows and columns, how much more noise there is near the ends.
    """

    level: int
    gradient: Array
    modulus: Array
    deviation: float
    borders: tuple[Array, Array, Array]

    def spread_noise(self, factor: float, least: float) -> tuple[Array, Array, Array]:
        """Return three arrays, for slices, rows and columns, whose product is the noise at each position."""
        slices, rows, columns = self.borders
        # copies, for Numba compiles once more for arrays that cannot be written to
        return slices.copy(), rows.copy(), columns * np.float32(max(factor * self.deviation, least))


def measure_scales(
    channels: list[Array],
    wavelet: Wavelet,
    level: int,
    finest: int = 1,
    sigma: float | None = None,
    engine: str | Engine | None = None,
) -> tuple[list[Scale], float]:
    """Return gradient and modulus of each scale, the finest first, and the standard deviation of the noise.

    Parameters
    ----------
    channels : list of ndarray of float32
        Images or volumes of the same shape; the steepest of them counts at each position.
    wavelet : Wavelet
        One that `check_wavelet` takes.
    level, finest : int
        The coarsest and the finest scale.
    sigma : float, optional
        Standard deviation of the noise; measured if left out.
    engine : str, optional
        Who transforms.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> step = np.repeat(np.float32([[0, 10]]), 16, axis=1).repeat(8, axis=0)
    >>> scales, noise = measure_scales([step], Wavelet("rbio3.1"), 2)
    >>> [float(scale.modulus[0, 4, 15].round(3)) for scale in scales], round(noise, 3)
    ([10.0, 10.0], 0.0)
    """
    plan = _plan_transform(channels[0].shape, wavelet, level)
    keep = tuple(range(finest, plan.level + 1))
    count = len(plan.axes)
    shape = (1,) * (3 - count) + plan.shape[-count:]
    noises: list[float] = []
    scales: list[Scale] = []
    for number, channel in enumerate(channels):
        extended = channel
        for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
            length = plan.shape[axis]
            extended = extend_axis(extended, axis, extend(mode, length, -margin, length + margin))
        extended = np.ascontiguousarray(extended)
        details, diagonal = call_natively(_transform, {0: "x"}, (extended, plan.levels, keep, engine), {}, engine)
        noises.append(_estimate_noise(_cut(np.asarray(diagonal), plan, 1), plan))
        for finer, (own, bands) in enumerate(zip(keep, details, strict=True)):
            if number == 0:
                empty = np.empty((count, *shape), np.float32)
                borders = [_measure_border(wavelet, own, length) for length in plan.shape]
                ends = (np.ones(1, np.float32), *borders)[-3:]
                scales.append(Scale(own, empty, np.empty(shape, np.float32), 0.0, (ends[0], ends[1], ends[2])))
            parts = tuple(_cut(np.asarray(band, np.float32), plan, own).reshape(shape) for band in bands)
            _combine_bands(parts, np.float32(_measure_step(wavelet, own, count)), scales[finer], number == 0)
    noise = max(noises) if sigma is None else float(sigma)
    for scale in scales:
        key = "d" + "a" * (count - 1)
        gain = combine_gains(plan.wavelets, scale.level, key) * abs(_measure_step(wavelet, scale.level, count))
        scale.deviation = noise * gain
    return scales, noise


@lru_cache(maxsize=64)
def check_wavelet(wavelet: Wavelet) -> None:
    """Check that the bands of a wavelet are a gradient.

    Raises
    ------
    ArgumentError
        If its filters are not symmetric and of even length, or its high-pass filter is no first derivative.
    """
    low, high = np.asarray(wavelet.dec_lo), np.asarray(wavelet.dec_hi)
    is_symmetric = len(low) % 2 == 0 and np.allclose(low, low[::-1]) and np.allclose(high, -high[::-1])
    slope = float(np.abs(np.arange(len(high)) @ high))
    if not is_symmetric or slope < 1e-6:
        raise ArgumentError(
            f"wavelet={wavelet.name!r} is no smoothed first derivative; use one such as 'rbio3.1', 'haar' or 'bior1.3'"
        )


def share_lines(array: Array, work: Any) -> None:
    """Distribute the rows of an array over threads."""
    lines = array.shape[0] * array.shape[1]
    count = 1 if array.size < 4096 else get_threads() * 2
    borders = [lines * number // count for number in range(count + 1)]
    run_tasks(work, list(pairwise(borders)))


def _transform(
    x: Any, levels: tuple[StationaryPlan, ...], keep: tuple[int, ...], engine: str | Engine | None
) -> tuple[list[list[Any]], Any]:
    """Return the bands that are first derivatives, for each scale that counts, and the finest diagonal band."""
    chosen = engine_for(x, engine)
    count = len(levels[0].axes)
    keys = ["a" * axis + "d" + "a" * (count - 1 - axis) for axis in range(count)]
    kept: list[list[Any]] = []
    diagonal = None
    for number, level in enumerate(levels, start=1):
        bands = chosen.stationary_forward(level, x)
        x = bands["a" * count]
        if number == 1:
            diagonal = bands["d" * count]
        if number in keep:
            kept.append([bands[key] for key in keys])
    return kept, diagonal


def _cut(band: Array, plan: StationaryTransformPlan, level: int) -> Array:
    """Return a band without its margins, its scale in line with the finest one.

    Filters of even length look half a sample further at the finest level, and more at those above.
    """
    delay = (1 << (level - 1)) - 1
    window = [slice(None)] * band.ndim
    for axis, margin in zip(plan.axes, plan.margins, strict=True):
        window[axis] = slice(margin - delay, margin - delay + plan.shape[axis])
    return band[tuple(window)]


def _estimate_noise(diagonal: Array, plan: StationaryTransformPlan) -> float:
    """Return the standard deviation of white noise, from the median magnitude of the finest diagonal band."""
    gain = combine_gains(plan.wavelets, 1, "d" * len(plan.axes))
    # a median of many thousands is near enough, and that of millions takes longer than the transform
    step = max(1, round((diagonal.size / _MOST_COUNTED) ** (1 / diagonal.ndim)))
    some = diagonal[(slice(None, None, step),) * diagonal.ndim]
    return float(np.median(np.abs(some))) / (NORMAL_MEDIAN * gain)


@lru_cache(maxsize=256)
def _measure_step(wavelet: Wavelet, level: int, dimensions: int) -> float:
    """Return what a first-derivative band is to be multiplied by for a step of height one to have modulus one."""
    low, high = np.asarray(wavelet.dec_lo), np.asarray(wavelet.dec_hi)
    path = np.ones(1)
    for number in range(level):
        spread = np.zeros((len(low) - 1) * 2**number + 1)
        spread[:: 2**number] = low if number < level - 1 else high
        path = np.convolve(path, spread)
    # filters are laid over the samples backwards, so the step comes in from their first tap
    response = np.cumsum(path)
    peak = float(response[np.argmax(np.abs(response))])
    return 1 / (peak * float(low.sum()) ** (level * (dimensions - 1)))


@lru_cache(maxsize=256)
def _measure_border(wavelet: Wavelet, level: int, length: int) -> Array:
    """Return how much more noise a smoothed row has at each position than far from its ends.

    Beyond an end the same samples come again, so that a mean over both has seen fewer of them.
    """
    low = np.asarray(wavelet.dec_lo)
    path = np.ones(1)
    for number in range(level):
        spread = np.zeros((len(low) - 1) * 2**number + 1)
        spread[:: 2**number] = low
        path = np.convolve(path, spread)
    reach = len(path) // 2
    ratio = np.ones(length, np.float32)
    samples = extend("symmetric", length, -reach, length + reach + 1).index
    norm = float(np.linalg.norm(path))
    for position in {*range(min(reach, length)), *range(max(length - reach - 1, 0), length)}:
        # an edge is half a sample behind its position
        touched = samples[position + 1 : position + 1 + len(path)]
        ratio[position] = np.linalg.norm(np.bincount(touched, path)) / norm
    ratio.setflags(write=False)
    return ratio


def _combine_bands(parts: tuple[Array, ...], factor: np.float32, scale: Scale, is_first: bool) -> None:
    share_lines(scale.modulus, lambda *lines: _loops.combine_bands(
        parts, factor, scale.gradient, scale.modulus, is_first, *lines
    ))  # fmt: skip


@lru_cache(maxsize=64)
def _plan_transform(shape: tuple[int, ...], wavelet: Wavelet, level: int) -> StationaryTransformPlan:
    count = len(shape)
    return stationary_transform_plan(shape, tuple(range(count)), (wavelet,) * count, ("symmetric",) * count, level)

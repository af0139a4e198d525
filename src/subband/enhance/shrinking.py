"""Coefficients of whole images: shrunk by given thresholds, or by the method of a `Denoise` stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from subband.arrays import cast, concatenate, namespace
from subband.boundary import extend
from subband.engines import Engine
from subband.engines.filters import Filters
from subband.engines.filters.cells import SIDES, Cells, cut_cells
from subband.engines.filters.groups import Groups
from subband.enhance.methods import Band, Method, find_method
from subband.enhance.noise import combine_gains
from subband.enhance.noise_maps import NoiseMap
from subband.enhance.per_band import DETAILS, weigh_band, weigh_levels
from subband.enhance.roundtrip import Coefficients, Roundtrip
from subband.enhance.stages import Denoise, Shrink
from subband.errors import ShapeError
from subband.transforms.dual_tree.orientations import take_trees
from subband.typing import Array, Bands
from subband.wavelets import Wavelet
from subband.wavelets.dual_tree import DualTreeFilters

__all__ = [
    "ROUNDS",
    "LevelRule",
    "Refine",
    "choose_coefficients",
    "cut_finest",
    "filter_by_guide",
    "list_rules",
    "make_denoiser",
    "make_shrinker",
    "measure_planes",
    "shrink_by_noise",
]

#: From planes and a first guess, the planes with weaker noise, and how many times as weak it is.
Refine = Callable[[Any, Any], tuple[Any, float]]

#: Changes coefficients in place.
Work = Callable[[Coefficients], None]

#: How often noise is refined and filtered again: each guess is better than the last, and the fourth no more.
ROUNDS = 3

#: Bands shrink together until they have so many coefficients: more would be no faster, and need memory for all results.
_TOGETHER = 1 << 20


@dataclass(frozen=True)
class LevelRule:
    """How the details of one level shrink: what a method is told about them, whole or in parts.

    Attributes
    ----------
    stage : Denoise or Shrink
        The method.
    wavelets : tuple of Wavelet or DualTreeFilters
        Along each transformed axis.
    level : int
        Which, from 1, the finest.
    weights, parent_weights : tuple of float
        What the noise of this level, or of each of its three bands, is multiplied by; and that of the next coarser one.
    shift : int
        The parent of coefficient k stands at ``(k + shift) // 2``.
    samples : int
        Of a plane of the whole image.
    is_decimated : bool
        Whether a level has half as many coefficients as the one before along each axis.
    """

    stage: Denoise | Shrink
    wavelets: tuple[Wavelet | DualTreeFilters, ...]
    level: int
    weights: tuple[float, ...]
    parent_weights: tuple[float, ...]
    shift: int
    samples: int
    is_decimated: bool = True

    @cached_property
    def method(self) -> Method | None:
        """Who decides, if it is not given thresholds, and if there is something to decide."""
        return find_method(self.stage.method) if isinstance(self.stage, Denoise) and any(self.weights) else None

    @cached_property
    def takes_parent(self) -> bool:
        """Whether the next coarser level has a say."""
        return self.method is not None and self.method.takes_parent

    @property
    def window(self) -> int:
        """Coefficients along each axis that have a say."""
        return 1 if self.method is None else self.method.measure_window(len(self.wavelets))

    def find_gain(self, key: str) -> float:
        """Return what noise of standard deviation one has in a band of this level."""
        return combine_gains(self.wavelets, self.level, key) * self.find_weight(key)

    def find_weight(self, key: str) -> float:
        """Return what the noise of a band of this level is multiplied by; 0 leaves the band as it is."""
        return self._weigh(self.weights, key)

    def _weigh(self, weights: tuple[float, ...], key: str) -> float:
        return weights[0] if len(weights) == 1 else weigh_band(np.array(weights), key, len(self.wavelets))

    def find_gains(self, key: str) -> tuple[float, float]:
        """Return the gains of a band, 0 if it stays as it is, and of its parent; they are looked up for every image."""
        found = self._gains.get(key)
        if found is None:
            # where a parent has no noise to be weighed by, it is taken for as noisy as the band
            above = self._weigh(self.parent_weights, key) or self._weigh(self.weights, key)
            parent_gain = combine_gains(self.wavelets, self.level + 1, key) * above
            found = self._gains[key] = self.find_gain(key), parent_gain
        return found

    @cached_property
    def _gains(self) -> dict[str, tuple[float, float]]:
        return {}

    def make_band(self, values: Any, parent: Any, key: str, noise: Any) -> Band:
        """Return all that a method may ask about a band or a part of it; noise is that of each plane, uploaded."""
        gain, parent_gain = self.find_gains(key)
        return Band(
            values,
            noise,
            gain,
            self.stage.mode,
            self.samples,
            len(self.wavelets),
            1 if self.is_decimated else 2**self.level,
            None if parent is None or 0 in parent.shape else parent,
            parent_gain,
            *((self.shift, 2) if self.is_decimated else (0, 1)),
        )


@lru_cache(maxsize=64)
def list_rules(
    stage: Denoise | Shrink,
    wavelets: tuple[Wavelet | DualTreeFilters, ...],
    levels: int,
    shift: int,
    samples: int,
    *,
    is_decimated: bool,
) -> tuple[LevelRule, ...]:
    """Return what happens on each level, the finest first; attributes of `LevelRule` say what the parameters are.

    Examples
    --------
    >>> from subband.wavelets import as_wavelet
    >>> rules = list_rules(Denoise("visu", strength=0.5), (as_wavelet("haar"),) * 2, 2, 0, 64, is_decimated=True)
    >>> [rule.weights for rule in rules]
    [(0.5,), (0.5,)]
    """
    weights = np.ones(levels + 1)
    if isinstance(stage, Denoise):
        weights = weigh_levels(stage.level_weights, levels + 1) * stage.strength
    rows = [tuple(row) for row in weights.reshape(levels + 1, -1).tolist()]
    return tuple(
        LevelRule(stage, wavelets, number, own, above, shift, samples, is_decimated)
        for number, (own, above) in enumerate(pairwise(rows), 1)
    )


def make_shrinker(stage: Shrink, planes: int, dimensions: int, filters: Filters) -> Work:
    """Return what shrinks coefficients by given thresholds.

    Parameters
    ----------
    stage : Shrink
        Thresholds and gains.
    planes : int
        How many.
    dimensions : int
        How many axes are transformed.
    filters : Filters
        The engine that computes.
    """
    low, high, gain = stage.spread(planes)
    if dimensions != 2 and any((numbers != numbers[:, :1]).any() for numbers in (low, high, gain)):
        raise ShapeError(
            f"thresholds or gains differ between the bands ad, da and dd, and {dimensions} axes are transformed; "
            "give one for each level, or levels × 1 × channels"
        )
    # a level that stays as it is need not be read and written
    changes = ((low > 0) | (gain != 1)).any(axis=(1, 2))

    def work(coefficients: Coefficients) -> None:
        for level, bands in enumerate(coefficients.details):
            if changes[level] and bands:
                columns = [DETAILS.index(key[:2]) if dimensions == 2 else 0 for key in bands]
                positions = len(coefficients.list_begins(level + 1))
                own = [np.tile(numbers[level, columns], (1, positions)) for numbers in (low, high, gain)]
                values = [_measure_magnitudes(x) if coefficients.is_complex else x for x in bands.values()]
                shrunk = filters.shrink_bands(values, own[0], stage.mode, own[1], own[2])
                for key, x in zip(list(bands), shrunk, strict=True):
                    bands[key] = _set_magnitudes(bands[key], x) if coefficients.is_complex else x

    return work


def measure_planes(filters: Filters, coefficients: Coefficients, mask: Array | None = None) -> Any:
    """Return the standard deviation of noise of each plane, from smooth cells of the finest diagonal band.

    Parameters
    ----------
    filters : Filters
        The engine that computes.
    coefficients : Coefficients
        Of a transform of at least one level, but for planes of a single sample: those have no noise that can be told.
    mask : ndarray of bool, optional
        Which samples of the planes count, of the shape of space.
    """
    if not coefficients.details:
        return filters.upload(np.zeros(coefficients.approximation.shape[0]))
    axes, bands = len(coefficients.wavelets), coefficients.details[0]
    if coefficients.is_complex:
        bands = {key: _take_real(bands, key) for key in dict.fromkeys(key[:axes] for key in bands)}
    found = {key: (band, combine_gains(coefficients.wavelets, 1, key)) for key, band in bands.items()}
    band, gain = found.pop("d" * axes)
    counted = None if mask is None else _count_coefficients(mask, coefficients, band.shape[1:])
    ahead = None if coefficients.is_decimated else max(coefficients.begin)
    margin, step = _find_margin(coefficients.wavelets, coefficients.shift, ahead)
    before = coefficients.shift if ahead is None else ahead
    return filters.measure_noise(band, gain, counted, list(found.values()), margin, step, coefficients.samples, before)


def cut_finest(roundtrip: Roundtrip, shape: tuple[int, ...]) -> Cells | None:
    """Return the cells of the finest diagonal band, of a shape, in which `measure_planes` measures."""
    is_stationary = roundtrip.stage.form == "undecimated"
    margin, step = _find_margin(roundtrip.wavelets, roundtrip.shift, roundtrip.margin if is_stationary else None)
    ahead = roundtrip.margin if is_stationary else roundtrip.shift
    return cut_cells(shape, 2 ** len(roundtrip.axes) - 2, margin, step, ahead)


@lru_cache(maxsize=256)
def _find_margin(wavelets: tuple[Wavelet | DualTreeFilters, ...], shift: int, ahead: int | None) -> tuple[int, int]:
    """Return how many of the finest coefficients at a border are in no cell, and the distance of those that are.

    Shift is that of decimated `Coefficients`; those that are not have some ahead of the border, too.
    """
    longest = max(wavelet.dec_len for wavelet in wavelets)
    step = 1 if ahead is None else 2
    # whole cells, so that those of images lie in the blocks of 8 × 8 samples that JPEG has quantised
    side = SIDES.get(2 ** len(wavelets) - 2, 1) * step
    reach = longest // 2 if step == 2 else (longest - 1) // 2 if shift else longest // 4
    return (ahead or 0) + -(-reach // side) * side, step


def make_denoiser(
    stage: Denoise, roundtrip: Roundtrip, noise: Any = None, refine: Refine | None = None, joint: int = 1
) -> Callable[[Any, Array | None, NoiseMap | None], Any]:
    """Return what removes noise from planes: ``denoise(planes, mask, strengths)``.

    Parameters
    ----------
    stage : Denoise
        What is to be done.
    roundtrip : Roundtrip
        Of this stage, for planes of their shape.
    noise : numbers, optional
        Standard deviation in each plane; if left out, measured in samples where `mask` is not False. Where noise is not
        equally strong everywhere, `strengths` says both.
    refine : callable, optional
        For noise that becomes weaker when it is seen from a first guess.
    joint : int
        How many planes are the colours of one image, the first its brightness.
    """
    engine, filters = roundtrip.engine, roundtrip.filters
    # where nothing is transformed there is nothing to guide either
    is_guide = find_method(stage.method).is_guide and roundtrip.level > 0
    # with a second pass to come, filters of space wait for that
    first = roundtrip.without_filters() if is_guide else roundtrip

    def denoise(planes: Any, mask: Array | None, strengths: NoiseMap | None) -> Any:
        found = noise if strengths is None else strengths.noise

        def work(coefficients: Coefficients) -> None:
            nonlocal found
            if found is None:
                found = measure_planes(filters, coefficients, mask)
            if strengths is not None:
                strengths.level(coefficients)
            shrink_by_noise(stage, filters, coefficients, found, prod(planes.shape[1:]))
            if strengths is not None:
                strengths.restore(coefficients)

        guess = first.run(planes, work)
        if not is_guide:
            return guess
        if refine is None:
            return filter_by_guide(stage, planes, guess, found, 1.0, engine, filters, joint, strengths)
        for left in reversed(range(ROUNDS)):
            refined, weaker = refine(planes, guess)
            each = replace(stage, filters=()) if left else stage
            guess = filter_by_guide(each, refined, guess, found, weaker, engine, filters, joint, strengths)
        return guess

    return denoise


def shrink_by_noise(stage: Denoise, filters: Filters, coefficients: Coefficients, noise: Any, count: int) -> None:
    """Shrink all details by what noise there is.

    Parameters
    ----------
    stage : Denoise
        The method.
    filters : Filters
        The engine that computes.
    coefficients : Coefficients
        Changed in place.
    noise : numbers
        Standard deviation in each plane.
    count : int
        Samples of a plane.
    """
    rules = list_rules(
        stage,
        coefficients.wavelets,
        len(coefficients.details),
        coefficients.shift,
        count,
        is_decimated=coefficients.is_decimated,
    )
    method = next((rule.method for rule in rules if rule.method is not None), None)
    if method is None:
        return
    for batch in _gather_bands(rules, coefficients, noise):
        shrunk = method.shrink_bands(filters, [band for _, _, band in batch])
        for (bands, key, _), values in zip(batch, shrunk, strict=True):
            bands[key] = _set_magnitudes(bands[key], values) if coefficients.is_complex else values


def _gather_bands(
    rules: Sequence[LevelRule], coefficients: Coefficients, noise: Any
) -> Iterator[list[tuple[Bands, str, Band]]]:
    """Yield bands that shrink, the dictionary and the key of each, so many at a time that they are worth a launch."""
    batch: list[tuple[Bands, str, Band]] = []
    count = 0
    # from fine to coarse, because parents must not have been shrunk
    for rule, bands in zip(rules, coefficients.details, strict=True):
        if rule.method is None:
            continue
        parents: Bands = coefficients.details[rule.level] if rule.takes_parent and rule.level < len(rules) else {}
        for key, band in bands.items():
            if 0 in band.shape or rule.find_gains(key)[0] == 0:
                continue
            values, parent = band, parents.get(key)
            if parent is not None and parent.shape[0] > band.shape[0]:
                # those of the first shift
                parent = parent[: band.shape[0]]
            if coefficients.is_complex:
                values, parent = _measure_magnitudes(band), None if parent is None else _measure_magnitudes(parent)
            batch.append((bands, key, rule.make_band(values, parent, key, noise)))
            count += prod(values.shape)
            if count >= _TOGETHER:
                yield batch
                batch, count = [], 0
    if batch:
        yield batch


def _split_parts(band: Any) -> tuple[Any, Any]:
    """Return the real and imaginary parts of a complex band."""
    count = band.shape[0] // 2
    return band[:count], band[count:]


def _measure_magnitudes(band: Any) -> Any:
    """Return the magnitudes of a complex band over √2, so that noise is as strong in them as in either part."""
    # squares of halves would soon be infinite
    real, imaginary = _split_parts(cast(band, np.float32) if band.dtype.itemsize == 2 else band)
    # a root of nothing has no derivative
    return ((real * real + imaginary * imaginary) * 0.5 + float(np.finfo(real.dtype).tiny)) ** 0.5


def _set_magnitudes(band: Any, values: Any) -> Any:
    """Return a complex band with other magnitudes, as `_measure_magnitudes` has them, and the same phases."""
    # where there is nothing, nothing over the least number stays nothing
    ratio = cast(values / (_measure_magnitudes(band) + float(np.finfo(values.dtype).tiny)), band.dtype)
    return concatenate([part * ratio for part in _split_parts(band)], 0)


def _take_real(bands: Bands, key: str) -> Any:
    """Return the real coefficients that one tree along each axis has in a kind of complex bands.

    The low-pass filters of a decimated transform stand between the high-pass ones, as those of the other tree do.
    """
    parts = {name: _split_parts(band) for name, band in bands.items() if name.startswith(key)}
    return take_trees(parts, [int(letter == "a") for letter in key])


def filter_by_guide(
    stage: Denoise,
    planes: Any,
    guess: Any,
    noise: Any,
    weaker: float,
    engine: Engine,
    filters: Filters,
    joint: int = 1,
    strengths: NoiseMap | None = None,
) -> Any:
    """Denoise planes once more, with what was found first as a guide.

    It tells which patches look alike, if the method has passes over such groups, else how strong each coefficient is.
    Haar's short filters keep what leaks from an edge beside it, and without decimation every position of the image
    counts.
    """
    passes = find_method(stage.method).list_passes(planes.ndim - 1)
    if passes:
        # a group has patches from all over
        noise = noise * (stage.strength / weaker)
        if strengths is not None:
            noise = noise * strengths.measure_typical(planes.shape[0])
        for groups in passes:
            guess = _filter_by_groups(planes, guess, noise, groups, filters, joint)
        return Roundtrip(stage, planes.shape, engine, filters).run(guess, lambda _: None) if stage.filters else guess
    second = Roundtrip(replace(stage, wavelet="haar", form="undecimated", boundary=None), planes.shape, engine, filters)
    coefficients, guide = second.forward(planes), second.without_filters().forward(guess)
    weights = weigh_levels(stage.level_weights, second.level) * (stage.strength / weaker)
    if strengths is not None:
        strengths.level(coefficients)
        strengths.level(guide)
    for level, (bands, guides) in enumerate(zip(coefficients.details, guide.details, strict=True), 1):
        for key, band in bands.items():
            weight = weigh_band(weights[level - 1], key, len(coefficients.wavelets))
            gain = combine_gains(coefficients.wavelets, level, key) * weight
            bands[key] = filters.shrink_wiener(band, guides.pop(key), noise, gain)
    if strengths is not None:
        strengths.restore(coefficients)
    second.apply_filters(coefficients)
    return second.inverse(coefficients, planes.shape)


def _filter_by_groups(planes: Any, guide: Any, noise: Any, groups: Groups, filters: Filters, joint: int) -> Any:
    """Filter each image by the groups of its own first plane."""
    count = planes.shape[0]
    if count == joint:
        return filters.filter_groups(planes, guide, noise, groups)
    images = [slice(first, first + joint) for first in range(0, count, joint)]
    return concatenate([filters.filter_groups(planes[own], guide[own], noise[own], groups) for own in images], 0)


def _count_coefficients(mask: Array, coefficients: Coefficients, shape: tuple[int, ...]) -> Array | None:
    """Return which coefficients of the finest level touch only samples that count; None if none does."""
    reach = max(wavelet.dec_len for wavelet in coefficients.wavelets)
    step = 2 if coefficients.is_decimated else 1
    axes = tuple(axis for axis, length in enumerate(shape) if not mask.shape[axis] == length == 1)
    for axis in axes:
        first = -reach - (coefficients.begin[axis] if coefficients.begin else 0)
        # what lies outside is a mirror image
        indices = extend("reflect", mask.shape[axis], first, first + step * (shape[axis] - 1) + 2 * reach + 1).index
        mask = np.take(mask, indices, axis)
    chosen = choose_coefficients(mask, reach, step, axes)
    return np.ascontiguousarray(chosen, np.uint8) if chosen.any() else None


def choose_coefficients(mask: Any, reach: int, step: int, axes: tuple[int, ...]) -> Any:
    """Return which coefficients touch only samples that count.

    A coefficient counts if every sample within the reach of its filter, however that is placed, does.

    Parameters
    ----------
    mask : array of bool
        Which samples count; `reach` of them before the first coefficient, and behind the last.
    reach : int
        Samples on either side.
    step : int
        Distance of coefficients.
    axes : tuple of int
        The transformed ones.

    Examples
    --------
    >>> choose_coefficients(np.array([1, 1, 1, 1, 0, 1, 1], bool), 1, 2, (0,))
    array([ True, False, False])
    """
    xp = namespace(mask, "a mask")
    width = 2 * reach + 1
    for axis in axes:
        sums = xp.cumsum(xp.moveaxis(mask, axis, 0).astype(np.int64), axis=0)
        inside = sums[width - 1 :].copy()
        inside[1:] -= sums[:-width]
        mask = xp.moveaxis(inside[::step] == width, 0, axis)
    return mask

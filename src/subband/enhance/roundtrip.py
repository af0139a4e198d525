"""Round trips of planes through the wavelet domain: forward transform, change of the coefficients, inverse.

Everything is computed on the device that holds the planes, by its engine and filters.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

from subband.arrays import concatenate
from subband.boundary import is_expansive
from subband.engines import Engine
from subband.engines.filters import Filters
from subband.engines.filters.base import choose_margins
from subband.enhance.stages import SHIFTED_LEVELS, SPIN, Blur, Denoise, Sharpen, Shrink, Spatial
from subband.plan import LevelPlan, TransformPlan, transform_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.transforms.decomposition import choose_level, choose_modes
from subband.transforms.dual_tree.orientations import combine, separate
from subband.transforms.dual_tree.plan import DualTreePlan, dual_tree_plan
from subband.typing import Bands
from subband.wavelets import Wavelet, as_wavelet
from subband.wavelets.dual_tree import DualTreeFilters, find_biort, find_qshift

__all__ = ["Coefficients", "Roundtrip", "apply_spatial", "measure_shift"]

# Noise fades from level to level, and beyond this one there is little left to remove.
_MOST_LEVELS = 5

# Filters of the dual tree's later levels: longer ones do not denoise better.
_QSHIFT = "qshift_b"


def measure_shift(wavelet: Wavelet, mode: str) -> int:
    """Return the shift of `Coefficients` that brings coefficient k to the parent that is nearest to it.

    A coefficient of an expansive transform stands further to the left the longer the filter: around sample
    ``2 k + 1 - (length - 1) / 2``.

    Examples
    --------
    >>> measure_shift(as_wavelet("haar"), "symmetric"), measure_shift(as_wavelet("db4"), "symmetric")
    (0, 3)
    >>> measure_shift(as_wavelet("cdf97"), "whole")
    0
    """
    return (wavelet.dec_len - 2) // 2 if is_expansive(mode) else 0


@dataclass
class Coefficients:
    """Wavelet coefficients of a stack of planes.

    Attributes
    ----------
    approximation : array
        The coarsest band.
    details : list of dict
        The other bands of each level, the finest first.
    wavelets : tuple of Wavelet or DualTreeFilters
        Along each transformed axis.
    is_decimated : bool
        Whether a level has half as many coefficients as the one before along each axis.
    shift : int
        The parent of coefficient k is at ``(k + shift) // 2`` if it is.
    begin : tuple of int
        How many samples there are before the first of the image along each axis of space; none if it is empty.
    spins : list of tuple of int
        With cycle spinning, for each level by how much what it splits is shifted for a second half of planes: zeros
        where it is not. Bands have twice as many planes from there on, those of all positions one after the other.
    is_complex : bool
        Whether bands of details hold the real parts of all planes, and then their imaginary parts.
    samples : array, optional
        The planes that were transformed, if they are still known.
    """

    approximation: Any
    details: list[Bands]
    wavelets: tuple[Wavelet | DualTreeFilters, ...]
    is_decimated: bool = True
    shift: int = 0
    begin: tuple[int, ...] = ()
    is_complex: bool = False
    spins: list[tuple[int, ...]] = field(default_factory=list)
    samples: Any = None

    def list_begins(self, level: int) -> list[tuple[int, ...]]:
        """Return `begin` for each position that a level has planes of, the finest level being 1."""
        begins = [self.begin]
        for number, steps in enumerate(self.spins[:level]):
            if any(steps):
                moved = [begin or (0,) * len(steps) for begin in begins]
                begins += [tuple(b + (s << number) for b, s in zip(begin, steps, strict=True)) for begin in moved]
        return begins


class Roundtrip:
    """Forward and inverse transform of one stage, for planes of one shape.

    Parameters
    ----------
    stage : Shrink or Denoise
        Its wavelet, levels, borders and form count.
    shape : tuple of int
        Of the planes: their number, and one to three axes of space.
    engine, filters
        What computes.

    Attributes
    ----------
    axes : tuple of int
        The axes of space that are transformed.
    wavelets, modes : tuple
        Along each of them.
    level : int
        Number of levels.
    margin : int
        Samples by which an undecimated form is extended on either side of these axes, to keep the periodic wrap out of
        reach of the wavelet and of spatial filters.
    shift : int
        That of decimated `Coefficients`.
    """

    def __init__(self, stage: Shrink | Denoise, shape: tuple[int, ...], engine: Engine, filters: Filters) -> None:
        self.stage = stage
        self.engine = engine
        self.filters = filters
        space = shape[1:]
        # noise is found where there is more than one sample; given thresholds are those of all axes
        self.axes = tuple(axis for axis, length in enumerate(space) if length > 1 or isinstance(stage, Shrink))
        self.wavelets = (as_wavelet(stage.wavelet),) * len(self.axes)
        self.modes = choose_modes(stage.boundary, self.wavelets, self.axes) if self.axes else ()
        self.level = self._choose_level(space) if self.axes else 0
        self.margin = self._measure_margin() if self.axes else 0
        self.shift = max(map(measure_shift, self.wavelets, self.modes), default=0)
        self._levels: dict[tuple[int, ...], LevelPlan] = {}

    def _choose_level(self, space: tuple[int, ...]) -> int:
        is_stationary = self.stage.form == "undecimated"
        options = (space, self.axes, self.wavelets, self.modes, is_stationary)
        if self.stage.level is None:
            return min(max(choose_level(None, *options), 1), _MOST_LEVELS)
        return choose_level(self.stage.level, *options)

    def _measure_margin(self) -> int:
        # what comes from further away, on the way there and back through long filters, is far less than a grey level
        reach: int = (2**self.level - 1) * (self.wavelets[0].dec_len // 2)
        for spatial in self.stage.filters:
            beside = len(spatial.taps) // 2 if isinstance(spatial, Blur) else 1
            reach += beside * self.level if spatial.at == "between" else beside
        return reach

    def run(self, planes: Any, work: Callable[[Coefficients], None]) -> Any:
        """Transform planes, let `work` change the coefficients in place, and transform back.

        It is called once; with cycle spinning, once for each of two shifts, whose results are averaged. The second and
        the third level split two shifts of what the level before leaves, too.
        """
        if self.level == 0:
            return self.filters.take_part(planes, (0,) * (planes.ndim - 1), planes.shape[1:], 1.0)
        steps = self.choose_steps(tuple(planes.shape[1:]))
        if not any(steps):
            return self._run_once(planes, work)
        first = self._run_once(planes, work)
        shifted = self._run_once(self.filters.extend(planes, *zip(*choose_margins(steps), strict=True)), work, steps)
        return self.filters.average_shifts(first, shifted, planes.shape[1:], steps)

    def choose_steps(self, space: tuple[int, ...], level: int = 1) -> tuple[int, ...]:
        """Return by how much cycle spinning shifts what a level splits, of the shape `space`; zeros if it does not."""
        if self.stage.form != "spun" or level > SHIFTED_LEVELS:
            return (0,) * len(space)
        return tuple(min(SPIN, length - 1) for length in space)

    def _run_once(self, planes: Any, work: Callable[[Coefficients], None], steps: tuple[int, ...] = ()) -> Any:
        coefficients = self.forward(planes)
        coefficients.begin = coefficients.begin or steps
        work(coefficients)
        self.apply_filters(coefficients)
        return self.inverse(coefficients, planes.shape)

    def apply_filters(self, coefficients: Coefficients) -> None:
        """Apply the spatial filters that work on coefficients."""
        for spatial in self.stage.filters:
            _filter_coefficients(self.filters, spatial, coefficients)

    def as_decimated(self) -> Roundtrip:
        """Return the same transform in its decimated form, which has about as many coefficients as samples."""
        other = copy(self)
        other.stage = replace(self.stage, form="decimated")
        return other

    def without_filters(self) -> Roundtrip:
        """Return the same transform without spatial filters; its coefficients keep their positions."""
        other = copy(self)
        other.stage = replace(self.stage, filters=())
        return other

    def plan(self, shape: tuple[int, ...]) -> TransformPlan:
        """Return the transform plan for planes of some shape; decimated forms only."""
        axes = tuple(axis + 1 for axis in self.axes)
        return transform_plan(shape, axes, self.wavelets, self.modes, self.level)

    def forward(self, planes: Any) -> Coefficients:
        """Transform planes; with cycle spinning, one shift of the image."""
        forms = {
            "undecimated": self._forward_undecimated,
            "spun": self._forward_shifted,
            "dual-tree": self._forward_dual_tree,
        }
        coefficients = forms.get(str(self.stage.form), self._forward_decimated)(planes)
        coefficients.samples = planes
        return coefficients

    def _forward_decimated(self, planes: Any) -> Coefficients:
        plan = self.plan(planes.shape)
        if any(spatial.at == "between" for spatial in self.stage.filters):
            approximation, details = planes, []
            for level in plan.levels:
                approximation, bands = self._leave_approximation(self.engine.forward(level, approximation))
                details.append(bands)
        else:
            approximation, details = self.engine.forward_all(plan, planes)
            details = details[::-1]
        return Coefficients(approximation, details, self.wavelets, True, self.shift)

    def inverse(self, coefficients: Coefficients, shape: tuple[int, ...]) -> Any:
        """Undo `forward`."""
        if self.stage.form == "undecimated":
            return self._inverse_undecimated(coefficients, shape)
        if self.stage.form == "dual-tree":
            return self._inverse_dual_tree(coefficients, shape)
        if self.stage.form == "spun":
            return self._inverse_shifted(coefficients, shape)
        return self.engine.inverse_all(self.plan(shape), coefficients.approximation, coefficients.details[::-1])

    def _forward_shifted(self, planes: Any) -> Coefficients:
        x, details, spins = planes, [], []
        for level in range(1, self.level + 1):
            # the caller shifts the image
            steps = self.choose_steps(tuple(x.shape[1:]), level) if level > 1 else (0,) * (planes.ndim - 1)
            if any(steps):
                x = self.filters.spin(x, steps)
            spins.append(steps)
            x, bands = self._leave_approximation(self.engine.forward(self._plan_level(x.shape), x))
            details.append(bands)
        return Coefficients(x, details, self.wavelets, True, self.shift, spins=spins)

    def _inverse_shifted(self, coefficients: Coefficients, shape: tuple[int, ...]) -> Any:
        parts: list[tuple[tuple[int, ...], LevelPlan]] = []
        for steps in coefficients.spins:
            whole = shape
            if any(steps):
                margins = choose_margins(steps)
                whole = (2 * shape[0], *(n + sum(own) for n, own in zip(shape[1:], margins, strict=True)))
            parts.append((shape, self._plan_level(whole)))
            shape = parts[-1][1].band_shapes["a" * len(self.axes)]
        x = coefficients.approximation
        levels = list(zip(parts, coefficients.details, coefficients.spins, strict=True))
        for ((count, *space), plan), bands, steps in reversed(levels):
            x = self.engine.inverse(plan, {"a" * len(self.axes): x, **bands})
            if any(steps):
                x = self.filters.average_shifts(x[:count], x[count:], space, steps)
        return x

    def _plan_level(self, shape: tuple[int, ...]) -> LevelPlan:
        # to look up a plan by all that it depends on takes as long as a small level
        plan = self._levels.get(shape)
        if plan is None:
            axes = tuple(axis + 1 for axis in self.axes)
            plan = self._levels[shape] = transform_plan(shape, axes, self.wavelets, self.modes, 1).levels[0]
        return plan

    def _forward_undecimated(self, planes: Any) -> Coefficients:
        margins, levels = self._plan_undecimated(planes.shape)
        approximation, details = self.filters.extend(planes, *margins), []
        for level in levels:
            approximation, bands = self._leave_approximation(self.engine.stationary_forward(level, approximation))
            details.append(bands)
        return Coefficients(approximation, details, self.wavelets, is_decimated=False, begin=margins[0])

    def _leave_approximation(self, bands: Bands) -> tuple[Any, Bands]:
        """Split a level into its approximation, spatially filtered where a stage says so, and its detail bands."""
        approximation = bands.pop("a" * len(self.axes))
        for spatial in self.stage.filters:
            if spatial.at == "between":
                approximation = apply_spatial(self.filters, spatial, approximation)
        return approximation, bands

    def _inverse_undecimated(self, coefficients: Coefficients, shape: tuple[int, ...]) -> Any:
        margins, levels = self._plan_undecimated(shape)
        x = coefficients.approximation
        for level, bands in zip(reversed(levels), reversed(coefficients.details), strict=True):
            x = self.engine.stationary_inverse(level, {"a" * len(self.axes): x, **bands})
        return self.filters.take_part(x, margins[0], shape[1:], 1.0)

    def _forward_dual_tree(self, planes: Any) -> Coefficients:
        plan = self._plan_dual_tree(planes.shape)
        lowpass, levels = plan.forward(self.engine, planes)
        details = [{key: concatenate(pair, 0) for key, pair in combine(bands, plan.axes).items()} for bands in levels]
        filters = (DualTreeFilters(plan.biort, plan.qshift),) * len(plan.axes)
        return Coefficients(lowpass, details, filters, is_complex=True)

    def _inverse_dual_tree(self, coefficients: Coefficients, shape: tuple[int, ...]) -> Any:
        plan, count = self._plan_dual_tree(shape), shape[0]
        levels = [
            separate({key: (band[:count], band[count:]) for key, band in bands.items()}, plan.axes)
            for bands in coefficients.details
        ]
        return plan.inverse(self.engine, coefficients.approximation, levels)

    def _plan_dual_tree(self, shape: tuple[int, ...]) -> DualTreePlan:
        # noise is to be as strong in the bands as in the image, as that of the other forms
        biort = find_biort(self.wavelets[0], sqrt(2))
        return dual_tree_plan(shape, tuple(axis + 1 for axis in self.axes), biort, find_qshift(_QSHIFT), self.level)

    def _plan_undecimated(
        self, shape: tuple[int, ...]
    ) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[StationaryPlan, ...]]:
        """Return the margins that keep the periodic wrap away, and the plan of each level."""
        before = tuple(self.margin if axis in self.axes else 0 for axis in range(len(shape) - 1))
        wide = (shape[0], *(length + 2 * margin for length, margin in zip(shape[1:], before, strict=True)))
        axes = tuple(axis + 1 for axis in self.axes)
        levels = tuple(stationary_plan(wide, axes, self.wavelets, level + 1) for level in range(self.level))
        return (before, before), levels


def apply_spatial(filters: Filters, spatial: Spatial, planes: Any) -> Any:
    """Return planes, or a band, after a spatial filter."""
    if isinstance(spatial, Blur):
        for axis in range(planes.ndim - 1):
            planes = filters.convolve(planes, spatial.taps, axis)
        return planes
    assert isinstance(spatial, Sharpen)
    return filters.add_laplacian(planes, spatial.amount, spatial.kernel)


def _filter_coefficients(filters: Filters, spatial: Spatial, coefficients: Coefficients) -> None:
    """Apply a spatial filter to the approximation or to the detail bands, as it says."""
    if spatial.at == "approximation":
        coefficients.approximation = apply_spatial(filters, spatial, coefficients.approximation)
    elif spatial.at == "details":
        for level, bands in enumerate(coefficients.details, 1):
            if spatial.levels is None or level in spatial.levels:
                for key, band in bands.items():
                    bands[key] = apply_spatial(filters, spatial, band)

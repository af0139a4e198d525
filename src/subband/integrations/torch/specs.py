"""Transforms as numbers, because an operator of Torch takes numbers and not objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock

import torch

from subband.errors import ArgumentError, CoefficientsError, ShapeError
from subband.plan import LevelPlan, TransformPlan, axis_plan, list_keys, transform_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.transforms.arguments import ModeLike, wavelets_for_axes
from subband.transforms.decomposition import choose_level, choose_modes
from subband.transforms.levels import inverse_plan
from subband.wavelets import Wavelet, WaveletLike

__all__ = [
    "ANY_SHAPE",
    "Modes",
    "Plan",
    "Spec",
    "Wavelets",
    "find_number",
    "list_shapes",
    "make_spec",
    "number_of",
    "plan_merge",
    "plan_split",
    "with_level",
]

Wavelets = WaveletLike | Sequence[WaveletLike]
Modes = ModeLike | Sequence[ModeLike]
Plan = TransformPlan | StationaryPlan

#: Instead of a shape: to be found from the bands. An empty list would be taken for one of tensors.
ANY_SHAPE = [-1]


@dataclass(frozen=True)
class Spec:
    """A transform of tensors of any shape.

    Attributes
    ----------
    wavelets, modes : tuple
        One for each transformed axis.
    level : int or None
        Number of levels; None for as many as are useful.
    step : int
        Of one undecimated level: its filters take every so many samples. 0 if the transform is decimated.
    axes : tuple of int, optional
        The transformed axes, counted from the last; the last ones by default.
    """

    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    level: int | None
    step: int = 0
    axes: tuple[int, ...] = ()

    def find_axes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the transformed axes of tensors of a shape."""
        axes = self.axes or tuple(range(-len(self.wavelets), 0))
        if len(shape) < -min(axes):
            raise ShapeError(f"x has shape {tuple(shape)}; this takes at least {-min(axes)} dimensions")
        return tuple(axis + len(shape) for axis in axes)

    def plan(self, shape: tuple[int, ...]) -> Plan:
        """Return the plan for tensors of a shape."""
        return _make_plan(self, shape)

    def plan_merged(self, shapes: Sequence[tuple[int, ...]]) -> Plan:
        """Return the plan of the transform that has bands of these shapes, in the order of `list_shapes`."""
        *details, _ = reversed(list_keys(len(self.wavelets)))
        level, rest = divmod(len(shapes) - 1, len(details))
        if rest or level < 1:
            raise CoefficientsError(
                f"there are {len(shapes)} bands, and each level has {len(details)} besides the first"
            )
        # the finest details tell the shape; with one level the approximation has to fit, too
        names = [*details, "a" * len(self.wavelets)] if level == 1 else details
        named = tuple(zip(reversed(names), shapes[-len(names) :], strict=True))
        shape = inverse_plan(named, self.find_axes(shapes[0]), self.wavelets, self.modes).shape
        return replace(self, level=level).plan(shape)


@lru_cache(maxsize=256)
def _make_plan(spec: Spec, shape: tuple[int, ...]) -> Plan:
    axes = spec.find_axes(shape)
    if spec.step:
        return stationary_plan(shape, axes, spec.wavelets, spec.step.bit_length())
    if "full" in spec.modes:
        # a mode of `upcoef` alone, which a caller cannot name
        plans = tuple(axis_plan(w, m, shape[axis]) for w, m, axis in zip(spec.wavelets, spec.modes, axes, strict=True))
        return TransformPlan(shape, axes, spec.wavelets, spec.modes, False, (LevelPlan(shape, axes, plans),))
    level = spec.level
    if level is None:
        level = choose_level(None, shape, axes, spec.wavelets, spec.modes, stationary=False)
    return transform_plan(shape, axes, spec.wavelets, spec.modes, level)


# Every transform has the number of its position here. None is ever forgotten: graphs that were compiled or wait for
# their gradient know it by its number.
_specs: list[Spec] = []
_numbers: dict[Spec, int] = {}
_numbering = Lock()


def number_of(spec: Spec) -> int:
    """Return the number by which operators know a transform, in this process."""
    number = _numbers.get(spec)
    if number is None:
        with _numbering:
            number = _numbers.get(spec)
            if number is None:
                number = len(_specs)
                _specs.append(spec)
                _numbers[spec] = number
    return number


def make_spec(wavelet: Wavelets, mode: Modes | None, ndim: int, level: int | None) -> Spec:
    """Return the transform that a caller describes."""
    if ndim < 1:
        raise ArgumentError(f"ndim={ndim} leaves no axis to transform; use 1 or more")
    axes = tuple(range(ndim))
    wavelets = wavelets_for_axes(wavelet, axes)
    return Spec(wavelets, choose_modes(mode, wavelets, axes), level)


# the same arguments give the same number, and torch.compile need not follow how
@torch.compiler.assume_constant_result
def find_number(wavelet: Wavelets, mode: Modes | None, ndim: int, level: int | None) -> int:
    """Return the number of the transform that a caller describes."""
    return number_of(make_spec(wavelet, mode, ndim, level))


@torch.compiler.assume_constant_result
def with_level(number: int, level: int) -> int:
    """Return the number of the same transform with so many levels."""
    return number_of(replace(_specs[number], level=level))


def list_shapes(plan: Plan) -> list[tuple[int, ...]]:
    """Return the shapes of all bands: the approximation, and the details from coarse to fine in the order of keys."""
    if isinstance(plan, StationaryPlan):
        return [plan.shape] * 2 ** len(plan.axes)
    shapes = [plan.approximation_shape]
    for level in reversed(plan.levels):
        shapes += [shape for key, shape in sorted(level.band_shapes.items()) if "d" in key]
    return shapes


def plan_split(shape: Sequence[int], number: int) -> Plan:
    """Return the plan of the transform of tensors of a shape."""
    return _specs[number].plan(tuple(map(int, shape)))


def plan_merge(shapes: Sequence[Sequence[int]], number: int, shape: Sequence[int]) -> Plan:
    """Return the plan of the given shape, or of one level that has bands of these shapes."""
    if list(shape) != ANY_SHAPE:
        return plan_split(shape, number)
    return _specs[number].plan_merged([tuple(map(int, each)) for each in shapes])

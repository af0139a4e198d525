"""An engine of tensors with gradients: every level, or all of them, is one operator.

It is what computes where a tensor that requires a gradient, or that `torch.func` passes, arrives at any transform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from torch import Tensor

from subband.arrays import FunctionalArray
from subband.engines.array import ArrayEngine
from subband.errors import ArgumentError
from subband.integrations.torch.operators import merge, merge_adjoint, split, split_adjoint
from subband.integrations.torch.specs import Spec, number_of
from subband.plan import LevelPlan, TransformPlan, list_keys
from subband.stationary import StationaryPlan
from subband.typing import Bands

__all__ = ["TorchEngine", "find_engine", "find_substitute"]


class TorchEngine(ArrayEngine):
    """Computes on tensors by operators of Torch, on the device of the tensors.

    Reversible plans do not come here: what makes them looks at numbers, which `torch.func` does not show.
    """

    name = "torch"

    def forward(self, plan: LevelPlan, x: Any) -> Bands:
        return _name(plan, split(x.array, _find_number(plan)))

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Any:
        return _wrap(merge(_list(plan, bands), _find_number(plan), list(plan.shape)))

    def forward_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        return _unflatten(plan, split(x.array, _find_number(plan)))

    def inverse_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Bands]) -> Any:
        return _wrap(merge(_flatten(plan, approximation, details), _find_number(plan), list(plan.shape)))

    def forward_adjoint(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Any:
        return _wrap(split_adjoint(_list(plan, bands), _find_number(plan), list(plan.shape)))

    def inverse_adjoint(self, plan: LevelPlan, x: Any) -> Bands:
        return _name(plan, merge_adjoint(x.array, _find_number(plan)))

    def forward_adjoint_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Bands]) -> Any:
        bands = _flatten(plan, approximation, details)
        return _wrap(split_adjoint(bands, _find_number(plan), list(plan.shape)))

    def inverse_adjoint_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        return _unflatten(plan, merge_adjoint(x.array, _find_number(plan)))

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        return _name(plan, split(x.array, _find_number(plan)))

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Any]) -> Any:
        return _wrap(merge(_list(plan, bands), _find_number(plan), list(plan.shape)))

    def stationary_forward_adjoint(self, plan: StationaryPlan, bands: Mapping[str, Any]) -> Any:
        return _wrap(split_adjoint(_list(plan, bands), _find_number(plan), list(plan.shape)))

    def stationary_inverse_adjoint(self, plan: StationaryPlan, x: Any) -> Bands:
        return _name(plan, merge_adjoint(x.array, _find_number(plan)))


_ENGINE = TorchEngine()


def find_engine(engine: Any) -> TorchEngine:
    """Return the engine of tensors; one that somebody names must be that of their device."""
    if engine not in (None, "auto", "torch", "array") and not isinstance(engine, TorchEngine):
        raise ArgumentError(
            f"engine={engine!r} has no gradients; leave engine out, or give a tensor without them: x.detach()"
        )
    return _ENGINE


def find_substitute(function: Callable[..., Any]) -> None:
    """Return nothing: every function takes tensors as it is."""


@lru_cache(maxsize=1024)
def _find_number(plan: LevelPlan | TransformPlan | StationaryPlan) -> int:
    """Return the number of the operator's transform that a plan is of."""
    axes = tuple(axis - len(plan.shape) for axis in plan.axes)
    if isinstance(plan, TransformPlan):
        return number_of(Spec(plan.wavelets, plan.modes, plan.level, axes=axes))
    wavelets = tuple(each.wavelet for each in plan.plans)
    if isinstance(plan, StationaryPlan):
        return number_of(Spec(wavelets, (), 1, plan.plans[0].step, axes))
    return number_of(Spec(wavelets, tuple(each.mode for each in plan.plans), 1, axes=axes))


def _wrap(tensor: Tensor) -> Any:
    """Return a tensor with the interface of NumPy, as engines are typed to return it."""
    return FunctionalArray(tensor)


def _name(plan: LevelPlan | StationaryPlan, bands: Sequence[Any]) -> Bands:
    """Return the bands of a level by their keys."""
    return {key: _wrap(band) for key, band in zip(list_keys(len(plan.axes)), bands, strict=True)}


def _list(plan: LevelPlan | StationaryPlan, bands: Mapping[str, Any]) -> list[Any]:
    """Undo `_name`; bands that are left out are zeros."""
    like = next(iter(bands.values())).array
    return [
        bands[key].array if key in bands else like.new_zeros(plan.band_shapes[key]) for key in list_keys(len(plan.axes))
    ]


def _unflatten(plan: TransformPlan, bands: Sequence[Any]) -> tuple[Any, list[Bands]]:
    """Return the approximation and the details of each level from a row of all bands."""
    low, *details = map(_wrap, bands)
    keys = list_keys(len(plan.axes))[1:]
    rows = [details[start : start + len(keys)] for start in range(0, len(details), len(keys))]
    return low, [dict(zip(keys, row, strict=True)) for row in rows]


def _flatten(plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Undo `_unflatten`; bands that are left out are zeros."""
    like = approximation.array
    row: list[Any] = [like]
    keys = list_keys(len(plan.axes))[1:]
    for level, bands in zip(reversed(plan.levels), details, strict=True):
        row += [bands[key].array if key in bands else like.new_zeros(level.band_shapes[key]) for key in keys]
    return row

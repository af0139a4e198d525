"""What the functions and modules share: a transform of tensors as an operator of Torch, with a gradient.

There are four: both directions, and the adjoint of each. They come in two pairs, and each of a pair is the gradient of
the other, so that gradients have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from subband.arrays import as_computable
from subband.engines.dispatch import call_natively
from subband.errors import ArgumentError, ArgumentTypeError, CoefficientsError, ShapeError
from subband.plan import LevelPlan, TransformPlan, transform_plan
from subband.pyramid import Pyramid
from subband.stationary import StationaryPlan, StationaryTransformPlan, stationary_transform_plan
from subband.transforms.adjoint import decompose_adjoint, reconstruct_adjoint
from subband.transforms.arguments import ModeLike, wavelets_for_axes
from subband.transforms.decomposition import choose_level, choose_modes, run_plan
from subband.transforms.decomposition import reconstruct as reconstruct_arrays
from subband.transforms.levels import inverse_plan
from subband.wavelets import Wavelet, WaveletLike

__all__ = [
    "ANY_SHAPE",
    "Modes",
    "Plan",
    "Spec",
    "Wavelets",
    "find_number",
    "flatten",
    "list_details",
    "list_keys",
    "make_spec",
    "merge",
    "number_of",
    "plan_split",
    "split",
    "stack",
]

Wavelets = WaveletLike | Sequence[WaveletLike]
Modes = ModeLike | Sequence[ModeLike]
Plan = TransformPlan | StationaryTransformPlan

#: In the place of a shape: to be found from the bands. An empty list would be taken for one of tensors.
ANY_SHAPE = [-1]


@dataclass(frozen=True)
class Spec:
    """A transform of tensors of any shape, along as many of their last axes as there are wavelets."""

    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    level: int | None
    stationary: bool = False

    def plan(self, shape: tuple[int, ...]) -> Plan:
        """Return the plan for tensors of a shape."""
        return _make_plan(self, shape)

    def plan_merged(self, shapes: Sequence[tuple[int, ...]]) -> Plan:
        """Return the plan of one level that has bands of these shapes."""
        named = tuple(zip(list_keys(len(self.wavelets)), shapes, strict=True))
        axes = _last_axes(shapes[0], len(self.wavelets))
        return self.plan(inverse_plan(named, axes, self.wavelets, self.modes).shape)


@lru_cache(maxsize=256)
def _make_plan(spec: Spec, shape: tuple[int, ...]) -> Plan:
    axes = _last_axes(shape, len(spec.wavelets))
    level = spec.level
    if level is None:
        level = choose_level(None, shape, axes, spec.wavelets, spec.modes, spec.stationary)
    make = stationary_transform_plan if spec.stationary else transform_plan
    return make(shape, axes, spec.wavelets, spec.modes, level)


def _last_axes(shape: Sequence[int], count: int) -> tuple[int, ...]:
    if len(shape) < count:
        raise ShapeError(f"x has shape {tuple(shape)}; this takes at least {count} dimensions")
    return tuple(range(len(shape) - count, len(shape)))


# An operator takes numbers and not objects; every transform has the number of its place here. None is ever forgotten:
# graphs that were compiled or wait for their gradient know it by its number.
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


def make_spec(wavelet: Wavelets, mode: Modes | None, ndim: int, level: int | None, stationary: bool = False) -> Spec:
    """Return the transform that a caller describes."""
    if ndim < 1:
        raise ArgumentError(f"ndim={ndim} leaves no axis to transform; use 1 or more")
    axes = tuple(range(ndim))
    wavelets = wavelets_for_axes(wavelet, axes)
    return Spec(wavelets, choose_modes(mode, wavelets, axes), level, stationary)


# the same arguments give the same number, and torch.compile need not follow how
@torch.compiler.assume_constant_result
def find_number(wavelet: Wavelets, mode: Modes | None, ndim: int, level: int | None, stationary: bool = False) -> int:
    """Return the number of the transform that a caller describes."""
    return number_of(make_spec(wavelet, mode, ndim, level, stationary))


def list_keys(ndim: int) -> list[str]:
    """Return the names of all bands of a level, in the order of counting."""
    return [f"{number:0{ndim}b}".replace("0", "a").replace("1", "d") for number in range(2**ndim)] if ndim else []


def list_details(coeffs: Any) -> list[Tensor]:
    """Return the bands of ``cA, (cH, cV, cD)`` in the order of their keys."""
    try:
        low, (horizontal, vertical, diagonal) = coeffs
    except (TypeError, ValueError):
        raise CoefficientsError("coeffs is not of the form (cA, (cH, cV, cD)), which dwt2 returns") from None
    return [low, vertical, horizontal, diagonal]


def _check_tensor(x: Any, name: str) -> None:
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{name} is a {type(x).__name__}; give a tensor, or use the same function of subband")
    if not (x.is_floating_point() or x.is_complex()):
        raise ArgumentTypeError(f"{name} has dtype {x.dtype}, which has no gradient; give {name}.float()")


def split(x: Tensor, number: int) -> list[Tensor]:
    """Transform a tensor; the bands come as `flatten` returns them."""
    _check_tensor(x, "x")
    bands: list[Tensor] = torch.ops.subband.decompose(x, number)
    return bands


def merge(bands: list[Tensor], number: int, shape: list[int]) -> Tensor:
    """Undo `split`; `ANY_SHAPE` stands for the shape that one level with these bands has."""
    for band in bands:
        _check_tensor(band, "a band")
    x: Tensor = torch.ops.subband.reconstruct(bands, number, shape)
    return x


def flatten(pyramid: Pyramid) -> list[Any]:
    """Return the bands in a row: the approximation, and the details from coarse to fine in the order of their keys."""
    return [pyramid.approximation, *(bands[key] for bands in pyramid.details for key in sorted(bands))]


def stack(bands: Sequence[Any], plan: Plan) -> Pyramid:
    """Undo `_flatten`."""
    keys = list_keys(len(plan.axes))[1:]
    rows = [bands[start : start + len(keys)] for start in range(1, len(bands), len(keys))]
    return Pyramid(plan, bands[0], [dict(zip(keys, row, strict=True)) for row in rows])


def _list_shapes(plan: Plan) -> list[tuple[int, ...]]:
    """Return the shapes of what `_flatten` returns."""
    shapes = [plan.approximation_shape]
    levels: list[LevelPlan | StationaryPlan] = list(reversed(plan.levels))
    for level in levels:
        shapes += [shape for key, shape in sorted(level.band_shapes.items()) if "d" in key]
    return shapes


def plan_split(x: Tensor, number: int) -> Plan:
    """Return the plan of a tensor's transform."""
    return _specs[number].plan(tuple(map(int, x.shape)))


def _plan_merge(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Plan:
    """Return the plan of the given shape, or of one level that has these bands."""
    if list(shape) != ANY_SHAPE:
        return _specs[number].plan(tuple(map(int, shape)))
    return _specs[number].plan_merged([tuple(map(int, band.shape)) for band in bands])


def _finish(result: Tensor, like: Tensor) -> Tensor:
    """Return a result in the dtype of the input, which numbers of 16 bits leave on the CPU, and laid out plainly."""
    return result.to(like.dtype).contiguous()


# The four operators: both directions, and the adjoint of each, which is the gradient of the one and has it for its own.


def _run_forward(x: Any, plan: Plan) -> Pyramid:
    return run_plan(as_computable(x, "x"), plan)


def _compute_split(x: Tensor, number: int) -> list[Tensor]:
    pyramid = call_natively(_run_forward, {0: "x"}, (x.detach(), plan_split(x, number)), {})
    return [_finish(band, x) for band in flatten(pyramid)]


def _compute_merge(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    pyramid = stack([band.detach() for band in bands], _plan_merge(bands, number, shape))
    return _finish(reconstruct_arrays(pyramid), bands[0])


def _compute_split_adjoint(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    pyramid = stack([band.detach() for band in bands], _plan_merge(bands, number, shape))
    return _finish(decompose_adjoint(pyramid), bands[0])


def _compute_merge_adjoint(x: Tensor, number: int) -> list[Tensor]:
    return [_finish(band, x) for band in flatten(reconstruct_adjoint(x.detach(), plan_split(x, number)))]


def _imagine_split(x: Tensor, number: int) -> list[Tensor]:
    return [x.new_empty(shape) for shape in _list_shapes(plan_split(x, number))]


def _imagine_merge(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    return bands[0].new_empty(_plan_merge(bands, number, shape).shape)


def _define(name: str, schema: str, compute: Any, imagine: Any) -> Any:
    operator = torch.library.custom_op(f"subband::{name}", compute, mutates_args=(), schema=schema)
    operator.register_fake(imagine)
    return operator


_SPLIT, _MERGE = "(Tensor x, int number) -> Tensor[]", "(Tensor[] bands, int number, int[] shape) -> Tensor"
_decompose = _define("decompose", _SPLIT, _compute_split, _imagine_split)
_reconstruct = _define("reconstruct", _MERGE, _compute_merge, _imagine_merge)
_decompose_adjoint = _define("decompose_adjoint", _MERGE, _compute_split_adjoint, _imagine_merge)
_reconstruct_adjoint = _define("reconstruct_adjoint", _SPLIT, _compute_merge_adjoint, _imagine_split)


def _remember_split(ctx: Any, inputs: Any, output: Any) -> None:
    del output  # Torch passes it by this name
    x, ctx.number = inputs
    ctx.shape = list(x.shape)


def _remember_merge(ctx: Any, inputs: Any, output: Any) -> None:
    _, ctx.number, _ = inputs
    ctx.shape = list(output.shape)


def _register(split: Any, merge: Any) -> None:
    """Make each of two operators the gradient of the other."""

    def differentiate_split(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
        like = next(grad for grad in grads if grad is not None)
        shapes = _list_shapes(_specs[ctx.number].plan(tuple(map(int, ctx.shape))))
        bands = [like.new_zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]
        return merge(bands, ctx.number, ctx.shape), None

    def differentiate_merge(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return split(grad, ctx.number), None, None

    split.register_autograd(differentiate_split, setup_context=_remember_split)
    merge.register_autograd(differentiate_merge, setup_context=_remember_merge)


_register(_decompose, _decompose_adjoint)
_register(_reconstruct_adjoint, _reconstruct)

"""Transforms of tensors as operators of Torch, with gradients of any order.

There are four: both directions, and the adjoint of each. They come in two pairs, and each of a pair is the gradient of
the other. As transforms are linear, each is its own derivative forwards.

`torch.compile` sees the operators of `torch.ops.subband`. Outside of it they are called by a `torch.autograd.Function`,
which takes less time, and which `torch.func` can map and differentiate forwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from subband.errors import ArgumentTypeError, CoefficientsError
from subband.integrations.torch import computing
from subband.integrations.torch.specs import ANY_SHAPE, list_shapes, plan_merge, plan_split

__all__ = ["check_tensor", "list_details", "merge", "merge_adjoint", "split", "split_adjoint"]


def list_details(coeffs: Any) -> list[Tensor]:
    """Return the bands of ``cA, (cH, cV, cD)`` in the order of their keys."""
    try:
        low, (horizontal, vertical, diagonal) = coeffs
    except (TypeError, ValueError):
        raise CoefficientsError("coeffs is not of the form (cA, (cH, cV, cD)), which dwt2 returns") from None
    return [low, vertical, horizontal, diagonal]


def check_tensor(x: Any, name: str) -> None:
    """Refuse what is no tensor of real or complex numbers."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{name} is a {type(x).__name__}; give a tensor, or use the same function of subband")
    if not (x.is_floating_point() or x.is_complex()):
        raise ArgumentTypeError(f"{name} has dtype {x.dtype}, which has no gradient; give {name}.float()")


def split(x: Tensor, number: int) -> list[Tensor]:
    """Transform a tensor into its bands: the approximation, and the details from coarse to fine."""
    check_tensor(x, "x")
    if torch.compiler.is_compiling():
        bands: list[Tensor] = torch.ops.subband.decompose(x, number)
        return bands
    return list(_split(x, number))


def merge(bands: list[Tensor], number: int, shape: list[int]) -> Tensor:
    """Undo `split`; `ANY_SHAPE` stands for the shape that one level with these bands has."""
    for band in bands:
        check_tensor(band, "a band")
    x: Tensor
    if torch.compiler.is_compiling():
        x = torch.ops.subband.reconstruct(bands, number, shape)
    else:
        x = _merge(number, shape, *bands)
    return x


def split_adjoint(bands: list[Tensor], number: int, shape: list[int]) -> Tensor:
    """Apply the adjoint of `split`."""
    x: Tensor = _split_adjoint(number, shape, *bands)
    return x


def merge_adjoint(x: Tensor, number: int) -> list[Tensor]:
    """Apply the adjoint of `merge`."""
    return list(_merge_adjoint(x, number))


# An operator is called below autograd, which a function that calls it has taken care of.
_BelowAutograd = torch._C._AutoDispatchBelowAutograd
# Whether a transform of `torch.func` is under way, whose functions take longer to call.
_is_mapping = torch._C._are_functorch_transforms_active


# Whether somebody watches operators, as what traces them does; otherwise what they do is called directly.
_is_watching = torch._C._len_torch_dispatch_stack


def _has_tangents() -> bool:
    """Tell whether derivatives are computed forwards, which tensors do not show."""
    level: int = torch.autograd.forward_ad._current_level
    return level >= 0


def _imagine_split(x: Tensor, number: int) -> list[Tensor]:
    return [x.new_empty(shape) for shape in list_shapes(plan_split(x.shape, number))]


def _imagine_merge(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    return bands[0].new_empty(plan_merge([band.shape for band in bands], number, shape).shape)


def _define(name: str, schema: str, compute: Any, imagine: Any) -> Any:
    qualified = f"subband::{name}"
    torch.library.define(qualified, schema)
    torch.library.impl(qualified, ("cpu", "cuda"), compute)
    torch.library.register_fake(qualified, imagine)
    return getattr(torch.ops.subband, name).default


_SPLIT, _MERGE = "(Tensor x, int number) -> Tensor[]", "(Tensor[] bands, int number, int[] shape) -> Tensor"
_decompose = _define("decompose", _SPLIT, computing.decompose, _imagine_split)
_reconstruct = _define("reconstruct", _MERGE, computing.reconstruct, _imagine_merge)
_decompose_adjoint = _define("decompose_adjoint", _MERGE, computing.decompose_adjoint, _imagine_merge)
_reconstruct_adjoint = _define("reconstruct_adjoint", _SPLIT, computing.reconstruct_adjoint, _imagine_split)


def _pair(split: Any, compute_split: Any, merge: Any, compute_merge: Any) -> tuple[Any, Any]:
    """Make each of two operators the gradient of the other; return a function with gradients for each."""

    def remember_split(ctx: Any, inputs: Any, output: Any) -> None:
        del output  # Torch passes it by this name
        x, ctx.number = inputs
        ctx.shape = list(x.shape)

    def remember_merge(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.number, _ = inputs
        ctx.shape = list(output.shape)

    def differentiate_split(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
        like = next(grad for grad in grads if grad is not None)
        shapes = list_shapes(plan_split(ctx.shape, ctx.number))
        bands = [like.new_zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]
        return merge(bands, ctx.number, ctx.shape), None

    def differentiate_merge(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return split(grad, ctx.number), None, None

    torch.library.register_autograd(split, differentiate_split, setup_context=remember_split)
    torch.library.register_autograd(merge, differentiate_merge, setup_context=remember_merge)

    class Split(torch.autograd.Function):
        """Samples to bands."""

        @staticmethod
        def forward(ctx: Any, x: Tensor, number: int) -> tuple[Tensor, ...]:
            remember_split(ctx, (x, number), None)
            return _run_split(x, number)

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
            return apply_merge(ctx.number, ctx.shape, *grads), None

        @staticmethod
        def jvp(ctx: Any, x: Tensor, _: None) -> tuple[Tensor, ...]:
            return apply_split(x, ctx.number)

    class MappedSplit(Split):
        """The same for `torch.func`."""

        @staticmethod
        def forward(x: Tensor, number: int) -> tuple[Tensor, ...]:  # type: ignore[override]  # as torch.func calls it
            return _run_split(x, number)

        setup_context = staticmethod(remember_split)

        @staticmethod
        def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, number: int) -> tuple[Any, Any]:
            del info
            bands = apply_split(x.movedim(dims[0] or 0, 0), number)
            return bands, (0,) * len(bands)

    class Merge(torch.autograd.Function):
        """Bands to samples."""

        @staticmethod
        def forward(ctx: Any, number: int, shape: list[int], *bands: Tensor) -> Tensor:
            x = _run_merge(bands, number, shape)
            remember_merge(ctx, (bands, number, shape), x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
            return None, None, *apply_split(grad, ctx.number)

        @staticmethod
        def jvp(ctx: Any, _: None, __: None, *bands: Tensor) -> Tensor:
            return apply_merge(ctx.number, ctx.shape, *bands)

    class MappedMerge(Merge):
        """The same for `torch.func`."""

        @staticmethod
        def forward(number: int, shape: list[int], *bands: Tensor) -> Tensor:  # type: ignore[override]  # the same
            return _run_merge(bands, number, shape)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            number, shape, *bands = inputs
            remember_merge(ctx, (bands, number, shape), output)

        @staticmethod
        def vmap(info: Any, dims: tuple[int | None, ...], number: int, shape: list[int], *bands: Tensor) -> Any:
            moved = [
                band.expand(info.batch_size, *band.shape) if dim is None else band.movedim(dim, 0)
                for band, dim in zip(bands, dims[2:], strict=True)
            ]
            whole = shape if shape == ANY_SHAPE else [info.batch_size, *shape]
            return apply_merge(number, whole, *moved), 0

    def _run_split(x: Tensor, number: int) -> tuple[Tensor, ...]:
        if type(x) is Tensor and not _is_watching():
            return tuple(compute_split(x, number))
        with _BelowAutograd():
            return tuple(split(x, number))

    def _run_merge(bands: Sequence[Tensor], number: int, shape: list[int]) -> Tensor:
        x: Tensor
        if all(type(band) is Tensor for band in bands) and not _is_watching():
            x = compute_merge(bands, number, shape)
            return x
        with _BelowAutograd():
            x = merge(bands, number, shape)
            return x

    def apply_split(x: Tensor, number: int) -> tuple[Tensor, ...]:
        if _is_mapping():
            bands: tuple[Tensor, ...] = MappedSplit.apply(x, number)
        elif x.requires_grad or _has_tangents():
            bands = Split.apply(x, number)
        else:
            bands = _run_split(x, number)
        return bands

    def apply_merge(number: int, shape: list[int], *bands: Tensor) -> Tensor:
        if _is_mapping():
            x: Tensor = MappedMerge.apply(number, shape, *bands)
        elif _has_tangents() or any(band.requires_grad for band in bands):
            x = Merge.apply(number, shape, *bands)
        else:
            x = _run_merge(bands, number, shape)
        return x

    return apply_split, apply_merge


_split, _split_adjoint = _pair(_decompose, computing.decompose, _decompose_adjoint, computing.decompose_adjoint)
_merge_adjoint, _merge = _pair(_reconstruct_adjoint, computing.reconstruct_adjoint, _reconstruct, computing.reconstruct)

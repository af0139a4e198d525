"""What the operators do with tensors: transforms, and the adjoint of each, on the device of the tensors.

Tensors on CUDA GPUs are handed to the kernels by their addresses, on Torch's current stream, and results are allocated
by Torch; those on the CPU are NumPy's arrays by another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from subband.arrays import as_computable
from subband.engines.device_engine import ALIGNMENT, Chain
from subband.engines.dispatch import call_natively
from subband.engines.registry import get_engine
from subband.integrations.torch.specs import Plan, list_keys, plan_merge, plan_split
from subband.pyramid import Pyramid
from subband.stationary import StationaryTransformPlan
from subband.transforms import adjoint
from subband.transforms import decomposition as transforms
from subband.typing import Direction

#: What kernels compute on as it is.
_DTYPES = {
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}

#: Kernels that are part of a recorded graph, which knows their tables by their address.
_captured: set[Chain] = set()

__all__ = ["decompose", "decompose_adjoint", "flatten", "reconstruct", "reconstruct_adjoint", "stack"]


def decompose(x: Tensor, number: int) -> list[Tensor]:
    """Transform a tensor; the bands come as `flatten` returns them."""
    plan = plan_split(x.shape, number)
    if x.is_cuda and (chain := _find_chain(plan, "forward", x)) is not None:
        return _launch_split(chain, x)
    pyramid = call_natively(_run_forward, {0: "x"}, (x.detach(), plan), {})
    return [_finish(band, x) for band in flatten(pyramid)]


def reconstruct(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    """Undo `decompose`."""
    plan = plan_merge([band.shape for band in bands], number, shape)
    if bands[0].is_cuda and (chain := _find_chain(plan, "inverse", *bands)) is not None:
        return _launch_merge(chain, bands)
    return _finish(transforms.reconstruct(_stack_plain(bands, plan)), bands[0])


def decompose_adjoint(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    """Apply the adjoint of `decompose`."""
    plan = plan_merge([band.shape for band in bands], number, shape)
    return _finish(adjoint.decompose_adjoint(_stack_plain(bands, plan)), bands[0])


def reconstruct_adjoint(x: Tensor, number: int) -> list[Tensor]:
    """Apply the adjoint of `reconstruct`."""
    pyramid = adjoint.reconstruct_adjoint(x.detach(), plan_split(x.shape, number))
    return [_finish(band, x) for band in flatten(pyramid)]


def flatten(pyramid: Pyramid) -> list[Any]:
    """Return the bands in a row: the approximation, and the details from coarse to fine in the order of their keys."""
    return [pyramid.approximation, *(bands[key] for bands in pyramid.details for key in sorted(bands))]


def stack(bands: Sequence[Any], plan: Plan) -> Pyramid:
    """Undo `flatten`."""
    keys = list_keys(len(plan.axes))[1:]
    rows = [bands[start : start + len(keys)] for start in range(1, len(bands), len(keys))]
    return Pyramid(plan, bands[0], [dict(zip(keys, row, strict=True)) for row in rows])


def _run_forward(x: Any, plan: Plan) -> Pyramid:
    return transforms.run_plan(as_computable(x, "x"), plan)


def _stack_plain(bands: Sequence[Tensor], plan: Plan) -> Pyramid:
    return stack([band.detach() for band in bands], plan)


def _finish(result: Tensor, like: Tensor) -> Tensor:
    """Return a result in the dtype of the input, which numbers of 16 bits leave on the CPU, and laid out plainly."""
    return result.to(like.dtype).contiguous()


def _find_chain(plan: Plan, direction: Direction, *tensors: Tensor) -> Chain | None:
    """Return the kernels of all levels if one for each will do, for tensors that they can read as they are."""
    first = tensors[0]
    if isinstance(plan, StationaryTransformPlan) or first.dtype not in _DTYPES or not plan.levels:
        return None
    if any(not tensor.is_contiguous() or tensor.is_neg() or tensor.dtype != first.dtype for tensor in tensors):
        return None
    engine: Any = get_engine(f"cuda:{first.device.index}")
    is_aligned = all(tensor.data_ptr() % ALIGNMENT == 0 for tensor in tensors)
    chain: Chain | None = engine.find_chain(plan.levels, direction, _DTYPES[first.dtype], is_aligned)
    if chain is not None and torch.cuda.is_current_stream_capturing():
        _captured.add(chain)
    return chain


def _launch_split(chain: Chain, x: Tensor) -> list[Tensor]:
    arrays = _launch(chain, [x])
    rows = [[arrays.pop(0) for _ in keys] for keys in chain.keys]
    return [rows[-1][0], *(band for row in reversed(rows) for band in row[1:])]


def _launch_merge(chain: Chain, bands: Sequence[Tensor]) -> Tensor:
    return _launch(chain, bands)[-1]


def _launch(chain: Chain, given: Sequence[Tensor]) -> list[Tensor]:
    """Run kernels on Torch's current stream, and return the tensors that they write."""
    like = given[0]
    launches: Any = chain.launch
    with torch.cuda.device(like.device):
        results = [like.new_empty(shape) for shape in chain.shapes]
        stream = torch.cuda.current_stream().cuda_stream
        launches.launch([tensor.data_ptr() for tensor in (*given, *results)], stream)
    return results

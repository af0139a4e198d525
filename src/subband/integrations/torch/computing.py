"""What the operators do with tensors: transforms, and the adjoint of each, on the device of the tensors.

Tensors on CUDA GPUs are handed to the kernels by their addresses, on Torch's current stream, and results are allocated
by Torch; those on the CPU are NumPy's arrays by another name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from subband.arrays import as_computable
from subband.engines.device_engine import ALIGNMENT, Chain
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.registry import get_engine
from subband.integrations.torch.specs import ANY_SHAPE, Plan, plan_merge, plan_split
from subband.plan import TransformPlan, list_keys
from subband.schedule.adjoint import transpose_all, transpose_forward, transpose_inverse
from subband.stationary import StationaryPlan
from subband.typing import Direction

__all__ = ["decompose", "decompose_adjoint", "reconstruct", "reconstruct_adjoint"]

#: What kernels compute on as it is.
_DTYPES = {
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}

#: Kernels that are part of a recorded graph, which knows their tables by their address.
_captured: set[Chain] = set()

#: Returns the address of Torch's current stream on a GPU.
_find_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream
)

_HERE: AbstractContextManager[None] = nullcontext()


def decompose(x: Tensor, number: int) -> list[Tensor]:
    """Transform a tensor into a row of bands: the approximation, and the details from coarse to fine."""
    return _split(x, number, "forward")


def reconstruct(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    """Undo `decompose`."""
    return _merge(bands, number, shape, "inverse")


def decompose_adjoint(bands: Sequence[Tensor], number: int, shape: Sequence[int]) -> Tensor:
    """Apply the adjoint of `decompose`."""
    return _merge(bands, number, shape, "forward_adjoint")


def reconstruct_adjoint(x: Tensor, number: int) -> list[Tensor]:
    """Apply the adjoint of `reconstruct`."""
    return _split(x, number, "inverse_adjoint")


def _split(x: Tensor, number: int, task: str) -> list[Tensor]:
    if x.is_cuda and (chain := _find_chain(task, number, x.shape, (), [x])) is not None:
        return _launch_split(chain, x)
    bands = call_natively(_split_natively, {0: "x"}, (x.detach(), plan_split(x.shape, number), task), {})
    return [_finish(band, x) for band in bands]


def _split_natively(x: Any, plan: Plan, task: str) -> list[Any]:
    array = as_computable(x, "x")
    engine = engine_for(array)
    if isinstance(plan, StationaryPlan):
        bands = getattr(engine, f"stationary_{task}")(plan, array)
        return [bands[key] for key in sorted(bands)]
    low, details = getattr(engine, f"{task}_all")(plan, array)
    return [low, *(bands[key] for bands in details for key in sorted(bands))]


def _merge(bands: Sequence[Tensor], number: int, shape: Sequence[int], task: str) -> Tensor:
    shapes = tuple(band.shape for band in bands) if list(shape) == ANY_SHAPE else ()
    if bands[0].is_cuda and (chain := _find_chain(task, number, tuple(shape), shapes, bands)) is not None:
        return _launch(chain, bands)[len(chain.keys) - 1]
    given = [band.detach() for band in bands]
    found = call_natively(_merge_natively, {0: "bands"}, (given, plan_merge(shapes, number, shape), task), {})
    return _finish(found, bands[0])


def _merge_natively(bands: Sequence[Any], plan: Plan, task: str) -> Any:
    low, *details = (as_computable(band, "a band") for band in bands)
    engine, keys = engine_for(low), list_keys(len(plan.axes))
    if isinstance(plan, StationaryPlan):
        return getattr(engine, f"stationary_{task}")(plan, dict(zip(keys, (low, *details), strict=True)))
    each = len(keys) - 1
    rows = [details[start : start + each] for start in range(0, len(details), each)]
    return getattr(engine, f"{task}_all")(plan, low, [dict(zip(keys[1:], row, strict=True)) for row in rows])


def _finish(result: Tensor, like: Tensor) -> Tensor:
    """Return a result in the dtype of the input, which numbers of 16 bits leave on the CPU, and laid out plainly."""
    return result.to(like.dtype).contiguous()


#: What each task is of a plan that may be another one: an adjoint is a level of the dual wavelet.
_TASKS: dict[str, tuple[Direction, Callable[[TransformPlan], TransformPlan]]] = {
    "forward": ("forward", lambda plan: plan),
    "inverse": ("inverse", lambda plan: plan),
    "forward_adjoint": ("inverse", lambda plan: transpose_all(plan, transpose_forward)),
    "inverse_adjoint": ("forward", lambda plan: transpose_all(plan, transpose_inverse)),
}


def _find_chain(
    task: str, number: int, shape: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], tensors: Sequence[Tensor]
) -> Chain | None:
    """Return the kernels of all levels if one for each will do, for tensors that they can read as they are."""
    first = tensors[0]
    dtype, is_aligned = first.dtype, True
    for tensor in tensors:
        if tensor.dtype != dtype or not tensor.is_contiguous() or tensor.is_neg():
            return None
        is_aligned = is_aligned and tensor.data_ptr() % ALIGNMENT == 0
    chain = _make_chain(task, number, shape, shapes, dtype, first.device.index, is_aligned)
    if chain is not None and torch.cuda.is_current_stream_capturing():
        _captured.add(chain)
    return chain


@lru_cache(maxsize=1024)
def _make_chain(
    task: str,
    number: int,
    shape: tuple[int, ...],
    shapes: tuple[tuple[int, ...], ...],
    dtype: torch.dtype,
    index: int,
    is_aligned: bool,
) -> Chain | None:
    """Return the kernels of a task, a look-up of numbers and shapes: plans take long to compare."""
    plan = plan_merge(shapes, number, shape)
    if isinstance(plan, StationaryPlan) or dtype not in _DTYPES or not plan.levels:
        return None
    engine: Any = get_engine(f"cuda:{index}")
    direction, transpose = _TASKS[task]
    chain: Chain | None = engine.find_chain(transpose(plan).levels, direction, _DTYPES[dtype], is_aligned)
    return chain


def _launch_split(chain: Chain, x: Tensor) -> list[Tensor]:
    arrays = _launch(chain, [x])
    rows = [[arrays.pop(0) for _ in keys] for keys in chain.keys]
    return [rows[-1][0], *(band for row in reversed(rows) for band in row[1:])]


def _launch(chain: Chain, given: Sequence[Tensor]) -> list[Tensor]:
    """Run kernels on Torch's current stream, and return the tensors that they write."""
    like = given[0]
    launches: Any = chain.launch
    index = like.device.index
    with _HERE if torch.cuda.current_device() == index else torch.cuda.device(index):
        results = [like.new_empty(shape) for shape in chain.shapes]
        launch = launches.launch if torch.cuda.is_current_stream_capturing() else launches.launch_graph
        launch([tensor.data_ptr() for tensor in (*given, *results)], _find_stream(index))
    return results

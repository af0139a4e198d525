"""Other orders in which a level of two axes can be computed, to be compared with that of the engines.

The order of the engines is line-based and fused: a row is lifted across as it is read, and down as soon as its
neighbours are there, so that a level crosses memory once. Beside it, for comparison:

- **row-column** transforms all rows, then all columns: a level crosses memory once for each axis;
- **block-based** computes each coefficient straight from the block of samples under its filter of two dimensions:
  memory is written once, but a sample takes part in every block that it lies in, at many times the arithmetic.

All three give the same numbers but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.bench.papers.block_source import Taps, render_blocks
from subband.engines.base import Engine
from subband.engines.device_engine import DeviceEngine
from subband.errors import ArgumentError, ModeError, ShapeError, suggest_names
from subband.kernels.dialects import LANES
from subband.plan import LevelPlan
from subband.typing import Array, Bands

__all__ = ["ORDERS", "Order", "order_level"]

Order: TypeAlias = Literal["line-based", "row-column", "block-based"]

ORDERS: tuple[Order, ...] = ("line-based", "row-column", "block-based")

# Groups of lanes in the directions that count rows and images.
_MOST_GROUPS = 65535


def order_level(engine: Engine, order: str) -> Callable[[LevelPlan, Any], Bands]:
    """Return a function ``forward(plan, x)`` that computes a level on an engine in a given order.

    Raises
    ------
    ArgumentError
        If there is no such order.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> from subband.engines.measuring.harness import plan_array
    >>> (level,) = plan_array((8, 8), "haar", 1).levels
    >>> sorted(order_level(get_engine("cpu"), "row-column")(level, np.ones((8, 8))))
    ['aa', 'ad', 'da', 'dd']
    """
    if order == "line-based":
        return engine.forward
    if order == "row-column":
        return partial(_split_rows_and_columns, engine)
    if order == "block-based":
        return partial(_split_on_device, engine) if isinstance(engine, DeviceEngine) else _split_on_host
    raise ArgumentError(f"order={order!r} is not known{suggest_names(order, ORDERS)}; use one of {', '.join(ORDERS)}")


def _split_rows_and_columns(engine: Engine, plan: LevelPlan, x: Array) -> Bands:
    """Transform one axis after the other, the last one first, each by the engine's own sweep along it."""
    bands: Bands = {"": x}
    for axis, axis_plan in reversed(list(zip(plan.axes, plan.plans, strict=True))):
        split: Bands = {}
        for key, band in bands.items():
            halves = engine.forward(LevelPlan(tuple(band.shape), (axis,), (axis_plan,)), band)
            split |= {letter + key: half for letter, half in halves.items()}
        bands = split
    return {key: bands[key] for key in plan.band_shapes}


def _split_on_host(plan: LevelPlan, x: Array) -> Bands:
    """Compute each coefficient from its block, by the threads of the CPU engine."""
    from subband.bench.papers.block_loops import split_blocks
    from subband.engines.cpu.jobs import cut_tasks
    from subband.engines.threads import get_threads, run_tasks

    images = np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    bands = {key: np.empty((len(images), *shape[-2:]), x.dtype) for key, shape in plan.band_shapes.items()}
    taps = [np.array(pair, x.dtype) for pair in _pick_taps(plan)]
    (rows, row_signs), (columns, column_signs) = _map_samples(plan)
    signs = row_signs.astype(x.dtype), column_signs.astype(x.dtype)
    four = list(bands.values())
    extent = len(images), max(band.shape[1] for band in four), max(band.shape[2] for band in four)
    arguments = (images, *four, *taps, rows, signs[0], columns, signs[1])
    tasks = cut_tasks(extent, 8 * get_threads(), 64)
    run_tasks(lambda *task: split_blocks(*arguments, *task), tasks, is_even=True)
    return {key: band.reshape(plan.band_shapes[key]) for key, band in bands.items()}


def _split_on_device(engine: DeviceEngine, plan: LevelPlan, x: Any) -> Bands:
    """Compute each coefficient from its block, by a kernel of its own."""
    device = engine.device
    if not device.owns(x):
        bands = _split_on_device(engine, plan, device.upload(x))
        return {key: device.download(band) for key, band in bands.items()}
    x = device.as_contiguous(x)
    bands = {key: device.allocate(shape, x.dtype) for key, shape in plan.band_shapes.items()}
    kernel = engine.compile_kernel(render_blocks(*_pick_taps(plan), np.dtype(x.dtype).name, device.dialect))
    down, across = plan.plans
    pairs = [max(one.low, one.high) for one in (down, across)]
    rows, columns = _map_samples(plan)
    images = prod(plan.shape[:-2])
    sizes = [images, *plan.shape[-2:], down.low, down.high, across.low, across.high, *pairs]
    table = np.concatenate([sizes, [len(rows[0]), len(columns[0])], *rows, *columns]).astype(np.int32)
    groups = (-(-pairs[1] // LANES), min(pairs[0], _MOST_GROUPS), min(images, _MOST_GROUPS))
    device.launch(kernel, groups, 1, (x, *bands.values(), device.upload_table(table)))
    return bands


def _pick_taps(plan: LevelPlan) -> tuple[Taps, Taps]:
    """Return the taps of both outputs, down and across."""
    count = len(plan.shape)
    if plan.axes != (count - 2, count - 1) or any(one.integer is not None for one in plan.plans):
        raise ShapeError(
            f"axes={plan.axes} of an array of shape {plan.shape}: the block-based order is for fractions, and for the "
            "last two axes; use the order 'line-based'"
        )
    down, across = plan.plans
    return down.forward.taps, across.forward.taps


def _map_samples(plan: LevelPlan) -> list[tuple[Array, Array]]:
    """Return for both axes the index of each sample that is read, -1 for zeros, and its sign."""
    maps = []
    for one in plan.plans:
        found = one.extend_samples(*one.forward.reach(max(one.low, one.high)))
        if found.first.any() or found.last.any():
            raise ModeError(
                f"mode={one.mode!r} makes up samples, which the block-based order does not; use the order 'line-based'"
            )
        maps.append((np.where(found.weight == 0, -1, found.index).astype(np.int64), found.weight))
    return maps

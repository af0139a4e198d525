"""Other orders in which a level of two axes can be computed, as engines of their own.

The default order is line-based and fused: a row is lifted across as it is read, and down as soon as its neighbours are
there, so that a level crosses memory once. Beside it, for comparison:

- **row-column** transforms all rows, then all columns: a level crosses memory once for each axis;
- **block-based** computes each coefficient straight from the block of samples under its filter of two dimensions:
  memory is written once, but a sample takes part in every block that it lies in, at many times the arithmetic.

All three give the same numbers but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.boundary import Extension
from subband.engines.base import Engine
from subband.engines.device_engine import DeviceEngine
from subband.errors import ArgumentError, ModeError, ShapeError, suggest_names
from subband.kernels.blocks import BlockSpec, render_blocks
from subband.kernels.dialects import LANES
from subband.pairs import PairFilter
from subband.plan import LevelPlan
from subband.stationary import StationaryPlan
from subband.typing import Array, Bands

__all__ = ["ORDERS", "BlockEngine", "Order", "RowColumnEngine", "order_engine"]

Order: TypeAlias = Literal["line-based", "row-column", "block-based"]

ORDERS: tuple[Order, ...] = ("line-based", "row-column", "block-based")

# Groups of lanes in the directions that count rows and images.
_MOST_GROUPS = 65535


def order_engine(engine: Engine, order: str) -> Engine:
    """Return an engine that computes as another one does, in a given order.

    Raises
    ------
    ArgumentError
        If there is no such order.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> order_engine(get_engine("cpu"), "row-column")
    <engine 'cpu, row-column'>
    """
    if order == "line-based":
        return engine
    if order == "row-column":
        return RowColumnEngine(engine)
    if order == "block-based":
        return BlockEngine(engine)
    raise ArgumentError(f"order={order!r} is not known{suggest_names(order, ORDERS)}; use one of {', '.join(ORDERS)}")


class _Ordered(Engine):
    """Undecimated levels stay as the engine itself computes them."""

    order: Order

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = f"{engine.name}, {self.order}"

    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        return self.engine.stationary_forward(plan, x)

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return self.engine.stationary_inverse(plan, bands)


class RowColumnEngine(_Ordered):
    """One axis after the other, the last one first, each by the engine's own sweep along it."""

    order: Order = "row-column"

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        bands: Bands = {"": x}
        for axis, axis_plan in reversed(list(zip(plan.axes, plan.plans, strict=True))):
            split: Bands = {}
            for key, band in bands.items():
                halves = self.engine.forward(LevelPlan(tuple(band.shape), (axis,), (axis_plan,)), band)
                split |= {letter + key: half for letter, half in halves.items()}
            bands = split
        return {key: bands[key] for key in plan.band_shapes}

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        if not bands:
            return self.engine.inverse(plan, bands)
        current = dict(bands)
        for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
            merged: Bands = {}
            for key in dict.fromkeys(key[1:] for key in current):
                halves = {letter: current[letter + key] for letter in "ad" if letter + key in current}
                shape = list(next(iter(halves.values())).shape)
                shape[axis] = axis_plan.length
                merged[key] = self.engine.inverse(LevelPlan(tuple(shape), (axis,), (axis_plan,)), halves)
            current = merged
        return current[""]


class BlockEngine(_Ordered):
    """Each coefficient from its block; for the last two axes, and modes that repeat samples."""

    order: Order = "block-based"

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        if isinstance(self.engine, DeviceEngine):
            return self._forward_on_device(self.engine, plan, x)
        images = np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
        bands = {key: np.empty((len(images), *shape[-2:]), x.dtype) for key, shape in plan.band_shapes.items()}
        self._run(plan, "forward", images, bands)
        return {key: band.reshape(plan.band_shapes[key]) for key, band in bands.items()}

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        if isinstance(self.engine, DeviceEngine):
            result: Array = self._inverse_on_device(self.engine, plan, bands)
            return result
        dtype, images = np.result_type(*bands.values()), prod(plan.shape[:-2])
        whole = {
            key: np.ascontiguousarray(bands.get(key, np.zeros(shape, dtype)), dtype).reshape(images, *shape[-2:])
            for key, shape in plan.band_shapes.items()
        }
        x = np.empty((images, *plan.shape[-2:]), dtype)
        self._run(plan, "inverse", x, whole)
        return x.reshape(plan.shape)

    def _run(self, plan: LevelPlan, direction: Literal["forward", "inverse"], x: Array, bands: Bands) -> None:
        from subband.engines.cpu.block_kernels import merge_blocks, split_blocks
        from subband.engines.cpu.sweep import run_kernel

        vertical, horizontal = _pick_filters(plan, direction)
        down, across = (np.array(pair.taps, x.dtype) for pair in (vertical, horizontal))
        rows, columns = _map_places(plan, direction)
        signs = (rows[1].astype(x.dtype), columns[1].astype(x.dtype))
        four = [bands[key] for key in plan.band_shapes]
        arguments = (x, *four, down, across, rows[0], signs[0], columns[0], signs[1])
        if direction == "forward":
            extent = len(x), max(band.shape[1] for band in four), max(band.shape[2] for band in four)
            run_kernel(split_blocks, arguments, extent)
        else:
            run_kernel(merge_blocks, arguments, (len(x), (x.shape[1] + 1) // 2, (x.shape[2] + 1) // 2))

    def _forward_on_device(self, engine: DeviceEngine, plan: LevelPlan, x: Any) -> Bands:
        if not engine.device.owns(x):
            bands = self._forward_on_device(engine, plan, engine.device.upload(x))
            return {key: engine.device.download(band) for key, band in bands.items()}
        x = engine.device.as_contiguous(x)
        bands = {key: engine.device.allocate(shape, x.dtype) for key, shape in plan.band_shapes.items()}
        self._launch(engine, plan, "forward", x, bands)
        return bands

    def _inverse_on_device(self, engine: DeviceEngine, plan: LevelPlan, bands: Mapping[str, Any]) -> Any:
        device = engine.device
        if not any(device.owns(band) for band in bands.values()):
            return device.download(
                self._inverse_on_device(engine, plan, {key: device.upload(band) for key, band in bands.items()})
            )
        dtype = next(iter(bands.values())).dtype
        whole = {
            key: device.as_contiguous(bands[key]) if key in bands else device.make_zeros(shape, dtype)
            for key, shape in plan.band_shapes.items()
        }
        x = device.allocate(plan.shape, dtype)
        self._launch(engine, plan, "inverse", x, whole)
        return x

    def _launch(
        self, engine: DeviceEngine, plan: LevelPlan, direction: Literal["forward", "inverse"], x: Any, bands: Bands
    ) -> None:
        device = engine.device
        vertical, horizontal = _pick_filters(plan, direction)
        spec = BlockSpec(direction, vertical.taps, horizontal.taps, np.dtype(x.dtype).name)
        kernel = engine.compile_kernel(render_blocks(spec, device.dialect))
        down, across = plan.plans
        pairs = [max(one.low, one.high) if direction == "forward" else one.pairs for one in (down, across)]
        rows, columns = _map_places(plan, direction)
        images = prod(plan.shape[:-2])
        sizes = [images, *plan.shape[-2:], down.low, down.high, across.low, across.high, *pairs]
        places = [len(rows[0]), len(columns[0])]
        table = np.concatenate([sizes, places, *rows, *columns]).astype(np.int32)
        groups = (-(-pairs[1] // LANES), min(pairs[0], _MOST_GROUPS), min(images, _MOST_GROUPS))
        device.launch(kernel, groups, 1, (x, *(bands[key] for key in plan.band_shapes), device.upload_table(table)))


def _pick_filters(plan: LevelPlan, direction: Literal["forward", "inverse"]) -> tuple[PairFilter, PairFilter]:
    count = len(plan.shape)
    if plan.axes != (count - 2, count - 1) or any(one.integer is not None for one in plan.plans):
        raise ShapeError(
            f"axes={plan.axes} of an array of shape {plan.shape}: the block-based order is for fractions, and for the "
            "last two axes; use the order 'line-based'"
        )
    down, across = ((one.forward if direction == "forward" else one.inverse) for one in plan.plans)
    return down, across


def _map_places(plan: LevelPlan, direction: Literal["forward", "inverse"]) -> list[tuple[Array, Array]]:
    """Return for both axes the index of each position that is read, -1 for zeros, and its sign."""
    maps = []
    for one in plan.plans:
        if direction == "forward":
            found: Extension = one.extend_samples(*one.forward.reach(max(one.low, one.high)))
        else:
            found = one.extend_coefficients(*one.inverse.reach(one.pairs))
        if found.first.any() or found.last.any():
            raise ModeError(
                f"mode={one.mode!r} makes up samples, which the block-based order does not; use the order 'line-based'"
            )
        maps.append((np.where(found.weight == 0, -1, found.index).astype(np.int64), found.weight))
    return maps

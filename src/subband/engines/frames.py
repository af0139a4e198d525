"""Frames through one transform and back with given thresholds: the work that engines do in one piece.

The CPU's engine has it in `subband.engines.cpu.frames`; here is that of devices, and who has what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from subband.engines.base import Engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.pointwise import Pointwise
from subband.plan import TransformPlan
from subband.typing import Array

__all__ = ["DeviceFrameProgram", "FrameWork", "make_frame_program"]

#: Reads pixels, rows × columns or rows × columns × 3, and writes others of the same shape and dtype.
FrameWork: TypeAlias = Callable[[Any, Any], None]


def make_frame_program(
    engine: Engine, plan: TransformPlan, matrices: tuple[Array, Array] | None, values: Array, mode: str
) -> FrameWork | None:
    """Return what does all the work on a frame in one piece; None if the engine has no such thing.

    Parameters
    ----------
    engine : Engine
        Who computes.
    plan : TransformPlan
        Of the planes, channels × rows × columns, along the last two axes; one channel or three.
    matrices : pair of ndarray or None
        Turn the three channels of a pixel into planes, and back.
    values : ndarray
        Levels × bands × channels × 4, as `subband.engines.pointwise.prepare_values` makes them.
    mode : str
        The threshold.
    """
    if isinstance(engine, DeviceEngine):
        return DeviceFrameProgram(engine, plan, matrices, values, mode)
    if engine.name != "cpu":
        return None
    # imported here, because it loads Numba
    from subband.engines.cpu.frames import FrameProgram

    return FrameProgram(engine, plan, matrices, values, mode)


class DeviceFrameProgram:
    """The work on frames of one shape, as a device does it; parameters are those of `make_frame_program`."""

    def __init__(
        self,
        engine: DeviceEngine,
        plan: TransformPlan,
        matrices: tuple[Array, Array] | None,
        values: Array,
        mode: str,
    ) -> None:
        self._engine = engine
        self._pointwise = Pointwise(engine.device)
        self._mode = mode
        self._plan = plan
        channels = plan.shape[0]
        pair = matrices if matrices is not None else (np.eye(channels),) * 2
        self._matrices = [matrix.tolist() if channels > 1 else [] for matrix in pair]
        # a level that stays as it is need not be read and written
        changes = ((values[..., 0] > 0) | (values[..., 3] != 1)).any(axis=(1, 2))
        self._values = [
            engine.device.upload(own) if is_changed else None
            for own, is_changed in zip(values.astype(np.float32), changes, strict=True)
        ]

    def __call__(self, pixels: Any, result: Any) -> None:
        """Do the work."""
        x = self._engine.device.allocate(self._plan.shape, np.dtype(np.float32))
        self._pointwise.split_pixels(pixels, x, self._matrices[0])
        details = []
        for level, values in zip(self._plan.levels, self._values, strict=True):
            bands = self._engine.forward(level, x)
            if values is not None:
                self._pointwise.shrink(bands, values, self._mode)
            x = bands.pop("aa")
            details.append(bands)
        for level in reversed(self._plan.levels):
            # popped, so that a level is freed as soon as it is put together
            x = self._engine.inverse(level, {"aa": x, **details.pop()})
        self._pointwise.join_planes(x, result, self._matrices[1])

"""Fused programs that denoise frames with given thresholds, where an engine has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from subband.engines.base import Engine
from subband.plan import TransformPlan
from subband.typing import Array

__all__ = ["FrameWork", "make_frame_program"]

#: Reads pixels, rows × columns × channels, and writes others of the same shape and dtype.
FrameWork: TypeAlias = Callable[[Any, Any], None]


def make_frame_program(
    engine: Engine,
    plan: TransformPlan,
    matrices: tuple[Array, Array] | None,
    limits: tuple[Array, Array, Array],
    mode: str,
) -> FrameWork | None:
    """Return the fused program that denoises a frame; None if the engine has none for the plan.

    Parameters
    ----------
    engine : Engine
        The engine; only that of the CPU has it, and only where single precision is enough.
    plan, matrices, limits, mode
        As `subband.engines.cpu.frames.FrameProgram` takes them.
    """
    if engine.name != "cpu" or any(level.amplifies for level in plan.levels):
        return None
    # imported here, because it loads Numba
    from subband.engines.cpu.frames import FrameProgram

    return FrameProgram(plan, matrices, limits, mode)

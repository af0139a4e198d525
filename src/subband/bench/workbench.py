"""A bench to work at, whatever engine computes: samples where it is, a clock, a copy, and transforms to time.

`subband.bench.beds` has what devices need; this puts the CPU beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.bench.beds import Bed, draw_on_host, open_bed
from subband.bench.devices import describe_device
from subband.bench.machine import Machine, describe_machine
from subband.bench.measuring import Clock
from subband.engines import Engine, get_engine
from subband.engines.registry import is_device_engine
from subband.engines.threads import get_threads, run_tasks
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array, Direction
from subband.wavelets import as_wavelet

__all__ = ["Direction", "Workbench", "draw_on_host", "open_workbench", "plan_picture"]

# Arrays of so many bytes are worth a second thread.
_SHARED = 2**19


@dataclass(frozen=True)
class Workbench:
    """How transforms and copies are run and timed on an engine, wherever it computes."""

    engine: Engine
    bed: Bed | None

    @property
    def clock(self) -> Clock | None:
        """The clock of the device; None for that of the host."""
        return None if self.bed is None else self.bed.time_calls

    @property
    def is_device(self) -> bool:
        """Whether the engine has a memory of its own."""
        return self.bed is not None

    def draw(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """Draw samples between -0.5 and 0.5 where the engine computes."""
        return draw_on_host(shape, dtype, 0) if self.bed is None else self.bed.draw(shape, dtype)

    def upload(self, x: Array) -> Any:
        """Return a copy of an array where the engine computes; the array itself where that is the host."""
        return x if self.bed is None else self.bed.engine.device.upload(x)

    def to_host(self, x: Any) -> Array:
        """Return an array of the engine as one of NumPy."""
        return to_host(x)

    def prepare_copy(self, x: Any) -> Callable[[], Any]:
        """Return what copies an array as fast as can be, with as many threads as transforms have."""
        return _prepare_host_copy(x) if self.bed is None else self.bed.prepare_copy(x)

    def prepare(self, plan: TransformPlan, direction: Direction) -> Callable[[], Any]:
        """Return what transforms samples that were drawn."""
        x = self.draw(plan.shape)
        if direction == "forward":
            return lambda: self.engine.forward_all(plan, x)
        approximation, details = self.engine.forward_all(plan, x)
        return lambda: self.engine.inverse_all(plan, approximation, details)

    def describe(self, libraries: Sequence[str] = ()) -> Machine:
        """Say where it stands, with the versions of other libraries that matter."""
        return describe_machine(None if self.bed is None else describe_device(self.bed.engine_name), libraries)


def open_workbench(engine: str | Engine) -> Workbench:
    """Return the workbench of an engine.

    Raises
    ------
    MissingExtraError, NoDeviceError
        If there is no such device, or no library to reach it.
    """
    if not is_device_engine(engine):
        return Workbench(get_engine(engine), None)
    bed = open_bed(engine.name if isinstance(engine, Engine) else engine)
    return Workbench(bed.engine, bed)


def plan_picture(shape: tuple[int, ...], wavelet: str, level: int) -> TransformPlan:
    """Plan the transform of all axes of an array, in the mode that makes no more coefficients than samples."""
    chosen = as_wavelet(wavelet)
    mode = "whole" if chosen.is_whole_sample_symmetric else "periodization"
    count = len(shape)
    return transform_plan(shape, tuple(range(count)), (chosen,) * count, (mode,) * count, level)


def _prepare_host_copy(x: Array) -> Callable[[], Any]:
    """Copy in the threads of the engine, one part each."""
    goal = np.zeros_like(x)
    if x.nbytes < _SHARED:
        return lambda: np.copyto(goal, x)
    edges = np.linspace(0, len(x), get_threads() + 1).astype(int).tolist()

    def copy_part(start: int, stop: int) -> None:
        np.copyto(goal[start:stop], x[start:stop])

    tasks = list(pairwise(edges))
    return lambda: run_tasks(copy_part, tasks)

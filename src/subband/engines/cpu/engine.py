"""The engine of the CPU: runs the sweeps of a plan's schedule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from subband.engines.abilities import CPU
from subband.engines.base import Engine
from subband.engines.cpu.inputs import as_readable, fill_in, find_dtype
from subband.engines.cpu.lifting import merge_level, split_level
from subband.engines.cpu.stationary import stationary_forward, stationary_inverse
from subband.engines.cpu.sweep import ImageSweep
from subband.engines.cpu.volume import VolumeSweep
from subband.plan import LevelPlan
from subband.schedule.sweeps import Abilities, LevelSchedule, schedule_level
from subband.stationary import StationaryPlan
from subband.typing import Array, Bands

__all__ = ["CpuEngine"]


class CpuEngine(Engine):
    """Runs on the CPU with as many threads as `subband.set_threads` says."""

    name = "cpu"

    def find_abilities(self, dtype: np.dtype[Any]) -> Abilities:  # noqa: ARG002 - whatever the dtype
        return CPU

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        if x.dtype.kind == "c":
            return {key: _join_parts(band) for key, band in self.forward(_plan_parts(plan), _split_parts(x)).items()}
        if plan.amplifies and x.dtype == np.float32:
            # what is added to the few samples is so much larger that single precision would leave little of them
            wide = self.forward(plan, x.astype(np.float64))
            return {key: band.astype(np.float32) for key, band in wide.items()}
        x = as_readable(x)
        if _repeats_sources(plan):
            return split_level(plan, x)
        schedule, sweeps = _prepare(plan)
        if schedule.is_single:
            return sweeps[0].forward(x)
        return schedule.split(x, [sweep.forward for sweep in sweeps])

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        dtype = find_dtype(bands)
        if dtype.kind == "c":
            parts = {key: _split_parts(band.astype(dtype, copy=False)) for key, band in bands.items()}
            return _join_parts(self.inverse(_plan_parts(plan), parts))
        if plan.amplifies_back and dtype == np.float32:
            return self.inverse(plan, {key: band.astype(np.float64) for key, band in bands.items()}).astype(np.float32)
        whole = fill_in(plan.band_shapes, bands, dtype)
        if _repeats_sources(plan):
            return merge_level(plan, whole)
        schedule, sweeps = _prepare(plan)
        if schedule.is_single:
            return sweeps[0].inverse(whole)
        x: Array = schedule.merge(whole, [sweep.inverse for sweep in sweeps])
        return x

    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        return stationary_forward(plan, x)

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return stationary_inverse(plan, bands)


def _repeats_sources(plan: LevelPlan) -> bool:
    integer = plan.plans[0].integer
    return integer is not None and integer.repeats_sources


@lru_cache(maxsize=4096)
def _prepare(plan: LevelPlan) -> tuple[LevelSchedule, tuple[ImageSweep | VolumeSweep, ...]]:
    """Return the schedule of a level, and what runs each of its sweeps."""
    schedule = schedule_level(plan, CPU)
    return schedule, tuple(VolumeSweep(sweep) if sweep.block else ImageSweep(sweep) for sweep in schedule.sweeps)


@lru_cache(maxsize=1024)
def _plan_parts(plan: LevelPlan) -> LevelPlan:
    """Return the plan of the real and imaginary parts, stacked along a new first axis."""
    return LevelPlan((2, *plan.shape), tuple(axis + 1 for axis in plan.axes), plan.plans)


def _split_parts(x: Array) -> Array:
    return np.stack([x.real, x.imag])


def _join_parts(parts: Array) -> Array:
    joined = np.empty(parts.shape[1:], np.result_type(parts, np.complex64))
    joined.real, joined.imag = parts
    return joined

"""How a plan becomes sweeps: which axes go together, and which thread does what."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from subband.engines.base import Engine
from subband.engines.cpu.inputs import as_readable
from subband.engines.cpu.stationary import stationary_forward, stationary_inverse
from subband.engines.cpu.sweep import Sweep
from subband.engines.cpu.volume import VolumeSweep
from subband.plan import LevelPlan
from subband.stationary import StationaryPlan
from subband.typing import Array, Bands

__all__ = ["CpuEngine"]


class CpuEngine(Engine):
    """Runs on the CPU with as many threads as `subband.set_threads` says."""

    name = "cpu"

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        if x.dtype.kind == "c":
            return {key: _join_parts(band) for key, band in self.forward(_plan_parts(plan), _split_parts(x)).items()}
        if x.dtype == np.float32 and plan.amplifies:
            # what is added to the few samples is so much larger that single precision would leave little of them
            wide = self.forward(plan, x.astype(np.float64))
            return {key: band.astype(np.float32) for key, band in wide.items()}
        x = as_readable(x)
        sweeps, keys = _schedule(plan)
        if keys is _SAME:
            return sweeps[0].forward(x)
        bands: Bands = {"": x}
        for sweep in sweeps:
            swept: Bands = {}
            for key in list(bands):
                # popped, so that a band is freed as soon as it has been split further
                for letters, band in sweep.forward(bands.pop(key)).items():
                    swept[key + letters] = band
            bands = swept
        return {key: bands[swept_key] for key, swept_key in keys.items()}

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        sweeps, keys = _schedule(plan)
        dtypes = {band.dtype for band in bands.values()}
        dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*bands.values())
        if dtype.kind == "c":
            parts = {key: _split_parts(band.astype(dtype, copy=False)) for key, band in bands.items()}
            return _join_parts(self.inverse(_plan_parts(plan), parts))
        current: Bands = {}
        for key, shape in plan.band_shapes.items():
            band = bands.get(key)
            if band is None:
                band = np.zeros(shape, dtype)
            elif band.dtype != dtype:
                band = band.astype(dtype)
            current[keys.get(key, key)] = as_readable(band)
        if keys is _SAME:
            return sweeps[0].inverse(current)
        for sweep in reversed(sweeps):
            letters = sweep.letters
            merged: Bands = {}
            for key in dict.fromkeys(key[: -len(letters[0])] for key in current):
                merged[key] = sweep.inverse({last: current.pop(key + last) for last in letters})
            current = merged
        return current[""]

    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        return stationary_forward(plan, x)

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return stationary_inverse(plan, bands)


#: The keys of a level that is one sweep over its axes in their order.
_SAME: dict[str, str] = {}


@lru_cache(maxsize=4096)
def _schedule(plan: LevelPlan) -> tuple[tuple[Sweep | VolumeSweep, ...], dict[str, str]]:
    """Return the sweeps of a level, and for each key of the plan the key in the order of the sweeps.

    The last three axes, or two, go together; the others follow one by one, on bands that are already small. Integer
    axes go one by one in the order of the plan, because rounding makes the order matter.
    """
    ndim = len(plan.shape)
    by_axis = dict(zip(plan.axes, plan.plans, strict=True))
    groups: list[tuple[int, ...]] = [(axis,) for axis in plan.axes]
    if plan.plans[0].integer is None:
        for together in (tuple(range(ndim - 3, ndim)), tuple(range(ndim - 2, ndim))):
            if set(together) <= set(plan.axes):
                groups = [together] + [(axis,) for axis in plan.axes if axis not in together]
                break
    order = [axis for group in groups for axis in group]
    places = [plan.axes.index(axis) for axis in order]
    keys = {key: "".join(key[place] for place in places) for key in plan.band_shapes}
    if len(groups) == 1 and all(key == swept_key for key, swept_key in keys.items()):
        keys = _SAME
    sweeps = []
    for group in groups:
        kind = VolumeSweep if len(group) == 3 else Sweep
        sweeps.append(kind(group, tuple(by_axis[axis] for axis in group)))
    return tuple(sweeps), keys


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

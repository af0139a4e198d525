"""Base of the device engines: a plan becomes sweeps, a sweep becomes a kernel and its tables.

An engine for a kind of device is this class and a `Device`. Samples that come from the host are uploaded, and the
results downloaded; arrays that are on the device already stay there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from subband.engines.abilities import abilities_of_device
from subband.engines.base import Engine
from subband.engines.device import Device, Groups, KernelCall, Launches
from subband.engines.preparation import Preparation, Prepared
from subband.engines.recent import Recent
from subband.engines.recording import recordings
from subband.engines.stages import Stage, number_arrays
from subband.kernels.dialects import LANES
from subband.kernels.launch import Launch, VolumeLaunch, suits_one_level
from subband.kernels.stationary import StationarySpec, render_stationary
from subband.plan import LevelPlan, TransformPlan
from subband.schedule.sweeps import Abilities, Sweep, merge_in_turn, schedule_level, split_in_turn
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Bands, Direction

__all__ = ["ALIGNMENT", "Chain", "DeviceEngine"]

#: The largest piece, in bytes, that a lane loads or stores at once: arrays that begin at a multiple of it are aligned.
ALIGNMENT = 32

#: CUDA has room for so many groups in the second and third direction.
_MOST_GROUPS = 65_535

#: Groups of an undecimated pass in one block.
_PASS_BLOCK = 8

#: Samples along each axis from which on the axes of a volume go together.
_LEAST_VOLUME = 16

#: Samples from which on two levels go together.
_LEAST_CASCADE = 1 << 16

#: What has less than double precision.
_NARROW = ("float32", "float16", "bfloat16")

#: No more transforms than this are remembered.
_MOST_CHAINS = 1024


@dataclass(frozen=True)
class Chain:
    """All levels of a transform, a kernel for each or for two of them, in the order in which they run.

    Attributes
    ----------
    launch : callable
        Runs the kernels on a list of arrays: those that are read, as `keys` names them, then those that are written.
    shapes : tuple of tuple of int
        Of the arrays that are written: all bands of level after level, or the samples of one after the other; then
        what only the kernels themselves read.
    keys : tuple of tuple of str
        The names of the bands of each level, the approximation first.
    """

    launch: Launches
    shapes: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[str, ...], ...]


class DeviceEngine(Engine):
    """Runs plans on a `Device`."""

    def __init__(self, device: Device) -> None:
        self.device = device
        #: Three axes with so many samples each, of at most 32 bits, are transformed by one kernel; None leaves it at 2.
        self.least_volume: int | None = _LEAST_VOLUME if device.is_gpu and device.dialect.is_staging else None
        #: Two levels are transformed by one kernel if the finer one has so many samples; None leaves it at one. What
        #: OpenCL's compiler makes of it takes longer than the two sweeps.
        is_gaining = device.is_gpu and device.dialect.name == "cuda"
        self.least_cascade: int | None = _LEAST_CASCADE if is_gaining else None
        self._preparation = Preparation(device)
        self._chains = Recent["Chain | None"](_MOST_CHAINS, device.is_recording)
        self._passes = Recent[tuple[Any, Groups, Any]](_MOST_CHAINS, device.is_recording)

    @property
    def launch_override(self) -> Launch | None:
        """Launch parameters for all kernels prepared from now on, instead of those from the table."""
        return self._preparation.launch_override

    @launch_override.setter
    def launch_override(self, launch: Launch | None) -> None:
        self._preparation.launch_override = launch

    @property
    def volume_override(self) -> VolumeLaunch | None:
        """The same for kernels of volumes."""
        return self._preparation.volume_override

    @volume_override.setter
    def volume_override(self, launch: VolumeLaunch | None) -> None:
        self._preparation.volume_override = launch

    @property
    def cascade_override(self) -> Launch | None:
        """The same for kernels of two levels: pairs of the fine one in a lane, chunks of the coarse one."""
        return self._preparation.cascade_override

    @cascade_override.setter
    def cascade_override(self, launch: Launch | None) -> None:
        self._preparation.cascade_override = launch

    def forget_kernels(self) -> None:
        """Prepare all kernels anew from now on, as after a change of what they depend on."""
        self._preparation.forget()
        self._chains.clear()

    def forward(self, plan: LevelPlan, x: Any) -> Bands:
        if not self.device.owns(x):
            bands = self.forward(plan, self.device.upload(x))
            return {key: self.device.download(band) for key, band in bands.items()}
        x = self.device.as_contiguous(x)
        if x.dtype.kind == "c":
            return self._forward_parts(plan, x)
        if plan.amplifies and x.dtype.name in _NARROW:
            # what is added to the few samples is so much larger that single precision would leave little of them
            wide = self.forward(plan, x.astype(np.float64))
            return {key: band.astype(x.dtype) for key, band in wide.items()}
        if (chain := self._find_chain((plan,), "forward", x.dtype, [x])) is not None:
            return self._split_all(chain, x)[0]
        schedule = schedule_level(plan, self.find_abilities(x.dtype))
        return schedule.split(x, [partial(self._split, sweep) for sweep in schedule.sweeps])

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Any:
        if not any(self.device.owns(band) for band in bands.values()):
            dtype = np.result_type(*bands.values())
            uploaded = {key: self.device.upload(band.astype(dtype, copy=False)) for key, band in bands.items()}
            return self.device.download(self.inverse(plan, uploaded))
        whole = self._fill_in(plan.band_shapes, bands)
        arrays = list(whole.values())
        if arrays[0].dtype.kind == "c":
            return self._inverse_parts(plan, whole)
        if plan.amplifies_back and arrays[0].dtype.name in _NARROW:
            wide = self.inverse(plan, {key: band.astype(np.float64) for key, band in whole.items()})
            return wide.astype(arrays[0].dtype)
        if (chain := self._find_chain((plan,), "inverse", arrays[0].dtype, arrays)) is not None:
            return self._merge_all(chain, arrays[0], [whole])
        schedule = schedule_level(plan, self.find_abilities(arrays[0].dtype))
        del arrays  # a band is freed as soon as it has been merged
        return schedule.merge(whole, [partial(self._merge, sweep) for sweep in schedule.sweeps])

    def forward_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        if not self.device.owns(x):
            approximation, details = self.forward_all(plan, self.device.upload(x))
            return self.device.download(approximation), [
                {key: self.device.download(band) for key, band in bands.items()} for bands in details
            ]
        x = self.device.as_contiguous(x)
        chain = self._find_chain(plan.levels, "forward", x.dtype, [x])
        if chain is None:
            return super().forward_all(plan, x)
        levels = self._split_all(chain, x)
        details = [{key: bands[key] for key in keys[1:]} for bands, keys in zip(levels, chain.keys, strict=True)]
        return levels[-1][chain.keys[-1][0]], details[::-1]

    def inverse_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Bands]) -> Any:
        if not self.device.owns(approximation):
            dtype = np.result_type(approximation, *(band for bands in details for band in bands.values()))
            uploaded = [
                {key: self.device.upload(band.astype(dtype, copy=False)) for key, band in bands.items()}
                for bands in details
            ]
            low = self.device.upload(approximation.astype(dtype, copy=False))
            return self.device.download(self.inverse_all(plan, low, uploaded))
        dtype = approximation.dtype
        given = [approximation, *(band for bands in details for band in bands.values())]
        low = "a" * len(plan.axes)
        is_whole = all(
            bands.keys() == level.band_shapes.keys() - {low}
            for level, bands in zip(reversed(plan.levels), details, strict=True)
        )
        chain = None
        if is_whole and all(array.dtype == dtype for array in given):
            chain = self._find_chain(plan.levels, "inverse", dtype, given)
        if chain is None:
            return super().inverse_all(plan, approximation, details)
        return self._merge_all(chain, approximation, details)

    def _split_all(self, chain: Chain, x: Any) -> list[Bands]:
        """Transform level after level, and return all bands, finest first."""
        # all memory is asked for at once, because on small images asking takes longest
        arrays = self.device.allocate_all(chain.shapes, x.dtype)
        self._run(chain, [x], arrays)
        bands = iter(arrays)
        return [{key: next(bands) for key in keys} for keys in chain.keys]

    def _merge_all(self, chain: Chain, x: Any, details: Sequence[Bands]) -> Any:
        """Merge an approximation with the details of level after level, coarsest first."""
        given = [x, *(bands[key] for keys, bands in zip(chain.keys, details, strict=True) for key in keys[1:])]
        goals = self.device.allocate_all(chain.shapes, x.dtype)
        self._run(chain, [*map(self.device.as_contiguous, given)], goals)
        return goals[len(chain.keys) - 1]

    def _run(self, chain: Chain, given: Sequence[Any], made: Sequence[Any]) -> None:
        chain.launch([*given, *made])
        if (recording := recordings.current) is not None:
            make = partial(self.device.make_replay, chain.launch, chain.shapes, given[0].dtype)
            recording.note_launch(make, given, made)

    def _find_chain(
        self, levels: tuple[LevelPlan, ...], direction: Direction, dtype: np.dtype[Any], arrays: Sequence[Any]
    ) -> Chain | None:
        """Return the kernels of levels for the arrays that they read, or None if a level needs several."""
        is_aligned = all(self.device.is_aligned(array, ALIGNMENT) for array in arrays)
        return self.find_chain(levels, direction, dtype, is_aligned)

    def find_chain(
        self,
        levels: tuple[LevelPlan, ...],
        direction: Direction,
        dtype: np.dtype[Any],
        is_aligned: bool,
        samples: str | None = None,
    ) -> Chain | None:
        """Return the kernels of levels, one for each or for two of them, or None if a level needs several.

        `is_aligned`: what they read. `samples`: how those of the finest level are stored, by the names of
        `subband.kernels.numbers.STORAGES`, if not as `dtype`.
        """
        key = (
            levels,
            direction,
            dtype,
            is_aligned,
            samples,
            self.least_volume,
            self.least_cascade,
            self._preparation.overrides,
        )
        return self._chains.find(key, lambda: self._make_chain(levels, direction, dtype, is_aligned, samples))

    def find_abilities(self, dtype: np.dtype[Any]) -> Abilities:
        # numbers of 64 bits leave no room for three axes
        return abilities_of_device(self.least_volume if dtype.itemsize < 8 else None)

    def _make_chain(
        self,
        levels: tuple[LevelPlan, ...],
        direction: Direction,
        dtype: np.dtype[Any],
        is_aligned: bool,
        samples: str | None,
    ) -> Chain | None:
        abilities = self.find_abilities(dtype)
        schedules = [schedule_level(level, abilities) for level in levels]
        is_forward = direction == "forward"
        is_steep = any(level.amplifies if is_forward else level.amplifies_back for level in levels)
        is_plain = all(len(schedule.sweeps) == 1 for schedule in schedules) and not is_steep
        if dtype.kind == "c" or not levels or not is_plain:
            return None
        made = number_arrays(levels, schedules, direction, is_aligned, samples)
        shapes, mixtures, most_mixtures = list(made.shapes), made.first + len(made.shapes), 0
        # from the finest level on, in both directions: where an odd one is left over, it is the smallest
        waiting = list(made.stages if is_forward else reversed(made.stages))
        turns: list[list[KernelCall]] = []
        while waiting:
            if len(waiting) > 1 and (call := self._join_stages(waiting[:2], dtype, direction)) is not None:
                turns.append([call])
                # nothing writes or reads what is between the levels
                shapes[waiting[1].x - made.first] = (0,)
                del waiting[:2]
                continue
            stage = waiting.pop(0)
            if (call := self._join_stages([stage], dtype, direction)) is not None:
                turns.append([call])
                continue
            prepared = self._preparation.prepare(
                stage.sweep, stage.shape, dtype, direction, stage.is_aligned, stage.samples
            )
            turns.append([])
            if 0 not in prepared.groups:
                turns[-1] += _list_calls(prepared, stage.x, stage.bands, mixtures)
            if prepared.mixing is not None:
                most_mixtures = max(most_mixtures, prepared.mixing.size)
        if most_mixtures:
            shapes.append((most_mixtures,))
        calls = [call for turn in (turns if is_forward else reversed(turns)) for call in turn]
        return Chain(self.device.join(calls), tuple(shapes), made.keys)

    def _join_stages(self, stages: Sequence[Stage], dtype: np.dtype[Any], direction: Direction) -> KernelCall | None:
        """Return the kernel of two levels, the finer one first, or of one; None if each has a sweep of its own."""
        fine, is_alone = stages[0], len(stages) == 1
        is_plain = all(stage.is_aligned and stage.samples is None for stage in stages)
        if self.least_cascade is None or not is_plain or prod(fine.shape) < self.least_cascade:
            return None
        # who sets parameters of sweeps means sweeps
        is_set = self.launch_override is not None
        if is_alone and (is_set or not suits_one_level(self.device.dialect, dtype.itemsize, prod(fine.shape))):
            return None
        sweeps = tuple(stage.sweep for stage in stages)
        prepared = self._preparation.prepare_cascade(sweeps, fine.shape, dtype, direction)
        if prepared is None or 0 in prepared.groups:
            return None
        slots = (fine.x, *fine.bands) if is_alone else (fine.x, *fine.bands[1:], *stages[1].bands)
        return KernelCall(prepared.kernel, prepared.groups, prepared.block, slots, prepared.tables)

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        if not self.device.owns(x):
            bands = self.stationary_forward(plan, self.device.upload(x))
            return {key: self.device.download(band) for key, band in bands.items()}
        x = self.device.as_contiguous(x)
        if x.dtype.kind == "c":
            real = self.device.view(x, (*x.shape, 2), _real_dtype(x.dtype))
            bands = self.stationary_forward(_plan_stationary_parts(plan), real)
            return {key: self.device.view(band, x.shape, x.dtype) for key, band in bands.items()}
        return split_in_turn(x, [partial(self._split_pass, *each) for each in zip(plan.plans, plan.axes, strict=True)])

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Any]) -> Any:
        if not any(self.device.owns(band) for band in bands.values()):
            dtype = np.result_type(*bands.values())
            uploaded = {key: self.device.upload(band.astype(dtype, copy=False)) for key, band in bands.items()}
            return self.device.download(self.stationary_inverse(plan, uploaded))
        current = self._fill_in(plan.band_shapes, bands)
        dtype = next(iter(current.values())).dtype
        if dtype.kind == "c":
            real = _real_dtype(dtype)
            parts = {key: self.device.view(band, (*band.shape, 2), real) for key, band in current.items()}
            return self.device.view(self.stationary_inverse(_plan_stationary_parts(plan), parts), plan.shape, dtype)
        runs = [(1, partial(self._merge_pass, *each)) for each in zip(plan.plans, plan.axes, strict=True)]
        return merge_in_turn(current, runs)

    def _fill_in(self, shapes: Mapping[str, tuple[int, ...]], bands: Mapping[str, Any]) -> Bands:
        """Return all bands, contiguous; those left out are zeros."""
        dtypes = {band.dtype for band in bands.values()}
        dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
        whole: Bands = {}
        for key, shape in shapes.items():
            band = bands.get(key)
            if band is None:
                whole[key] = self.device.make_zeros(shape, dtype)
            else:
                whole[key] = self.device.as_contiguous(band if band.dtype == dtype else band.astype(dtype))
        return whole

    def _split_pass(self, plan: StationaryAxisPlan, axis: int, x: Any) -> Bands:
        bands = {letter: self.device.allocate(x.shape, x.dtype) for letter in "ad"}
        self._pass(plan, axis, "forward", x, bands["a"], bands["d"])
        return bands

    def _merge_pass(self, plan: StationaryAxisPlan, axis: int, bands: Bands) -> Any:
        x = self.device.allocate(bands["a"].shape, bands["a"].dtype)
        self._pass(plan, axis, "inverse", x, bands["a"], bands["d"])
        return x

    def _pass(self, plan: StationaryAxisPlan, axis: int, direction: Direction, x: Any, low: Any, high: Any) -> None:
        """Run one undecimated pass along one axis."""
        key = (plan, axis, x.shape, x.dtype, direction)
        shape, dtype = x.shape, x.dtype
        kernel, groups, table = self._passes.find(key, lambda: self._make_pass(plan, axis, direction, shape, dtype))
        self.device.launch(kernel, groups, _PASS_BLOCK, (x, low, high, table))

    def _make_pass(
        self, plan: StationaryAxisPlan, axis: int, direction: Direction, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> tuple[Any, Groups, Any]:
        wavelet, half = plan.wavelet, plan.wavelet.dec_len // 2
        is_last = axis == len(shape) - 1
        if direction == "forward":
            spec = StationarySpec("forward", tuple(wavelet.dec_lo), tuple(wavelet.dec_hi), half, dtype.name, is_last)
        else:
            low, high = (tuple(tap / 2 for tap in taps) for taps in (wavelet.rec_lo, wavelet.rec_hi))
            spec = StationarySpec("inverse", low, high, half - 1, dtype.name, is_last)
        kernel = self.compile_kernel(render_stationary(spec, self.device.dialect))
        outer, stride = prod(shape[:axis]), prod(shape[axis + 1 :])
        table = np.array([outer, plan.length, stride, plan.step], np.int64)
        lanes, second, third = (plan.length, outer, 1) if is_last else (stride, plan.length, outer)
        groups = (max(1, -(-lanes // LANES)), max(1, min(second, _MOST_GROUPS)), max(1, min(third, _MOST_GROUPS)))
        return kernel, groups, self.device.upload_table(table)

    def compile_kernel(self, source: str) -> Any:
        """Return the kernel of a text, compiled once."""
        return self._preparation.compile(source)

    def _forward_parts(self, plan: LevelPlan, x: Any) -> Bands:
        """Transform complex numbers as pairs of real ones, which lie interleaved."""
        real = _real_dtype(x.dtype)
        bands = self.forward(_plan_parts(plan), self.device.view(x, (*x.shape, 2), real))
        return {key: self.device.view(band, band.shape[:-1], x.dtype) for key, band in bands.items()}

    def _inverse_parts(self, plan: LevelPlan, bands: Bands) -> Any:
        dtype = next(iter(bands.values())).dtype
        real = _real_dtype(dtype)
        parts = {key: self.device.view(band, (*band.shape, 2), real) for key, band in bands.items()}
        x = self.inverse(_plan_parts(plan), parts)
        return self.device.view(x, x.shape[:-1], dtype)

    def _split(self, sweep: Sweep, x: Any) -> Bands:
        prepared = self._preparation.prepare(sweep, x.shape, x.dtype, "forward", self.device.is_aligned(x, ALIGNMENT))
        bands = self.device.allocate_all(prepared.band_shapes, x.dtype)
        self._launch(prepared, x, bands)
        return dict(zip(sweep.letters, bands, strict=True))

    def _merge(self, sweep: Sweep, bands: Bands) -> Any:
        arrays = list(bands.values())
        shape, dtype = sweep.find_shape(arrays[0].shape), arrays[0].dtype
        is_aligned = all(self.device.is_aligned(band, ALIGNMENT) for band in arrays)
        prepared = self._preparation.prepare(sweep, shape, dtype, "inverse", is_aligned)
        x = self.device.allocate(shape, dtype)
        self._launch(prepared, x, arrays)
        return x

    def _launch(self, prepared: Prepared, x: Any, bands: Sequence[Any]) -> None:
        if 0 in prepared.groups:
            return
        arrays = [x, *bands]
        if prepared.mixing is not None:
            arrays.append(self.device.allocate((prepared.mixing.size,), x.dtype))
        for call in _list_calls(prepared, 0, range(1, 1 + len(bands)), len(arrays) - 1):
            self.device.launch(call.kernel, call.groups, call.block, call.list_arguments(arrays))


def _list_calls(prepared: Prepared, x: int, bands: Sequence[int], mixtures: int) -> list[KernelCall]:
    """Return a sweep's kernel, and what runs before it, for the arrays of these numbers."""
    slots = [x] + [bands[0]] * max(4, len(bands))  # a band that a sweep does not have is never touched
    for position, band in zip(prepared.positions, bands, strict=True):
        slots[1 + position] = band
    if prepared.mixing is None:
        return [KernelCall(prepared.kernel, prepared.groups, prepared.block, tuple(slots), prepared.tables)]
    slots.append(mixtures)
    return [
        KernelCall(each.kernel, each.groups, each.block, tuple(slots), prepared.tables)
        for each in (prepared.mixing, prepared)
    ]


def _plan_parts(plan: LevelPlan) -> LevelPlan:
    """Return the plan of the real and imaginary parts, interleaved along a new last axis."""
    return LevelPlan((*plan.shape, 2), plan.axes, plan.plans)


def _plan_stationary_parts(plan: StationaryPlan) -> StationaryPlan:
    return StationaryPlan((*plan.shape, 2), plan.axes, plan.plans)


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)

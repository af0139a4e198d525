"""What the engines of all devices share: a plan becomes sweeps, a sweep becomes a kernel and its tables.

An engine for a kind of device is this class and a `Device`. Samples that come from the host are uploaded, and the
results downloaded; arrays that are on the device already stay there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from subband.engines.base import Engine
from subband.engines.device import Device, Groups
from subband.engines.layout import (
    Sweep,
    can_align,
    has_single_sweeps,
    lay_out,
    list_band_shapes,
    orient,
    repeats_samples,
    schedule_sweeps,
    tabulate,
    tabulate_volume,
)
from subband.engines.tuned import classify, identify, load_tuned
from subband.errors import DeviceError
from subband.kernels.axis import AxisProgram, forward_program, inverse_program
from subband.kernels.dialects import LANES
from subband.kernels.launch import Launch, VolumeLaunch, choose_launch, choose_volume_launch
from subband.kernels.numbers import STORAGES
from subband.kernels.stationary import StationarySpec, render_stationary
from subband.kernels.sweep import Direction, SweepSpec, render_sweep
from subband.kernels.volume import VolumeSpec, render_volume
from subband.plan import LevelPlan, TransformPlan
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Bands

__all__ = ["DeviceEngine"]

#: The largest piece, in bytes, that a lane loads or stores at once: arrays that begin at a multiple of it are aligned.
_ALIGNMENT = 32

#: Kernels count rows and columns in 32 bits, and some more than there are.
_LONGEST = 1 << 30

#: CUDA has room for so many groups in the second and third direction.
_MOST_GROUPS = 65_535

#: Groups of an undecimated pass in one block.
_PASS_BLOCK = 8

#: Samples along each axis from which on the axes of a volume go together.
_LEAST_VOLUME = 16

#: Channels up to which a lane holds whole pixels; of more, each is an image of its own.
_MOST_CHANNELS = 4

#: No more transforms than this are remembered.
_MOST_CHAINS = 1024


@dataclass(frozen=True)
class _Prepared:
    """A kernel with its tables, for arrays of one shape and dtype."""

    kernel: Any
    groups: Groups
    block: int
    tables: tuple[Any, ...]  # what the kernel is told besides samples and bands
    band_shapes: tuple[tuple[int, ...], ...]
    places: tuple[int, ...]  # which of the kernel's bands each band is


@dataclass(frozen=True)
class _Chain:
    """The sweeps of a transform that has one for each level."""

    plan: TransformPlan  # kept, so that no other plan gets its place in memory and is taken for it
    sweeps: tuple[_Prepared, ...]
    shapes: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[str, ...], ...]


class DeviceEngine(Engine):
    """Runs plans on a `Device`."""

    def __init__(self, device: Device) -> None:
        self.device = device
        #: Launch parameters for all kernels prepared from now on, in the place of those from the table.
        self.launch_override: Launch | None = None
        #: The same for those of volumes.
        self.volume_override: VolumeLaunch | None = None
        #: Three axes with so many samples each are transformed by one kernel; None leaves it at two at a time.
        self.least_volume: int | None = _LEAST_VOLUME if device.is_gpu and device.dialect.is_staging else None
        self._tuned: Mapping[str, Launch] | None = None
        self._prepared: dict[object, _Prepared] = {}
        self._chains: dict[object, _Chain] = {}
        self._passes: dict[object, tuple[Any, Groups, Any]] = {}
        self._kernels: dict[str, Any] = {}

    def forward(self, plan: LevelPlan, x: Any) -> Bands:
        if not self.device.owns(x):
            bands = self.forward(plan, self.device.upload(x))
            return {key: self.device.download(band) for key, band in bands.items()}
        x = self.device.as_contiguous(x)
        if x.dtype.kind == "c":
            return self._forward_parts(plan, x)
        if x.dtype.name in ("float32", "float16", "bfloat16") and plan.amplifies:
            # what is added to the few samples is so much larger that single precision would leave little of them
            wide = self.forward(plan, x.astype(np.float64))
            return {key: band.astype(x.dtype) for key, band in wide.items()}
        bands = {"": x}
        sweeps, keys = schedule_sweeps(plan, self.least_volume)
        for sweep in sweeps:
            swept: Bands = {}
            for key in list(bands):
                # popped, so that a band is freed as soon as it has been split further
                for letters, band in self._split(sweep, bands.pop(key)).items():
                    swept[key + letters] = band
            bands = swept
        return {key: bands[swept_key] for key, swept_key in keys.items()}

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Any:
        if not any(self.device.owns(band) for band in bands.values()):
            dtype = np.result_type(*bands.values())
            uploaded = {key: self.device.upload(band.astype(dtype, copy=False)) for key, band in bands.items()}
            return self.device.download(self.inverse(plan, uploaded))
        whole = self._fill_in(plan.band_shapes, bands)
        if next(iter(whole.values())).dtype.kind == "c":
            return self._inverse_parts(plan, whole)
        sweeps, keys = schedule_sweeps(plan, self.least_volume)
        current = {keys[key]: band for key, band in whole.items()}
        for sweep in reversed(sweeps):
            letters = sweep.letters
            merged: Bands = {}
            for key in dict.fromkeys(key[: -len(letters[0])] for key in current):
                merged[key] = self._merge(sweep, [current.pop(key + last) for last in letters])
            current = merged
        return current[""]

    def forward_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        if not self.device.owns(x):
            approximation, details = self.forward_all(plan, self.device.upload(x))
            return self.device.download(approximation), [
                {key: self.device.download(band) for key, band in bands.items()} for bands in details
            ]
        if not has_single_sweeps(plan, self.least_volume) or x.dtype.kind == "c":
            return super().forward_all(plan, x)
        x = self.device.as_contiguous(x)
        chain = self._find_chain(plan, "forward", x.dtype, self.device.is_aligned(x, _ALIGNMENT))
        # all memory is asked for at once, because on small images asking takes longest
        arrays = iter(self.device.allocate_all(chain.shapes, x.dtype))
        details = []
        for prepared, keys in zip(chain.sweeps, chain.keys, strict=True):
            bands = {key: next(arrays) for key in keys}
            self._launch(prepared, x, list(bands.values()))
            x = bands.pop(keys[0])
            details.append(bands)
        return x, details[::-1]

    def inverse_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Bands]) -> Any:
        if not self.device.owns(approximation):
            dtype = np.result_type(approximation, *(band for bands in details for band in bands.values()))
            uploaded = [
                {key: self.device.upload(band.astype(dtype, copy=False)) for key, band in bands.items()}
                for bands in details
            ]
            low = self.device.upload(approximation.astype(dtype, copy=False))
            return self.device.download(self.inverse_all(plan, low, uploaded))
        x, dtype = approximation, approximation.dtype
        given = [x, *(band for bands in details for band in bands.values())]
        is_plain = has_single_sweeps(plan, self.least_volume) and len(given) == 1 + sum(
            len(level.band_shapes) - 1 for level in plan.levels
        )
        if not is_plain or dtype.kind == "c" or any(array.dtype != dtype for array in given):
            return super().inverse_all(plan, approximation, details)
        is_aligned = all(self.device.is_aligned(array, _ALIGNMENT) for array in given)
        chain = self._find_chain(plan, "inverse", dtype, is_aligned)
        for prepared, keys, goal, bands in zip(
            chain.sweeps, chain.keys, self.device.allocate_all(chain.shapes, dtype), details, strict=True
        ):
            rows = [self.device.as_contiguous(band) for band in (x, *(bands[key] for key in keys[1:]))]
            self._launch(prepared, goal, rows)
            x = goal
        return x

    def _find_chain(self, plan: TransformPlan, direction: Direction, dtype: np.dtype[Any], is_aligned: bool) -> _Chain:
        """Return the sweeps of all levels, each of which is one, in the order in which they run."""
        key = (id(plan), direction, dtype, is_aligned, *self._overrides)
        chain = self._chains.get(key)
        if chain is None:
            sweeps: list[_Prepared] = []
            shapes: list[tuple[int, ...]] = []
            keys: list[tuple[str, ...]] = []
            is_forward = direction == "forward"
            for number, level in enumerate(plan.levels if is_forward else reversed(plan.levels)):
                (sweep,), _ = schedule_sweeps(level, self.least_volume)
                # what later levels read alone was allocated here, where arrays are aligned
                is_read_aligned = is_aligned or (is_forward and number > 0)
                sweeps.append(self._prepare(sweep, level.shape, dtype, direction, is_read_aligned))
                shapes.extend(level.band_shapes.values() if is_forward else [level.shape])
                keys.append(tuple(level.band_shapes))
            if len(self._chains) >= _MOST_CHAINS:
                self._chains.clear()
            chain = self._chains[key] = _Chain(plan, tuple(sweeps), tuple(shapes), tuple(keys))
        return chain

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        if not self.device.owns(x):
            bands = self.stationary_forward(plan, self.device.upload(x))
            return {key: self.device.download(band) for key, band in bands.items()}
        x = self.device.as_contiguous(x)
        if x.dtype.kind == "c":
            real = self.device.view(x, (*x.shape, 2), _real_dtype(x.dtype))
            bands = self.stationary_forward(_plan_stationary_parts(plan), real)
            return {key: self.device.view(band, x.shape, x.dtype) for key, band in bands.items()}
        bands = {"": x}
        for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
            split: Bands = {}
            for key in list(bands):
                whole = bands.pop(key)
                low, high = (self.device.allocate(x.shape, x.dtype) for _ in range(2))
                self._pass(axis_plan, axis, "forward", whole, low, high)
                split[key + "a"], split[key + "d"] = low, high
            bands = split
        return bands

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
        for axis, axis_plan in reversed(list(zip(plan.axes, plan.plans, strict=True))):
            merged: Bands = {}
            for key in dict.fromkeys(key[:-1] for key in current):
                merged[key] = self.device.allocate(plan.shape, dtype)
                self._pass(axis_plan, axis, "inverse", merged[key], current.pop(key + "a"), current.pop(key + "d"))
            current = merged
        return current[""]

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

    def _pass(self, plan: StationaryAxisPlan, axis: int, direction: Direction, x: Any, low: Any, high: Any) -> None:
        """Run one undecimated pass along one axis."""
        key = (plan, axis, x.shape, x.dtype, direction)
        found = self._passes.get(key)
        if found is None:
            found = self._passes[key] = self._make_pass(plan, axis, direction, x.shape, x.dtype)
        kernel, groups, table = found
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

    def _choose_launch(
        self,
        vertical: AxisProgram | None,
        horizontal: AxisProgram | None,
        size: int,
        direction: Direction,
        channels: int,
        *,
        is_interleaved: bool,
    ) -> Launch:
        """Return what was asked for, else what was measured on this device, else what usually serves."""
        if self.launch_override is not None:
            return self.launch_override
        if self._tuned is None:
            self._tuned = load_tuned(identify(self.device))
        # measured is what lies in planes
        tuned = None if is_interleaved or channels > 1 else self._tuned.get(classify(vertical, horizontal, size, direction))
        return tuned or choose_launch(
            self.device.dialect,
            vertical,
            horizontal,
            size,
            is_gpu=self.device.is_gpu,
            is_inverse=direction == "inverse",
            channels=channels,
            is_interleaved=is_interleaved,
        )

    def compile_kernel(self, source: str) -> Any:
        """Return the kernel of a text, compiled once."""
        kernel = self._kernels.get(source)
        if kernel is None:
            kernel = self._kernels[source] = self.device.compile(source)
        return kernel

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
        prepared = self._prepare(sweep, x.shape, x.dtype, "forward", self.device.is_aligned(x, _ALIGNMENT))
        bands = self.device.allocate_all(prepared.band_shapes, x.dtype)
        self._launch(prepared, x, bands)
        return dict(zip(sweep.letters, bands, strict=True))

    def _merge(self, sweep: Sweep, bands: Sequence[Any]) -> Any:
        shape = list(bands[0].shape)
        for axis, plan in zip(sweep.axes, sweep.plans, strict=True):
            shape[axis] = plan.length
        is_aligned = all(self.device.is_aligned(band, _ALIGNMENT) for band in bands)
        prepared = self._prepare(sweep, tuple(shape), bands[0].dtype, "inverse", is_aligned)
        x = self.device.allocate(tuple(shape), bands[0].dtype)
        self._launch(prepared, x, bands)
        return x

    def _launch(self, prepared: _Prepared, x: Any, bands: Sequence[Any]) -> None:
        if 0 in prepared.groups:
            return
        places = [bands[0]] * max(4, len(bands))  # a band that a sweep does not have is never touched
        for place, band in zip(prepared.places, bands, strict=True):
            places[place] = band
        self.device.launch(prepared.kernel, prepared.groups, prepared.block, (x, *places, *prepared.tables))

    @property
    def _overrides(self) -> tuple[object, ...]:
        """What a kernel depends on besides the plan."""
        return self.launch_override, self.volume_override, self.least_volume

    def _prepare(
        self, sweep: Sweep, shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction, is_aligned: bool
    ) -> _Prepared:
        key = (sweep, shape, dtype, direction, is_aligned, *self._overrides)
        prepared = self._prepared.get(key)
        if prepared is None:
            make = self._make_volume if len(sweep.axes) == 3 else self._make
            prepared = self._prepared[key] = make(sweep, shape, dtype, direction, is_aligned)
        return prepared

    def _make(
        self, sweep: Sweep, shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction, is_aligned: bool
    ) -> _Prepared:
        layout = lay_out(sweep, shape)
        if max(layout.height, layout.width) >= _LONGEST:
            raise DeviceError(
                f"axis of {max(layout.height, layout.width)} samples: kernels count to {_LONGEST}; use engine='cpu'"
            )
        vertical, horizontal = orient(sweep, shape)
        storage = STORAGES[dtype.name]
        make_program = forward_program if direction == "forward" else inverse_program
        programs = [None if plan is None else make_program(plan) for plan in (vertical, horizontal)]
        channels = layout.inner if layout.inner <= _MOST_CHANNELS else 1
        launch = self._choose_launch(
            programs[0], programs[1], storage.size, direction, channels, is_interleaved=layout.inner > channels
        )
        spec = SweepSpec(
            direction,
            programs[0],
            programs[1],
            storage.name,
            storage.name,
            launch.pairs,
            is_aligned and can_align(layout, programs, sweep.plans, launch.pairs, direction),
            channels,
            layout.inner > channels,
            "index" if direction == "inverse" or all(map(repeats_samples, sweep.plans)) else "mix",
            launch.ahead if self.device.dialect.is_staging else 0,
            launch.block,
            layout.height * layout.width * layout.inner >= 1 << 30,
            launch.is_split,
        )
        kernel = self.compile_kernel(render_sweep(spec, self.device.dialect))
        resident = self.device.count_resident(kernel, launch.block)
        table, weights, groups = tabulate(layout, vertical, horizontal, spec, launch, resident)
        number = np.dtype({"float": "f4", "double": "f8", "int": "i4", "wide_t": "i8"}[storage.number])
        return _Prepared(
            kernel,
            groups,
            launch.block,
            (self.device.upload_table(table), self.device.upload_table(weights.astype(number))),
            list_band_shapes(sweep, shape),
            (0, 1, 2, 3) if len(sweep.axes) == 2 else (0, 1) if horizontal is not None else (0, 2),
        )

    def _make_volume(
        self, sweep: Sweep, shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction, is_aligned: bool
    ) -> _Prepared:
        storage = STORAGES[dtype.name]
        make_program = forward_program if direction == "forward" else inverse_program
        programs = [make_program(plan, is_lifting=True) for plan in sweep.plans]
        launch = self.volume_override or choose_volume_launch(
            self.device.dialect, programs[0], programs[1], programs[2], storage.size
        )
        spec = VolumeSpec(
            direction,
            programs[0],
            programs[1],
            programs[2],
            storage.name,
            launch.groups,
            launch.rows,
            launch.pairs,
            launch.ahead,
            is_aligned and can_align(lay_out(sweep, shape), programs[1:], sweep.plans, launch.pairs, direction),
            launch.is_whole_sectors,
            launch.resident,
            launch.unroll,
        )
        kernel = self.compile_kernel(render_volume(spec, self.device.dialect))
        resident = self.device.count_resident(kernel, launch.groups) // launch.groups
        table, told, groups = tabulate_volume(sweep, shape, spec, launch, resident)
        return _Prepared(
            kernel,
            groups,
            launch.groups,
            (self.device.upload_table(table), *map(np.int32, told)),
            list_band_shapes(sweep, shape),
            tuple(range(8)),
        )


def _plan_parts(plan: LevelPlan) -> LevelPlan:
    """Return the plan of the real and imaginary parts, interleaved along a new last axis."""
    return LevelPlan((*plan.shape, 2), plan.axes, plan.plans)


def _plan_stationary_parts(plan: StationaryPlan) -> StationaryPlan:
    return StationaryPlan((*plan.shape, 2), plan.axes, plan.plans)


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)

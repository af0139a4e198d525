"""From a sweep to a kernel that is ready to run: the text, how it is launched, and its tables.

Each is made once for arrays of one shape and dtype, and kept as long as it is among those used last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from subband.engines.abilities import repeats_samples
from subband.engines.device import Device, Groups
from subband.engines.layout import (
    can_align,
    can_cascade,
    count_mixtures,
    is_uniform_volume,
    mirrors_samples,
    misses_samples,
    tabulate,
    tabulate_cascade,
    tabulate_volume,
)
from subband.engines.recent import Recent
from subband.engines.tuned import classify, classify_cascade, identify, load_tuned
from subband.errors import DeviceError
from subband.kernels.cascade import CascadeSpec, render_cascade
from subband.kernels.dialects import LANES
from subband.kernels.launch import (
    WIDE,
    Launch,
    VolumeLaunch,
    choose_cascade_launch,
    choose_launch,
    choose_volume_launch,
)
from subband.kernels.mixing import render_mixing
from subband.kernels.numbers import STORAGES
from subband.kernels.sweep import Outside, SweepSpec, render_sweep
from subband.kernels.volume import VolumeSpec, count_handed, render_volume
from subband.schedule.axis import AxisProgram, axis_program, find_mixture
from subband.schedule.sweeps import Sweep
from subband.typing import Array, Direction

__all__ = ["Mixing", "Preparation", "Prepared"]

#: Kernels count rows and columns in 32 bits, and some more than there are.
_LONGEST = 1 << 30

#: Sweeps over arrays of one shape, and kernels, that are kept.
_MOST_PREPARED, _MOST_KERNELS = 1024, 1024

#: Channels up to which a lane holds whole pixels; of more, each is an image of its own.
_MOST_CHANNELS = 4


#: Groups of lanes in a block that makes mixtures.
_MIXING_BLOCK = 8


@dataclass(frozen=True)
class Mixing:
    """A kernel that makes what a sweep reads near the ends of an adjoint, from the same arrays and tables.

    Attributes
    ----------
    kernel, groups, block
        As those of `Prepared`.
    size : int
        Elements of the array that it writes, which is of the dtype of the others and may hold wider numbers.
    """

    kernel: Any
    groups: Groups
    block: int
    size: int


@dataclass(frozen=True)
class Prepared:
    """A kernel with its tables, for arrays of one shape and dtype.

    Attributes
    ----------
    kernel : object
        What `Device.compile` returned.
    groups, block
        As `Device.launch` takes them.
    tables : tuple
        What the kernel is told besides samples and bands.
    band_shapes : tuple
        In the order of the sweep's letters.
    positions : tuple of int
        Which of the kernel's bands each band is.
    mixing : Mixing or None
        What runs before it.
    """

    kernel: Any
    groups: Groups
    block: int
    tables: tuple[Any, ...]
    band_shapes: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]
    mixing: Mixing | None = None


class Preparation:
    """The kernels of a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        #: Launch parameters for all kernels prepared from now on, instead of those from the table.
        self.launch_override: Launch | None = None
        #: The same for those of volumes.
        self.volume_override: VolumeLaunch | None = None
        #: The same for those of two levels.
        self.cascade_override: Launch | None = None
        self._cascades = Recent[tuple[Prepared | None]](_MOST_PREPARED, device.is_recording)
        self._tuned: Mapping[str, Launch] | None = None
        self._prepared = Recent[Prepared](_MOST_PREPARED, device.is_recording)
        self._kernels = Recent[Any](_MOST_KERNELS, device.is_recording, is_released=False)

    @property
    def overrides(self) -> tuple[Launch | None, VolumeLaunch | None, Launch | None]:
        """What kernels prepared now depend on besides their sweep."""
        return self.launch_override, self.volume_override, self.cascade_override

    def forget(self) -> None:
        """Prepare everything anew from now on, but for what is compiled."""
        self._prepared.clear()
        self._cascades.clear()

    def compile(self, source: str, local: int = 0, resident: int = 0) -> Any:
        """Return the kernel of a text, compiled once; see `Device.compile`."""
        return self._kernels.find((source, resident), lambda: self.device.compile(source, local, resident))

    def prepare(
        self,
        sweep: Sweep,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        direction: Direction,
        is_aligned: bool,
        samples: str | None = None,
    ) -> Prepared:
        """Return the kernel of a sweep over arrays of one shape.

        `is_aligned` if they begin at whole pieces; `samples` if these are stored as another of `STORAGES` than bands.
        """
        key = (sweep, shape, dtype, direction, is_aligned, samples, *self.overrides)
        if len(sweep.axes) == 3:
            return self._prepared.find(key, lambda: self._make_volume(sweep, shape, dtype, direction, is_aligned))
        return self._prepared.find(key, lambda: self._make(sweep, shape, dtype, direction, is_aligned, samples))

    def _make(
        self,
        sweep: Sweep,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        direction: Direction,
        is_aligned: bool,
        samples: str | None,
    ) -> Prepared:
        layout = sweep.lay_out(shape)
        longest = max(layout.height, layout.width, layout.outer * layout.inner)
        if longest >= _LONGEST:
            raise DeviceError(
                f"an array of shape {shape} has {longest} samples or images in a row, and kernels count to {_LONGEST}; "
                "use engine='cpu'"
            )
        vertical, horizontal = sweep.orient(shape)
        storage = STORAGES[dtype.name]
        programs = [
            None if plan is None else axis_program(plan, direction, sweep.form) for plan in (vertical, horizontal)
        ]
        channels = layout.inner if 1 <= layout.inner <= _MOST_CHANNELS else 1
        launch = self._choose_launch(
            programs[0], programs[1], storage.size, direction, channels, is_interleaved=layout.inner > channels
        ).fit(storage.size * channels)
        # bands of long filters are larger than the few samples that they are made from
        height = max(layout.height, vertical.low if vertical else 0)
        width = max(layout.width, horizontal.low if horizontal else 0)
        outside = _find_outside(sweep, direction)
        # there may be three times as many mixtures as samples
        most = 1 << (28 if outside == "terms" else 30)
        spec = SweepSpec(
            direction,
            programs[0],
            programs[1],
            samples or storage.name,
            storage.name,
            launch.pairs,
            is_aligned and can_align(layout, programs, sweep.plans, launch.pairs, direction, channels),
            channels,
            layout.inner > channels,
            outside,
            launch.ahead if self.device.dialect.is_staging else 0,
            launch.block,
            height * width * layout.inner >= most,
            launch.is_split,
        )
        kernel = self.compile(render_sweep(spec, self.device.dialect))
        resident = self.device.count_resident(kernel, launch.block)
        table, weights, groups = tabulate(layout, vertical, horizontal, spec, launch, resident)
        number = np.dtype({"float": "f4", "double": "f8", "int": "i4", "wide_t": "i8"}[storage.number])
        return Prepared(
            kernel,
            groups,
            launch.block,
            (self.device.upload_table(table), self.device.upload_table(weights.astype(number))),
            sweep.list_band_shapes(shape),
            (0, 1, 2, 3) if len(sweep.axes) == 2 else (0, 1) if horizontal is not None else (0, 2),
            self._make_mixing(spec, table, groups[2], number.itemsize // dtype.itemsize) if spec.mixes else None,
        )

    def prepare_cascade(
        self, sweeps: tuple[Sweep, ...], shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction
    ) -> Prepared | None:
        """Return the kernel of one level or two, the fine one first, over aligned arrays; None if it does not suit."""
        if not (dtype.kind == "f" or dtype.name == "bfloat16"):
            return None
        key = (sweeps, shape, dtype, direction, *self.overrides)
        found = self._cascades.find(key, lambda: (self._make_cascade(sweeps, shape, dtype, direction),))
        return found[0]

    def _make_cascade(
        self, sweeps: tuple[Sweep, ...], shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction
    ) -> Prepared | None:
        dialect, storage = self.device.dialect, STORAGES[dtype.name]
        fine = sweeps[0]
        layout = fine.lay_out(shape)
        candidates = self._list_cascade_launches(sweeps, shape, storage.size, direction)
        # lanes that hold more than an image is wide suit only wider ones
        suiting = (each for each in candidates if can_cascade(sweeps, shape, direction, each.pairs, storage.size))
        if (launch := next(suiting, None)) is None:
            return None
        vertical, horizontal = (axis_program(plan, direction, fine.form) for plan in fine.plans)
        spec = CascadeSpec(
            direction,
            vertical,
            horizontal,
            storage.name,
            storage.name,
            launch.pairs,
            launch.ahead,
            launch.block,
            layout.inner,
            len(sweeps),
        )
        while spec.count_handed(dialect) > self.device.local_memory:
            spec = replace(spec, block=spec.block // 2)
        kernel = self.compile(render_cascade(spec, dialect), spec.count_handed(dialect), launch.resident)
        told, groups = tabulate_cascade(layout, spec, launch, self.device.count_resident(kernel, spec.block))
        return Prepared(kernel, groups, spec.block, tuple(map(np.int32, told)), (), ())

    def _make_mixing(self, spec: SweepSpec, table: Array, images: int, words: int) -> Mixing:
        """Return the kernel of the mixtures of a sweep, whose numbers take so many elements each."""
        kernel = self.compile(render_mixing(spec, self.device.dialect))
        # there may be none that single precision can tell from what they replace
        count, images = max(1, count_mixtures(table, spec)), max(1, images)
        return Mixing(kernel, (-(-count // (LANES * images)), 1, images), _MIXING_BLOCK, count * words)

    def _make_volume(
        self, sweep: Sweep, shape: tuple[int, ...], dtype: np.dtype[Any], direction: Direction, is_aligned: bool
    ) -> Prepared:
        storage, dialect = STORAGES[dtype.name], self.device.dialect
        programs, across = sweep.list_programs(direction), sweep.plans[2]
        has_zeros = misses_samples(sweep, programs, direction)
        mirrors = is_aligned and not has_zeros and mirrors_samples(across, programs[2], direction)

        def aligns(pairs: int) -> bool:
            return is_aligned and can_align(sweep.lay_out(shape), programs[1:], sweep.plans, pairs, direction)

        def mirrors_all(pairs: int) -> bool:
            return mirrors and aligns(pairs) and across.pairs >= LANES * pairs

        launch = self.volume_override or choose_volume_launch(
            dialect,
            programs[0],
            programs[1],
            storage.size,
            sweep.plans[1].pairs,
            is_inverse=direction == "inverse",
            is_mirrored=mirrors_all(WIDE),
            local_memory=self.device.local_memory,
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
            aligns(launch.pairs),
            launch.is_whole_sectors,
            launch.resident,
            launch.unroll,
            is_uniform_volume(sweep, direction),
            has_zeros,
            mirrors_all(launch.pairs),
        )
        kernel = self.compile(render_volume(spec, dialect), count_handed(spec, dialect))
        resident = self.device.count_resident(kernel, launch.groups) // launch.groups
        table, told, groups = tabulate_volume(sweep, shape, spec, launch, resident)
        return Prepared(
            kernel,
            groups,
            launch.groups,
            (self.device.upload_table(table), *map(np.int32, told)),
            sweep.list_band_shapes(shape),
            tuple(range(8)),
        )

    def _find_tuned(self, kernels: str) -> Launch | None:
        """Return the launch parameters measured for a class of kernels on this device."""
        if self._tuned is None:
            self._tuned = load_tuned(identify(self.device))
        return self._tuned.get(kernels)

    def _list_cascade_launches(
        self, sweeps: tuple[Sweep, ...], shape: tuple[int, ...], size: int, direction: Direction
    ) -> Iterator[Launch]:
        """Yield the launch parameters that were set; else those tuned for this device, then the default."""
        if self.cascade_override is not None:
            yield self.cascade_override
            return
        fine, elements = sweeps[0], prod(shape)
        channels = fine.lay_out(shape).inner
        if len(fine.axes) == 2:
            vertical, horizontal = (axis_program(plan, direction, fine.form) for plan in fine.plans)
            tuned = self._find_tuned(
                classify_cascade(
                    vertical,
                    horizontal,
                    size,
                    direction,
                    levels=len(sweeps),
                    channels=channels,
                    elements=elements,
                )
            )
            if tuned is not None:
                yield tuned
        yield choose_cascade_launch(
            self.device.dialect,
            size,
            elements,
            is_inverse=direction == "inverse",
            channels=channels,
            levels=len(sweeps),
        )

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
        """Return the launch parameters that were set, else those tuned for this device, else the default."""
        if self.launch_override is not None:
            return self.launch_override
        # measured is what lies in planes, or in whole pixels
        kernels = None if is_interleaved else classify(vertical, horizontal, size, direction, channels)
        tuned = None if kernels is None else self._find_tuned(kernels)
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


def _find_outside(sweep: Sweep, direction: Direction) -> Outside:
    """Return what the kernel of a sweep has to know of what lies outside."""
    if any(find_mixture(plan, direction) is not None for plan in sweep.plans):
        return "terms"
    return "index" if direction == "inverse" or all(map(repeats_samples, sweep.plans)) else "mix"

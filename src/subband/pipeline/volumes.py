"""Volumes through an `Enhancer`, along all three axes, also where they are larger than memory.

A volume that fits is enhanced in one piece. Another is cut into blocks of slices, each computed with as many slices
before and behind as can have a say in it (`subband.enhance.blockwise`), so that the result is that of the whole volume
up to rounding. What has to be known about the whole is found out beforehand, by reading the volume again:

* the **noise**, if it is not given: measured in smooth cells of the finest coefficients, as everywhere else. The
  largest energy of these is found first; and then, reading once more, they are counted in the bins of the whole;
* the **brightest voxel**, for speckle in floating point, whose floor depends on it.

Some ways to denoise look at all coefficients of a band before the first is changed: the methods ``'bayes'``, ``'sure'``
and ``'neigh'``; and some borders join the last slice to the first. They need the whole volume; where it does not fit,
an error says so.

A file of several volumes, such as times or channels, is done one after the other (`SourceInfo.groups`): nothing is
filtered across them, and each has its own noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np

from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.enhance.blockwise import (
    COPIES,
    Reach,
    cut_blocks,
    find_obstacle,
    fit_to_part,
    gather_blocks,
    measure_reach,
    measure_volume_noise,
)
from subband.enhance.enhancer import Enhancer
from subband.enhance.methods import DecidingMethod, find_method, list_methods
from subband.enhance.models import Speckle
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.stages import Denoise, Shrink, Stage
from subband.errors import ArgumentError
from subband.media.base import Frame, Source, SourceInfo
from subband.media.volumes import VolumeSource
from subband.typing import Array

__all__ = ["Reopen", "VolumeWork", "choose_memory"]

#: Opens a volume from its beginning.
Reopen: TypeAlias = Callable[[], AbstractContextManager[Source]]

# Used where the operating system does not say how much memory there is.
_SOME_MEMORY = 2 * 2**30
_MEMORY_FILE = Path("/proc/meminfo")


def choose_memory(memory: int | None = None) -> int:
    """Return how many bytes a volume may take: what is given, or half of what is free now.

    Raises
    ------
    ArgumentError
        If it is not a positive number.

    Examples
    --------
    >>> choose_memory(1000)
    1000
    >>> choose_memory() > 2**20
    True
    """
    if memory is not None:
        if memory <= 0:
            raise ArgumentError(f"memory={memory} is not a number of bytes; use 1 or more")
        return memory
    try:
        # What the system can hand out, which is more than what lies idle: it also caches files.
        known = dict(line.split(":", 1) for line in _MEMORY_FILE.read_text().splitlines())
        return int(known["MemAvailable"].split()[0]) * 1024 // 2
    except (OSError, LookupError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return _SOME_MEMORY


class VolumeWork:
    """An enhancer made ready for the slices of a volume.

    Parameters
    ----------
    info : SourceInfo
        Of the volume; its count of slices must be known, or all are read first.
    enhancer : Enhancer
        What is to be done.
    engine : str, optional
        The engine that computes.
    memory : int, optional
        Bytes that may be taken; see `choose_memory`.
    nonfinite : {"refuse", "mask"}
        What is done with NaN and infinities, as in `Enhancer.apply`; they are masked in volumes that fit into memory.
    reopen : callable, optional
        Opens the volume again; from ``info.origin`` if left out.

    Raises
    ------
    ArgumentError
        If the volume does not fit into memory and the enhancer needs it in one piece, or if the blocks do not fit.

    Examples
    --------
    >>> from subband.enhance import Denoise
    >>> volume = np.random.default_rng(0).normal(100, 10, (40, 24, 16)).astype(np.float32)
    >>> info = SourceInfo("volume", (24, 16), volume.dtype, "grey", count=40)
    >>> enhancer = Enhancer(Denoise(level=1), sigma=10.0)
    >>> in_one = list(VolumeWork(info, enhancer)(iter(volume)))
    >>> in_blocks = list(VolumeWork(info, enhancer, memory=500_000)(iter(volume)))
    >>> bool(np.abs(np.stack(in_one) - np.stack(in_blocks)).max() < 1e-3)
    True
    """

    def __init__(
        self,
        info: SourceInfo,
        enhancer: Enhancer,
        *,
        engine: str | Engine | None = None,
        memory: int | None = None,
        nonfinite: str = "refuse",
        reopen: Reopen | None = None,
    ) -> None:
        self.info = info
        self.enhancer = enhancer
        self.engine = get_engine(engine)
        self._memory = choose_memory(memory)
        self._nonfinite = nonfinite
        self._reopen = reopen
        depth = (info.count or 0) // info.groups
        self.space = (depth, *info.shape[:2])
        levels = [self._find_level(stage, self.space) for stage in enhancer.stages] if depth else []
        self._slice_bytes = self._measure_slice(levels)
        self.is_whole = depth == 0 or depth * self._slice_bytes <= self._memory
        if self.is_whole:
            return
        self._refuse_obstacles()
        # measured noise and the floor of speckle follow when the volume is walked through
        self._resolved = replace(enhancer, stages=self._fix_levels(levels))
        model = enhancer.model
        is_refined = model.stabilised_sigma != model.refined_sigma
        reach = Reach(0, 0)
        for stage, (level, second) in zip(enhancer.stages, levels, strict=True):
            reach += measure_reach(stage, max(level, second), is_refined)
        self.reach = reach
        self._fewest = self._find_fewest(levels)
        self.core = self._choose_core()

    def __call__(self, slices: Iterator[Array]) -> Iterator[Array]:
        """Return the enhanced slices of a volume, or of one volume after the other, given their slices."""
        if self.info.groups == 1:
            yield from self._enhance(slices, 0)
            return
        for group in range(self.info.groups):
            yield from self._enhance(islice(slices, self.space[0]), group)

    def _enhance(self, slices: Iterator[Array], group: int) -> Iterator[Array]:
        if self.is_whole:
            volume = np.stack(list(slices))
            yield from self._apply(self.enhancer, volume)
            return
        enhancer = self._learn(group)
        for block, begin, end in gather_blocks(slices, cut_blocks(self.space[0], self.core, self.reach, self._fewest)):
            result = self._apply(fit_to_part(enhancer, prod(self.space), len(block) * prod(self.space[1:])), block)
            yield from (each.copy() for each in result[begin:end])

    def _apply(self, enhancer: Enhancer, volume: Array) -> Array:
        channel_axis = 3 if volume.ndim == 4 else None
        result: Array = enhancer.apply(
            volume, axes=(0, 1, 2), channel_axis=channel_axis, nonfinite=self._nonfinite, engine=self.engine
        )
        return result

    def _measure_slice(self, levels: list[tuple[int, int]]) -> int:
        """Return about how many bytes a slice takes while it is computed."""
        copies = COPIES
        for stage, (first, second) in zip(self.enhancer.stages, levels, strict=False):
            if second or (isinstance(stage, Denoise | Shrink) and stage.form == "undecimated"):
                # without decimation, all seven bands of details of each level are as large as the volume
                bands = 7 * max(first, second) + 1
                copies = max(copies, COPIES + bands * (2 if second else 1))
            if isinstance(stage, Denoise | Shrink) and stage.form == "dual-tree":
                # two trees along each axis: folded, of the first level, and its complex bands
                copies = max(copies, COPIES + 3 * 8)
        wide = 8 if self.info.dtype.itemsize > 4 else 4
        return prod(self.info.shape) * (3 * self.info.dtype.itemsize + copies * wide)

    def _find_level(self, stage: Stage, space: tuple[int, ...]) -> tuple[int, int]:
        """Return the levels of a stage, and of the second round trip that some methods have."""
        if not isinstance(stage, Denoise | Shrink):
            return 0, 0
        filters = find_filters(self.engine)
        first = Roundtrip(stage, (1, *space), self.engine, filters).level
        method = find_method(stage.method) if isinstance(stage, Denoise) else None
        if method is None or not method.is_guide or method.list_passes(len(space)) or first == 0:
            return first, 0
        second = replace(stage, wavelet="haar", form="undecimated", boundary=None)
        return first, Roundtrip(second, (1, *space), self.engine, filters).level

    def _fix_levels(self, levels: list[tuple[int, int]]) -> tuple[Stage, ...]:
        """Return the stages with the levels that the whole volume has, unless a stage has two numbers of them."""
        return tuple(
            replace(stage, level=first) if isinstance(stage, Denoise) and second in (0, first) else stage
            for stage, (first, second) in zip(self.enhancer.stages, levels, strict=True)
        )

    def _find_fewest(self, levels: list[tuple[int, int]]) -> int:
        """Return how many slices a block must have, so that stages choose the levels of the whole volume."""
        fewest = min(2, self.space[0])
        for stage, own in zip(self._resolved.stages, levels, strict=True):
            while fewest < self.space[0] and self._try_level(stage, fewest) != own:
                fewest += max(1, fewest // 8)
        return min(fewest, self.space[0])

    def _try_level(self, stage: Stage, depth: int) -> tuple[int, int] | None:
        try:
            return self._find_level(stage, (depth, *self.space[1:]))
        except ArgumentError:
            return None

    def _refuse_obstacles(self) -> None:
        need = (
            f"this volume of {' × '.join(map(str, self.space))} needs {self._format_memory(self.space[0])} in one piece"
        )
        limit = f"and {self._memory / 2**30:.3g} GiB may be taken"
        if self._nonfinite == "mask":
            raise ArgumentError(
                f"nonfinite='mask' looks at all voxels around a gap, and {need}, {limit}; allow more memory, or write "
                "Zarr, which goes chunk by chunk"
            )
        model = self.enhancer.model
        if model.needs_image or not model.is_pointwise:
            raise ArgumentError(
                f"noise {model.name!r} is looked for in all slices together, and {need}, {limit}; name another model, "
                "or allow more memory"
            )
        for stage in self.enhancer.stages:
            if obstacle := find_obstacle(stage):
                raise ArgumentError(
                    f"{obstacle}, and {need}, {limit}; use method {self._list_local_methods()} in its usual form, "
                    "with the usual boundary, or allow more memory"
                )
        if not self._measures_noise:
            return
        measuring = [stage for stage in self.enhancer.stages if isinstance(stage, Denoise)]
        if len(measuring) > 1 or self.info.is_colour or measuring[0].form == "undecimated":
            raise ArgumentError(
                f"noise cannot be measured beforehand for {self.enhancer}, and {need}, {limit}; give sigma, or allow "
                "more memory"
            )

    @staticmethod
    def _list_local_methods() -> str:
        """Name the methods that decide by the neighbourhood of a coefficient."""
        names = [repr(method.name) for method in list_methods() if not isinstance(method, DecidingMethod)]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    @property
    def _measures_noise(self) -> bool:
        is_needed = any(isinstance(stage, Denoise) for stage in self.enhancer.stages)
        return is_needed and self.enhancer.sigma is None and self.enhancer.model.stabilised_sigma is None

    @property
    def _needs_floor(self) -> bool:
        model = self.enhancer.model
        is_integer = self.info.dtype in (np.uint8, np.uint16)
        return isinstance(model, Speckle) and model.floor is None and not is_integer

    def _choose_core(self) -> int:
        step = self.reach.step
        around = max(self.reach.before + self.reach.behind + step, self._fewest)
        core = (self._memory // self._slice_bytes - around) // step * step
        if core < step:
            raise ArgumentError(
                f"a block of this volume needs {around + step} slices of {self.info.shape[1]} × {self.info.shape[0]}, "
                f"{self._format_memory(around + step)}, and {self._memory / 2**30:.3g} GiB may be taken; allow more "
                "memory, or use fewer levels"
            )
        return core

    def _format_memory(self, slices: int) -> str:
        return f"{slices * self._slice_bytes / 2**30:.3g} GiB"

    def _learn(self, group: int) -> Enhancer:
        """Return the enhancer with all that has to be known about a whole volume."""
        enhancer = self._resolved
        if self._needs_floor:
            with self._open_again() as source:
                brightest = max(float(frame.pixels.max()) for frame in self._walk_group(source, group))
            model = enhancer.model
            assert isinstance(model, Speckle)
            floor = model.choose_floor(np.array([brightest], np.float32))
            enhancer = replace(enhancer, noise=replace(model, floor=floor))
        if self._measures_noise:
            index = next(index for index, stage in enumerate(enhancer.stages) if isinstance(stage, Denoise))
            stage = enhancer.stages[index]
            assert isinstance(stage, Denoise)
            sigma = measure_volume_noise(
                lambda: self._walk_before(enhancer, index, group), self.space, stage, self._memory, engine=self.engine
            )
            enhancer = replace(enhancer, sigma=sigma)
        return enhancer

    def _walk_group(self, source: Source, group: int) -> Iterator[Frame]:
        """Walk through one of the volumes of a source."""
        first, last = group * self.space[0], (group + 1) * self.space[0]
        return source.walk(first, last) if isinstance(source, VolumeSource) else islice(source, first, last)

    def _walk_before(self, enhancer: Enhancer, index: int, group: int) -> Iterator[Array]:
        """Yield the slices of a volume as the stage at an index gets them."""
        with self._open_again() as source:
            slices = (frame.pixels for frame in self._walk_group(source, group))
            if index == 0:
                yield from slices
                return
            info = replace(self.info, dtype=np.dtype(np.float32), count=self.space[0], groups=1)
            floats = (each.astype(np.float32) for each in slices)
            before = replace(enhancer, stages=enhancer.stages[:index])
            yield from VolumeWork(info, before, engine=self.engine, memory=self._memory)(floats)

    def _open_again(self) -> AbstractContextManager[Source]:
        if self._reopen is not None:
            return self._reopen()
        if self.info.origin is None:
            raise ArgumentError(
                "the noise of this volume has to be measured beforehand, and it cannot be read twice; give sigma"
            )
        from subband.media import open_source

        dataset = self.info.metadata.get("dataset") if self.info.container in ("hdf5", "npz") else None
        name = self.info.origin if dataset is None else f"{self.info.origin}:{dataset}"
        return open_source(name, series=self.info.metadata.get("series"))

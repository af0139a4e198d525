"""Calibration of the performance model: transforms of images of several sizes, and the rates fitted to their times.

None of the sizes is that of a case, and of the wavelets Haar's alone is: the model has to carry what it learns here
over to others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from subband.bench.model.device import DeviceModel, Overhead, Path, Transfers, Way, Work
from subband.bench.model.prediction import predict_stages
from subband.bench.model.stages import Arithmetic, list_stages
from subband.engines.abilities import CPU
from subband.engines.measuring.harness import Harness, Replay, draw_on_host, plan_array
from subband.engines.threads import get_threads
from subband.plan import TransformPlan, transform_plan
from subband.schedule import Abilities
from subband.typing import Array, Direction
from subband.wavelets import as_wavelet

__all__ = ["DEVICE_SIDES", "HOST_SIDES", "Calibration", "find_abilities", "plan_sweeps", "record_call"]

#: Sides of the images: from what is done before it has begun to what no cache holds. On the CPU a second thread is
#: woken between 496 and 504, and larger ones are cut into parts that two threads share evenly.
HOST_SIDES = (32, 96, 256, 496, 504, 736, 1536, 4096)
DEVICE_SIDES = (32, 96, 192, 384, 768, 1536, 3072, 6144)

_PLAINEST = "haar"
# What takes longer than the plainest wavelet does so by its arithmetic. Devices lift biorthogonal wavelets alone.
_HEAVIER: dict[Arithmetic, str] = {"lifting": "sym5", "filters": "sym14"}
_HEAVIER_ON_DEVICE: dict[Arithmetic, str] = {"lifting": "bior2.4", "filters": "sym14"}
_HEAVIER_VOLUME = "bior2.4"
_KINDS: dict[Work, str] = {"plain": "haar", "lifting": "sym5", "filters": "sym14"}
_DIRECTIONS: tuple[Direction, ...] = ("forward", "inverse")
# Nothing to compute: what remains is the asking. The longer filters need more room for the deeper level.
_TINY = {"haar": 32, "sym14": 64}
_PATHS: dict[Path, str] = {"chain": "haar", "sweeps": "sym14"}
_LEVELS = (1, 3)
# Calls in one record.
_REPEATS = 8
_TRANSFERRED = tuple(4**exponent for exponent in (6, 8, 10, 11, 12, 13))
# As many samples in rows of two lengths, for one thread: what differs is how many rows there are.
_SQUARE, _TALL = (312, 312), (1014, 96)
# Numbers by which what is copied begins later: where source and goal lie within their pages makes the memory copy of
# some processors ten times as slow, and transforms are not subject to it.
_OFFSETS = (0, 16, 256, 528)
# From so many bytes on copies pass by the caches, wherever they begin.
_LARGE = 2**24
# Short rows make no more of a difference than this.
_MOST_ROWS = 2.5
# However fast a part is, it takes some of the time.
_LEAST_SHARE = 0.02


class Calibration:
    """The measurements that calibrate a device.

    Parameters
    ----------
    bench : Harness
        Of the engine.
    sides : sequence of int, optional
        Of the images.

    Attributes
    ----------
    calls : dict
        What is to be timed, by name.
    """

    def __init__(self, bench: Harness, sides: Sequence[int] | None = None) -> None:
        self._bench = bench
        self._sides = sides or (DEVICE_SIDES if bench.is_device else HOST_SIDES)
        self._transferred = [size for size in _TRANSFERRED if size <= 4 * max(self._sides) ** 2]
        # where pauses between recorded calls are told from the calls themselves
        self._middle = self._sides[len(self._sides) // 2]
        self._abilities = find_abilities(bench)
        self._plans = {side: plan_sweeps(side, self._abilities) for side in self._sides}
        self._kinds: list[Arithmetic] = ["lifting", "filters"]
        self._axes = {1: ("down", "along"), 2: ("both",)}
        if _find_least_volume(self._abilities) is not None:
            self._kinds.append("volumes")
            self._axes[3] = ("all",)
        self.calls: dict[str, Callable[[], Any]] = {}
        for wavelet, level, direction in product(_TINY, _LEVELS, _DIRECTIONS):
            call = bench.prepare(self._plan_tiny(wavelet, level), direction)
            self.calls[f"{wavelet} {level} {direction} asked"] = call
            if (replay := record_call(bench, call, _REPEATS)) is not None:
                self.calls[f"{wavelet} {level} {direction}"] = replay
        self._is_recorded = f"{_PLAINEST} 1 forward" in self.calls
        # a record is launched in more time than a device takes for little work, so that it holds the work many times
        self._repeats = _REPEATS if self._is_recorded else 1
        for side in self._sides:
            for offset in _OFFSETS if not bench.is_device and 4 * side**2 < _LARGE else (0,):
                # a part of a larger array, so that it begins where it is to
                samples = bench.draw((side**2 + max(_OFFSETS),)) if not bench.is_device else bench.draw((side**2,))
                self.calls[f"copy {side} {offset}"] = bench.prepare_copy(samples[offset : offset + side**2])
            for direction, (name, plan) in product(_DIRECTIONS, self._plans[side].items()):
                call = bench.prepare(plan, direction)
                self.calls[f"{name} {side} {direction}"] = self._repeat(call)
        if self._is_recorded:
            self._prepare_graphs()
        if bench.is_device:
            self._prepare_transfers(bench.engine.device)
            return
        for shape, direction, (name, wavelet) in product((_SQUARE, _TALL), _DIRECTIONS, _KINDS.items()):
            self.calls[f"rows {name} {shape[1]} {direction}"] = bench.prepare(plan_array(shape, wavelet, 1), direction)

    def _repeat(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return the call as often as a record holds it, recorded if that can be."""
        replay = record_call(self._bench, call, self._repeats) if self._is_recorded else None
        return replay or partial(_call_often, call, self._repeats)

    def _prepare_graphs(self) -> None:
        for direction, side in product(_DIRECTIONS, (_TINY[_PLAINEST], self._middle)):
            call = self._bench.prepare(plan_array((side, side), _PLAINEST, 1), direction)
            self.calls[f"graph {side} {direction}"] = record_call(self._bench, call) or call

    def _prepare_transfers(self, device: Any) -> None:
        for size in self._transferred:
            here = draw_on_host((size // 4,), "float32", 0)
            there = device.upload(here)
            self.calls[f"download {size}"] = partial(device.download, there)
            # and back, because an upload may go on when the call is over
            self.calls[f"trip {size}"] = partial(_send_and_fetch, device, here)

    def conclude(self, best: Mapping[str, float], name: str) -> DeviceModel:
        """Fit the model of a device to its measurements.

        Parameters
        ----------
        best : mapping
            The least seconds of each of `calls`.
        name : str
            What the device is called.
        """
        sizes = [4.0 * side**2 for side in self._sides]
        copies = [
            2 * size / min(seconds for call, seconds in best.items() if call.startswith(f"copy {side} "))
            for side, size in zip(self._sides, sizes, strict=True)
        ]
        ways = {direction: self._find_plain_way(best, direction) for direction in _DIRECTIONS}
        plain = DeviceModel(name, sizes, copies, ways, threads=1 if self._bench.is_device else get_threads())
        computing = {}
        for direction, way in ways.items():
            rates = {kind: self._find_rates(best, plain, kind, direction) for kind in self._kinds}
            computing[direction] = replace(way, rates=rates)
        return replace(plain, ways=computing, transfers=self._find_transfers(best))

    def _find_plain_way(self, best: Mapping[str, float], direction: Direction) -> Way:
        """Fit everything but the arithmetic rates, which explain the rest."""
        suffix = "" if self._is_recorded else " asked"
        overhead = self._find_overhead(best, _PLAINEST, direction, suffix)
        beginning = overhead.launch + overhead.call
        graph = Overhead(0.0, 0.0)
        sweeps: dict[int, list[float]] = {count: [] for count in self._axes}
        rows = {} if self._bench.is_device else self._find_rows(best, direction, beginning)
        for side in self._sides:
            longer = 1 + rows.get("plain", 0.0) / side
            for count, names in self._axes.items():
                # one axis or the other, half of each
                seconds = float(np.mean([best[f"{name} {side} {direction}"] for name in names])) / self._repeats
                moved = 8 * prod(self._plans[side][names[0]].shape)
                sweeps[count].append(moved * longer / max(seconds - beginning, _LEAST_SHARE * seconds))
        rates: dict[Arithmetic, Sequence[float]] = {kind: [1e30] * len(self._sides) for kind in self._kinds}
        host = {}
        if self._is_recorded:
            host = {path: self._find_overhead(best, name, direction, " asked") for path, name in _PATHS.items()}
            whole = best[f"both {self._middle} {direction}"] / self._repeats
            pause = max(best[f"graph {self._middle} {direction}"] - whole, 0.0)
            graph = Overhead(best[f"graph {_TINY[_PLAINEST]} {direction}"], pause)
        return Way(overhead, sweeps, rates, rows, host, graph)

    def _find_rows(self, best: Mapping[str, float], direction: Direction, beginning: float) -> dict[Work, float]:
        """Compare many short rows with few long ones, as if each had some samples more."""
        rows: dict[Work, float] = {}
        spent = dict.fromkeys((_SQUARE, _TALL), beginning)
        for kind in _KINDS:
            long, short = (
                max(best[f"rows {kind} {shape[1]} {direction}"] - seconds, _LEAST_SHARE * seconds)
                for shape, seconds in spent.items()
            )
            # short / long = (1 + rows / its width) / (1 + rows / the other's width)
            ratio = min(short / long, _MOST_ROWS)
            rows[kind] = max((ratio - 1) / (1 / _TALL[1] - ratio / _SQUARE[1]), 0.0)
            if kind == "plain":
                spent = {shape: best[f"rows {kind} {shape[1]} {direction}"] for shape in spent}
        return rows

    def _find_overhead(self, best: Mapping[str, float], wavelet: str, direction: Direction, suffix: str) -> Overhead:
        """Compare one level with several: what they take more is that of their launches."""
        few, many = (
            sum(stage.launches for stage in list_stages(self._plan_tiny(wavelet, level), abilities=self._abilities))
            for level in _LEVELS
        )
        repeats = 1 if suffix else self._repeats
        short, long = (best[f"{wavelet} {level} {direction}{suffix}"] / repeats for level in _LEVELS)
        launch = max((long - short) / (many - few), 0.0)
        return Overhead(launch, max(short - few * launch, 0.0))

    def _plan_tiny(self, wavelet: str, level: int) -> TransformPlan:
        return plan_array((_TINY[wavelet],) * 2, wavelet, level)

    def _find_rates(
        self, best: Mapping[str, float], plain: DeviceModel, kind: Arithmetic, direction: Direction
    ) -> list[float]:
        rates = []
        for side in self._sides:
            stages = list_stages(self._plans[side][kind], direction, abilities=self._abilities)
            seconds = best[f"{kind} {side} {direction}"] / self._repeats
            explained = predict_stages(stages, plain, asking="none").seconds
            rows = plain.ways[direction].rows.get(kind, 0.0)
            more = sum(stage.extra_operations for stage in stages) * (1 + rows / side)
            rates.append(more / max(seconds - explained, _LEAST_SHARE * seconds))
        return rates

    def _find_transfers(self, best: Mapping[str, float]) -> Transfers | None:
        if not self._bench.is_device:
            return None
        downloads = [best[f"download {size}"] for size in self._transferred]
        trips = [best[f"trip {size}"] for size in self._transferred]
        uploads = [max(trip - back, _LEAST_SHARE * trip) for trip, back in zip(trips, downloads, strict=True)]
        return Transfers([float(size) for size in self._transferred], uploads, downloads)


def _send_and_fetch(device: Any, x: Array) -> Array:
    host: Array = device.download(device.upload(x))
    return host


def find_abilities(bench: Harness) -> Abilities:
    """Return which axes the engine of a harness can fuse in one sweep over float32 samples."""
    abilities: Abilities = bench.engine.find_abilities(np.dtype(np.float32))
    return abilities


def _find_least_volume(abilities: Abilities) -> int | None:
    """Return from how many samples along each axis on three axes are one kernel; None if they never are."""
    return next((fusion.least for fusion in abilities.fusions if fusion.count == 3 and not fusion.block), None)


def record_call(bench: Harness, call: Callable[[], Any], times: int = 1) -> Callable[[], Any] | None:
    """Return a recording that replays some calls without a launch for each; None where a device cannot record them."""
    if not bench.is_device:
        return None
    try:
        replay = bench.capture(partial(_call_often, call, times))
    except Exception:  # noqa: BLE001 - whatever the driver says, there are the calls themselves
        return None
    # bound to the record, which has to live as long, and with it the memory that it writes to
    return None if replay is None else partial(_launch_again, replay)


def _launch_again(replay: Replay) -> None:
    replay.launch()


def _call_often(call: Callable[[], Any], times: int) -> Any:
    for _ in range(times - 1):
        call()
    return call()


def plan_sweeps(side: int, abilities: Abilities = CPU) -> dict[str, TransformPlan]:
    """Return the plans of one size: the plainest sweeps, and heavier ones by the name of their arithmetic.

    Where volumes are one sweep, there are cubes of about as many samples too.
    """
    shape = (side, side)
    wavelet = plan_array(shape, _PLAINEST, 1).wavelets[0]
    plans = {
        "both": plan_array(shape, _PLAINEST, 1),
        "down": transform_plan(shape, (0,), (wavelet,), ("periodization",), 1),
        "along": transform_plan(shape, (1,), (wavelet,), ("periodization",), 1),
    }
    for kind, name in (_HEAVIER if abilities.form.lifts_orthogonal else _HEAVIER_ON_DEVICE).items():
        plans[kind] = plan_array(shape, name, 1)
    if (least := _find_least_volume(abilities)) is not None:
        edge = max(least, 8 * round(side ** (2 / 3) / 8))
        cube, axes = (edge,) * 3, (0, 1, 2)
        plans["all"] = plan_array(cube, _PLAINEST, 1)
        # mirrored at the borders, as cases are
        plans["volumes"] = transform_plan(cube, axes, (as_wavelet(_HEAVIER_VOLUME),) * 3, ("whole",) * 3, 1)
    return plans

"""VC-2 on a device: transform, quantiser and back for frames of video that stay there, stage by stage.

Coefficients, quantiser steps and samples are compared with those of the CPU first, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from subband.bench.tables import Cell, Goal, Report, Sheet, as_record
from subband.codecs.vc2 import DeviceImage, Settings, VideoFormat
from subband.codecs.vc2.coding import tabulate_quantisers
from subband.codecs.vc2.parameters import Layout, TransformParameters, lay_out
from subband.codecs.vc2.transform import analyse, choose_dtype, synthesise
from subband.engines.measuring.devices import Machine, describe_machine
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import WrongResultError
from subband.typing import Array

__all__ = ["CASES", "QUICK_CASES", "DeviceCase", "DeviceTimes", "measure_device", "report"]

#: Frames per second that are expected of transform, quantiser and inverse together, by size.
TARGETS = {"2160p": 1000.0}

#: Rows × columns of luma.
SIZES = {"1080p": (1080, 1920), "2160p": (2160, 3840), "4320p": (4320, 7680)}

#: The quantiser of all slices but every third, which takes the next finer one, as encoders of a rate do.
_QUANTISER = 20

_STAGES = ("analyse", "quantise", "restore", "synthesise")


@dataclass(frozen=True)
class DeviceCase:
    """What is measured: a size, a wavelet with so many levels, and the bits of a sample."""

    size: str
    wavelet: str
    depth: int = 4
    shape: tuple[int, int] | None = None
    bits: int = 10

    @property
    def rows_and_columns(self) -> tuple[int, int]:
        """Of luma."""
        return self.shape or SIZES[self.size]


#: All that is measured, and the little that shows that it works.
CASES = (
    DeviceCase("1080p", "dd137"),
    *(DeviceCase("2160p", wavelet) for wavelet in ("dd97", "legall53", "dd137", "haar1", "daub97", "fidelity")),
    DeviceCase("4320p", "dd137"),
)
QUICK_CASES = (DeviceCase("tiny", "dd137", 2, (72, 96)),)


@dataclass(frozen=True)
class DeviceTimes:
    """The seconds of a frame of 4:2:2 in 10 bits.

    Attributes
    ----------
    case : DeviceCase
        What was measured.
    stages : dict of str to float
        Seconds of each stage by itself.
    calls : float
        Of all of them, called one after the other.
    replayed : float or None
        Of all of them as one recorded graph, where the device has that.
    copy : float
        Of a copy of the samples on the device.
    """

    case: DeviceCase
    stages: dict[str, float]
    calls: float
    replayed: float | None
    copy: float

    @property
    def rate(self) -> float:
        """Frames per second of transform, quantiser, its inverse and the inverse transform."""
        return 1 / min(self.calls, self.replayed or self.calls)

    @property
    def target(self) -> float | None:
        """Frames per second that are expected."""
        return TARGETS.get(self.case.size)


def measure_device(
    bench: Harness, cases: Sequence[DeviceCase] = CASES, *, turns: int = 5, count: int = 50
) -> Iterator[DeviceTimes]:
    """Measure frames on a device.

    Parameters
    ----------
    bench : Harness
        Of the device.
    cases : sequence of DeviceCase
        What to measure.
    turns, count : int
        The median of so many turns of so many frames is taken.

    Raises
    ------
    WrongResultError
        If a coefficient, step or sample is not that of the CPU.
    """
    for case in cases:
        rows, columns = case.rows_and_columns
        video = VideoFormat(columns, rows, "4:2:2", VideoFormat.make_signal(case.bits))
        shapes = video.plane_shapes
        parameters = Settings(wavelet=case.wavelet, depth=case.depth).make_parameters(shapes)
        planes = _draw(shapes, case.bits)
        image = DeviceImage(shapes, (case.bits,) * 3, parameters, bench.engine)
        quantisers = np.where(np.arange(parameters.slice_count) % 3, _QUANTISER, _QUANTISER - 1)
        image.write_quantisers(quantisers)
        _check(image, planes, parameters, quantisers, case)

        def run_all(image: DeviceImage = image) -> None:
            for stage in _STAGES:
                getattr(image, stage)()

        def measure(call: Callable[[], object]) -> float:
            bench.time_calls(call, 3)
            return median(bench.time_calls(call, count) / count for _ in range(turns))

        stages = {stage: measure(getattr(image, stage)) for stage in _STAGES}
        copy = bench.prepare_copy(bench.upload(np.concatenate([plane.reshape(-1) for plane in planes])))
        calls, replay = measure(run_all), bench.capture(run_all)
        replayed = None if replay is None else measure(replay.launch)
        yield DeviceTimes(case, stages, calls, replayed, measure(copy))


def _draw(shapes: Sequence[tuple[int, int]], bits: int) -> list[Array]:
    """Return waves under noise, and some samples at both ends of the range."""
    rng, most = np.random.default_rng(0), (1 << bits) - 1
    planes = []
    for rows, columns in shapes:
        waves = 0.5 + 0.3 * np.sin(np.arange(rows) / 29)[:, None] * np.cos(np.arange(columns) / 37)
        noisy = np.clip(waves + rng.normal(0, 0.008, waves.shape), 0, 1) * most
        plane = noisy.astype(np.uint8 if bits <= 8 else np.uint16)
        plane[::7, ::11] = np.where(rng.random(plane[::7, ::11].shape) < 0.5, 0, most)
        planes.append(plane)
    return planes


def _check(
    image: DeviceImage, planes: Sequence[Array], parameters: TransformParameters, quantisers: Array, case: DeviceCase
) -> None:
    """Compare all four stages with the CPU."""
    layout, bits = lay_out(image.shapes, parameters), (case.bits,) * 3
    expected = np.zeros(layout.size, choose_dtype(parameters, bits))
    analyse(planes, [1 << case.bits - 1] * 3, layout, parameters, expected)
    image.write(planes)
    image.analyse()
    image.quantise()
    found, steps = image.read_coefficients(), image.read_steps()
    image.restore()
    image.synthesise()
    back = image.read_coefficients()
    inverses, factors, offsets = tabulate_quantisers()
    of_slice = quantisers.reshape(parameters.slices)
    for number in range(len(layout.bands)):
        own = _take_band(expected, layout, number)
        _compare(_take_band(found, image.layout, number), own, f"coefficients of band {number}", case)
        down, across = (
            np.repeat(np.arange(len(edges) - 1), np.diff(edges[:, number]))
            for edges in (layout.row_edges, layout.column_edges)
        )
        quantiser = np.maximum(of_slice[np.ix_(down, across)] - layout.bands[number, 5], 0)
        wanted = (own.astype(np.float32) * inverses[quantiser]).astype(own.dtype)
        _compare(_take_band(steps, image.layout, number), wanted, f"quantiser steps of band {number}", case)
        size = np.abs(wanted.astype(np.int64))
        middle = np.where(size == 0, 0, size * factors[quantiser] + offsets[quantiser] + 2 >> 2)
        own[...] = np.sign(wanted) * middle
        _compare(_take_band(back, image.layout, number), own, f"coefficients made of steps of band {number}", case)
    decoded = [np.zeros_like(plane) for plane in planes]
    synthesise(expected, layout, parameters, bits, decoded)
    for number, (plane, own) in enumerate(zip(image.read(), decoded, strict=True)):
        _compare(plane, own, f"samples of component {number}", case)


def _take_band(values: Array, layout: Layout, number: int) -> Array:
    """Return a view of one band."""
    _, begin, stride, rows, columns, _ = layout.bands[number].tolist()
    size = values.itemsize
    return np.lib.stride_tricks.as_strided(values[begin:], (rows, columns), (stride * size, size))


def _compare(found: Array, expected: Array, what: str, case: DeviceCase) -> None:
    if not np.array_equal(found, expected):
        wrong = int((found != expected).sum())
        raise WrongResultError(f"{case.size} {case.wavelet}: {wrong} of {expected.size} {what} are not the CPU's")


def report(measured: Sequence[DeviceTimes], engine: str, machine: Machine | None = None) -> Report:
    """Make a report of measurements.

    Parameters
    ----------
    measured : sequence of DeviceTimes
        From `measure_device`.
    engine : str
        The engine that computed.
    machine : Machine, optional
        Where; this one if left out.
    """
    columns: dict[str, Cell] = {
        "frame": "{.case.size}",
        "wavelet": "{.case.wavelet}",
        "fps": "{.rate:,.0f}",
        "ms": lambda each: f"{1e3 / each.rate:.3f}",
    }
    names = {"analyse": "transform", "quantise": "quantise", "restore": "dequantise", "synthesise": "inverse"}
    columns |= {f"{name} ms": partial(_write_stage, stage) for stage, name in names.items()}
    columns["copy ms"] = lambda each: f"{1e3 * each.copy:.3f}"
    note = (
        "4:2:2 of 10 bits, four levels. fps: transform, quantiser, its inverse and the inverse transform of frames "
        "that are on the device, as one recorded graph where there is one. Single stages are called one by one. copy: "
        "of the samples, on the device. All coefficients, quantiser steps and samples were compared with the CPU's "
        "first, and are the same bit for bit."
    )
    goals = [
        Goal(
            f"{each.case.size} by {each.case.wavelet}: at least {each.target:,.0f} fps",
            f"{each.rate:,.0f}",
            each.rate >= each.target,
        )
        for each in measured
        if each.target is not None
    ]
    figures = {"engine": engine, "measurements": [as_record(each, "rate") for each in measured]}
    sheet = Sheet.from_records(f"VC-2 on a device: {engine}", measured, columns, note, texts=2)
    return Report([sheet], goals, figures, machine or describe_machine())


def _write_stage(stage: str, times: DeviceTimes) -> str:
    return f"{1e3 * times.stages[stage]:.3f}"

"""All papers in one run: every table for every available engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from subband.bench.papers import (
    acceptance,
    denoising,
    frame_buffer,
    haar,
    high_definition,
    jpeg2000,
    orders,
    precision,
    processor_load,
    ultrasound,
    ultrasound_cards,
    worked_model,
)
from subband.bench.tables import Report
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.harness import open_harness
from subband.engines.measuring.timing import Effort
from subband.engines.registry import is_device_engine
from subband.errors import ArgumentError, suggest_names

__all__ = ["CHAPTERS", "Chapter", "Part", "choose_chapters", "measure_chapters"]

#: A name of a report, and the report.
Part: TypeAlias = tuple[str, Report]

_QUICK = Effort(seconds=0.03, fewest=3, most=7)


@dataclass(frozen=True)
class Chapter:
    """The tables of one paper.

    Attributes
    ----------
    name : str
        For choosing it.
    title : str
        What it is.
    measure : callable
        Given engines and whether it is to be quick, yields reports.
    """

    name: str
    title: str
    measure: Callable[[Sequence[str], bool], Iterator[Part]]


def _measure_ultrasound(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    programs = ultrasound.list_programs(engines)
    if "cpu" not in engines:
        # what tables 4.3 and 4.9 compare everything with
        programs.append(ultrasound.Program("cpu", threads=1))
    sizes = ultrasound.SIZES[:4] if is_quick else ultrasound.SIZES
    times: dict[str, dict[int, dict[str, float]]] = {}
    for name, size, parts in ultrasound.measure_programs(programs, sizes, _QUICK if is_quick else None):
        times.setdefault(name, {})[size] = parts
    yield "ultrasound", ultrasound.report(times, programs)
    yield "ultrasound cards", ultrasound_cards.report(times, programs)


def _measure_load(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    programs = processor_load.list_load_programs(engines)
    sizes = ultrasound.SIZES[:4] if is_quick else ultrasound.SIZES
    loads: dict[str, dict[int, processor_load.Loads]] = {}
    for name, size, each in processor_load.measure_loads(programs, sizes, is_quick=is_quick):
        loads.setdefault(name, {})[size] = each
    yield "processor load", processor_load.report(loads, programs)


def _measure_precision(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    levels = precision.LEVELS[:3] if is_quick else precision.LEVELS
    found = {engine: precision.measure_differences(engine, levels=levels) for engine in engines}
    # fixed point is the same bit by bit wherever it is computed
    fixed = {} if all(map(is_device_engine, engines)) else precision.measure_fixed(levels=levels)
    yield "precision", precision.report(found, fixed)


def _measure_model(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    yield "worked model", worked_model.report(worked_model.measure_estimates(engines, is_quick=is_quick))


def _measure_high_definition(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    effort = _QUICK if is_quick else None
    yield "orders", orders.report({engine: orders.measure_orders(engine, effort) for engine in engines})
    images = high_definition.list_images(is_quick=is_quick)
    for engine in engines:
        measured = dict(high_definition.measure_images(images, engine, effort))
        yield f"high definition {engine}", high_definition.report(measured, engine)


def _measure_acceptance(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    count = acceptance.QUICK_COUNT if is_quick else acceptance.COUNT
    for engine in engines:
        yield f"acceptance {engine}", acceptance.report(acceptance.measure(engine, count), engine)


def _measure_denoising(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    effort = _QUICK if is_quick else None
    yield "haar", haar.report({engine: haar.measure_sides(engine, effort) for engine in engines})
    for engine in engines:
        yield f"visushrink {engine}", denoising.report(engine=engine)


def _measure_frame_buffer(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    ratios = frame_buffer.measure_ratios(engines, _QUICK if is_quick else None)
    # fixed point is the same bit by bit wherever it is computed
    bits = [] if all(map(is_device_engine, engines)) else frame_buffer.measure_bits()
    yield "frame buffer", frame_buffer.report(bits, ratios)


def _measure_jpeg2000(engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    sizes, repeats = (jpeg2000.QUICK_SIZES, 1) if is_quick else (jpeg2000.SIZES, 3)
    yield (
        "jpeg 2000",
        jpeg2000.report(list(jpeg2000.measure_stages(sizes, engines, _QUICK if is_quick else None, repeats))),
    )


CHAPTERS = (
    Chapter("ultrasound", "Real-time wavelet filtering on the GPU, 2007", _measure_ultrasound),
    Chapter("processor-load", "Real-time wavelet filtering on the GPU, 2007: load of the CPU", _measure_load),
    Chapter("precision", "Real-time wavelet filtering on the GPU, 2007: 16 and 32 bits", _measure_precision),
    Chapter("worked-model", "Real-time wavelet filtering on the GPU, 2007: its model, worked out", _measure_model),
    Chapter("video", "Wavelet transform for video coders using GPU, 2012", _measure_high_definition),
    Chapter("acceptance", "Wavelet transform for video coders using GPU, 2012: frame by frame", _measure_acceptance),
    Chapter("denoising", "Image denoising using wavelet transform and CUDA, 2014", _measure_denoising),
    Chapter("frame-buffer", "Hardware based wavelet transformations, 1999", _measure_frame_buffer),
    Chapter("jpeg2000", "Discrete wavelet transform on consumer-level graphics hardware, 2007", _measure_jpeg2000),
)


def choose_chapters(names: Sequence[str]) -> list[Chapter]:
    """Return chapters by their names.

    Raises
    ------
    ArgumentError
        If there is no such chapter.

    Examples
    --------
    >>> [chapter.title for chapter in choose_chapters(["frame-buffer"])]
    ['Hardware based wavelet transformations, 1999']
    """
    known = {chapter.name: chapter for chapter in CHAPTERS}
    for name in names:
        if name not in known:
            raise ArgumentError(f"{name!r} is no paper{suggest_names(name, known)}; use one of {', '.join(known)}")
    return [known[name] for name in names]


def measure_chapters(chapters: Sequence[Chapter], engines: Sequence[str], is_quick: bool) -> Iterator[Part]:
    """Measure one paper after the other, and yield its reports as they are done, with the device they are of."""
    devices = [name for name in engines if is_device_engine(name)]
    machine = describe_machine(open_harness(devices[0]).name) if devices else None
    for chapter in chapters:
        for name, report in chapter.measure(engines, is_quick):
            yield name, report if machine is None else replace(report, machine=machine)

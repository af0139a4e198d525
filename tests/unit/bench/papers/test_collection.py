"""Chapters: each hands its engines on, and those of devices have the CPU beside them."""

import pytest

from subband.bench.papers import acceptance, precision, processor_load, ultrasound, worked_model
from subband.bench.papers.acceptance import THEIRS, Passes
from subband.bench.papers.collection import choose_chapters
from subband.bench.papers.precision import Difference
from subband.bench.papers.processor_load import IDLE, Load, Loads
from subband.bench.papers.worked_model import Estimate

PARTS = dict.fromkeys(ultrasound.PARTS, 0.001)


def measure(name, engines, is_quick):
    (chapter,) = choose_chapters([name])
    return dict(chapter.measure(engines, is_quick))


@pytest.mark.parametrize("is_quick", [False, True])
def test_devices_are_compared_with_a_thread_of_the_cpu(monkeypatch, is_quick):
    monkeypatch.setattr(
        ultrasound,
        "measure_programs",
        lambda programs, sizes, effort: [(each.name, size, PARTS) for each in programs for size in sizes],
    )
    reports = measure("ultrasound", ["cuda"], is_quick)
    assert list(reports) == ["ultrasound", "ultrasound cards"]
    sizes = ultrasound.SIZES[:4] if is_quick else ultrasound.SIZES
    speedups = {row[0]: row[1:] for row in reports["ultrasound"].sheets[1].rows}
    # table 4.3: four channels in the time of one
    assert speedups["cuda-mono-16"] == ["1.0"] * len(sizes)
    assert speedups["cuda-colour-32"] == ["4.0"] * len(sizes)
    assert speedups["cpu-mono-32-single"] == ["1.0"] * len(sizes)
    frames = {row[0]: row[1:] for row in reports["ultrasound cards"].sheets[0].rows}
    assert frames["cuda-mono-16"] == ["250"] * len(sizes)


def test_the_cpu_is_not_measured_twice(monkeypatch):
    asked = []
    monkeypatch.setattr(
        ultrasound,
        "measure_programs",
        lambda programs, sizes, effort: asked.extend(programs) or [(each.name, 128, PARTS) for each in programs],
    )
    measure("ultrasound", ["cpu"], True)
    assert len({program.name for program in asked}) == len(asked)


def test_load_has_every_program_and_size(monkeypatch):
    load = Load(10, 0.5, 0.01)
    monkeypatch.setattr(processor_load, "is_host", lambda engine: True)
    monkeypatch.setattr(
        processor_load,
        "measure_loads",
        lambda programs, sizes, is_quick: [
            (name, size, Loads(load, load)) for name in (IDLE, *(each.name for each in programs)) for size in sizes
        ],
    )
    (report,) = measure("processor-load", ["cuda"], False).values()
    names = [row[0] for row in report.sheets[0].rows]
    assert {"cuda-mono-16", "cuda-mono-32", "cpu-mono-32-single"} <= set(names)
    assert len(report.sheets[0].columns) == 1 + len(processor_load.SIZES)


@pytest.mark.parametrize(("is_quick", "count"), [(False, 400), (True, 40)])
def test_acceptance_takes_as_many_frames_as_theirs(monkeypatch, is_quick, count):
    asked = []

    def fake(engine, frames):
        asked.append((engine, frames))
        return Passes({name: [0.01] * frames for name in THEIRS})

    monkeypatch.setattr(acceptance, "measure", fake)
    reports = measure("acceptance", ["cpu", "cuda"], is_quick)
    assert asked == [("cpu", count), ("cuda", count)]
    assert list(reports) == ["acceptance cpu", "acceptance cuda"]
    assert all(goal.is_met for report in reports.values() for goal in report.goals)


def test_precision_and_model_hand_their_engines_on(monkeypatch):
    monkeypatch.setattr(
        precision,
        "measure_differences",
        lambda engine, levels: {(engine, level): Difference(70.0, 0.1, 1, 30.0, 30.0) for level in levels},
    )
    monkeypatch.setattr(
        precision, "measure_fixed", lambda levels: {("camera", level): (90.0, 95.0) for level in levels}
    )
    (report,) = measure("precision", ["cuda", "cpu"], False).values()
    assert [row[0] for row in report.sheets[0].rows] == ["cuda"] * 6 + ["cpu"] * 6
    assert len(report.sheets) == 2
    # fixed point is computed on the CPU, and is not said of a device
    (report,) = measure("precision", ["cuda"], True).values()
    assert len(report.sheets) == 1
    found = Estimate(1, 1, 1e9, 1e9, 0.0, 0.001, 0.001, 0.001)
    monkeypatch.setattr(
        worked_model, "measure_estimates", lambda engines, is_quick: dict.fromkeys(["cpu", *engines], found)
    )
    (report,) = measure("worked-model", ["cuda"], True).values()
    assert "speed-up, cuda" in {row[0] for row in report.sheets[2].rows}

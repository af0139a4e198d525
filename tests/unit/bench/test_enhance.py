"""How fast frames are enhanced: what is measured, checked and expected."""

from dataclasses import replace

import numpy as np
import pytest

from subband.bench import enhance
from subband.bench.enhance import CASES, MOST_COPIES, Case, Speed, make_frame, measure_speeds, report
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.harness import open_device, open_harness
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort
from subband.enhance import Enhancer

EFFORT = Effort(seconds=0.01, fewest=1, most=2, turn=1e-4)
SOFT = CASES[0]


def judge(speed, *, is_on_device=False):
    return [goal.is_met for goal in speed.judge(is_on_device=is_on_device)]


def test_targets_on_the_host():
    met = Speed(SOFT, seconds=6.6e-3, copy=1e-3, deviation=1, peer=0.14)
    assert judge(met) == [True, True]
    assert judge(replace(met, peer=0.13)) == [False, True]
    assert judge(replace(met, copy=0.9e-3)) == [True, False]
    default = Speed(CASES[1], seconds=0.1, copy=1e-3, deviation=0, peer=0.31)
    assert judge(default) == [True]
    assert judge(replace(default, peer=0.29)) == [False]
    assert judge(Speed(CASES[2], 1.0, 1e-3, 0, peer=0.1)) == []
    assert pytest.approx(20 / 3) == MOST_COPIES


def test_targets_on_a_device():
    met = Speed(SOFT, seconds=1 / 3100, copy=1e-5, deviation=1)
    assert judge(met, is_on_device=True) == [True]
    slow = replace(met, seconds=1 / 2900)
    assert judge(slow, is_on_device=True) == [False]
    assert judge(replace(slow, graph=1 / 4000), is_on_device=True) == [True]
    (goal,) = replace(slow, graph=1 / 4000).judge(is_on_device=True)
    assert goal.found == "2,900, 4,000 as a graph"


def test_frame_is_a_noisy_photograph():
    frame = make_frame((600, 700, 3))
    assert frame.shape == (600, 700, 3)
    assert frame.dtype == np.uint8
    assert np.array_equal(frame, make_frame((600, 700, 3)))


def test_tiny_frame_is_measured_and_checked():
    frame = make_frame((64, 96, 3))
    speeds = list(measure_speeds(CASES[:2], EFFORT, frame, open_harness("cpu")))
    assert [speed.case for speed in speeds] == list(CASES[:2])
    assert all(min(speed.seconds, speed.copy, speed.peer) > 0 and speed.deviation <= 1 for speed in speeds)
    written = report(speeds, frame.shape)
    (sheet,) = written.sheets
    assert "64 × 96 × 3" in sheet.title
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    assert len(written.goals) == 3
    assert written.figures["speeds"][0]["case"] == SOFT.name


def test_report_of_a_device_has_no_scikit_image():
    speeds = [Speed(SOFT, 1e-4, 1e-5, 0, graph=9e-5), Speed(CASES[1], 1e-3, 1e-5, 0, remarks=("no graph",))]
    written = report(speeds, (8, 8, 3), describe_machine())
    (sheet,) = written.sheets
    assert "graph ms" in sheet.columns
    assert not any("scikit-image" in column for column in sheet.columns)
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    assert sheet.note.endswith("no graph.")


def test_wrong_result_stops_the_benchmark(monkeypatch):
    frame = make_frame((32, 48, 3))
    bind = Case.bind_on_host

    def spoil(case, frame, engine):
        call = bind(case, frame, engine)
        return call if engine == "reference" else lambda: call() ^ np.uint8(64)

    monkeypatch.setattr(enhance.Case, "bind_on_host", spoil)
    with pytest.raises(WrongResultError, match="away from the reference"):
        list(measure_speeds([Case("nothing", Enhancer(()))], EFFORT, frame, open_harness("cpu")))


@pytest.mark.opencl
def test_on_a_device():
    pytest.importorskip("pyopencl")
    frame = make_frame((32, 48, 3))
    (speed,) = measure_speeds(CASES[:1], EFFORT, frame, open_device("opencl:0"))
    assert speed.seconds > 0
    assert speed.peer is None

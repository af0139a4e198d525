"""Their model with our machine's numbers: counted from the plan, judged by bands, and put beside theirs."""

import pytest

from subband.bench.model.comparison import Comparison
from subband.bench.model.device import DeviceModel, Overhead, Way
from subband.bench.model.prediction import Prediction
from subband.bench.papers import worked_model
from subband.bench.papers.worked_model import SHAPE, Estimate, FrameCase, estimate
from subband.engines import get_engine, get_threads
from subband.engines.measuring.harness import Harness, open_harness
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort

MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)


def make_device(copies=10e9, rate=2e9):
    sizes = (2.0**10, 2.0**24)
    way = Way(Overhead(0.0, 0.0), {1: (1e9, 1e9), 2: (1e9, 1e9)}, {"lifting": (rate, rate), "filters": (1e9, 1e9)})
    return DeviceModel("made up", sizes, (copies, copies), {"forward": way, "inverse": way})


def make_comparisons(predicted=0.003, measured=0.004):
    bench = open_harness("cpu")
    cases = [FrameCase(SHAPE, "cdf97", 3, direction) for direction in ("forward", "inverse")]
    return [Comparison(case, case.list_stages(bench), Prediction("", memory=predicted), measured) for case in cases]


def test_frame_is_counted_level_by_level():
    found = estimate(make_device(), make_comparisons())
    samples = 4 * 512**2 * (1 + 1 / 4 + 1 / 16)
    # each level reads and writes every sample once, four bytes, in both directions
    assert found.memory == 2 * 2 * 4 * samples
    # five multiply-adds along each of two axes
    assert found.operations == 2 * 2 * 5 * samples
    # the CPU: arithmetic alone
    assert found.classical == pytest.approx(found.operations / 2e9)
    assert found.own == pytest.approx(0.006)
    assert found.measured == pytest.approx(0.008)


def test_devices_have_the_way_there_and_the_longer_of_two():
    size = 4 * 4 * 512**2
    found = estimate(make_device(rate=1e15), make_comparisons(), upload=0.002, upload_bandwidth=4e9)
    assert found.classical == pytest.approx(size / 4e9 + found.memory / 10e9)
    assert found.own == pytest.approx(0.006 + size / 4e9)
    assert found.measured == pytest.approx(0.010)
    bound = estimate(make_device(rate=1e6), make_comparisons(), upload=0.002, upload_bandwidth=4e9)
    assert bound.classical == pytest.approx(size / 4e9 + found.operations / 1e6)


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_both_are_measured(engine, monkeypatch):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    threads = get_threads()
    monkeypatch.setattr(worked_model, "SHAPE", (4, 64, 64))
    monkeypatch.setattr(worked_model, "_QUICK_SIDES", (32, 64))
    monkeypatch.setattr(worked_model, "Effort", lambda **_: MOMENT)
    found = worked_model.measure_estimates([engine], is_quick=True)
    assert get_threads() == threads
    assert list(found) == list(dict.fromkeys(["cpu", engine]))
    for name, each in found.items():
        assert min(each.classical, each.own, each.measured, each.bandwidth, each.rate) > 0
        assert (each.upload_bandwidth > 0) == (name != "cpu")
    report = worked_model.report(found)
    assert len(report.goals) == len(found) - 1


def test_wrong_bands_are_not_measured(monkeypatch):
    class Wrong:
        name = "wrong"

        def forward_all(self, plan, x):
            approximation, details = get_engine("cpu").forward_all(plan, x)
            return 2 * approximation, details

        def inverse_all(self, plan, approximation, details):
            return get_engine("cpu").inverse_all(plan, approximation / 2, details)

    monkeypatch.setattr(worked_model, "SHAPE", (4, 64, 64))
    monkeypatch.setattr(worked_model, "open_harness", lambda name: Harness(Wrong()))
    with pytest.raises(WrongResultError, match="band aa3"):
        worked_model.measure_estimates(["cpu"], is_quick=True)


def test_tables_have_theirs_and_ours():
    found = {
        "cpu": Estimate(22, 27, 10e9, 20e9, 0.0, 0.002, 0.004, 0.005),
        "cuda": Estimate(22, 27, 4e12, 9e12, 11e9, 0.0002, 0.0005, 0.0004),
    }
    report = worked_model.report(found)
    theirs, machine, predictions = ({row[0]: row[1:] for row in sheet.rows} for sheet in report.sheets)
    assert theirs["T transfer within the GPU, ms"] == ["0.37", "0.34", "0.37"]
    assert theirs["speed-up"] == ["6.3", "5.3", "6.3"]
    assert machine["cpu"][0] == ""
    assert machine["cuda"][0] == "11.00"
    assert predictions["theirs: GPU"] == ["0.5", "", "3.8", "7.6", ""]
    assert predictions["cuda"] == ["0.2", "0.5", "0.4", "2.00", "1.25"]
    # 5 ms by 0.4 is 12.5, and 4 by 0.5 was predicted
    assert predictions["speed-up, cuda"] == ["10", "8", "12.5", "1.25", "1.56"]
    assert [goal.is_met for goal in report.goals] == [False]
    assert report.drawings["Predicted and measured"].render().width > 100
    assert report.to_json()["theirs"]["table 3.3"]["speedup"] == 6.3

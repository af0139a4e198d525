"""The breakdown of encoding: theirs as it stands there, ours stage by stage."""

import pytest

from subband.bench.jpeg2000 import PAPER, Breakdown
from subband.bench.papers import jpeg2000
from subband.bench.papers.collection import choose_chapters
from subband.codecs.jpeg2000 import Times
from subband.engines.measuring.timing import Effort

MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)


def test_their_parts_add_up():
    for _, gpu, *parts in PAPER.values():
        assert sum(parts) == pytest.approx(gpu, abs=0.002)


def test_stages_of_both_kinds(monkeypatch):
    monkeypatch.setitem(jpeg2000.PAPER, 64, PAPER[128])
    found = list(jpeg2000.measure_stages([64], ["cpu"], MOMENT, repeats=1))
    assert [each.kind for each in found] == ["lossless", "lossy"]
    for each in found:
        assert tuple(each.seconds) == jpeg2000.STAGES
        assert all(
            each.seconds[stage] > 0 for stage in ("colours", "wavelet", "quantiser", "blocks", "packets", "disk")
        )
        assert sum(each.measure_share(stage) for stage in jpeg2000.STAGES) == pytest.approx(1)
    # without a target there is nothing to choose
    assert found[0].seconds["rate"] < found[1].seconds["rate"]


def test_transforming_is_split_as_its_steps_are():
    times = Times(transform=0.6, blocks=1.0, rate=0.2, packets=0.1)
    found = Breakdown(512, "cpu", 2.0, times, 0.05, None, 1000, 40.0)
    seconds = jpeg2000._split(found, {"colours": 1.0, "wavelet": 3.0, "quantiser": 2.0})
    assert seconds == pytest.approx(
        {
            "colours": 0.1,
            "wavelet": 0.3,
            "quantiser": 0.2,
            "blocks": 1.0,
            "rate": 0.2,
            "packets": 0.1,
            "other": 0.1,
            "disk": 0.05,
        }
    )


def test_report_puts_theirs_beside_ours():
    seconds = dict.fromkeys(jpeg2000.STAGES, 0.01)
    found = [jpeg2000.Stages(size, "cpu", kind, seconds) for kind in jpeg2000.KINDS for size in (512, 2048)]
    report = jpeg2000.report(found)
    alone, shares = report.sheets
    assert [row[0] for row in alone.rows] == ["512²", "2048²"]
    assert alone.rows[1][2:] == ["12312", "1672", "219", "625", "234", "594", "10.00", "1231", "145"]
    assert [row[:4] for row in shares.rows][:2] == [
        ["lossless", "512²", "cpu", "80.0"],
        ["lossless", "2048²", "cpu", "80.0"],
    ]
    assert set(shares.rows[0][4:]) == {"12.5%"}
    # the start of OpenGL, 219 ms of their 1672, is not held against them
    assert [goal.found.split()[0] for goal in report.goals] == ["36", "145"]
    assert [goal.is_met for goal in report.goals] == [True, True]
    slow = jpeg2000.Stages(512, "cpu", "lossy", {**seconds, "wavelet": 0.4})
    assert not jpeg2000.report([slow]).goals[0].is_met
    for figure in report.drawings.values():
        assert figure.render().width >= 720


def test_it_is_a_chapter(monkeypatch):
    asked = []
    stages = jpeg2000.Stages(512, "cpu", "lossy", dict.fromkeys(jpeg2000.STAGES, 0.01))
    monkeypatch.setattr(jpeg2000, "measure_stages", lambda *arguments: asked.append(arguments) or [stages])
    (chapter,) = choose_chapters(["jpeg2000"])
    ((name, report),) = chapter.measure(["cpu"], True)
    assert name == "jpeg 2000"
    assert report.goals
    assert asked[0][0] == (512,)
    list(chapter.measure(["cpu"], False))
    assert asked[1][0] == (512, 1024, 2048)

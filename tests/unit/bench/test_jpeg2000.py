"""What is said about the codec: parts of encoding, and errors at equal sizes."""

import numpy as np
import pytest

from subband.bench import jpeg2000 as codec
from subband.codecs.jpeg2000 import Times

TIMES = Times(transform=0.01, blocks=0.03, rate=0.002, packets=0.001)


def test_breakdown_without_a_peer():
    for is_lossless in (False, True):
        (found,) = codec.measure_breakdown([64], ["cpu"], repeats=1, is_lossless=is_lossless, has_peer=False)
        assert found.peer is None
        assert (found.psnr is None) is is_lossless
        parts = (found.times.transform, found.times.blocks, found.times.packets)
        assert 0 < sum(parts) <= found.seconds
        assert found.length > 100


def test_report_of_speed():
    found = [codec.Breakdown(size, "cpu", 0.05, TIMES, 0.001, 0.06, 1000, 40.0) for size in (512, 4096)]
    report = codec.report_speed(found)
    assert report.sheets[0].rows[0] == [
        "512²",
        "cpu",
        "50.0",
        "10.0",
        "30.0",
        "2.0",
        "1.0",
        "1.0",
        "60.0",
        "344",
        "578",
    ]
    assert report.sheets[0].rows[1][-2:] == ["", ""]
    assert report.goals == ()
    ((parts,),) = (figure.panels[0] for figure in report.drawings.values())
    assert parts.is_stacked
    assert parts.series["blocks"] == pytest.approx([30, 30])


def test_report_of_quality():
    found = [
        codec.Quality(picture, rate, 1000, 1000, 30 + rate, 29.5 + rate) for picture in "ab" for rate in (0.5, 1.0)
    ]
    report = codec.report_quality(found)
    assert report.sheets[0].rows[-1] == ["mean difference", "+0.500", "+0.500"]
    assert [goal.is_met for goal in report.goals] == [True, True]
    (figure,) = report.drawings.values()
    assert np.asarray(figure.render()).std() > 0
    assert codec.report_quality(found, is_whole=False).goals == []

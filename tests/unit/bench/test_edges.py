"""Phantoms whose edges are known, and how edges are scored."""

import numpy as np
import pytest

from subband.bench.edges import make_scene, make_volume, measure_edges, measure_phantoms, score_edges
from subband.bench.edges import report as make_report
from subband.errors import ShapeError


@pytest.mark.parametrize("make", [make_scene, make_volume])
def test_the_truth_scores_best_and_nothing_scores_nothing(make):
    scene = make()
    whole = score_edges(scene, scene.distance < 0.71)
    assert whole.precision == whole.recall == whole.balance == 1
    empty = score_edges(scene, np.zeros(scene.picture.shape, bool))
    assert (empty.precision, empty.recall, empty.balance) == (1, 0, 0)
    everything = score_edges(scene, np.ones(scene.picture.shape, bool))
    assert everything.recall == 1
    assert everything.precision < 0.4


def test_edges_lie_where_the_picture_changes():
    scene = make_scene()
    change = np.hypot(*np.gradient(scene.picture))
    assert (scene.centred[change > 5] < 1.6).all()
    assert change[scene.centred < 0.3].min() > 2


def test_what_is_off_by_more_than_the_tolerance_does_not_count():
    scene = make_scene()
    true = scene.distance < 0.5
    assert score_edges(scene, np.roll(true, 1, axis=1)).balance > 0.95
    assert score_edges(scene, np.roll(true, 4, axis=1)).balance < 0.7
    with pytest.raises(ShapeError, match=r"find edges in scene\.picture"):
        score_edges(scene, true[1:])


def test_more_noise_is_harder_and_canny_stands_beside():
    pytest.importorskip("skimage")
    (_, little, canny), (_, much, _) = measure_edges((5.0, 40.0), seeds=(11,))
    assert little.balance > 0.99
    assert little.balance > canny.balance - 0.01
    assert 0.8 < much.balance < little.balance


def test_seeds_are_averaged():
    scene = make_scene()
    (first,), (second,), (both,) = (list(measure_edges((40.0,), scene, seeds=seeds)) for seeds in ((2,), (3,), (2, 3)))
    assert both[1].recall == pytest.approx((first[1].recall + second[1].recall) / 2)
    assert first[1].recall != second[1].recall


def test_volumes_and_the_table():
    ((_, found, canny),) = measure_edges((10.0,), make_volume(), seeds=(11,))
    assert canny is None
    assert found.precision > 0.95
    assert found.recall > 0.9


def test_report_has_a_row_for_each_phantom():
    found = list(measure_phantoms((0.0,)))
    report = make_report(found)
    assert [row[:4] for row in report.sheets[0].rows] == [
        [each.phantom, "0", f"{each.ours.precision:.3f}", f"{each.ours.recall:.3f}"] for each in found
    ]
    assert report.sheets[0].rows[0][:4] == ["picture", "0", "1.000", "1.000"]
    assert report.sheets[0].rows[1][-1] == ""
    assert report.figures["edges"][1]["canny"] is None
    assert report.drawings

"""What is measured on a speckled scan."""

from dataclasses import replace

import numpy as np
import pytest

from subband.bench import speckle
from subband.bench.speckle import OURS, PEERS, Filtered, Peer, join_images, make_enhancer, measure_filters, report
from subband.data.phantom import ultrasound
from subband.enhance import Enhancer


@pytest.fixture(scope="module")
def phantom():
    return ultrasound((96, 96))


@pytest.fixture(scope="module")
def found(phantom):
    # 1000 iterations are for those who have the time
    peers = [replace(peer, settings=peer.settings[:2]) for peer in PEERS if "1000" not in peer.name]
    return list(measure_filters(phantom, peers))


def test_every_filter_is_there_and_ours_is_last(found):
    names = [each.name for each in found]
    assert names == ["scan", "median", "Wiener", "total variation", "BayesShrink", OURS]
    assert all(each.image.min() >= 0 and each.image.max() <= 255 for each in found)
    assert all(each.psnr > found[0].psnr + 3 for each in found[1:])


def test_peers_are_tuned_for_psnr(phantom):
    tried = []

    def blend(picture, share):
        tried.append(share)
        return share * picture + (1 - share) * phantom.show() / 255

    _, peer, _ = measure_filters(phantom, [Peer("blend", "share", (0.9, 0.2, 0.5), blend)])
    assert tried == [0.9, 0.2, 0.5]
    assert peer.setting == "share 0.2"


def test_ours_wins_on_a_small_scan(found):
    ours = found[-1]
    assert all(ours.psnr > each.psnr and ours.restored > each.restored for each in found[:-1])


def test_goals_need_all_three_measures():
    other = Filtered("peer", "", np.zeros((4, 4)), 30.0, 0.9, 10.0, 30.0)
    better = Filtered(OURS, "", np.zeros((4, 4)), 31.0, 0.91, 11.0, 31.0)
    assert report([other, other, better]).goals[0].is_met
    for worse in ({"psnr": 29.0}, {"ssim": 0.89}, {"contrast": 10.0}):
        assert not report([other, other, replace(better, **worse)]).goals[0].is_met
    assert not report([other, other, better], is_whole=False).goals


def test_pictures_are_side_by_side(phantom, found):
    picture = join_images(phantom, found)
    assert picture.dtype == np.uint8
    assert picture.shape == (48, 4 * 48 + 3 * speckle._GAP)
    rows, columns = (slice(round(first * 96), round(last * 96)) for first, last in speckle._WINDOW)
    assert np.array_equal(picture[:, :48], phantom.show()[rows, columns])
    assert np.array_equal(picture[:, 56:104], phantom.scan()[rows, columns])


def test_ours_can_be_written_down():
    assert Enhancer.from_toml(make_enhancer().to_toml()) == make_enhancer()

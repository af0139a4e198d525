"""16 bits beside 32: rounded as devices round, judged by bands, and in decibels."""

from math import inf

import numpy as np
import pytest

from subband.bench.papers import precision
from subband.bench.papers.precision import LEAST_PSNR, Difference, load_frames, measure_differences, measure_fixed
from subband.bench.rendering import to_json, write_hdf5
from subband.engines import get_engine
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import WrongResultError


@pytest.fixture(scope="module")
def frames():
    return {"small": tuple(each[200:296, 180:308] for each in load_frames()["camera"])}


def test_halves_lose_what_eleven_bits_lose(frames):
    found = measure_differences("cpu", frames, (1, 3))
    for each in found.values():
        # halves have 11 bits, so that numbers near 1 are rounded by up to 2**-12; several times over
        assert LEAST_PSNR < each.psnr < 90
        assert 0 < each.differing < 0.2
        assert each.largest == 1
        assert each.narrow == pytest.approx(each.wide, abs=0.05)
    assert found["small", 3].psnr < found["small", 1].psnr


def test_32_bits_beside_themselves_are_exact(frames, monkeypatch):
    monkeypatch.setattr(precision, "_round", np.asarray)
    frame = {"halves": tuple(each.astype(np.float16).astype(np.float64) for each in frames["small"])}
    (each,) = measure_differences("cpu", frame, (2,)).values()
    assert each.psnr > 130
    assert (each.differing, each.largest) == (0.0, 0)


@pytest.mark.opencl
def test_devices_round_as_is_done_here(frames):
    pytest.importorskip("pyopencl")
    (device,) = measure_differences("opencl", frames, (3,)).values()
    (host,) = measure_differences("cpu", frames, (3,)).values()
    assert device.psnr == pytest.approx(host.psnr, abs=0.3)
    assert device.narrow == pytest.approx(host.narrow, abs=0.01)


def test_fewer_bits_are_refused(frames, monkeypatch):
    """Eight bits are not sixteen, and the bands tell."""
    monkeypatch.setattr(precision, "_round", lambda band: (np.rint(np.asarray(band) * 64) / 64).astype(np.float32))
    with pytest.raises(WrongResultError, match="16 bits"):
        measure_differences("cpu", frames, (2,))


def test_wrong_engines_are_refused(frames, monkeypatch):
    class Wrong:
        name = "wrong"

        def __getattr__(self, name):
            return getattr(get_engine("cpu"), name)

        def forward(self, plan, x):
            return {key: 1.05 * band for key, band in get_engine("cpu").forward(plan, x).items()}

        def inverse(self, plan, bands):
            return get_engine("cpu").inverse(plan, {key: band / 1.05 for key, band in bands.items()})

    monkeypatch.setattr(precision, "open_harness", lambda name: Harness(Wrong()))
    with pytest.raises(WrongResultError, match="away from the reference engine"):
        measure_differences("cpu", frames, (2,))


def test_fixed_point_loses_with_levels_and_float32_does_not(frames):
    found = measure_fixed(frames, (1, 3))
    assert [wide for _, wide in found.values()] == [inf, inf]
    first, third = (narrow for narrow, _ in found.values())
    assert LEAST_PSNR < third < first < 110


def test_wrong_fixed_point_is_refused(frames, monkeypatch):
    forward = precision.FixedPoint.forward

    def wrong(self, picture, level):
        return forward(self, picture, level=level).map(lambda band, number, key: band ^ 64)

    monkeypatch.setattr(precision.FixedPoint, "forward", wrong)
    with pytest.raises(WrongResultError, match="fixed point"):
        measure_fixed(frames, (1,))


def test_report_judges_the_worst_level(tmp_path):
    good, bad = Difference(70.0, 0.05, 1, 30.0, 30.1), Difference(50.0, 0.5, 3, 29.0, 30.1)
    exact = Difference(inf, 0.0, 0, 30.1, 30.1)
    report = precision.report(
        {"cpu": {("camera", 1): good, ("camera", 2): bad, ("scan", 1): exact}}, {("camera", 1): (93.7, inf)}
    )
    assert [goal.is_met for goal in report.goals] == [False, True]
    assert report.sheets[0].rows[1][:6] == ["cpu", "camera", "2", "50.0", "50.00%", "3"]
    assert report.sheets[0].rows[2][3] == "exact"
    assert report.sheets[1].rows == [["camera", "1", "93.7", "exact"]]
    assert "Infinity" not in to_json({"precision": report})
    pytest.importorskip("h5py")
    write_hdf5(tmp_path / "bits.h5", {"precision": report})
    assert report.drawings["16 bits beside 32"].render().width > 100

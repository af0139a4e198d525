from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from subband import (
    LiftingScheme,
    Pyramid,
    Step,
    Wavelet,
    decompose,
    reconstruct,
    wavedec,
    wavedec2,
    wavedecn,
    waverec2,
)
from subband.errors import ArgumentError, CoefficientsError, DtypeError, FormatError, ShapeError

RNG = np.random.default_rng(5)
DB2 = Wavelet("db2").filter_bank
STEPS = LiftingScheme((Step("predict", 0, (-0.5, -0.5)), Step("update", -1, (0.25, 0.25))))
OWN = {
    "nameless": Wavelet("", filter_bank=DB2),
    "named as another": Wavelet("haar", filter_bank=DB2),
    "steps": Wavelet.from_lifting(
        "mine", LiftingScheme((Step("predict", 0, (-0.5, -0.5)), Step("update", -1, (0.25, 0.25))))
    ),
}


def test_iterates_like_the_lists_of_pywavelets():
    x = RNG.standard_normal((24, 30))
    for ours, theirs in zip(decompose(x, "db2", 2, "zero"), wavedec2(x, "db2", "zero", 2), strict=True):
        for a, b in zip(np.atleast_3d(ours), np.atleast_3d(theirs), strict=True):
            np.testing.assert_allclose(a, b)
    one = decompose(x[0], "db2", 2, "zero")
    for a, b in zip(one, wavedec(x[0], "db2", "zero", 2), strict=True):
        np.testing.assert_allclose(a, b)
    cube = RNG.standard_normal((8, 9, 10))
    for a, b in zip(list(decompose(cube, "haar", 1))[1:], wavedecn(cube, "haar", level=1)[1:], strict=True):
        assert a.keys() == b.keys()
    assert len(one) == 3
    assert one[0] is one.approximation
    np.testing.assert_allclose(waverec2(decompose(x, "db2", 2).to_coeffs(), "db2")[:24, :30], x, atol=1e-12)


def test_mosaic_holds_every_coefficient_of_a_mode_that_does_not_expand():
    x = RNG.standard_normal((13, 18, 2))
    pyramid = decompose(x, level=3, axes=(0, 1))
    mosaic = pyramid.mosaic()
    assert mosaic.shape == x.shape
    coefficients = np.concatenate([band.ravel() for _, _, band in pyramid.bands()])
    np.testing.assert_array_equal(np.sort(mosaic.ravel()), np.sort(coefficients))
    np.testing.assert_array_equal(mosaic[:2, :3], pyramid.approximation)


def test_mosaic_is_never_the_approximation_itself():
    pyramid = decompose(np.ones(4), level=0)
    assert not np.shares_memory(pyramid.mosaic(), pyramid.approximation)


def test_picture_shows_the_image_small_and_details_at_mid_grey():
    x = np.zeros((32, 32))
    x[:, 16:] = 255.0
    picture = decompose(x, "haar", 2).picture()
    assert picture.dtype == np.uint8
    assert picture.shape == (32, 32)
    np.testing.assert_array_equal(picture[:8, :4], 0)
    np.testing.assert_array_equal(picture[:8, 4:8], 255)
    assert np.unique(picture[16:, 16:]).tolist() == [128]
    assert decompose(x.astype(np.uint8), "haar", 2, reversible=True).picture().shape == (32, 32)


def test_what_has_no_picture_says_so():
    with pytest.raises(CoefficientsError, match="undecimated"):
        decompose(np.ones((8, 8)), level=1, stationary=True).mosaic()
    with pytest.raises(DtypeError, match="real or imaginary"):
        decompose(np.ones((8, 8), complex), "haar", 1).picture()
    with pytest.raises(ShapeError, match="empty"):
        decompose(np.ones((0, 8)), "haar", 1, axes=1).picture()


@pytest.mark.parametrize("wavelet", ["cdf97", "bior2.2", *OWN.values()], ids=["cdf97", "bior2.2", *OWN])
@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("suffix", ["npz", "h5", "hdf5"])
def test_saved_pyramids_come_back_whole(tmp_path, wavelet, stationary, suffix):
    x = RNG.standard_normal((20, 21)).astype(np.float32)
    pyramid = decompose(x, wavelet, 1, "symmetric", stationary=stationary)
    pyramid.save(tmp_path / f"kept.{suffix}")
    loaded = Pyramid.load(tmp_path / f"kept.{suffix}")
    assert loaded.plan == pyramid.plan
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(reconstruct(loaded), reconstruct(pyramid))
    assert [path.name for path in tmp_path.iterdir()] == [f"kept.{suffix}"]


def test_failed_saves_leave_what_was_there(tmp_path, monkeypatch):
    pyramid = decompose(np.ones(9), level=1)
    pyramid.save(tmp_path / "kept.npz")
    before = (tmp_path / "kept.npz").read_bytes()

    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space"):
        pyramid.save(tmp_path / "kept.npz")
    assert (tmp_path / "kept.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["kept.npz"]


def test_files_of_a_later_format_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("subband.pyramid_files.FORMAT", 2)
    decompose(np.ones(9), level=1).save(tmp_path / "later.npz")
    monkeypatch.undo()
    with pytest.raises(FormatError, match="newer subband"):
        Pyramid.load(tmp_path / "later.npz")


def test_map_hands_over_level_and_key():
    seen = []
    decompose(np.ones((8, 8)), "haar", 2).map(lambda band, level, key: seen.append((level, key)) or band)
    assert seen == [(2, "aa"), (2, "ad"), (2, "da"), (2, "dd"), (1, "ad"), (1, "da"), (1, "dd")]


def test_map_must_return_bands():
    pyramid = decompose(np.ones((8, 8)), "haar", 1)
    with pytest.raises(CoefficientsError, match="must return arrays"):
        pyramid.map(lambda band, level, key: None)
    with pytest.raises(CoefficientsError, match=r"shape \(2, 4\); .*\(4, 4\)"):
        pyramid.map(lambda band, level, key: band[:2])


def test_what_is_not_finite_is_not_drawn():
    x = np.ones((16, 16))
    x[3, 4] = np.nan
    pyramid = decompose(x, "haar", level=1)
    with pytest.raises(ArgumentError, match=r"NaN or infinite, which cannot be drawn; .*nan_to_num"):
        pyramid.picture()
    assert "<img" not in pyramid._repr_html_()
    assert "<img" not in (decompose(np.ones((8, 8)), "haar", level=1) * 2j)._repr_html_()


def test_shallow_copies_can_be_assigned_to():
    pyramid = decompose(RNG.normal(size=(16, 16)), "haar", level=2)
    other = copy(pyramid)
    other[1, "dd"] = 0
    other[2, "aa"] *= 2
    assert pyramid[1, "dd"].all()
    assert not np.shares_memory(other[2, "aa"], pyramid[2, "aa"])


def test_thresholds_of_integers_say_how_to_go_on():
    pyramid = decompose(RNG.integers(0, 99, (16, 16)), "haar", level=1, reversible=True).threshold(4)
    with pytest.raises(DtypeError, match=r"holds float64.*round and convert it, as with pyramid\.map"):
        pyramid.reconstruct()
    whole = pyramid.map(lambda band, *_: np.rint(band).astype(np.int32))
    assert whole.reconstruct().dtype == pyramid.dtype

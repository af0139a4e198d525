"""Coefficients that do not belong together are refused with their names and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband import errors

X = np.arange(64.0)
IMAGE = np.arange(80.0).reshape(8, 10)
A, D2, D1 = sb.wavedec(X, "db2", level=2)
SMALL, COARSE, FINE = sb.wavedec2(IMAGE, "haar", level=2)
BANDS = sb.dwtn(IMAGE, "haar")
PYRAMID = sb.decompose(IMAGE, "haar", level=2)


def damaged(function):
    """Return the details of the pyramid, each band changed."""
    return [{key: function(band) for key, band in bands.items()} for bands in PYRAMID.details]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.waverec([A, D2[:-3], D1], "db2"), r"\(15,\).*\(18,\)"),
        (lambda: sb.waverec([A, D2, D1[:-3]], "db2"), r"\(30,\).*\(3[34],\)"),
        (lambda: sb.waverec([], "db2"), "coeffs is empty"),
        (lambda: sb.waverec(None, "db2"), "coeffs is a NoneType"),
        (lambda: sb.waverec([None, None], "db2"), "at least one band"),
        (lambda: sb.waverec([A, {"d": D2}], "db2"), r"coeffs\[1\] is a dict"),
        (lambda: sb.idwt(np.ones(5), np.ones(6), "db2"), r"\(6,\).*\(5,\)"),
        (lambda: sb.idwt(None, None, "db2"), "cA and cD are both None"),
        (lambda: sb.idwt(np.ones(1), np.ones(1), "db4"), "too few for 'db4'"),
        (lambda: sb.waverec2([SMALL, (COARSE[0], COARSE[1][:-1], COARSE[2]), FINE], "haar"), r"\(1, 3\)"),
        (lambda: sb.waverec2([SMALL, COARSE[:2]], "haar"), r"coeffs\[1\].*three"),
        (lambda: sb.idwt2((IMAGE, (IMAGE, IMAGE[:3], IMAGE)), "haar"), r"\(3, 10\).*\(8, 10\)"),
        (lambda: sb.idwt2((IMAGE, (IMAGE, IMAGE)), "haar"), r"\(cA, \(cH, cV, cD\)\)"),
        (lambda: sb.waverecn([SMALL, {"xy": COARSE[0]}], "haar"), "'xy'"),
        (lambda: sb.waverecn([SMALL, {"d": COARSE[0]}], "haar"), "letter"),
        (lambda: sb.idwtn({}, "haar"), "at least one band"),
        (lambda: sb.idwtn({"aa": IMAGE, "d": IMAGE}, "haar"), r"\['aa', 'd'\]"),
        (lambda: sb.idwtn({**BANDS, "dd": BANDS["dd"][:2]}, "haar"), r"'dd' of shape \(2, 5\)"),
        (lambda: sb.iswt([(X, X[:3])], "haar"), r"\(3,\).*\(64,\)"),
        (lambda: sb.iswt([], "haar"), "coeffs is empty"),
        (lambda: sb.imra([X, X[:3]]), r"\(3,\)"),
        (lambda: sb.imra([]), "empty"),
        (lambda: sb.coeffs_to_array([]), "not empty"),
        (lambda: sb.Pyramid(PYRAMID.plan, PYRAMID.approximation[:1], PYRAMID.details), r"approximation.*\(1, 3\)"),
        (lambda: sb.Pyramid(PYRAMID.plan, PYRAMID.approximation, PYRAMID.details[:1]), "1 levels.*2"),
        (lambda: sb.Pyramid(PYRAMID.plan, PYRAMID.approximation, damaged(lambda band: band[:1])), r"details\[0\]"),
        (lambda: sb.Pyramid(PYRAMID.plan, PYRAMID.approximation, [{}, {}]), r"details\[0\].*'ad', 'da', 'dd'"),
        (lambda: PYRAMID.map(lambda band, level, key: band[:1]), "shape"),
    ],
)
def test_bands_that_do_not_belong_together(call, message):
    with pytest.raises(ValueError, match=f"(?s){message}") as caught:
        call()
    assert isinstance(caught.value, errors.CoefficientsError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sb.idwt(np.array([None] * 4), None, "db2"),
        lambda: sb.reconstruct(3),
        lambda: sb.reconstruct([A, D2, D1]),
        lambda: PYRAMID.map(lambda band, level, key: None),
    ],
)
def test_what_is_no_coefficients_at_all(call):
    with pytest.raises(errors.SubbandError):
        call()


def test_lists_of_numbers_are_coefficients_too():
    np.testing.assert_allclose(sb.idwt([1, 2], [0, 0], "haar"), sb.idwt(np.array([1.0, 2.0]), None, "haar"))


def test_files_that_are_no_pyramids(tmp_path):
    path = tmp_path / "bad.npz"
    path.write_text("hello")
    with pytest.raises(errors.FormatError, match=r"bad\.npz"):
        sb.Pyramid.load(path)
    np.savez(tmp_path / "other.npz", x=X)
    with pytest.raises(errors.FormatError, match=r"other\.npz"):
        sb.Pyramid.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        sb.Pyramid.load(tmp_path / "nowhere.npz")

"""What cannot be used is refused by name, with the built-in kind of error that PyWavelets raises, and a way out."""

import numpy as np
import pytest

import subband as sb
from subband import errors

X = np.arange(8.0)
IMAGE = np.ones((4, 4))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sb.downcoef("a", X, "haar", level=1.5), ValueError, r"level=1\.5 .* finest level is 1"),
        (lambda: sb.downcoef("a", X, "haar", level="a"), ValueError, "level='a' .* finest level is 1"),
        (lambda: sb.upcoef("a", X, "haar", take=1.5), TypeError, r"take=1\.5 .* use 0"),
        (lambda: sb.iswt(None, "haar"), TypeError, "coeffs is a NoneType; give the list"),
        (lambda: sb.iswt(5, "haar"), TypeError, "coeffs is a int; give the list"),
        (lambda: sb.iswt("ab", "haar"), TypeError, "coeffs is a str; give the list"),
        (lambda: sb.iswt([(X, X, X)], "haar"), ValueError, r"coeffs\[0\] has 3 entries; .* \(cA, cD\)"),
        (lambda: sb.iswt([(X, X), X], "haar"), ValueError, r"coeffs\[1\] is a ndarray; .* \(cA, cD\)"),
        (lambda: sb.iswt([None, X], "haar"), ValueError, "no approximation .* np.zeros"),
        (lambda: sb.iswt2([(IMAGE, (IMAGE, IMAGE))], "haar"), ValueError, r"level 1 .* 2 details; .*\(cH, cV, cD\)"),
        (lambda: sb.iswt2([(IMAGE, None)], "haar"), ValueError, r"level 1 are a NoneType; .*\(cH, cV, cD\)"),
        (lambda: sb.iswtn(None, "haar"), TypeError, "coeffs is a NoneType; give the list"),
        (lambda: sb.iswtn({"d": X}, "haar"), TypeError, "coeffs is a dict; give the list"),
        (lambda: sb.iswtn([], "haar"), ValueError, "coeffs is empty"),
        (lambda: sb.iswtn([None, {"d": X}], "haar"), ValueError, "no approximation .* np.zeros"),
        (lambda: sb.iswtn([{"a": None, "d": X}], "haar"), ValueError, "no approximation .* np.zeros"),
        (lambda: sb.iswtn([{"d": X}], "haar"), ValueError, "no approximation .* np.zeros"),
        (lambda: sb.iswtn([X, X], "haar"), ValueError, "level 1 of coeffs is a ndarray; .* dictionary"),
        (lambda: sb.iswtn([X, {"d": X}, {"x": X}], "haar"), ValueError, "'x'"),
        (lambda: sb.imra(None), TypeError, "mra_coeffs is a NoneType; give the list"),
        (lambda: sb.imra([]), ValueError, "mra_coeffs is empty; give the list"),
        (lambda: sb.imra([X, X[:3]]), ValueError, r"\(3,\), \(8,\); all must have one shape"),
        (lambda: sb.imra2([IMAGE, 5]), ValueError, r"mra_coeffs\[1\] is a int; give the list"),
        (lambda: sb.imran([IMAGE, IMAGE]), ValueError, r"mra_coeffs\[1\] is a ndarray; give the list"),
        (lambda: sb.WaveletPacket([[1, 2], [3]], "haar"), ValueError, "data makes no array: .* same length"),
        (lambda: sb.array_to_coeffs(X, 5), TypeError, "coeff_slices is a int; .* coeffs_to_array"),
        (lambda: sb.array_to_coeffs(X, [slice(2), 6]), ValueError, r"coeff_slices\[1\] is a int; .* dictionary"),
        (lambda: sb.array_to_coeffs(X, ["a"]), ValueError, r"coeff_slices\[0\]='a' does not fit arr of shape \(8,\)"),
        (lambda: sb.unravel_coeffs(X, 5, 5), TypeError, "coeff_slices is a int; .* ravel_coeffs"),
        (lambda: sb.unravel_coeffs(X, [slice(8)], 5), TypeError, "coeff_shapes is a int; .* ravel_coeffs"),
        (lambda: sb.unravel_coeffs(X, [slice(8)], [5]), ValueError, r"coeff_shapes\[0\] has no shape"),
        (lambda: sb.wavedecn_shapes("ab", "haar"), TypeError, r"shape='ab' .* \(64, 32\)"),
        (lambda: sb.wavedecn_shapes(5, "haar"), TypeError, r"shape=5 .* \(64, 32\)"),
        (lambda: sb.wavedecn_shapes((8, "b"), "haar"), TypeError, r"shape\[1\]='b' .* integer"),
        (lambda: sb.dwtn_max_level("ab", "haar"), TypeError, r"shape='ab' .* \(64, 32\)"),
        (lambda: sb.dwt_max_level("a", "haar"), TypeError, "data_len='a' .* integer"),
        (lambda: sb.dwt_max_level(None, "haar"), TypeError, "data_len=None .* integer"),
        (lambda: sb.dwt_max_level(np.inf, "haar"), ValueError, "data_len=inf .* integer"),
        (lambda: sb.dwt_coeff_len("a", 2, "zero"), TypeError, "data_len='a' .* integer"),
        (lambda: sb.swt_max_level("a"), TypeError, "input_len='a' .* integer"),
        (lambda: sb.pad(["a"], 2, "zero"), TypeError, r"x has dtype <U1, .* \.astype"),
        (lambda: sb.pad([[1], [1, 2]], 2, "zero"), ValueError, "x makes no array"),
        (lambda: sb.threshold(X, "a"), TypeError, "value='a' is not a number; use"),
        (lambda: sb.threshold(X, None), TypeError, "value=None is not a number; use"),
        (lambda: sb.threshold(X, ["a"]), TypeError, "value has dtype <U1"),
        (lambda: sb.threshold(X, [1, 2]), ValueError, r"value has shape \(2,\), .* shape \(8,\); give one number"),
        (lambda: sb.threshold(X, 1, substitute="a"), TypeError, "substitute='a' is not a number; use"),
        (lambda: sb.threshold_firm(X, "a", 2), TypeError, "value_low='a' is not a number; use"),
        (lambda: sb.threshold_firm(X, 1, "a"), TypeError, "value_high='a' is not a number; use"),
        (lambda: sb.threshold_firm(X, 1, X), ValueError, r"value_high has shape \(8,\); it must be one number"),
        (lambda: sb.fswavedecn(IMAGE, "haar", levels="ab"), ValueError, "level='ab' is not an integer"),
        (lambda: sb.fswavedecn(IMAGE, "haar", levels=1.5), ValueError, r"level=1\.5 is not an integer"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, errors.SubbandError)


def test_levels_may_be_an_array():
    assert sb.fswavedecn(np.ones((8, 8)), "haar", levels=np.array([1, 2])).levels == [1, 2]
    assert sb.fswavedecn(np.ones((8, 8)), "haar", levels=np.array(2)).levels == [2, 2]
    assert sb.fswavedecn(np.ones((8, 8)), "haar", levels=(None, 1)).levels == [3, 1]


def test_lengths_are_cut_off_as_in_pywavelets():
    assert sb.dwt_max_level(8.5, "haar") == 3
    assert sb.wavedecn_shapes((8.5,), "haar", level=1) == [(4,), {"d": (4,)}]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: sb.dwt(x, "haar"),
        lambda x: sb.decompose(x, "haar"),
        lambda x: sb.decompose(x.astype(int), "haar", reversible=True),
        lambda x: sb.idwt(x, None, "haar"),
        lambda x: sb.pad(x, 1, "zero"),
        lambda x: sb.swt(x, "haar"),
        lambda x: sb.threshold(x, 1.0),
    ],
)
def test_masks_are_not_lost_in_silence(call):
    call(np.ma.masked_array(X))
    with pytest.raises(errors.DtypeError, match=r"3 masked values, .* \.filled"):
        call(np.ma.masked_array(X, X > 4))


@pytest.mark.parametrize(("length", "level"), [(7, 1), (12, 3)])
def test_stationary_transforms_of_any_length_are_pointed_to(length, level):
    with pytest.raises(ValueError, match=r"decompose\(\.\.\., stationary=True\)"):
        sb.swt(np.ones(length), "haar", level)
    assert sb.decompose(np.ones(length), "haar", level, stationary=True).level == level


def test_stationary_levels_of_odd_lengths_warn_with_a_way_out():
    with pytest.warns(UserWarning, match=r"decompose\(\.\.\., stationary=True\)"):
        assert sb.swt_max_level(7) == 0


def test_errors_have_names_to_catch():
    tree = sb.WaveletPacket(X, "haar", maxlevel=2)
    with pytest.raises(errors.PathError):
        tree["aaa"]
    with pytest.raises(errors.PathTypeError, match="use one such as 'ad'"):
        tree[5]
    with pytest.raises(errors.MissingNodeError):
        sb.WaveletPacket(None, "haar")["a"]
    with pytest.raises(errors.ModeTypeError):
        sb.dwt(X, "haar", mode=1.5)
    with pytest.raises(errors.SingleAxisError):
        sb.dwt2(IMAGE, "haar", axes=1)
    with pytest.raises(errors.BandShapesError):
        sb.iswt([(X, X[:4])], "haar")
    with pytest.raises(errors.TextError):
        sb.dwt(["a", "b"], "haar")

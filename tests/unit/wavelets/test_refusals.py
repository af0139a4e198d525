"""Filters, steps and schemes that mean nothing are refused by name."""

import numpy as np
import pytest

from subband import ContinuousWavelet, Wavelet, integrate_wavelet, orthogonal_filter_bank, qmf
from subband.errors import SubbandError
from subband.wavelets import LiftingScheme, Step

HAAR = Wavelet("haar").filter_bank
PREDICT = Step("predict", 0, (-1.0,))


def spoil(number):
    """Return the Haar filters with another first tap."""
    return [[number, 0.7], *HAAR[1:]]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Wavelet("haar").wavefun("a"), TypeError, "level='a' is not an integer; use"),
        (lambda: Wavelet("haar").wavefun(None), TypeError, "level=None is not an integer; use"),
        (lambda: Wavelet("haar").wavefun(np.nan), ValueError, "level=nan is not an integer; use"),
        (lambda: ContinuousWavelet("morl").wavefun("a"), TypeError, "level='a' is not an integer; use"),
        (lambda: ContinuousWavelet("morl").wavefun(length="a"), TypeError, "length='a' is not an integer; use"),
        (lambda: integrate_wavelet("haar", precision="a"), TypeError, "level='a' is not an integer; use"),
        (
            lambda: Wavelet("mine", filter_bank=spoil(np.nan)),
            ValueError,
            "dec_lo of filter_bank has a tap nan; .* finite",
        ),
        (lambda: Wavelet("mine", filter_bank=spoil(-np.inf)), ValueError, "dec_lo of filter_bank has a tap -inf; "),
        (lambda: Wavelet("mine", filter_bank=spoil([1, 2])), ValueError, "dec_lo of filter_bank .* different lengths"),
        (lambda: Wavelet("mine", filter_bank=5), TypeError, "filter_bank=5 .* four filters: dec_lo"),
        (lambda: Wavelet.from_lifting("n", "cdf97"), TypeError, "scheme='cdf97' is not a LiftingScheme; make"),
        (lambda: Wavelet.from_lifting(5, LiftingScheme((PREDICT,))), TypeError, "name=5 .* is not a string"),
        (lambda: Step("predict", 0, "ab"), TypeError, "taps='ab' .* use"),
        (lambda: Step("predict", 0, 5), TypeError, "taps=5 .* use"),
        (lambda: Step("predict", 0, (None,)), TypeError, "tap=None .* not a number; use"),
        (lambda: Step("predict", 0, (1.0, np.nan)), ValueError, "tap=nan .* finite"),
        (lambda: Step("predict", 0, (np.inf,)), ValueError, "tap=inf .* finite"),
        (lambda: Step("predict", 0, ()), ValueError, r"taps=\(\) .* leave the step out"),
        (lambda: Step("predict", "a", (1.0,)), TypeError, "start='a' .* not an integer; use"),
        (lambda: LiftingScheme("ab"), TypeError, r"steps holds 'a', .* use Step\("),
        (lambda: LiftingScheme(5), TypeError, r"steps=5 .* use \(Step\("),
        (lambda: LiftingScheme((PREDICT,), scale_lo=0), ValueError, "scale_lo=0 .* must not be zero"),
        (lambda: LiftingScheme((PREDICT,), scale_hi=np.nan), ValueError, "scale_hi=nan .* finite"),
        (lambda: LiftingScheme((PREDICT,), scale_hi=np.inf), ValueError, "scale_hi=inf .* finite"),
        (lambda: LiftingScheme((PREDICT,), scale_hi="a"), TypeError, "scale_hi='a' .* not a number; use"),
        (lambda: LiftingScheme((PREDICT,), shift_lo=0.5), TypeError, r"shift_lo=0\.5 .* not an integer; use"),
        (lambda: orthogonal_filter_bank("a"), ValueError, "scaling_filter has 0 dimensions; a filter has one"),
        (lambda: orthogonal_filter_bank(5), TypeError, "scaling_filter=5 is not a sequence; give"),
        (lambda: orthogonal_filter_bank(["a", "b"]), ValueError, "scaling_filter .* not a number; give"),
        (lambda: orthogonal_filter_bank([]), ValueError, "scaling_filter is empty"),
        (lambda: orthogonal_filter_bank([1, np.nan]), ValueError, "scaling_filter has a tap nan; .* finite"),
        (lambda: orthogonal_filter_bank([1, -1]), ValueError, "scaling_filter add up to 0"),
        (lambda: orthogonal_filter_bank([1j, 2]), TypeError, "scaling_filter is complex"),
        (lambda: qmf(5), ValueError, "filt=5 is not a filter; give"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, SubbandError)


def test_taps_may_be_an_array():
    assert Step("update", np.int64(-1), np.array([0.25, 0.25])) == Step("update", -1, (0.25, 0.25))

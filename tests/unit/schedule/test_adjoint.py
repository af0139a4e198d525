"""The transpose of a plan: how much of it is mixed, for which banks, and with which wavelet."""

from __future__ import annotations

import numpy as np
import pytest

from subband.errors import ArgumentError
from subband.plan import level_plan
from subband.schedule.adjoint import transpose_forward, transpose_inverse
from subband.schedule.axis import axis_program, map_mixed
from subband.wavelets import Wavelet, as_wavelet

IMPERFECT = [[0.5, 0.5, 0.1], [0.5, -0.5, 0.2], [0.4, 0.5, 0.3], [0.1, -0.5, 0.5]]


def transpose(transposed, wavelet, mode, length):
    (own,) = transposed(level_plan((length,), (0,), (as_wavelet(wavelet),), (mode,))).plans
    return own


@pytest.mark.parametrize("mode", ["zero", "periodization"])
def test_nothing_is_mixed_where_nothing_is_folded(mode):
    own = transpose(transpose_forward, "bior4.4", mode, 64)
    assert own.coefficient_mixture is None
    assert transpose(transpose_inverse, "bior4.4", mode, 64).sample_mixture is None


def test_haar_never_folds_an_even_length():
    assert transpose(transpose_forward, "haar", "symmetric", 64).coefficient_mixture is None
    assert transpose(transpose_forward, "haar", "symmetric", 65).coefficient_mixture is not None


@pytest.mark.parametrize("length", [120, 121, 5000, 100_001])
def test_mixtures_lie_at_the_ends_however_long_the_axis(length):
    own = transpose(transpose_forward, "cdf97", "symmetric", length)
    mixed = map_mixed(own, axis_program(own, "inverse"), "inverse")
    assert mixed.lead == 16
    assert mixed.tail <= 17
    distance = np.minimum(own.coefficient_mixture.columns, own.coded - 1 - own.coefficient_mixture.columns)
    assert distance.max() < 10


def test_single_precision_leaves_out_what_it_does_not_see():
    own = transpose(transpose_forward, "dmey", "symmetric", 2000)
    program = axis_program(own, "inverse")
    single, double = (map_mixed(own, program, "inverse", dtype) for dtype in (np.float32, np.float64))
    assert single.lead < double.lead
    assert abs(single.weights).min() > 1e-9


def test_an_orthogonal_wavelet_is_its_own_dual():
    assert transpose(transpose_forward, "db4", "symmetric", 64).wavelet == as_wavelet("db4")
    assert transpose(transpose_forward, "bior4.4", "symmetric", 64).wavelet.name == "dual of bior4.4"


def test_a_bank_that_does_not_reconstruct_is_applied_as_a_matrix():
    own = transpose(transpose_forward, Wavelet("imperfect", filter_bank=IMPERFECT), "symmetric", 40)
    assert own.wavelet.name == "lazy"
    assert set(own.coefficient_mixture.rows) == set(range(own.coded))


def test_reversible_plans_have_no_transpose():
    plan = level_plan((8,), (0,), (as_wavelet("cdf53"),), ("whole",), True)
    for transposed in (transpose_forward, transpose_inverse):
        with pytest.raises(ArgumentError, match="rounds to integers and has no adjoint"):
            transposed(plan)

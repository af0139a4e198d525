"""Both forms of a wavelet, filters and lifting steps, are one process that maps pairs to pairs."""

from __future__ import annotations

import numpy as np
import pytest

from subband.pairs import Alignment, PairFilter, PairLifting, align
from subband.testing import all_wavelets, allowed_modes, draw_samples, imprecision
from subband.wavelets import Wavelet

#: Room on both sides of the sequences below, more than any filter needs.
ROOM = 400


def run_filter(pair, u, pairs, start=0):
    """Return `pairs` pairs of outputs from pair `start` on; ``u[ROOM]`` is position 0 of the sequence."""
    windows = [u[ROOM + 2 * n + pair.first :][: pair.width] for n in range(start, start + pairs)]
    return np.array([[np.dot(taps, window) for taps in pair.taps] for window in windows])


def run_lifting(lifting, u, pairs):
    """The same, by the steps."""
    members = [
        scale * np.roll(u, -start)[: 2 * (u.size // 2) : 2]
        for start, scale in zip((lifting.even, lifting.odd), lifting.scales, strict=True)
    ]
    for step in lifting.steps:
        for j, tap in enumerate(step.taps):
            members[step.target] = members[step.target] + tap * np.roll(members[1 - step.target], -step.start - j)
    columns = [out.scale * np.roll(members[out.member], -out.shift)[ROOM // 2 :][:pairs] for out in lifting.outputs]
    return np.stack(columns, axis=1)


def alignments(wavelet):
    return {
        mode: align(wavelet, mode) for mode in ("symmetric", "periodization", "whole") if mode in allowed_modes(wavelet)
    }


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_lifting_gives_what_the_filters_give(direction):
    u = draw_samples((2 * ROOM + 40,))
    factored = 0
    for wavelet in all_wavelets():
        for mode, alignment in alignments(wavelet).items():
            lifting = getattr(PairLifting, direction)(wavelet, alignment)
            if lifting is None:
                continue
            factored += 1
            expected = run_filter(getattr(PairFilter, direction)(wavelet, alignment), u, 20)
            close = 1e-12 + 20 * imprecision(wavelet)
            np.testing.assert_allclose(run_lifting(lifting, u, 20), expected, atol=close, err_msg=f"{wavelet!r} {mode}")
    assert factored > 100


def test_wavelets_without_steps_have_none():
    dmey = Wavelet("dmey")
    assert PairLifting.forward(dmey, align(dmey, "zero")) is None
    assert PairLifting.inverse(dmey, align(dmey, "zero")) is None


def test_forward_is_the_convolution_of_pywavelets():
    """``lo[n] = sum_k dec_lo[k] x[2 n + 1 - k]``, away from borders."""
    u = draw_samples((2 * ROOM + 40,))
    for wavelet in all_wavelets():
        out = run_filter(PairFilter.forward(wavelet, Alignment(0, 0, 0)), u, 10)
        for column, taps in enumerate((wavelet.dec_lo, wavelet.dec_hi)):
            convolved = np.convolve(u, taps)[ROOM + 1 :: 2][:10]
            np.testing.assert_allclose(out[:, column], convolved, atol=1e-12)


def test_inverse_undoes_forward():
    u = draw_samples((3 * ROOM,))
    for wavelet in all_wavelets():
        for alignment in (*alignments(wavelet).values(), Alignment(0, 2, 3), Alignment(1, -1, 0)):
            # coefficients in turn, from pair -100 on, so that all that pair 0 needs are there
            coefficients = run_filter(PairFilter.forward(wavelet, alignment), u, 200, -100).ravel()
            sequence = np.concatenate([np.zeros(ROOM - 200), coefficients])
            y = run_filter(PairFilter.inverse(wavelet, alignment), sequence, 5).ravel()
            close = 1e-11 + 20 * imprecision(wavelet)
            np.testing.assert_allclose(y, u[ROOM:][:10], atol=close, err_msg=f"{wavelet!r} {alignment}")


def test_whole_is_centred():
    """In whole mode low coefficient n sits on sample 2 n, and high coefficient n on sample 2 n + 1."""
    for wavelet in all_wavelets():
        if not wavelet.is_whole_sample_symmetric:
            continue
        pair = PairFilter.forward(wavelet, align(wavelet, "whole"))
        for centre, taps in zip((0, 1), pair.taps, strict=True):
            used = np.flatnonzero(np.abs(taps) > 0)
            assert used[0] + used[-1] + 2 * pair.first == 2 * centre, wavelet
            np.testing.assert_allclose(taps[used[0] : used[-1] + 1], taps[used[0] : used[-1] + 1][::-1], atol=1e-12)


def test_reach_is_what_is_read():
    pair = PairFilter(-3, ((1.0,) * 5, (1.0,) * 5))
    assert pair.width == 5
    assert pair.reach(1) == (-3, 2)
    assert pair.reach(4) == (-3, 8)


def test_zeros_at_the_ends_are_left_out():
    pair = PairFilter.forward(Wavelet("bior2.2"), Alignment(0, 0, 0))
    assert pair.width == 5, "six taps are listed, five are not zero"
    assert any(pair.taps[0][end] or pair.taps[1][end] for end in (0, -1))

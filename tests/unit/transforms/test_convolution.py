"""Convolution by blocks against sums tap by tap."""

from __future__ import annotations

import numpy as np
import pytest

from subband.engines.threads import set_threads
from subband.transforms import convolution
from subband.transforms.convolution import Bank, Kernel, _choose_layout, _fast_length, convolve_directly

RNG = np.random.default_rng(4)


def draw(shape, dtype="float64"):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if "complex" in dtype else x).astype(dtype)


def draw_kernels(sizes, dtype="float64"):
    return [Kernel(draw(size, dtype), int(RNG.integers(size))) for size in sizes]


def compare(bank, signals, dtype):
    results = np.full((len(bank.kernels), *signals.shape), np.nan, dtype)
    expected = np.empty_like(results)
    bank.convolve(signals, results)
    convolve_directly(bank.kernels, signals, expected)
    np.testing.assert_allclose(results, expected, atol=1e-10)


@pytest.mark.parametrize("length", [1, 2, 100, 257, 5000])
@pytest.mark.parametrize("sizes", [[1], [3, 3], [40, 2, 90, 700, 5], [2000, 1, 30]])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_blocks_give_what_taps_give(length, sizes, dtype):
    kernels = draw_kernels(sizes, dtype)
    compare(Bank(kernels, length, np.dtype(dtype)), draw((3, length)), dtype)


@pytest.mark.parametrize("kept", [0, 1 << 21])
@pytest.mark.parametrize("step", [1, 300, 1 << 15])
def test_pieces_of_any_size_are_put_together(monkeypatch, kept, step):
    monkeypatch.setattr(convolution, "_KEPT", kept)
    monkeypatch.setattr(convolution, "_STEP", step)
    compare(Bank(draw_kernels([9, 200, 17, 31, 5]), 1500, np.dtype("float64")), draw((4, 1500)), "float64")


def test_threads_share_the_work(monkeypatch):
    monkeypatch.setattr(convolution, "_SHARED", 0)
    monkeypatch.setattr(convolution, "_STEP", 512)
    set_threads(3)
    try:
        compare(Bank(draw_kernels([9, 200, 17, 31, 5]), 1500, np.dtype("float64")), draw((4, 1500)), "float64")
    finally:
        set_threads(None)


@pytest.mark.parametrize("kept", [0, 1 << 21])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("length", [1, 60, 20_000])
def test_correlation_is_the_adjoint(monkeypatch, dtype, length, kept):
    monkeypatch.setattr(convolution, "_KEPT", kept)
    # reaching ahead only, where blocks may not begin as for filters that reach back
    kernels = [Kernel(draw(size, dtype), size - 1) for size in (4, 11, 160, 35)]
    bank = Bank(kernels, length, np.dtype(dtype))
    assert length < 100 or all(group.layout.blocks > 1 for group in bank._groups)
    x, y = draw((2, length), dtype), draw((4, 2, length), dtype)
    weights = RNG.random(4)
    forward = np.empty_like(y)
    bank.convolve(x, forward)
    back = bank.correlate(y, weights)
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(forward * weights[:, None, None], y), np.vdot(x, back), rtol=1e-10)


def test_short_filters_cut_long_signals_into_blocks():
    assert _choose_layout((8, 8), 100_000).blocks > 10
    assert _choose_layout((400, 400), 500).blocks == 1


def test_filters_of_like_length_share_a_group():
    bank = Bank(draw_kernels([17, 18, 19, 20, 4000, 4001]), 50_000, np.dtype("float64"))
    assert [list(group.members) for group in bank._groups] == [[0, 1, 2, 3], [4, 5]]


def test_fast_lengths_are_the_next_ones():
    smooth = sorted(2**i * 3**j * 5**k for i in range(13) for j in range(9) for k in range(7))
    for least in range(1, 3000):
        assert _fast_length(least) == next(number for number in smooth if number >= least)

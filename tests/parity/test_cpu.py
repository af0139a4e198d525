"""The CPU engine gives what the reference engine gives, for any plan and any array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband import decompose, reconstruct
from subband.engines import get_engine, get_threads, set_threads, threads
from subband.engines.cpu import engine, jobs, sweep
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.testing.strategies import frames, level_cases, modes, reversible_cases, stationary_cases, wavelets

CPU, REFERENCE = get_engine("cpu"), get_engine("reference")


def noise_for(plan, dtype, seed):
    return {key: draw_samples(shape, dtype, seed + n) for n, (key, shape) in enumerate(plan.band_shapes.items())}


def assert_bands_close(bands, expected, tolerance, scale):
    assert list(bands) == list(expected)
    for key, band in bands.items():
        assert_close(band, expected[key], tolerance, scale, key)


@given(level_cases())
def test_forward_level(case):
    expected = REFERENCE.forward(case.plan, case.x)
    tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    assert_bands_close(CPU.forward(case.plan, case.x), expected, tolerance, largest(case.x, expected))


@given(level_cases(), st.integers(0, 1000))
def test_inverse_level(case, seed):
    bands = noise_for(case.plan, case.x.dtype, seed)
    expected = REFERENCE.inverse(case.plan, bands)
    tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    assert_close(CPU.inverse(case.plan, bands), expected, tolerance, largest(expected, bands))


def check_adjoints(engine, case, seed):
    """Compare both adjoints with the reference engine."""
    bands = noise_for(case.plan, case.x.dtype, seed)
    folded, expected = REFERENCE.forward_adjoint(case.plan, bands), REFERENCE.inverse_adjoint(case.plan, case.x)
    tolerance = 4 * relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    assert_close(engine.forward_adjoint(case.plan, bands), folded, tolerance, largest(folded, bands))
    split = engine.inverse_adjoint(case.plan, case.x)
    assert_bands_close(split, expected, tolerance, largest(case.x, expected))


@given(level_cases(), st.integers(0, 1000))
def test_adjoints_of_a_level(case, seed):
    check_adjoints(CPU, case, seed)


@given(reversible_cases())
def test_reversible_level(case):
    expected = REFERENCE.forward(case.plan, case.x)
    bands = CPU.forward(case.plan, case.x)
    for key, band in bands.items():
        np.testing.assert_array_equal(band, expected[key])
    np.testing.assert_array_equal(CPU.inverse(case.plan, bands), REFERENCE.inverse(case.plan, expected))


@given(stationary_cases(), st.integers(0, 1000))
def test_stationary_level(case, seed):
    tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    expected = REFERENCE.stationary_forward(case.plan, case.x)
    assert_bands_close(CPU.stationary_forward(case.plan, case.x), expected, tolerance, largest(case.x, expected))
    bands = noise_for(case.plan, case.x.dtype, seed)
    restored = REFERENCE.stationary_inverse(case.plan, bands)
    assert_close(CPU.stationary_inverse(case.plan, bands), restored, tolerance, largest(restored, bands))


@given(st.data())
def test_whole_pyramids(data):
    frame = data.draw(frames())
    wavelet = data.draw(wavelets())
    mode = data.draw(modes(wavelet))
    x = draw_samples(frame.shape, data.draw(st.sampled_from(("float32", "float64"))))
    fast = decompose(x, wavelet, None, mode, frame.axes, engine="cpu")
    slow = decompose(x, wavelet, None, mode, frame.axes, engine="reference")
    scale = largest(x, *(band for _, _, band in slow.bands()))
    tolerance = relative_tolerance(x.dtype, (wavelet,) * len(frame.axes), fast.level, same_filters=True)
    for (level, key, band), (*_, expected) in zip(fast.bands(), slow.bands(), strict=True):
        assert_close(band, expected, tolerance, scale, (level, key))
    assert_close(reconstruct(fast, engine="cpu"), reconstruct(slow, engine="reference"), 2 * tolerance, scale)


@pytest.fixture
def cut_finely(monkeypatch):
    """Make small arrays take the way of large ones: many tasks, many tiles, several threads, on a busy machine too."""
    monkeypatch.setattr(threads, "_PATIENCE", float("inf"))
    monkeypatch.setattr(threads, "_sharing", threads._Sharing())
    monkeypatch.setattr(jobs, "SMALL", 1)
    monkeypatch.setattr(sweep, "TILE", 64)
    monkeypatch.setattr(sweep, "ROW_TILE", 64)
    before = get_threads()
    set_threads(4)
    engine._prepare.cache_clear()
    yield
    set_threads(before)
    engine._prepare.cache_clear()


def test_cuts_of_adjoints_leave_no_seam(cut_finely):
    given(level_cases(("float32", "float64")))(lambda case: check_adjoints(CPU, case, 5))()


@pytest.mark.parametrize("reversible", [False, True])
def test_cuts_leave_no_seam(cut_finely, reversible):
    @given(reversible_cases() if reversible else level_cases(("float32", "float64")))
    def compare(case):
        expected = REFERENCE.forward(case.plan, case.x)
        bands = CPU.forward(case.plan, case.x)
        tolerance = 0.0
        if not reversible:
            tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
        assert_bands_close(bands, expected, tolerance, largest(case.x, expected))
        restored = REFERENCE.inverse(case.plan, bands)
        assert_close(CPU.inverse(case.plan, bands), restored, tolerance, largest(case.x, expected))

    compare()

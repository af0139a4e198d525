from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband.boundary import MODES, PYWAVELETS_MODES, check_mode, extend
from subband.errors import ModeError
from subband.testing import draw_samples


def written_out(mode, text):
    """Extend the signal 1, 2, 3, 4 by three samples on either side."""
    return extend(mode, 4, -3, 7).apply(np.arange(1.0, 5.0)).tolist() == [float(word) for word in text.split()]


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("zero", "0 0 0  1 2 3 4  0 0 0"),
        ("constant", "1 1 1  1 2 3 4  4 4 4"),
        ("symmetric", "3 2 1  1 2 3 4  4 3 2"),
        ("reflect", "4 3 2  1 2 3 4  3 2 1"),
        ("whole", "4 3 2  1 2 3 4  3 2 1"),
        ("periodic", "2 3 4  1 2 3 4  1 2 3"),
        ("periodization", "2 3 4  1 2 3 4  1 2 3"),
        ("smooth", "-2 -1 0  1 2 3 4  5 6 7"),
        ("antisymmetric", "-3 -2 -1  1 2 3 4  -4 -3 -2"),
        ("antireflect", "-2 -1 0  1 2 3 4  5 6 7"),
    ],
)
def test_each_mode_written_out(mode, text):
    assert written_out(mode, text)


@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("zero", {"mode": "constant"}),
        ("constant", {"mode": "edge"}),
        ("symmetric", {"mode": "symmetric"}),
        ("reflect", {"mode": "reflect"}),
        ("whole", {"mode": "reflect"}),
        ("periodic", {"mode": "wrap"}),
        ("antireflect", {"mode": "reflect", "reflect_type": "odd"}),
    ],
)
def test_numpy_pads_alike(mode, arguments):
    """Also where the signal is mirrored many times over."""
    for length in (1, 2, 3, 4, 7):
        if length == 1 and mode == "antireflect":
            continue  # NumPy takes one sample for a constant; so do we, and the next test says so
        x = draw_samples((length,), seed=length)
        for reach in (0, 1, 5, 40):
            extended = extend(mode, length, -reach, length + reach).apply(x)
            np.testing.assert_allclose(extended, np.pad(x, reach, **arguments), atol=1e-5)


@pytest.mark.parametrize("mode", [mode for mode in PYWAVELETS_MODES if mode != "periodization"])
def test_pywavelets_pads_alike(mode):
    for length in (2, 3, 6):
        x = draw_samples((length,), seed=length)
        np.testing.assert_allclose(
            extend(mode, length, -30, length + 31).apply(x), pywt.pad(x, (30, 31), mode), atol=1e-5
        )


@pytest.mark.parametrize("mode", MODES)
def test_one_sample_goes_on_as_itself(mode):
    extended = extend(mode, 1, -5, 6).apply(np.array([3.0]))
    expected = {"zero": {0.0, 3.0}, "antisymmetric": {-3.0, 3.0}}.get(mode, {3.0})
    assert set(extended.tolist()) == expected
    assert extended[5] == 3.0


def test_odd_signals_repeat_their_last_sample_before_they_repeat():
    assert extend("periodization", 3, -4, 8).apply(np.array([1.0, 2.0, 3.0])).tolist() == [
        *(1, 2, 3, 3),
        *(1, 2, 3, 3),
        *(1, 2, 3, 3),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_inside_nothing_changes(mode):
    for length in (1, 2, 5, 8):
        x = draw_samples((2, length))
        np.testing.assert_array_equal(extend(mode, length, 0, length).apply(x), x)


@pytest.mark.parametrize("mode", MODES)
def test_any_window_is_part_of_the_whole(mode):
    """The map depends on the position alone, so an engine may ask for it piece by piece."""
    for length in (1, 2, 3, 6):
        whole = extend(mode, length, -50, 60)
        for start, stop in ((-50, -20), (-3, 2), (length, length + 9), (7, 7), (20, 60)):
            part = extend(mode, length, start, stop)
            for name in ("index", "weight", "first", "last"):
                np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[start + 50 : stop + 50])


@pytest.mark.parametrize("mode", MODES)
def test_indices_are_inside(mode):
    for length in range(1, 9):
        index = extend(mode, length, -100, 100).index
        assert index.min() >= 0
        assert index.max() < length


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("zpd", "zero"),
        ("cpd", "constant"),
        ("sym", "symmetric"),
        ("ppd", "periodic"),
        ("sp1", "smooth"),
        ("per", "periodization"),
        ("symw", "reflect"),
        ("asym", "antisymmetric"),
        ("asymw", "antireflect"),
        ("WHOLE", "whole"),
        ("Symmetric", "symmetric"),
    ],
)
def test_short_names(short, name):
    assert check_mode(short) == name


@pytest.mark.parametrize("mode", ["symetric", "", "mirror", 7, None])
def test_unknown_modes(mode):
    with pytest.raises(ModeError, match="symmetric"):
        check_mode(mode)


def test_near_names_are_suggested():
    with pytest.raises(ModeError, match="did you mean 'symmetric'"):
        check_mode("symetric")


def test_a_mode_without_a_map():
    with pytest.raises(ModeError, match="no index map"):
        extend("mirror", 4, 0, 4)

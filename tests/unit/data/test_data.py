"""The data files and the demo signals equal those of PyWavelets."""

import numpy as np
import pytest
import pywt.data

from subband import data
from subband.errors import ArgumentError

FIXED_LENGTH = {"Gabor", "sineoneoverx"}
NAMES = data.demo_signal("list")


@pytest.mark.parametrize("name", ["aero", "ascent", "camera", "ecg"])
def test_recording_equals_pywavelets(name):
    ours, theirs = getattr(data, name)(), getattr(pywt.data, name)()
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_nino_equals_pywavelets():
    for ours, theirs in zip(data.nino(), pywt.data.nino(), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_recordings_are_new_writable_arrays():
    first = data.camera()
    first[:] = 0
    assert data.camera().any()
    assert data.ecg().flags.writeable


def test_photograph_is_a_colour_picture():
    picture = data.photograph()
    assert picture.shape == (512, 512, 3)
    assert picture.dtype == np.uint8
    assert picture.flags.writeable
    assert np.ptp(picture.reshape(-1, 3), axis=0).min() > 200


def test_list_equals_pywavelets():
    assert pywt.data.demo_signal("list") == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FIXED_LENGTH])
@pytest.mark.parametrize("n", [64, 128, 256, 1024, 2048])
def test_demo_signal_equals_pywavelets(name, n):
    np.testing.assert_allclose(data.demo_signal(name, n), pywt.data.demo_signal(name, n), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", sorted(FIXED_LENGTH))
def test_fixed_length_signal_equals_pywavelets(name):
    ours, theirs = data.demo_signal(name), pywt.data.demo_signal(name)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["Blocks", "HeaviSine", "Ramp"])
def test_jumps_fall_on_the_same_side_as_in_pywavelets(name):
    for n in range(1, 300):
        # PyWavelets returns one sample too many for some lengths, 49 being the first.
        theirs = pywt.data.demo_signal(name, n)[:n]
        np.testing.assert_allclose(data.demo_signal(name, n), theirs, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FIXED_LENGTH])
def test_demo_signal_is_finite_for_any_length(name):
    for n in [*range(1, 90), 100, 255, 500, 1000, 1001]:
        signal = data.demo_signal(name, n)
        assert signal.shape == (n,)
        assert signal.dtype == np.float64
        assert np.isfinite(signal).all()


def test_names_are_case_insensitive():
    np.testing.assert_array_equal(data.demo_signal("piece_regular", 64), data.demo_signal("Piece-Regular", 64))
    np.testing.assert_array_equal(data.demo_signal("DOPPLER", 64), data.demo_signal("doppler", 64))


@pytest.mark.parametrize(
    ("name", "n", "message"),
    [
        ("dopler", 64, "did you mean 'doppler'"),
        ("Doppler", None, "n is missing"),
        ("Doppler", 0, "n=0"),
        ("Doppler", -3, "n=-3"),
        ("gabor", 64, "fixed length"),
    ],
)
def test_bad_arguments_name_the_way_out(name, n, message):
    with pytest.raises(ArgumentError, match=message):
        data.demo_signal(name, n)

import numpy as np
import pytest

from subband import Modes, Wavelet
from subband.errors import ArgumentError, AxesError, LevelError, ModeError
from subband.transforms.arguments import (
    check_level,
    modes_for_axes,
    normalise_axes,
    normalise_axis,
    useful_levels,
    wavelets_for_axes,
)


def test_axes_are_counted_from_the_front():
    assert normalise_axes((-1, 0), 3) == (2, 0)
    assert normalise_axes(None, 3) == (0, 1, 2)
    assert normalise_axes(-1, 3) == (2,)
    assert normalise_axes(np.array([0, 1]), 2) == (0, 1)
    assert normalise_axes((0, 0), 2) == (0, 0)


@pytest.mark.parametrize("axis", [2, -3, 0.5, "0", None])
def test_axes_that_do_not_exist(axis):
    with pytest.raises(AxesError, match="axis="):
        normalise_axis(axis, 2)


def test_a_number_has_no_axis():
    with pytest.raises(AxesError, match="single number"):
        normalise_axis(-1, 0)


def test_number_and_difference_of_axes():
    with pytest.raises(AxesError, match="exactly 2"):
        normalise_axes((0,), 2, count=2)
    with pytest.raises(TypeError, match="not a sequence"):
        normalise_axes(0, 2, count=2)
    with pytest.raises(AxesError, match="names axis 1 twice"):
        normalise_axes((1, -1), 2, distinct=True)


def test_wavelets():
    haar = Wavelet("haar")
    assert wavelets_for_axes("haar", (0, 1)) == (haar, haar)
    assert wavelets_for_axes([haar], (0, 1)) == (haar, haar)
    assert wavelets_for_axes((haar, "db2"), (0, 1))[1].name == "db2"
    with pytest.raises(ArgumentError, match="3 wavelets for 2 axes"):
        wavelets_for_axes(["haar"] * 3, (0, 1))


def test_modes():
    assert modes_for_axes(Modes.zero, (0, 1)) == ("zero", "zero")
    assert modes_for_axes(["whole", 1], (0, 1)) == ("whole", "symmetric")
    assert modes_for_axes(["reflect"], (0, 1)) == ("reflect", "reflect")
    assert modes_for_axes("PERIODIC", (0,)) == ("periodic",)
    with pytest.raises(ModeError, match="3 modes for 2 axes"):
        modes_for_axes(["zero"] * 3, (0, 1))
    with pytest.raises(ModeError, match="did you mean 'symmetric'"):
        modes_for_axes("symetric", (0,))
    with pytest.raises(ModeError, match="mode=9"):
        modes_for_axes(9, (0,))
    with pytest.raises(TypeError, match="mode=None"):
        modes_for_axes(None, (0,))


def test_old_mode_names_warn():
    with pytest.warns(DeprecationWarning, match="use 'periodization'"):
        assert modes_for_axes("per", (0,)) == ("periodization",)
    with pytest.warns(DeprecationWarning, match="use 'symmetric'"):
        assert Modes.sym == 1


def test_every_mode_has_a_number():
    for name in (*Modes.modes, "whole"):
        assert Modes.from_object(getattr(Modes, name)) == Modes.from_object(name)
    with pytest.raises(AttributeError, match="known modes"):
        Modes.nothing  # noqa: B018


@pytest.mark.parametrize(("length", "taps", "levels"), [(16, 2, 4), (16, 9, 1), (16, 10, 0), (0, 2, 0), (1, 2, 0)])
def test_useful_levels(length, taps, levels):
    assert useful_levels(length, taps) == levels


def test_level_defaults_to_the_shortest_axis():
    wavelets = (Wavelet("db2"), Wavelet("haar"))
    assert check_level((64, 8), wavelets, None) == 3
    assert check_level((64, 8), wavelets, np.int64(2)) == 2


def test_levels_that_cannot_be():
    with pytest.raises(LevelError, match="level=-1 is negative; use 0 to 3"):
        check_level((8,), (Wavelet("haar"),), -1)
    with pytest.raises(LevelError, match=r"level=1\.5 is not an integer"):
        check_level((8,), (Wavelet("haar"),), 1.5)


def test_a_level_too_high_warns_the_caller():
    def transform():
        return check_level((8,), (Wavelet("haar"),), 4)

    with pytest.warns(UserWarning, match="level=4 is too high for an axis of length 8") as caught:
        assert transform() == 4
    assert caught[0].filename == __file__

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.kernels.numbers import STORAGES, format_number, format_step
from subband.pairs import PairStep
from subband.schedule.axis import AxisStep


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_keep_their_value(value):
    assert float(format_number(value, "double")) == value
    assert format_number(value, "float") == format_number(value, "double") + "f"


@pytest.mark.parametrize("value", [1.0, 1e20, -3e-9, 0.0])
def test_constants_are_never_taken_for_integers(value):
    # in C, 1e+20 and 1.0 are floating, 1 is not: an integer constant could overflow or divide without remainder
    assert any(mark in format_number(value, "double") for mark in ".e")


def test_whole_constants_are_whole():
    assert format_number(-2.0, "int") == "-2"
    assert format_number(3.0, "wide_t") == "3"


def test_steps():
    step = PairStep(1, 0, (-1.0, 2.0))

    def spell_without_blanks(entry, number):
        return format_step(entry, ["a", "b"], number).replace(" ", "")

    assert spell_without_blanks(AxisStep(step, 0), "float") == "+-1.0f*a+2.0f*b"
    assert spell_without_blanks(AxisStep(step, 0, (2, 2, 1)), "int") == "+((-1*a+2*b+2)>>2)"
    assert spell_without_blanks(AxisStep(step, 0, (2, 2, -1)), "int") == "-((-1*a+2*b+2)>>2)"


@pytest.mark.parametrize("bits", range(1, 17))
def test_samples_of_video_take_as_many_bytes_as_their_bits_need(bits):
    assert STORAGES[f"centred{bits}"].size == -(-bits // 8)


@pytest.mark.parametrize("name", [name for name in STORAGES if name != "bfloat16" and "centred" not in name])
def test_sizes_are_those_of_numpy(name):
    assert STORAGES[name].size == np.dtype(name).itemsize


def test_small_numbers_are_computed_in_larger_ones():
    wide = {storage.name: storage.number for storage in STORAGES.values()}
    assert wide["float16"] == wide["bfloat16"] == wide["uint8"] == wide["uint16"] == "float"
    assert wide["int16"] == "int"

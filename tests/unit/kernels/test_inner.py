"""Strips inside the image: when a group may walk without asking."""

from __future__ import annotations

import pytest

from subband.kernels.inner import render_inner_condition
from subband.kernels.sweep import SweepSpec
from subband.plan import axis_plan
from subband.schedule import axis_program
from subband.wavelets import Wavelet


def describe(name, ahead):
    program = axis_program(axis_plan(Wavelet(name), "periodization", 64), "forward")
    return SweepSpec(
        "forward", program, program, "float32", "float32", 2, True, 1, False, "index", ahead, 4, False, True
    )


@pytest.mark.parametrize(("ahead", "shortest"), [(2, 2), (3, 3), (4, 4)])
def test_a_strip_shorter_than_what_is_loaded_ahead_is_not_inside(ahead, shortest):
    assert f"stop - start >= {shortest}" in render_inner_condition(describe("haar", ahead))


def test_rows_beyond_a_strip_count_as_loaded_ahead():
    # cdf97 reads two pairs above and two below each
    assert "stop - start >=" not in render_inner_condition(describe("cdf97", 4))
    assert "stop - start >= 2" in render_inner_condition(describe("cdf97", 6))

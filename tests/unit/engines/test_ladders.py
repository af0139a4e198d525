"""Lifting fused in registers gives what steps one by one give, however the work is cut."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import numba as nb
import numpy as np
import pytest

from subband.compiled.kinds import parse_kinds
from subband.engines import get_engine, get_threads, set_threads
from subband.engines.abilities import CPU as ABILITIES
from subband.engines.cpu import engine, jobs, ladder_loops, ladders, sweep
from subband.engines.cpu.ladders import FUSED, find_tick, name_ladder, read_ladder
from subband.engines.cpu.program import tabulate_program
from subband.plan import axis_plan, level_plan, reversible_axis_plan
from subband.schedule import schedule_level
from subband.schedule.axis import axis_program
from subband.testing import allowed_modes, assert_close, draw_samples, largest, relative_tolerance
from subband.wavelets import LiftingScheme, Step, Wavelet, as_wavelet

CPU, REFERENCE = get_engine("cpu"), get_engine("reference")

WAVELETS = ("haar", "db2", "db3", "db4", "sym4", "cdf53", "bior2.2", "cdf97", "bior4.4")

#: Wide enough that the middle of a row is read as it is, with every kind of remainder, and just too narrow for that.
SHAPES = ((7, 30), (5, 71), (9, 400), (12, 437), (6, 1301))

FLOAT, WHOLE = np.dtype(np.float32), np.dtype(np.int32)


@pytest.fixture(autouse=True)
def _forget_jobs():
    """Make all jobs anew, as a test has set things up."""
    engine._prepare.cache_clear()
    yield
    engine._prepare.cache_clear()


def list_plans(wavelet):
    wavelet = as_wavelet(wavelet)
    for mode in allowed_modes(wavelet):
        for shape in SHAPES:
            # rows of orthogonal wavelets by themselves are convolved
            for axes in ((0, 1), (0,)) if wavelet.orthogonal else ((0, 1), (0,), (1,)):
                plans = (wavelet,) * len(axes), (mode,) * len(axes)
                yield level_plan(shape, axes, *plans)


def transform(plan, dtype):
    """Return the bands of random samples, and the samples of random bands."""
    bands = {key: draw_samples(shape, dtype, n) for n, (key, shape) in enumerate(plan.band_shapes.items())}
    return CPU.forward(plan, draw_samples(plan.shape, dtype, 9)), CPU.inverse(plan, bands)


@pytest.mark.parametrize("wavelet", WAVELETS)
def test_every_mode_is_fused_both_ways(wavelet):
    wavelet = as_wavelet(wavelet)
    for mode in allowed_modes(wavelet):
        for direction in ("forward", "inverse"):
            ladder = tabulate_program(axis_plan(wavelet, mode, 33), direction, FLOAT).ladder
            assert ladder in FUSED[direction]
            assert find_tick(direction, ladder, ladder, FLOAT)


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_only_5_3_is_fused_in_whole_numbers(direction):
    program = tabulate_program(reversible_axis_plan(as_wavelet("cdf53"), 9), direction, WHOLE)
    assert program.ladder in FUSED[direction]
    assert read_ladder(program.ladder).is_rounded
    assert find_tick(direction, program.ladder, program.ladder, WHOLE)
    assert tabulate_program(reversible_axis_plan(as_wavelet("haar"), 9), direction, WHOLE).ladder == ""


def test_whole_numbers_are_swept_at_once():
    """In the order of JPEG 2000, which no other engine fuses, and only where there is a loop for the steps."""
    plans = {
        name: level_plan((3, 40, 70), (1, 2), (as_wavelet(name),) * 2, ("whole",) * 2, True)
        for name in ("cdf53", "haar")
    }
    assert [sweep.axes for sweep in schedule_level(plans["cdf53"], ABILITIES).sweeps] == [(1, 2)]
    assert [sweep.axes for sweep in schedule_level(plans["haar"], ABILITIES).sweeps] == [(1,), (2,)]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", [*SHAPES, (2, 2), (1, 33), (33, 1), (3, 40, 70)])
def test_whole_numbers_are_those_of_the_reference_engine(shape, dtype):
    last = len(shape) - 1
    for axes in ((last - 1, last), (last - 1,), (last,)):
        plan = level_plan(shape, axes, (as_wavelet("cdf53"),) * len(axes), ("whole",) * len(axes), True)
        x, bands = draw_whole(plan, dtype)
        expected = REFERENCE.forward(plan, x)
        for key, band in CPU.forward(plan, x).items():
            np.testing.assert_array_equal(band, expected[key], err_msg=f"{plan} {key}")
        np.testing.assert_array_equal(CPU.inverse(plan, bands), REFERENCE.inverse(plan, bands), err_msg=str(plan))


def draw_whole(plan, dtype):
    """Return samples and bands of whole numbers."""
    random = np.random.default_rng(5)
    bands = {key: random.integers(-999, 999, shape).astype(dtype) for key, shape in plan.band_shapes.items()}
    return random.integers(-999, 999, plan.shape).astype(dtype), bands


def test_a_users_wavelet_has_the_loops_of_its_steps():
    steps = Step("predict", 0, (-0.45, -0.45)), Step("update", -1, (0.2, 0.2))
    wavelet = Wavelet.from_lifting("mine", LiftingScheme(steps))
    program = axis_program(axis_plan(wavelet, "symmetric", 33), "forward")
    assert name_ladder(program, "forward") == "1s110_0s121_0111"


@pytest.mark.parametrize("name", sorted(FUSED["forward"] | FUSED["inverse"]))
def test_no_step_reads_what_has_not_come_yet(name):
    ladder = read_ladder(name)
    made = list(ladder.arrivals)
    for rung in ladder.rungs:
        assert rung.age >= made[rung.target]
        assert all(age >= made[1 - rung.target] for age in rung.sources)
        made[rung.target] = rung.age
    assert all(age >= made[member] for member, age in ladder.outputs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wavelet", WAVELETS)
def test_same_as_the_reference_engine(wavelet, dtype):
    for plan in list_plans(wavelet):
        x = draw_samples(plan.shape, dtype, 9)
        bands = {key: draw_samples(shape, dtype, n) for n, (key, shape) in enumerate(plan.band_shapes.items())}
        expected, restored = REFERENCE.forward(plan, x), REFERENCE.inverse(plan, bands)
        tolerance = relative_tolerance(x.dtype, (as_wavelet(wavelet),) * len(plan.axes), same_filters=True)
        for key, band in CPU.forward(plan, x).items():
            assert_close(band, expected[key], tolerance, largest(x, expected), (plan, key))
        assert_close(CPU.inverse(plan, bands), restored, tolerance, largest(restored, bands), plan)


@pytest.mark.parametrize("wavelet", ["haar", "db4", "sym4", "bior4.4"])
def test_same_bits_however_it_is_cut(wavelet, monkeypatch):
    plans = list(list_plans(wavelet))
    whole = [transform(plan, "float32") for plan in plans]
    for name in ("TILE", "ROW_TILE"):
        monkeypatch.setattr(sweep, name, 4 * 192)
    monkeypatch.setattr(jobs, "SMALL", 1)
    monkeypatch.setattr(jobs, "TASK", 1)
    engine._prepare.cache_clear()
    before = get_threads()
    set_threads(2)
    try:
        for plan, (bands, x) in zip(plans, whole, strict=True):
            other_bands, other_x = transform(plan, "float32")
            for key, band in bands.items():
                np.testing.assert_array_equal(other_bands[key], band)
            np.testing.assert_array_equal(other_x, x)
    finally:
        set_threads(before)


def test_same_whole_numbers_however_they_are_cut(monkeypatch):
    monkeypatch.setattr(sweep, "TILE", 4 * 192)
    monkeypatch.setattr(jobs, "SMALL", 1)
    monkeypatch.setattr(jobs, "TASK", 1)
    before = get_threads()
    set_threads(2)
    try:
        for shape in (*SHAPES, (2, 80, 1301)):
            axes = (len(shape) - 2, len(shape) - 1)
            plan = level_plan(shape, axes, (as_wavelet("cdf53"),) * 2, ("whole",) * 2, True)
            x, bands = draw_whole(plan, "int32")
            expected = REFERENCE.forward(plan, x)
            for key, band in CPU.forward(plan, x).items():
                np.testing.assert_array_equal(band, expected[key])
            np.testing.assert_array_equal(CPU.inverse(plan, bands), REFERENCE.inverse(plan, bands))
    finally:
        set_threads(before)


def test_nothing_outside_the_arrays_is_written(monkeypatch):
    """Bands and samples stand between numbers that must stay as they are."""
    plan = level_plan((10, 1302), (0, 1), (as_wavelet("bior4.4"),) * 2, ("symmetric",) * 2)
    whole = level_plan((11, 1301), (0, 1), (as_wavelet("cdf53"),) * 2, ("whole",) * 2, True)
    kept = []

    def allocate(shape, dtype):
        size = int(np.prod(shape))
        around = np.full(size + 128, 7.0, dtype)
        kept.append((around, size))
        return around[64 : 64 + size].reshape(shape)

    monkeypatch.setattr(sweep, "allocate", allocate)
    bands = property(lambda layout: lambda: [allocate(shape, layout.dtype) for shape in layout.band_shapes])
    monkeypatch.setattr(sweep.ImageLayout, "allocate_bands", bands)
    transform(plan, "float32")
    samples, coefficients = draw_whole(whole, "int32")
    CPU.forward(whole, samples)
    CPU.inverse(whole, coefficients)
    assert len(kept) == 10
    for around, size in kept:
        assert (around[:64] == 7).all()
        assert (around[64 + size :] == 7).all()


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="the test reads code of x86-64")
def test_what_finds_no_register_lies_at_whole_vectors_of_the_stack():
    name = "0p00_1p110_0p121_1p232_0p32_0312"
    tick = getattr(ladder_loops, f"forward__{name}__{name}")
    kinds = ", ".join(["float32*"] * 7 + ["int64"] * 3 + ["float32*"] * 4 + ["int64"])
    code = nb.cfunc(nb.types.void(*parse_kinds(kinds)), **tick._options)(tick._function)._library.get_asm_str()
    size = ladder_loops._count_bytes()
    units = [int(unit) for unit in re.findall(r"andq\t\$-(\d+), %rsp", code)]
    assert size <= 16 or max(units, default=1) % size == 0


def test_steps_one_by_one_give_the_same(monkeypatch):
    plan = level_plan((12, 437), (0, 1), (as_wavelet("db4"),) * 2, ("reflect",) * 2)
    bands, x = transform(plan, "float64")
    monkeypatch.setattr(ladders, "FUSED", {"forward": frozenset(), "inverse": frozenset()})
    tabulate_program.cache_clear()
    engine._prepare.cache_clear()
    try:
        other_bands, other_x = transform(plan, "float64")
    finally:
        tabulate_program.cache_clear()
    for key, band in bands.items():
        np.testing.assert_allclose(other_bands[key], band, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other_x, x, rtol=0, atol=1e-12)


#: Compares loops that are compiled for another processor with the reference engine; their vectors are shorter.
OTHERS = """
import numpy as np
from subband.engines import get_engine
from subband.plan import level_plan
from subband.testing import allowed_modes, draw_samples
from subband.wavelets import as_wavelet
cpu, reference = get_engine("cpu"), get_engine("reference")
for wavelet in map(as_wavelet, ("db2", "db3", "db4", "sym4", "cdf97")):
    for mode in allowed_modes(wavelet):
        plan = level_plan((20, 46), (0, 1), (wavelet,) * 2, (mode,) * 2)
        x = draw_samples(plan.shape)
        bands = {key: draw_samples(shape, seed=n) for n, (key, shape) in enumerate(plan.band_shapes.items())}
        found, wanted = cpu.forward(plan, x), reference.forward(plan, x)
        for key in wanted:
            np.testing.assert_allclose(found[key], wanted[key], atol=1e-9, err_msg=f"{wavelet.name} {mode} {key}")
        found, wanted = cpu.inverse(plan, bands), reference.inverse(plan, bands)
        np.testing.assert_allclose(found, wanted, atol=1e-9, err_msg=f"{wavelet.name} {mode}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["generic", "x86-64-v3"])
def test_steps_look_back_further_than_a_vector_of_other_processors(processor, tmp_path):
    """With two numbers or four in a vector, one vector before the first does not hold all that steps look back to."""
    if processor != "generic" and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"no code for {processor} runs here")
    own = {"NUMBA_CPU_NAME": processor, "NUMBA_CACHE_DIR": str(tmp_path), "SUBBAND_KERNELS": "0"}
    run = subprocess.run(
        [sys.executable, "-c", OTHERS], env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr

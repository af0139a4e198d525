"""Every order of a level gives the same numbers: row by row and column by column, fused, or block by block."""

import numpy as np
import pytest

from subband.bench.papers.level_orders import ORDERS, order_level
from subband.engines import get_engine
from subband.errors import ArgumentError, ModeError, ShapeError
from subband.plan import level_plan
from subband.wavelets import as_wavelet

ENGINES = ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)]
SHAPES = [(16, 32), (7, 9), (1, 5), (2, 11, 6)]
#: Every wavelet in every shape on the host; PoCL takes seconds for each text.
CASES = [
    *(("cpu", wavelet, shape) for wavelet in ("haar", "db3", "cdf97") for shape in SHAPES),
    *(pytest.param("opencl", "cdf97", shape, marks=pytest.mark.opencl) for shape in ((7, 9), (2, 11, 6))),
]
MODES = ["symmetric", "periodization", "zero", "antisymmetric", "constant"]


def open_engine(name):
    if name == "opencl":
        pytest.importorskip("pyopencl")
    return get_engine(name)


def make_plan(shape, wavelet, mode):
    count = len(shape)
    return level_plan(shape, (count - 2, count - 1), (as_wavelet(wavelet),) * 2, (mode,) * 2)


@pytest.mark.parametrize(("engine", "wavelet", "shape"), CASES)
@pytest.mark.parametrize("order", ORDERS)
def test_bands_equal_the_reference(engine, order, wavelet, shape):
    split = order_level(open_engine(engine), order)
    judge = get_engine("reference")
    x = np.random.default_rng(len(shape)).normal(size=shape)
    modes = ["whole", *MODES] if wavelet == "cdf97" else MODES
    for mode in modes if engine == "cpu" else modes[:1]:
        plan = make_plan(shape, wavelet, mode)
        expected, found = judge.forward(plan, x), split(plan, x)
        assert list(found) == list(expected)
        for key, band in expected.items():
            np.testing.assert_allclose(found[key], band, atol=1e-10, err_msg=f"{mode} {key}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ORDERS)
def test_dtypes_stay(engine, order):
    split = order_level(open_engine(engine), order)
    plan = make_plan((8, 12), "db2", "symmetric")
    x = np.random.default_rng(1).random((8, 12), np.float32)
    assert {band.dtype for band in split(plan, x).values()} == {np.dtype(np.float32)}


def test_what_blocks_cannot_do_is_refused():
    split = order_level(get_engine("cpu"), "block-based")
    x = np.ones((8, 8))
    with pytest.raises(ModeError, match="smooth"):
        split(make_plan((8, 8), "db2", "smooth"), x)
    plan = level_plan((8, 8), (0,), (as_wavelet("db2"),), ("symmetric",))
    with pytest.raises(ShapeError, match="last two axes"):
        split(plan, x)
    with pytest.raises(ArgumentError, match="did you mean 'row-column'"):
        order_level(get_engine("cpu"), "row-colum")

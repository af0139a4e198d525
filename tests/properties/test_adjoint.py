"""``<W x, y> = <x, W* y>``, for every mode, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subband as sb
from subband.boundary import MODES
from subband.errors import ArgumentError, ArgumentTypeError, MissingExtraError, NoDeviceError, ShapeError
from subband.plan import level_plan, transform_plan
from subband.pyramid import Pyramid
from subband.stationary import stationary_transform_plan
from subband.wavelets import Wavelet, as_wavelet

WAVELETS = ("haar", "db2", "db5", "sym4", "bior1.3", "bior2.2", "bior4.4", "rbio3.1", "cdf97", "cdf53", "coif2", "dmey")
WHOLE = ("cdf97", "cdf53", "bior2.2", "bior4.4", "rbio4.4")


def draw(shape, seed, dtype=np.float64):
    values = np.random.default_rng(seed).normal(size=(2, *shape))
    return (values[0] + 1j * values[1]).astype(dtype) if np.dtype(dtype).kind == "c" else values[0].astype(dtype)


def draw_pyramid(plan, dtype=np.float64):
    details = [
        {key: draw(shape, hash(key) % 97 + number, dtype) for key, shape in level.band_shapes.items() if "d" in key}
        for number, level in enumerate(reversed(plan.levels))
    ]
    return Pyramid(plan, draw(plan.approximation_shape, 11, dtype), details)


def product(first, second):
    pairs = zip(first.bands(), second.bands(), strict=True)
    return sum(np.vdot(one, other) for (_, _, one), (_, _, other) in pairs)


def check(plan, dtype=np.float64, rtol=1e-10):
    x, bands = draw(plan.shape, 5, dtype), draw_pyramid(plan, dtype)
    size = np.linalg.norm(x) * np.sqrt(abs(product(bands, bands)))
    if bands.is_stationary:
        transformed = sb.decompose(x, list(plan.wavelets), plan.level, plan.modes, plan.axes, stationary=True)
    else:
        transformed = Pyramid(plan, *sb.get_engine().forward_all(plan, x))
    back = sb.decompose_adjoint(bands)
    assert back.shape == plan.shape
    assert back.dtype == dtype
    assert abs(product(transformed, bands) - np.vdot(x, back)) <= rtol * size
    there = sb.reconstruct_adjoint(x, plan)
    assert there.approximation.dtype == dtype
    assert abs(np.vdot(sb.reconstruct(bands), x) - product(bands, there)) <= rtol * size


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted({*WAVELETS, *WHOLE}))
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13, 30])
def test_one_level(name, mode, length):
    if mode == "whole" and name not in WHOLE:
        pytest.skip("the wavelet is not symmetric about a sample")
    check(transform_plan((length,), (0,), (as_wavelet(name),), (mode,), 1))


KINDS = [(name, mode) for mode in MODES for name in (WHOLE if mode == "whole" else WAVELETS)]


@st.composite
def plans(draw_from):
    axes = tuple(draw_from(st.permutations(range(3)))[: draw_from(st.integers(1, 3))])
    shape = tuple(draw_from(st.integers(1, 12)) for _ in range(3))
    chosen = [draw_from(st.sampled_from(KINDS)) for _ in axes]
    wavelets = tuple(as_wavelet(name) for name, _ in chosen)
    return transform_plan(shape, axes, wavelets, tuple(mode for _, mode in chosen), draw_from(st.integers(0, 2)))


@given(plans())
def test_several_axes_and_levels(plan):
    check(plan, rtol=1e-8)


def load_engine(name):
    try:
        return sb.get_engine(name)
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", ["cpu", "reference", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_every_engine(name):
    """Two wavelets, one with lifting steps, because a device compiles kernels for each."""
    engine = load_engine(name)

    @given(st.integers(1, 70), st.integers(1, 70), st.sampled_from(("db2", "cdf97")), st.sampled_from(MODES))
    def compare(height, width, wavelet, mode):
        if mode == "whole":
            wavelet = "cdf97"
        plan = level_plan((height, width), (0, 1), (as_wavelet(wavelet),) * 2, (mode,) * 2)
        x = draw(plan.shape, 5, np.float32)
        bands = {key: draw(shape, n, np.float32) for n, (key, shape) in enumerate(plan.band_shapes.items())}
        split, merged = engine.forward(plan, x), engine.inverse(plan, bands)
        folded, adjoint = engine.forward_adjoint(plan, bands), engine.inverse_adjoint(plan, x)
        for there, back in (
            ([(split[key], bands[key]) for key in bands], [(x, folded)]),
            ([(merged, x)], [(bands[key], adjoint[key]) for key in bands]),
        ):
            products = [sum(float(np.vdot(*map(np.float64, pair))) for pair in pairs) for pairs in (there, back)]
            size = sum(np.linalg.norm(one) * np.linalg.norm(other) for one, other in (*there, *back))
            assert abs(products[0] - products[1]) <= 2e-5 * size

    compare()


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("mode", ["symmetric", "smooth", "periodization"])
def test_other_numbers(dtype, mode):
    plan = transform_plan((9, 14), (0, 1), (as_wavelet("db3"),) * 2, (mode,) * 2, 2)
    check(plan, dtype, 1e-5 if dtype in ("float32", "complex64") else 1e-10)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["haar", "db3", "cdf97", "bior3.3"])
def test_undecimated(name, mode):
    check(stationary_transform_plan((37, 40), (1, 0), (as_wavelet(name),) * 2, (mode,) * 2, 2))


def test_orthogonal_periodization_is_inverted_by_its_adjoint():
    x = draw((12, 20), 1)
    pyramid = sb.decompose(x, "db4", level=2, mode="periodization")
    np.testing.assert_allclose(sb.decompose_adjoint(pyramid), x, atol=1e-12)


def test_filters_of_odd_length():
    bank = [[0.5, 0.5, 0.1], [0.5, -0.5, 0.2], [0.4, 0.5, 0.3], [0.1, -0.5, 0.5]]
    wavelet = Wavelet("odd", filter_bank=bank)
    for mode in ("symmetric", "zero", "periodic", "antireflect"):
        for length in (5, 8):
            check(transform_plan((length,), (0,), (wavelet,), (mode,), 1))


def test_arguments_are_not_written_to():
    pyramid = sb.decompose(draw((8, 9), 1), "cdf97", level=1)
    before = pyramid.map(lambda band, level, key: band.copy())
    sb.decompose_adjoint(pyramid)
    x = draw((8, 9), 2)
    kept = x.copy()
    sb.reconstruct_adjoint(x, pyramid.plan)
    np.testing.assert_array_equal(x, kept)
    for (_, _, band), (_, _, old) in zip(pyramid.bands(), before.bands(), strict=True):
        np.testing.assert_array_equal(band, old)


def test_refusals():
    reversible = sb.decompose(np.arange(8), "cdf53", reversible=True)
    with pytest.raises(ArgumentError, match="rounds to integers and has no adjoint"):
        sb.decompose_adjoint(reversible)
    with pytest.raises(ArgumentError, match="rounds to integers and has no adjoint"):
        sb.reconstruct_adjoint(np.arange(8.0), reversible.plan)
    with pytest.raises(ShapeError, match=r"x has shape \(7,\); the plan reconstructs arrays of shape \(8,\)"):
        sb.reconstruct_adjoint(np.arange(7.0), sb.decompose(np.arange(8.0)).plan)
    with pytest.raises(ArgumentTypeError, match="pyramid is a list; give what `decompose` returned"):
        sb.decompose_adjoint([])
    with pytest.raises(ArgumentTypeError, match="plan is a Pyramid; give the plan of a pyramid"):
        sb.reconstruct_adjoint(np.arange(8.0), sb.decompose(np.arange(8.0)))

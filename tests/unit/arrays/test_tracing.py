"""Arrays that are traced: every transform compiles, differentiates and maps, with the numbers of the CPU's engine."""

from __future__ import annotations

from functools import partial

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import subband as sb
from subband.arrays import device_of, find_kind, map_arrays, to_host
from subband.boundary import MODES
from subband.edit import decouple
from subband.errors import ArgumentError, ArgumentTypeError
from subband.integrations import torch as with_gradients

#: Each takes an image of 8 × 12 and uses one transform.
TRANSFORMS = {
    "dwt": sb.dwt,
    "dwt, columns": lambda x, w, m: sb.dwt(x, w, m, axis=0),
    "idwt": lambda x, w, m: sb.idwt(x, 2 * x, w, m),
    "idwt of one": lambda x, w, m: sb.idwt(None, x, w, m, axis=0),
    "dwt2": sb.dwt2,
    "dwt2, twice the same axis": lambda x, w, m: sb.dwt2(x, w, m, axes=(1, 1)),
    "idwt2": lambda x, w, m: sb.idwt2((x, (2 * x, None, x)), w, m),
    "dwtn": sb.dwtn,
    "idwtn": lambda x, w, m: sb.idwtn({"da": x, "dd": x}, w, m),
    "wavedec": lambda x, w, m: sb.wavedec(x, w, m, level=2),
    "wavedec, no level": lambda x, w, m: sb.wavedec(x, w, m, level=0),
    "waverec": lambda x, w, m: sb.waverec(sb.wavedec(x, w, m, level=2), w, m),
    "wavedec2": lambda x, w, m: sb.wavedec2(x, w, m, level=2),
    "waverec2": lambda x, w, m: sb.waverec2([x, (x, 3 * x, None)], w, m),
    "wavedecn": lambda x, w, m: sb.wavedecn(x, w, m, level=2),
    "waverecn": lambda x, w, m: sb.waverecn(sb.wavedecn(x, w, m, level=2), w, m),
    "swt": lambda x, w, m: sb.swt(x, w, level=2, axis=1),
    "iswt": lambda x, w, m: sb.iswt([(x, 2 * x)], w),
    "swt2": lambda x, w, m: sb.swt2(x, w, level=2, trim_approx=True),
    "iswt2": lambda x, w, m: sb.iswt2([x, (x, 2 * x, x)], w),
    "swtn": lambda x, w, m: sb.swtn(x, w, level=1, axes=(0,)),
    "iswtn": lambda x, w, m: sb.iswtn(sb.swtn(x, w, level=2), w),
    "dtcwt": lambda x, w, m: sb.dtcwt(x[:7, :], level=3).lowpass,
    "idtcwt": lambda x, w, m: sb.idtcwt(sb.dtcwt(x, "near_sym_b", "qshift_b", 2).map(lambda band, j, key: band * j)),
    "mra": lambda x, w, m: sb.mra(x, w, level=2, transform="dwt", mode=m),
    "mra2": lambda x, w, m: sb.mra2(x, "db2", level=1),
    "imran": lambda x, w, m: sb.imran(sb.mran(x, w, level=1, transform="dwtn", mode=m)),
    "fswavedecn": lambda x, w, m: sb.fswavedecn(x, w, m, levels=(1, 2)),
    "fswaverecn": lambda x, w, m: sb.fswaverecn(sb.fswavedecn(x, w, m, levels=1)),
    "downcoef": lambda x, w, m: sb.downcoef("d", x[1, :], w, m, level=2),
    "upcoef": lambda x, w, m: sb.upcoef("d", x[:, 2], w, level=2, take=5),
    "decompose": lambda x, w, m: sb.decompose(x, w, 1, m),
    "decompose, stationary": lambda x, w, m: sb.decompose(x, w, 1, m, axes=1, stationary=True),
    "reconstruct": lambda x, w, m: sb.reconstruct(sb.decompose(x, w, 1, m)),
    "reconstruct, stationary": lambda x, w, m: sb.reconstruct(sb.decompose(x, w, 1, m, stationary=True)),
    "WaveletPacket": lambda x, w, m: [n.data for n in sb.WaveletPacket(x, w, m, maxlevel=2).get_level(2)],
    "WaveletPacket2D": lambda x, w, m: sb.WaveletPacket2D(x, w, m, maxlevel=2)["hv"].data,
    "WaveletPacketND": lambda x, w, m: rebuild(sb.WaveletPacketND(x, w, m, maxlevel=1)),
    "mosaic": lambda x, w, m: sb.decompose(x, w, 1, m).mosaic(),
    "coeffs_to_array": lambda x, w, m: sb.coeffs_to_array(sb.wavedec2(x, w, m, level=2))[0],
    "array_to_coeffs": lambda x, w, m: sb.array_to_coeffs(*sb.coeffs_to_array(sb.wavedecn(x, w, m, level=1))),
    "ravel_coeffs": lambda x, w, m: sb.unravel_coeffs(*sb.ravel_coeffs(sb.wavedec2(x, w, m, level=1))),
    "pad": lambda x, w, m: sb.pad(x, 5, m),
    "cwt": lambda x, w, m: sb.cwt(x, [1, 2.5], "morl", axis=0)[0],
    "icwt": lambda x, w, m: sb.icwt(x[:2, :], [1, 2.5], "gaus2"),
    "decompose_adjoint": lambda x, w, m: sb.decompose_adjoint(sb.decompose(x, w, 1, m)),
    "decompose_adjoint, stationary": lambda x, w, m: sb.decompose_adjoint(sb.decompose(x, w, 1, m, stationary=True)),
    "reconstruct_adjoint": lambda x, w, m: sb.reconstruct_adjoint(x, sb.decompose(np.ones((8, 12)), w, 1, m).plan),
}

#: Short and long, orthogonal and not, and all modes; each transform takes two of these, one after the other.
KINDS = [
    ("db2", "symmetric"),
    ("bior2.2", "periodization"),
    ("cdf97", "whole"),
    ("sym5", "antireflect"),
    ("rbio1.3", "smooth"),
    ("coif1", "zero"),
    ("haar", "periodic"),
    ("db7", "reflect"),
    ("bior4.4", "antisymmetric"),
    ("cdf53", "constant"),
]
CASES = [
    pytest.param(name, *KINDS[(2 * number + turn) % len(KINDS)], id=f"{name}-{turn}")
    for number, name in enumerate(TRANSFORMS)
    for turn in range(2)
]


def rebuild(tree):
    tree.get_leaf_nodes(decompose=True)
    return tree.reconstruct()


def bind(name, wavelet, mode):
    return lambda x: TRANSFORMS[name](x, wavelet, mode)


def list_arrays(result):
    arrays = []

    def collect(x):
        arrays.append(x)
        return x

    map_arrays(result, collect)
    return arrays


def find_matrix(function, shape):
    """Return the matrix of a linear function of an array, by the engine of the CPU: outputs × inputs."""
    columns = []
    for index in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[index] = 1
        columns.append(np.concatenate([y.ravel() for y in list_arrays(function(unit))]))
    return np.stack(columns, axis=1)


@pytest.fixture
def x():
    return np.random.default_rng(5).normal(size=(8, 12)).astype(np.float32)


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compile in a fraction of the time; what comes out is slower, and the same."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()


@pytest.mark.filterwarnings("ignore:level=:UserWarning", "ignore:norm=True:UserWarning")
class TestEveryTransform:
    @pytest.mark.parametrize(("name", "wavelet", "mode"), CASES)
    def test_compiled_mapped_and_differentiated_by_jax(self, name, wavelet, mode, x):
        """All three at once, so that each case is compiled once; derivatives are the transposed matrix."""
        call = bind(name, wavelet, mode)
        matrix = find_matrix(call, x.shape)
        weights = np.random.default_rng(6).normal(size=len(matrix))

        def work(x):
            results = list_arrays(call(x))
            return weights @ jnp.concatenate([y.ravel() for y in results]), results

        with jax.enable_x64(True):
            stack = np.stack([x, 2 * x[::-1]]).astype(np.float64)
            gradients, results = jax.jit(jax.vmap(jax.grad(work, has_aux=True)))(stack)
        for image, gradient, *each in zip(stack, gradients, *results, strict=True):
            for y, wanted in zip(each, list_arrays(call(image)), strict=True):
                np.testing.assert_allclose(y, wanted, atol=1e-9)
            np.testing.assert_allclose(gradient.ravel(), weights @ matrix, atol=1e-9)

    @pytest.mark.parametrize("name", list(TRANSFORMS)[::5])
    def test_single_precision_of_jax(self, name, x):
        call = bind(name, "db2", "symmetric")
        for y, wanted in zip(jax.jit(lambda x: list_arrays(call(x)))(x), list_arrays(call(x)), strict=True):
            assert y.dtype == wanted.dtype == np.float32
            np.testing.assert_allclose(y, wanted, atol=2e-5)

    @pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # in torch.func itself
    @pytest.mark.parametrize("name", TRANSFORMS)
    def test_mapped_and_differentiated_by_torch(self, name, x):
        call = bind(name, "bior2.2", "periodization")
        stack = torch.tensor(np.stack([x, 2 * x]))
        mapped = torch.func.vmap(lambda x: tuple(list_arrays(call(x))))(stack)
        for y, wanted in zip(mapped, list_arrays(call(x)), strict=True):
            assert isinstance(y, torch.Tensor)
            np.testing.assert_allclose(y[0], wanted, atol=2e-5)
            np.testing.assert_allclose(y[1], 2 * wanted, atol=4e-5)
        _, tangent = torch.func.jvp(lambda x: list_arrays(call(x))[-1], (stack[0],), (stack[1],))
        np.testing.assert_allclose(tangent, 2 * list_arrays(call(x))[-1], atol=4e-5)
        gradient = torch.func.grad(lambda x: (list_arrays(call(x))[0] ** 2).sum() / 2)(stack[0])
        assert gradient.shape == x.shape
        if name != "cwt":  # what is computed by Fourier transforms is linear, too, but slow to write down
            first = find_matrix(lambda x: list_arrays(call(x))[0], x.shape)
            np.testing.assert_allclose(gradient.numpy().ravel(), first.T @ (first @ x.ravel()), atol=1e-3)

    @pytest.mark.parametrize(("name", "wavelet", "mode"), CASES)
    def test_arrays_of_the_standard(self, name, wavelet, mode, x):
        call = bind(name, wavelet, mode)
        for kind in (np.float32, np.float64):
            results = list_arrays(call(array_api_strict.asarray(x.astype(kind))))
            for y, wanted in zip(results, list_arrays(call(x.astype(kind))), strict=True):
                assert isinstance(y, type(array_api_strict.asarray(1)))
                assert str(y.dtype).endswith(wanted.dtype.name)
                tolerance = 2e-6 if kind is np.float32 else 1e-12
                np.testing.assert_allclose(np.asarray(y), wanted, atol=tolerance * max(1, np.abs(wanted).max()) * 5)


@pytest.mark.parametrize(
    ("wavelet", "mode"),
    [
        (wavelet, mode)
        for mode in MODES
        for wavelet in ("db3", "bior4.4", "cdf53")
        if mode != "whole" or sb.Wavelet(wavelet).is_whole_sample_symmetric
    ],
)
def test_derivatives_are_those_of_torch(wavelet, mode):
    x = np.random.default_rng(1).normal(size=(2, 37, 42)).astype(np.float32)

    def compute(x, library, decompose):
        low, coarse, fine = decompose(x)
        return (low**2).sum() + sum(library.sin(band).sum() for level in (coarse, fine) for band in level)

    there = jax.jit(jax.grad(lambda x: compute(x, jnp, lambda x: sb.decompose(x, wavelet, 2, mode, axes=(1, 2)))))(x)
    y = torch.tensor(x, requires_grad=True)
    compute(y, torch, lambda x: with_gradients.decompose(x, wavelet, 2, mode, ndim=2)).backward()
    np.testing.assert_allclose(there, y.grad, atol=1e-5 * float(y.grad.abs().max()))


def test_second_derivatives(double):
    x = np.random.default_rng(2).normal(size=11)
    hessian = jax.jit(jax.hessian(lambda x: sum((band**2).sum() for band in sb.wavedec(x, "db3", level=1)) / 2))(x)
    matrix = find_matrix(lambda x: sb.wavedec(x, "db3", level=1), x.shape)
    np.testing.assert_allclose(hessian, matrix.T @ matrix, atol=1e-12)


def test_derivatives_without_jit_and_of_coefficients(x):
    low, high = sb.dwt(x, "db2", "periodization")
    # what is not differentiated is a constant, of JAX or of NumPy
    for constant in (high, jnp.asarray(high)):
        gradient = jax.grad(lambda low, high: (sb.idwt(low, high, "db2", "periodization") ** 2).sum())(low, constant)
        np.testing.assert_allclose(gradient, 2 * low, atol=1e-5)
    assert jax.grad(lambda low: sb.idwt(low, None, "db2").sum())(low).shape == low.shape


def test_what_is_traced_depends_on_the_shape_alone(x):
    count = 0

    @jax.jit
    def work(x):
        nonlocal count
        count += 1
        return sb.wavedec2(x, "db2", level=1)

    for factor in (1, 2, 0):
        work(factor * x)
    assert count == 1
    work(x[:, :6])
    assert count == 2


def test_dtypes_of_jax(x, double):
    for given, wanted in (("float32", "float32"), ("float64", "float64"), ("complex64", "complex64")):
        assert jax.jit(lambda x: sb.dwt(x, "db2")[0])(x.astype(given)).dtype == wanted
    for given in ("float16", "bfloat16"):
        narrow = jnp.asarray(x).astype(given)
        assert jax.jit(lambda x: sb.dwt(x, "db2")[0])(narrow).dtype == sb.dwt(narrow, "db2")[0].dtype == np.float32
    assert jax.jit(lambda x: sb.dwt(x, "db2")[0])(np.arange(8)).dtype == np.float64


def test_integers_in_single_precision():
    low, _ = jax.jit(lambda x: sb.dwt(x, "haar"))(np.arange(8))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, sb.dwt(np.arange(8), "haar")[0], rtol=1e-6)


def test_pyramids_of_traced_arrays(x):
    @jax.jit
    def shrink(x, value):
        pyramid = sb.decompose(x, "cdf97", 2)
        assert device_of(pyramid.approximation) == "array"
        assert repr(pyramid) == repr(sb.decompose(np.ones((8, 12), np.float32), level=2))
        kept = pyramid.map(lambda band, level, key: sb.threshold(band, value) if "d" in key else band)
        return sb.reconstruct(kept)

    wanted = sb.decompose(x, "cdf97", 2).map(lambda band, level, key: sb.threshold(band, 0.3) if "d" in key else band)
    np.testing.assert_allclose(shrink(x, 0.3), sb.reconstruct(wanted), atol=1e-5)


class TestThresholds:
    @pytest.mark.parametrize("mode", ["soft", "hard", "garrote", "greater", "less"])
    def test_values_and_derivatives(self, mode, double):
        x = np.array([-3.0, -1.0, -0.2, 0.0, 0.5, 1.0, 2.0])
        for value in (0.0, 0.75):
            call = partial(sb.threshold, mode=mode)
            np.testing.assert_allclose(jax.jit(call)(x, value), call(x, value))
            slope = jax.vmap(jax.grad(call))(x, np.full(7, value))
            numeric = (call(x + 1e-6, value) - call(x - 1e-6, value)) / 2e-6
            inner = (np.abs(np.abs(x) - value) > 1e-5) & (np.abs(x - value) > 1e-5)
            np.testing.assert_allclose(slope[inner], numeric[inner], atol=1e-6)
            assert np.isfinite(slope).all()

    def test_derivatives_by_the_threshold(self, double):
        slope = jax.grad(lambda value, x: sb.threshold(x, value).sum())(0.5, np.array([-2.0, 0.0, 0.2, 3.0, 4.0]))
        assert float(slope) == pytest.approx(1 - 2)

    def test_complex_numbers(self):
        x = (np.arange(6) - 2.5) * np.exp(0.3j * np.arange(6))
        x[2] = 0
        for given in (x, x.astype(np.complex64)):
            np.testing.assert_allclose(
                np.asarray(sb.threshold(array_api_strict.asarray(given), 1.0)), sb.threshold(given, 1.0)
            )
        assert np.isfinite(jax.grad(lambda x: jnp.abs(sb.threshold(x, 1.0)).sum())(jnp.asarray(x))).all()

    def test_firm_and_by_arrays(self, x):
        np.testing.assert_allclose(
            jax.jit(lambda x: sb.threshold_firm(x, 0.5, 1.0))(x), sb.threshold_firm(x, 0.5, 1.0), atol=1e-6
        )
        by = np.linspace(0, 2, 12, dtype=np.float32)
        np.testing.assert_allclose(jax.jit(sb.threshold)(x, by), sb.threshold(x, by), atol=1e-6)
        found = jax.jit(lambda x: sb.threshold(x, 0.5, "hard", substitute=7))(x)
        np.testing.assert_allclose(found, sb.threshold(x, 0.5, "hard", substitute=7))


class TestDenoising:
    @pytest.fixture
    def image(self):
        clean = sb.data.camera()[::24, ::24].astype(np.float64)
        return clean + np.random.default_rng(3).normal(0, 12, clean.shape)

    @pytest.mark.parametrize(
        "settings",
        [
            {"method": "visu", "sigma": 12.0},
            {"method": "bayes"},
            {"method": "bayes", "mode": "garrote", "form": "undecimated"},
            {"method": "sure", "form": "spun"},
            {"method": "bivariate"},
            {"method": "wiener", "sigma": 12.0},
        ],
        ids=lambda settings: settings["method"],
    )
    def test_values_and_derivatives(self, settings, image, double):
        denoise = partial(sb.denoise, level=1, **settings)
        compiled = jax.jit(denoise)
        wanted = denoise(image)
        np.testing.assert_allclose(compiled(image), wanted, atol=1e-3)
        direction = np.random.default_rng(4).normal(size=image.shape)
        gradient = jax.jit(jax.grad(lambda x: (denoise(x) * direction).sum()))(image)
        assert np.isfinite(gradient).all()
        step = 1e-4
        numeric = ((compiled(image + step * direction) - compiled(image - step * direction)) * direction).sum() / (
            2 * step
        )
        assert float((gradient * direction).sum()) == pytest.approx(float(numeric), rel=1e-3)

    def test_flat_images_have_derivatives(self, double):
        for method in ("visu", "bayes", "bivariate"):
            denoise = partial(sb.denoise, sigma=0.1, level=1, method=method, form="decimated")
            gradient = jax.jit(jax.grad(lambda x, denoise=denoise: denoise(x).sum()))(np.ones((16, 16)))
            assert np.isfinite(gradient).all()

    def test_colours_masks_and_alpha(self, image):
        rng = np.random.default_rng(5)
        colour = rng.uniform(0, 255, (16, 16, 4)).astype(np.float32)
        options = {"sigma": 10.0, "level": 1, "method": "visu"}
        found = jax.jit(lambda x: sb.denoise(x, **options))(colour)
        np.testing.assert_allclose(found, sb.denoise(colour, **options), atol=1e-2)
        np.testing.assert_array_equal(found[..., 3], colour[..., 3])
        mask = rng.random((16, 16)) < 0.8
        found = jax.jit(lambda x: sb.denoise(x, mask=mask, **options))(colour[..., 0])
        np.testing.assert_allclose(found, sb.denoise(colour[..., 0], mask=mask, **options), atol=1e-2)

    def test_arrays_of_the_standard(self, image):
        pixels = image.clip(0, 255).astype(np.uint8)
        for given in (image, pixels):
            found = sb.denoise(array_api_strict.asarray(given), level=1)
            np.testing.assert_allclose(np.asarray(found), sb.denoise(given, level=1), atol=1e-2)
        enhancer = sb.Enhancer([sb.enhance.Denoise("visu"), sb.enhance.Blur(), sb.enhance.Sharpen()], sigma=12.0)
        found = np.asarray(enhancer.apply(array_api_strict.asarray(pixels))).astype(int)
        assert found.dtype == int
        assert np.abs(found - enhancer.apply(pixels)).max() <= 1


class TestWhatCannotBeTraced:
    def test_reversible_transforms_look_at_the_numbers(self):
        with pytest.raises(ArgumentTypeError, match=r"reading numbers, as reversible transforms do.*outside of"):
            jax.jit(lambda x: sb.decompose(x, "cdf53", reversible=True).approximation)(np.arange(8))
        counts = array_api_strict.asarray(np.arange(35).reshape(5, 7))
        again = sb.reconstruct(sb.decompose(counts, "cdf53", reversible=True))
        assert bool(array_api_strict.all(again == counts))

    def test_engines_that_need_numbers(self, x):
        with pytest.raises(ArgumentError, match=r"engine='cpu' needs numbers.*leave engine out.*jax\.jit"):
            jax.jit(lambda x: sb.decompose(x, engine="cpu").approximation)(x)
        low = jax.jit(lambda x: sb.decompose(x, "db2", 1, engine="array").approximation)(x)
        np.testing.assert_allclose(low, sb.decompose(x, "db2", 1).approximation, atol=1e-5)

    def test_images_and_files(self, x, tmp_path):
        with pytest.raises(ArgumentTypeError, match=r"jax\.jit.*traces an array.*jax\.pure_callback"):
            jax.jit(lambda x: sb.decompose(x, level=1).picture())(x)
        with pytest.raises(ArgumentTypeError, match="has no numbers yet"):
            jax.jit(to_host)(x)

    def test_libraries_are_not_mixed(self, x):
        with pytest.raises(ArgumentTypeError, match=r"cD is a torch\.Tensor and cA a jax\.Array"):
            jax.jit(lambda low: sb.idwt(low, torch.tensor(x), "haar"))(x)

    def test_what_writes_into_images(self, x):
        with pytest.raises(ArgumentTypeError, match="cannot be done with arrays of jax that are traced"):
            jax.jit(lambda x: decouple(x)[0])(np.abs(x) + 1)


def test_kinds_of_arrays(x):
    assert find_kind(array_api_strict.asarray(x)).name == "array of the array API standard"
    assert device_of(array_api_strict.asarray(x)) == "array"
    assert find_kind(np.float64(1)) is None
    seen = []
    jax.jit(lambda x: seen.append(device_of(x)))(x)
    torch.func.vmap(lambda x: (seen.append(find_kind(x).is_traced(x)), x)[1])(torch.tensor(x))
    assert seen == ["array", True]
    assert device_of(jnp.asarray(x)) == "cpu"
    assert not find_kind(torch.tensor(x)).is_traced(torch.tensor(x))

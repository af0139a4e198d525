"""Noise of every model becomes additive and equally strong, and what is led back has no bias."""

import numpy as np
import pytest
from scipy import special, stats

from subband.enhance.models import (
    MODELS,
    Auto,
    Correlated,
    Gaussian,
    LogSpeckle,
    NoiseModel,
    PoissonGaussian,
    SaltAndPepper,
    Speckle,
    Stripes,
    find_model,
)
from subband.enhance.models.laws import digamma, trigamma
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError

LAWS = [("rayleigh", 1.0), ("rayleigh", 4.0), ("gamma", 1.0), ("gamma", 0.7), ("gamma", 3.0)]
ALL = [Gaussian(5.0), LogSpeckle(), PoissonGaussian(2.0, 10.0, 3.0), Speckle(), Speckle(3.0, "gamma", 0.25)]
OTHERS = [Auto(), Correlated(), Correlated(((1.0, 2.0, 3.0),)), SaltAndPepper(0.1), Stripes("both", 5.0)]


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.5, 1.0, 2.5, 9.99, 10.0, 100.0, 1e6])
def test_polygamma_functions_are_those_of_scipy(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-12, abs=1e-12)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-11)


@pytest.mark.parametrize("model", ALL + OTHERS, ids=repr)
def test_models_are_data(model):
    assert eval(repr(model)) == model
    assert hash(eval(repr(model))) == hash(model)
    with pytest.raises(AttributeError):
        model.looks = 2
    assert type(model) is MODELS[model.name]


def test_every_model_is_registered():
    def descend(base):
        for model in base.__subclasses__():
            yield from descend(model)
            if not model.__name__.startswith("_"):
                yield model

    assert set(MODELS.values()) == set(descend(NoiseModel))
    assert list(MODELS) == sorted(MODELS)


@pytest.mark.parametrize(("kind", "looks"), LAWS)
def test_speckle_has_mean_one_and_the_sigma_it_says(kind, looks):
    model = Speckle(looks, kind, floor=1e-9)
    noisy = model.add(np.full((1000, 1000), 100.0), seed=0)
    assert noisy.mean() == pytest.approx(100, rel=0.005)
    assert model.stabilise(noisy).std() == pytest.approx(model.stabilised_sigma, rel=0.01)


@pytest.mark.parametrize("level", [3.0, 20.0, 200.0])
@pytest.mark.parametrize(("kind", "looks"), LAWS)
def test_averages_of_logarithms_come_back_without_bias(kind, looks, level):
    model = Speckle(looks, kind, floor=1e-9)
    values = model.stabilise(model.add(np.full((1000, 1000), level), seed=1))
    assert model.restore(values.mean(keepdims=True)).item() == pytest.approx(level, rel=0.006)


def test_rayleigh_is_the_law_of_one_look():
    noise = Speckle().add(np.ones(100_000), seed=0)
    assert stats.kstest(noise, stats.rayleigh(scale=np.sqrt(2 / np.pi)).cdf).pvalue > 0.01
    assert Speckle().stabilised_sigma == pytest.approx(np.pi / np.sqrt(24))


@pytest.mark.parametrize(("kind", "looks"), LAWS)
@pytest.mark.parametrize("make", [lambda *law: Speckle(*law, floor=1e-9), lambda *law: LogSpeckle(60.0, 255.0, *law)])
def test_refined_values_have_weaker_noise_and_the_same_mean(make, kind, looks):
    model = make(looks, kind)
    values = model.stabilise(model.add(np.full((1000, 1000), 100.0), seed=2))
    guess = np.full_like(values, values.mean())
    refined = model.refine(values, guess)
    assert refined.std() == pytest.approx(model.refined_sigma, rel=0.01)
    assert model.refined_sigma < model.stabilised_sigma
    assert refined.mean() == pytest.approx(values.mean(), abs=0.005 * model.stabilised_sigma)


def test_refined_values_tell_how_wrong_the_guess_is():
    model = LogSpeckle()
    values = model.add(np.full((1000, 1000), 100.0), seed=2)
    step = 0.1 * model.stabilised_sigma
    # to first order the mean of the refined values does not depend on the guess
    wrong = model.refine(values, np.full_like(values, values.mean() + step))
    assert abs(wrong.mean() - values.mean()) < 0.1 * step


def test_refining_normal_noise_changes_nothing():
    values = np.arange(6.0)
    np.testing.assert_array_equal(Gaussian(1.0).refine(values, np.zeros(6)), values)


def test_black_has_a_logarithm():
    model = Speckle()
    assert np.isfinite(model.stabilise(np.zeros((4, 4), np.uint8))).all()
    assert np.isfinite(model.stabilise(np.zeros((4, 4)))).all()
    assert model.restore(model.stabilise(np.zeros(1, np.uint8))).item() < 1
    unit = model.stabilise(np.array([0.0, 1.0]))
    np.testing.assert_allclose(unit, [-np.log(512), 0])
    assert model.stabilise(np.zeros((0, 4))).shape == (0, 4)


def test_log_speckle_is_the_logarithm_of_speckle():
    linear, compressed = Speckle(floor=1e-9), LogSpeckle(dynamic_range=60, white=255)
    picture = np.full((300, 300), 0.1)
    shown = 255 * (1 + 20 * np.log10(linear.add(picture, seed=3)) / 60)
    same = compressed.add(255 * (1 + 20 * np.log10(picture) / 60), seed=3)
    np.testing.assert_allclose(shown, same)
    assert compressed.restore(same.mean(keepdims=True)).item() == pytest.approx(255 * 2 / 3, abs=0.4)


def test_log_speckle_of_known_strength():
    assert LogSpeckle.from_sigma(10.0, looks=2.0, kind="gamma").stabilised_sigma == pytest.approx(10)
    assert LogSpeckle.from_sigma(LogSpeckle(45.0).stabilised_sigma).dynamic_range == pytest.approx(45)


@pytest.mark.parametrize("count", [6.0, 20.0, 300.0])
@pytest.mark.parametrize("model", [PoissonGaussian(), PoissonGaussian(3.0, 10.0, 4.0), PoissonGaussian(0.01, -1, 0.02)])
def test_counts_get_unit_noise(model, count):
    picture = np.full((500, 500), model.gain * count + model.offset)
    noisy = model.add(picture, seed=0)
    assert noisy.var() == pytest.approx(model.gain**2 * count + model.sigma**2, rel=0.02)
    assert model.stabilise(noisy).std() == pytest.approx(1, abs=0.03)


def expect_transform(count, sigma):
    """Give the mean of transformed samples by brute force."""
    possible = np.arange(int(count + 14 * np.sqrt(count)) + 40)
    chances = stats.poisson.pmf(possible, count)
    if sigma == 0:
        return chances @ (2 * np.sqrt(possible + 3 / 8))
    sample = np.linspace(-3 / 8 - sigma**2, possible[-1] + 12 * sigma, 40_001)
    density = np.zeros_like(sample)
    for number, chance in zip(possible, chances, strict=True):
        if chance > 1e-12:
            density += chance * stats.norm.pdf(sample, number, sigma)
    return np.trapezoid(2 * np.sqrt(np.maximum(sample + 3 / 8 + sigma**2, 0)) * density, sample)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, 10.0])
def test_inverse_is_exact(sigma):
    model = PoissonGaussian(sigma=sigma)
    counts = np.array([0, 0.01, 0.3, 1, 2.2, 5, 11, 33, 99, 130, 400])
    means = np.array([expect_transform(count, sigma) for count in counts])
    np.testing.assert_allclose(model.restore(means), counts, atol=1e-3)
    np.testing.assert_allclose(model.restore(means.astype(np.float32)), counts, atol=2e-3)
    closed = means**2 / 4 + np.sqrt(1.5) / (4 * means) - 11 / 8 / means**2 + 5 / 8 * np.sqrt(1.5) / means**3 - 1 / 8
    assert np.abs(closed - sigma**2 - counts).max() < 0.05


def test_inverse_goes_no_lower_than_nothing_and_rises():
    model = PoissonGaussian(2.0, 10.0, 3.0)
    restored = model.restore(np.linspace(-5, 60, 5000))
    assert restored.min() == restored[0] == pytest.approx(10)
    assert (np.diff(restored) >= 0).all()


def test_table_is_shared_and_not_to_be_changed():
    entries = PoissonGaussian(2.0, 0.0, 1.0).correction[2]
    assert entries is PoissonGaussian(4.0, 7.0, 2.0).correction[2]
    with pytest.raises(ValueError, match="read-only"):
        entries[0] = 1


@pytest.mark.parametrize(("dtype", "result"), [("uint8", "float32"), ("float32", "float32"), ("float64", "float64")])
@pytest.mark.parametrize("model", ALL, ids=repr)
def test_precision_is_kept(model, dtype, result):
    picture = np.arange(20, 60).reshape(5, 8).astype(dtype)
    values = model.stabilise(picture)
    results = [values, model.restore(values), model.refine(values, values), model.add(picture, seed=0)]
    assert {array.dtype for array in results} == {np.dtype(result)}
    assert {array.shape for array in results} == {(5, 8)}
    assert not any(np.shares_memory(array, picture) for array in results)
    exact = model.restore(model.stabilise(picture.astype(np.float64)))
    np.testing.assert_allclose(results[1], exact, rtol=2e-6)


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_tensors_stay_tensors(model):
    torch = pytest.importorskip("torch")
    picture = np.arange(20, 60, dtype=np.float32).reshape(5, 8)
    values = model.stabilise(torch.from_numpy(picture))
    assert isinstance(values, torch.Tensor)
    np.testing.assert_allclose(values.numpy(), model.stabilise(picture))
    np.testing.assert_allclose(model.restore(values).numpy(), model.restore(model.stabilise(picture)))
    np.testing.assert_allclose(model.refine(values, values).numpy(), model.refine(values.numpy(), values.numpy()))
    np.testing.assert_allclose(model.add(torch.from_numpy(picture), seed=1).numpy(), model.add(picture, seed=1))


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_seeds_decide(model):
    picture = np.full((8, 8), 50.0)
    np.testing.assert_array_equal(model.add(picture, seed=4), model.add(picture, seed=4))
    assert not np.array_equal(model.add(picture, seed=4), model.add(picture, seed=5))
    generator = np.random.default_rng(4)
    np.testing.assert_array_equal(model.add(picture, generator), model.add(picture, seed=4))
    assert not np.array_equal(model.add(picture, generator), model.add(picture, seed=4))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(-1.0), ArgumentError, "sigma=-1.0"),
        (lambda: Gaussian("much"), ArgumentTypeError, "sigma='much'"),
        (lambda: Gaussian().add(np.zeros(4)), ArgumentError, "sigma=None"),
        (lambda: Speckle(looks=0), ArgumentError, "looks=0 .* above 0"),
        (lambda: Speckle(kind="gama"), ArgumentError, "did you mean 'gamma'"),
        (lambda: Speckle(floor=0.0), ArgumentError, "floor=0.0"),
        (lambda: LogSpeckle(dynamic_range=-60), ArgumentError, "dynamic_range=-60"),
        (lambda: LogSpeckle.from_sigma(0.0), ArgumentError, "sigma=0.0"),
        (lambda: PoissonGaussian(gain=0.0), ArgumentError, "gain=0.0"),
        (lambda: PoissonGaussian(sigma=np.nan), ArgumentError, "sigma=nan"),
        (lambda: Speckle().stabilise(np.ones(3, complex)), DtypeError, "complex128"),
        (lambda: find_model("spekle"), ArgumentError, "did you mean 'speckle'"),
        (lambda: find_model(3), ArgumentError, "model=3"),
    ],
)
def test_bad_arguments_name_the_way_out(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_models_are_found():
    assert find_model("gaussian") == Gaussian()
    assert find_model(ALL[2]) is ALL[2]

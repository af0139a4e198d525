"""The transformers of scikit-learn keep its contract, and compute what subband's functions do."""

import numpy as np
import pytest

import subband
from subband.errors import ArgumentError, LevelError, ShapeError, UnknownWaveletError

transformers = pytest.importorskip("subband.integrations.sklearn", exc_type=ImportError)
STATISTICS, WaveletDenoiser, WaveletFeatures = (
    transformers.STATISTICS, transformers.WaveletDenoiser, transformers.WaveletFeatures
)  # fmt: skip

RNG = np.random.default_rng(0)
SIGNALS = np.sin(np.outer([0.1, 0.11, 1.5, 1.6], np.arange(100))) + RNG.normal(0, 0.1, (4, 100))
IMAGES = RNG.normal(size=(3, 16 * 12))


@pytest.mark.parametrize(
    "estimator",
    [WaveletFeatures(), WaveletFeatures("haar", statistics=[*STATISTICS]), WaveletDenoiser(), WaveletDenoiser(0.5)],
    ids=repr,
)
def test_the_contract(estimator):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(estimator, on_skip=None)


def test_features_of_signals():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    features = WaveletFeatures("db2", level=2, statistics=["energy", "max"]).set_output(transform="pandas")
    frame = features.fit_transform(SIGNALS)
    assert [*frame] == ["a2_energy", "a2_max", "d2_energy", "d2_max", "d1_energy", "d1_max"]
    approximation, _, fine = subband.wavedec(SIGNALS[3], "db2", level=2)
    np.testing.assert_allclose(frame["a2_energy"][3], np.square(approximation).mean(), rtol=1e-12)
    np.testing.assert_allclose(frame["d1_max"][3], np.abs(fine).max(), rtol=1e-12)
    labels = [0, 0, 1, 1]
    assert make_pipeline(features, LogisticRegression()).fit(SIGNALS, labels).score(SIGNALS, labels) == 1


def test_features_of_flattened_images():
    features = WaveletFeatures(level=1, shape=(16, 12), statistics=["std", "mean"]).fit(IMAGES)
    names = features.get_feature_names_out()
    assert names[:3].tolist() == ["aa1_std", "aa1_mean", "ad1_std"]
    ad = subband.decompose(IMAGES[1].reshape(16, 12), "db4", 1)[1, "ad"]
    np.testing.assert_allclose(features.transform(IMAGES)[1, 2], ad.std(), rtol=1e-12)


def test_entropy_of_known_shares():
    measured = STATISTICS["entropy"](np.array([[1.0, 0, 0, 0], [1, -1, 1, 1], [0, 0, 0, 0]]))
    np.testing.assert_allclose(measured, [0, 2, 0], atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_denoised_one_by_one(dtype):
    rows = SIGNALS.astype(dtype)
    cleaned = WaveletDenoiser(wavelet="db4", strength=1.2).fit_transform(rows)
    assert cleaned.dtype == dtype
    alone = [subband.denoise(row, wavelet="db4", strength=1.2) for row in rows]
    np.testing.assert_allclose(cleaned, alone, atol=1e-5 if dtype == "float32" else 1e-12)
    images = WaveletDenoiser(1.0, shape=(16, 12)).fit_transform(IMAGES)
    np.testing.assert_allclose(images[2].reshape(16, 12), subband.denoise(IMAGES[2].reshape(16, 12), 1.0), atol=1e-12)


@pytest.mark.parametrize(
    ("transformer", "error", "message"),
    [
        (WaveletFeatures("db4", statistics=["median"]), ArgumentError, "statistics='median' is not known"),
        (WaveletFeatures("db4", statistics="energy"), ArgumentError, "no list of names"),
        (WaveletFeatures("dbx"), UnknownWaveletError, "dbx"),
        (WaveletFeatures(level=20), LevelError, "level=20 is too large"),
        (WaveletFeatures(shape=(16, 16)), ShapeError, "has 256 samples, and X has 100 columns"),
        (WaveletDenoiser(method="magic"), ArgumentError, "magic"),
        (WaveletDenoiser(shape=(16, 16)), ShapeError, "has 256 samples, and X has 100 columns"),
    ],
)
def test_settings_are_checked_by_fit(transformer, error, message):
    with pytest.raises(error, match=message):
        transformer.fit(SIGNALS)

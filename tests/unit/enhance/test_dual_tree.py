"""The dual-tree form of stages that transform: complex coefficients are shrunk by their magnitude."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data, denoise
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance import Blur, Denoise, Enhancer, Shrink
from subband.enhance.blockwise.reach import find_obstacle
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import measure_planes, shrink_by_noise
from subband.errors import ArgumentError
from subband.quality import measure_psnr

CPU = get_engine("cpu")
FILTERS = find_filters(CPU)
FORM = "dual-tree"


def add_noise(image, sigma):
    return image + np.random.default_rng(1).normal(0, sigma, image.shape).astype(np.float32)


@pytest.mark.parametrize("sigma", [10, 25, 50])
@pytest.mark.parametrize("name", ["camera", "ascent"])
def test_it_is_better_than_cycle_spinning(name, sigma):
    image = getattr(data, name)().astype(np.float32)
    noisy = add_noise(image, sigma)
    dual, spun = (measure_psnr(denoise(noisy, sigma, form=form), image, 255) for form in (FORM, "spun"))
    assert dual > spun + 0.05


# noise that is mirrored is weaker at the outermost coefficients, of which a small volume has many
@pytest.mark.parametrize(("space", "tolerance"), [((4096,), 0.03), ((128, 96), 0.03), ((32, 24, 36), 0.12)])
@pytest.mark.parametrize("wavelet", ["cdf97", "cdf53", "bior2.2"])
def test_noise_is_as_strong_as_the_gain_says(space, tolerance, wavelet):
    planes = np.random.default_rng(0).normal(0, 3, (6, *space))
    coefficients = Roundtrip(Denoise(wavelet=wavelet, level=2, form=FORM), planes.shape, CPU, FILTERS).forward(planes)
    assert [len(bands) for bands in coefficients.details] == [[1, 6, 28][len(space) - 1]] * 2
    for level, bands in enumerate(coefficients.details, 1):
        for key, band in bands.items():
            gain = combine_gains(coefficients.wavelets, level, key)
            assert np.sqrt(np.mean(np.square(band))) == pytest.approx(3 * gain, rel=2 * tolerance)
    np.testing.assert_allclose(np.mean(measure_planes(FILTERS, coefficients)), 3, rtol=tolerance)


def test_phases_stay():
    planes = add_noise(data.camera()[None, :128, :128].astype(np.float32), 20)
    stage = Denoise(level=3, form=FORM)
    roundtrip = Roundtrip(stage, planes.shape, CPU, FILTERS)
    before, after = (roundtrip.forward(planes) for _ in range(2))
    shrink_by_noise(stage, FILTERS, after, np.array([20.0], np.float32), planes[0].size)
    for bands, shrunk in zip(before.details, after.details, strict=True):
        for key, band in bands.items():
            z, w = (each[0] + 1j * each[1] for each in (band, shrunk[key]))
            assert np.abs(w).sum() < 0.9 * np.abs(z).sum()
            np.testing.assert_allclose((w * z.conj()).imag, 0, atol=1e-5 * np.abs(z).max() ** 2)
            assert (w * z.conj()).real.min() >= 0


@pytest.mark.parametrize("stage", [Denoise(), Denoise("bayes"), Shrink(threshold=[[8, 4, 4]], gains=[1.2, 1, 1])])
@pytest.mark.parametrize("engine", ["reference", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_engines_agree(stage, engine):
    if engine == "opencl":
        pytest.importorskip("pyopencl")
    noisy = add_noise(np.repeat(data.camera()[200:250, 100:161, None], 3, 2).astype(np.float32), 20)
    enhancer = Enhancer(type(stage)(**{**vars(stage), "form": FORM}))
    np.testing.assert_allclose(enhancer.apply(noisy, engine=engine), enhancer.apply(noisy), atol=0.1)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_unit_does_not_matter(scale):
    noisy = add_noise(data.camera()[:64, :80].astype(np.float64), 20)
    expected = denoise(noisy, form=FORM)
    np.testing.assert_allclose(denoise(noisy * scale, form=FORM) / scale, expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 9), (2, 2), (3, 5), (7,), (4, 5, 6)])
def test_images_of_any_size(shape):
    x = add_noise(np.zeros(shape), 1.0)
    assert denoise(x, 1.0, form=FORM).shape == shape
    np.testing.assert_allclose(denoise(x, 0.0, form=FORM), x, atol=1e-12)


def test_given_thresholds_leave_larger_magnitudes():
    image = add_noise(data.camera()[:64, :64].astype(np.float64), 10)
    np.testing.assert_allclose(Enhancer(Shrink(form=FORM)).apply(image), image, atol=1e-10)
    smooth = Enhancer(Shrink(level=2, threshold=1e9, form=FORM)).apply(image)
    low = Enhancer(Shrink(level=2, gains=0, form=FORM)).apply(image)
    np.testing.assert_allclose(smooth, low, atol=1e-9)


def test_filters_on_bands():
    image = data.camera()[:64, :64].astype(np.float64)
    for spatial in (Blur(1.0, "approximation"), Blur(1.0, "details", levels=(1,))):
        assert np.std(Enhancer(Denoise(strength=0, form=FORM, filters=(spatial,))).apply(image) - image) > 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Denoise(wavelet="db2", form=FORM), r"needs symmetric filters.*wavelet='db2' has none; use 'cdf97'"),
        (lambda: Denoise(boundary="periodic", form=FORM), r"a dual-tree one always mirrors: leave it out"),
        (lambda: Denoise(filters=(Blur(1.0, "between"),), form=FORM), r"works between the levels.*use at='details'"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_parts_of_a_volume_do_not_do():
    assert "two trees" in find_obstacle(Denoise(form=FORM))


def test_dask_is_refused():
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ArgumentError, match=r"form='dual-tree' has two trees.*compute\(\) the array first"):
        denoise(dask.zeros((64, 64), chunks=32), 1.0, form=FORM)


def test_gradients_are_finite_where_nothing_is():
    torch = pytest.importorskip("torch", reason="gradients are those of PyTorch: pip install torch")
    half = np.zeros((64, 48), np.float32)
    half[32:] = np.random.default_rng(5).normal(128, 5, (32, 48))
    image = torch.tensor(half, requires_grad=True)
    (denoise(image, 5, form="dual-tree") ** 2).sum().backward()
    assert torch.isfinite(image.grad).all()
    assert image.grad[32:].abs().sum() > 0

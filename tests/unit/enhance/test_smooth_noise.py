"""Noise that nobody tells is measured where there is little else: in flat images, ramps and photographs."""

import numpy as np
import pytest

import subband
from subband.data import aero, ascent, camera, photograph
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance import Denoise, Enhancer, find_noise
from subband.enhance.program import prepare_program
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import cut_finest, measure_planes

ENGINE = get_engine("cpu")
FILTERS = find_filters(ENGINE)


def read_sample(name):
    library = pytest.importorskip("skimage.data", reason="scikit-image has the picture: pip install scikit-image")
    return getattr(library, name)().astype(np.float64)


#: Images, and how much of the noise measured in them may be texture, at a sigma of 3.
IMAGES = {
    "flat": (lambda: np.full((256, 256), 100.0), 0.02),
    "ramp": (lambda: np.add.outer(np.arange(300.0), np.arange(400.0)) / 3, 0.02),
    "camera": (lambda: camera().astype(np.float64), 0.04),
    "ascent": (lambda: ascent().astype(np.float64), 0.04),
    "aero": (lambda: aero().astype(np.float64), 0.04),
    "photograph": (lambda: photograph()[..., 1].astype(np.float64), 0.05),
    "coins": (lambda: read_sample("coins"), 0.06),
    "brick": (lambda: read_sample("brick"), 0.04),
    # blades everywhere, so that there is little else
    "grass": (lambda: read_sample("grass"), 0.25),
}


def measure(planes, stage=None, mask=None):
    """Return the noise of each plane, as a stage measures it."""
    roundtrip = Roundtrip(stage or Denoise(level=1, form="decimated"), planes.shape, ENGINE, FILTERS)
    return measure_planes(FILTERS, roundtrip.forward(planes.astype(np.float32)), mask)


def find_own(name, clean):
    return 0.0 if name in ("flat", "ramp") else find_noise(clean).sigma


@pytest.mark.parametrize("sigma", [3, 10, 30])
@pytest.mark.parametrize("name", IMAGES)
def test_noise_of_images(name, sigma):
    make, most = IMAGES[name]
    clean = make()
    noisy = clean + np.random.default_rng(1).normal(0, sigma, clean.shape)
    (found,) = measure(noisy[np.newaxis])
    assert found == pytest.approx(np.hypot(sigma, find_own(name, clean)), rel=most)


@pytest.mark.parametrize("sigma", [10, 30])
@pytest.mark.parametrize("name", ["camera", "ascent", "photograph", "coins", "brick"])
def test_blind_is_as_good_as_told(name, sigma):
    clean = IMAGES[name][0]()
    noisy = (clean + np.random.default_rng(1).normal(0, sigma, clean.shape)).astype(np.float32)
    blind, told = (subband.psnr(subband.denoise(noisy, each), clean, peak=255) for each in (None, sigma))
    assert blind > told - 0.1


@pytest.mark.parametrize("form", ["decimated", "spun", "undecimated", "dual-tree"])
@pytest.mark.parametrize("wavelet", ["haar", "db4", "cdf53", "cdf97"])
@pytest.mark.parametrize("shape", [(256, 300), (60, 64, 68)])
def test_white_noise_is_neither_weaker_nor_stronger(shape, wavelet, form):
    """The choice of cells is independent of their noise, at borders too and where a form has every position."""
    if form == "dual-tree" and not wavelet.startswith("cdf"):
        pytest.skip("the dual tree begins with symmetric filters of odd length")
    noise = np.random.default_rng(2).normal(0, 5, (6, *shape))
    assert measure(noise, Denoise(wavelet=wavelet, level=1, form=form)).mean() == pytest.approx(5, rel=0.012)


@pytest.mark.parametrize("shape", [(500,), (1, 500), (20, 20), (9, 7, 8)])
def test_without_cells_noise_is_the_median(shape):
    """A signal has no other bands, and few cells say little."""
    noise = np.random.default_rng(3).normal(0, 5, (1, *shape))
    stage = Denoise(level=1)
    roundtrip = Roundtrip(stage, noise.shape, ENGINE, FILTERS)
    coefficients = roundtrip.forward(noise)
    key = "d" * len(roundtrip.axes)
    band = coefficients.details[0][key]
    assert cut_finest(roundtrip, band.shape[1:]) is None
    gain = subband.enhance.noise.combine_gains(roundtrip.wavelets, 1, key)
    np.testing.assert_array_equal(measure_planes(FILTERS, coefficients), FILTERS.measure_median(band, gain))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("level", [0, 255])
def test_what_was_saturated_does_not_count(level, share):
    clean = np.full((300, 400), 120.0)
    noise = np.random.default_rng(4).normal(0, 4, clean.shape)
    clean[: int(share * 300)] = -100 if level == 0 else 400
    stored = np.clip(np.round(clean + noise), 0, 255).astype(np.uint8)
    program = prepare_program(Enhancer(), stored.shape, 1, ENGINE)
    (found,) = program.find_noise(stored[..., np.newaxis])
    assert found == pytest.approx(np.hypot(4, 12**-0.5), rel=0.035)


@pytest.mark.parametrize("level", [0, 255])
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_where_noise_was_clipped_it_is_not_believed(level, share):
    """Half of the noise is left where the brightness is that of black or white."""
    rows = np.linspace(60, 190, 300)
    rows[: int(share * 300)] = level
    noisy = rows[:, np.newaxis] + np.random.default_rng(5).normal(0, 8, (300, 400))
    stored = np.clip(np.round(noisy), 0, 255)
    (found,) = measure(stored[np.newaxis])
    assert found == pytest.approx(8, rel=0.04)


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6])
@pytest.mark.parametrize("sigma", [3, 10])
def test_where_noise_of_much_was_clipped_it_is_not_believed(share, sigma):
    """Borders of tomography and ultrasound, and dark sky, take half of the image and more."""
    rows = np.linspace(60, 190, 400)
    rows[: int(share * 400)] = 0
    noisy = rows[:, np.newaxis] + np.random.default_rng(5).normal(0, sigma, (400, 400))
    stored = np.clip(np.round(noisy), 0, 255)
    (found,) = measure(stored[np.newaxis])
    assert found == pytest.approx(sigma, rel=0.06)


@pytest.mark.parametrize("form", ["decimated", "spun", "undecimated", "dual-tree"])
@pytest.mark.parametrize("sigma", [3, 10])
@pytest.mark.parametrize("level", [0, 255])
def test_borders_around_texture_do_not_count(level, sigma, form):
    """What is left of the noise is the same in all of half the image, and the rest has no part without texture."""
    clean = photograph()[..., 1].astype(np.float64)
    clean[: clean.shape[0] // 4], clean[3 * clean.shape[0] // 4 :] = level, level
    stored = np.clip(np.round(clean + np.random.default_rng(10).normal(0, sigma, clean.shape)), 0, 255)
    assert measure(stored[np.newaxis], Denoise(level=1, form=form))[0] == pytest.approx(sigma, rel=0.12)


@pytest.mark.parametrize(("name", "most"), [("china.jpg", 0.05), ("flower.jpg", 0.08)])
@pytest.mark.parametrize("sigma", [10, 25, 50])
def test_strong_noise_near_black_and_white(name, most, sigma):
    """Of half of the image or more some samples were clipped: few here, most there."""
    library = pytest.importorskip("sklearn.datasets", reason="scikit-learn has the picture: pip install scikit-learn")
    clean = library.load_sample_image(name)[..., 1].astype(np.float64)
    stored = np.clip(np.round(clean + np.random.default_rng(11).normal(0, sigma, clean.shape)), 0, 255)
    assert measure(stored[np.newaxis])[0] == pytest.approx(sigma, rel=most)


def test_drawings_have_no_noise():
    """Most samples of a cell at an edge are equal, as those of clipped noise are."""
    radius = np.hypot(*np.mgrid[-128:128, -128:128])
    bars = np.add.outer(np.arange(256) // 9 % 2, np.zeros(256))
    for clean in (radius < 90, bars, radius < 60 + 20 * bars):
        assert measure(255.0 * np.asarray(clean, np.float64)[np.newaxis])[0] < 2


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_edges_between_constants_are_no_clipped_noise(engine):
    """Some eighth of their cells may be even and white by chance, and have any energy."""
    clean = 255 * read_sample("shepp_logan_phantom")
    assert measure(clean[np.newaxis])[0] < 1
    assert np.abs(subband.denoise(clean, engine=engine) - clean).max() < 1


def test_noise_of_what_is_constant_is_none():
    assert measure(np.full((1, 64, 64), 8.0)).tolist() == pytest.approx([0], abs=1e-4)
    assert measure(np.zeros((2, 64, 64))).tolist() == [0, 0]


def test_noise_where_a_mask_counts():
    noise = np.random.default_rng(6).normal(0, 5, (1, 200, 260))
    noise[:, :, 130:] /= 5
    mask = np.ones((200, 260), bool)
    mask[:, 130:] = False
    assert measure(noise, mask=mask)[0] == pytest.approx(5, rel=0.03)
    # gaps so near to each other that no cell is whole
    lattice = np.ones((200, 260), bool)
    lattice[::3, ::3] = False
    np.testing.assert_array_equal(measure(noise, mask=lattice), measure(noise))


@pytest.mark.parametrize("unit", [1e-25, 1e-6, 1e9, 1e30])
def test_units_do_not_matter(unit):
    noisy = camera()[np.newaxis] + np.random.default_rng(7).normal(0, 5, (1, 512, 512))
    np.testing.assert_allclose(measure(noisy * unit) / unit, measure(noisy), rtol=1e-5)


def test_colours_are_measured_one_by_one():
    noise = np.random.default_rng(8).normal(0, 1, (3, 128, 160)) * np.array([2.0, 5.0, 9.0])[:, np.newaxis, np.newaxis]
    together = measure(noise)
    np.testing.assert_allclose(together, [measure(noise[k : k + 1])[0] for k in range(3)], rtol=1e-6)
    np.testing.assert_allclose(together, [2, 5, 9], rtol=0.08)


@pytest.mark.parametrize("method", ["bivariate", "neigh", "wiener", "bayes"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-26, 1e-19, 1e30])
def test_units_of_what_is_told_do_not_matter(unit, dtype, method):
    """Fluxes in physical units are that small."""
    noisy = camera()[:256, :256] + np.random.default_rng(9).normal(0, 10, (256, 256))
    found = subband.denoise((noisy * unit).astype(dtype), 10 * unit, method=method)
    expected = subband.denoise(noisy.astype(dtype), 10, method=method)
    np.testing.assert_allclose(found / unit, expected, atol=0.01)

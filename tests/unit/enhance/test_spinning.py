"""Cycle spinning: the finest levels split two shifts of what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from subband import data, denoise
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.temporal import find_temporal_filters
from subband.enhance import Denoise, Shrink, shrinking
from subband.enhance.noise_maps import NoiseMap
from subband.enhance.roundtrip import Roundtrip, measure_shift
from subband.enhance.shrinking import make_denoiser, make_shrinker
from subband.enhance.stages import SHIFTED_LEVELS, SPIN
from subband.plan import transform_plan
from subband.quality import measure_psnr
from subband.wavelets import as_wavelet

CPU = get_engine("cpu")
FILTERS = find_filters(CPU)
SHAPES = [(1, 64, 80), (3, 37, 50), (2, 1, 40), (1, 3, 2), (1, 1, 1), (2, 300), (1, 9, 17, 24)]


def draw(shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(100, 20, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("wavelet", ["cdf97", "haar", "db3"])
@pytest.mark.parametrize("boundary", [None, "symmetric", "periodization"])
def test_what_does_not_shrink_comes_back(shape, wavelet, boundary):
    planes = draw(shape)
    roundtrip = Roundtrip(Denoise(wavelet=wavelet, boundary=boundary, form="spun"), planes.shape, CPU, FILTERS)
    calls = []
    result = roundtrip.run(planes, calls.append)
    np.testing.assert_allclose(result, planes, 0, 1e-10)
    assert len(calls) == (0 if planes.size == len(planes) else 2)


def test_levels_have_planes_of_all_positions():
    planes = draw((2, 96, 64))
    roundtrip = Roundtrip(Denoise(level=5, form="spun"), planes.shape, CPU, FILTERS)
    coefficients = roundtrip.forward(planes)
    counts = [bands["dd"].shape[0] for bands in coefficients.details]
    assert counts == [2 * 2 ** min(level, SHIFTED_LEVELS - 1) for level in range(5)]
    assert [len(coefficients.list_begins(level)) for level in range(1, 6)] == [count // 2 for count in counts]


@pytest.mark.parametrize("form", ["decimated", "spun", "undecimated", "dual-tree"])
@pytest.mark.parametrize("method", ["bivariate", "bayes", "neigh"])
@pytest.mark.parametrize("shape", [(2, 96, 64), (2, 33, 1, 40), (1, 200)], ids=str)
def test_bands_shrink_together_as_they_do_alone(monkeypatch, form, method, shape):
    planes = draw(shape)
    stage = Denoise(method, form=form, level=2 if min(planes.shape[1:]) > 1 else None)
    roundtrip = Roundtrip(stage, planes.shape, CPU, FILTERS)
    results = []
    for most in (1, shrinking._TOGETHER):
        monkeypatch.setattr(shrinking, "_TOGETHER", most)
        results.append(make_denoiser(stage, roundtrip, np.full(shape[0], 20.0))(planes, None, None))
    np.testing.assert_allclose(*results, 1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_positions_are_those_of_a_shifted_image(axis):
    """Coefficients of each position are those of the image with as many samples before it as `list_begins` has."""
    planes = draw((1, 240, 304))
    roundtrip = Roundtrip(Denoise(level=3, form="spun"), planes.shape, CPU, FILTERS)
    coefficients = roundtrip.forward(planes)
    for level in (1, 2, 3):
        for number, begin in enumerate(coefficients.list_begins(level)):
            before = begin or (0, 0)
            moved = np.pad(planes, [(0, 0), (before[0], 64), (before[1], 64)], mode="reflect")
            plan = transform_plan(moved.shape, (1, 2), roundtrip.wavelets, roundtrip.modes, level)
            _, details = CPU.forward_all(plan, moved)
            band = coefficients.details[level - 1]["ad" if axis else "da"][number]
            # at the borders it is what the level before left that is mirrored
            inner = np.s_[12 : 200 >> level, 12 : 260 >> level]
            expected = details[0]["ad" if axis else "da"][0]
            np.testing.assert_allclose(band[inner], expected[inner], 0, 1e-9)


def test_a_map_of_noise_follows_the_positions():
    rows = np.linspace(1, 3, 96)[:, np.newaxis] * np.ones(128)
    planes = draw((1, 96, 128), np.float32)
    roundtrip = Roundtrip(Denoise(level=3, form="spun"), planes.shape, CPU, FILTERS)
    coefficients = roundtrip.forward(planes)
    before = [{key: band.copy() for key, band in bands.items()} for bands in coefficients.details]
    strengths = NoiseMap(np.square(rows).astype(np.float32), np.ones(1), FILTERS, find_temporal_filters(CPU))
    strengths.level(coefficients)
    for level, bands in enumerate(coefficients.details, 1):
        for number, begin in enumerate(coefficients.list_begins(level)):
            ratio = before[level - 1]["ad"][number] / bands["ad"][number]
            position = (np.arange(ratio.shape[0]) << level) - (begin or (0, 0))[0]
            inner = (position > 8) & (position < 88)
            expected = np.interp(position[inner], np.arange(96), rows[:, 0])
            np.testing.assert_allclose(ratio[inner, 5], expected, 0, 0.03 * 2**level)
    strengths.restore(coefficients)
    for bands, own in zip(coefficients.details, before, strict=True):
        for key, band in bands.items():
            np.testing.assert_allclose(band, own[key], 1e-5, 1e-4)


def test_thresholds_are_those_of_each_plane():
    planes = draw((3, 40, 56), np.float32)
    threshold = np.array([[0.0, 40.0, 1e9]] * 3)
    whole = denoise_by(planes, threshold)
    for number in range(3):
        alone = denoise_by(planes[number : number + 1], threshold[:, number : number + 1])
        np.testing.assert_allclose(whole[number], alone[0], 0, 1e-4)


def denoise_by(planes, threshold):
    stage = Shrink(level=3, threshold=threshold, form="spun")
    roundtrip = Roundtrip(stage, planes.shape, CPU, FILTERS)
    return roundtrip.run(planes, make_shrinker(stage, len(planes), 2, FILTERS))


@pytest.mark.parametrize("sigma", [10, 25, 50])
def test_more_positions_denoise_better(sigma):
    image = data.camera().astype(np.float32)
    noisy = image + np.random.default_rng(2).normal(0, sigma, image.shape).astype(np.float32)
    spun, once = (measure_psnr(denoise(noisy, sigma, form=form), image, 255) for form in ("spun", "decimated"))
    assert spun > once + 0.4


def test_steps_fit_short_axes():
    roundtrip = Roundtrip(Denoise(form="spun"), (1, 3, 50), CPU, FILTERS)
    assert roundtrip.choose_steps((3, 50)) == (2, SPIN)
    assert roundtrip.choose_steps((3, 50), SHIFTED_LEVELS + 1) == (0, 0)


@pytest.mark.parametrize("wavelet", ["haar", "db2", "db4", "sym4", "bior2.2"])
def test_parents_are_the_nearest(wavelet):
    chosen = as_wavelet(wavelet)
    shift = measure_shift(chosen, "symmetric")
    parents = 2 * np.arange(30) + 1 - (chosen.dec_len - 1) / 2
    for k in range(20):
        assert abs(k - parents[(k + shift) // 2]) == np.abs(k - parents).min()


@pytest.mark.parametrize("wavelet", ["haar", "db2", "db4"])
@pytest.mark.parametrize("shape", [(60,), (41, 50), (12, 21, 30)])
def test_parents_are_those_of_the_reference(shape, wavelet):
    rng = np.random.default_rng(8)
    waves = np.sin(0.8 * sum(np.ogrid[tuple(map(slice, shape))]))
    noisy = 60 * waves + rng.normal(128, 5, shape)
    own, expected = (
        denoise(noisy, 7, wavelet, form="decimated", channel_axis=None, engine=engine)
        for engine in ("cpu", "reference")
    )
    np.testing.assert_allclose(own, expected, atol=1e-9)

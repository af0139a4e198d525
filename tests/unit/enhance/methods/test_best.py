"""Groups of similar patches: what they gain, and that results do not depend on how the work is cut up."""

import dask.array as da
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import subband
from subband import data
from subband.cli import app
from subband.engines.filters.compiled import CompiledFilters
from subband.engines.filters.groups import Groups
from subband.enhance import Blur, Denoise, Enhancer
from subband.enhance.blockwise import measure_reach
from subband.enhance.methods import find_method
from subband.errors import ArgumentError
from subband.media import Frame, SourceInfo, open_sink
from subband.pipeline import enhance_file
from subband.quality import measure_psnr

CAMERA = data.camera()[128:256, 160:288].astype(np.float32)
COLOURS = data.photograph()[100:180, 60:150].astype(np.float32)


def add_noise(image, sigma=25.0):
    return (image + np.random.default_rng(0).normal(0, sigma, image.shape)).astype(np.float32)


@pytest.mark.parametrize(("sigma", "gain"), [(10, 0.4), (25, 0.4), (50, 0.2)])
@pytest.mark.parametrize("image", [CAMERA, COLOURS], ids=["grey", "colours"])
def test_it_is_better_than_the_others(image, sigma, gain):
    noisy = add_noise(image, sigma)
    best, wiener = (
        measure_psnr(subband.denoise(noisy, sigma, method=method), image, 255) for method in ("best", "wiener")
    )
    assert best > wiener + gain


def test_volumes():
    grid = np.indices((20, 24, 28)) - 12
    volume = (np.sqrt(np.sum(np.square(grid), axis=0)) < 9) * 100.0
    noisy = add_noise(volume, 15.0)
    best, default = (
        measure_psnr(subband.denoise(noisy, 15.0, method=method), volume, 255) for method in ("best", "bivariate")
    )
    assert best > default + 2


def test_threads_do_not_matter():
    noisy = add_noise(CAMERA)
    results = []
    for threads in (1, 2, 5):
        subband.set_threads(threads)
        try:
            results.append(subband.denoise(noisy, 25.0, method="best"))
        finally:
            subband.set_threads(None)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_strips_that_do_not_fit_into_memory_at_once(monkeypatch):
    """Strips are added up in their order, however many there are at the same time."""
    noisy, guide = add_noise(CAMERA)[np.newaxis], CAMERA[np.newaxis].copy()
    filters, groups, noise = CompiledFilters(), Groups(4, 6, 4, 8), np.array([25.0])
    whole = filters.filter_groups(noisy, guide, noise, groups)
    monkeypatch.setattr("subband.engines.filters.compiled_groups._STRIPS_OF_A_THREAD", 1)
    np.testing.assert_array_equal(filters.filter_groups(noisy, guide, noise, groups), whole)


def test_colours_share_the_groups_of_their_brightness_and_stacked_images_share_nothing():
    noisy = add_noise(CAMERA[:64, :64])
    other = np.ascontiguousarray(noisy[::-1])
    stack = subband.denoise(np.stack([noisy, other]), 25.0, method="best", axes=(1, 2))
    for result, image in zip(stack, (noisy, other), strict=True):
        np.testing.assert_array_equal(result, subband.denoise(image, 25.0, method="best"))
    grey = subband.denoise(np.stack([noisy] * 3, axis=-1), 25.0, method="best", channel_axis=2, colour="rgb")
    np.testing.assert_array_equal(grey[..., 2], stack[0])


def test_strength():
    noisy = add_noise(CAMERA[:64, :64])
    left = [np.std(noisy - subband.denoise(noisy, 25.0, method="best", strength=s)) for s in (0.0, 0.5, 1.0, 2.0)]
    assert left[0] == 0
    assert left == sorted(left)


def test_filters_between_the_transforms_are_applied():
    noisy = add_noise(CAMERA[:64, :64])
    plain = Enhancer(Denoise("best", level=2), sigma=25.0).apply(noisy)
    blurred = Enhancer(Denoise("best", level=2, filters=(Blur(1.0, at="between"),)), sigma=25.0).apply(noisy)
    assert np.abs(np.diff(blurred)).mean() < 0.9 * np.abs(np.diff(plain)).mean()


@pytest.mark.parametrize("filters", [(), (Blur(1.0, at="details"),)])
def test_dask_gives_what_memory_gives(filters):
    noisy = add_noise(COLOURS)
    chain = Enhancer(Denoise("best", level=2, filters=filters), sigma=25.0)
    chunked = chain.apply(da.from_array(noisy, chunks=(50, 60, 3)))
    # of two patches that are equally similar, up to rounding, another one may be taken
    difference = np.abs(np.asarray(chunked) - chain.apply(noisy))
    assert difference.mean() < 1e-3
    assert difference.max() < 1


def test_volumes_in_blocks(tmp_path):
    volume = np.random.default_rng(0).normal(100, 10, (160, 14, 12)).astype(np.float32)
    with open_sink(tmp_path / "in.npy", SourceInfo("volume", (14, 12), volume.dtype, "grey", count=160)) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))
    chain = Enhancer(Denoise("best", level=1, form="decimated"), sigma=10.0)
    enhance_file(tmp_path / "in.npy", tmp_path / "out.npy", chain, memory=1_200_000)
    difference = np.abs(np.load(tmp_path / "out.npy") - chain.apply(volume, axes=(0, 1, 2)))
    assert difference.mean() < 1e-3
    assert difference.max() < 0.5


def test_the_reach_holds_all_passes():
    passes = find_method("best").list_passes(3)
    first, both = (measure_reach(Denoise(method), level=2) for method in ("bivariate", "best"))
    assert both.before - first.before == both.behind - first.behind == sum(each.margin for each in passes)
    assert all(both.step % each.step == 0 for each in passes)


def test_command_line(tmp_path):
    Image.fromarray(np.clip(add_noise(CAMERA[:64, :64]), 0, 255).astype(np.uint8)).save(tmp_path / "in.png")
    words = ["denoise", str(tmp_path / "in.png"), str(tmp_path / "out.png"), "--method", "best", "--sigma", "25"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    made = np.asarray(Image.open(tmp_path / "out.png"), np.float64)
    assert measure_psnr(made, CAMERA[:64, :64], 255) > 26


def test_traced_arrays_are_refused():
    jax = pytest.importorskip("jax")
    with pytest.raises(ArgumentError, match="method='wiener'"):
        jax.jit(lambda x: subband.denoise(x, 25.0, method="best"))(CAMERA[:32, :32])


def test_noise_that_single_precision_cannot_tell_is_removed_in_double():
    """Groups of double precision are computed in single, but for noise that would be lost in its rounding."""
    clean = CAMERA[:64, :64].astype(np.float64)
    noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    expected = subband.denoise(noisy, 25.0, method="best")
    far = subband.denoise(noisy + 2.0**30, 25.0, method="best") - 2.0**30
    assert measure_psnr(far, expected, 255) > 60
    bright = np.where(np.indices(clean.shape)[0] < 8, 1e9, 0.0)
    deep = subband.denoise(noisy + bright, 25.0, method="best") - bright
    assert measure_psnr(deep[16:], clean[16:], 255) > measure_psnr(noisy[16:], clean[16:], 255) + 6

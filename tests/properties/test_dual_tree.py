"""The dual-tree transform: it comes back, is linear, has no preferred position, and tells orientations apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband import decompose, dtcwt, idtcwt, wavedec
from subband.testing import draw_samples
from subband.transforms.dual_tree.plan import dual_tree_plan
from subband.wavelets import Wavelet
from subband.wavelets.dual_tree import BIORTS, QSHIFTS, find_biort, find_qshift

SHAPES = {1: (37,), 2: (21, 34), 3: (7, 12, 10)}


@pytest.mark.parametrize("ndim", SHAPES)
@pytest.mark.parametrize("qshift", QSHIFTS)
@pytest.mark.parametrize("biort", BIORTS)
def test_every_filter_reconstructs(biort, qshift, ndim):
    x = draw_samples(SHAPES[ndim], "float64")
    for level in range(4):
        y = idtcwt(dtcwt(x, biort, qshift, level))
        assert y.dtype == x.dtype
        np.testing.assert_allclose(y, x, atol=1e-12)


@given(st.data())
def test_any_shape_reconstructs(data):
    ndim = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, 40 if ndim < 3 else 12), min_size=ndim, max_size=ndim)))
    axes = data.draw(st.lists(st.integers(0, ndim - 1), min_size=1, max_size=3, unique=True))
    most = max((max(shape[axis] for axis in axes) - 1).bit_length(), 1)
    level = data.draw(st.integers(0, most))
    biort, qshift = data.draw(st.sampled_from(BIORTS)), data.draw(st.sampled_from(QSHIFTS))
    x = np.random.default_rng(0).normal(size=shape).astype(data.draw(st.sampled_from(["float32", "float64"])))
    pyramid = dtcwt(x, biort, qshift, level, axes)
    y = idtcwt(pyramid)
    assert y.shape == x.shape
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, x, atol={"float32": 1e-5, "float64": 1e-12}[x.dtype.name])


def test_axes_are_transformed_in_their_order():
    x = draw_samples((3, 20, 2, 16), "float64")
    whole = dtcwt(x, level=2, axes=(3, 1))
    single = dtcwt(x[1, :, 1].T, level=2)
    np.testing.assert_allclose(whole.lowpass[1, :, 1].T, single.lowpass, atol=1e-12)
    for band, expected in zip(whole.highpasses, single.highpasses, strict=True):
        np.testing.assert_allclose(band[1, :, 1].transpose(1, 0, 2), expected, atol=1e-12)


def test_it_is_linear():
    x, y = draw_samples((24, 20), "float64"), draw_samples((24, 20), "float64", seed=1)
    both, first, second = (dtcwt(each, level=3) for each in (2 * x - 3 * y, x, y))
    for (_, _, band), (_, _, one), (_, _, other) in zip(both.bands(), first.bands(), second.bands(), strict=True):
        np.testing.assert_allclose(band, 2 * one - 3 * other, atol=1e-12)


def measure_variation(transform, levels=5, shifts=32):
    """Return by how much the energy of each level varies while a step is shifted, relative to its mean."""
    positions = np.arange(1024)[None] - 512 - np.arange(shifts)[:, None]
    energies = []
    for band in transform((positions >= 0).astype(float), levels):
        middle = band[:, band.shape[1] // 4 : 3 * band.shape[1] // 4]
        energies.append((np.abs(middle) ** 2).sum(1))
    energy = np.array(energies)
    return (energy.max(1) - energy.min(1)) / energy.mean(1)


def test_energies_stay_when_a_step_is_shifted():
    dual = measure_variation(
        lambda x, level: [band[..., 0] for band in dtcwt(x, "near_sym_b", "qshift_c", level, axes=1).highpasses]
    )
    single = measure_variation(lambda x, level: wavedec(x, "sym8", level=level, axis=1)[:0:-1])
    assert dual.max() < 0.03
    assert single.min() > 0.3


def test_orientations_are_told_apart():
    # stripes along a line at each angle against the rows, whose y axis points up
    y, x = np.mgrid[:128, :128]
    for number, angle in enumerate(dtcwt(np.zeros((8, 8)), level=1).angles):
        across = np.sin(np.deg2rad(angle)) * x + np.cos(np.deg2rad(angle)) * y
        frequency = 0.28 if angle % 90 == 45 else 0.2
        band = dtcwt(np.cos(2 * np.pi * frequency * across), level=2).highpasses[1]
        energies = np.square(np.abs(band[6:-6, 6:-6])).sum((0, 1))
        energies /= energies[number]
        others = np.delete(energies, [number, 5 - number])
        assert others.max() < 0.01
        # the mirror image, which real wavelets do not tell apart at all: beside a diagonal, near an axis
        assert energies[5 - number] < (0.01 if angle % 90 == 45 else 0.25)


def test_trees_are_a_hilbert_pair():
    # a wavelet of one sign of frequency: next to nothing on the other side
    pyramid = dtcwt(np.zeros(512), "near_sym_b", "qshift_d", 4)
    responses = []
    for unit in (1, 1j):
        band = np.zeros_like(pyramid.highpasses[3])
        band[len(band) // 2] = unit
        highpasses = [*pyramid.highpasses[:3], band]
        responses.append(idtcwt(type(pyramid)(pyramid.lowpass, highpasses, pyramid.plan)))
    spectrum = np.abs(np.fft.fft(responses[0] + 1j * responses[1])) ** 2
    one, other = spectrum[1:256].sum(), spectrum[257:].sum()
    assert min(one, other) < 1e-3 * max(one, other)


def test_the_engines_own_levels_compute_it():
    # the first level is two decimated transforms whose outputs lie half a sample apart
    x = draw_samples((32,), "float64")
    bank = find_biort("near_sym_a")
    plan = dual_tree_plan((32,), (0,), bank, find_qshift("qshift_a"), 1)
    assert plan.levels[0].plan.shape == (64,)
    pyramid = decompose(np.concatenate([x, x[::-1]]), bank, 1, "periodization")
    np.testing.assert_allclose(dtcwt(x, level=1).lowpass[::2], pyramid.approximation[:16], atol=1e-13)
    assert isinstance(bank, Wavelet)
    assert bank.lifting is not None

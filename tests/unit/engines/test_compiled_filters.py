"""What is particular to the compiled filters: tasks and their seams, threads, recycled memory."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from subband.engines import get_threads, set_threads, threads
from subband.engines.filters import PlainFilters, compiled_statistics, launch
from subband.engines.filters.compiled import CompiledFilters
from subband.engines.filters.launch import cut_tasks
from subband.engines.filters.tallies import choose_neighbours
from subband.errors import DtypeError, ShapeError

FILTERS, PLAIN = CompiledFilters(), PlainFilters()
SHAPES = [(1, 1), (3, 50), (2, 37, 53), (4, 1, 9), (1, 30, 1), (2, 5, 6, 7), (1, 1, 1, 1)]
DTYPES = [np.float32, np.float64]
MATRIX = np.array([[0.3, 0.6, 0.1], [-0.2, -0.3, 0.5], [0.5, -0.4, -0.1]])


@pytest.fixture(autouse=True)
def _restore_threads():
    before = get_threads()
    yield
    set_threads(before)


@pytest.fixture(params=[False, True], ids=["whole", "cut"])
def seams(request, monkeypatch):
    """Cut arrays of some dozen samples into many tasks, and have two threads take them."""
    if request.param:
        monkeypatch.setattr(launch, "TASK", 16)
        monkeypatch.setattr(launch, "SMALL", 0)
        set_threads(2)


def draw(shape, dtype=np.float32, seed=0):
    return (20 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def assert_same(found, expected, tolerance):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    finite = expected[np.isfinite(expected)]
    np.testing.assert_allclose(found, expected, 0, tolerance * max(1, np.abs(finite).max(initial=0)))


def tolerance_of(dtype):
    return 5e-6 if dtype == np.float32 else 1e-12


def noises_of(count):
    drawn = np.random.default_rng(9).uniform(5, 15, count)
    return [drawn, np.r_[0, drawn[1:]], np.full(count, 1e-25), np.full(count, np.inf)]


def run_all(band, noise, filters):
    """Run every filter of two axes of space, and return what they give by name."""
    parent, mask = band[:, ::2, ::2].copy(), (band[0] > -5).astype(np.uint8)
    pixels = np.nan_to_num(np.abs(band), posinf=0).astype(np.uint8).reshape(*band.shape[1:], -1)
    wide = filters.extend(band, (3, 4), (2, 1))
    return {
        "read_pixels": filters.read_pixels(pixels, MATRIX, band.dtype),
        "write_pixels": filters.write_pixels(band, MATRIX, np.uint8),
        "extend": wide,
        "take_part": filters.take_part(wide, (2, 1), band.shape[1:], 0.3),
        "add_part": filters.add_part(band.copy(), wide, (2, 1), 0.3),
        "measure_noise": filters.measure_noise(band, 1.1),
        "measure_noise, masked": filters.measure_noise(band, 1.1, mask),
        "measure_noise, cells": filters.measure_noise(band, 1.1, None, [(band[:, ::-1].copy(), 1.2)] * 2, 1),
        "find_bayes_threshold": filters.find_bayes_threshold(band, noise, 1.1),
        "find_sure_threshold": filters.find_sure_threshold(band, noise, 1.1),
        "shrink": filters.shrink(band.copy(), noise, "firm", 2 * noise, noise),
        "shrink_bivariate": filters.shrink_bivariate(band, parent, noise, 1.1, 1.2),
        "shrink_bivariate, 9": filters.shrink_bivariate(band, None, noise, 1.1, window=9),
        **{
            f"shrink_bivariate_bands, {number}": result
            for number, result in enumerate(
                filters.shrink_bivariate_bands([band, parent], [parent, None], noise, [1.1, 0.9], [1.2, 1.0])
            )
        },
        "shrink_neighbours": filters.shrink_neighbours(band, noise, 1.1),
        "shrink_wiener": filters.shrink_wiener(band.copy(), band[::-1].copy(), noise, 1.1),
        "convolve, rows": filters.convolve(band, np.arange(9.0), 1),
        "convolve, columns": filters.convolve(band, np.arange(7.0), 0),
        "add_laplacian": filters.add_laplacian(band, 0.4, "diagonal"),
    }


# --- The same as the plain filters, whether tasks are one or many. ---


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("seams")
def test_bivariate(shape, dtype):
    band = draw(shape, dtype)
    for noise in noises_of(len(band)):
        for scale, window, shift in ((None, 7, 0), (1, 7, 1), (2, 7, 0), (2, 5, 1), (3, 9, 2)):
            parent = None
            if scale:
                parent = draw((len(band), *(-(-size // scale) for size in shape[1:])), dtype, 1)
            arguments = band, parent, noise, 1.1, 1.3, window, shift, scale or 2
            with np.errstate(over="ignore"):
                expected = PLAIN.shrink_bivariate(*arguments)
            assert_same(FILTERS.shrink_bivariate(*arguments), expected, 10 * tolerance_of(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("seams")
def test_bivariate_of_several_bands(dtype):
    bands = [draw(shape, dtype) for shape in ((3, 41, 30), (3, 5, 70), (6, 21, 15), (6, 33))]
    parents = [draw(shape, dtype, 1) for shape in ((3, 21, 15), (3, 3, 35))] + [None, draw((6, 17), dtype, 1)]
    gains, above = [1.1, 0.9, 1.0, 1.3], [1.3, 1.0, 0.7, 1.0]
    for noise in noises_of(3):
        with np.errstate(over="ignore"):
            expected = PLAIN.shrink_bivariate_bands(bands, parents, noise, gains, above)
        found = FILTERS.shrink_bivariate_bands(bands, parents, noise, gains, above)
        for band, right in zip(found, expected, strict=True):
            assert_same(band, right, 10 * tolerance_of(dtype))
    with pytest.raises(ShapeError, match="4 numbers; a band has 3 planes"):
        FILTERS.shrink_bivariate_bands(bands, parents, np.ones(4), gains, above)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("seams")
def test_shrinkage(shape, dtype):
    band, guide = draw(shape, dtype), draw(shape, dtype, 1)
    for noise in noises_of(len(band)):
        for mode in ("soft", "hard", "garrote", "firm"):
            for upper, gains in ((None, None), (2 * noise, np.arange(1.0, len(band) + 1))):
                expected = PLAIN.shrink(band.copy(), noise, mode, upper, gains)
                assert_same(FILTERS.shrink(band.copy(), noise, mode, upper, gains), expected, tolerance_of(dtype))
        with np.errstate(over="ignore"):
            expected = PLAIN.shrink_wiener(band.copy(), guide, noise, 1.1)
        assert_same(FILTERS.shrink_wiener(band.copy(), guide, noise, 1.1), expected, tolerance_of(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("seams")
def test_statistics(shape, dtype):
    band = draw(shape, dtype)
    mask = np.random.default_rng(2).integers(0, 2, shape[1:], np.uint8)
    mask.flat[0] = 7
    assert_same(FILTERS.measure_noise(band, 1.1), PLAIN.measure_noise(band, 1.1), 1e-7)
    assert_same(FILTERS.measure_noise(band, 1.1, mask), PLAIN.measure_noise(band, 1.1, mask), 1e-7)
    others = [(draw(shape, dtype, 3 + number), 1 + number) for number in range(2 ** (len(shape) - 1) - 2)]
    for known in (None, mask, np.where(np.arange(1, mask.size + 1).reshape(mask.shape) % 50, 1, 0).astype(np.uint8)):
        for margin, step in ((0, 1), (2, 1), (1, 2)):
            arguments = band, 1.1, known, others, margin, step
            assert_same(FILTERS.measure_noise(*arguments), PLAIN.measure_noise(*arguments), 1e-6)
            samples = np.maximum(draw((shape[0], *(2 * length - 1 for length in shape[1:])), dtype, 9), 0)
            arguments = *arguments, samples, 3
            assert_same(FILTERS.measure_noise(*arguments), PLAIN.measure_noise(*arguments), 1e-6)
    for noise in noises_of(len(band))[:3]:
        expected = PLAIN.find_bayes_threshold(band, noise, 1.1)
        np.testing.assert_allclose(FILTERS.find_bayes_threshold(band, noise, 1.1), expected, 1e-6)
        expected = PLAIN.find_sure_threshold(band, noise, 1.1)
        np.testing.assert_allclose(FILTERS.find_sure_threshold(band, noise, 1.1), expected, 1e-12)
        expected = PLAIN.shrink_neighbours(band, noise, 1.1)
        assert_same(FILTERS.shrink_neighbours(band, noise, 1.1), expected, 10 * tolerance_of(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("seams")
def test_parts_and_neighbours(shape, dtype):
    planes, axes = draw(shape, dtype), len(shape) - 1
    for before, behind in ((0, 0), (5, 2), (60, 61)):
        expected = PLAIN.extend(planes, [before] * axes, [behind] * axes)
        np.testing.assert_array_equal(FILTERS.extend(planes, [before] * axes, [behind] * axes), expected)
    wide = PLAIN.extend(planes, [3] * axes, [2] * axes)
    expected = PLAIN.add_part(planes.copy(), wide, [4] * axes, 0.3)
    assert_same(FILTERS.add_part(planes.copy(), wide, [4] * axes, 0.3), expected, tolerance_of(dtype))
    expected = PLAIN.take_part(wide, [1] * axes, shape[1:], 0.3)
    assert_same(FILTERS.take_part(wide, [1] * axes, shape[1:], 0.3), expected, tolerance_of(dtype))
    for axis in range(axes):
        for count in (1, 3, 5, 31):
            taps = np.random.default_rng(count).standard_normal(count)
            expected = PLAIN.convolve(planes, taps, axis)
            assert_same(FILTERS.convolve(planes, taps, axis), expected, 5 * tolerance_of(dtype))
    for kernel in ("cross", "diagonal"):
        expected = PLAIN.add_laplacian(planes, 0.4, kernel)
        assert_same(FILTERS.add_laplacian(planes, 0.4, kernel), expected, tolerance_of(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("storage", ["uint8", "uint16", "float16", "float32", "float64"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.usefixtures("seams")
def test_pixels(channels, storage, dtype):
    random = np.random.default_rng(0)
    pixels = random.uniform(0, 255, (7, 11, channels)).astype(storage)
    for matrix in (None, random.standard_normal((channels, channels))):
        planes = FILTERS.read_pixels(pixels, matrix, dtype)
        assert_same(planes, PLAIN.read_pixels(pixels, matrix, dtype), tolerance_of(dtype))
        written = FILTERS.write_pixels(planes, matrix, storage)
        expected = PLAIN.write_pixels(planes, matrix, storage)
        tolerance = {"f": tolerance_of(dtype), "u": 1e-9}[expected.dtype.kind]
        assert_same(written, expected, max(tolerance, 1e-3 if storage == "float16" else 0))
        apart = np.empty((7, 22, channels), storage)[:, ::2]
        assert FILTERS.write_pixels(planes, matrix, storage, apart) is apart
        np.testing.assert_array_equal(apart, written)


def test_halves_are_rounded_up_and_the_rest_is_clipped():
    planes = np.array([[-3, 0.5, 1.5, 254.4, 254.5, 1e9]], np.float32)
    assert FILTERS.write_pixels(planes, None, np.uint8).ravel().tolist() == [0, 1, 2, 254, 255, 255]


def test_the_middle_of_an_even_count_and_of_equal_numbers():
    band = np.array([[1.0, -4.0, 0.25, 100.0], [7.0, 7.0, -7.0, 7.0], [0.0, 0.0, -0.0, 5.0]], np.float32)
    np.testing.assert_allclose(compiled_statistics.measure_median(band), [2.5, 7, 0])


def test_magnitudes_on_the_candidates_themselves():
    """A number that equals a candidate belongs above it."""
    count, bins = 1000, 32
    step = np.sqrt(2 * np.log(count)) / bins
    edges = np.arange(bins + 1) * step
    band = np.resize(np.r_[edges, np.nextafter(edges, 0), np.nextafter(edges, 9)], (1, count)) * 3.0
    noise = np.full(1, 3.0)
    expected = PLAIN.find_sure_threshold(band, noise, 1.0)
    np.testing.assert_allclose(FILTERS.find_sure_threshold(band, noise, 1.0), expected, 1e-12)


def test_what_is_not_a_number_stays_in_its_plane():
    band, noise = draw((3, 40, 50)), np.array([12.0, 15.0, 9.0])
    expected = run_all(band, noise, FILTERS)
    band[0, 20, 20], band[0, 5, 5] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        found = run_all(band, noise, FILTERS)
    for name in (
        "find_sure_threshold",
        "measure_noise",
        "measure_noise, cells",
        "shrink_bivariate",
        "shrink_neighbours",
        "shrink",
    ):
        np.testing.assert_array_equal(found[name][1:], expected[name][1:], name)
    assert np.isnan(found["shrink_bivariate"][0, 20, 20])
    assert np.isfinite(found["shrink_bivariate"][0, 30:]).all()


def test_other_layouts_are_refused():
    band, noise = draw((2, 40, 50)), np.array([12.0, 15.0])
    apart, swapped = band[:, ::2], band.astype(band.dtype.newbyteorder())
    with pytest.raises(ShapeError, match=r"has to be C-contiguous"):
        FILTERS.shrink_wiener(apart, apart, noise, 1.0)
    with pytest.raises(DtypeError, match="order of bytes"):
        FILTERS.shrink_wiener(swapped, swapped, noise, 1.0)


def test_few_rows_of_a_large_band_choose_nearly_the_same():
    band = draw((2, 200, 300)) * np.linspace(0.5, 3, 300, dtype=np.float32)
    noise = np.array([15.0, 20.0])
    whole = [slice(200), slice(300)]
    chosen = [
        choose_neighbours(FILTERS.count_neighbours(band, noise, whole, rows), noise, 2)
        for rows in (np.arange(200), np.arange(0, 200, 20))
    ]
    np.testing.assert_allclose(chosen[1][:, 0], chosen[0][:, 0], atol=0.4)
    np.testing.assert_array_equal(chosen[1][:, 1], chosen[0][:, 1])


def test_bands_are_looked_at_in_few_rows_once_they_are_large():
    assert FILTERS.choose_row_distance(1 << 17) == 1
    assert FILTERS.choose_row_distance(1 << 20) == 8


# --- Threads. ---


def test_tasks_cover_everything_once():
    seen = np.zeros((2, 45, 70), int)
    tasks = launch._cut(2, 45, 70, 32, 200)
    for image, top, bottom, left, right, _ in tasks:
        seen[image, top:bottom, left:right] += 1
        assert right - left <= 32
        assert (bottom - top) * (right - left) <= 200
    np.testing.assert_array_equal(seen, 1)
    assert tasks[:, 5].tolist() == list(range(len(tasks)))


def test_nothing_has_no_tasks():
    assert cut_tasks(0, 5, 5).shape == (0, 6)
    assert cut_tasks(2, 5, 0).shape == (0, 6)


def test_results_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(threads, "_PATIENCE", float("inf"))
    monkeypatch.setattr(threads, "_sharing", threads._Sharing())
    band, noise = draw((3, 301, 403)), np.array([12.0, 0.0, 25.0])
    set_threads(1)
    expected = run_all(band, noise, FILTERS)
    for count in (2, 3):
        set_threads(count)
        found = run_all(band, noise, FILTERS)
        for name, result in found.items():
            np.testing.assert_array_equal(result, expected[name], name)


def test_arrays_that_lie_anywhere():
    """What is read may begin between two numbers, or be of a class of its own; what is written may not."""
    band = draw((2, 30, 40))
    there = np.frombuffer(b"." + band.tobytes(), np.uint8)[1:].view(np.float32).reshape(band.shape)
    assert not there.flags.aligned
    expected = FILTERS.convolve(band, [0.25, 0.5, 0.25], 0)
    for other in (there, band.view(np.memmap)):
        found = FILTERS.convolve(other, [0.25, 0.5, 0.25], 0)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ShapeError, match="aligned"):
        FILTERS.shrink(there, np.ones(2), "soft")


def test_threads_are_as_many_as_set(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "_sharing", threads._Sharing())
    monkeypatch.setattr(launch, "share_tasks", lambda kernel, threads, *_: asked.append(threads))
    band = draw((1, 400, 500))
    for count in (1, 2, 3):
        set_threads(count)
        FILTERS.add_laplacian(band, 1.0, "cross")
    assert asked == [1, 2, 3]


def test_small_arrays_wake_nobody(monkeypatch):
    monkeypatch.setattr(threads, "_find_pool", lambda helpers: pytest.fail("woke a thread"))
    set_threads(2)
    FILTERS.shrink_bivariate(draw((3, 64, 64)), None, np.ones(3), 1.0)


def test_several_threads_may_call_at_once():
    set_threads(2)
    bands = [draw((3, 200, 200), seed=seed) for seed in range(4)]
    noise = np.array([12.0, 15.0, 25.0])
    expected = [run_all(band, noise, FILTERS) for band in bands]
    found: dict[int, dict[str, np.ndarray]] = {}

    def work(number):
        found[number] = run_all(bands[number], noise, FILTERS)

    callers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for number, results in enumerate(expected):
        for name, result in results.items():
            np.testing.assert_array_equal(found[number][name], result, name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_filters_too():
    set_threads(2)
    band = draw((1, 400, 500))
    expected = FILTERS.add_laplacian(band, 1.0, "cross")
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(FILTERS.add_laplacian(band, 1.0, "cross")))
    child.start()
    end = time.monotonic() + 300
    while not receiver.poll(0.01):
        assert child.is_alive() or receiver.poll()
        assert time.monotonic() < end
    np.testing.assert_array_equal(receiver.recv(), expected)
    child.join()


# --- Memory. ---


def test_results_share_no_memory():
    band, noise = draw((3, 200, 300)), np.full(3, 10.0)
    first, second = run_all(band, noise, FILTERS), run_all(band, noise, FILTERS)
    arrays = [band, *first.values(), *second.values()]
    spans = sorted((array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def test_large_results_lie_in_memory_given_back():
    band = draw((3, 400, 500))
    place = FILTERS.add_laplacian(band, 1.0, "cross").ctypes.data
    assert FILTERS.convolve(band, (1.0,), 0).ctypes.data == place


def test_what_is_said_to_be_in_place_is():
    band, noise = draw((2, 30, 40)), np.full(2, 10.0)
    assert FILTERS.shrink(band, noise, "soft") is band
    assert FILTERS.shrink_wiener(band, band.copy(), noise, 1.0) is band
    assert FILTERS.add_part(band, band.copy(), (0, 0), 0.5) is band
    pixels = FILTERS.allocate_pixels((30, 40, 2), np.uint8)
    assert FILTERS.write_pixels(band, None, np.uint8, pixels) is pixels

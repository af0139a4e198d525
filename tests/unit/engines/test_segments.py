"""A replay in segments computes what one call does, and holds no more memory than calls of level after level."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import subband
from subband.engines import get_engine, memory, segments
from subband.engines.cpu import jobs
from subband.engines.measuring.judging import flatten_bands
from subband.engines.recording import record
from subband.testing import draw_samples

#: Shapes and levels, some of odd sizes, and wavelets with their modes.
CASES = [
    ((300, 410), 4, "bior4.4", "symmetric"),
    ((256, 256), 3, "haar", "periodization"),
    ((5001,), 6, "db4", "symmetric"),
]


@pytest.fixture
def _small_segments(monkeypatch):
    monkeypatch.setattr(segments, "_LARGE", 1 << 10)


@pytest.fixture
def count_runs(monkeypatch):
    """How many calls of compiled code a replay takes."""
    counts = []
    run_segments = segments._run_segments

    def note(parts, *rest):
        counts.append(len(parts))
        return run_segments(parts, *rest)

    monkeypatch.setattr(segments, "_run_segments", note)
    return counts


def transform(x, level, wavelet, mode, **options):
    return subband.wavedecn(x, wavelet, mode, level, **options)


@pytest.mark.usefixtures("_small_segments")
@pytest.mark.parametrize(("shape", "level", "wavelet", "mode"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_segments_give_what_the_reference_engine_gives(count_runs, shape, level, wavelet, mode, dtype):
    first, second = (draw_samples(shape, seed=seed).astype(dtype) for seed in (1, 2))
    _, replay = record(lambda: transform(first, level, wavelet, mode), [first])
    assert count_runs[0] > 1
    found = replay([second])
    expected = transform(second.astype(np.float64), level, wavelet, mode, engine="reference")
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for band, wanted in zip(flatten_bands(found), flatten_bands(expected), strict=True):
        assert band.shape == wanted.shape
        np.testing.assert_allclose(band, wanted, atol=tolerance * np.abs(wanted).max())
    bands = list(flatten_bands(found))
    again, back = record(lambda: subband.waverecn(found, wavelet, mode), bands)
    assert count_runs[1] > 1
    np.testing.assert_array_equal(back(bands), again)
    np.testing.assert_allclose(again[tuple(map(slice, shape))], second, atol=10 * tolerance)
    # arrays of other strides are straightened first
    np.testing.assert_array_equal(next(flatten_bands(replay([np.asfortranarray(second)]))), bands[0])


@pytest.mark.parametrize("is_inverse", [False, True])
def test_a_replay_lends_no_more_than_levels_one_by_one(monkeypatch, is_inverse):
    store = memory._Store()
    monkeypatch.setattr(memory, "_store", store)
    monkeypatch.setattr(segments, "_LARGE", 1 << 18)
    x = draw_samples((2048, 1024)).astype(np.float32)
    bands = subband.wavedec2(x, "haar", "zero", 3)
    given = list(flatten_bands(bands)) if is_inverse else [x]

    def run():
        return subband.waverec2(bands, "haar", "zero") if is_inverse else subband.wavedec2(x, "haar", "zero", 3)

    peaks = []
    _, replay = record(run, given)
    for call in (run, lambda: replay(given)):
        store.clear()
        before = store._lent
        call()
        peaks.append((store._most_lent - before) / x.nbytes)
    assert peaks[1] <= peaks[0] + 0.01
    assert peaks[1] <= 1.27


def test_what_the_function_drops_is_not_kept_while_it_is_recorded(monkeypatch):
    store = memory._Store()
    monkeypatch.setattr(memory, "_store", store)
    x = draw_samples((1 << 20,)).astype(np.float32)
    engine = get_engine("cpu")
    result, _ = record(lambda: engine.forward_all(_plan(x), x), [x])
    # blocks are up to an eighth larger; with all levels it would be twice the samples
    assert store._most_lent <= 1.75 * x.nbytes
    assert sum(band.nbytes for band in flatten_bands(result[1])) > 0.9 * x.nbytes


def _plan(x):
    from subband.plan import transform_plan

    return transform_plan(x.shape, (0,), (subband.Wavelet("db4"),), ("symmetric",), 8)


def test_results_for_one_thread_use_memory_again_too():
    x = draw_samples((270, 480)).astype(np.float32)
    made = []
    for _ in range(4):
        bands = subband.dwt2(x, "bior4.4", "periodization")
        made.append(sorted(band.ctypes.data for band in flatten_bands(bands)))
        del bands
    assert made[2] == made[3]
    assert x.size < jobs.SMALL


@pytest.mark.parametrize("is_large", [False, True])
def test_scratch_is_used_again_unless_threads_share_the_levels(monkeypatch, is_large):
    """What one core has written takes another several times as long to write over."""
    monkeypatch.setattr(jobs.Job, "is_large", is_large)
    tabled = []
    share_scratch = segments._share_scratch

    def note(steps, others):
        tabled.append((share_scratch(steps, others), steps))
        return tabled[-1][0]

    monkeypatch.setattr(segments, "_share_scratch", note)
    x = draw_samples((256, 256)).astype(np.float32)
    expected, replay = record(lambda: transform(x, 4, "bior4.4", "periodization"), [x])
    (((offsets, size), _),) = tabled
    spans = sorted((begin, begin + known.nbytes) for known, begin in offsets.items())
    assert len(spans) == 3
    overlap = any(begin < end for (_, end), (begin, _) in pairwise(spans))
    assert overlap is not is_large
    assert max(end for _, end in spans) <= size
    for band, wanted in zip(flatten_bands(replay([x])), flatten_bands(expected), strict=True):
        np.testing.assert_array_equal(band, wanted)


def test_scratch_does_not_grow_with_the_levels_of_a_stationary_transform(monkeypatch):
    sizes = []
    share_scratch = segments._share_scratch

    def note(steps, others):
        offsets, size = share_scratch(steps, others)
        sizes.append(size)
        return offsets, size

    monkeypatch.setattr(segments, "_share_scratch", note)
    x = draw_samples((512, 512)).astype(np.float32)
    assert x.size >= jobs.SMALL
    for level in (2, 5):
        expected, replay = record(lambda level=level: subband.swt2(x, "db2", level), [x])
        for band, wanted in zip(flatten_bands(replay([x])), flatten_bands(expected), strict=True):
            np.testing.assert_array_equal(band, wanted)
    assert sizes[1] <= 1.5 * sizes[0]

"""Volumes in blocks: the same, to the last bit or nearly, as the volume in one piece."""

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink, Speckle
from subband.enhance.blockwise import Reach, cut_blocks, find_obstacle, measure_reach, measure_volume_noise
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import measure_planes
from subband.errors import ArgumentError
from subband.media import open_source
from subband.media.base import Frame, Source, SourceInfo
from subband.pipeline import volumes
from subband.pipeline.volumes import VolumeWork, choose_memory

SHAPE = (150, 18, 20)


def make_volume(shape=SHAPE, dtype=np.float32, seed=0):
    z, y, x = np.mgrid[tuple(map(slice, shape))]
    ball = 40 * ((z - shape[0] / 2) ** 2 / 9 + (y - 8) ** 2 + (x - 9) ** 2 < 60)
    noise = np.random.default_rng(seed).normal(0, 8, shape)
    return (100 + 40 * np.sin(z / 9) * np.cos(y / 5) + ball + noise).astype(dtype)


class MemorySource(Source):
    def __init__(self, volume):
        self.volume = volume
        self.info = describe(volume)

    def __iter__(self):
        for number, pixels in enumerate(self.volume):
            yield Frame(pixels, number)


def describe(volume):
    return SourceInfo("volume", volume.shape[1:], volume.dtype, "grey", count=len(volume))


def enhance(volume, enhancer, memory=None):
    """Return the result, and the work."""
    work = VolumeWork(describe(volume), enhancer, memory=memory, reopen=lambda: MemorySource(volume))
    return np.stack(list(work(iter(volume)))), work


def find_memory(volume, enhancer):
    """Return the least memory in which blocks of the volume can be computed."""
    memory = 100_000
    while True:
        try:
            if not VolumeWork(describe(volume), enhancer, memory=memory).is_whole:
                return memory
        except ArgumentError:
            memory = memory * 9 // 8
        else:
            pytest.fail("no blocks are smaller than the volume")


ENHANCERS = {
    "usual": Enhancer(Denoise()),
    "two levels": Enhancer(Denoise(level=2)),
    "even filters": Enhancer(Denoise(wavelet="bior2.4", level=2)),
    "orthogonal": Enhancer(Denoise(wavelet="db4", level=2)),
    "expansive": Enhancer(Denoise(wavelet="sym5", level=2, boundary="symmetric", form="decimated")),
    "haar": Enhancer(Denoise(wavelet="haar", level=3)),
    "wiener": Enhancer(Denoise("wiener", level=2)),
    "wiener, filters": Enhancer(
        Denoise("wiener", level=1, filters=(Blur(1.0, at="between"), Sharpen(0.5, at="details")))
    ),
    "visu": Enhancer(Denoise("visu", level=2)),
    "weights": Enhancer(Denoise(level=2, level_weights=(1, 0.5)), sigma=8.0),
    "thresholds": Enhancer(Shrink(level=2, threshold=[20.0, 9.0], gains=[1.0, 1.3])),
    "filters": Enhancer(Shrink(level=2, threshold=10.0, filters=(Blur(1.0, at="between"), Blur(1.0, at="details")))),
    "chain": Enhancer([Blur(1.0), Denoise(level=1), Sharpen(0.5)]),
    "speckle": Enhancer(Denoise("wiener", level=1), noise="speckle"),
}


@pytest.mark.parametrize("name", ENHANCERS)
def test_blocks_give_what_the_whole_gives(name):
    volume, enhancer = make_volume(), ENHANCERS[name]
    whole, work = enhance(volume, enhancer)
    assert work.is_whole
    blocks, work = enhance(volume, enhancer, find_memory(volume, enhancer))
    assert not work.is_whole
    assert len(list(cut_blocks(SHAPE[0], work.core, work.reach))) > 2
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-3)
    assert np.abs(whole - volume).mean() > 1


def test_the_overlap_is_needed(monkeypatch):
    volume, enhancer = make_volume(), ENHANCERS["two levels"]
    whole, _ = enhance(volume, enhancer)
    memory = find_memory(volume, enhancer)
    monkeypatch.setattr(volumes, "measure_reach", lambda *_: Reach(8, 8, 4))
    blocks, _ = enhance(volume, enhancer, memory)
    assert np.abs(blocks - whole).max() > 0.01


def test_the_step_is_needed(monkeypatch):
    volume, enhancer = make_volume(), ENHANCERS["thresholds"]
    whole, _ = enhance(volume, enhancer)
    memory = find_memory(volume, enhancer)
    reach = measure_reach(enhancer.stages[0], 2)
    monkeypatch.setattr(volumes, "measure_reach", lambda *_: Reach(reach.before, reach.behind, 1))
    blocks, _ = enhance(volume, enhancer, memory)
    assert np.abs(blocks - whole).max() > 0.01


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.float64])
def test_integers_and_doubles(dtype):
    volume, enhancer = make_volume(dtype=dtype), Enhancer(Denoise(level=1))
    whole, _ = enhance(volume, enhancer)
    blocks, work = enhance(volume, enhancer, find_memory(volume, enhancer))
    assert not work.is_whole
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-3)


def test_colour_needs_its_noise_given():
    volume = make_volume((150, 18, 20 * 3)).reshape(150, 18, 20, 3)
    given = Enhancer(Denoise(level=1), sigma=8.0)
    memory = find_memory(volume, given)
    whole, _ = enhance(volume, given)
    blocks, _ = enhance(volume, given, memory)
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-3)
    with pytest.raises(ArgumentError, match="give sigma"):
        enhance(volume, Enhancer(Denoise(level=1)), memory)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (Denoise("bayes"), "'bayes' looks at all"),
        (Denoise("sure"), "'sure' looks at all"),
        (Denoise("neigh"), "'neigh' looks at all"),
        (Denoise(wavelet="db2", boundary="periodization"), "joins the last slice"),
        (Denoise(form="undecimated"), "joins the last slice"),
    ],
)
def test_what_needs_the_whole_says_so(stage, words):
    volume = make_volume((40, 18, 20))
    assert enhance(volume, Enhancer(stage), memory=10**9)[1].is_whole
    with pytest.raises(ArgumentError, match=f"{words}.*use method 'bivariate'.*more memory"):
        enhance(volume, Enhancer(stage), memory=500_000)
    assert words in find_obstacle(stage)


def test_two_unknown_noises_say_so():
    with pytest.raises(ArgumentError, match=r"noise cannot be measured beforehand.*give sigma"):
        enhance(make_volume(), Enhancer([Denoise(level=1), Denoise(level=1)]), memory=500_000)


def test_too_little_memory_names_what_is_needed():
    with pytest.raises(ArgumentError, match=r"a block of this volume needs \d+ slices of 20 × 18.*fewer levels"):
        enhance(make_volume(), Enhancer(Denoise(level=3), sigma=8.0), memory=300_000)


def test_volume_that_cannot_be_read_twice():
    volume = make_volume()
    work = VolumeWork(describe(volume), Enhancer(Denoise(level=1)), memory=500_000)
    with pytest.raises(ArgumentError, match="cannot be read twice; give sigma"):
        next(work(iter(volume)))


def test_unknown_count_is_read_as_a_whole():
    volume = make_volume((12, 18, 20))
    info = SourceInfo("volume", volume.shape[1:], volume.dtype, "grey")
    work = VolumeWork(info, Enhancer(Denoise(level=1)))
    np.testing.assert_array_equal(np.stack(list(work(iter(volume)))), enhance(volume, Enhancer(Denoise(level=1)))[0])


@pytest.mark.parametrize("shape", [(151, 18, 20), (40, 1, 30), (2, 33, 34), (1, 20, 20), (64, 7, 1)])
def test_noise_is_that_of_the_whole(shape):
    volume = make_volume(shape)
    found = measure_volume_noise(lambda: iter(volume), shape, Denoise(), memory=10_000)
    engine = get_engine("cpu")
    roundtrip = Roundtrip(Denoise(level=1), (1, *shape), engine, find_filters(engine))
    (expected,) = measure_planes(find_filters(engine), roundtrip.forward(volume[np.newaxis]))
    assert found == pytest.approx(float(expected), rel=1e-6)


def test_floor_of_speckle_is_that_of_the_whole():
    volume = make_volume()
    volume[100] *= 40
    whole, _ = enhance(volume, ENHANCERS["speckle"])
    blocks, work = enhance(volume, ENHANCERS["speckle"], find_memory(volume, ENHANCERS["speckle"]))
    assert not work.is_whole
    np.testing.assert_allclose(blocks, whole, rtol=1e-5)
    assert Speckle().choose_floor(volume[:20]) != Speckle().choose_floor(volume)


def test_every_slice_counts_once():
    for count in (1, 7, 64, 65, 200):
        for core, reach, fewest in ((8, Reach(3, 2, 4), 1), (4, Reach(30, 40, 4), 90), (16, Reach(0, 0, 1), 3)):
            covered = []
            for start, stop, begin, end in cut_blocks(count, core, reach, fewest):
                assert start % reach.step == 0
                assert 0 <= start <= max(begin - reach.before, 0)
                assert stop >= min(end + reach.behind, count)
                assert stop - start >= min(fewest, count)
                covered += range(begin, end)
            assert covered == list(range(count))


def test_memory_is_half_of_what_is_free_and_must_be_positive():
    assert choose_memory() > 2**20
    with pytest.raises(ArgumentError, match="memory=0"):
        choose_memory(0)


def test_dataset_is_opened_again_by_its_name(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'subband[volumes]'")
    volume, enhancer = make_volume(), Enhancer(Denoise(level=1))
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["group/b"] = np.zeros_like(volume), volume
    with open_source(f"{tmp_path}/two.h5:group/b") as source:
        work = VolumeWork(source.info, enhancer, memory=find_memory(volume, enhancer))
        assert not work.is_whole
        found = np.stack(list(work(frame.pixels for frame in source)))
    np.testing.assert_allclose(found, enhance(volume, enhancer)[0], rtol=0, atol=1e-3)


def test_memory_that_only_caches_files_counts_as_free(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(volumes, "_MEMORY_FILE", tmp_path / "meminfo")
    assert choose_memory() == 2000 * 1024
    monkeypatch.setattr(volumes, "_MEMORY_FILE", tmp_path / "none")
    assert choose_memory() > 2**20

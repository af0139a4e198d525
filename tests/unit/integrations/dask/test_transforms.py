"""Transforms of Dask arrays are those of the whole array, whatever the chunks; and they stay lazy and small."""

import warnings
from functools import partial
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subband
from subband.boundary import MODES
from subband.errors import ArgumentTypeError, CoefficientsError, IntegerRangeError, LevelError, ShapeError
from subband.integrations.dask.blocks import compute_one
from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.levels import Merge, Split

WAVELETS = ["haar", "db2", "db7", "sym5", "coif2", "bior2.4", "rbio3.1", "cdf53", "cdf97", "dmey"]
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _in_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def flatten(value):
    """Give all arrays that a result holds, in order."""
    if isinstance(value, list | tuple):
        return [array for entry in value for array in flatten(entry)]
    if isinstance(value, dict):
        return [array for key in sorted(value) for array in flatten(value[key])]
    if isinstance(value, subband.Pyramid):
        return flatten([value.approximation, list(value.details)])
    if isinstance(value, subband.FswavedecnResult):
        return [value.coeffs]
    return [value]


def assert_same(function, x, chunks, tolerance=1e-11):
    """See that a function gives the same for an array in chunks, and lazily."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = flatten(function(x))
        lazy = flatten(function(da.from_array(x, chunks=chunks)))
        assert all(isinstance(array, da.Array) for array in lazy)
        got = dask.compute(*lazy)
    scale = max([1.0, *(float(np.abs(array).max(initial=0)) for array in expected)])
    for array, other, promised in zip(got, expected, lazy, strict=True):
        assert array.shape == other.shape == promised.shape
        assert array.dtype == other.dtype == promised.dtype
        np.testing.assert_allclose(array, other, rtol=0, atol=tolerance * scale)


@st.composite
def cases(draw):
    wavelet = subband.Wavelet(draw(st.sampled_from(WAVELETS)))
    modes = [mode for mode in MODES if mode != "whole" or wavelet.is_whole_sample_symmetric]
    count = draw(st.integers(1, 3))
    most = (90, 40, 20)[count - 1]
    shape = tuple(draw(st.integers(2, most)) for _ in range(count))
    chunks = tuple(draw(cut_axis(length)) for length in shape)
    axes = tuple(sorted(draw(st.sets(st.integers(0, count - 1), min_size=1))))
    return wavelet, draw(st.sampled_from(modes)), shape, chunks, axes, draw(st.integers(1, 3))


@st.composite
def cut_axis(draw, length):
    """Draw any chunks of an axis, single samples included."""
    edges = draw(st.sets(st.integers(1, length - 1), max_size=5)) if length > 1 else set()
    marks = [0, *sorted(edges), length]
    return tuple(b - a for a, b in pairwise(marks))


@settings(max_examples=60)
@given(cases(), st.sampled_from(["float32", "float64", "complex64"]))
def test_any_case_is_the_transform_in_memory(case, dtype):
    wavelet, mode, shape, chunks, axes, level = case
    x = RNG.normal(size=shape).astype(dtype)
    # single precision loses what the extension of a few samples is larger than they are
    tolerance = 1e-11 if dtype == "float64" else 3e-5
    assert_same(lambda data: subband.wavedecn(data, wavelet, mode, level, axes), x, chunks, tolerance)

    def there_and_back(data):
        return subband.waverecn(subband.wavedecn(data, wavelet, mode, level, axes), wavelet, mode, axes)

    # long filters over a few samples blow rounding up, in memory as well
    assert_same(there_and_back, x, chunks, 1e-9 if dtype == "float64" else 3e-3)


FUNCTIONS = {
    "dwt": lambda x: subband.dwt(x, "db3"),
    "idwt": lambda x: subband.idwt(*subband.dwt(x, "db3"), "db3"),
    "dwt2": lambda x: subband.dwt2(x, "db3"),
    "idwt2": lambda x: subband.idwt2(subband.dwt2(x, "db3"), "db3"),
    "dwtn": lambda x: subband.dwtn(x, "db3"),
    "an axis twice": lambda x: subband.dwtn(x, "db3", axes=(0, 0)),
    "idwtn of one band": lambda x: subband.idwtn({"ad": subband.dwtn(x, "db3")["ad"]}, "db3"),
    "wavedec": lambda x: subband.wavedec(x, "db3", axis=0),
    "waverec": lambda x: subband.waverec([subband.wavedec(x, "db3", level=2)[0], None, None], "db3"),
    "wavedec2": lambda x: subband.wavedec2(x, ("db3", "haar"), ("zero", "periodic"), level=2),
    "waverec2": lambda x: subband.waverec2(subband.wavedec2(x, "db3", level=2), "db3"),
    "swt": lambda x: subband.swt(x, "db3", level=3),
    "iswt": lambda x: subband.iswt(subband.swt(x, "db3", level=3), "db3"),
    "swt2": lambda x: subband.swt2(x, "db2", level=2, trim_approx=True, norm=True),
    "iswt2": lambda x: subband.iswt2(subband.swt2(x, "db2", level=2), "db2"),
    "swtn": lambda x: subband.swtn(x, "db2", level=2),
    "iswtn": lambda x: subband.iswtn(subband.swtn(x, "db2", level=2), "db2"),
    "decompose": lambda x: subband.decompose(x, level=3),
    "reconstruct": lambda x: subband.reconstruct(subband.decompose(x, level=3)),
    "by the reference": lambda x: subband.decompose(x, level=1, engine="reference"),
    "stationary": lambda x: subband.decompose(x, "db2", level=2, stationary=True),
    "back from stationary": lambda x: subband.reconstruct(subband.decompose(x, level=2, stationary=True, mode="zero")),
    "changed bands": lambda x: subband.reconstruct(subband.decompose(x, level=2).map(lambda band, *_: band * 0.5)),
    "fswavedecn": lambda x: subband.fswavedecn(x, "db2", levels=(1, 2)),
    "fswaverecn": lambda x: subband.fswaverecn(subband.fswavedecn(x, "db2", levels=(1, 2))),
    "mra2": lambda x: subband.mra2(x, "db2", level=2),
    "pad": lambda x: subband.pad(x, ((3, 40), (1, 2)), "antireflect"),
    "coeffs_to_array": lambda x: subband.coeffs_to_array(subband.wavedec2(x, "db2", level=2))[0],
    "ravel_coeffs": lambda x: subband.ravel_coeffs(subband.wavedec2(x, "db2", level=2))[0],
    "threshold": lambda x: subband.threshold(x, 0.5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("chunks", [(20, 17), (64, 5), ((1, 30, 33), (24, 24))])
def test_functions_of_the_same_names(name, chunks):
    assert_same(FUNCTIONS[name], RNG.normal(size=(64, 48)), chunks)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", ">f4", "bool", "int64"])
def test_dtypes_are_those_of_memory(dtype):
    assert_same(lambda x: subband.decompose(x, level=2), RNG.integers(0, 100, (40, 30)).astype(dtype), 13, 1e-6)


@pytest.mark.parametrize("wavelet", ["cdf53", "haar"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32"])
def test_integers_come_back_to_the_bit(wavelet, dtype):
    x = RNG.integers(0, 100, (41, 30)).astype(dtype)
    assert_same(lambda x: subband.decompose(x, wavelet, 2, reversible=True), x, (13, 9), 0)
    lazy = subband.reconstruct(subband.decompose(da.from_array(x, chunks=(13, 30)), wavelet, 2, reversible=True))
    assert lazy.dtype == x.dtype
    assert (lazy.compute() == x).all()


def test_integers_that_do_not_fit_are_refused_when_they_are_there():
    x = da.from_array(np.full((40, 40), 2**40), chunks=20)
    pyramid = subband.decompose(x, "cdf53", 2, reversible=True)
    with pytest.raises(IntegerRangeError, match="do not fit int32"):
        pyramid.approximation.compute()


def test_nothing_is_computed_beforehand():
    def explode(block):
        raise AssertionError("computed")

    x = da.zeros((64, 64), chunks=16).map_blocks(explode, dtype="float64", meta=np.empty((0, 0)))
    subband.reconstruct(subband.decompose(x, level=2))
    subband.reconstruct(subband.decompose(x.astype("int32"), "cdf53", 2, reversible=True))
    subband.iswt2(subband.swt2(x, "db1", 2), "db1")
    subband.denoise(x)


def test_chunks_stay_as_large_and_become_fewer():
    x = da.zeros((4096, 4096), chunks=1024, dtype="float32")
    coarse, *details = subband.wavedec2(x, "haar", level=4)
    sizes = [(1024, 1024), (1024, 1024), (512, 512), (256, 256)]
    assert [level[0].chunksize for level in reversed(details)] == sizes
    assert [level[0].numblocks for level in reversed(details)] == [(2, 2), (1, 1), (1, 1), (1, 1)]
    assert x.chunks == subband.waverec2([coarse, *details], "haar").chunks
    large = subband.wavedec2(da.zeros((8192, 8192), chunks=4096), "haar", level=3)
    assert [level[0].chunksize for level in reversed(large[1:])] == [(2048, 2048), (1024, 1024), (1024, 1024)]
    assert subband.waverec2(large, "haar").chunksize == (4096, 4096)
    volume = subband.dwtn(da.zeros((256, 256, 256), chunks=128), "haar")
    assert volume["aaa"].chunksize == (64, 64, 128)


@pytest.mark.parametrize("wavelet", ["haar", "db4", "cdf97"])
@pytest.mark.parametrize("chunks", [(128, 128), (100, 70), ((90, 110, 100), (64, 236))])
def test_samples_come_back_in_their_chunks(wavelet, chunks):
    x = da.zeros((300, 300), chunks=chunks, dtype="float32")
    back = subband.reconstruct(subband.decompose(x, wavelet, level=2))
    assert all(max(own) <= max(given) + 16 for own, given in zip(back.chunks, x.chunks, strict=True))
    changed = subband.reconstruct(subband.decompose(x, wavelet, level=2).map(lambda band, *_: band * 2))
    assert all(max(own) <= 2 * max(given) + 16 for own, given in zip(changed.chunks, x.chunks, strict=True))


def test_samples_of_changed_bands_are_in_neither_large_nor_tiny_chunks():
    x = da.zeros((8192, 8192), chunks=1024, dtype="float32")
    coeffs = subband.wavedec2(x, "db4", level=5)
    back = subband.waverec2([coeffs[0] * 2, *(tuple(band * 2 for band in level) for level in coeffs[1:])], "db4")
    assert back.chunksize == (1024, 1024)
    assert len(set(back.chunks[0])) == 1
    small = subband.dwt2(da.zeros((600, 600), chunks=100), "haar")
    assert subband.idwt2((small[0] * 2, tuple(band * 2 for band in small[1])), "haar").chunksize == (200, 200)


@pytest.mark.parametrize(("shape", "chunks"), [((4096, 4096), 512), ((256, 256, 256), 64)])
def test_tasks_are_few_and_grow_with_chunks_and_levels(shape, chunks):
    x = da.zeros(shape, chunks=chunks, dtype="float32")
    together = 2 ** len(shape)
    counts, back = [], []
    for level in (1, 2, 3):
        coeffs = subband.wavedecn(x, "db4", "symmetric", level)
        graph = da.core.HighLevelGraph.merge(*(array.dask for array in flatten(coeffs)))
        counts.append(len(dict(graph)) - x.npartitions)
        back.append(len(dict(subband.waverecn(coeffs, "db4").dask)) - counts[-1] - x.npartitions)
    # for each chunk a band, and some cuts; and a transform for as many chunks as there are bands
    assert counts[0] <= x.npartitions * (1 + 1 / together + 1)
    assert counts[2] <= counts[0] * (1 + 2 / together)
    # all bands but one are cut before they are merged
    assert back[0] <= x.npartitions * (1 + 1 / together + len(shape))
    assert back[2] <= back[0] * (1 + 2 / together)


def count_works(arrays, kind, *, is_coarse):
    """Return how many tasks transform one level, or several."""
    tasks = {key: task for array in arrays for key, task in dict(array.dask).items()}
    works = [task.args[0][""] for task in tasks.values() if getattr(task, "func", None) is compute_one]
    return sum(isinstance(work, kind) and (work.level > 1) == is_coarse for work in works)


@pytest.mark.parametrize("axes", [(0, 1), (1,)])
def test_levels_of_a_single_block_are_one_task(axes):
    x = da.from_array(RNG.normal(size=(120, 100)), chunks=(60, 50))
    coeffs = subband.wavedecn(x, "db2", "reflect", 4, axes)
    back = subband.waverecn(coeffs, "db2", "reflect", axes)
    # an axis that is carried along keeps its chunks
    blocks = 1 if axes == (0, 1) else 2
    assert count_works(flatten(coeffs), Split, is_coarse=True) == count_works([back], Merge, is_coarse=True) == blocks
    assert count_works([back], Split, is_coarse=False) == count_works([back], Merge, is_coarse=False) == 0
    assert back.chunks == x.chunks
    np.testing.assert_allclose(back.compute(), x.compute(), atol=1e-12)


@pytest.mark.parametrize("mode", ["periodic", "symmetric"])
@pytest.mark.parametrize("shape", [(5, 62), (6, 7, 62)])
def test_short_bands_grow_from_level_to_level(shape, mode):
    x = RNG.normal(size=shape)
    expected = subband.decompose(x, "cdf97", level=2, mode=mode)
    pyramid = subband.decompose(da.from_array(x, chunks=shape), "cdf97", level=2, mode=mode)
    for (_, _, band), (_, _, own) in zip(expected.bands(), pyramid.bands(), strict=True):
        np.testing.assert_allclose(own.compute(), band, atol=1e-12)
    np.testing.assert_allclose(subband.reconstruct(pyramid).compute(), x, atol=1e-11)


def test_coarse_levels_are_one_task_and_never_large():
    x = da.zeros((8192, 8192), chunks=1024, dtype="float32")
    coeffs = subband.wavedec2(x, "cdf97", level=5)
    assert count_works(flatten(coeffs), Split, is_coarse=False) == 16 + 4
    assert count_works(flatten(coeffs), Split, is_coarse=True) == 1
    back = subband.waverec2(coeffs, "cdf97")
    assert count_works([back], Merge, is_coarse=False) == 16 + 4
    assert count_works([back], Merge, is_coarse=True) == 1


def test_a_chunk_asks_only_for_the_overlap():
    x = da.zeros((512, 512), chunks=128)
    bands = subband.dwt2(x, "db4")
    graph = dict(bands[0].dask)
    cuts = [task.args[1] for key, task in graph.items() if "-cut" in str(key[0])]
    assert cuts
    for slices in cuts:
        assert min(part.stop - part.start for part in slices if part.stop is not None) <= 8


def test_short_chunks_are_joined_and_said_to_be():
    x = da.from_array(RNG.normal(size=(60, 60)), chunks=(3, 60))
    with pytest.warns(UserWarning, match=r"chunks of 3 samples along axis 0 .* 'db5' .* x\.rechunk\(\{0: 12\}\)"):
        bands = subband.dwt2(x, "db5")
    np.testing.assert_allclose(bands[0].compute(), subband.dwt2(x.compute(), "db5")[0], atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        subband.wavedec2(da.zeros((600, 600), chunks=100), "db5", level=3)


def test_errors_are_those_of_memory():
    x = da.zeros((32, 32), chunks=16)
    with pytest.raises(LevelError):
        subband.decompose(x, level=9)
    with pytest.raises(CoefficientsError):
        subband.idwtn({"aa": x, "dd": x[:3]}, "db2")
    with pytest.raises(ArgumentTypeError, match="give all arrays of one kind"):
        subband.idwt(x, np.zeros((32, 32)), "db2")
    for function in (subband.decompose, subband.denoise, partial(subband.threshold, value=1)):
        with pytest.raises(ShapeError, match="compute_chunk_sizes"):
            function(x[x[:, 0] == 0])
    with pytest.raises(ArgumentTypeError, match="cwt does not take arrays of Dask"):
        subband.cwt(x, [1, 2], "mexh")
    with pytest.raises(ArgumentTypeError, match="icwt does not take arrays of Dask"):
        subband.icwt(x, range(1, 33), "mexh")


def test_blocks_of_another_library_stay_there():
    class Other(np.ndarray):
        """Stands for the arrays of a device: whoever turns it into one of NumPy loses the class."""

    x = da.from_array(RNG.normal(size=(80, 80)), chunks=20).map_blocks(lambda block: block.view(Other))
    cut = next(task for key, task in dict(subband.dwt2(x, "db3")[0].dask).items() if "-cut" in str(key[0]))
    assert type(cut.func(np.zeros((20, 20)).view(Other), cut.args[1])) is Other


def test_the_engine_is_printed_by_its_name():
    assert repr(DaskEngine()) == "<engine 'dask'>"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(61, 40), (60, 33)])
def test_adjoints(mode, shape):
    x = RNG.normal(size=shape)
    chunked = da.from_array(x, chunks=20)
    wavelet = "cdf97" if mode == "whole" else "db2"
    pyramid, expected = (subband.decompose(array, wavelet, 2, mode) for array in (chunked, x))
    folded = subband.decompose_adjoint(pyramid)
    assert isinstance(folded, da.Array)
    np.testing.assert_allclose(folded.compute(), subband.decompose_adjoint(expected), atol=1e-9)
    split = subband.reconstruct_adjoint(chunked, pyramid.plan)
    for band, own in zip(flatten(split), flatten(subband.reconstruct_adjoint(x, expected.plan)), strict=True):
        assert isinstance(band, da.Array)
        np.testing.assert_allclose(band.compute(), own, atol=1e-12)

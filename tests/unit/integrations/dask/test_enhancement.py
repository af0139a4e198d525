"""Denoising of Dask arrays is that of the whole array, whatever the chunks."""

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subband
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.median import ERROR
from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import measure_planes
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.integrations.dask import measure_noise

RNG = np.random.default_rng(1)
PICTURE = RNG.normal(100, 10, (150, 131)).astype(np.float32)
VOLUME = RNG.normal(100, 10, (40, 36, 50)).astype(np.float32)
SIGNAL = RNG.normal(100, 10, 500)
COLOUR = RNG.normal(100, 10, (90, 80, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _in_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(enhancer, x, chunks, tolerance=2e-6, **options):
    expected = enhancer.apply(x, **options)
    lazy = enhancer.apply(da.from_array(x, chunks=chunks), **options)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == da.from_array(x, chunks=chunks).chunks
    got = lazy.compute()
    assert got.dtype == expected.dtype == lazy.dtype
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=0, atol=tolerance * scale)


STAGES = {
    "bivariate": Denoise(level=3),
    "wiener": Denoise("wiener", level=2),
    "visu": Denoise("visu", "db3", 2),
    "bayes": Denoise("bayes", level=2),
    "bayes, spun": Denoise("bayes", "db4", 2, boundary="periodization", form="spun"),
    "symmetric": Denoise("bivariate", "db3", 3, boundary="symmetric", form="decimated"),
    "antireflect": Denoise("bivariate", "bior2.4", 2, boundary="antireflect"),
    "undecimated": Denoise("bivariate", "db2", 2, form="undecimated"),
    "undecimated, bayes": Denoise("bayes", "db2", 1, form="undecimated"),
    "weights": Denoise(level=3, level_weights=(1, 0, 0.5)),
    "filters": Denoise(level=1, filters=(Blur(0.7, at="details"),)),
}


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("sigma", [10.0, None])
def test_pictures(name, sigma):
    # undecimated bands have more coefficients than a sketch keeps; BayesShrink takes a second look at them
    is_sketched = sigma is None and name == "undecimated"
    tolerance = 2e-4 if is_sketched else 3e-6
    assert_same(Enhancer(STAGES[name], sigma=sigma), PICTURE, (50, 40), tolerance)


@pytest.mark.parametrize("name", ["bivariate", "wiener", "visu", "bayes"])
def test_volumes_and_signals(name):
    stage = Denoise(name, level=2)
    assert_same(Enhancer(stage, sigma=10.0), VOLUME, (16, 12, 25))
    assert_same(Enhancer(stage), SIGNAL, 90, 1e-12)


@pytest.mark.parametrize(
    ("enhancer", "x", "chunks", "options"),
    [
        (Enhancer(Denoise(level=2)), COLOUR, (40, 30, 1), {}),
        (Enhancer(Denoise(level=2), sigma=(8, 9, 10)), COLOUR, (40, 30, 3), {}),
        (Enhancer(Denoise(level=2), colour="rgb"), COLOUR, (40, 30, 3), {}),
        (Enhancer(Denoise(level=2)), VOLUME, (9, 12, 25), {"axes": (1, 2)}),
        (Enhancer(Denoise(level=2)), VOLUME, (9, 12, 25), {"channel_axis": 0}),
        (Enhancer(Denoise(level=1), sigma=5.0), np.concatenate([COLOUR, COLOUR[..., :1]], -1), (40, 30, 4), {}),
        (Enhancer(Denoise(level=2), "speckle"), np.abs(PICTURE), (50, 40), {}),
        (Enhancer(Denoise("wiener", level=2), "speckle"), np.abs(PICTURE), (50, 40), {}),
        (Enhancer(Denoise(level=2), "poisson"), np.abs(PICTURE), (50, 40), {}),
        (Enhancer([Blur(1.5), Sharpen(0.3)]), PICTURE, (50, 40), {}),
        (Enhancer([Blur(0.7), Denoise(level=2), Sharpen(0.3)]), PICTURE, (50, 40), {}),
        (Enhancer(Shrink(threshold=[5, 3, 2], gains=[1.2, 1, 1])), PICTURE, (50, 40), {}),
        (Enhancer(Shrink(level=2, threshold=5, upper=9, mode="firm", form="spun")), VOLUME, (16, 12, 25), {}),
        (Enhancer(()), PICTURE, (50, 40), {}),
    ],
)
def test_chains(enhancer, x, chunks, options):
    assert_same(enhancer, x, chunks, 4e-6, **options)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float16", "float64"])
def test_dtypes(dtype):
    # a number near the middle of two may be rounded either way
    tolerance = {"float64": 1e-14, "float16": 1e-3}.get(dtype, 1.01 / 150)
    assert_same(Enhancer(Denoise(level=2), sigma=10.0), PICTURE.astype(dtype), (50, 40), tolerance)


@settings(max_examples=8)
@given(
    st.tuples(st.integers(12, 70), st.integers(12, 70)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(["haar", "db3", "cdf97", "bior2.2"]),
    st.sampled_from(["bivariate", "visu", "bayes"]),
    st.sampled_from([None, "symmetric", "zero", "smooth", "periodic"]),
    st.sampled_from(["decimated", "spun"]),
    st.integers(1, 2),
)
def test_any_case(shape, chunks, wavelet, method, boundary, form, level):
    x = np.random.default_rng(shape[0]).normal(10, 1, shape)
    level = min(level, subband.dwtn_max_level(shape, wavelet) or 1)
    assert_same(Enhancer(Denoise(method, wavelet, level, boundary=boundary, form=form)), x, chunks, 1e-11)


@pytest.mark.parametrize(("out_dtype", "tolerance"), [(None, 1), (np.float32, 1e-3)])
def test_denoise_keeps_integers_unless_told(out_dtype, tolerance):
    x = da.from_array(PICTURE.astype(np.uint8), chunks=64)
    lazy = subband.denoise(x, level=2, out_dtype=out_dtype)
    assert lazy.dtype == (out_dtype or np.uint8)
    expected = subband.denoise(PICTURE.astype(np.uint8), level=2, out_dtype=np.float32)
    np.testing.assert_allclose(lazy.compute(), expected, atol=tolerance)


@pytest.mark.parametrize("form", ["decimated", "undecimated"])
@pytest.mark.parametrize("shape", [(600, 700), (130_000,), (1, 300)])
def test_noise_is_that_of_the_whole(shape, form):
    x = RNG.normal(0, 7, shape).astype(np.float32)
    stage = Denoise(level=1, form=form)
    lazy = measure_noise(
        Enhancer(stage), da.from_array(x, chunks=[min(201, length) for length in shape]), channel_axis=None
    )
    engine = get_engine("cpu")
    filters = find_filters(engine)
    (expected,) = measure_planes(filters, Roundtrip(stage, (1, *shape), engine, filters).forward(x[np.newaxis]))
    # the median of many is looked for by a sketch
    assert abs(float(lazy) / expected - 1) < (ERROR if shape == (130_000,) else 1e-6)


def test_source_is_read_twice_and_not_kept():
    reads = []

    def read(block_info=None):
        reads.append(block_info[None]["chunk-location"])
        return PICTURE[:128, :128][tuple(slice(a, b) for a, b in block_info[None]["array-location"])]

    x = da.map_blocks(read, chunks=((64, 64), (64, 64)), dtype=np.float32, meta=np.empty((0, 0), np.float32))
    result = subband.denoise(x, level=1)
    reads.clear()
    result.compute()
    assert len(reads) == 8
    reads.clear()
    subband.denoise(x, 10.0, level=1).compute()
    assert len(reads) == 4


def test_noise_that_is_known_needs_one_pass():
    lazy = subband.denoise(da.from_array(PICTURE, chunks=50), 10.0)
    assert not any("sketch" in str(key) for key in dict(lazy.dask))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: subband.denoise(x.astype(complex)), DtypeError, "an image is real"),
        (lambda x: subband.denoise(x[:0]), ShapeError, "at least 1 pixel"),
        (lambda x: subband.denoise(x, (1.0, 2.0)), ShapeError, "sigma has 2 entries"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(call, error, match):
    with pytest.raises(error, match=match):
        call(da.zeros((40, 40), chunks=20))


def test_nan_is_refused_when_it_is_met():
    x = PICTURE.copy()
    x[100, 100] = np.nan
    with pytest.raises(ArgumentError, match="1 pixels in one chunk that are NaN"):
        subband.denoise(da.from_array(x, chunks=50), 10.0).compute()

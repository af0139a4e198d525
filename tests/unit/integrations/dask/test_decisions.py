"""Methods that look at whole bands: what they do to arrays of Dask is what they do in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import subband
from subband.enhance import Blur, Denoise, Enhancer, Sharpen
from subband.enhance.blockwise import Findings
from subband.errors import ArgumentError
from subband.integrations.dask import denoise_store
from subband.integrations.dask.enhancement import measure
from subband.media.stores import find_manifest

RNG = np.random.default_rng(1)
WAVES = 40 * np.sin(np.arange(131) / 9)
PICTURE = (RNG.normal(100, 10, (150, 131)) + WAVES).astype(np.float32)
VOLUME = RNG.normal(100, 10, (40, 36, 50)).astype(np.float32)
SIGNAL = RNG.normal(100, 10, 500)
COLOUR = RNG.normal(100, 10, (90, 80, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _in_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


# the sums of a few thousand products of single precision, in the order of one processor or of another
def assert_same(enhancer, x, chunks, tolerance=2e-6, **options):
    expected = enhancer.apply(x, **options)
    got = enhancer.apply(da.from_array(x, chunks=chunks), **options).compute()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * float(np.abs(expected).max()))


@pytest.mark.parametrize("method", ["sure", "neigh"])
@pytest.mark.parametrize("sigma", [10.0, None])
@pytest.mark.parametrize(
    ("x", "chunks", "options"),
    [
        (PICTURE, (50, 40), {}),
        (PICTURE, (37, 131), {}),
        (VOLUME, (16, 12, 25), {}),
        (SIGNAL, 90, {}),
        (COLOUR, (40, 30, 1), {}),
        (VOLUME, (9, 12, 25), {"axes": (1, 2)}),
    ],
)
def test_all_kinds_of_arrays(method, sigma, x, chunks, options):
    assert_same(Enhancer(Denoise(method, level=2), sigma=sigma), x, chunks, **options)


STAGES = {
    "spun": {"form": "spun", "boundary": "symmetric", "wavelet": "db3"},
    "decimated": {"form": "decimated", "boundary": "periodization", "wavelet": "db2"},
    "undecimated": {"form": "undecimated", "wavelet": "db2"},
    "weights": {"level": 3, "level_weights": (1, 0, 0.5)},
    "hard": {"mode": "hard"},
}


@pytest.mark.parametrize(
    ("method", "name"), [(m, n) for m in ("sure", "neigh") for n in STAGES if (m, n) != ("neigh", "undecimated")]
)
def test_forms(method, name):
    assert_same(Enhancer(Denoise(method, **{"level": 2, **STAGES[name]}), sigma=10.0), PICTURE, (50, 40))


@settings(max_examples=6)
@given(
    st.tuples(st.integers(12, 60), st.integers(12, 60)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(["haar", "cdf97"]),
    st.sampled_from(["sure", "neigh"]),
    st.sampled_from(["decimated", "spun"]),
)
def test_any_chunks(shape, chunks, wavelet, method, form):
    x = np.random.default_rng(shape[0]).normal(10, 1, shape)
    level = min(2, subband.dwtn_max_level(shape, wavelet) or 1)
    assert_same(Enhancer(Denoise(method, wavelet, level, form=form)), x, chunks, 1e-11)


@pytest.mark.parametrize("method", ["bayes", "sure", "neigh"])
def test_filters_behind_the_decision(method):
    x = RNG.normal(100, 10, (400, 60)).astype(np.float32)
    filters = Blur(0.7, at="details"), Sharpen(0.2, at="approximation")
    assert_same(Enhancer(Denoise(method, "haar", 1, filters=filters, form="spun"), sigma=10.0), x, (100, 60))


@pytest.mark.parametrize("method", ["bivariate", "wiener"])
def test_windows_of_blocks_are_wide_enough(method):
    x = RNG.normal(100, 10, (400, 60)).astype(np.float32)
    stage = Denoise(method, "haar", 3, filters=(Sharpen(0.2, at="details"),), form="decimated")
    expected = Enhancer(stage, sigma=10.0).apply(x)
    got = Enhancer(stage, sigma=10.0).apply(da.from_array(x, (100, 60))).compute()
    # without decimation filters look across the borders of the array in memory
    np.testing.assert_allclose(got[8:-8, 8:-8], expected[8:-8, 8:-8], atol=1e-3)


@pytest.mark.parametrize(
    "stage",
    [
        Denoise("sure", level=2, filters=(Blur(at="between"), Sharpen(0.2, at="details", levels=(2,)))),
        Denoise("sure", "db2", 2, form="undecimated", filters=(Blur(at="details"),)),
        Denoise("bayes", "db2", 2, boundary="periodic", filters=(Blur(at="details"),)),
        Denoise("bivariate", "db2", 2, boundary="periodization", form="spun", filters=(Blur(at="approximation"),)),
    ],
)
def test_filters_see_the_whole_array(stage):
    assert_same(Enhancer(stage), PICTURE, (50, 40))


def test_what_cannot_be_done_is_said_at_once():
    match = "apart into bands that reach across all chunks; use form='spun'"
    with pytest.raises(ArgumentError, match=match):
        Enhancer(Denoise("neigh", form="undecimated")).apply(da.zeros((64, 64), chunks=32))


@pytest.mark.parametrize(
    ("method", "form"),
    [("bayes", "decimated"), ("bayes", "undecimated"), ("sure", "decimated"), ("sure", "undecimated"),
     ("neigh", "decimated"), ("neigh", "spun")],
)  # fmt: skip
def test_noise_of_many_coefficients_is_measured_exactly(method, form):
    # nothing but noise: of all thresholds that remove it, the last bit of the noise would choose
    x = np.random.default_rng(0).normal(1000, 100, (300, 310)).astype(np.float32)
    chain = Enhancer(Denoise(method, "haar", 2, form=form))
    assert_same(chain, x, (150, 110))
    assert_same(chain, x, (150, 110), mask=np.arange(310) + np.zeros((300, 1)) > 20)


def count_reads(work, length=100):
    reads = []

    def read(block_info=None):
        location = block_info[None]["chunk-location"]
        reads.append(location)
        shape = tuple(b - a for a, b in block_info[None]["array-location"])
        # the same numbers whenever and by whichever thread it is read
        return np.random.default_rng(location).normal(100, 10, shape).astype(np.float32)

    x = da.map_blocks(read, chunks=((length // 2,) * 2,) * 2, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    result = work(x)
    reads.clear()
    result.compute()
    return len(reads) / 4


@pytest.mark.parametrize("form", ["decimated", "spun", "undecimated"])
@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({"method": "sure", "sigma": 10.0}, 2),
        ({"method": "sure"}, 3),
        ({"method": "neigh"}, 3),
        ({"method": "bayes"}, 2),
        ({"method": "bivariate", "sigma": 10.0, "nonfinite": "mask"}, 2),
        ({"method": "bivariate", "nonfinite": "mask"}, 3),
        ({"method": "neigh", "nonfinite": "mask"}, 4),
    ],
)
def test_source_is_read_as_often_as_is_promised(form, options, passes):
    if options["method"] == "neigh" and form == "undecimated":
        # which is refused, see above
        form = "spun"
    assert count_reads(lambda x: subband.denoise(x, level=1, form=form, **options)) == passes


@pytest.mark.parametrize(("method", "passes"), [("bivariate", 2), ("bayes", 3), ("sure", 4), ("neigh", 4)])
def test_second_look_at_the_noise_is_a_pass(method, passes):
    assert count_reads(lambda x: subband.denoise(x, level=1, method=method, form="decimated"), 1100) == passes


def test_stages_before_are_computed_again_and_their_decisions_are_not():
    chain = Enhancer([Denoise("bayes", level=1), Denoise("sure", level=1)])
    # one pass for the first stage; then the noise, the decisions and the result of the second
    assert count_reads(chain.apply) == 4


def test_findings_survive_json_and_are_used():
    chain, x = Enhancer(Denoise("neigh", level=1)), da.from_array(PICTURE, chunks=(50, 40))
    found = measure(chain, x)
    again = Findings.from_facts(found.to_facts())
    assert again.noise == found.noise
    assert {at: numbers.tolist() for at, numbers in again.statistic.items()} == {
        at: numbers.tolist() for at, numbers in found.statistic.items()
    }
    assert sorted(again.statistic) == [(position, 1, key) for position in (0, 1) for key in ("ad", "da", "dd")]


class TestStores:
    @pytest.fixture
    def source(self, tmp_path):
        stored = zarr.create_array(str(tmp_path / "in.zarr"), shape=VOLUME.shape, chunks=(16, 16, 16), dtype="float32")
        stored[...] = VOLUME
        return tmp_path / "in.zarr"

    @pytest.mark.parametrize("method", ["sure", "neigh"])
    def test_result_is_that_of_memory(self, source, tmp_path, method):
        chain = Enhancer(Denoise(method, level=1))
        denoise_store(source, tmp_path / "out.zarr", chain, chunks=(16, 36, 25))
        got = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...]
        np.testing.assert_allclose(got, chain.apply(VOLUME), atol=1e-3)

    def test_resumed_job_knows_what_was_decided(self, source, tmp_path):
        chain, out = Enhancer(Denoise("sure", level=1)), tmp_path / "out.zarr"
        denoise_store(source, out, chain, chunks=(16,))
        expected = zarr.open_array(str(out), mode="r")[...]
        text = find_manifest(out).read_text()
        assert '"statistic"' in text
        zarr.open_array(str(out), mode="r+")[:16] = 0
        report = denoise_store(source, out, chain, chunks=(16,), resume=True)
        assert report.computed == 12
        np.testing.assert_array_equal(zarr.open_array(str(out), mode="r")[...], expected)

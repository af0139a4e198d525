"""Masks and pixels that are not finite: arrays of Dask are as in memory, whatever the chunks and the gaps."""

import dask
import dask.array as da
import numpy as np
import pytest
import zarr

import subband
from subband.enhance import Denoise, Enhancer
from subband.enhance.gaps import fill_gaps
from subband.errors import ArgumentError, ShapeError
from subband.integrations.dask import denoise_store, measure_noise
from subband.integrations.dask.gaps import draw_filled, draw_filling

RNG = np.random.default_rng(1)
PICTURE = (RNG.normal(100, 10, (150, 131)) + 40 * np.sin(np.arange(131) / 9)).astype(np.float32)
MASK = RNG.random(PICTURE.shape) > 0.1
MASK[20:90, 30:100] = False
HOLES = PICTURE.copy()
HOLES[RNG.random(PICTURE.shape) > 0.99] = np.nan
HOLES[100:140, 5:60] = np.inf
VOLUME = RNG.normal(100, 10, (30, 36, 25)).astype(np.float32)
VOLUME[RNG.random(VOLUME.shape) > 0.999] = np.nan
COLOUR = RNG.normal(100, 10, (90, 80, 3)).astype(np.float32)
COLOUR[4, 5, 1] = np.nan
COLOUR[30:60, 10:50, 2] = -np.inf
SIGNAL = RNG.normal(100, 10, 500)
SIGNAL[100:300] = np.nan


@pytest.fixture(autouse=True)
def _in_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(enhancer, x, chunks, tolerance=1e-6, lazy_mask=None, **options):
    expected = enhancer.apply(x, **options)
    if lazy_mask is not None:
        options["mask"] = lazy_mask
    lazy = enhancer.apply(da.from_array(x, chunks=chunks), **options)
    assert lazy.chunks == da.from_array(x, chunks=chunks).chunks
    got = lazy.compute()
    assert got.dtype == expected.dtype == lazy.dtype
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    scale = float(np.abs(expected[finite]).max())
    np.testing.assert_allclose(got[finite], expected[finite], rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("method", ["bivariate", "wiener", "bayes", "sure", "neigh", "visu"])
@pytest.mark.parametrize("sigma", [10.0, None])
def test_methods(method, sigma):
    chain = Enhancer(Denoise(method, level=2), sigma=sigma)
    assert_same(chain, HOLES, (50, 40), nonfinite="mask", mask=MASK)


@pytest.mark.parametrize("form", ["decimated", "undecimated"])
def test_noise_is_measured_where_pixels_are_known(form):
    x = PICTURE.copy()
    x[:, 60:] *= 0.2
    known = np.ones(x.shape, bool)
    known[:, 60:] = False
    chain = Enhancer(Denoise("visu", "db2", level=1, form=form))
    assert_same(chain, x, (50, 40), mask=known)
    lazy = da.from_array(x, (50, 40))
    sure, unsure = (float(measure_noise(chain, lazy, mask=mask)) for mask in (known, None))
    assert 9 < sure < 11
    assert unsure < 5


def test_noise_is_that_of_all_if_every_coefficient_touches_a_gap():
    known = np.ones(PICTURE.shape, bool)
    known[::5, ::5] = False
    assert_same(Enhancer(Denoise(level=1)), PICTURE, (50, 40), mask=known)


@pytest.mark.parametrize(
    ("x", "chunks", "options"),
    [
        (COLOUR, (40, 30, 1), {}),
        (np.concatenate([COLOUR, COLOUR[::-1, :, :1]], -1), (40, 30, 4), {}),
        (VOLUME, (16, 12, 25), {}),
        (VOLUME, (9, 12, 25), {"axes": (1, 2)}),
        (VOLUME, (9, 12, 25), {"axes": (2, 0)}),
        (SIGNAL, 90, {}),
    ],
)
def test_all_kinds_of_arrays(x, chunks, options):
    assert_same(Enhancer(Denoise(level=1)), x, chunks, nonfinite="mask", **options)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float64"])
def test_dtypes(dtype):
    x = PICTURE.clip(0, 255).astype(dtype)
    tolerance = {"float64": 1e-14, "int64": 1e-14, "float16": 1e-3}.get(dtype, 1.01 / 150)
    assert_same(Enhancer(Denoise(level=1), sigma=10.0), x, (50, 40), tolerance, mask=MASK)


@pytest.mark.parametrize("mask", [da.from_array(MASK, (33, 60)), da.from_array(MASK.astype(np.uint8) * 7, 50)])
def test_masks_of_dask(mask):
    assert_same(Enhancer(Denoise(level=1)), PICTURE, (50, 40), mask=MASK, lazy_mask=mask)


def test_speckle_finds_its_floor_beside_gaps():
    assert_same(Enhancer(Denoise(level=1), "speckle"), np.abs(HOLES), (50, 40), nonfinite="mask")


def test_nothing_to_mask_changes_nothing():
    lazy = da.from_array(PICTURE, (50, 40))
    expected = subband.denoise(lazy, level=1).compute()
    np.testing.assert_array_equal(subband.denoise(lazy, level=1, nonfinite="mask").compute(), expected)
    np.testing.assert_array_equal(subband.denoise(lazy, level=1, mask=MASK | True).compute(), expected)
    whole = Enhancer(Denoise(level=1)).apply(lazy.astype(np.int32), nonfinite="mask")
    assert not any("filling" in str(key) for key in dict(whole.dask))


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize("chunks", [(50, 40), (7, 131), (150, 131), ((1, 149), (100, 31))])
@pytest.mark.parametrize("small", [1 << 22, 1])
def test_gaps_are_filled_to_the_last_bit(monkeypatch, chunks, dtype, small):
    # however small the picture is in which one task fills what is left
    monkeypatch.setattr("subband.enhance.blockwise.gaps._SMALL", small)
    known = MASK.copy()
    known[40:, 90:] = False
    x = np.abs(PICTURE).astype(dtype)
    pixels, marks = da.from_array(x, chunks), da.from_array(known.astype(np.uint8), chunks)
    filled = draw_filled(pixels, marks, draw_filling(pixels, marks)).compute()
    np.testing.assert_array_equal(filled, fill_gaps(x[..., np.newaxis], known)[..., 0])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"mask": np.ones((3, 3))}, ShapeError, "mask has shape"),
        ({"mask": da.ones((3, 3))}, ShapeError, "mask has shape"),
        ({"mask": np.zeros((150, 131))}, ArgumentError, "mask leaves no pixel"),
        ({"nonfinite": "drop"}, ArgumentError, "nonfinite='drop' is not known"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(options, error, match):
    with pytest.raises(error, match=match):
        subband.denoise(da.from_array(PICTURE, 50), **options)


@pytest.mark.parametrize(
    ("x", "options", "match"),
    [
        (PICTURE, {"mask": da.zeros((150, 131))}, "mask leaves no pixel"),
        (PICTURE * np.nan, {"nonfinite": "mask"}, "all pixels are NaN"),
        (HOLES, {"mask": MASK}, "NaN or infinite and not masked"),
        (HOLES, {}, "use nonfinite='mask'"),
    ],
)
def test_what_only_reading_tells_is_said_then(x, options, match):
    lazy = subband.denoise(da.from_array(x, 50), 10.0, level=1, **options)
    with pytest.raises(ArgumentError, match=match):
        lazy.compute()


def test_stores_have_masks_too(tmp_path):
    known = RNG.random(VOLUME.shape) > 0.2
    for name, values in (("in.zarr", VOLUME), ("mask.zarr", known)):
        stored = zarr.create_array(
            str(tmp_path / name), shape=values.shape, chunks=(16, 16, 16), dtype=values.dtype.name
        )
        stored[...] = values
    chain = Enhancer(Denoise(level=1))
    options = {"mask": tmp_path / "mask.zarr", "nonfinite": "mask", "chunks": (16,)}
    out = tmp_path / "out.zarr"
    denoise_store(tmp_path / "in.zarr", out, chain, **options)
    got = zarr.open_array(str(out), mode="r")[...]
    np.testing.assert_allclose(got, chain.apply(VOLUME, mask=known, nonfinite="mask"), atol=1e-3)
    zarr.open_array(str(out), mode="r+")[:16] = 0
    with pytest.raises(ArgumentError, match="its nonfinite was 'mask'"):
        denoise_store(tmp_path / "in.zarr", out, chain, mask=options["mask"], chunks=(16,), resume=True)
    assert denoise_store(tmp_path / "in.zarr", out, chain, resume=True, **options).computed == 6
    np.testing.assert_array_equal(zarr.open_array(str(out), mode="r")[...], got)

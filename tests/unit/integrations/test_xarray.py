"""Labelled arrays keep what their labels say, through denoising and through transforms."""

import numpy as np
import pytest

import subband
from subband.errors import ArgumentError, AxesError, CoefficientsError

xarray = pytest.importorskip("xarray")
pytest.importorskip("subband.integrations.xarray")

RNG = np.random.default_rng(0)


@pytest.fixture
def array():
    """Temperatures over time: coordinates of every kind."""
    return xarray.DataArray(
        RNG.normal(15, 1, (3, 24, 40)),
        coords={
            "time": np.array(["2001-01-01", "2001-01-02", "2001-01-03"], "datetime64[ns]"),
            "lat": ("lat", np.linspace(50, 40, 24), {"units": "degrees_north"}),
            "lon": np.arange(40, dtype=np.uint8)[::-1],
            "station": ("lon", [f"s{number}" for number in range(40)]),
            "season": ("time", ["a", "b", "c"]),
            "run": 7,
        },
        dims=("time", "lat", "lon"),
        name="temperature",
        attrs={"units": "degC"},
    )


def test_denoising_keeps_labels(array):
    cleaned = array.wavelets.denoise(dim=("lat", "lon"), method="bayes", level=2)
    assert cleaned.drop_attrs().coords.identical(array.drop_attrs().coords)
    assert (cleaned.attrs, cleaned.name, cleaned.lat.attrs) == (array.attrs, "temperature", array.lat.attrs)
    alone = subband.denoise(array.values[1], method="bayes", level=2)
    np.testing.assert_allclose(cleaned[1], alone, atol=1e-12)
    volume = array.wavelets.denoise(1.0)
    np.testing.assert_allclose(volume, subband.denoise(array.values, 1.0, channel_axis=None), atol=1e-12)


def test_gaps_and_channels(array):
    holed = array.where(array.lon > 3)
    with pytest.raises(ArgumentError, match="finite"):
        holed.wavelets.denoise(dim=["lat", "lon"])
    cleaned = holed.wavelets.denoise(dim=["lat", "lon"], nonfinite="mask")
    assert (cleaned.isnull() == holed.isnull()).all()
    colours = array.rename(time="band")
    expected = subband.denoise(array.values, channel_axis=0)
    np.testing.assert_allclose(colours.wavelets.denoise(channel_dim="band"), expected, atol=1e-12)


def test_bands_have_coordinates(array):
    bands = array.wavelets.decompose("haar", level=1, dim="lon")
    band = bands[1, "d"]
    assert (band.dims, band.name, band.attrs) == (array.dims, "temperature", array.attrs)
    assert set(band.coords) == {"time", "lat", "lon", "season", "run"}
    np.testing.assert_array_equal(band.lon, np.arange(38.5, 0, -2))
    days = array.wavelets.decompose("haar", level=1, dim=["time"])[1, "a"]
    assert days.time.values[0] == np.datetime64("2001-01-01T12", "ns")
    np.testing.assert_array_equal(days.lat, array.lat)


@pytest.mark.parametrize(
    ("wavelet", "mode"),
    [("haar", "symmetric"), ("db3", "periodization"), ("db3", "smooth"), ("bior4.4", "symmetric"), ("cdf97", "whole"),
     ("cdf53", "whole"), ("sym5", "zero"), ("bior2.2", "periodization")],
)  # fmt: skip
def test_the_approximation_of_a_coordinate_is_the_coordinate(wavelet, mode):
    """A low-pass filter gives of a straight line its value at the centre, so both ways to place it have to agree."""
    x = np.linspace(-3, 9, 200)
    bands = xarray.DataArray(x, {"x": x}, ("x",)).wavelets.decompose(wavelet, 2, mode)
    low = bands[2, "a"]
    gain = np.sum(subband.Wavelet(wavelet).dec_lo) ** 2
    inside = (low.x > -1) & (low.x < 7)
    np.testing.assert_allclose((low / gain)[inside], low.x[inside], atol=1e-9)
    # an impulse is where its details are
    impulse = xarray.DataArray((np.arange(200) == 101).astype(float), {"x": x}, ("x",))
    energy = np.square(impulse.wavelets.decompose(wavelet, 1, mode)[1, "d"])
    assert abs(float((energy * energy.x).sum() / energy.sum()) - x[101]) < 1.01 * (x[1] - x[0])


def test_there_and_back(array):
    bands = array.wavelets.decompose("db2", dim=("lat", "lon"))
    assert len(bands) == len(list(bands)) == 1 + 3 * bands.pyramid.level
    xarray.testing.assert_allclose(bands.reconstruct(), array, atol=1e-12)
    assert bands.reconstruct().attrs == array.attrs
    bands[1, "dd"] = 2 * bands[1, "dd"].transpose("lon", "lat", "time")
    doubled = array.wavelets.decompose("db2", dim=("lat", "lon")).map(
        lambda band, level, key: band * 2 if (level, key) == (1, "dd") else band
    )
    xarray.testing.assert_allclose(bands.reconstruct(), doubled.reconstruct())
    assert not np.allclose(bands.reconstruct(), array)


def test_arrays_of_dask_stay_lazy(array):
    pytest.importorskip("dask")
    lazy = array.chunk(lat=12)
    cleaned, bands = lazy.wavelets.denoise(1.0, dim=("lat", "lon"), level=1), lazy.wavelets.decompose(level=1)
    assert cleaned.chunks is not None
    assert bands[1, "ddd"].chunks is not None
    np.testing.assert_allclose(cleaned, array.wavelets.denoise(1.0, dim=("lat", "lon"), level=1), atol=1e-9)
    np.testing.assert_allclose(bands.reconstruct(), array, atol=1e-9)


def test_what_is_not_there(array):
    with pytest.raises(AxesError, match="no dimension 'depth'; the array has 'time', 'lat', 'lon'"):
        array.wavelets.denoise(dim="depth")
    with pytest.raises(CoefficientsError, match="is no band"):
        _ = array.wavelets.decompose(level=1)[2, "ddd"]

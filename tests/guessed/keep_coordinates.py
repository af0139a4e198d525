"""Denoise a labelled field of xarray and keep its coordinates."""

import numpy as np
import xarray as xr

import subband
import subband.xarray

lat = np.linspace(40, 60, 64)
lon = np.linspace(0, 30, 96)
clean = np.sin(lat / 3)[:, None] * np.cos(lon / 4)[None]
field = xr.DataArray(
    clean + 0.2 * np.random.default_rng(0).standard_normal((64, 96)),
    coords={"lat": lat, "lon": lon},
    dims=("lat", "lon"),
    name="temperature",
    attrs={"units": "K"},
)
smooth = field.wavelets.denoise()
assert smooth.dims == field.dims and smooth.attrs["units"] == "K" and smooth.name == "temperature"
assert np.abs(smooth - clean).mean() < np.abs(field - clean).mean()

same = xr.apply_ufunc(subband.denoise, field)
assert (same.lat == field.lat).all()
assert np.allclose(same, smooth)

along = field.wavelets.denoise(dim="lon")
assert along.shape == field.shape

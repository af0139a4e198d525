"""Volumes in a real browser: dropped series, packed files and stores, sliders of axes, three planes, filters in 3-D."""

from __future__ import annotations

import numpy as np
import pytest

from subband.enhance import Denoise, Enhancer
from subband.errors import LevelError

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

#: Hounsfield units of a head in air, with noise, and a mark in one corner, so that each direction can be told.
radius = np.hypot(*np.mgrid[-1:1:40j, -1:1:48j])
VOLUME = np.stack([-900 + 940 * (radius < 0.4 + 0.04 * each) for each in range(12)])
VOLUME = (VOLUME + np.clip(np.random.default_rng(0).normal(0, 40, VOLUME.shape), -120, 120)).astype(np.int16)
VOLUME[2, 5, 7] = 2000
WHY = "not installed: pip install 'subband[volumes]'"


def read(files):
    return [(path.name, path.read_bytes()) for path in files]


def show(plane):
    """Return shades of Hounsfield units between the black and white that are chosen below."""
    return np.rint(np.clip((plane.astype(float) + 1000) / 3000, 0, 1) * 255)


def test_a_series_is_dropped_and_seen_in_three_planes_and_filtered_in_three_dimensions(studio, write_series, tmp_path):
    settings = {"filter": "none", "format": "raw", "display_window": "-1000:2000"}
    studio.open("sample:camera", **settings)
    studio.drop(read(write_series(tmp_path, VOLUME)))
    studio.page.evaluate("() => { location.hash = location.hash + '&display_window=-1000:2000'; }")
    studio.wait()
    expect(studio.page.locator("#position")).to_have_text("slice 7/12")
    np.testing.assert_allclose(studio.colours()[..., 0], show(VOLUME[6]), atol=1)
    # all three planes, and the cross where it is clicked
    studio.wait_for("() => [...document.querySelectorAll('.plane img')].every(image => image.naturalWidth > 0)")
    sizes = studio.page.evaluate(
        "() => [...document.querySelectorAll('.plane img')].map(i => [i.naturalHeight, i.naturalWidth])"
    )
    assert sizes == [[40, 48], [12, 48], [12, 40]]
    plane = studio.page.locator(".plane").nth(1)
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    # the last slice is on top
    studio.page.mouse.click(box["x"] + 7.5 / 48 * box["width"], box["y"] + 9.5 / 12 * box["height"])
    studio.wait_for("() => document.getElementById('position').textContent === 'slice 3/12'")
    np.testing.assert_allclose(studio.colours()[..., 0], show(VOLUME[2]), atol=1)
    studio.press("Plane", "YZ")
    studio.wait_for("() => window.studio.pixels().width === 40")
    expect(studio.page.locator("#position")).to_have_text("slice 25/48")
    np.testing.assert_allclose(studio.colours()[..., 0], show(VOLUME[::-1, :, 24]), atol=1)
    studio.press("Plane", "XY")
    studio.wait_for("() => window.studio.pixels().width === 48")
    studio.choose("Filter", "Bivariate shrinkage")
    flat = studio.colours()[..., 0]
    studio.page.get_by_label("In three dimensions").check()
    studio.wait()
    deep = studio.colours()[..., 0]
    assert (flat != deep).mean() > 0.2
    level = studio.settings()["level"]
    values = VOLUME.astype(np.float32)
    while level:
        try:
            expected = Enhancer(Denoise(level=level)).apply(values, axes=(0, 1, 2))[6]
            break
        except LevelError:
            level -= 1
    assert np.abs(deep - show(expected)).max() <= 1


def test_a_packed_volume_and_a_store_with_times_and_channels(run_server, open_page, studio, tmp_path):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    zarr = pytest.importorskip("zarr", reason="zarr is not installed: pip install 'subband[dask]'")
    nibabel.save(nibabel.Nifti1Image(VOLUME.transpose(2, 1, 0), np.eye(4)), tmp_path / "head.nii.gz")
    studio.open("sample:camera", filter="none", format="raw")
    studio.drop(read([tmp_path / "head.nii.gz"]))
    expect(studio.page.locator("#position")).to_have_text("slice 7/12")
    times = np.stack([[VOLUME + 100 * channel + 10 * time for channel in range(2)] for time in range(3)])
    group = zarr.create_group(str(tmp_path / "cells.zarr"), zarr_format=3)
    axes = [
        {"name": name, "type": kind} for name, kind in zip("tczyx", ("time", "channel", *["space"] * 3), strict=True)
    ]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [{"path": "0"}]}]}
    group.create_array("0", data=times.astype(np.uint16), chunks=(1, 1, 4, 40, 48))
    with run_server("--no-token", tmp_path / "cells.zarr") as address:
        page = open_page(address=address).open(
            "media:cells.zarr", filter="none", format="raw", display_window="64000:65535"
        )
        for name, number in (("Time", 2), ("Channel", 1), ("Slice", 4)):
            page.page.get_by_role("slider", name=name, exact=True).fill(str(number))
            page.page.wait_for_timeout(100)
        page.wait_for("() => document.getElementById('position').textContent === 'slice 65/72'")
        page.wait()
        stored = times.astype(np.uint16)[2, 1, 4]
        expected = np.rint(np.clip((stored.astype(float) - 64000) / 1535, 0, 1) * 255)
        np.testing.assert_allclose(page.colours()[..., 0], expected, atol=1)
        page.page.close()

"""Zarr stores: arrays of chunks that are read and written region by region, and jobs that are resumed.

A store is written beside its name, with a manifest of the chunks that are finished, and gets its name when all are
there (`StoreDraft`). OME-Zarr says what its axes and levels are (`find_axes`, `describe_multiscales`).
`subband.integrations.dask` computes the chunks.
"""

from __future__ import annotations

from subband.media.stores.drafts import StoreDraft
from subband.media.stores.manifests import Manifest, find_manifest
from subband.media.stores.multiscales import Axis, describe_multiscales, find_axes, guess_axes
from subband.media.stores.regions import (
    RegionReader,
    Target,
    compute_checksum,
    create_group,
    is_zarr,
    open_cached_volume,
)

__all__ = [
    "Axis",
    "Manifest",
    "RegionReader",
    "StoreDraft",
    "Target",
    "compute_checksum",
    "create_group",
    "describe_multiscales",
    "find_axes",
    "find_manifest",
    "guess_axes",
    "is_zarr",
    "open_cached_volume",
]

"""Zarr and OME-Zarr: stores of chunks, which `subband.media.stores` reads and writes."""

from __future__ import annotations

from subband.media.formats.base import Format

__all__ = ["FORMATS"]

FORMATS = (
    Format(
        "Zarr",
        (".zarr",),
        ("volume",),
        about="formats 2 and 3, OME-Zarr too; read chunk by chunk, into Zarr only",
        kept="names and steps of axes",
        extra="dask",
        is_store=True,
    ),
)

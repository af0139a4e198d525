"""Pointwise work on arrays of the host: pixels to planes and back, and shrinking bands in place.

What `subband.engines.pointwise` does on a device: compiled, by several threads, and without arrays in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from subband.engines.cpu.frame_tables import point_to, tabulate_frame
from subband.engines.cpu.inputs import as_readable
from subband.engines.cpu.pointwise_kernels import find_shrink_loop, pass_frame, shrink_images
from subband.engines.cpu.program import THRESHOLDS
from subband.engines.cpu.sweep import run_kernel
from subband.errors import ArgumentError, DtypeError, ShapeError, suggest_names
from subband.typing import Array

__all__ = ["as_pixels", "join_planes", "shrink_band", "shrink_bands", "split_pixels"]

#: The bands of a level that are shrunk, in the order of their values.
_DETAILS = ("ad", "da", "dd")

_MODES = ("soft", "hard", "garrote", "firm")


def split_pixels(pixels: Array, planes: Array, matrix: Array | None = None) -> None:
    """Turn pixels, interleaved, into planes.

    Parameters
    ----------
    pixels : ndarray of uint8 or uint16
        Rows × columns, or rows × columns × 3.
    planes : ndarray of float32
        Channels × rows × columns, C-contiguous; written to.
    matrix : ndarray, optional
        Three by three; turns the three channels of a pixel into planes. Left out, they stay as they are.

    Examples
    --------
    >>> planes = np.empty((3, 1, 2), np.float32)
    >>> split_pixels(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8), planes)
    >>> planes.tolist()
    [[[1.0, 4.0]], [[2.0, 5.0]], [[3.0, 6.0]]]
    """
    _check_planes(planes, pixels)
    _pass(planes, as_pixels(pixels), "split", matrix)


def join_planes(planes: Array, pixels: Array, matrix: Array | None = None) -> None:
    """Turn planes into pixels, rounded and clipped; the inverse of `split_pixels` with the inverse matrix.

    Examples
    --------
    >>> pixels = np.empty((1, 3), np.uint8)
    >>> join_planes(np.array([[[-3.0, 7.5, 300.0]]], np.float32), pixels)
    >>> pixels
    array([[  0,   8, 255]], dtype=uint8)
    """
    _check_planes(planes, pixels)
    goal = pixels if pixels.flags.carray and pixels.dtype.isnative else np.empty(pixels.shape, _native(pixels))
    _pass(as_readable(planes), goal, "join", matrix)
    if goal is not pixels:
        pixels[...] = goal


def shrink_band(band: Array, values: Array, mode: str) -> None:
    """Shrink a band in place.

    Parameters
    ----------
    band : ndarray of float32 or float64
        Channels × rows × columns.
    values : ndarray
        Both thresholds, steepness and gain, as `subband.engines.pointwise.prepare_values` makes them: four numbers, or
        channels × 4.
    mode : {"soft", "hard", "garrote", "firm"}
        The threshold; see `subband.threshold` and `subband.threshold_firm`.

    Raises
    ------
    ArgumentError
        If there is no such mode.
    DtypeError
        If the band holds other numbers.
    ShapeError
        If it has other than three axes, or the values do not belong to its channels.

    Examples
    --------
    >>> from subband.engines.pointwise import prepare_values
    >>> band = np.array([[[-3.0, -1.0, 0.5, 4.0]]])
    >>> shrink_band(band, prepare_values(np.array(2.0), np.array(2.0), np.array(10.0)), "soft")
    >>> band
    array([[[-10.,   0.,   0.,  20.]]])
    """
    if mode not in _MODES:
        hint = suggest_names(mode, _MODES) if isinstance(mode, str) else ""
        raise ArgumentError(f"mode={mode!r} is not a threshold{hint}; use one of {', '.join(_MODES)}")
    if band.dtype.name not in ("float32", "float64"):
        raise DtypeError(f"band has dtype {band.dtype}; only float32 and float64 are shrunk in place")
    if band.ndim != 3:
        raise ShapeError(f"band has shape {band.shape}; it needs channels × rows × columns")
    if np.shape(values) not in ((THRESHOLDS,), (1, THRESHOLDS), (len(band), THRESHOLDS)):
        raise ShapeError(
            f"values has shape {np.shape(values)}; for {len(band)} channels it is (4,) or ({len(band)}, 4): both "
            "thresholds, steepness and gain"
        )
    own = np.ascontiguousarray(np.broadcast_to(values, (len(band), THRESHOLDS)), band.dtype.newbyteorder("="))
    ready = band if band.flags.carray and band.dtype.isnative else np.array(band, own.dtype, order="C")
    run_kernel(shrink_images, (ready, find_shrink_loop(mode, own.dtype.name), own), ready.shape)
    if ready is not band:
        band[...] = ready


def shrink_bands(bands: Mapping[str, Array], values: Array, mode: str) -> None:
    """Shrink the bands ``'ad'``, ``'da'`` and ``'dd'`` of a level in place; others are left alone.

    Parameters
    ----------
    bands : dict of ndarray
        Each as `shrink_band` takes it.
    values : ndarray
        Bands × channels × 4.
    mode : {"soft", "hard", "garrote", "firm"}
        The threshold.

    Examples
    --------
    >>> bands = {key: np.full((1, 1, 1), 5.0) for key in ("aa", "ad", "da", "dd")}
    >>> shrink_bands(bands, np.array([[[1.0, 1.0, 0.0, 1.0]]] * 3), "soft")
    >>> {key: float(band[0, 0, 0]) for key, band in bands.items()}
    {'aa': 5.0, 'ad': 4.0, 'da': 4.0, 'dd': 4.0}
    """
    for key, own in zip(_DETAILS, values, strict=True):
        shrink_band(bands[key], own, mode)


def as_pixels(frame: Array) -> Array:
    """Return a frame as the kernels read it, in the machine's order of bytes; a copy only if need be."""
    return as_readable(frame.astype(_native(frame), copy=False))


def _native(frame: Array) -> np.dtype[np.generic]:
    return frame.dtype.newbyteorder("=")


def _pass(planes: Array, pixels: Array, task: Literal["split", "join"], matrix: Array | None) -> None:
    frame = tabulate_frame(planes.shape, np.eye(3) if matrix is None else matrix)
    ints = point_to(pixels, task, frame.ints)
    run_kernel(pass_frame, (planes, ints, frame.numbers), (1, *planes.shape[1:]))


def _check_planes(planes: Array, pixels: Array) -> None:
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    if planes.dtype != np.float32 or not planes.flags.c_contiguous:
        raise DtypeError(f"planes has dtype {planes.dtype}, or is not C-contiguous; use float32 from numpy.empty")
    if pixels.dtype.name not in ("uint8", "uint16"):
        raise DtypeError(f"pixels has dtype {pixels.dtype}; use uint8 or uint16")
    if channels not in (1, 3) or planes.shape != (channels, *pixels.shape[:2]):
        raise ShapeError(
            f"planes has shape {planes.shape}, and pixels {pixels.shape}; they need channels × rows × columns, and "
            "rows × columns or rows × columns × 3"
        )

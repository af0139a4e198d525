"""Pointwise work on arrays of a device: pixels to planes and back, and shrinking the bands of a level in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from subband.engines.device import Device
from subband.engines.recent import Recent
from subband.kernels.dialects import LANES
from subband.kernels.pointwise import PointwiseSpec, render_pointwise
from subband.typing import Array

__all__ = ["Pointwise", "prepare_values"]

#: The bands of a level that are shrunk, in the order of the kernel's arguments.
_DETAILS = ("ad", "da", "dd")

#: Groups of lanes in one block.
_BLOCK = 8

#: Groups that walk a plane, at most; each then takes several runs.
_MOST_GROUPS = 1 << 16

#: Kernels and tables that are kept.
_MOST = 1024


class Pointwise:
    """The pointwise kernels of one device, and the tables that they read.

    Work goes to the current stream or queue of the device, and nothing is waited for.

    Parameters
    ----------
    device : Device
        Where the arrays are.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kernels = Recent[Any](_MOST, device.is_recording, is_released=False)
        self._tables = Recent[Any](_MOST, device.is_recording)

    def split_pixels(self, pixels: Any, planes: Any, matrix: Sequence[Sequence[float]] = ()) -> None:
        """Turn pixels, interleaved, into planes.

        Parameters
        ----------
        pixels : device array of uint8 or uint16
            Rows × columns × channels.
        planes : device array of float32
            Channels × rows × columns; written to.
        matrix : sequence of sequence of float
            Turns the channels of a pixel into planes; empty if there is one channel, which stays as it is.
        """
        self._change_colour("planes", pixels, planes, matrix)

    def join_planes(self, planes: Any, pixels: Any, matrix: Sequence[Sequence[float]] = ()) -> None:
        """Turn planes into pixels, rounded and clipped; the inverse of `split_pixels` with the inverse matrix."""
        self._change_colour("pixels", pixels, planes, matrix)

    def shrink(self, bands: Mapping[str, Any], values: Any, mode: str) -> None:
        """Shrink the three bands of a level in place.

        Parameters
        ----------
        bands : dict of device arrays
            ``'ad'``, ``'da'`` and ``'dd'``, each channels × rows × columns; others are left alone.
        values : device array
            Of the dtype that the bands are computed in: bands × channels × 4, as `prepare_values` makes it.
        mode : {"none", "soft", "hard", "garrote", "firm"}
            The threshold.
        """
        details = [bands[key] for key in _DETAILS]
        sizes = [prod(band.shape[1:]) for band in details]
        if not any(sizes):
            return
        channels = details[0].shape[0]
        each = self._choose_run(sizes)
        spec = PointwiseSpec("shrink", details[0].dtype.name, each, mode=mode)
        # an empty array has no memory to hand over, and another one in its place is not touched
        there = next(band for band, size in zip(details, sizes, strict=True) if size)
        arguments = [band if size else there for band, size in zip(details, sizes, strict=True)]
        table = self._table(*(size // each for size in sizes), channels)
        self._launch(spec, max(sizes) // each, (channels, 3), (*arguments, table, values))

    def _change_colour(self, task: Any, pixels: Any, planes: Any, matrix: Sequence[Sequence[float]]) -> None:
        count = prod(planes.shape[1:])
        each = self._choose_run([count])
        rows = tuple(tuple(float(weight) for weight in row) for row in matrix)
        spec = PointwiseSpec(task, pixels.dtype.name, each, rows)
        self._launch(spec, count // each, (1, 1), (pixels, planes, self._table(count // each)))

    @staticmethod
    def _choose_run(sizes: Sequence[int]) -> int:
        """Return how many elements a lane takes at a time, so that no run reaches over the end of a plane."""
        return 4 if all(size % 4 == 0 for size in sizes) else 1

    def _launch(self, spec: PointwiseSpec, count: int, others: tuple[int, int], arguments: Sequence[Any]) -> None:
        kernel = self._kernels.find(spec, lambda: self._device.compile(render_pointwise(spec, self._device.dialect)))
        groups = (min(-(-count // LANES), _MOST_GROUPS), *others)
        self._device.launch(kernel, groups, _BLOCK, arguments)

    def _table(self, *numbers: int) -> Any:
        return self._tables.find(numbers, lambda: self._device.upload_table(np.array(numbers, np.int64)))


def prepare_values(low: Array, high: Array, gain: Array) -> Array:
    """Return what `Pointwise.shrink` takes as values: for each band and channel both thresholds, steepness and gain.

    Examples
    --------
    >>> prepare_values(np.array(1.0), np.array(3.0), np.array(2.0)).tolist()
    [1.0, 3.0, 1.5, 2.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steepness = np.where(np.isinf(high), 1, high / (high - low))
    # where both thresholds are the same, nothing lies between them
    steepness = np.where(high == low, 0, steepness)
    return np.stack([low, high, steepness, gain], axis=-1)

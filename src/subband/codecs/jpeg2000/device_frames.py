"""Frames on a device: from interleaved samples to the bands of a tile, and back; and which block lies where in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.colours import find_range
from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.parameters import ComponentSize
from subband.codecs.jpeg2000.picture import choose_dtype
from subband.engines.device_engine import DeviceEngine
from subband.kernels.components import ComponentSpec, render_joining, render_splitting
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["MOST_SAMPLES", "FrameSpec", "FrameTransform", "tabulate_bands"]

#: Samples of a frame whose offsets fit the 32 bits of the tables of kernels.
MOST_SAMPLES = 2**31 - 1

#: Bands of a level, in the order of the standard: HL, LH and HH, vertical direction first.
_KEYS = ("ad", "da", "dd")

#: Groups of a block of threads that convert samples, and pixels that a lane converts.
_BLOCK, _PIXELS = 8, 4


@dataclass(frozen=True)
class FrameSpec:
    """What the frames of a video have in common.

    Attributes
    ----------
    height, width : int
        Rows and columns, of all components alike.
    components : int
        How many there are.
    component : ComponentSize
        Depth and sign of each.
    levels : int
        Of decomposition.
    is_reversible : bool
        5/3 in integers, else 9/7 in float32.
    is_mixed : bool
        Whether the first three components become luma and two differences of colour.
    """

    height: int
    width: int
    components: int
    component: ComponentSize
    levels: int
    is_reversible: bool
    is_mixed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a frame: rows × columns, with components behind if there are several."""
        return (self.height, self.width) + ((self.components,) if self.components > 1 else ())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a frame."""
        return choose_dtype(self.component.precision, self.component.is_signed)

    @property
    def plan(self) -> TransformPlan | None:
        """The transform of all components; None without levels."""
        if not self.levels:
            return None
        wavelet = as_wavelet("cdf53" if self.is_reversible else "cdf97")
        shape = (self.components, self.height, self.width)
        return transform_plan(shape, (1, 2), (wavelet,) * 2, ("whole",) * 2, self.levels, self.is_reversible)


class FrameTransform:
    """Transforms frames of one kind on a device, all components together.

    Parameters
    ----------
    engine : DeviceEngine
        Where.
    spec : FrameSpec
        What frames are.
    """

    def __init__(self, engine: DeviceEngine, spec: FrameSpec) -> None:
        self._engine = engine
        self._spec = spec
        self._plan = spec.plan
        self._dtype = np.dtype(np.int32 if spec.is_reversible else np.float32)
        kernel = ComponentSpec(spec.dtype.name, spec.components, spec.is_reversible, spec.is_mixed)
        self._split = engine.compile_kernel(render_splitting(kernel, engine.device.dialect))
        self._join = engine.compile_kernel(render_joining(kernel, engine.device.dialect))
        pixels = spec.height * spec.width
        self._groups = (max(1, -(-pixels // (32 * _PIXELS))), 1, 1)
        shift, low, high = find_range(spec.component)
        self._count, self._shift = np.int32(pixels), np.int32(shift)
        self._limits = (np.int32(low), np.int32(high))

    @property
    def band_shapes(self) -> list[tuple[int, ...]]:
        """Of the arrays of all bands, each components × rows × columns, by the numbers that the standard gives them."""
        if self._plan is None:
            return [(self._spec.components, self._spec.height, self._spec.width)]
        levels = self._plan.levels
        return [levels[-1].band_shapes["aa"], *(level.band_shapes[key] for level in reversed(levels) for key in _KEYS)]

    def allocate_bands(self) -> list[Any]:
        """Return arrays for all bands."""
        return [self._engine.device.allocate(shape, self._dtype) for shape in self.band_shapes]

    def forward(self, pixels: Any) -> list[Any]:
        """Return the bands of samples that lie on the device."""
        device, spec = self._engine.device, self._spec
        planes = device.allocate((spec.components, spec.height, spec.width), self._dtype)
        device.launch(self._split, self._groups, _BLOCK, (self._count, self._shift, pixels, planes))
        if self._plan is None:
            return [planes]
        low, details = self._engine.forward_all(self._plan, planes)
        return [low, *(bands[key] for bands in details for key in _KEYS)]

    def inverse(self, bands: Sequence[Any], pixels: Any) -> None:
        """Write the samples of bands to an array on the device."""
        planes = bands[0]
        if self._plan is not None:
            details = [dict(zip(_KEYS, bands[k : k + 3], strict=True)) for k in range(1, len(bands), 3)]
            planes = self._engine.inverse_all(self._plan, bands[0], details)
        arguments = (self._count, self._shift, *self._limits, planes, pixels)
        self._engine.device.launch(self._join, self._groups, _BLOCK, arguments)


def tabulate_bands(layout: TileLayout) -> Array:
    """Return, for each block, the array of its band, where in it the block begins, its stride, rows and columns."""
    x0, y0, x1, y1, which = layout.blocks.T
    found = [
        (band.number, band.component * band.rectangle.area, band.rectangle.x0, band.rectangle.y0, band.rectangle.width)
        for band in layout.bands
    ]
    number, start, left, top, stride = np.array(found, np.int64).reshape(-1, 5)[which].T
    offset = start + (y0 - top) * stride + (x0 - left)
    return np.stack([number, offset, stride, y1 - y0, x1 - x0], axis=1).astype(np.int32)

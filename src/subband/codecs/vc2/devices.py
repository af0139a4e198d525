"""The transform and the quantiser of images on a device, in buffers that stay from frame to frame.

Luma and both chroma components are transformed by the sweeps of the device's engine, components of one size together.
Their bands lie in one array, each in one piece, so that a quantiser takes all of them at once and one copy brings them
to the host, where slices are coded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from subband.codecs.vc2.coding import LARGEST, tabulate_quantisers
from subband.codecs.vc2.parameters import Layout, TransformParameters, complete_layout
from subband.codecs.vc2.transform import choose_dtype
from subband.codecs.vc2.wavelets import WAVELETS
from subband.engines import Engine, get_engine
from subband.engines.device import KernelCall, Launches
from subband.engines.device_engine import Chain, DeviceEngine
from subband.errors import ArgumentError
from subband.kernels.quantising import Quantising, render_quantiser
from subband.plan import LevelPlan
from subband.typing import Array, Direction

__all__ = ["DeviceImage", "find_device_engine", "lay_out_bands"]

# Bands begin at multiples of so many bytes, which every device takes for the beginning of an array.
_ALIGNMENT = 512

# Groups of lanes that share a band in a quantiser, and those of a block.
_GROUPS, _BLOCK = 2048, 8


def find_device_engine(engine: str | Engine | None) -> DeviceEngine | None:
    """Return the engine of a device, or None if the CPU is meant, whose loops need no plan."""
    if engine is None:
        return None
    found = get_engine(engine)
    if isinstance(found, DeviceEngine):
        return found
    if found.name == "cpu":
        return None
    raise ArgumentError(f"engine={found.name!r} does not transform VC-2; use 'cpu', 'cuda' or 'opencl'")


@dataclass(frozen=True)
class _Group:
    """Components of the same size and depth, which are transformed together.

    Attributes
    ----------
    components : range
        Which.
    shape : tuple of int
        Their number, and the rows and columns that levels fill an image up to.
    bits : int
        Of a sample.
    levels : tuple of LevelPlan
        The finest first.
    bands : tuple
        In the order of a stream: where the band of the first component begins among all coefficients, and its shape.
    """

    components: range
    shape: tuple[int, int, int]
    bits: int
    levels: tuple[LevelPlan, ...]
    bands: tuple[tuple[int, tuple[int, ...]], ...]


def _plan_levels(shape: tuple[int, int, int], parameters: TransformParameters) -> tuple[LevelPlan, ...]:
    """Return the levels of some images: along the rows, then down the columns; the last ones along the rows only."""
    across, down = WAVELETS[parameters.wavelet_ho], WAVELETS[parameters.wavelet]
    levels: list[LevelPlan] = []
    for number in range(parameters.depth + parameters.depth_ho):
        axes, plans = [2], [across.plan_axis(shape[2], is_row=True)]
        if number < parameters.depth:
            axes.append(1)
            plans.append(down.plan_axis(shape[1], is_row=False))
        levels.append(LevelPlan(shape, tuple(axes), tuple(plans)))
        images, rows, columns = levels[-1].approximation_shape
        shape = images, rows, columns
    return tuple(levels)


def _name_bands(level: LevelPlan) -> tuple[str, ...]:
    """Return the details of a level in the order of a stream: high along the rows, down the columns, and both."""
    return ("da", "ad", "dd") if len(level.axes) == 2 else ("d",)


@lru_cache(maxsize=16)
def lay_out_bands(
    shapes: tuple[tuple[int, int], ...], bits: tuple[int, ...], parameters: TransformParameters
) -> tuple[Layout, tuple[_Group, ...]]:
    """Return where the coefficients lie if every band is in one piece, and which components go together.

    Examples
    --------
    >>> parameters = TransformParameters(1, 1, 1, 0, (1, 1), matrix=(4, 2, 2, 0))
    >>> layout, groups = lay_out_bands(((4, 6), (2, 4), (2, 4)), (8, 8, 8), parameters)
    >>> [group.shape for group in groups], layout.bands[:2].tolist()
    ([(1, 4, 6), (2, 2, 4)], [[0, 0, 3, 2, 3, 4], [0, 128, 3, 2, 3, 2]])
    """
    depth, levels = parameters.depth, parameters.depth + parameters.depth_ho
    step = _ALIGNMENT // choose_dtype(parameters, bits).itemsize
    size, groups = 0, []
    rows: dict[int, list[list[Any]]] = {}
    kinds = list(zip(shapes, bits, strict=True))
    edges = [0, *(k for k in range(1, len(kinds)) if kinds[k] != kinds[k - 1]), len(kinds)]
    for first, last in pairwise(edges):
        (height, width), own_bits = kinds[first]
        shape = last - first, -(-height >> depth) << depth, -(-width >> levels) << levels
        plans = _plan_levels(shape, parameters)
        lowest = plans[-1].approximation_shape if plans else shape
        found = [lowest, *(plan.band_shapes[key] for plan in reversed(plans) for key in _name_bands(plan))]
        bands = []
        for band, entry in zip(found, parameters.matrix, strict=True):
            bands.append((size, band))
            for k, component in enumerate(range(first, last)):
                begin = size + k * band[1] * band[2]
                rows.setdefault(component, []).append([component, begin, band[2], band[1], band[2], entry])
            size += -(-prod(band) // step) * step
        groups.append(_Group(range(first, last), shape, own_bits, plans, tuple(bands)))
    table = [row for component in sorted(rows) for row in rows[component]]
    return complete_layout(size, (), table, parameters), tuple(groups)


class DeviceImage:
    """The samples, coefficients and quantiser steps of an image on a device.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Rows and columns of each component.
    bits : sequence of int
        Of the samples of each.
    parameters : TransformParameters
        Wavelets, levels, slices and quantisation matrix; at least one level.
    engine : str or Engine
        ``"cuda"``, ``"opencl"`` or one of their devices.

    Notes
    -----
    What one method leaves on the device the next one takes: `write`, `analyse`, `quantise`, and `restore`,
    `synthesise`, `read`. Results are those of the CPU, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.vc2 import DeviceImage, Settings
    >>> shapes = (64, 96), (64, 48), (64, 48)
    >>> parameters = Settings(wavelet="legall53", depth=2).make_parameters(shapes)
    >>> image = DeviceImage(shapes, (10, 10, 10), parameters, "opencl")  # doctest: +SKIP
    >>> planes = [np.full(shape, 512, np.uint16) for shape in shapes]
    >>> image.write(planes)  # doctest: +SKIP
    >>> image.analyse()  # doctest: +SKIP
    >>> coefficients = image.read_coefficients()  # doctest: +SKIP
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int]],
        bits: Sequence[int],
        parameters: TransformParameters,
        engine: str | Engine,
    ) -> None:
        found = find_device_engine(engine)
        if found is None:
            raise ArgumentError(f"engine={engine!r} is not a device; use 'cuda' or 'opencl'")
        if not parameters.depth + parameters.depth_ho:
            raise ArgumentError("an image without levels has nothing to transform on a device; use engine='cpu'")
        self.shapes, self.parameters = tuple(shapes), parameters
        self.dtype = choose_dtype(parameters, bits)
        self._device = device = found.device
        self.layout, self._groups = lay_out_bands(self.shapes, tuple(bits), parameters)
        parts = [part for group in self._groups for part in group.bands]
        self._coefficients, made = device.allocate_parts(self.layout.size, self.dtype, parts)
        self._steps = device.allocate((self.layout.size,), self.dtype)
        self._quantisers = device.make_zeros((parameters.slice_count,), np.dtype(np.int32))
        self._sides: list[_Side] = []
        for group in self._groups:
            own, made = made[: len(group.bands)], made[len(group.bands) :]
            self._sides.append(_Side(found, group, own, self.dtype))
        self._quantise, self._restore = (self._prepare(found, work) for work in ("quantise", "restore"))

    def write(self, planes: Sequence[Array]) -> None:
        """Bring samples to the device: rows × columns of each component, of at most the bits that were told."""
        for side in self._sides:
            side.write([planes[component] for component in side.group.components])

    def analyse(self) -> None:
        """Make coefficients of the samples."""
        for side in self._sides:
            side.run("forward")

    def write_quantisers(self, quantisers: Array) -> None:
        """Set the quantiser of each slice for what comes."""
        self._device.write(self._quantisers, np.ascontiguousarray(quantisers, np.int32))

    def quantise(self) -> None:
        """Make quantiser steps of the coefficients."""
        self._quantise([self._coefficients, self._steps, self._quantisers])

    def restore(self) -> None:
        """Make coefficients of the quantiser steps, as a decoder does."""
        self._restore([self._steps, self._coefficients, self._quantisers])

    def synthesise(self) -> None:
        """Make samples of the coefficients."""
        for side in self._sides:
            side.run("inverse")

    def read(self) -> list[Array]:
        """Return the samples of each component."""
        found = [plane for side in self._sides for plane in side.read()]
        return [plane[: shape[0], : shape[1]] for plane, shape in zip(found, self.shapes, strict=True)]

    def read_coefficients(self) -> Array:
        """Return all coefficients; `layout` says where each is, and what is between the bands is anything."""
        return self._device.download(self._coefficients)

    def read_steps(self) -> Array:
        """Return all quantiser steps."""
        return self._device.download(self._steps)

    def write_coefficients(self, values: Array) -> None:
        """Bring coefficients to the device, laid out as `layout` says."""
        self._device.write(self._coefficients, np.ascontiguousarray(values, self.dtype))

    def _prepare(self, engine: DeviceEngine, work: Quantising) -> Launches:
        inverses, factors, offsets = tabulate_quantisers()
        most = LARGEST[self.dtype.name]
        kernel = engine.compile_kernel(render_quantiser(work, self.dtype.name, most, engine.device.dialect))
        down, across = self.parameters.slices
        bands = [[row[1], row[3], row[4], row[5], down, across] for row in self.layout.bands.tolist()]
        numbers = inverses if work == "quantise" else np.concatenate([factors, offsets]).astype(np.int64)
        tables = [self._device.upload_table(table) for table in (np.array(bands, np.int32), numbers)]
        return self._device.join([KernelCall(kernel, (_GROUPS, len(bands), 1), _BLOCK, (0, 1, 2), tuple(tables))])


class _Side:
    """A group of components on a device: their samples, bands, and what lies between the levels."""

    def __init__(self, engine: DeviceEngine, group: _Group, bands: Sequence[Any], dtype: np.dtype[Any]) -> None:
        self.group, self._device = group, engine.device
        kind = np.dtype(np.uint8 if group.bits <= 8 else np.uint16)
        self._staging = np.empty(group.shape, kind)
        self._samples = engine.device.allocate(group.shape, kind)
        # the low coefficients between levels, the finest first, and the lowest band behind them
        lows = [engine.device.allocate(level.approximation_shape, dtype) for level in group.levels[:-1]]
        lows.append(bands[0])
        details: list[dict[str, Any]] = []
        rest = iter(bands[1:])
        for level in reversed(group.levels):
            details.insert(0, {key: next(rest) for key in _name_bands(level)})
        names = [[key for key in level.band_shapes if "d" in key] for level in group.levels]
        own = [[found[key] for key in keys] for found, keys in zip(details, names, strict=True)]
        forward = [self._samples]
        for low, found in zip(lows, own, strict=True):
            forward += [low, *found]
        inverse = [bands[0], *(band for found in reversed(own) for band in found), *lows[-2::-1], self._samples]
        self._arrays = {"forward": forward, "inverse": inverse}
        self._chains = {way: _find_chain(engine, group, way, dtype) for way in ("forward", "inverse")}

    def run(self, direction: Direction) -> None:
        """Run all levels."""
        self._chains[direction].launch(self._arrays[direction])

    def write(self, planes: Sequence[Array]) -> None:
        """Bring samples to the device, the last row and column repeated to fill up the images."""
        for image, plane in zip(self._staging, planes, strict=True):
            rows, columns = plane.shape
            image[:rows, :columns] = plane
            image[:rows, columns:] = plane[:, -1:]
            image[rows:] = image[rows - 1]
        self._device.write(self._samples, self._staging)

    def read(self) -> list[Array]:
        """Return the samples."""
        return [*self._device.download(self._samples)]


def _find_chain(engine: DeviceEngine, group: _Group, direction: Direction, dtype: np.dtype[Any]) -> Chain:
    chain = engine.find_chain(group.levels, direction, dtype, True, f"centred{group.bits}")
    assert chain is not None, "the axes of a level of VC-2 go together on every device"
    return chain

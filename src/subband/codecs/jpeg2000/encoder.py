"""From components to a codestream: transform, quantise, code blocks, choose passes, write packets.

What a lossy file leaves out is decided at the end, over all blocks of the image at once. How fine the quantiser is
comes first: just fine enough for what is asked, because passes that are coded only to be left out take time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from subband.codecs.jpeg2000.coding import BlockSource, Coded, Observe, Times
from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import MOST_TILES, count_tiles
from subband.codecs.jpeg2000.layouts import lay_out_tiles
from subband.codecs.jpeg2000.packing import Packer
from subband.codecs.jpeg2000.parameters import HIGH_THROUGHPUT_STREAM, CodingDefault, ComponentSize, ImageSize
from subband.codecs.jpeg2000.rate_control import Target, allocate_passes, trace_curves
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.single_layer import SingleLayerPacker
from subband.codecs.jpeg2000.steps import Quantiser
from subband.codecs.jpeg2000.streams import StreamWriter
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["Encoder"]

# Steps as parts of the range of samples: the usual one, and the finest that is tried for a large target.
_USUAL, _FINEST = 1 / 512, 1 / 16384
# Bytes that the blocks should take before passes are left out, as a multiple of those that are wanted, and how fast the
# step falls where they take fewer.
_EXCESS, _FALL = 1.15, 0.9
# How much of the error that is allowed the quantiser uses up before passes are left out.
_LEAST_LOSS, _MOST_LOSS = 0.75, 0.92
# How often a step is tried for a size in high-throughput blocks, and how near to the size it must come.
_STEPS, _STEP_TOLERANCE = 8, 0.05
# How often a PSNR is aimed at, how often if it was not met, and by how much the error may stay below what is allowed.
_ATTEMPTS, _MOST_ATTEMPTS, _NEAR_ENOUGH, _HT_NEAR_ENOUGH = 4, 12, 1.02, 1.06
# Layers that all decoders read.
_READABLE_LAYERS = 255
# Bytes, as a part of those of the samples, from which on a lossy file may be larger than one that loses nothing.
_LARGE = 0.35


@dataclass
class Encoder:
    """Encodes one image.

    Parameters
    ----------
    components : sequence of Component
        The image.
    shape : (int, int)
        Its rows and columns on the reference grid.
    settings : Settings
        How; checked here.
    engine : str, optional
        Which engine transforms; the one of the process by default.
    on_progress : callable, optional
        Called with the part of the work that is done, from 0 to 1.

    Examples
    --------
    >>> component = Component(np.arange(64, dtype=np.uint8).reshape(8, 8), 8)
    >>> Encoder([component], (8, 8), Settings()).encode()[:4].hex()
    'ff4fff51'
    """

    components: Sequence[Component]
    shape: tuple[int, int]
    settings: Settings
    engine: str | None = None
    on_progress: Observe | None = None
    times: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        self.settings.check()
        self._size = self._make_size()
        self._is_mixed = self._choose_mixing()
        tile = (min(self._size.tile_height, self.shape[0]), min(self._size.tile_width, self.shape[1]))
        steps = [(component.dy, component.dx) for component in self.components]
        least = [min(-(-tile[axis] // step[axis]) for step in steps) for axis in (0, 1)]
        self.levels = self.settings.choose_levels(*least)
        style = self.settings.make_style(self.levels)
        self._check_tiles()
        with self.times.measure("packets"):
            self._layouts = lay_out_tiles(self._size, [style] * len(self.components))
        coding = CodingDefault(
            self.settings.order, self._count_layers(), self._is_mixed, style, self.settings.sop, self.settings.eph
        )
        self._writer = StreamWriter(self._size, coding, self._layouts, self.settings)
        self._source = BlockSource(
            self._size, self.components, self._layouts, self.levels, self._is_mixed, self.settings, self.engine,
            self.on_progress, self.times,
        )  # fmt: skip

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return len(self._layouts)

    @property
    def part_count(self) -> int:
        """Number of parts of each tile."""
        return self.levels + 1 if self.settings.tile_parts else 1

    def encode(self, around: int = 0) -> bytes:
        """Return the codestream.

        Parameters
        ----------
        around : int
            Bytes of the file outside the codestream, which count for targets of size.
        """
        if self._count_layers() > _READABLE_LAYERS:
            warn(f"{self._count_layers()} layers are written; FFmpeg, for one, reads {_READABLE_LAYERS} at most")
        stream = self._encode(around)
        if self._may_exceed_lossless(len(stream)):
            settings = replace(
                self.settings, rate=None, size=None, psnr=None, lossless=True, layers=self._count_layers()
            )
            whole = replace(self, settings=settings, on_progress=None).encode(around)
            # what loses nothing meets every target that is as large
            stream = min(whole, stream, key=len)
        self._tell(1.0)
        return stream

    def _may_exceed_lossless(self, length: int) -> bool:
        """Return whether a stream may be larger than one that loses nothing, which would then be the better one."""
        settings = self.settings
        if settings.lossless is not None or not settings.has_target or settings.step is not None:
            return False
        if settings.ht and self._count_layers() > 1:
            return False
        raw = sum(component.samples.size * component.precision for component in self.components) / 8
        return length > _LARGE * raw

    def _encode(self, around: int) -> bytes:
        coded, quantiser = self._code_image()
        best, ratio = self._write(coded, quantiser, around)
        is_met = ratio >= 1
        for _ in range(_ATTEMPTS if self.settings.ht and self.settings.step is None else 0):
            if 1 <= ratio < _HT_NEAR_ENOUGH:
                break
            # where there are no passes to add or to leave out, the step is what is aimed with; errors grow more slowly
            # than its square where most coefficients vanish
            quantiser = replace(quantiser, base=float(np.clip(0.99 * ratio**0.7 * quantiser.base, 2.0**-20, 1 / 2)))
            stream, ratio = self._write(self._source.code(quantiser), quantiser, around)
            if ratio >= 1 or not is_met:
                best, is_met = stream, ratio >= 1
        can_be_finer = self.settings.step is None and not quantiser.is_reversible
        for _ in range(_ATTEMPTS if can_be_finer and not is_met else 0):
            # with all passes, what is lost is lost by the quantiser: where samples use a small part of their range, its
            # step can be larger than most coefficients, and says little about their error
            quantiser = replace(quantiser, base=quantiser.base / 2)
            best, ratio = self._write(self._source.code(quantiser), quantiser, around)
            if ratio >= 1:
                break
        return best

    def encode_header(self, rows: tuple[int, int, int], guard_bits: int) -> bytes:
        """Return what stands before the tiles of an image of which this is a part.

        Parameters
        ----------
        rows : (int, int, int)
            Where that image begins and ends on the grid, and where its first tile begins.
        guard_bits : int
            Those of `encode_tiles`.
        """
        size = replace(self._size, y0=rows[0], y1=rows[1], tile_y0=rows[2])
        return replace(self._writer, size=size).write_header(self._make_quantiser(), guard_bits)

    def encode_tiles(self, first: int, guard_bits: int) -> tuple[bytes, list[int]]:
        """Return the tiles alone, numbered from `first` on, and the bytes of each of their parts.

        Nothing that is decided over the whole image may be asked for: no rate, size or PSNR.
        """
        coded = self._source.code(self._make_quantiser())
        if coded.guard_bits > guard_bits:
            raise ArgumentError(
                f"step={self.settings.step} leaves {coded.guard_bits - guard_bits} bits too many; use a larger one"
            )
        packer = self._make_packer(coded, guard_bits)
        kept = self._choose_passes(coded, packer, 0, 1.0)
        return self._writer.write_tiles(packer, kept, range(first, first + len(self._layouts)))

    def encode_tile_lengths(self, lengths: Sequence[int]) -> bytes:
        """Return what stands between header and tiles: the bytes of each part of all tiles, if they are wanted."""
        return self._writer.write_tile_lengths(lengths, [number // self.part_count for number in range(len(lengths))])

    def _make_quantiser(self) -> Quantiser:
        quantiser = Quantiser(self.components, self.levels, self.settings.is_reversible, self._is_mixed, _USUAL)
        return quantiser if quantiser.is_reversible else replace(quantiser, base=self._choose_base(quantiser))

    def _write(self, coded: Coded, quantiser: Quantiser, around: int) -> tuple[bytes, float]:
        """Return the stream of coded blocks, and the error that a PSNR allows as a multiple of what it has."""
        guard_bits = max(2, coded.guard_bits)
        with self.times.measure("packets"):
            packer = self._make_packer(coded, guard_bits)
        if guard_bits > 7:
            raise ArgumentError(f"step={self.settings.step} leaves {guard_bits - 7} bits too many; use a larger one")
        header = self._writer.write_header(quantiser, guard_bits, coded.shift)
        return self._assemble(coded, packer, header, around)

    def _make_packer(self, coded: Coded, guard_bits: int) -> Packer:
        blocks = coded.blocks
        first_planes = self.settings.ht_passes[0] if self.settings.ht else blocks.planes - 1
        zero_planes = (guard_bits + coded.exponents - 2 - first_planes).astype(np.int32)
        is_plain = self.settings.ht and blocks.ends.shape[1] == 1 and self._keeps_all
        return (SingleLayerPacker if is_plain else Packer).from_layouts(
            self._layouts, zero_planes, blocks.ends, blocks.data, blocks.starts, self.settings.style_bits,
            sop=self.settings.sop, eph=self.settings.eph,
        )  # fmt: skip

    def _assemble(self, coded: Coded, packer: Packer, header: bytes, around: int) -> tuple[bytes, float]:
        """Choose passes and write the stream; a PSNR is measured, and aimed at anew if it is not met."""
        kind, values = self.settings.targets
        correction = 1.0
        best: bytes | None = None
        ratio = 1.0
        for attempt in range(_MOST_ATTEMPTS):
            if attempt >= _ATTEMPTS and best is not None:
                break
            with self.times.measure("rate"):
                kept = self._choose_passes(coded, packer, len(header) + around, correction)
            with self.times.measure("packets"):
                stream = self._writer.write(header, packer, kept)
            if kind != "psnr":
                return stream, ratio
            with self.times.measure("rate"):
                measured = self._measure_error(stream)
            # bands are not quite orthogonal, so that the sum of their errors is not quite that of the image
            ratio = self._allow_error(values[-1], rounds=False) / measured if measured else 1.0
            if ratio >= 1:
                best = stream
                if ratio < _NEAR_ENOUGH:
                    break
            if self.settings.ht and self.settings.ht_passes[1] == 1:
                return stream, ratio
            correction *= ratio * (0.998 if attempt < _ATTEMPTS else 0.98)
        return (stream, ratio) if best is None else (best, 1.0)

    def _make_size(self) -> ImageSize:
        settings = self.settings
        (y0, x0), (tile_y0, tile_x0) = settings.origin, settings.tile_origin
        y1, x1 = y0 + self.shape[0], x0 + self.shape[1]
        if max(x1, y1) >= 2**32:
            raise ArgumentError(f"origin={settings.origin} leaves the grid of 32 bits; use a smaller one")
        height, width = settings.tile or (y1 - tile_y0, x1 - tile_x0)
        if tile_y0 + height <= y0 or tile_x0 + width <= x0:
            raise ArgumentError(
                f"tile_origin={settings.tile_origin} with tile={settings.tile} leaves the first tile empty; "
                f"it must reach beyond origin={settings.origin}"
            )
        sizes = tuple(ComponentSize(each.precision, each.is_signed, each.dx, each.dy) for each in self.components)
        return ImageSize(
            x1, y1, x0, y0, width, height, tile_x0, tile_y0, sizes, HIGH_THROUGHPUT_STREAM if settings.ht else 0
        )

    def _check_tiles(self) -> None:
        wide, high = count_tiles(self._size)
        if wide * high > MOST_TILES:
            raise ArgumentError(f"tile={self.settings.tile} makes {wide * high} tiles; there may be {MOST_TILES}")

    def _choose_mixing(self) -> bool:
        """Decide whether the first three components are mixed, which they can be if they are alike."""
        first = self._size.components[:3]
        can = len(first) == 3 and len(set(first)) == 1
        if self.settings.colour is None:
            return can and len(self.components) in (3, 4)
        if self.settings.colour and not can:
            raise ArgumentError("colour=True needs three components of one size and depth; leave it out")
        return self.settings.colour

    def _count_layers(self) -> int:
        return self.settings.layers or max(1, len(self.settings.targets[1]))

    def _tell(self, part: float) -> None:
        if self.on_progress is not None:
            self.on_progress(part)

    def _code_image(self) -> tuple[Coded, Quantiser]:
        """Code all blocks, with steps that suit what is asked for."""
        quantiser = self._make_quantiser()
        while True:
            coded = self._source.code(quantiser)
            excess = self._measure_excess(coded)
            is_final = quantiser.is_reversible or self.settings.step is not None or quantiser.base <= _FINEST
            if is_final or excess is None or excess >= 0.99:
                return coded, quantiser
            base = quantiser.base * min(0.8, (excess / _EXCESS) ** _FALL)
            quantiser = replace(quantiser, base=max(base, _FINEST))

    def _choose_base(self, quantiser: Quantiser) -> float:
        """Return the step, as a part of the range, that is fine enough for what is asked and no finer."""
        kind, values = self.settings.targets
        if self.settings.step is not None:
            return self.settings.step / (self.components[0].peak + 1.0)
        if kind == "psnr":
            return self._match_error(quantiser, self._allow_error(values[-1]))
        if kind and self.settings.ht:
            return self._match_ht_size(quantiser, self._convert_sizes()[-1])
        if not kind or not self._source.is_sampled or self.settings.roi is not None:
            # a region of interest may get nearly all of the bytes
            return _USUAL
        return self._match_size(quantiser, self._convert_sizes()[-1])

    def _match_size(self, quantiser: Quantiser, size: float) -> float:
        """Code a few blocks, and see with which steps they would take a little more than their share of the bytes."""
        blocks, share = self._source.sample(quantiser)
        wanted = _EXCESS * size * share
        # without the last bit planes, blocks are what they would be with steps twice, four times, ... as large
        most = int(blocks.planes.max(initial=0))
        left = np.maximum(blocks.planes - np.arange(most + 1)[:, None], 0)
        if not most:
            return quantiser.base
        ends = np.take_along_axis(blocks.ends.T, np.maximum(3 * left - 3, 0), axis=0)
        sizes = np.where(left > 0, ends, 0).sum(axis=1)
        if sizes[0] <= wanted:
            return float(max(_FINEST, quantiser.base * (float(sizes[0]) / wanted) ** _FALL))
        doublings = np.interp(-np.log(wanted), -np.log(np.maximum(sizes, 1.0)), np.arange(most + 1))
        return float(min(quantiser.base * 2**doublings, 1 / 8))

    def _match_ht_size(self, quantiser: Quantiser, size: float) -> float:
        """Code a few blocks with one step after the other until they take a little more than their share."""
        base = quantiser.base
        for _ in range(_STEPS):
            blocks, share = self._source.sample(replace(quantiser, base=base))
            ratio = float(blocks.ends.max(axis=1, initial=0).sum()) / (_EXCESS * size * share)
            if abs(ratio - 1) < _STEP_TOLERANCE or not 2**-20 < base < 1 / 2:
                break
            base *= min(max(ratio, 1 / 16), 16.0)
        return float(np.clip(base, _FINEST, 1 / 2))

    def _match_error(self, quantiser: Quantiser, allowed: float) -> float:
        """Return the step that alone uses up most of the error that is allowed, so that few passes are left out."""
        total = sum(component.samples.size for component in self.components)
        # a uniform quantiser leaves a twelfth of its squared step
        base = sqrt(12 * allowed / total) / (self.components[0].peak + 1.0)
        error = 0.0
        for _ in range(8):
            base = float(np.clip(base, 2.0**-20, 1 / 2))
            error = self._source.measure_loss(replace(quantiser, base=base))
            if error <= 0 or _LEAST_LOSS * allowed <= error <= _MOST_LOSS * allowed:
                break
            base *= sqrt(0.5 * (_LEAST_LOSS + _MOST_LOSS) * allowed / error)
        return base if error <= allowed else base / 2

    def _measure_excess(self, coded: Coded) -> float | None:
        """Return the bytes of all passes as a multiple of those that are wanted; None if none are asked for."""
        if self.settings.targets[0] not in ("rate", "size"):
            return None
        return float(coded.blocks.ends.max(axis=1, initial=0).sum()) / self._convert_sizes()[-1]

    def _convert_sizes(self) -> list[float]:
        """Return the targets of rate or size in bytes of the file."""
        kind, values = self.settings.targets
        factor = self.shape[0] * self.shape[1] / 8 if kind == "rate" else 1.0
        sizes = [value * factor for value in values]
        if self.settings.layers and len(sizes) == 1:
            sizes = [sizes[0] / 2**number for number in reversed(range(self.settings.layers))]
        return sizes

    def _measure_error(self, stream: bytes) -> float:
        """Return the squared error of the decoded stream, in grey levels of the first component."""
        from subband.codecs.jpeg2000.decoder import decode

        total = sum(component.samples.size for component in self.components)
        error = 0.0
        for component, plane in zip(self.components, decode(stream, most_pixels=total).planes, strict=True):
            distance = np.subtract(plane, component.samples, dtype=np.float32).ravel()
            error += float(np.dot(distance, distance)) * (self.components[0].peak / component.peak) ** 2
        return error

    def _allow_error(self, psnr: float, *, rounds: bool = True) -> float:
        """Return the squared error over all samples that a ratio allows, before they are rounded or after."""
        mean = self.components[0].peak ** 2 / 10 ** (psnr / 10)
        if rounds and not self.settings.is_reversible:
            # samples are rounded at the end, which adds a twelfth as long as the error is not much smaller
            mean = max(mean - 1 / 12, mean / 2)
        return mean * sum(component.samples.size for component in self.components)

    @property
    def _keeps_all(self) -> bool:
        """Whether all passes are kept, in one layer."""
        has_choice = self.settings.has_target and not (self.settings.ht and self.settings.ht_passes[1] == 1)
        return self._count_layers() == 1 and not has_choice

    def _choose_passes(self, coded: Coded, packer: Packer, before: int, correction: float) -> Array:
        """Return the passes that each layer keeps; errors that are allowed are multiplied by the correction."""
        blocks = coded.blocks
        layers = self._count_layers()
        kind, values = self.settings.targets
        if self._keeps_all:
            return blocks.passes[None]

        def measure(kept: Array) -> int:
            return self._writer.measure(before, packer.measure(kept))

        if kind == "psnr":
            ratios = values if len(values) > 1 else [values[0] - 3 * number for number in reversed(range(layers))]
            targets = [Target(error=self._allow_error(ratio) * correction) for ratio in ratios]
        elif kind:
            sizes = self._convert_sizes()
            empty = measure(np.zeros((layers, len(blocks.passes)), blocks.passes.dtype))
            if kind == "size" and empty > sizes[-1]:
                raise ArgumentError(
                    f"size={values[-1]:g} is too small, for headers alone take {empty} bytes; allow more"
                )
            # even packets without anything take room, which the layers before must leave
            least = len(packer.precincts) * (1 + 6 * self.settings.sop + 2 * self.settings.eph)
            room = [sizes[-1] - least * number for number in reversed(range(len(sizes)))]
            targets = [Target(size=int(min(pair))) for pair in zip(sizes, room, strict=True)]
        else:
            whole = measure(blocks.passes[None])
            targets = [Target(size=whole >> number) for number in range(layers - 1, 0, -1)] + [Target()]
        curves = trace_curves(blocks.passes, blocks.ends, blocks.gains, coded.weights)
        return allocate_passes(curves, targets, coded.error, measure)

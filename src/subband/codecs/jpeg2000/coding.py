"""From samples to coded blocks, batch by batch of tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from subband.codecs.jpeg2000.blocks import EncodedBlocks, encode_blocks
from subband.codecs.jpeg2000.coefficients import TileBands, measure_loss, quantise_tiles, sample_blocks, transform_tiles
from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.layouts import find_kinds
from subband.codecs.jpeg2000.parameters import ImageSize
from subband.codecs.jpeg2000.quantisation import quantise
from subband.codecs.jpeg2000.regions import find_shift, raise_regions
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.steps import Quantiser
from subband.typing import Array

__all__ = ["BlockSource", "Coded", "Times", "join_blocks"]

#: Called with the part of the work that is done, from 0 to 1.
Observe = Callable[[float], None]

# Samples that are transformed and coded together.
_BATCH = 2**25
# Blocks that the block coder takes at once while somebody watches.
_WATCHED = 256
# One block in so many is a sample of all, but not fewer than these.
_SAMPLED, _FEWEST = 16, 24


@dataclass
class Times:
    """Seconds that the parts of the work took."""

    transform: float = 0.0
    blocks: float = 0.0
    rate: float = 0.0
    packets: float = 0.0

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add what the block takes to a part."""
        begin = perf_counter()
        try:
            yield
        finally:
            setattr(self, part, getattr(self, part) + perf_counter() - begin)


@dataclass(frozen=True, eq=False)
class Coded:
    """All blocks of an image, coded.

    Attributes
    ----------
    blocks : EncodedBlocks
        In the order of tiles.
    weights : ndarray of float64
        What a squared error of one step in each block means in the image.
    exponents : ndarray of int32
        Those of the steps of each block's band.
    error : float
        The squared error that quantising alone leaves, if it was asked for.
    shift : int
        By how many bits regions of interest are shifted; the exponents have it too.
    """

    blocks: EncodedBlocks
    weights: Array
    exponents: Array
    error: float
    shift: int = 0

    @property
    def guard_bits(self) -> int:
        """How many bits blocks need beyond those of their steps, and one."""
        return int((self.blocks.planes - self.exponents + 1).max(initial=0))


@dataclass(eq=False)
class BlockSource:
    """Transforms an image, and codes its blocks as often as other steps are tried.

    An image of one batch keeps its coefficients; of more, they are computed again.

    Parameters
    ----------
    size : ImageSize
        The grid.
    components : sequence of Component
        The image.
    layouts : sequence of TileLayout
        Its tiles.
    levels : int
        Of decomposition.
    is_mixed : bool
        Whether the first three components become luminance and differences.
    settings : Settings
        How blocks are coded.
    engine : str, optional
        Which engine transforms.
    on_progress : callable, optional
        Called with the part of the work that is done, from 0 to 1.
    times : Times
        Takes what the parts take.
    """

    size: ImageSize
    components: Sequence[Component]
    layouts: Sequence[TileLayout]
    levels: int
    is_mixed: bool
    settings: Settings
    engine: str | None = None
    on_progress: Observe | None = None
    times: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        self._batches = self._group_tiles()
        self._known: list[TileBands] | None = None

    @property
    def is_sampled(self) -> bool:
        """Whether there are blocks enough that a few of them can stand for all."""
        return sum(len(layout.blocks) for layout in self.layouts) >= _FEWEST

    def code(self, quantiser: Quantiser) -> Coded:
        """Code all blocks."""
        found, weights, exponents = [], [], []
        error = 0.0
        shift = self._find_shift(quantiser)
        for number, layouts in enumerate(self._batches):
            tiles = self._transform(layouts)
            with self.times.measure("transform"):
                samples, table = quantise_tiles(tiles, quantiser)
                if shift:
                    raise_regions(
                        samples, table, self.size, layouts, self.settings.regions, shift,
                        is_reversible=self.settings.is_reversible,
                    )  # fmt: skip
                if self.settings.psnr is not None:
                    error += measure_loss(tiles, quantiser)
            with self.times.measure("blocks"):
                found.append(self._code_blocks(samples, table, number, len(self._batches)))
            kinds, which = find_kinds(layouts)
            known = [self._weigh_blocks(layout, quantiser, shift) for layout in kinds]
            weights += [known[kind][0] for kind in which]
            exponents += [known[kind][1] for kind in which]
        return Coded(join_blocks(found), np.concatenate(weights), np.concatenate(exponents), error, shift)

    def _weigh_blocks(self, layout: TileLayout, quantiser: Quantiser, shift: int) -> tuple[Array, Array]:
        """Return the weights of the blocks of a tile, and their exponents."""
        band = layout.blocks[:, 4]
        steps = [quantiser.steps[band.component][band.number].exponent + shift for band in layout.bands]
        weights = np.array([quantiser.weigh(band) for band in layout.bands])
        return weights[band], np.array(steps, np.int32)[band]

    def _find_shift(self, quantiser: Quantiser) -> int:
        """Return by how many bits regions of interest have to be shifted to be larger than all else."""
        if not self.settings.regions:
            return 0
        largest = 0
        for layouts in self._batches:
            samples, _ = quantise_tiles(self._transform(layouts), quantiser)
            largest = max(largest, int(samples.max(initial=0)), -int(samples.min(initial=0)))
        return find_shift(largest)

    def measure_loss(self, quantiser: Quantiser) -> float:
        """Return the squared error that quantising alone leaves."""
        error = 0.0
        for layouts in self._batches:
            tiles = self._transform(layouts)
            with self.times.measure("transform"):
                error += measure_loss(tiles, quantiser)
        return error

    def sample(self, quantiser: Quantiser) -> tuple[EncodedBlocks, float]:
        """Code a few blocks; return them, and which part of all samples they hold."""
        # of many tiles, a few from all over the image
        spread = max(1, len(self.layouts) // _SAMPLED)
        layouts = self.layouts if len(self._batches) == 1 else self.layouts[spread // 2 :: spread]
        tiles = self._transform(layouts)
        count = sum(len(layout.blocks) for layout in layouts)
        with self.times.measure("transform"):
            values, table = sample_blocks(tiles, quantiser, max(1, min(_SAMPLED, count // _FEWEST)))
            samples = np.empty(len(values), np.int32)
            quantise(values[None], 1.0, samples)
        with self.times.measure("blocks"):
            blocks = encode_blocks(samples, table, self.settings.style_bits, False, *self.settings.ht_passes)
        return blocks, len(values) / sum(component.samples.size for component in self.components)

    def _group_tiles(self) -> list[list[TileLayout]]:
        batches: list[list[TileLayout]] = []
        room = 0
        kinds, which = find_kinds(self.layouts)
        areas = [layout.samples for layout in kinds]
        for layout, kind in zip(self.layouts, which, strict=True):
            area = areas[kind]
            if room < area or not batches:
                batches.append([])
                room = _BATCH
            batches[-1].append(layout)
            room -= area
        return batches

    def _transform(self, layouts: Sequence[TileLayout]) -> list[TileBands]:
        if self._known is not None and len(layouts) == len(self.layouts):
            return self._known
        with self.times.measure("transform"):
            tiles = transform_tiles(
                self.size,
                self.components,
                layouts,
                self.levels,
                is_reversible=self.settings.is_reversible,
                is_mixed=self.is_mixed,
                engine=self.engine,
            )
        if len(layouts) == len(self.layouts):
            self._known = tiles
        return tiles

    def _code_blocks(self, samples: Array, table: Array, number: int, count: int) -> EncodedBlocks:
        options = (self.settings.style_bits, self.settings.is_reversible, *self.settings.ht_passes)
        if self.on_progress is None:
            return encode_blocks(samples, table, *options)
        found = []
        for first in range(0, max(len(table), 1), _WATCHED):
            self.on_progress((number + first / max(len(table), 1)) / count)
            found.append(encode_blocks(samples, table[first : first + _WATCHED], *options))
        return join_blocks(found)


def join_blocks(found: Sequence[EncodedBlocks]) -> EncodedBlocks:
    """Put the blocks of several batches in a row."""
    if len(found) == 1:
        return found[0]
    most = max(each.ends.shape[1] for each in found)
    firsts = np.cumsum([0, *(len(each.data) for each in found)])

    def widen(values: Array) -> Array:
        return np.pad(values, ((0, 0), (0, most - values.shape[1])), mode="edge" if values.shape[1] else "constant")

    return EncodedBlocks(
        np.concatenate([each.data for each in found]),
        np.concatenate([each.starts + first for each, first in zip(found, firsts, strict=False)]),
        np.concatenate([each.planes for each in found]),
        np.concatenate([each.passes for each in found]),
        np.concatenate([widen(each.ends) for each in found]),
        np.concatenate([widen(each.gains) for each in found]),
    )

"""High-throughput code-blocks coded on a device: the tables, buffers and launches of the kernels.

Blocks of one layout are coded again and again, frame after frame, so that everything is prepared once. What runs is
queued on the current stream; nothing here waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.blocks.loops.ht_tables import (
    MEL_EXPONENTS,
    OFFSET_CODES,
    QUAD_CODES,
    QUAD_WORDS,
    READ_OFFSETS,
)
from subband.engines.device_engine import DeviceEngine
from subband.kernels.ht_blocks import BLOCK_COLUMNS, BlockSpec
from subband.kernels.ht_decoding import SPAN_COLUMNS, render_decoding
from subband.kernels.ht_encoding import SIZE_COLUMNS, SUFFIX, render_encoding, render_gathering, render_placing
from subband.typing import Array

__all__ = ["BlockDecoder", "BlockEncoder"]

#: Lanes of a group that code a block each, on a GPU; on other devices lanes run one after the other, and all are used.
_BUSY_ENCODING, _BUSY_DECODING = 4, 4

#: Local memory that every device has for a group.
_LOCAL_BYTES = 32 * 1024

#: Groups of a block of threads that gather bytes.
_GATHER_BLOCK = 8


def _choose_spec(
    engine: DeviceEngine, table: Array, bands: int, is_reversible: bool, lanes: int | None, usual: int
) -> BlockSpec:
    """Return the parameters of a kernel, with as many busy lanes as local memory has room for."""
    busy = lanes or (usual if engine.device.is_gpu else 32)
    spec = BlockSpec(bands, int(table[:, 4].max(initial=1)), busy, is_reversible)
    while spec.local_bytes > _LOCAL_BYTES:
        spec = replace(spec, lanes=spec.lanes // 2)
    return spec


@lru_cache(maxsize=1)
def _join_tables() -> tuple[Array, Array, Array, Array]:
    """Return the tables of codewords and of offsets, to write and to read with."""
    writing = np.concatenate([OFFSET_CODES, MEL_EXPONENTS]).astype(np.int32)
    reading = np.concatenate([READ_OFFSETS, MEL_EXPONENTS]).astype(np.int32)
    return QUAD_CODES, writing, QUAD_WORDS, reading


class BlockEncoder:
    """Encodes the blocks of one layout.

    Parameters
    ----------
    engine : DeviceEngine
        Where.
    table : ndarray of int32, shape (n, 5)
        `subband.kernels.ht_blocks.BLOCK_COLUMNS` of each block.
    scales : ndarray of float32, shape (n,)
        What the coefficients of each block are multiplied by before they are cut to whole numbers.
    bands : int
        Arrays in which coefficients lie.
    is_reversible : bool
        Whether they are int32, which are not multiplied; else float32.
    most_bits : int
        That magnitudes are expected to have.
    lanes : int, optional
        Busy lanes of a group; chosen by the device if left out.

    Attributes
    ----------
    room, most : int
        Bytes of a block that fit before they are gathered, and of all blocks.
    data : device array of uint8
        The bytes of all blocks.
    """

    def __init__(
        self, engine: DeviceEngine, table: Array, scales: Array, bands: int, is_reversible: bool, most_bits: int,
        lanes: int | None = None,
    ) -> None:  # fmt: skip
        assert table.shape[1] == len(BLOCK_COLUMNS)
        device = engine.device
        self._device = device
        self.count = len(table)
        spec = _choose_spec(engine, table, bands, is_reversible, lanes, _BUSY_ENCODING)
        self._kernel = engine.compile_kernel(render_encoding(spec, device.dialect))
        self._placing = engine.compile_kernel(render_placing(device.dialect))
        self._gathering = engine.compile_kernel(render_gathering(device.dialect))
        # a sample takes a bit more than its magnitude has, and one in fifteen bytes may be lost to stuffing
        area = int((table[:, 3].astype(np.int64) * table[:, 4]).max(initial=1))
        self.room = SUFFIX + 16 * (area * (most_bits + 1) // (7 * 16) + 2)
        self.most = min(self.count * self.room, 2**31 - 1)
        self._groups = (-(-self.count // spec.lanes), 1, 1)
        codes, offsets, _, _ = _join_tables()
        self._tables = [device.upload_table(each) for each in (table.ravel(), scales, codes, offsets)]
        self._rooms = device.allocate((self.count * self.room,), np.dtype(np.uint8))
        self._sizes = device.allocate((len(SIZE_COLUMNS) * self.count,), np.dtype(np.int32))
        self._starts = device.allocate((self.count + 1,), np.dtype(np.int32))
        self.data = device.allocate((self.most,), np.dtype(np.uint8))

    @property
    def results(self) -> tuple[Any, Any]:
        """What was coded, on the device: sizes of blocks and where they begin, with the number of all bytes behind."""
        return self._sizes, self._starts

    def overflows(self, sizes: Array, total: int) -> bool:
        """Tell whether a block, or all of them, took more bytes than there is room for."""
        return total > self.most or int(sizes[:, 0].max(initial=0)) > self.room - SUFFIX

    def run(self, bands: Sequence[Any]) -> None:
        """Encode the blocks of bands that lie on the device."""
        launch, count, room = self._device.launch, np.int32(self.count), np.int32(self.room)
        launch(self._kernel, self._groups, 1, (count, room, *self._tables, self._rooms, self._sizes, *bands))
        launch(self._placing, (1, 1, 1), 1, (count, self._sizes, self._starts))
        arguments = (count, room, np.int32(self.most), self._sizes, self._starts, self._rooms, self.data)
        launch(self._gathering, (self.count, 1, 1), _GATHER_BLOCK, arguments)


class BlockDecoder:
    """Decodes the blocks of one layout.

    Parameters
    ----------
    engine : DeviceEngine
        Where.
    table : ndarray of int32, shape (n, 5)
        `subband.kernels.ht_blocks.BLOCK_COLUMNS` of each block.
    bands : int
        Arrays in which coefficients lie.
    is_reversible : bool
        Whether they are int32; else float32, in the middle of an interval and multiplied by a scale.
    lanes : int, optional
        Busy lanes of a group; chosen by the device if left out.

    Attributes
    ----------
    damaged : device array of int32
        Which blocks made no sense.
    """

    def __init__(
        self, engine: DeviceEngine, table: Array, bands: int, is_reversible: bool, lanes: int | None = None
    ) -> None:
        assert table.shape[1] == len(BLOCK_COLUMNS)
        device = engine.device
        self._device = device
        self.count = len(table)
        spec = _choose_spec(engine, table, bands, is_reversible, lanes, _BUSY_DECODING)
        self._kernel = engine.compile_kernel(render_decoding(spec, device.dialect))
        self._groups = (-(-self.count // spec.lanes), 1, 1)
        _, _, codes, offsets = _join_tables()
        self._table = device.upload_table(table.ravel())
        self._codes, self._offsets = device.upload_table(codes), device.upload_table(offsets)
        self.spans = device.allocate((len(SPAN_COLUMNS) * self.count,), np.dtype(np.int32))
        self.scales = device.allocate((self.count,), np.dtype(np.float32))
        self.damaged = device.allocate((self.count,), np.dtype(np.int32))

    def run(self, data: Any, bands: Sequence[Any]) -> None:
        """Decode bytes on the device to bands there; `spans` and `scales` say what each block has."""
        self._device.launch(
            self._kernel, self._groups, 1,
            (np.int32(self.count), data, self._table, self.spans, self.scales, self._codes, self._offsets,
             self.damaged, *bands),
        )  # fmt: skip

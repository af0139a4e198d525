"""Putting an image together again of the fragments that packets hold, run by run, while others are still to come.

As long as nothing is missing, the bytes of fragments simply follow each other, wherever they are cut: FFmpeg cuts them
anywhere, and tells no positions. Behind a gap, a fragment counts if it holds the slices that it says, and no others.
"""

from __future__ import annotations

import numpy as np

from subband.codecs.vc2.coding import locate_slices
from subband.codecs.vc2.parameters import TransformParameters
from subband.codecs.vc2.stream import HQ_FRAGMENT, IMAGE_END, Unit

__all__ = ["Assembly"]

# Bytes of slices that are handed on together: some packets, since each hand-over takes its time, and a small part of an
# image, so that little is left to do when the last packet comes.
_TOGETHER = 1 << 15

# The fewest bytes of a slice; and what positions, and numbers of slices, stop short of.
_LEAST, _END = 4, 1 << 16


class Assembly:
    """An image whose fragments come in order, some of them perhaps never.

    Parameters
    ----------
    number : int
        Of the image.
    parameters : TransformParameters, optional
        How it is coded; without them, nothing comes out.
    head : bytes
        These parameters, as a stream has them.

    Attributes
    ----------
    number : int
        Of the image.
    is_torn : bool
        Whether something is missing.
    total : int
        Bytes that have come.
    """

    def __init__(self, number: int, parameters: TransformParameters | None, head: bytes) -> None:
        if parameters is not None and max(parameters.slices) >= _END:
            parameters = None
        self.number, self.is_torn, self.total = number, parameters is None, 0
        self._parameters, self._head, self._is_told = parameters, head, False
        # the run that waits: its bytes, how many these are and have to be, its first slice, and how many it should have
        self._parts: list[bytes | memoryview] = []
        self._size, self._wanted = 0, _TOGETHER
        self._first, self._count = 0, 0

    def tear(self) -> list[Unit]:
        """Note that the next fragment is not the one that was to come; return what is there."""
        units = self._take_runs()
        self._drop()
        self.is_torn = True
        return units

    def add(self, count: int, row: int, column: int, part: memoryview) -> list[Unit]:
        """Take a fragment with so many slices from a position on, and return the units that are to be decoded now."""
        units: list[Unit] = []
        self.total += len(part)
        if self._parameters is None or not len(part):
            return units
        if self.is_torn:
            first = row * self._parameters.slices[1] + column
            if first != self._first + self._count:
                units += self._take_runs()
                self._drop()
            if not self._parts:
                self._first = first
        self._parts.append(part)
        self._size += len(part)
        self._count += count
        return units + self._take_runs() if self._size >= self._wanted else units

    def finish(self, *, is_whole: bool) -> list[Unit]:
        """Return the units of what is left; whatever is missing now will not come."""
        units = self._take_runs()
        self._drop()
        self.is_torn = self.is_torn or not is_whole
        if self._parameters is None:
            return []
        return [*units, *self._tell_parameters(), Unit(IMAGE_END, memoryview(b""))]

    def _drop(self) -> None:
        self._parts, self._size, self._wanted, self._count = [], 0, _TOGETHER, 0

    def _tell_parameters(self) -> list[Unit]:
        """Return the unit of the parameters, once."""
        if self._is_told:
            return []
        self._is_told = True
        return [self._make_unit((len(self._head), 0), self._head)]

    def _make_unit(self, fields: tuple[int, ...], part: bytes) -> Unit:
        head = b"".join(number.to_bytes(2, "big") for number in fields)
        return Unit(HQ_FRAGMENT, memoryview(b"".join((self.number.to_bytes(4, "big"), head, part))))

    def _take_runs(self) -> list[Unit]:
        """Return units with the slices that wait, as far as they are whole; the beginning of one waits on."""
        units: list[Unit] = []
        while self._parameters is not None and self._parts:
            stream = b"".join(self._parts)
            most = min(self._parameters.slice_count - self._first, len(stream) // _LEAST + 1, _END - 1)
            if self.is_torn:
                most = max(min(most, self._count), 0)
            _, whole, end = locate_slices(np.frombuffer(stream, np.uint8), 0, self._parameters, most)
            if self.is_torn and (whole < self._count or end < len(stream)):
                self._drop()
                break
            if whole:
                row, column = divmod(self._first, self._parameters.slices[1])
                fields = min(end, _END - 1), whole, column, row
                units += [*self._tell_parameters(), self._make_unit(fields, stream[:end])]
            # a slice that is longer than what has come is looked at again when twice as much has
            rest = memoryview(stream)[end:]
            self._parts, self._size = [rest] if len(rest) else [], len(rest)
            self._wanted = max(_TOGETHER, 2 * len(rest)) if not whole else _TOGETHER
            self._first += whole
            self._count = 0
            if whole < _END - 1:
                break
        return units

"""A coded image: parameters and slices, of which the first may be sent while others are still coded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from subband.codecs.vc2.coding import check_whole, locate_slices
from subband.codecs.vc2.parameters import TransformParameters
from subband.codecs.vc2.sequence import HIGH_QUALITY
from subband.codecs.vc2.stream import HQ_FRAGMENT, HQ_IMAGE
from subband.typing import Array

__all__ = ["CodedImage"]

# Bytes of a fragment before its slices, and the most slices that it can have.
_FRAGMENT_HEAD, _MOST_SLICES = 12, 65535


@dataclass(eq=False)
class CodedImage:
    """An image of the high-quality profile while it is coded, and then.

    How long slices become is known before any of them is written, so that an image can be cut into fragments and
    packets from its beginning on.

    Attributes
    ----------
    number : int
        Of the image.
    parameters : TransformParameters
        How it is coded.
    head : bytes
        These parameters, as the stream has them.
    starts : ndarray of int64
        Where each slice begins in `data`, and where the last one ends.
    data : ndarray of uint8
        The bytes of all slices.
    done : int
        So many slices are written, the first ones; `data` beyond them means nothing yet.
    """

    number: int
    parameters: TransformParameters
    head: bytes
    starts: Array
    data: Array
    done: int = 0

    @classmethod
    def read(cls, payload: bytes, major: int) -> CodedImage:
        """Return what the unit of a whole image holds, in a stream of some version.

        Raises
        ------
        CodecError
            If it is damaged.
        """
        parameters, size = TransformParameters.read(memoryview(payload)[4:], major, HIGH_QUALITY)
        data, count = np.frombuffer(payload, np.uint8)[4 + size :], parameters.slice_count
        starts, whole, end = locate_slices(data, 0, parameters, count)
        check_whole(whole, count)
        number, head = int.from_bytes(payload[:4], "big"), payload[4 : 4 + size]
        return cls(number, parameters, head, np.append(starts, end), data, count)

    @property
    def size(self) -> int:
        """Bytes of all slices, whether they are written or not."""
        return int(self.starts[-1])

    def make_units(self, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Return the image as one unit, or as fragments of at most so many bytes: parse codes and payloads."""
        check_whole(self.done, self.parameters.slice_count)
        number = self.number.to_bytes(4, "big")
        if most is None:
            yield HQ_IMAGE, b"".join((number, self.head, self.data.data))
            return
        yield HQ_FRAGMENT, number + len(self.head).to_bytes(2, "big") + bytes(2) + self.head
        starts, across, first = self.starts, self.parameters.slices[1], 0
        while first < self.done:
            last = int(np.searchsorted(starts, starts[first] + most - _FRAGMENT_HEAD, "right")) - 1
            last = min(max(last, first + 1), first + _MOST_SLICES, self.done)
            part = self.data[starts[first] : starts[last]].tobytes()
            # longer slices than the field can say are told by their own lengths anyway
            fields = (min(len(part), 65535), last - first, first % across, first // across)
            yield HQ_FRAGMENT, number + b"".join(field.to_bytes(2, "big") for field in fields) + part
            first = last

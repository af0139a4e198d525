"""Reading numbers out of marker segments and boxes, and packing them."""

from __future__ import annotations

from struct import Struct
from typing import Any

from subband.errors import CodecError

__all__ = ["FieldReader", "pack_segment"]


class FieldReader:
    """Takes big-endian numbers off the front of some bytes, and says whose bytes they were if these end early.

    Parameters
    ----------
    payload : bytes
        What to read from.
    name : str
        The segment or box that it belongs to, for errors.

    Examples
    --------
    >>> fields = FieldReader(bytes([0, 5, 7]), "COD")
    >>> fields.short(), fields.byte(), fields.left
    (5, 7, 0)
    """

    def __init__(self, payload: bytes, name: str) -> None:
        self._payload = payload
        self.name = name
        self.position = 0

    @property
    def left(self) -> int:
        """Bytes that were not read yet."""
        return len(self._payload) - self.position

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count > self.left:
            raise CodecError(f"{self.name} ends early: {count} bytes are missing, and {self.left} are left")
        self.position += count
        return self._payload[self.position - count : self.position]

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        return self.take(self.left)

    def byte(self) -> int:
        """Return a number of one byte."""
        return self.take(1)[0]

    def short(self) -> int:
        """Return a number of two bytes."""
        return int.from_bytes(self.take(2), "big")

    def long(self) -> int:
        """Return a number of four bytes."""
        return int.from_bytes(self.take(4), "big")

    def component(self, component_count: int) -> int:
        """Return the number of a component, which has two bytes where there are more than 256 of them."""
        component = self.byte() if component_count < 257 else self.short()
        if component >= component_count:
            raise CodecError(f"{self.name} names component {component}; there are {component_count}")
        return component

    def unpack(self, form: Struct) -> tuple[Any, ...]:
        """Return several numbers at once."""
        return form.unpack(self.take(form.size))


def pack_segment(code: int, payload: bytes) -> bytes:
    """Return a marker segment: marker, length and payload.

    Raises
    ------
    CodecError
        If the payload is longer than the length can tell.

    Examples
    --------
    >>> pack_segment(0xFF64, b"ab").hex()
    'ff6400046162'
    """
    if len(payload) > 0xFFFD:
        raise CodecError(f"a segment of {len(payload)} bytes is longer than the 65533 that its length can tell")
    return code.to_bytes(2, "big") + (len(payload) + 2).to_bytes(2, "big") + payload

"""Data units: what a VC-2 stream is a chain of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct

from subband.errors import CodecError

__all__ = [
    "AUXILIARY",
    "END",
    "HEADER",
    "HEAD_SIZE",
    "HQ_FRAGMENT",
    "HQ_IMAGE",
    "IMAGE_END",
    "LD_FRAGMENT",
    "LD_IMAGE",
    "PADDING",
    "PREFIX",
    "Unit",
    "UnitWriter",
    "find_units",
]

#: What units are, by their parse code.
HEADER, END, AUXILIARY, PADDING = 0x00, 0x10, 0x20, 0x30
LD_IMAGE, HQ_IMAGE, LD_FRAGMENT, HQ_FRAGMENT = 0xC8, 0xE8, 0xCC, 0xEC

#: No parse code: what a receiver puts behind the last fragment that it has of an image.
IMAGE_END = -1

#: What every unit begins with.
PREFIX = b"BBCD"

# Prefix, parse code, and how far the next and the previous unit are.
_HEAD = Struct(">4sBII")

#: Bytes of a unit before its payload.
HEAD_SIZE = _HEAD.size


@dataclass(frozen=True)
class Unit:
    """A part of a stream: what it is, its bytes, and whether these are known to end where it does."""

    code: int
    payload: memoryview
    has_end: bool = True


class UnitWriter:
    """Chains units: each says how far the one before it is.

    Examples
    --------
    >>> writer = UnitWriter()
    >>> writer.write([(AUXILIARY, b"abc"), (END, b"")]).hex()
    '4242434420000000100000000061626342424344100000000000000010'
    """

    def __init__(self) -> None:
        self._previous = 0

    def write(self, units: Iterable[tuple[int, bytes]]) -> bytes:
        """Return units as a stream has them."""
        parts = []
        for code, payload in units:
            size = HEAD_SIZE + len(payload)
            parts += [_HEAD.pack(PREFIX, code, 0 if code == END else size, self._previous), payload]
            self._previous = 0 if code == END else size
        return b"".join(parts)


def find_units(data: bytes | memoryview) -> Iterator[Unit]:
    """Walk through the units of a stream.

    A unit that does not say where the next one is ends before the next prefix; none is expected at the end of a stream,
    so the payload then goes on to it.

    Raises
    ------
    CodecError
        If something stands where a unit should begin.

    Examples
    --------
    >>> [
    ...     (hex(unit.code), bytes(unit.payload))
    ...     for unit in find_units(UnitWriter().write([(0x20, b"abc"), (0x10, b"")]))
    ... ]
    [('0x20', b'abc'), ('0x10', b'')]
    """
    view = memoryview(data)
    position = 0
    while position < len(view):
        if len(view) - position < HEAD_SIZE:
            raise CodecError(f"the stream ends early, in the head of a unit at byte {position}")
        prefix, code, size, _ = _HEAD.unpack_from(view, position)
        if prefix != PREFIX:
            raise CodecError(f"there is no unit of VC-2 at byte {position}, but {prefix.hex()}")
        begin = position + HEAD_SIZE
        if code == END:
            end = begin
        elif size:
            end = position + max(size, HEAD_SIZE)
        else:
            end = _find_prefix(view, begin)
        yield Unit(code, view[begin:end], end <= len(view))
        position = end


def _find_prefix(view: memoryview, begin: int) -> int:
    """Return where the next unit begins: a prefix that is followed by a known parse code."""
    known = {HEADER, END, AUXILIARY, PADDING, LD_IMAGE, HQ_IMAGE, LD_FRAGMENT, HQ_FRAGMENT}
    step = 1 << 16
    for first in range(begin, len(view), step):
        part = bytes(view[first : first + step + len(PREFIX)])
        found = part.find(PREFIX)
        while found >= 0:
            if found + len(PREFIX) < len(part) and part[found + len(PREFIX)] in known:
                return first + found
            found = part.find(PREFIX, found + 1)
    return len(view)

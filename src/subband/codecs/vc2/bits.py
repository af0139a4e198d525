"""Reading and writing the headers of VC-2: bits, and numbers as interleaved exponential Golomb codes."""

from __future__ import annotations

from subband.errors import CodecError

__all__ = ["BitReader", "BitWriter"]

# Longer numbers stand in no header.
_MOST_BITS = 32


class BitReader:
    """Takes bits off the front of some bytes, and says whose bytes they were if these end early.

    Parameters
    ----------
    data : bytes
        What to read from.
    name : str
        What it belongs to, for errors.

    Examples
    --------
    >>> writer = BitWriter()
    >>> for number in (0, 1, 5, 300):
    ...     writer.number(number)
    >>> reader = BitReader(writer.finish(), "a header")
    >>> [reader.number() for _ in range(4)]
    [0, 1, 5, 300]
    """

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self._data, self._name = data, name
        self._position = 0

    @property
    def position(self) -> int:
        """The first whole byte that was not read yet."""
        return (self._position + 7) // 8

    def bit(self) -> int:
        """Return the next bit."""
        byte, position = divmod(self._position, 8)
        if byte >= len(self._data):
            raise CodecError(f"{self._name} ends early, after {len(self._data)} bytes")
        self._position += 1
        return self._data[byte] >> 7 - position & 1

    def number(self) -> int:
        """Return the next number, 0 or more."""
        value = 1
        while not self.bit():
            value = 2 * value + self.bit()
            if value >> _MOST_BITS:
                raise CodecError(f"{self._name} holds a number of more than {_MOST_BITS} bits")
        return value - 1

    def flag(self) -> bool:
        """Return whether the next bit is set."""
        return bool(self.bit())


class BitWriter:
    """Collects bits; see `BitReader`."""

    def __init__(self) -> None:
        self._bits: list[int] = []

    def number(self, value: int) -> None:
        """Add a number, 0 or more."""
        for bit in bin(value + 1)[3:]:
            self._bits += [0, int(bit)]
        self._bits.append(1)

    def flag(self, value: bool) -> None:
        """Add a bit."""
        self._bits.append(int(value))

    def choice(self, index: int | None, *numbers: int) -> None:
        """Add a bit that says whether something has a value of its own, then the numbers of that value.

        `index` is None if it has not; 0 of those that are followed by the value itself.
        """
        self.flag(index is not None)
        for number in () if index is None else (index, *numbers):
            self.number(number)

    def finish(self) -> bytes:
        """Return whole bytes, filled up with zeros."""
        bits = "".join(map(str, self._bits))
        count = -(-len(bits) // 8)
        return int(bits.ljust(8 * count, "0") or "0", 2).to_bytes(count, "big")

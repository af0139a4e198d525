"""Messages between server and page over the web socket.

Messages of text are objects of JSON with a ``"type"``. Binary messages carry pixels behind a header: four bytes with
the length of the header, lowest first, then the header as JSON, then the payload. Nothing that comes from a page is
trusted: whatever is malformed, too long or of an unknown type becomes a `ProtocolError`, which the page is told.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from subband.errors import FormatError, SubbandError

__all__ = [
    "LONGEST_HEADER",
    "LONGEST_TEXT",
    "ProtocolError",
    "format_error",
    "pack",
    "read_number",
    "read_text",
    "unpack",
    "write_text",
]

#: Bytes of a message of text; settings take one or two thousand.
LONGEST_TEXT = 65_536

#: Bytes of the header of a binary message from the page.
LONGEST_HEADER = 4096

_LENGTH = struct.Struct("<I")


class ProtocolError(FormatError):
    """A message is not one of those that are agreed on."""


def pack(header: dict[str, Any], *payload: bytes | bytearray | memoryview) -> bytes:
    """Return a binary message.

    Examples
    --------
    >>> pack({"type": "frame"}, b"ab", b"c")[4:]
    b'{"type":"frame"}abc'
    """
    text = write_text(header).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *payload))


def unpack(message: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return header and payload of a binary message.

    Raises
    ------
    ProtocolError
        If it is none.

    Examples
    --------
    >>> header, payload = unpack(pack({"type": "camera"}, b"abc"))
    >>> header, bytes(payload)
    ({'type': 'camera'}, b'abc')
    """
    if len(message) < _LENGTH.size:
        raise ProtocolError(f"a binary message has {len(message)} bytes; it begins with 4 for the length of its header")
    (length,) = _LENGTH.unpack_from(message)
    if length > LONGEST_HEADER or length > len(message) - _LENGTH.size:
        raise ProtocolError(
            f"the header of a binary message is said to have {length} bytes; it has {LONGEST_HEADER} at most, and not "
            "more than the message"
        )
    end = _LENGTH.size + length
    return _read_object(message[_LENGTH.size : end]), memoryview(message)[end:]


def read_text(text: str) -> dict[str, Any]:
    """Return a message of text.

    Raises
    ------
    ProtocolError
        If it is no object of JSON with a type, or too long.

    Examples
    --------
    >>> read_text('{"type": "play"}')
    {'type': 'play'}
    >>> read_text("[1, 2]")
    Traceback (most recent call last):
        ...
    subband.studio.protocol.ProtocolError: a message is not an object with a "type"
    """
    if len(text) > LONGEST_TEXT:
        raise ProtocolError(f"a message has {len(text)} characters; {LONGEST_TEXT} are the most")
    return _read_object(text)


def write_text(message: dict[str, Any]) -> str:
    """Return a message as text; numbers that JSON does not have are refused.

    All but ASCII is escaped, because names of files, and what a page says, may hold halves of characters that no
    encoding has.
    """
    return json.dumps(message, separators=(",", ":"), allow_nan=False)


def read_number(message: dict[str, Any], name: str, default: float | None = None) -> float:
    """Return a finite number of a message.

    Raises
    ------
    ProtocolError
        If it is missing and has no default, or is no number.

    Examples
    --------
    >>> read_number({"position": 12}, "position")
    12.0
    """
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e15:
        raise ProtocolError(f"{name}={value!r} is not a number, and {message.get('type')!r} needs one")
    return float(value)


def format_error(error: Exception) -> str:
    """Write an error in one line, and those of the operating system without paths of this machine."""
    if isinstance(error, OSError) and not isinstance(error, SubbandError):
        return error.strerror or type(error).__name__
    return " ".join(str(error).split())


def _read_object(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ProtocolError("a message is not JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise ProtocolError('a message is not an object with a "type"')
    return found


def _refuse_constant(name: str) -> float:
    """Refuse NaN and infinities, which Python reads and JSON does not have."""
    raise ValueError(name)

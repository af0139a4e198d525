"""What PyAV cannot tell FFmpeg's writers: the shape of pixels in Matroska, WebM, AVI and Y4M, and light in Matroska.

All keep it in their head, which is completed here when the file is: Matroska takes the few bytes from the empty space
behind its list of contents, AVI from the one for an index that small files do not have.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

__all__ = ["Y4mHead", "complete_head"]

# Names of elements of Matroska.
_SEGMENT, _SEEK_HEAD, _SEEK, _SEEK_ID, _SEEK_POSITION = 0x18538067, 0x114D9B74, 0x4DBB, 0x53AB, 0x53AC
_VOID, _CHECKSUM, _INFO, _TRACKS, _ENTRY, _VIDEO, _CLUSTER = 0xEC, 0xBF, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0x1F43B675
_WIDTH, _HEIGHT, _DISPLAY_WIDTH, _DISPLAY_HEIGHT, _DISPLAY_UNIT = 0xB0, 0xBA, 0x54B0, 0x54BA, 0x54B2
_COLOUR, _MASTERING, _FIRST_POINT, _LIGHT = 0x55B0, 0x55D0, 0x55D1, (0x55BC, 0x55BD)
# Bytes of an element without content.
_SMALLEST = 2
# Long enough for the tracks of any video, short enough to be read at once.
_HEAD = 1 << 20


def complete_head(
    path: Path, container: str, aspect: Fraction = Fraction(1), metadata: Mapping[str, Any] | None = None
) -> bool:
    """Complete the header of a video file; tell whether it could be.

    Parameters
    ----------
    path : Path
        The file, complete but for that.
    container : str
        In FFmpeg's words.
    aspect : Fraction
        Width of a pixel by its height.
    metadata : mapping, optional
        For Matroska, with what `subband.media.video_hdr.describe_light` finds.
    """
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        changed = _change_avi(head, aspect) if container == "avi" else _change_matroska(head, aspect, metadata or {})
        if changed is None or len(changed) != len(head):
            return False
        file.seek(0)
        file.write(changed)
    return True


class Y4mHead:
    """A file that completes the first line of Y4M on its way; for PyAV to write to."""

    def __init__(self, file: IO[bytes], aspect: Fraction) -> None:
        self._file, self._aspect = file, aspect
        self._is_first = True

    def write(self, data: bytes) -> int:
        """Hand on what is written."""
        content = bytes(data)
        if self._is_first:
            word = f" A{self._aspect.numerator}:{self._aspect.denominator} ".encode()
            content = content.replace(b" A0:0 ", word, 1)
            self._is_first = False
        self._file.write(content)
        # whoever reads a pipe is waiting for the frame
        self._file.flush()
        return len(data)


def _change_avi(head: bytes, aspect: Fraction) -> bytes | None:
    """Put a chunk of video properties into the space for an index, if there is none."""
    start = head.find(b"strh", 0, 4096)
    while start >= 0 and head[start + 8 : start + 12] != b"vids":
        start = head.find(b"strh", start + 4, 1 << 16)
    if start < 0 or b"vprp" in head[start : start + 8192]:
        return None
    offset = head.find(b"strf", start)
    offset += 8 + (size := struct.unpack_from("<I", head, offset + 4)[0]) + size % 2
    if head[offset : offset + 4] != b"JUNK":
        return None
    space = struct.unpack_from("<I", head, offset + 4)[0]
    columns, rows = (abs(number) for number in struct.unpack_from("<ii", head, start + 8 + 56 + 8 + 4))
    shown = aspect * columns / rows
    shown = shown.limit_denominator(0xFFFF)
    fields = (0, 0, 0, columns, rows, shown.denominator | shown.numerator << 16, columns, rows, 1)
    frame = (rows, columns, rows, columns, 0, 0, 0, 0)
    chunk = struct.pack("<4sI9I8I", b"vprp", 68, *fields, *frame)
    if space < len(chunk) + 8:
        return None
    rest = struct.pack("<4sI", b"JUNK", space - len(chunk))
    return (
        head[:offset] + chunk + rest + head[offset + 8 : offset + 8 + space - len(chunk)] + head[offset + 8 + space :]
    )


def _change_matroska(head: bytes, aspect: Fraction, metadata: Mapping[str, Any]) -> bytes | None:
    """Add how wide and high frames are shown, and their light, to the description of their track."""
    elements = _list_elements(head)
    try:
        contents, void, info, tracks = (elements[name] for name in (_SEEK_HEAD, _VOID, _INFO, _TRACKS))
    except KeyError:
        return None
    # the display of a track must be next to the space that it takes
    if not contents[0] < void[0] < info[0] < tracks[0] or void[2] != info[0] or info[2] != tracks[0]:
        return None
    for is_tight in (False, True):
        described = _describe_tracks(head[tracks[0] : tracks[2]], aspect, metadata, is_tight=is_tight)
        if described is None:
            return None
        more = len(described) - (tracks[2] - tracks[0])
        left = void[2] - void[0] - more
        if more >= 0 and left >= _SMALLEST:
            break
    else:
        return None
    moved = _move_contents(head[contents[0] : contents[2]], more)
    before, between = head[: contents[0]] + moved + head[contents[2] : void[0]], head[info[0] : info[2]]
    return before + _pack_space(left) + between + described + head[tracks[2] :]


def _pack_space(size: int) -> bytes:
    """Return empty space of so many bytes in all."""
    length = 1 if size < _SMALLEST + 64 else 8
    content = size - 1 - length
    return bytes([_VOID]) + (1 << 7 * length | content).to_bytes(length, "big") + bytes(content)


def _list_elements(head: bytes) -> dict[int, tuple[int, int, int]]:
    """Return where the first elements of each name in the segment begin, have their content, and end."""
    found: dict[int, tuple[int, int, int]] = {}
    offset = 0
    while offset < len(head) - 12:
        begin = offset
        name, offset = _read_number(head, offset, keeps_mark=True)
        size, offset = _read_number(head, offset)
        if name == _SEGMENT:
            continue
        if name == _CLUSTER:
            break
        found.setdefault(name, (begin, offset, offset + size))
        offset += size
    return found


def _read_number(data: bytes, offset: int, *, keeps_mark: bool = False) -> tuple[int, int]:
    """Read a name, which keeps the bit that tells its length, or a size, which does not."""
    first = data[offset]
    length = 9 - first.bit_length() if first else 9
    value = int.from_bytes(data[offset : offset + length], "big")
    return (value if keeps_mark else value & ((1 << 7 * length) - 1)), offset + length


def _pack_element(name: int, content: bytes, least: int = 1) -> bytes:
    """Return an element whose size is written in `least` bytes or more."""
    # all ones mean a size that is not known
    length = next(each for each in range(least, 9) if len(content) < (1 << 7 * each) - 1)
    size = (1 << 7 * length | len(content)).to_bytes(length, "big")
    return name.to_bytes((name.bit_length() + 7) // 8, "big") + size + content


def _pack_master(name: int, parts: list[bytes]) -> bytes:
    """Return an element of elements; the first of them may be a checksum of the others."""
    if parts and parts[0][0] == _CHECKSUM:
        parts = [_pack_element(_CHECKSUM, zlib.crc32(b"".join(parts[1:])).to_bytes(4, "little")), *parts[1:]]
    return _pack_element(name, b"".join(parts))


def _pack_number(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def _split(data: bytes) -> list[tuple[int, bytes]]:
    """Return the names and contents of the elements inside one."""
    parts, offset = [], 0
    while offset < len(data):
        name, offset = _read_number(data, offset, keeps_mark=True)
        size, offset = _read_number(data, offset)
        parts.append((name, data[offset : offset + size]))
        offset += size
    return parts


def _describe_tracks(tracks: bytes, aspect: Fraction, metadata: Mapping[str, Any], *, is_tight: bool) -> bytes | None:
    """Return the description of tracks with more about the first video, as it was written or in fewer bytes."""
    ((_, content),) = _split(tracks)
    # FFmpeg writes the sizes of tracks and of empty space in eight bytes
    least = 1 if is_tight else 8
    entries, is_done = [], False
    for name, entry in _split(content):
        parts = _split(entry) if name == _ENTRY else []
        if not is_done and any(each == _VIDEO for each, _ in parts):
            entry = b"".join(
                _pack_element(
                    each,
                    _describe_video(inside, aspect, metadata) if each == _VIDEO else inside,
                    least if each == _VOID else 1,
                )
                for each, inside in parts
                if each != _VOID or not is_tight
            )
            is_done = True
        entries.append(_pack_element(name, entry, least if name == _ENTRY else 1))
    return _pack_master(_TRACKS, entries) if is_done else None


def _describe_video(content: bytes, aspect: Fraction, metadata: Mapping[str, Any]) -> bytes:
    """Return the description of a video with the size that it is shown at, and with its light."""
    parts = _split(content)
    known = dict(parts)
    if aspect != 1:
        width, height = (int.from_bytes(known[part], "big") for part in (_WIDTH, _HEIGHT))
        # one of both stays, so that nothing is shown smaller than it is
        wide, high = (width * aspect, Fraction(height)) if aspect > 1 else (Fraction(width), height / aspect)
        # the unit that says that nothing is known goes
        parts = [part for part in parts if part[0] not in (_DISPLAY_WIDTH, _DISPLAY_HEIGHT, _DISPLAY_UNIT)]
        parts += [(_DISPLAY_WIDTH, _pack_number(round(wide))), (_DISPLAY_HEIGHT, _pack_number(round(high)))]
    if light := _pack_light(metadata):
        parts = [part for part in parts if part[0] != _COLOUR] + [(_COLOUR, known.get(_COLOUR, b"") + light)]
    return b"".join(_pack_element(*part) for part in parts)


def _pack_light(metadata: Mapping[str, Any]) -> bytes:
    """Return the elements of HDR10: ten numbers of the display, and two of the light."""
    display, light = metadata.get("mastering_display"), metadata.get("content_light")
    packed = b""
    for name, value in zip(_LIGHT, light or (), strict=False):
        packed += _pack_element(name, _pack_number(int(value)))
    if display is not None:
        # here the largest luminance comes before the smallest
        numbers = (*display[:8], display[9], display[8])
        points = (_pack_element(_FIRST_POINT + i, struct.pack(">f", value)) for i, value in enumerate(numbers))
        packed += _pack_element(_MASTERING, b"".join(points))
    return packed


def _move_contents(contents: bytes, distance: int) -> bytes:
    """Return the list of contents with information and tracks nearer to the beginning."""
    ((_, content),) = _split(contents)
    seeks = []
    for name, seek in _split(content):
        parts = dict(_split(seek)) if name == _SEEK else {}
        if int.from_bytes(parts.get(_SEEK_ID, b""), "big") in (_INFO, _TRACKS):
            position = parts[_SEEK_POSITION]
            parts[_SEEK_POSITION] = (int.from_bytes(position, "big") - distance).to_bytes(len(position), "big")
            seek = b"".join(_pack_element(part, value) for part, value in parts.items())
        seeks.append(_pack_element(name, seek))
    return _pack_master(_SEEK_HEAD, seeks)

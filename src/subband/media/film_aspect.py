"""The shape of pixels in containers whose writers in FFmpeg PyAV cannot tell: Matroska, WebM, AVI and Y4M.

All keep it in their head, which is completed here when the file is: Matroska takes the few bytes from the empty space
behind its list of contents, AVI from the one for an index that small files do not have.
"""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from pathlib import Path
from typing import IO

__all__ = ["Y4mHead", "write_aspect"]

# Names of elements of Matroska.
_SEGMENT, _SEEK_HEAD, _SEEK, _SEEK_ID, _SEEK_POSITION = 0x18538067, 0x114D9B74, 0x4DBB, 0x53AB, 0x53AC
_VOID, _CHECKSUM, _INFO, _TRACKS, _ENTRY, _VIDEO, _CLUSTER = 0xEC, 0xBF, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0x1F43B675
_WIDTH, _HEIGHT, _DISPLAY_WIDTH, _DISPLAY_HEIGHT, _DISPLAY_UNIT = 0xB0, 0xBA, 0x54B0, 0x54BA, 0x54B2
# Long enough for the tracks of any film, short enough to be read at once.
_HEAD = 1 << 20


def write_aspect(path: Path, container: str, aspect: Fraction) -> bool:
    """Write the shape of pixels into a complete file; tell whether it could be.

    Parameters
    ----------
    path : Path
        The file.
    container : str
        In FFmpeg's words.
    aspect : Fraction
        Width of a pixel by its height.
    """
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        change = _change_avi if container == "avi" else _change_matroska
        changed = change(head, aspect)
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
    place = head.find(b"strf", start)
    place += 8 + (size := struct.unpack_from("<I", head, place + 4)[0]) + size % 2
    if head[place : place + 4] != b"JUNK":
        return None
    space = struct.unpack_from("<I", head, place + 4)[0]
    columns, rows = (abs(number) for number in struct.unpack_from("<ii", head, start + 8 + 56 + 8 + 4))
    shown = aspect * columns / rows
    shown = shown.limit_denominator(0xFFFF)
    fields = (0, 0, 0, columns, rows, shown.denominator | shown.numerator << 16, columns, rows, 1)
    frame = (rows, columns, rows, columns, 0, 0, 0, 0)
    chunk = struct.pack("<4sI9I8I", b"vprp", 68, *fields, *frame)
    if space < len(chunk) + 8:
        return None
    rest = struct.pack("<4sI", b"JUNK", space - len(chunk))
    return head[:place] + chunk + rest + head[place + 8 : place + 8 + space - len(chunk)] + head[place + 8 + space :]


def _change_matroska(head: bytes, aspect: Fraction) -> bytes | None:
    """Add how wide and high frames are shown to the description of their track."""
    elements = _list_elements(head)
    try:
        contents, void, info, tracks = (elements[name] for name in (_SEEK_HEAD, _VOID, _INFO, _TRACKS))
    except KeyError:
        return None
    described = _add_display(head[tracks[0] : tracks[2]], aspect)
    if described is None or not contents[0] < void[0] < info[0] < tracks[0]:
        return None
    more = len(described) - (tracks[2] - tracks[0])
    left = void[2] - void[0] - more
    # an empty element has a name and a size of eight bytes
    if left < 9 or void[2] != info[0] or info[2] != tracks[0]:
        return None
    moved = _move_contents(head[contents[0] : contents[2]], more)
    empty = bytes([_VOID]) + (1 << 56 | left - 9).to_bytes(8, "big") + bytes(left - 9)
    before, between = head[: contents[0]] + moved + head[contents[2] : void[0]], head[info[0] : info[2]]
    return before + empty + between + described + head[tracks[2] :]


def _list_elements(head: bytes) -> dict[int, tuple[int, int, int]]:
    """Return where the first elements of each name in the segment begin, have their content, and end."""
    found: dict[int, tuple[int, int, int]] = {}
    place = 0
    while place < len(head) - 12:
        begin = place
        name, place = _read_number(head, place, keeps_mark=True)
        size, place = _read_number(head, place)
        if name == _SEGMENT:
            continue
        if name == _CLUSTER:
            break
        found.setdefault(name, (begin, place, place + size))
        place += size
    return found


def _read_number(data: bytes, place: int, *, keeps_mark: bool = False) -> tuple[int, int]:
    """Read a name, which keeps the bit that tells its length, or a size, which does not."""
    first = data[place]
    length = 9 - first.bit_length() if first else 9
    value = int.from_bytes(data[place : place + length], "big")
    return (value if keeps_mark else value & ((1 << 7 * length) - 1)), place + length


def _spell_element(name: int, content: bytes) -> bytes:
    # all ones mean a size that is not known
    length = next(each for each in range(1, 9) if len(content) < (1 << 7 * each) - 1)
    size = (1 << 7 * length | len(content)).to_bytes(length, "big")
    return name.to_bytes((name.bit_length() + 7) // 8, "big") + size + content


def _spell_master(name: int, parts: list[bytes]) -> bytes:
    """Return an element of elements; the first of them may be a checksum of the others."""
    if parts and parts[0][0] == _CHECKSUM:
        parts = [_spell_element(_CHECKSUM, zlib.crc32(b"".join(parts[1:])).to_bytes(4, "little")), *parts[1:]]
    return _spell_element(name, b"".join(parts))


def _split(data: bytes) -> list[tuple[int, bytes]]:
    """Return the names and contents of the elements inside one."""
    parts, place = [], 0
    while place < len(data):
        name, place = _read_number(data, place, keeps_mark=True)
        size, place = _read_number(data, place)
        parts.append((name, data[place : place + size]))
        place += size
    return parts


def _add_display(tracks: bytes, aspect: Fraction) -> bytes | None:
    """Return the description of tracks with that of how frames of the first video are shown."""
    ((_, content),) = _split(tracks)
    entries, is_done = [], False
    for name, entry in _split(content):
        parts = _split(entry) if name == _ENTRY else []
        if not is_done and any(each == _VIDEO for each, _ in parts):
            described = []
            for each, inside in parts:
                if each != _VIDEO:
                    described.append((each, inside))
                    continue
                known = dict(_split(inside))
                if _DISPLAY_WIDTH in known:
                    return None
                width, height = (int.from_bytes(known[part], "big") for part in (_WIDTH, _HEIGHT))
                # one of both stays, so that nothing is shown smaller than it is
                wide, high = (width * aspect, Fraction(height)) if aspect > 1 else (Fraction(width), height / aspect)
                shown = ((_DISPLAY_WIDTH, round(wide)), (_DISPLAY_HEIGHT, round(high)))
                added = b"".join(_spell_element(part, size.to_bytes(4, "big")) for part, size in shown)
                # the unit that says that nothing is known goes
                others = (_spell_element(*part) for part in _split(inside) if part[0] != _DISPLAY_UNIT)
                described.append((each, b"".join(others) + added))
            entry = b"".join(_spell_element(each, inside) for each, inside in described)
            is_done = True
        entries.append(_spell_element(name, entry))
    return _spell_master(_TRACKS, entries) if is_done else None


def _move_contents(contents: bytes, distance: int) -> bytes:
    """Return the list of contents with information and tracks nearer to the beginning."""
    ((_, content),) = _split(contents)
    seeks = []
    for name, seek in _split(content):
        parts = dict(_split(seek)) if name == _SEEK else {}
        if int.from_bytes(parts.get(_SEEK_ID, b""), "big") in (_INFO, _TRACKS):
            position = parts[_SEEK_POSITION]
            parts[_SEEK_POSITION] = (int.from_bytes(position, "big") - distance).to_bytes(len(position), "big")
            seek = b"".join(_spell_element(part, value) for part, value in parts.items())
        seeks.append(_spell_element(name, seek))
    return _spell_master(_SEEK_HEAD, seeks)

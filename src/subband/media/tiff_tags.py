"""What a TIFF file says about its images, read from its tags alone: no library, and no pixel."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

__all__ = ["EXIF_DIRECTORIES", "TiffLayout", "attach_directories", "describe_tiff", "read_directories"]

#: Tags that say where the directories of EXIF and GPS are.
EXIF_DIRECTORIES: Final = (0x8769, 0x8825)

BITS, COMPRESSION, PHOTOMETRIC, SAMPLES, PLANAR, SUB_IFDS, INK_SET, EXTRA_SAMPLES, SAMPLE_FORMAT, DNG_VERSION = (
    258, 259, 262, 277, 284, 330, 332, 338, 339, 50706
)  # fmt: skip

# Codes of `struct` for the types of whole numbers; other types say nothing about the layout.
_TYPES: Final = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
# Damaged files have directories in circles and tags of millions of values.
_MOST_DIRECTORIES, _MOST_TAGS, _MOST_VALUES = 64, 4096, 256


@dataclass(frozen=True)
class TiffLayout:
    """How the samples of an image are stored.

    Attributes
    ----------
    photometric : int
        0 for white at zero, 1 for black at zero, 2 for RGB, 3 for a palette, 5 for inks, 6 for YCbCr, 8 for L*a*b*.
    samples : int
        Channels of a pixel.
    bits : int
        The most bits of a sample.
    sample_format : int
        1 for unsigned, 2 for signed, 3 for floating point.
    extra : tuple of int
        What the channels behind the colours are: 1 for opacity that the colours are multiplied with, 2 for opacity, 0
        for anything.
    """

    photometric: int
    samples: int = 1
    bits: int = 1
    sample_format: int = 1
    extra: tuple[int, ...] = ()

    @property
    def is_measured(self) -> bool:
        """Whether samples are whole numbers of a kind that only volumes hold: signed, or of more than 16 bits.

        Examples
        --------
        >>> TiffLayout(1, bits=16, sample_format=2).is_measured, TiffLayout(1, bits=16).is_measured
        (True, False)
        """
        if (self.photometric, self.samples) not in ((0, 1), (1, 1), (2, 3)):
            return False
        return self.sample_format == 2 or (self.sample_format in (1, 4) and self.bits > 16)

    @property
    def suits_pillow(self) -> bool:
        """Whether Pillow reads all channels, all bits and the right shades.

        Examples
        --------
        >>> TiffLayout(1, bits=16).suits_pillow, TiffLayout(0, bits=16).suits_pillow
        (True, False)
        """
        if self.samples == 1 and self.photometric == 1 and (self.bits, self.sample_format) in ((16, 1), (32, 3)):
            return True
        if self.bits > 8 or self.sample_format not in (1, 4):
            return False
        colours = {0: 1, 1: 1, 2: 3, 3: 1, 5: 4, 6: 3, 8: 3, 9: 3}.get(self.photometric)
        if self.samples == colours:
            return True
        return self.photometric in (1, 2) and self.samples - 1 == colours and self.extra in ((1,), (2,))


def describe_tiff(path: Path) -> TiffLayout | None:
    """Return the layout of the first image of a TIFF file, or None if it is no TIFF file or damaged at its head."""
    with path.open("rb") as file:
        directories = read_directories(file)
    if not directories:
        return None
    tags = directories[0]
    return TiffLayout(
        tags.get(PHOTOMETRIC, (1,))[0],
        tags.get(SAMPLES, (1,))[0],
        max(tags.get(BITS, (1,))),
        tags.get(SAMPLE_FORMAT, (1,))[0],
        tags.get(EXTRA_SAMPLES, ()),
    )


def read_directories(file: BinaryIO) -> list[dict[int, tuple[int, ...]]]:
    r"""Read the whole-number tags of all directories of a TIFF file, those below others included.

    Files of other kinds, and the rest of a damaged one, give nothing.

    Examples
    --------
    >>> from io import BytesIO
    >>> read_directories(BytesIO(b"II*\0\x08\0\0\0\x01\0\x06\x01\x03\0\x01\0\0\0\x02\0\0\0\0\0\0\0"))
    [{262: (2,)}]
    """
    file.seek(0)
    head = file.read(16)
    order = {b"II": "<", b"MM": ">"}.get(head[:2])
    if order is None or len(head) < 8:
        return []
    version = struct.unpack_from(order + "H", head, 2)[0]
    if version not in (42, 43) or (version == 43 and len(head) < 16):
        return []
    is_big = version == 43
    waiting = [struct.unpack_from(order + ("Q" if is_big else "I"), head, 8 if is_big else 4)[0]]
    found: list[dict[int, tuple[int, ...]]] = []
    seen: set[int] = set()
    while waiting and len(found) < _MOST_DIRECTORIES:
        offset = waiting.pop(0)
        if not offset or offset in seen:
            continue
        seen.add(offset)
        try:
            tags, following = _read_directory(file, offset, order, is_big=is_big)
        except (struct.error, OSError, OverflowError, ValueError):
            continue
        found.append(tags)
        waiting += [*tags.get(SUB_IFDS, ()), following]
    return found


def attach_directories(file: BinaryIO, directories: Mapping[int, Mapping[int, Any]]) -> None:
    """Write directories behind a TIFF file, and name them in a new copy of its first one.

    Libraries that compress TIFF files cannot write EXIF. A BigTIFF file is left as it is.
    """
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    file.seek(0)
    head = file.read(8)
    order = "<" if head[:2] == b"II" else ">"
    if not directories or struct.unpack_from(order + "H", head, 2)[0] != 42:
        return
    file.seek(struct.unpack_from(order + "I", head, 4)[0])
    (count,) = struct.unpack(order + "H", file.read(2))
    entries = {struct.unpack_from(order + "H", entry)[0]: entry for entry in (file.read(12) for _ in range(count))}
    following = file.read(4)
    for tag, content in directories.items():
        offset = _seek_even_end(file)
        directory: Any = ImageFileDirectory_v2(prefix=head[:2], group=tag)
        for key, value in content.items():
            directory[key] = value
        file.write(directory.tobytes(offset))
        entries[tag] = struct.pack(order + "HHII", tag, 4, 1, offset)
    offset = _seek_even_end(file)
    file.write(struct.pack(order + "H", len(entries)) + b"".join(entries[tag] for tag in sorted(entries)) + following)
    file.seek(4)
    file.write(struct.pack(order + "I", offset))


def _seek_even_end(file: BinaryIO) -> int:
    """Go to the end of a file, where a directory may begin: at an even offset."""
    end = file.seek(0, 2)
    return end + file.write(bytes(end % 2))


def _read_directory(file: BinaryIO, offset: int, order: str, *, is_big: bool) -> tuple[dict[int, tuple[int, ...]], int]:
    """Read one directory; return its tags and where the next one is."""
    number, entry, pointer = ("Q", "HHQ8s", "Q") if is_big else ("H", "HHI4s", "I")
    file.seek(offset)
    size = struct.calcsize(order + number)
    (count,) = struct.unpack(order + number, file.read(size))
    if count > _MOST_TAGS:
        raise ValueError(count)
    step = struct.calcsize(order + entry)
    content = file.read(count * step + struct.calcsize(order + pointer))
    tags: dict[int, tuple[int, ...]] = {}
    for index in range(count):
        tag, kind, values, inline = struct.unpack_from(order + entry, content, index * step)
        if kind not in _TYPES or not 0 < values <= _MOST_VALUES:
            continue
        form = f"{order}{values}{_TYPES[kind]}"
        length = struct.calcsize(form)
        if length <= len(inline):
            tags[tag] = struct.unpack_from(form, inline)
        else:
            file.seek(struct.unpack(order + pointer, inline)[0])
            tags[tag] = struct.unpack(form, file.read(length))
    following = content[count * step :]
    return tags, struct.unpack(order + pointer, following)[0] if len(following) == (8 if is_big else 4) else 0

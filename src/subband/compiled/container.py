"""Files of kernels compiled in advance: object code under names, one file for each level of processor.

A file begins with a magic number and the length of its table of contents, which is JSON; the objects follow, each
compressed by itself, so that only what is wanted is read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Container", "Contents", "Item", "write_container"]

_MAGIC = b"subband1"
_HEAD = len(_MAGIC) + 8


@dataclass(frozen=True)
class Item:
    """Object code of one function for one kind of arguments.

    Parameters
    ----------
    module : str
        The module that the function is written in.
    function : str
        Its name.
    kinds : str
        What tells which arguments it takes; see `subband.compiled.kinds`.
    returns : str
        What it returns, in the same words.
    symbol : str
        The name of the entry within the object.
    start, size : int
        Where the object is.
    """

    module: str
    function: str
    kinds: str
    returns: str
    symbol: str
    start: int = 0
    size: int = 0


@dataclass(frozen=True)
class Contents:
    """The table of contents: what all objects were compiled for and from."""

    processor: str
    features: list[str]
    interface: str
    sources: dict[str, dict[str, str]]
    items: list[Item]


class Container:
    """A file of kernels that can be read.

    Raises
    ------
    ValueError
        If it is damaged, or of another kind.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if len(head) < _HEAD or not head.startswith(_MAGIC):
                raise ValueError(f"{path.name} is no file of kernels")
            length = int.from_bytes(head[len(_MAGIC) :], "little")
            text = file.read(length)
        if len(text) < length:
            raise ValueError(f"{path.name} ends within its table of contents")
        try:
            table = json.loads(text)
            table["items"] = [Item(**item) for item in table["items"]]
            self.contents = Contents(**table)
        except (TypeError, KeyError, UnicodeDecodeError) as error:
            raise ValueError(f"{path.name} has a damaged table of contents: {error}") from error
        self._start = _HEAD + length

    def read(self, item: Item) -> bytes:
        """Return the object code of an item."""
        with self._path.open("rb") as file:
            file.seek(self._start + item.start)
            packed = file.read(item.size)
        try:
            return zlib.decompress(packed)
        except zlib.error as error:
            raise ValueError(f"{self._path.name} is damaged at {item.function}: {error}") from error


def write_container(path: Path, contents: Contents, objects: Iterable[bytes]) -> None:
    """Write a file of kernels; `objects` belong to the items of `contents`, in this order."""
    packed = [zlib.compress(data, 9) for data in objects]
    items, start = [], 0
    for item, data in zip(contents.items, packed, strict=True):
        items.append({**asdict(item), "start": start, "size": len(data)})
        start += len(data)
    text = json.dumps({**asdict(contents), "items": items}).encode()
    with path.open("wb") as file:
        file.write(_MAGIC + len(text).to_bytes(8, "little") + text)
        file.writelines(packed)

"""Several files of one upload, such as the slices of a series or the chunks of a store: a list, then their bytes."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from subband.errors import FormatError

__all__ = ["write_parts"]

_MOST_FILES = 20_000
_MOST_LISTED = 4 * 2**20
_DEEPEST = 12
#: A part of a path; those of stores begin with a dot now and then.
_NAME = re.compile(r"[\w .()+=@,-]{1,120}")


async def write_parts(folder: Path, chunks: AsyncIterator[bytes], listed: int, title: str) -> None:
    """Write files into a folder as they come.

    Parameters
    ----------
    folder : Path
        Made here.
    chunks : async iterator of bytes
        A list of names and sizes as JSON, and then what is in the files.
    listed : int
        Bytes of the list.
    title : str
        What the user calls them together.

    Raises
    ------
    FormatError
        If the list is none, or what follows is not as long as it says.
    """
    if listed > _MOST_LISTED:
        raise FormatError(f"{title!r} has too many files")
    rest = b""
    while len(rest) < listed:
        chunk = await anext(chunks, b"")
        if not chunk:
            raise FormatError(f"{title!r} ended before its list of files did")
        rest += chunk
    entries = _read_list(rest[:listed], title)
    rest = rest[listed:]
    await anyio.to_thread.run_sync(folder.mkdir)
    for parts, size in entries:
        path = folder.joinpath(*parts)
        await anyio.to_thread.run_sync(partial(path.parent.mkdir, parents=True, exist_ok=True))
        async with await anyio.open_file(path, "xb") as file:
            left = size
            while left:
                rest = rest or await anext(chunks, b"")
                if not rest:
                    raise FormatError(f"{title!r} ended in the middle of {parts[-1]!r}")
                await file.write(rest[:left])
                rest, left = rest[left:], left - min(left, len(rest))
    if rest or await anext(chunks, b""):
        raise FormatError(f"{title!r} goes on behind its last file")


def _read_list(text: bytes, title: str) -> list[tuple[list[str], int]]:
    """Return the path of each file, in parts that cannot lead out of a folder, and its size."""
    try:
        given: Any = json.loads(text)
        entries = [(str(path).split("/"), int(size)) for path, size in given]
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{title!r} begins with no list of names and sizes") from error
    names = {tuple(parts) for parts, _ in entries}
    is_safe = all(
        size >= 0 and len(parts) <= _DEEPEST and all(_NAME.fullmatch(part) and part.strip(". ") for part in parts)
        for parts, size in entries
    )
    if not 0 < len(entries) <= _MOST_FILES or len(names) != len(entries) or not is_safe:
        raise FormatError(f"{title!r} has too many files, or names that are not used for files")
    return entries

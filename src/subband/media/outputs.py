"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subband.errors import ArgumentError

__all__ = ["check_output", "place_output"]


def check_output(path: Path) -> None:
    """Refuse a name that no file can be written to; worth knowing before a long computation.

    Raises
    ------
    ArgumentError
        If `path` is a folder, or its folder does not exist.

    Examples
    --------
    >>> check_output(Path("no-such-folder/picture.png"))
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: the folder 'no-such-folder' of 'picture.png' does not exist; make it first
    """
    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder {str(path.parent)!r} of {path.name!r} does not exist; make it first")


@contextmanager
def place_output(path: Path) -> Iterator[Path]:
    """Lend a name beside `path` to write to, and move the file into place when the block ends well.

    Whoever looks at `path` meanwhile finds what was there before; if the block fails, that stays.

    Parameters
    ----------
    path : Path
        Where the file belongs. The lent name has the same ending, so that libraries choose the same format.

    Yields
    ------
    Path
        In the same folder, hidden.

    Raises
    ------
    ArgumentError
        If `path` is a folder, or its folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting.txt")
    ...     with place_output(path) as unfinished:
    ...         _ = unfinished.write_text("hello")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    hello
    """
    check_output(path)
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)

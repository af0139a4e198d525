"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from subband.errors import ArgumentError, SubbandError
from subband.media.faults import explain_output_error

__all__ = ["Unfinished", "check_output", "place_output", "remove_unfinished"]

# Two sinks of one process that write to the same name would mix their bytes.
_IN_USE: set[Path] = set()
# What this process is writing, under names of the moment.
_PARTS: set[Path] = set()
_LOCK = Lock()


def check_output(path: Path, *, overwrite: bool = True) -> None:
    """Refuse a name that no file can be written to; worth knowing before a long computation.

    Parameters
    ----------
    path : Path
        Where a file is to appear.
    overwrite : bool
        Whether a file may be there already.

    Raises
    ------
    ArgumentError
        If `path` is a folder, its folder does not exist, or a file is there that must stay.

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
    if not overwrite and path.exists():
        raise ArgumentError(f"{str(path)!r} is there already; pass overwrite=True to replace it, or take another name")


@contextmanager
def place_output(path: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Lend a name beside `path` to write to, and move the file into place when the block ends well.

    Whoever looks at `path` meanwhile finds what was there before; if the block fails, that stays.

    Parameters
    ----------
    path : Path
        Where the file belongs. The lent name has the same ending, so that libraries choose the same format.
    overwrite : bool
        Whether a file may be there already.

    Yields
    ------
    Path
        In the same folder, hidden.

    Raises
    ------
    ArgumentError
        If `path` is a folder, its folder does not exist, or a file is there that must stay.

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
    check_output(path, overwrite=overwrite)
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    with _LOCK:
        _PARTS.add(unfinished)
    try:
        yield unfinished
        check_output(path, overwrite=overwrite)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
        with _LOCK:
            _PARTS.discard(unfinished)


def remove_unfinished() -> None:
    """Delete what this process is writing; for a program that ends without waiting for its threads.

    What is complete stays. Whoever writes on meanwhile writes to a file without a name.
    """
    with _LOCK:
        parts = list(_PARTS)
    for part in parts:
        with suppress(OSError):
            part.unlink(missing_ok=True)


class Unfinished:
    """A file that takes long to write, and shows under a ``.part`` name that it is not complete.

    The name is ``film.part.mp4`` for ``film.mp4``: visible, because it may be large, and with the same ending, so that
    players open it. Nothing that is there is touched: where that name is taken, by a source of this name or by what a
    process left that was killed, it is ``film.part2.mp4``, and so on.

    Parameters
    ----------
    path : Path
        Where the file belongs.
    overwrite : bool
        Whether a file may be there already.

    Raises
    ------
    ArgumentError
        If `path` cannot be written to, as `check_output` says, or this process writes it already.
    OutputError
        If the folder takes no files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unfinished = Unfinished(Path(folder, "film.mp4"))
    ...     _ = unfinished.part.write_bytes(b"...")
    ...     print(unfinished.part.name)
    ...     unfinished.place()
    ...     print([path.name for path in Path(folder).iterdir()])
    film.part.mp4
    ['film.mp4']
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        check_output(path, overwrite=overwrite)
        self.path = path
        self._overwrite = overwrite
        self._key = path.absolute()
        with _LOCK:
            if self._key in _IN_USE:
                raise ArgumentError(f"{str(path)!r} is being written already; end that sink first")
            _IN_USE.add(self._key)
        try:
            self.part = _take_name(path)
        except OSError as error:
            self._release()
            raise explain_output_error(path, error) from error
        with _LOCK:
            _PARTS.add(self.part)

    def place(self) -> None:
        """Move the complete file to its name."""
        try:
            check_output(self.path, overwrite=self._overwrite)
            self.part.replace(self.path)
        except OSError as error:
            if isinstance(error, SubbandError):
                raise
            raise explain_output_error(self.path, error) from error
        self._release()

    def remove(self) -> None:
        """Delete what was written."""
        try:
            self.part.unlink(missing_ok=True)
        finally:
            self._release()

    def keep(self) -> None:
        """Leave what was written under its ``.part`` name."""
        self._release()

    def _release(self) -> None:
        with _LOCK:
            _IN_USE.discard(self._key)
            if hasattr(self, "part"):
                _PARTS.discard(self.part)


def _take_name(path: Path) -> Path:
    """Make an empty file under the first ``.part`` name that is free."""
    for number in itertools.count(1):
        part = path.with_name(f"{path.stem}.part{'' if number == 1 else number}{path.suffix}")
        try:
            # Asked now and by the operating system, because libraries tell late or in other words.
            part.open("xb").close()
        except FileExistsError:
            continue
        return part
    raise AssertionError

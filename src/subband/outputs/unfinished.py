"""Files that are written beside their name, and moved there when they are complete."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, BinaryIO, cast

from subband.errors import ArgumentError, SubbandError
from subband.outputs.checked import CheckedFile, prove
from subband.outputs.names import FULL, check_output, explain_output_error, follow_links
from subband.typing import PathLike

__all__ = ["Unfinished", "open_output", "place_output", "remove_unfinished"]

# Of a name, on all usual file systems.
_LONGEST_NAME = 255

# Two sinks of one process that write to the same name would mix their bytes.
_IN_USE: set[Path] = set()
# What this process is writing, under names of the moment.
_PARTS: set[Path] = set()
_LOCK = Lock()


@contextmanager
def place_output(path: PathLike, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary name beside `path` to write to, and rename the file when the block succeeds.

    Whoever looks at `path` meanwhile finds what was there before; if the block fails, that stays.

    Parameters
    ----------
    path : str or path
        Where the file belongs. The lent name has the same ending, so that libraries choose the same format.
    overwrite : bool
        Whether a file may be there already.

    Yields
    ------
    Path
        In the same folder, hidden; an empty file is there.

    Raises
    ------
    ArgumentError
        If `path` is a folder, its folder does not exist, or a file is there that must stay.
    OutputError
        If the disk is full, whether or not the block noticed, or the folder takes no files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from subband.media import place_output
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting.txt")
    ...     with place_output(path) as unfinished:
    ...         _ = unfinished.write_text("hello")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    hello
    """
    path = Path(path)
    unfinished = Unfinished(path, overwrite=overwrite, hidden=True)
    try:
        yield unfinished.part
        unfinished.place()
    except OSError as error:
        # others may be about what the block reads
        if isinstance(error, SubbandError) or error.errno not in FULL:
            raise
        raise explain_output_error(path, error) from error
    finally:
        unfinished.remove()


@contextmanager
def open_output(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write bytes to, which appears under its name when the block succeeds.

    Parameters
    ----------
    path : Path
        Where the file belongs.
    overwrite : bool
        Whether a file may be there already.

    Yields
    ------
    file
        A `CheckedFile`, buffered.

    Raises
    ------
    ArgumentError, OutputError
        As `place_output` says.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting.txt")
    ...     with open_output(path) as file:
    ...         _ = file.write(b"hello")
    ...     print(path.read_text())
    hello
    """
    unfinished = Unfinished(path, overwrite=overwrite, hidden=True)
    try:
        yield unfinished.open()
        unfinished.place()
    except Exception as error:
        raise unfinished.explain(error, only_full=True) from error
    finally:
        unfinished.remove()


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

    The name is ``video.part.mp4`` for ``video.mp4``: visible, because it may be large, and with the same ending, so
    that players open it. Existing files stay: where that name is taken, by a source of this name or by what a process
    left that was killed, it is ``video.part2.mp4``, and so on.

    Parameters
    ----------
    path : Path
        Where the file belongs.
    overwrite : bool
        Whether a file may be there already.
    hidden : bool
        For what is written at once: take a hidden name, ``.video.4711.part.mp4``, and let several write to `path`.

    Attributes
    ----------
    part : Path
        The file to be written by its name, if not through `open`; beside the one that `path` leads to.

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
    ...     unfinished = Unfinished(Path(folder, "video.mp4"))
    ...     _ = unfinished.open().write(b"...")
    ...     print(unfinished.part.name)
    ...     unfinished.place()
    ...     print([path.name for path in Path(folder).iterdir()])
    video.part.mp4
    ['video.mp4']
    """

    def __init__(self, path: Path, *, overwrite: bool = False, hidden: bool = False) -> None:
        check_output(path, overwrite=overwrite)
        self.path = path
        self._overwrite = overwrite
        self._target = follow_links(path)
        # a pipe or a device is written to, and not replaced
        self._is_stream = path.exists() and not path.is_file()
        self._key = None if hidden or self._is_stream else self._target.absolute()
        self._raw: CheckedFile | None = None
        self._file: IO[bytes] | None = None
        self._is_placed = False
        with _LOCK:
            if self._key in _IN_USE:
                raise ArgumentError(f"{str(path)!r} is being written already; end that sink first")
            if self._key is not None:
                _IN_USE.add(self._key)
        try:
            self.part = self._take_name(hidden=hidden)
        except OSError as error:
            self._release()
            raise explain_output_error(path, error) from error
        with _LOCK:
            _PARTS.add(self.part)

    def open(self, *, quiet: bool = False) -> BinaryIO:
        """Open the file, to be written through a `CheckedFile`; `place`, `keep` and `remove` close it.

        Parameters
        ----------
        quiet : bool
            For libraries in C: not buffered, and failures are told by `check` only.
        """
        self._raw = CheckedFile(self.part, quiet=quiet)
        self._file = cast("IO[bytes]", self._raw if quiet else io.BufferedRandom(self._raw))
        return cast(BinaryIO, self._file)

    def check(self) -> None:
        """Raise the first failure to write, if there was one.

        Raises
        ------
        OutputError
            That says why.
        """
        if self._raw is not None and self._raw.error is not None:
            raise explain_output_error(self.path, self._raw.error) from self._raw.error

    def explain(self, error: Exception, *, only_full: bool = False) -> Exception:
        """Return the error to raise for one that occurred while the file was written.

        Parameters
        ----------
        error : Exception
            What a library made of a failure, perhaps in its own words.
        only_full : bool
            Explain those errors of the operating system only that come of writing.
        """
        if isinstance(error, SubbandError):
            return error
        first = self._raw.error if self._raw is not None else None
        if first is not None:
            return explain_output_error(self.path, first)
        if isinstance(error, OSError) and (not only_full or error.errno in FULL):
            return explain_output_error(self.path, error)
        return error

    def place(self, *, is_complete: bool = False) -> None:
        """Move the complete file to its name.

        Parameters
        ----------
        is_complete : bool
            That all of it is on the disk is known already, because it was written by `place_output` or the like.

        Raises
        ------
        ArgumentError
            If a file has come there meanwhile that must stay.
        OutputError
            If not all of it was written, whether or not whoever wrote it noticed.
        """
        try:
            if not is_complete:
                self._complete()
            check_output(self.path, overwrite=self._overwrite)
            if self._is_stream:
                self._pour()
            else:
                _keep_mode(self.part, self._target)
                self.part.replace(self._target)
        except OSError as error:
            raise self.explain(error) from error
        self._is_placed = True
        self._release()

    def remove(self) -> None:
        """Delete what was written; a file that was moved to its name stays."""
        try:
            self._close()
            # the name may be that of another file by now
            if not self._is_placed:
                self.part.unlink(missing_ok=True)
        finally:
            self._release()

    def keep(self) -> None:
        """Leave what was written under its ``.part`` name."""
        self._close()
        self._release()

    def _complete(self) -> None:
        """Flush the file to the disk and check its length."""
        if self._raw is None:
            prove(self.part)
            return
        assert self._file is not None
        if not self._file.closed:
            self._file.flush()
        if self._raw.closed:
            self.check()
            prove(self.part)
        else:
            self._raw.complete()

    def _close(self) -> None:
        # what is not complete may be closed by whatever way it takes
        for file in (self._file, self._raw):
            with suppress(OSError, ValueError):
                if file is not None:
                    file.close()

    def _pour(self) -> None:
        with self.part.open("rb") as source, self.path.open("wb") as stream:
            shutil.copyfileobj(source, stream)
        self.part.unlink()

    def _release(self) -> None:
        with _LOCK:
            if self._key is not None:
                _IN_USE.discard(self._key)
            self._key = None
            if hasattr(self, "part"):
                _PARTS.discard(self.part)

    def _take_name(self, *, hidden: bool) -> Path:
        """Create an empty file under the first free ``.part`` name."""
        suffix = self.path.suffix
        folder = self._target.parent
        if self._is_stream:
            from tempfile import gettempdir

            folder = Path(gettempdir())
        for number in itertools.count(1):
            end = f".part{'' if number == 1 else number}{suffix}"
            start, end = (f".{self._target.stem}", f".{os.getpid()}{end}") if hidden else (self._target.stem, end)
            part = folder / f"{_shorten(start, _LONGEST_NAME - len(os.fsencode(end)))}{end}"
            try:
                # Asked now and by the operating system, because libraries tell late or in other words.
                part.open("xb").close()
            except FileExistsError:
                continue
            # what only its owner may read is not shown to others on the way
            with suppress(OSError):
                _keep_mode(part, self._target, least=stat.S_IRUSR | stat.S_IWUSR)
            return part
        raise AssertionError


def _shorten(name: str, length: int) -> str:
    """Cut a name to a number of bytes."""
    return os.fsdecode(os.fsencode(name)[: max(length, 1)].decode(errors="ignore").encode())


def _keep_mode(part: Path, target: Path, *, least: int = 0) -> None:
    """Give a file the permissions and, as far as this user may, the owner of the one that it replaces."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(old.st_mode):
        return
    new = part.stat()
    if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        # first, because it takes away some of the permissions
        with suppress(PermissionError):
            os.chown(part, old.st_uid, old.st_gid)
    if stat.S_IMODE(part.stat().st_mode) != stat.S_IMODE(old.st_mode) | least:
        part.chmod(stat.S_IMODE(old.st_mode) | least)

"""Files that appear under their name only when they are complete: the one place through which everything is written.

A file is written beside its name. Every write is checked, and when the last is done, the file is flushed to the disk,
its size is compared with what was written, and only then is it moved to its name. What goes wrong on the way leaves
what was there before. A name that is a link stays one: the file that it leads to is replaced. A file that is replaced
keeps its permissions and its owner.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, current_thread, main_thread
from typing import IO, Any, BinaryIO, cast

from subband.errors import ArgumentError, SubbandError

__all__ = [
    "CheckedFile",
    "OutputError",
    "Unfinished",
    "check_output",
    "defer_signals",
    "explain_output_error",
    "flush_file",
    "follow_links",
    "open_output",
    "place_output",
    "remove_unfinished",
]

# What the operating system says, in words that lead somewhere.
_CAUSES = {
    errno.ENOSPC: "the disk is full; make room or write to another one",
    errno.EDQUOT: "the quota of this user is used up; make room or write elsewhere",
    errno.EFBIG: "files of this size are not allowed there; raise the limit or write elsewhere",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EACCES: "the folder or the file may not be written to; change its permissions or write elsewhere",
    errno.EPERM: "the folder or the file may not be written to; change its permissions or write elsewhere",
    errno.ENOENT: "the folder does not take new files; write elsewhere",
    errno.ELOOP: "the link leads back to itself; remove it or take another name",
}
# Those that only a file that is written can meet.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
# Devices and some network folders have nothing to flush.
_NOTHING_TO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
# Of a name, on all usual file systems.
_LONGEST_NAME = 255

# Two sinks of one process that write to the same name would mix their bytes.
_IN_USE: set[Path] = set()
# What this process is writing, under names of the moment.
_PARTS: set[Path] = set()
_LOCK = Lock()


class OutputError(SubbandError, OSError):
    """A file cannot be written: the disk is full, the folder takes no files, or the connection is gone."""


def explain_output_error(path: Path, error: OSError) -> OutputError:
    """Say in one line why a file cannot be written.

    Examples
    --------
    >>> print(explain_output_error(Path("film.mkv"), OSError(errno.ENOSPC, "No space left on device")))
    'film.mkv' cannot be written: the disk is full; make room or write to another one
    """
    cause = _CAUSES.get(error.errno or 0) or error.strerror or str(error)
    explained = OutputError(f"{str(path)!r} cannot be written: {cause}")
    explained.errno = error.errno
    return explained


def follow_links(path: Path) -> Path:
    """Return the file that a name stands for: where a link leads to, even if nothing is there yet.

    Raises
    ------
    OutputError
        If a link leads back to itself.

    Examples
    --------
    >>> follow_links(Path("picture.png")).name
    'picture.png'
    """
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise explain_output_error(path, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
    return target


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
    target = follow_links(path)
    if not target.parent.is_dir():
        leads = "" if target is path else f", to which {str(path)!r} leads,"
        raise ArgumentError(
            f"the folder {str(target.parent)!r} of {target.name!r}{leads} does not exist; make it first"
        )
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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting.txt")
    ...     with place_output(path) as unfinished:
    ...         _ = unfinished.write_text("hello")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    hello
    """
    unfinished = Unfinished(path, overwrite=overwrite, hidden=True)
    try:
        yield unfinished.part
        unfinished.place()
    except OSError as error:
        # others may be about what the block reads
        if isinstance(error, SubbandError) or error.errno not in _FULL:
            raise
        raise explain_output_error(path, error) from error
    finally:
        unfinished.remove()


@contextmanager
def open_output(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file to write bytes to, which appears under its name when the block ends well.

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


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let Ctrl-C and the signals that end programs wait until a block is done.

    Python raises `KeyboardInterrupt` where it runs next, which may be a function that a library in C calls back and
    that must not fail. Blocks have to be short.

    Examples
    --------
    >>> with defer_signals():
    ...     print("to the end")
    to the end
    """
    if current_thread() is not main_thread():
        # they only ever come in the main thread
        yield
        return
    usual: dict[int, Any] = {}
    waiting: list[tuple[int, Any]] = []
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and callable(handler := signal.getsignal(number)):
                usual[number] = handler
                signal.signal(number, lambda number, frame: waiting.append((number, frame)))
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            usual[number](number, frame)


class CheckedFile(io.RawIOBase):
    """A binary file that remembers the first write that failed, even if the library that wrote did not look.

    Libraries lose the end of a file on a full disk when they do not look at what `write` or `close` returns, and some
    crash when they cannot write what they have to before they close. This file keeps in memory what the disk did not
    take, so that they find what they wrote and close in good order; `error` says that it is worth nothing. It lends its
    descriptor to nobody, so that all they write passes here.

    Parameters
    ----------
    path : Path
        Of a file that is there.
    quiet : bool
        Remember a failure without raising it: for libraries in C that call back, and do not expect one. See
        `defer_signals` for the other way in which one may come.

    Attributes
    ----------
    error : OSError or None
        The first failure.
    """

    def __init__(self, path: Path, *, quiet: bool = False) -> None:
        super().__init__()
        self._file = path.open("r+b", buffering=0)
        self._quiet = quiet
        self._at = self._size = 0
        self._lost: list[tuple[int, bytes]] = []
        self.error: OSError | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return where the next byte goes."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go elsewhere."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = start + offset
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Cut the file, or fill it up with zeros."""
        size = self._at if size is None else size
        if self.error is None:
            try:
                self._file.truncate(size)
            except OSError as error:
                self._fail(error)
        self._size = size
        return size

    def readinto(self, buffer: Any) -> int:
        """Read what was written."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        self._file.seek(self._at)
        found = self._file.read(count) or b""
        view[:count] = found.ljust(count, b"\0")
        for start, data in self._lost:
            first, last = max(start, self._at), min(start + len(data), self._at + count)
            if first < last:
                view[first - self._at : last - self._at] = data[first - start : last - start]
        self._at += count
        return count

    def write(self, data: Any) -> int:
        """Write all of it; a disk that takes a part of it takes none."""
        view = memoryview(data).cast("B")
        start, done = self._at, 0
        self._at += len(view)
        self._size = max(self._size, self._at)
        try:
            if self.error is None:
                self._file.seek(start)
            while self.error is None and done < len(view):
                done += self._file.write(view[done:]) or 0
        except OSError as error:
            self._lost.append((start + done, bytes(view[done:])))
            self._fail(error)
        else:
            if done < len(view):
                self._lost.append((start, bytes(view)))
        return len(view)

    def complete(self) -> None:
        """Flush to the disk, and see that the file is as long as what was written; close it.

        Raises
        ------
        OSError
            The first failure, if there was one.
        """
        try:
            if self.error is None:
                _flush(self._file)
            if self.error is None and os.fstat(self._file.fileno()).st_size != self._size:
                raise OSError(errno.EIO, "the file is shorter than what was written")
        except OSError as error:
            self.error = error
        finally:
            self.close()
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            try:
                super().close()
            finally:
                # network folders tell here
                try:
                    self._file.close()
                except OSError as error:
                    self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.error = self.error or error
        if not self._quiet:
            raise error


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
    hidden : bool
        For what is written at once: take a hidden name, ``.film.4711.part.mp4``, and let several write to `path`.

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
    ...     unfinished = Unfinished(Path(folder, "film.mp4"))
    ...     _ = unfinished.open().write(b"...")
    ...     print(unfinished.part.name)
    ...     unfinished.place()
    ...     print([path.name for path in Path(folder).iterdir()])
    film.part.mp4
    ['film.mp4']
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
        """Return what is to be told of an error that came up while the file was written.

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
        if isinstance(error, OSError) and (not only_full or error.errno in _FULL):
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
        """Delete what was written; nothing happens to a file that is in its place."""
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
        """See that all that was written is on the disk."""
        if self._raw is None:
            _prove(self.part)
            return
        assert self._file is not None
        if not self._file.closed:
            self._file.flush()
        if self._raw.closed:
            self.check()
            _prove(self.part)
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
        """Make an empty file under the first ``.part`` name that is free."""
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


def flush_file(path: Path) -> None:
    """Wait until a file that is written is on the disk.

    Raises
    ------
    OSError
        If the disk did not take it.
    """
    with path.open("r+b", buffering=0) as file:
        _flush(file)


def _prove(part: Path) -> None:
    """Raise what a library may have missed: where a write came short, not one more byte can be added."""
    with part.open("r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.write(b"\0")
        file.truncate(size)
        _flush(file)


def _flush(file: IO[bytes]) -> None:
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in _NOTHING_TO_FLUSH:
            raise

"""Binary files whose writes are checked, whether or not the library that writes looks."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import IO, Any

__all__ = ["CheckedFile", "flush", "flush_file", "prove"]

# Devices and some network folders have nothing to flush.
_NOTHING_TO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


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
        """Return the position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position of the next read or write."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = start + offset
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the length of the file, filling it up with zeros."""
        size = self._at if size is None else size
        if self.error is None:
            try:
                self._file.truncate(size)
            except OSError as error:
                self._fail(error)
        self._size = size
        return size

    def readinto(self, buffer: Any) -> int:
        """Read bytes that were written."""
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
        """Write all bytes, or fail if only a part of them was written."""
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
        """Flush to the disk, check that the file is as long as what was written, and close it.

        Raises
        ------
        OSError
            The first failure, if there was one.
        """
        try:
            if self.error is None:
                flush(self._file)
            # longer is no fault: something may have been added by the name of the file
            if self.error is None and os.fstat(self._file.fileno()).st_size < self._size:
                raise OSError(errno.EIO, "the file is shorter than what was written")
        except OSError as error:
            self.error = error
        finally:
            self.close()
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Close the file."""
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


def flush_file(path: Path) -> None:
    """Wait until a file that is written is on the disk.

    Raises
    ------
    OSError
        If the disk did not take it.
    """
    with path.open("r+b", buffering=0) as file:
        flush(file)


def prove(part: Path) -> None:
    """Raise the write error that a library may have ignored: after a short write, one more byte fails too."""
    with part.open("r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.write(b"\0")
        file.truncate(size)
        flush(file)


def flush(file: IO[bytes]) -> None:
    """Bring what was written to the disk."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in _NOTHING_TO_FLUSH:
            raise

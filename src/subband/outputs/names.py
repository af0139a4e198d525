"""Checks of output file names, and error messages for files that cannot be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from subband.errors import ArgumentError, SubbandError
from subband.typing import PathLike

__all__ = ["FULL", "OutputError", "check_output", "explain_output_error", "follow_links"]

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
#: Those that only a file that is written can meet.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class OutputError(SubbandError, OSError):
    """A file cannot be written: the disk is full, the folder takes no files, or the connection is gone."""


def explain_output_error(path: Path, error: OSError) -> OutputError:
    """Say in one line why a file cannot be written.

    Examples
    --------
    >>> print(explain_output_error(Path("video.mkv"), OSError(errno.ENOSPC, "No space left on device")))
    'video.mkv' cannot be written: the disk is full; make room or write to another one
    """
    cause = _CAUSES.get(error.errno or 0) or error.strerror or str(error)
    explained = OutputError(f"{str(path)!r} cannot be written: {cause}")
    explained.errno = error.errno
    return explained


def follow_links(path: Path) -> Path:
    """Resolve symbolic links: return the file that a name leads to, even if it does not exist yet.

    Raises
    ------
    OutputError
        If a link leads back to itself.

    Examples
    --------
    >>> follow_links(Path("image.png")).name
    'image.png'
    """
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise explain_output_error(path, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
    return target


def check_output(path: PathLike, *, overwrite: bool = False) -> None:
    """Check that a file can be written under a name, before a long computation.

    Parameters
    ----------
    path : str or path
        Where a file is to appear.
    overwrite : bool
        Whether a file may be there already.

    Raises
    ------
    ArgumentError
        If `path` is a folder, its folder does not exist, or a file is there that must stay.

    Examples
    --------
    >>> from subband.media import check_output
    >>> check_output("no-such-folder/image.png")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: the folder 'no-such-folder' of 'image.png' does not exist; make it first
    """
    path = Path(path)
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

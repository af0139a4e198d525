"""What goes wrong with files: damage that is found on the way, and places that cannot be written to."""

from __future__ import annotations

import errno
import logging
import struct
import tokenize
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

from subband.errors import FormatError, MissingExtraError, SubbandError

__all__ = ["BROKEN", "DamageWarning", "DamagedError", "LossWarning", "OutputError", "explain_output_error", "require"]

#: What libraries raise when they stumble over damaged files.
BROKEN: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
)

_SILENT = logging.NullHandler()

# What the operating system says, in words that lead somewhere.
_CAUSES = {
    errno.ENOSPC: "the disk is full; make room or write to another one",
    errno.EDQUOT: "the quota of this user is used up; make room or write elsewhere",
    errno.EFBIG: "files of this size are not allowed there; raise the limit or write elsewhere",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EACCES: "the folder or the file may not be written to; change its permissions or write elsewhere",
    errno.EPERM: "the folder or the file may not be written to; change its permissions or write elsewhere",
    errno.ENOENT: "the folder does not take new files; write elsewhere",
}


class DamagedError(FormatError):
    """A file is damaged or cut off, after frames that could be read.

    Parameters
    ----------
    message : str
        Which file, and what is the matter.
    frames : int
        How many frames came before the damage.

    Examples
    --------
    >>> DamagedError("'film.mp4' ends too early", 41).frames
    41
    """

    def __init__(self, message: str, frames: int) -> None:
        super().__init__(message)
        self.frames = frames


class DamageWarning(UserWarning):
    """A damaged file was read on, because its reader was asked to be tolerant."""


class LossWarning(UserWarning):
    """Something of a file has no place in another one, or cannot be read, and is left out."""


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


def require(module: str, feature: str, extra: str) -> Any:
    """Import an optional library, or say how to install it.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> require("no_such_library", "reading film", "video")
    Traceback (most recent call last):
        ...
    subband.errors.MissingExtraError: reading film needs an optional library; install it with: pip install
    'subband[video]'
    """
    # Their errors become ours; without a handler, Python would print what they log besides.
    logging.getLogger(module).addHandler(_SILENT)
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error

"""Errors and warnings of files: damage that is found while reading, and missing libraries."""

from __future__ import annotations

import logging
import struct
import tokenize
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from subband.errors import FormatError, MissingExtraError, SubbandError
from subband.outputs import OutputError, explain_output_error

__all__ = [
    "BROKEN",
    "DamageWarning",
    "DamagedError",
    "LossWarning",
    "OutputError",
    "explain_damage",
    "explain_output_error",
    "name_file",
    "require",
]

#: What libraries raise when they stumble over damaged files.
BROKEN: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
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
    >>> from subband.media import DamagedError
    >>> DamagedError("'video.mp4' ends too early", 41).frames
    41
    """

    def __init__(self, message: str, frames: int) -> None:
        super().__init__(message)
        self.frames = frames


class DamageWarning(UserWarning):
    """A damaged file was read on, because its reader was asked to be tolerant."""


class LossWarning(UserWarning):
    """Something of a file cannot be kept in another; the message says what, in one line."""


@contextmanager
def explain_damage(path: Path, what: str, *others: type[Exception]) -> Iterator[None]:
    """Turn what a library raises over a damaged file into an error that names the file.

    Parameters
    ----------
    path : Path
        The file, or a folder of files. Where there is none, that is Python's own error.
    what : str
        What it was taken for.
    *others : types of exceptions
        Of the library, beside `BROKEN`.

    Raises
    ------
    FormatError
        Unless the error is one of ours already.

    Examples
    --------
    >>> with explain_damage(Path(), "a series"):
    ...     raise ValueError("slice 3 is cut off")
    Traceback (most recent call last):
        ...
    subband.errors.FormatError: '.' cannot be read as a series: slice 3 is cut off
    """
    if not path.is_dir():
        path.open("rb").close()
    try:
        yield
    except SubbandError:
        raise
    except (*BROKEN, *others) as error:
        reason = str(error) or "there is no image in it"
        raise FormatError(f"{str(path)!r} cannot be read as {what}: {reason}") from error


@contextmanager
def name_file(path: Path, what: str) -> Iterator[None]:
    """Name the file in an error of ours over what is in it.

    Examples
    --------
    >>> with name_file(Path("scan.jp2"), "JPEG 2000"):
    ...     raise FormatError("it is cut off")
    Traceback (most recent call last):
        ...
    subband.errors.FormatError: 'scan.jp2' cannot be read as JPEG 2000: it is cut off
    """
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{str(path)!r} cannot be read as {what}: {error}") from error


def require(module: str, feature: str, extra: str) -> Any:
    """Import an optional library, or say how to install it.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> require("no_such_library", "reading video", "video")
    Traceback (most recent call last):
        ...
    subband.errors.MissingExtraError: reading video needs an optional library; install it with: pip install
    'subband[video]'
    """
    # Their errors become ours; without a handler, Python would print what they log besides.
    logging.getLogger(module).addHandler(_SILENT)
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error

"""What a decoder says about a stream that is not whole."""

from __future__ import annotations

import warnings

from subband.errors import CodecError

__all__ = ["CodecWarning", "TooManyError", "warn"]


class TooManyError(CodecError):
    """The tiles of a stream declare more precincts or code-blocks than its bytes can hold."""


class CodecWarning(UserWarning):
    """A compressed stream is cut short or damaged in part; what could be decoded was decoded."""


def warn(message: str) -> None:
    """Warn about a stream; the warning points to who called the codec, not into it.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("the stream ends early")
    >>> caught[0].category.__name__
    'CodecWarning'
    """
    warnings.warn(message, CodecWarning, stacklevel=3)

"""What a session asks of a renderer and what it gets back: a `Job` in, a `Message` out, both plain data.

Neither side knows the other. A job holds everything that rendering needs, so that it can be rendered without a page;
a message holds everything that sending needs, so that a page can be served without a renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from subband.studio.large import View
from subband.studio.levels import Window
from subband.studio.player import DisplayFrame
from subband.studio.settings import Resolved
from subband.typing import Array

__all__ = ["Job", "Message"]


@dataclass(frozen=True)
class Job:
    """A frame to render.

    Attributes
    ----------
    resolved : Resolved
        The tool and its settings, the view among them.
    engine : str
        The engine that computes.
    frame : DisplayFrame or None
        The frame of the source; None for tools that take none.
    choose_format : callable
        Returns the format to encode so many pixels in; see `subband.studio.encoding.Link.choose`.
    view : View or None
        What the page sees of a large image that does not move: that is computed and sent; None for all of the frame.
    is_moving : bool
        Whether the frame is one of a video that plays: it is computed whole, and sent at the resolution of the view.
    is_rest : bool
        Whether a further block of what was shown last is to be computed, and not what is seen first.
    band : str or None
        Such as ``dd1``: measure the histogram of this band of the frame instead of showing the frame.
    echo : mapping
        Copied into the header of the message, so that the page knows what it answers to.
    """

    resolved: Resolved
    engine: str
    frame: DisplayFrame | None
    choose_format: Callable[[int], str]
    view: View | None = None
    is_moving: bool = False
    is_rest: bool = False
    band: str | None = None
    echo: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """What a job resulted in.

    Attributes
    ----------
    header : dict or None
        What the page is told, with its ``"type"``; None if there is nothing to show.
    payload : tuple of bytes
        What follows the header; a message without payload is sent as text.
    format : str
        In which pixels are encoded.
    pixels : int
        How many there are.
    seconds : mapping
        How long each stage took.
    pair : tuple of ndarray, optional
        The frame and the result in their own numbers, for measurements.
    window : Window
        Through which they are shown.
    left : int
        Blocks of a large image that are not computed yet.
    error : str
        What went wrong, in a sentence; empty if nothing did.
    about : {"", "engine", "settings", "histogram"}
        What the error is about.
    """

    header: dict[str, Any] | None = None
    payload: tuple[bytes, ...] = ()
    format: str = ""
    pixels: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    pair: tuple[Array, Array] | None = None
    window: Window = field(default_factory=Window)
    left: int = 0
    error: str = ""
    about: str = ""

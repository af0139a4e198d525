"""What sinks write with; see `subband.outputs`, which is for everything that writes."""

from __future__ import annotations

from subband.outputs import (
    CheckedFile,
    Unfinished,
    check_output,
    defer_signals,
    follow_links,
    open_output,
    place_output,
    remove_unfinished,
)

__all__ = [
    "CheckedFile",
    "Unfinished",
    "check_output",
    "defer_signals",
    "follow_links",
    "open_output",
    "place_output",
    "remove_unfinished",
]

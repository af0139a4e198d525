"""Output files that appear under their name only when they are complete; everything is written through here.

A file is written beside its name. Every write is checked, and when the last is done, the file is flushed to the disk,
its size is compared with what was written, and only then is it moved to its name. What goes wrong on the way leaves
what was there before. A name that is a link stays one: the file that it leads to is replaced. A file that is replaced
keeps its permissions and its owner.
"""

from __future__ import annotations

from subband.outputs.checked import CheckedFile, flush_file
from subband.outputs.names import OutputError, check_output, explain_output_error, follow_links
from subband.outputs.signals import defer_signals
from subband.outputs.unfinished import Unfinished, open_output, place_output, remove_unfinished

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

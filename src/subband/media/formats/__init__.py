"""File formats, one file each; a new file in this folder is a new format everywhere.

A format is a record: its name, the endings of its files, what they hold, how a file is recognised, read and written,
and what is kept of a source. Nobody else knows its endings: `subband.media`, the command line, the studio, Dask and the
tables of the documentation ask the record. A module of this folder has its records in ``FORMATS``; libraries that
it needs are imported inside its functions.
"""

from __future__ import annotations

from subband.media.formats.base import Format, Reading, Writing
from subband.media.formats.lookup import (
    find_format,
    list_endings,
    list_formats,
    make_table,
    recognise_format,
    register_format,
    split_dataset,
    split_ending,
)

__all__ = [
    "Format",
    "Reading",
    "Writing",
    "find_format",
    "list_endings",
    "list_formats",
    "make_table",
    "recognise_format",
    "register_format",
    "split_dataset",
    "split_ending",
]

"""Reading and writing pictures."""

from __future__ import annotations

from subband.media.outputs import check_output, place_output
from subband.media.stills import Still, read_still, write_still

__all__ = ["Still", "check_output", "place_output", "read_still", "write_still"]

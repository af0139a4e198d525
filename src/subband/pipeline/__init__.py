"""From a source of frames through an operation to a sink, with everything that can overlap overlapped."""

from __future__ import annotations

from subband.pipeline.frames import Pipeline, process_frames

__all__ = ["Pipeline", "process_frames"]

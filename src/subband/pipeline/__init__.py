"""From a source of frames through an operation to a sink, with everything that can overlap overlapped."""

from __future__ import annotations

from subband.pipeline.files import add_noise_to_file, enhance_file
from subband.pipeline.frames import Pipeline, process_frames
from subband.pipeline.relay import CancelledError, Progress, Report
from subband.pipeline.units import scale_enhancer

__all__ = [
    "CancelledError",
    "Pipeline",
    "Progress",
    "Report",
    "add_noise_to_file",
    "enhance_file",
    "process_frames",
    "scale_enhancer",
]

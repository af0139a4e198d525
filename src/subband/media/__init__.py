"""Images, video, cameras and volumes: reading, writing and streaming.

`open_source` opens anything that holds frames and `open_sink` anything that takes them; `subband.media.base` says what
both keep to. `read_still` and `write_still` are shorter for single images.
"""

from __future__ import annotations

from subband.media.base import ColourTags, Frame, Sink, Source, SourceInfo
from subband.media.camera import CameraSource, TestSource
from subband.media.cuts import Trim
from subband.media.faults import DamagedError, DamageWarning, LossWarning, OutputError
from subband.media.geometry import PlaceWarning
from subband.media.limits import MOST_PIXELS, TooLargeError
from subband.media.pipes import PipeFormat, open_pipe_sink, open_pipe_source
from subband.media.registry import list_sources, open_sink, open_source, open_video, open_volume
from subband.media.stills import Still, imread, imwrite, read_still, write_still
from subband.media.video import FilmSource
from subband.media.video_sink import FilmSink
from subband.media.volumes import VolumeSource
from subband.outputs import check_output, place_output

__all__ = [
    "MOST_PIXELS",
    "CameraSource",
    "ColourTags",
    "DamageWarning",
    "DamagedError",
    "FilmSink",
    "FilmSource",
    "Frame",
    "LossWarning",
    "OutputError",
    "PipeFormat",
    "PlaceWarning",
    "Sink",
    "Source",
    "SourceInfo",
    "Still",
    "TestSource",
    "TooLargeError",
    "Trim",
    "VolumeSource",
    "check_output",
    "imread",
    "imwrite",
    "list_sources",
    "open_pipe_sink",
    "open_pipe_source",
    "open_sink",
    "open_source",
    "open_video",
    "open_volume",
    "place_output",
    "read_still",
    "write_still",
]

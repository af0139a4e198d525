"""VC-2 by our own codec: elementary streams, without sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subband.errors import ArgumentError
from subband.media.base import Sink, Source, SourceInfo
from subband.media.formats.base import Format, Reading, Writing

__all__ = ["FORMATS"]


def _open(path: Path, reading: Reading) -> Source:
    from subband.media.vc2 import Vc2Source

    return Vc2Source(path, **reading.video)


def _create(path: Path, info: SourceInfo, writing: Writing) -> Sink:
    from subband.media.vc2 import Vc2Sink

    options: dict[str, Any] = {name: value for name, value in writing.video.items() if name != "preset"}
    if options.pop("codec", None) is not None:
        raise ArgumentError(f"{path.name!r} is VC-2, which has one codec; leave codec out, or take a name such as .mkv")
    return Vc2Sink(path, info, quality=writing.quality, audio=writing.audio, **writing.kept, **options)


FORMATS = (
    Format(
        "VC-2",
        (".vc2",),
        ("video",),
        about="our own codec; `--quality 100` loses nothing",
        extra="video",
        starts=(b"BBCD",),
        open=_open,
        create=_create,
    ),
)

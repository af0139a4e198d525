"""Video, through FFmpeg: containers that are read and written, and those that are only read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subband.media.base import Sink, Source, SourceInfo
from subband.media.formats.base import Format, Reading, Writing
from subband.media.formats.lookup import find_format
from subband.media.video import FilmSource
from subband.media.video_formats import VideoFormat
from subband.media.video_sink import FilmSink

__all__ = ["FORMATS"]


def _open(path: Path, reading: Reading) -> Source:
    return FilmSource(path, **reading.video)


def _create(path: Path, info: SourceInfo, writing: Writing) -> Sink:
    if writing.video.get("codec") == "vc2":
        from subband.media.vc2 import Vc2FilmSink

        own: dict[str, Any] = {"settings": writing.video.get("settings"), "audio": writing.audio}
        return Vc2FilmSink(path, info, quality=writing.quality, **own, **writing.kept)
    codec = writing.video.get("codec") or getattr(find_format(path), "codec", None)
    if codec == "jpeg2000" and not {"options", "preset"} & writing.video.keys():
        from subband.media.jpeg2000_video import Jpeg2000FilmSink

        chosen = {name: value for name, value in writing.video.items() if name != "codec"}
        return Jpeg2000FilmSink(path, info, audio=writing.audio, **chosen, **writing.kept)
    return FilmSink(path, info, quality=writing.quality, audio=writing.audio, **writing.kept, **writing.video)


def _describe(name: str, *endings: str, codec: str, **about: Any) -> Format:
    return VideoFormat(
        name,
        endings,
        ("video",),
        about=f"`--codec {codec}` if none is asked for",
        extra="video",
        open=_open,
        create=_create,
        codec=codec,
        **about,
    )


_FRAGMENTS = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}

FORMATS = (
    _describe("MP4", ".mp4", ".m4v", muxer="mp4", codec="libx264", partial=_FRAGMENTS, rank=1),
    _describe("Matroska", ".mkv", muxer="matroska", codec="ffv1", rank=2),
    _describe("AVI", ".avi", muxer="avi", codec="rawvideo", is_steady=True),
    _describe("QuickTime", ".mov", muxer="mov", codec="libx264", partial=_FRAGMENTS),
    _describe("MPEG", ".mpg", ".mpeg", muxer="mpeg", codec="mpeg1video", is_steady=True),
    _describe("MPEG transport stream", ".ts", muxer="mpegts", codec="libx264"),
    _describe("MXF", ".mxf", muxer="mxf", codec="mpeg2video", is_steady=True),
    _describe("Motion JPEG 2000", ".mj2", muxer="mov", codec="jpeg2000"),
    _describe("WebM", ".webm", muxer="webm", codec="libvpx-vp9"),
    _describe("Windows Media", ".wmv", muxer="asf", codec="wmv2", is_steady=True),
    _describe("Y4M", ".y4m", muxer="yuv4mpegpipe", codec="rawvideo", is_steady=True, is_streamed=True),
    Format(
        "other containers that FFmpeg knows",
        (
            ".3gp", ".asf", ".dv", ".flv", ".h264", ".m1v", ".m2ts", ".m2v", ".mjpeg", ".mts", ".ogv", ".vob",
        ),
        ("video",),
        extra="video",
        rank=200,
        open=_open,
    ),
)  # fmt: skip

"""What an open video file says: which of its streams holds the images, and what goes along with them."""

from __future__ import annotations

from typing import Any

from subband.errors import FormatError
from subband.media.base import ColourTags, FieldOrder
from subband.media.video_fields import find_first_field
from subband.media.video_hdr import describe_light

__all__ = [
    "choose_alpha_decoder",
    "choose_stream",
    "find_field_order",
    "has_audio",
    "has_extras",
    "read_metadata",
    "read_tags",
]

# By FFmpeg's numbers: fields are shown in the order of the first letter, and stored in that of the second.
_FIELD_ORDERS: dict[int, FieldOrder] = {2: "top", 3: "bottom", 4: "bottom", 5: "top"}


def choose_stream(container: Any, name: str) -> Any:
    """Return the stream that holds the images of an open file of PyAV.

    Parameters
    ----------
    container
        The file.
    name : str
        Its name, for errors.

    Raises
    ------
    FormatError
        If there is none.
    """
    for stream in container.streams.video:
        # The cover of a record is a video of one frame.
        if "attached_pic" not in str(getattr(stream.disposition, "name", "")):
            return stream
    if has_audio(container):
        raise FormatError(f"{name!r} holds no video, only sound")
    raise FormatError(f"{name!r} holds no video, or the part of it that holds the index is missing")


def has_audio(container: Any) -> bool:
    """Tell whether there is sound in a file."""
    return len(container.streams.audio) > 0


def has_extras(container: Any) -> bool:
    """Tell whether there are subtitles, attachments or chapters in a file."""
    has_streams = any(stream.type in ("subtitle", "attachment") for stream in container.streams)
    return has_streams or bool(container.chapters())


def choose_alpha_decoder(stream: Any) -> Any:
    """Return a decoder of the opacity that VP8 and VP9 keep beside their frames; FFmpeg's own leave it out.

    None is for all other video.
    """
    import av

    name = {"vp8": "libvpx", "vp9": "libvpx-vp9"}.get(stream.codec_context.name)
    said = {key.lower(): value for key, value in stream.metadata.items()}
    if name is None or said.get("alpha_mode") != "1":
        return None
    try:
        decoder = av.CodecContext.create(name, "r")
    except ValueError:
        return None
    decoder.extradata = stream.codec_context.extradata
    return decoder


def read_metadata(container: Any, stream: Any, frame: Any) -> dict[str, Any]:
    """Return what a video says about itself, its time code and, in its first frame, its light."""
    known: dict[str, Any] = dict(container.metadata)
    own = {key.lower(): value for key, value in stream.metadata.items()}
    # Matroska shouts
    timecode = own.get("timecode") or known.get("timecode") or known.pop("TIMECODE", None)
    if timecode:
        known["timecode"] = timecode
    if own.get("language", "und") != "und":
        known["video_language"] = own["language"]
    return {**known, **describe_light(frame)}


def find_field_order(stream: Any, frame: Any) -> FieldOrder:
    """Return what the stream says of its fields; a first frame may be progressive and others not."""
    if frame.rotation % 360:
        return "progressive"
    if frame.interlaced_frame:
        return find_first_field(frame)
    return _FIELD_ORDERS.get(int(stream.codec_context.field_order), "progressive")


def read_tags(frame: Any) -> ColourTags:
    """Return how the numbers of a frame are meant as colours."""
    ranges: dict[int, bool | None] = {1: False, 2: True}
    full = True if frame.format.name.startswith("yuvj") else ranges.get(int(frame.color_range))
    return ColourTags(int(frame.colorspace), full, int(frame.color_primaries), int(frame.color_trc))

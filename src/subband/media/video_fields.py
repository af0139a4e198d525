"""Interlaced video: which of a frame's two fields comes first, and telling encoders so.

A field is every second row of a frame, and was recorded half a frame's time before or after the other. PyAV shows
whether a frame is interlaced, but neither shows nor sets which field is first; FFmpeg's filters do.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from subband.media.base import FieldOrder

__all__ = ["FieldMarker", "find_first_field"]

_MODES: dict[FieldOrder, str] = {"progressive": "prog", "top": "tff", "bottom": "bff"}
# What encoders of interlaced frames are told: motion and transforms of each field by itself.
_FLAGS = 1 << 18 | 1 << 29
# FFmpeg's numbers of both fields being coded and shown in the same order.
_ORDERS: dict[FieldOrder, int] = {"progressive": 1, "top": 2, "bottom": 3}
# Those that mark interlaced frames in what they write.
_MARKING = ("dnxhd", "libx264", "mpeg2video", "mpeg4", "prores", "prores_aw", "prores_ks")
# Containers that note it for any codec.
_NOTING = ("matroska", "mov", "mp4", "mxf", "yuv4mpegpipe")


def find_first_field(frame: Any) -> FieldOrder:
    """Return which field of an interlaced frame of FFmpeg's is shown first.

    Examples
    --------
    >>> import av
    >>> frame = av.VideoFrame.from_ndarray(np.arange(64, dtype=np.uint8).reshape(8, 8), format="gray")
    >>> [find_first_field(FieldMarker().mark(frame, order)) for order in ("top", "bottom")]
    ['top', 'bottom']
    """
    # The field that the filter gives first is compared with the two that it can be.
    first = _run_filter(frame, "separatefields", "")
    rows, shown = (
        np.frombuffer(each.planes[0], np.uint8).reshape(each.planes[0].height, -1) for each in (frame, first)
    )
    width = min(rows.shape[1], shown.shape[1], frame.planes[0].width)
    is_bottom = np.array_equal(rows[1::2, :width], shown[:, :width])
    is_top = np.array_equal(rows[0::2, :width], shown[:, :width])
    return "bottom" if is_bottom and not is_top else "top"


class FieldMarker:
    """Marks frames as interlaced for encoders; its filters are kept from frame to frame."""

    def __init__(self) -> None:
        self._graphs: dict[tuple[Any, ...], Any] = {}

    def mark(self, frame: Any, order: FieldOrder) -> Any:
        """Return the frame, marked; the pixels are shared."""
        key = (frame.width, frame.height, frame.format.name, order)
        if key not in self._graphs:
            self._graphs[key] = _make_graph(frame, "setfield", _MODES[order])
        graph = self._graphs[key]
        graph.push(frame)
        marked = graph.pull()
        if frame.time_base is not None:
            marked.pts, marked.time_base = frame.pts, frame.time_base
        return marked

    @staticmethod
    def prepare(context: Any, codec: str, container: str, order: FieldOrder) -> bool:
        """Set an encoder up for interlaced frames; tell whether its file will say that they are."""
        if order == "progressive":
            return True
        context.field_order = _ORDERS[order]
        if codec in _MARKING:
            context.flags |= _FLAGS
        return codec in _MARKING or container in _NOTING


def _make_graph(frame: Any, name: str, argument: str) -> Any:
    from av.filter import Graph

    graph = Graph()
    source = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base or Fraction(1, 25)
    )
    graph.link_nodes(source, graph.add(name, argument), graph.add("buffersink")).configure()
    return graph


def _run_filter(frame: Any, name: str, argument: str) -> Any:
    graph = _make_graph(frame, name, argument)
    graph.push(frame)
    graph.push(None)
    return graph.pull()

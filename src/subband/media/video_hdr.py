"""HDR10: the display that a video was mastered on, and how bright its images are."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

__all__ = ["describe_light", "list_light_options"]

# Of a chromaticity and of candela per square metre, in the messages of H.264 and H.265.
_CHROMATICITY, _LUMINANCE = 50_000, 10_000
_RATIONALS = 10


def describe_light(frame: Any) -> dict[str, Any]:
    """Return what a frame of FFmpeg's says, for the metadata of a source.

    Returns
    -------
    dict
        ``"mastering_display"``: x and y of red, green, blue and white, the smallest and the largest luminance, as ten
        fractions; ``"content_light"``: the largest luminance of a pixel, and of a frame's mean. Both only if known.
    """
    found: dict[str, Any] = {}
    for data in frame.side_data:
        name, content = data.type.name, bytes(data)
        if name == "MASTERING_DISPLAY_METADATA" and len(content) >= 8 * (_RATIONALS + 1):
            numbers = struct.unpack(f"={2 * _RATIONALS + 2}i", content[: 8 * _RATIONALS + 8])
            pairs = zip(numbers[0:20:2], numbers[1:20:2], strict=True)
            if numbers[20] and numbers[21]:
                found["mastering_display"] = tuple(Fraction(above, below or 1) for above, below in pairs)
        elif name == "CONTENT_LIGHT_LEVEL" and len(content) >= 8:
            found["content_light"] = struct.unpack("=2I", content[:8])
    return found


def list_light_options(codec: str, metadata: Mapping[str, Any]) -> dict[str, str] | None:
    """Return an encoder's options that say the same; None if it has none for that.

    Examples
    --------
    >>> list_light_options("libx265", {"content_light": (1000, 400)})
    {'x265-params': 'max-cll=1000,400'}
    >>> list_light_options("ffv1", {}), list_light_options("ffv1", {"content_light": (1000, 400)})
    ({}, None)
    """
    display, light = metadata.get("mastering_display"), metadata.get("content_light")
    if display is None and light is None:
        return {}
    words = {
        "libx264": ("x264-params", "mastering-display", "cll"),
        "libx265": ("x265-params", "master-display", "max-cll"),
        "libsvtav1": ("svtav1-params", "mastering-display", "content-light"),
    }
    if codec not in words:
        return None
    option, display_word, light_word = words[codec]
    parts = []
    if display is not None:
        parts.append(f"{display_word}={_format_display(display, is_decimal=codec == 'libsvtav1')}")
    if light is not None:
        parts.append(f"{light_word}={light[0]},{light[1]}")
    return {option: ":".join(parts)}


def _format_display(display: tuple[Fraction, ...], *, is_decimal: bool) -> str:
    """Return the display in the order of encoders: green, blue, red, white, luminance from the largest."""

    def scale(value: Fraction, unit: int) -> str:
        return f"{float(value):.5f}" if is_decimal else str(round(value * unit))

    red, green, blue, white = (display[start : start + 2] for start in (0, 2, 4, 6))
    points = zip(("G", "B", "R", "WP"), (green, blue, red, white), strict=True)
    text = "".join(f"{name}({scale(x, _CHROMATICITY)},{scale(y, _CHROMATICITY)})" for name, (x, y) in points)
    return f"{text}L({scale(display[9], _LUMINANCE)},{scale(display[8], _LUMINANCE)})"

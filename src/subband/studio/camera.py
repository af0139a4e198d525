"""Frames that the camera of a browser sends."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from subband.errors import FormatError
from subband.media.limits import refuse_bomb
from subband.typing import Array

__all__ = ["CAMERA_INFO", "MOST_BYTES", "MOST_PIXELS", "decode_camera_frame"]

#: Bytes of a frame.
MOST_BYTES = 8 * 2**20
#: Rows × columns of a frame: somewhat more than 3840 × 2160.
MOST_PIXELS = 9 * 2**20

#: What a page is told about a camera before its first frame.
CAMERA_INFO: dict[str, Any] = {
    "title": "Camera",
    "kind": "camera",
    "width": 0,
    "height": 0,
    "channels": 3,
    "rate": None,
    "count": None,
    "duration": None,
    "bits": 8,
    "endings": [],
}

_FORMATS = {"jpeg": "JPEG", "webp": "WEBP", "png": "PNG"}


def decode_camera_frame(header: dict[str, Any], payload: memoryview) -> Array:
    """Return the pixels of a frame.

    Parameters
    ----------
    header : dict
        With its ``format``.
    payload : bytes
        The compressed image.

    Raises
    ------
    FormatError
        If it is none, or larger than is allowed.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> Image.new("RGB", (64, 48)).save(stream, "JPEG")
    >>> decode_camera_frame({"format": "jpeg"}, memoryview(stream.getvalue())).shape
    (48, 64, 3)
    """
    name = _FORMATS.get(str(header.get("format", "jpeg")))
    if name is None:
        raise FormatError(f"a camera frame has the format {str(header.get('format'))[:20]!r}; send jpeg, webp or png")
    if len(payload) > MOST_BYTES:
        raise FormatError(f"a camera frame has {len(payload)} bytes; {MOST_BYTES} are the most")
    try:
        with Image.open(io.BytesIO(payload), formats=[name]) as image:
            refuse_bomb("a camera frame", image.height, image.width, MOST_PIXELS)
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("a camera frame cannot be read") from error

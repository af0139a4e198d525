"""OpenEXR, through the library of those who made it: FFmpeg decodes some compressions wrongly, without a word."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.deep_stills import separate_opacity
from subband.media.faults import LossWarning, explain_damage, require
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.still import Still

__all__ = ["FORMATS", "read_exr", "write_exr"]

_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_WAY_OUT = "convert it to a TIFF file of floating point first"


def read_exr(path: Path, most_pixels: int) -> Still:
    """Read the first part of an OpenEXR file: float32, linear as it stands, and opacity.

    The file has colours multiplied with their opacity; they come without.

    Raises
    ------
    MissingExtraError
        If OpenEXR is not installed.
    FormatError
        If it is damaged, larger than `most_pixels`, or has no colours.

    Warns
    -----
    LossWarning
        If there are channels beside the colours and opacity, such as depth.
    """
    exr = require("OpenEXR", f"reading {path.name!r}, an image in OpenEXR,", "exr")
    with explain_damage(path, "OpenEXR"):
        with exr.File(str(path), header_only=True) as file:
            (left, top), (right, bottom) = file.header()["dataWindow"]
            refuse_bomb(str(path), int(bottom) - int(top) + 1, int(right) - int(left) + 1, most_pixels)
        with exr.File(str(path), separate_channels=True) as file:
            channels = {name: np.array(channel.pixels) for name, channel in file.channels().items()}
    names = ["R", "G", "B"] if {"R", "G", "B"} <= channels.keys() else ["Y"] if "Y" in channels else list(channels)
    wanted = [channels[name] for name in names]
    if len(wanted) not in (1, 3) or "RY" in channels:
        raise FormatError(f"{str(path)!r} has the channels {sorted(channels)}, which are no colours; {_WAY_OUT}")
    if any(plane.dtype.kind != "f" or plane.shape != wanted[0].shape or plane.ndim != 2 for plane in wanted):
        raise FormatError(f"{str(path)!r} has samples that are not floating point at every pixel; {_WAY_OUT}")
    alpha = channels.get("A") if "A" not in names else None
    others = sorted(channels.keys() - {*names, "A"})
    if others:
        warnings.warn(
            f"{str(path)!r} has channels beside its colours, which are left out: {', '.join(others)}",
            LossWarning,
            stacklevel=3,
        )
    pixels = np.stack(wanted, axis=-1).astype(np.float32)
    if alpha is not None:
        alpha = alpha.astype(np.float32)
        pixels = separate_opacity(pixels, alpha)
    return Still(np.ascontiguousarray(pixels if len(wanted) == 3 else pixels[..., 0]), alpha)


def write_exr(path: Path, still: Still, quality: float | None = None) -> None:  # noqa: ARG001 - as of `Format.write`
    """Write an OpenEXR file of float32, without loss."""
    exr: Any = require("OpenEXR", f"writing {path.name!r}", "exr")
    alpha = still.alpha
    planes = still.pixels if still.is_colour else still.pixels[..., None]
    if alpha is not None:
        opacity = alpha[..., None]
        # what is invisible may glow all the same, and stays as it is
        planes = np.where(opacity > 0, planes * opacity, planes)
    names = ["Y"] if planes.shape[2] == 1 else ["R", "G", "B"]
    channels = {name: np.ascontiguousarray(planes[..., channel]) for channel, name in enumerate(names)}
    if alpha is not None:
        channels["A"] = np.ascontiguousarray(alpha)
    try:
        with exr.File({"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage}, channels) as file:
            file.write(str(path))
    except RuntimeError as error:
        # what the operating system said stands in the message only
        number = next((each for each in _FAULTS if os.strerror(each) in str(error)), errno.EIO)
        raise OSError(number, os.strerror(number)) from error


FORMATS = (
    Format(
        "OpenEXR",
        (".exr",),
        ("still",),
        dtypes=("float32",),
        keeps=frozenset({"alpha"}),
        about="linear, opacity apart from the colours",
        extra="exr",
        starts=(b"\x76\x2f\x31\x01",),
        read=read_exr,
        write=write_exr,
    ),
)

"""Which containers and encoders film is written with, and how they are set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from subband.errors import ArgumentError, suggest_names
from subband.media.base import SourceInfo

__all__ = ["CONTAINERS", "PRESETS", "Container", "choose_encoder", "choose_options", "choose_pixel_format"]

#: The trade of time for size, in the words of x264.
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")

_FRAGMENTS = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}


@dataclass(frozen=True)
class Container:
    """A kind of film file.

    Attributes
    ----------
    name : str
        In FFmpeg's words.
    codec : str
        The encoder that is taken if none is asked for.
    is_steady : bool
        Whether frames can only follow each other at one rate.
    partial : dict
        What makes a file playable whose end is missing.
    """

    name: str
    codec: str
    is_steady: bool = False
    partial: tuple[tuple[str, str], ...] = ()


#: By the ending of the name.
CONTAINERS = {
    ".avi": Container("avi", "rawvideo", is_steady=True),
    ".m4v": Container("mp4", "libx264", partial=tuple(_FRAGMENTS.items())),
    ".mkv": Container("matroska", "ffv1"),
    ".mov": Container("mov", "libx264", partial=tuple(_FRAGMENTS.items())),
    ".mp4": Container("mp4", "libx264", partial=tuple(_FRAGMENTS.items())),
    ".mpeg": Container("mpeg", "mpeg1video", is_steady=True),
    ".mpg": Container("mpeg", "mpeg1video", is_steady=True),
    ".webm": Container("webm", "libvpx-vp9"),
    ".wmv": Container("asf", "wmv2", is_steady=True),
}

# What people call them.
_ENCODERS = {
    "av1": "libsvtav1",
    "h264": "libx264",
    "h265": "libx265",
    "hevc": "libx265",
    "mpeg1": "mpeg1video",
    "mpeg2": "mpeg2video",
    "raw": "rawvideo",
    "vp8": "libvpx",
    "vp9": "libvpx-vp9",
}
_LOSSLESS = ("ffv1", "ffvhuff", "huffyuv", "libx264rgb", "png", "rawvideo", "utvideo")
_QUANTISED = ("mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "msmpeg4", "msmpeg4v2", "wmv1", "wmv2")

# Uncompressed film in AVI files that everybody reads.
_RAW_FORMATS = ("bgr24", "bgra", "gray", "yuv420p", "yuv422p", "yuv444p")

_MPEG1_RATES = tuple(
    Fraction(rate) for rate in ("24000/1001", "24", "25", "30000/1001", "30", "50", "60000/1001", "60")
)


def choose_encoder(codec: str, rate: Fraction) -> str:
    """Return FFmpeg's name of an encoder, if it is there and takes the rate.

    Raises
    ------
    ArgumentError
        If there is no such encoder, or the rate is none of its own.
    """
    import av

    name = _ENCODERS.get(codec.lower(), codec.lower())
    try:
        encoder = av.Codec(name, "w")
    except ValueError:
        known = [*_ENCODERS, *_LOSSLESS, *_QUANTISED]
        raise ArgumentError(f"there is no encoder codec={codec!r}{suggest_names(codec, known)}") from None
    if encoder.type != "video":
        raise ArgumentError(f"codec={codec!r} does not encode film")
    if name == "mpeg1video" and rate not in _MPEG1_RATES:
        rates = ", ".join(f"{float(known):.5g}" for known in _MPEG1_RATES)
        raise ArgumentError(
            f"MPEG-1 has no rate of {float(rate):.5g} frames per second, only {rates}; take .mkv or .mp4"
        )
    return name


def choose_options(codec: str, quality: float | None, preset: str | None) -> dict[str, str]:
    """Return an encoder's options for a quality from 0 to 100 and one of `PRESETS`.

    Raises
    ------
    ArgumentError
        If `quality` or `preset` is none of these.

    Examples
    --------
    >>> choose_options("libx264", None, None)
    {'preset': 'superfast', 'crf': '18'}
    >>> choose_options("mpeg1video", 100, None)
    {'qmin': '1', 'qmax': '1'}
    """
    preset = "superfast" if preset is None else preset
    if preset not in PRESETS:
        raise ArgumentError(f"preset={preset!r} is none of {', '.join(PRESETS)}{suggest_names(preset, PRESETS)}")
    quality = 75.0 if quality is None else float(quality)
    if not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    if codec in ("libx264", "libx265"):
        return {"preset": preset, "crf": f"{48 - 0.4 * quality:g}"}
    if codec == "libx264rgb":
        return {"preset": preset, "qp": "0"}
    if codec in ("libvpx", "libvpx-vp9"):
        speed = max(0, 8 - max(0, PRESETS.index(preset) - 2))
        threads = {"row-mt": "1"} if codec == "libvpx-vp9" else {}
        rate = {"crf": f"{63 - 0.5 * quality:.0f}", "b": "0" if codec == "libvpx-vp9" else "20M"}
        return {"deadline": "realtime" if speed > 4 else "good", "cpu-used": str(speed), **rate, **threads}
    if codec == "libsvtav1":
        return {"preset": str(12 - PRESETS.index(preset)), "crf": f"{63 - 0.5 * quality:.0f}"}
    if codec == "ffv1":
        return {"level": "3", "slicecrc": "1", "g": "1"}
    if codec in _QUANTISED:
        quantiser = f"{31 ** (1 - quality / 100):.0f}"
        return {"qmin": quantiser, "qmax": quantiser}
    return {}


def choose_pixel_format(codec: str, available: Sequence[str], info: SourceInfo) -> str:
    """Return the pixel format that keeps most of the frames and that players open.

    Encoders without loss get what they can give back bit for bit; the others brightness and a quarter of the chroma,
    as films have it everywhere, with 10 bits if the frames have more than 8 and the encoder takes them.

    Raises
    ------
    ArgumentError
        If an encoder without loss cannot hold the frames.

    Examples
    --------
    >>> import numpy as np
    >>> info = SourceInfo("film", (48, 64, 3), np.dtype("uint8"))
    >>> choose_pixel_format("ffv1", ["yuv420p", "bgr0"], info), choose_pixel_format("h264", ["yuv420p"], info)
    ('bgr0', 'yuv420p')
    """
    available = _RAW_FORMATS if codec == "rawvideo" else available
    wanted = _list_wanted(codec, info)
    for name in wanted:
        if name in available:
            return name
    if codec in _LOSSLESS:
        what = f"{info.bits} bits of {info.colours}" if info.dtype.itemsize > 1 else info.colours
        raise ArgumentError(f"codec={codec!r} does not hold {what} without loss; codec='ffv1' in a .mkv file does")
    return available[0] if available else "yuv420p"


def _list_wanted(codec: str, info: SourceInfo) -> list[str]:
    """List pixel formats, the best first."""
    deep = info.dtype.itemsize > 1
    bits = info.bits if deep and info.bits > 8 else 8
    widths = [width for width in (9, 10, 12, 14, 16) if width >= bits] if deep else []
    lossless = codec in _LOSSLESS
    # Without a chroma sample of their own, the last row or column of an odd size would have to go.
    odd = codec in ("libx264", "libx265") and bool(info.shape[0] % 2 or info.shape[1] % 2)
    common = [*(["yuv444p10le"] if deep else []), "yuv444p"] if odd else ["yuv420p10le"] if deep else []
    if info.colours == "ycbcr":
        native = info.pixel_format.replace("yuvj", "yuv")
        sampling = native[3:6] if native.startswith("yuv") and native[3:6].isdigit() else "420"
        exact = [f"yuv{sampling}p{width}le" for width in widths] if deep else [f"yuv{sampling}p"]
        if lossless:
            return [native, *exact]
        kept = [name for name in (native, *exact) if not odd or name.startswith("yuv444p")]
        return [*kept, *common, "yuv420p"]
    if not lossless:
        return [*common, "yuv420p", "yuvj420p"]
    if info.colours == "grey":
        return [f"gray{width}le" for width in widths] if deep else ["gray", "bgr0", "bgr24", "rgb24", "gbrp"]
    if deep:
        planar = [f"gbrp{width}le" for width in widths]
        return ["gbrap16le", *planar] if info.has_alpha else planar
    opaque = ["bgr0", "bgr24", "rgb24", "gbrp"]
    return ["bgra", "gbrap", *opaque] if info.has_alpha else opaque

"""What formats of video have beside others, which encoders they are written with, and how these are set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from subband.errors import ArgumentError, suggest_names
from subband.media.base import SourceInfo
from subband.media.formats.base import Format

__all__ = ["PRESETS", "RAW", "VideoFormat", "choose_encoder", "choose_options", "choose_pixel_format"]

#: The trade of time for size, in the words of x264.
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")


@dataclass(frozen=True)
class VideoFormat(Format):
    """A file format of video.

    Attributes
    ----------
    muxer : str
        FFmpeg's name of the container.
    codec : str
        The encoder that is taken if none is asked for.
    is_steady : bool
        Whether frames can only follow each other at one rate.
    is_streamed : bool
        Whether frames are handed on through a pipe as they come.
    partial : mapping
        What makes a file playable whose end is missing.
    """

    muxer: str = ""
    codec: str = ""
    is_steady: bool = False
    is_streamed: bool = False
    partial: Mapping[str, str] = field(default_factory=dict)


#: Frames one behind the other and nothing else; only for pipes, as such a file does not say what it holds.
RAW = VideoFormat("raw frames", (), ("video",), muxer="rawvideo", codec="rawvideo", is_steady=True, is_streamed=True)

# What people call them.
_ENCODERS = {
    "animation": "qtrle",
    "av1": "libsvtav1",
    "h264": "libx264",
    "h265": "libx265",
    "hevc": "libx265",
    "mpeg1": "mpeg1video",
    "mpeg2": "mpeg2video",
    "prores": "prores_ks",
    "raw": "rawvideo",
    "vp8": "libvpx",
    "vp9": "libvpx-vp9",
}
_LOSSLESS = ("ffv1", "ffvhuff", "huffyuv", "jpeg2000", "libx264rgb", "png", "qtrle", "rawvideo", "utvideo")
_QUANTISED = ("mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "msmpeg4", "msmpeg4v2", "wmv1", "wmv2")

# Uncompressed video in AVI files that everybody reads.
_RAW_FORMATS = ("bgr24", "bgra", "gray", "yuv420p", "yuv422p", "yuv444p")

# What Y4M has words for.
_Y4M_FORMATS = (
    "gray", "yuv411p", "yuv420p", "yuv422p", "yuv444p",
    *(f"yuv{sampling}p{bits}le" for sampling in (420, 422, 444) for bits in (9, 10, 12, 14, 16)),
    *(f"gray{bits}le" for bits in (9, 10, 12, 16)),
)  # fmt: skip

# Bits of the samples of planar formats beyond 8.
_WIDTHS = (9, 10, 12, 14, 16)

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
        raise ArgumentError(f"codec={codec!r} does not encode video")
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
    if codec == "jpeg2000":
        # the 5/3 wavelet of integers
        return {"pred": "dwt53"}
    if codec in _QUANTISED:
        quantiser = f"{31 ** (1 - quality / 100):.0f}"
        return {"qmin": quantiser, "qmax": quantiser}
    return {}


def choose_pixel_format(codec: str, available: Sequence[str], info: SourceInfo, container: str = "") -> str:
    """Return the pixel format that keeps most of the frames and that players open.

    Encoders without loss get what they can give back bit for bit; the others brightness and a quarter of the chroma,
    as videos have it everywhere, with 10 bits if the frames have more than 8 and the encoder takes them.

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
    if container == RAW.muxer:
        return _choose_raw(info)
    if codec == "rawvideo":
        available = _Y4M_FORMATS if container == "yuv4mpegpipe" else _RAW_FORMATS
    wanted = _list_wanted(codec, info)
    if container == "yuv4mpegpipe" and info.colours == "rgb":
        wanted = [f"yuv444p{depth}" for depth in _list_depths(info)]
    if info.has_alpha:
        wanted = [*_list_opacity(codec, info), *wanted]
    for name in wanted:
        if name in available:
            return name
    if codec in _LOSSLESS:
        what = f"{info.bits} bits of {info.colours}" if info.dtype.itemsize > 1 else info.colours
        raise ArgumentError(f"codec={codec!r} does not hold {what} without loss; codec='ffv1' in a .mkv file does")
    return available[0] if available else "yuv420p"


def _choose_raw(info: SourceInfo) -> str:
    """Return the format of the source; raw frames can have any."""
    deep = info.dtype.itemsize > 1
    if info.colours == "ycbcr":
        return info.pixel_format.replace("yuvj", "yuv") or "yuv444p"
    if info.colours == "grey":
        return "gray16le" if deep else "gray"
    if info.has_alpha:
        return "rgba64le" if deep else "rgba"
    return "rgb48le" if deep else "rgb24"


def _list_depths(info: SourceInfo) -> list[str]:
    """List what ends the names of formats: depths that hold all bits, the smallest first, then the others."""
    if info.dtype.itemsize == 1:
        return [""]
    bits = max(info.bits, 8)
    enough = [f"{width}le" for width in _WIDTHS if width >= bits]
    return [*enough, *(f"{width}le" for width in reversed(_WIDTHS) if 9 < width < bits)]


def _list_opacity(codec: str, info: SourceInfo) -> list[str]:
    """List formats that say how opaque pixels are, the best first."""
    if codec.startswith("libvpx"):
        # whatever its list says
        return ["yuva420p"]
    depths = _list_depths(info)
    deep = info.dtype.itemsize > 1
    shallow = ["bgra", "rgba", "argb"]
    packed = ["rgba64be", "rgba64le", *shallow] if deep else shallow
    planar = [f"gbrap{depth}" for depth in depths]
    if info.colours == "grey":
        return [*(["ya16be", "ya16le"] if deep else ["ya8"]), *packed]
    sampling = _find_sampling(info) if info.colours == "ycbcr" else "444"
    samplings = list(dict.fromkeys((sampling, "444", "422", "420")))
    subsampled = [f"yuva{each}p{depth}" for each in samplings for depth in depths]
    if codec not in _LOSSLESS:
        # 10 bits of an encoder that has nothing less hold 8, and 8 of one that has nothing more are better than none
        others = [f"yuva{each}p{depth}" for each in samplings for depth in ("10le", "")]
        return [*subsampled, *others, *packed]
    exact = [f"yuva{sampling}p{depth}" for depth in depths]
    if info.colours == "ycbcr":
        return [*exact, *packed]
    return [*planar, *packed] if deep else ["bgra", *planar, *packed]


def _find_sampling(info: SourceInfo) -> str:
    """Return how chroma is sampled, in the words of FFmpeg's names."""
    found = re.match(r"yuvj?a?(\d{3})p", info.pixel_format)
    return found[1] if found else "420"


def _list_wanted(codec: str, info: SourceInfo) -> list[str]:
    """List opaque pixel formats, the best first."""
    deep = info.dtype.itemsize > 1
    depths = _list_depths(info)
    exact_depths = [depth for depth in depths if not deep or int(depth[:-2]) >= info.bits]
    lossless = codec in _LOSSLESS
    # Without a chroma sample of their own, the last row or column of an odd size would have to go.
    odd = codec in ("libx264", "libx265") and bool(info.shape[0] % 2 or info.shape[1] % 2)
    common = [*(["yuv444p10le"] if deep else []), "yuv444p"] if odd else ["yuv420p10le"] if deep else []
    if info.colours == "ycbcr":
        native = info.pixel_format.replace("yuvj", "yuv").replace("yuva", "yuv")
        sampling = _find_sampling(info)
        exact = [f"yuv{sampling}p{depth}" for depth in (exact_depths if lossless else depths)]
        if lossless:
            # Encoders of red, green and blue that are asked for by name get the video converted.
            converted = [] if codec == "rawvideo" else ["rgb48be"] if deep else ["rgb24"]
            return [native, *exact, *converted]
        kept = [name for name in (native, *exact) if not odd or name.startswith("yuv444p")]
        return [*kept, *common, "yuv420p"]
    if not lossless:
        return [*common, "yuv420p", "yuvj420p"]
    if info.colours == "grey":
        return [f"gray{depth}" for depth in [*exact_depths, "16be"]] if deep else [
            "gray", "bgr0", "bgr24", "rgb24", "gbrp"
        ]  # fmt: skip
    if deep:
        return [*(f"gbrp{depth}" for depth in exact_depths), "rgb48be"]
    return ["bgr0", "bgr24", "rgb24", "gbrp"]

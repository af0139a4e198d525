"""Video from one file into another, as it is, for ``subband encode`` and ``subband decode``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subband.cli.outputs import show_plan, show_result
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.codecs.vc2 import Settings

__all__ = ["copy_video", "is_vc2", "make_settings", "may_hold_jpeg2000", "may_hold_vc2", "read_rate"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def is_vc2(path: Path) -> bool:
    """Tell by its name whether a file is one of VC-2."""
    from subband.media.formats import find_format

    form = find_format(path)
    return form is not None and form.name == "VC-2"


def may_hold_vc2(path: Path) -> bool:
    """Tell by its name whether a file is one of VC-2, or Matroska, in which it may lie."""
    from subband.media.formats import find_format

    return is_vc2(path) or getattr(find_format(path), "muxer", None) == "matroska"


def may_hold_jpeg2000(path: Path) -> bool:
    """Tell by its name whether a file is video of which frames may be JPEG 2000: ``.mj2`` and ``.mxf``."""
    from subband.media.formats import find_format

    form = find_format(path)
    return getattr(form, "codec", None) == "jpeg2000" or getattr(form, "muxer", None) == "mxf"


def read_rate(text: str) -> float:
    """Return bits in a second.

    Examples
    --------
    >>> read_rate("200M"), read_rate("1.5g")
    (200000000.0, 1500000000.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?)([kmg]?)", text.strip().lower())
    if found is None or float(found[1]) == 0:
        raise ArgumentError(f"{text!r} is not a number of bits in a second, such as 200M")
    return float(found[1]) * _UNITS[found[2]]


def make_settings(
    rate: str | None, quantiser: int | None, wavelet: str | None, levels: int | None, *, compact: bool = False
) -> Settings | None:
    """Return how to encode; None if nothing was asked for."""
    from subband.codecs.vc2 import Settings
    from subband.codecs.vc2.wavelets import find_wavelet

    given: dict[str, Any] = {"quantiser": quantiser, "wavelet": wavelet, "depth": levels, "compact": compact or None}
    given["rate"] = None if rate is None else read_rate(rate)
    given = {name: value for name, value in given.items() if value is not None}
    if wavelet is not None:
        find_wavelet(wavelet)
    if not given:
        return None
    settings = Settings(**given)
    settings.check()
    return settings


def copy_video(
    source: Path,
    output: Path,
    options: dict[str, Any],
    force: bool,
    dry_run: bool,
    most_pixels: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read a video and write it as another, Y'CbCr as it stands."""
    from time import perf_counter

    from subband.cli.progress import watch_progress
    from subband.media import open_sink, open_source
    from subband.pipeline.relay import Progress

    if dry_run:
        show_plan([source], [output], as_json=as_json)
        return
    begin = perf_counter()
    with open_source(source, colours="ycbcr", most_pixels=most_pixels) as frames:
        total = frames.info.count
        with (
            watch_progress(is_quiet=as_json or quiet) as observe_file,
            open_sink(output, frames.info, overwrite=force, **options) as sink,
        ):
            observe = observe_file(source.name)
            for frame in frames:
                sink.write(frame)
                observe(Progress(sink.count, total, perf_counter() - begin))
    seconds, size = perf_counter() - begin, output.stat().st_size
    rate = frames.info.rate
    bits = 8 * size / sink.count * float(rate) if rate else None
    record = {"source": str(source), "output": str(output), "frames": sink.count, "bytes": size}
    record |= {"bits_per_second": bits, "seconds": round(seconds, 6)}
    said = "" if bits is None else f", {bits / 1e6:.1f} Mbit/s"
    text = f"{output}: {sink.count} frames, {size} bytes{said}, {sink.count / seconds:.1f} fps"
    show_result(record, text, as_json=as_json, quiet=quiet)

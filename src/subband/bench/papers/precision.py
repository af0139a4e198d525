"""Sixteen bits beside thirty-two, 2007: figure 4.6 in decibels.

The figure shows a scan under the same filter in 16 and in 32 bits, and its text says that it is very hard to see a
difference; here the difference is measured, for one level to six. A frame between 0 and 1 is transformed by CDF 9/7,
its details are thresholded, and it is transformed back. In 16 bits every band of every level is stored as a half, also
on the way back, as in their textures; devices compute so by themselves, and what is computed on the CPU is rounded
after each level. Beside it stands fixed point in 16 bits, without a threshold.

References
----------
Real-time wavelet filtering on the GPU, NTNU, 2007, figure 4.6 and section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np

from subband import data
from subband.bench.figures import COLOURS, Figure, Panel
from subband.bench.papers.judging import check_filtering, copy_bands
from subband.bench.tables import Goal, Report, Sheet
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.engines.measuring.harness import Harness, open_harness
from subband.engines.measuring.judging import HALF_TOLERANCE, TOLERANCE, compare_bands, find_largest
from subband.enhance.fixed import FixedPoint
from subband.enhance.roundtrip import Coefficients, Roundtrip
from subband.enhance.shrinking import make_shrinker
from subband.enhance.stages import Shrink
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = ["LEAST_PSNR", "LEVELS", "Difference", "load_frames", "measure_differences", "measure_fixed", "report"]

LEVELS = (1, 2, 3, 4, 5, 6)

#: Decibels from which on a difference is less than a grey level everywhere but at few pixels: the error of rounding to
#: 8 bits itself is at 58.9.
LEAST_PSNR = 58.9

# In the units of a frame between 0 and 1.
_THRESHOLD = 0.05
_BITS = 16


@dataclass(frozen=True)
class Difference:
    """A frame in 16 bits beside the same in 32.

    Attributes
    ----------
    psnr : float
        Decibels, of 16 bits by 32, before pixels are rounded to 8 bits.
    differing : float
        Part of the pixels whose grey level is another one.
    largest : int
        Grey levels by which a pixel differs at most.
    narrow, wide : float
        Decibels of the filtered frame by what it would be without speckle, in 16 and in 32 bits.
    """

    psnr: float
    differing: float
    largest: int
    narrow: float
    wide: float


def load_frames() -> dict[str, tuple[Array, Array]]:
    """Return frames between 0 and 1, each with what a perfect filter would make of it.

    Examples
    --------
    >>> {name: frame.shape for name, (frame, _) in load_frames().items()}
    {'ultrasound': (512, 512), 'camera': (512, 512)}
    """
    phantom = data.ultrasound()
    camera = data.camera() / 255
    noise = np.random.default_rng(0).normal(0, 0.05, camera.shape)
    return {
        "ultrasound": (phantom.scan() / 255, phantom.show() / 255),
        "camera": (np.clip(camera + noise, 0, 1), camera),
    }


def measure_differences(
    engine: str, frames: Mapping[str, tuple[Array, Array]] | None = None, levels: Sequence[int] = LEVELS
) -> dict[tuple[str, int], Difference]:
    """Filter each frame in 16 and in 32 bits, and compare.

    Raises
    ------
    WrongResultError
        If bands or filtered frames are not those of the reference engine, as far as their bits go.
    """
    bench = open_harness(engine)
    found = {}
    for name, (frame, clean) in (load_frames() if frames is None else frames).items():
        for level in levels:
            stage = Shrink("cdf97", level, "soft", _THRESHOLD)
            narrow, wide = (_filter(bench, stage, frame, dtype) for dtype in ("float16", "float32"))
            found[name, level] = _compare(narrow, wide, clean)
    return found


def _compare(narrow: Array, wide: Array, clean: Array) -> Difference:
    greys = [np.rint(np.clip(each, 0, 1) * 255) for each in (narrow, wide)]
    apart = np.abs(greys[0] - greys[1])
    return Difference(
        measure_psnr(narrow, wide, 1.0),
        float((apart > 0).mean()),
        int(apart.max()),
        measure_psnr(narrow, clean, 1.0),
        measure_psnr(wide, clean, 1.0),
    )


def _filter(bench: Harness, stage: Shrink, frame: Array, dtype: str) -> Array:
    """Return a frame, filtered in so many bits."""
    planes = np.ascontiguousarray(frame[np.newaxis], dtype)
    is_rounded = dtype == "float16" and not bench.is_device
    # the CPU computes in 32 bits, and is given what 16 can hold
    samples = bench.upload(planes.astype(np.float32) if is_rounded else planes)
    if not is_rounded:
        check_filtering(bench, stage, samples)
    filters = find_filters(bench.engine)
    roundtrip = Roundtrip(stage, planes.shape, bench.engine, filters)
    shrink = make_shrinker(stage, 1, 2, filters)
    if not is_rounded:
        coefficients = roundtrip.forward(samples)
        shrink(coefficients)
        back = roundtrip.inverse(coefficients, planes.shape)
        return np.asarray(bench.to_host(back)[0], np.float64)
    # another frame goes before, whose result would show
    _inverse_rounded(bench, roundtrip, _forward_rounded(bench, roundtrip, 1 - samples), planes.shape)
    coefficients = _forward_rounded(bench, roundtrip, samples)
    shrink(coefficients)
    back = _inverse_rounded(bench, roundtrip, coefficients, planes.shape)
    _check_rounded(bench, roundtrip, planes, stage, back)
    return np.asarray(back[0], np.float64)


def _forward_rounded(bench: Harness, roundtrip: Roundtrip, planes: Array) -> Coefficients:
    """Transform level by level, and store every band as a half."""
    approximation, details = planes, []
    for level in roundtrip.plan(planes.shape).levels:
        bands = {key: _round(band) for key, band in bench.engine.forward(level, approximation).items()}
        approximation = bands.pop("aa")
        details.append(bands)
    return Coefficients(approximation, details, roundtrip.wavelets)


def _inverse_rounded(bench: Harness, roundtrip: Roundtrip, coefficients: Coefficients, shape: tuple[int, ...]) -> Array:
    x = coefficients.approximation
    levels = roundtrip.plan(shape).levels
    for level, bands in zip(reversed(levels), reversed(coefficients.details), strict=True):
        stored = {key: _round(band) for key, band in bands.items()}
        x = _round(bench.engine.inverse(level, {"aa": x, **stored}))
    return np.asarray(x)


def _round(band: Any) -> Array:
    return np.asarray(band).astype(np.float16).astype(np.float32)


def _check_rounded(bench: Harness, roundtrip: Roundtrip, planes: Array, stage: Shrink, back: Array) -> None:
    """Compare bands and frame with the reference engine's, by what halves lose in each level of each direction."""
    judge = open_harness("reference")
    plain = find_filters(judge.engine)
    reference = Roundtrip(stage, planes.shape, judge.engine, plain)
    what = f"{bench.engine.name} in {_BITS} bits, {stage.level} levels"
    coefficients = reference.forward(planes.astype(np.float64))
    expected = copy_bands(judge, coefficients)
    found = copy_bands(bench, _forward_rounded(bench, roundtrip, planes.astype(np.float32)))
    limit = HALF_TOLERANCE * stage.level * find_largest(expected)
    compare_bands(found, expected, what, limit)
    make_shrinker(stage, 1, 2, plain)(coefficients)
    frame = np.asarray(reference.inverse(coefficients, planes.shape))
    compare_bands({"of the frame": back}, {"of the frame": frame}, what, 2 * limit)


def measure_fixed(
    frames: Mapping[str, tuple[Array, Array]] | None = None, levels: Sequence[int] = LEVELS
) -> dict[tuple[str, int], tuple[float, float]]:
    """Take frames of 16 bits through fixed point in 16 bits, and through float32, there and back without a threshold.

    Returns
    -------
    dict
        Decibels of what comes back in fixed point, and in float32 rounded to 16 bits, by frame and level.

    Raises
    ------
    WrongResultError
        If a band is not that of the reference engine, but for what rounding loses.
    """
    fixed = FixedPoint("cdf97", _BITS, "whole")
    engine = get_engine("cpu")
    found = {}
    for name, (frame, _) in (load_frames() if frames is None else frames).items():
        pixels = np.rint(frame * 65535).astype(np.uint16)
        for level in levels:
            roundtrip = Roundtrip(Shrink("cdf97", level), (1, *frame.shape), engine, find_filters(engine))
            plan = roundtrip.plan((1, *frame.shape))
            pyramid = fixed.forward(pixels, level=level)
            wanted = get_engine("reference").forward_all(plan, pixels[np.newaxis] / 65536.0)
            _check_fixed(fixed, pyramid, wanted)
            narrow = fixed.inverse(pyramid)
            planes = pixels[np.newaxis].astype(np.float32)
            wide = np.rint(np.asarray(engine.inverse_all(plan, *engine.forward_all(plan, planes)))[0])
            found[name, level] = (measure_psnr(narrow, pixels, 65535.0), measure_psnr(wide, pixels, 65535.0))
    return found


def _check_fixed(fixed: FixedPoint, pyramid: Any, wanted: Any) -> None:
    """Compare what coefficients in fixed point stand for, numbers between 0 and 1, with the reference engine."""
    approximation, details = wanted
    bands = [approximation, *(bands[key] for bands in details for key in sorted(bands))]
    found, expected = {}, {}
    for (level, key, band), other in zip(pyramid.bands(), bands, strict=True):
        scale, bias = fixed.scaling(level, key)
        found[f"{key}{level}"] = band / 2.0**_BITS
        expected[f"{key}{level}"] = scale * other[0] + bias
    # each pass of each level rounds by up to a unit
    limit = 4 * pyramid.level * 2.0**-_BITS + TOLERANCE
    compare_bands(found, expected, f"fixed point in {_BITS} bits", limit)


def report(
    differences: Mapping[str, Mapping[tuple[str, int], Difference]],
    fixed: Mapping[tuple[str, int], tuple[float, float]],
) -> Report:
    """Write what figure 4.6 shows, in numbers.

    Parameters
    ----------
    differences : mapping
        By engine, and then as `measure_differences` returns them.
    fixed : mapping
        As `measure_fixed` returns it; empty where nothing was computed on the CPU.
    """
    rows = [
        [
            engine,
            name,
            str(level),
            _write(each.psnr),
            f"{each.differing:.2%}",
            str(each.largest),
            f"{each.narrow:.2f}",
            f"{each.wide:.2f}",
        ]
        for engine, found in differences.items()
        for (name, level), each in found.items()
    ]
    columns = ["engine", "frame", "levels", "PSNR dB", "pixels that differ", "by at most"]
    columns += ["16 bits, by the clean frame dB", "32 bits, by the clean frame dB"]
    note = (
        "PSNR of the filtered frame in halves by the same in float32; grey levels are out of 255. The paper says that "
        "it is very hard to see a difference between 16 and 32 bits (figure 4.6). Rounding to 8 bits alone is 58.9 dB."
    )
    sheets = [Sheet("Figure 4.6: 16 bits beside 32, soft threshold", columns, rows, note, texts=2)]
    if fixed:
        sheets.append(
            Sheet(
                "Fixed point in 16 bits, there and back",
                ["frame", "levels", "16 bits dB", "float32 dB"],
                [[name, str(level), _write(narrow), _write(wide)] for (name, level), (narrow, wide) in fixed.items()],
                "PSNR by the frame of 16 bits itself; no threshold. Exact: every pixel came back.",
            )
        )
    goals = [
        Goal(
            f"{engine}, {name}: 16 bits differ from 32 by less than rounding to 8 bits does, for all levels",
            f"at least {_write(lowest)} dB",
            lowest >= LEAST_PSNR,
        )
        for engine, found in differences.items()
        for name in dict.fromkeys(name for name, _ in found)
        for lowest in [min(each.psnr for (own, _), each in found.items() if own == name)]
    ]
    figures = {
        "halves": {
            engine: {f"{name}, {level}": _as_record(each) for (name, level), each in found.items()}
            for engine, found in differences.items()
        },
        "fixed point": {
            f"{name}, {level}": [_as_number(each) for each in pair] for (name, level), pair in fixed.items()
        },
    }
    return Report(sheets, goals, figures, drawings={"16 bits beside 32": _draw(differences)})


def _write(psnr: float) -> str:
    return "exact" if psnr == inf else f"{psnr:.1f}"


def _as_number(psnr: float) -> float | None:
    """Return a number for JSON, which has no infinity."""
    return None if psnr == inf else psnr


def _as_record(difference: Difference) -> dict[str, Any]:
    return {**asdict(difference), "psnr": _as_number(difference.psnr)}


def _draw(differences: Mapping[str, Mapping[tuple[str, int], Difference]]) -> Figure:
    panel = Panel("filtered frames in 16 bits by 32", "levels", "dB")
    number = 0
    for engine, found in differences.items():
        for name in dict.fromkeys(name for name, _ in found):
            own = {level: each.psnr for (frame, level), each in found.items() if frame == name and each.psnr != inf}
            panel.add_curve(list(own), list(own.values()), COLOURS[number % len(COLOURS)], f"{engine}, {name}")
            number += 1
    return Figure("16 bits beside 32", [[panel]], (720, 380))

"""Wavelets in a frame buffer, 1999: how far 8 bits are from floating point, and how long the way back takes.

References
----------
M. Hopf and T. Ertl, Hardware based wavelet transformations, Vision, Modeling, and Visualization, 1999, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from subband import data
from subband.bench.figures import BarChart, draw_bars
from subband.bench.tables import Goal, Report, Sheet
from subband.engines.measuring.harness import open_harness, plan_array
from subband.engines.measuring.judging import check_transform
from subband.engines.measuring.timing import Effort, take_turns
from subband.enhance.fixed import FixedPoint
from subband.transforms import decompose
from subband.typing import Direction

__all__ = ["BITS", "WAVELETS", "measure_bits", "measure_ratios", "report"]

WAVELETS = ("haar", "db2")
BITS = (8, 12, 16)

#: Their reconstruction takes so many times as long as their decomposition.
THEIRS = (2.0, 3.0)

#: As many as db2 has for that side.
_LEVEL = 7
_SIDE = 512


def measure_bits() -> list[tuple[str, int, float, int, int]]:
    """Decompose an image, and compare every coefficient with floating point.

    Returns
    -------
    list of (str, int, float, int, int)
        Wavelet, bits, the part of the coefficients that differ at all, the largest difference of one in units of the
        last bit, and that of the reconstructed image in grey levels.
    """
    image = data.camera()
    found = []
    for wavelet in WAVELETS:
        exact = decompose(image / 256, wavelet, _LEVEL, mode="symmetric", engine="reference")
        for bits in BITS:
            fixed = FixedPoint(wavelet, bits, "symmetric")
            pyramid = fixed.forward(image, level=_LEVEL)
            differences = []
            for (level, key, band), (_, _, other) in zip(pyramid.bands(), exact.bands(), strict=True):
                scale, bias = fixed.scaling(level, key)
                # the lowest bits of what holds a coefficient are not used, and are zero
                held = 8 * band.dtype.itemsize
                steps = (scale * other + bias) * 2.0**bits
                differences.append(np.abs(band / 2.0 ** (held - bits) - np.rint(steps)).ravel())
            flat = np.concatenate(differences)
            back = np.abs(fixed.inverse(pyramid).astype(int) - image.astype(int)).max()
            found.append((wavelet, bits, float((flat >= 1).mean()), int(flat.max()), int(back)))
    return found


def measure_ratios(engines: Sequence[str], effort: Effort | None = None) -> dict[tuple[str, str], float]:
    """Measure how many times as long as the decomposition the reconstruction takes, by engine and wavelet.

    Raises
    ------
    WrongResultError
        If a band is not that of the reference engine, or the image does not come back.
    """
    effort = effort or Effort(seconds=0.1, fewest=3, most=15)
    ratios = {}
    for engine in engines:
        bench = open_harness(engine)
        for wavelet in WAVELETS:
            plan = plan_array((_SIDE, _SIDE), wavelet, _LEVEL)
            check_transform(bench, plan, bench.draw(plan.shape), f"{wavelet}, {_LEVEL} levels of {_SIDE}²")
            directions: tuple[Direction, ...] = ("forward", "inverse")
            calls = {str(direction): bench.prepare(plan, direction) for direction in directions}
            times = take_turns(calls, effort, bench.time_calls)
            ratios[engine, wavelet] = times["inverse"] / times["forward"]
    return ratios


def report(bits: Sequence[tuple[str, int, float, int, int]], ratios: Mapping[tuple[str, str], float]) -> Report:
    """Write what differs, where it was measured, and how long the way back takes.

    Fixed point is the same bit by bit on every engine, so that devices have no such table.
    """
    rows = [[wavelet, str(count), f"{part:.1%}", str(most), str(back)] for wavelet, count, part, most, back in bits]
    note = (
        "Camera, 512 × 512, seven levels. Units are those of the last bit; the paper says that nothing but that "
        "differs, in coefficients and in images. Every pass of every level rounds to the given bits."
    )
    columns = ["wavelet", "bits", "coefficients that differ", "by at most", "image, grey levels"]
    slower = [[f"{engine}, {wavelet}", f"{ratio:.2f}"] for (engine, wavelet), ratio in ratios.items()]
    sheets = [Sheet("Section 7: fixed point beside floating point", columns, rows, note)] if bits else []
    sheets.append(
        Sheet(
            "Section 7: reconstruction, by decomposition",
            ["who", "times as long"],
            [["theirs", f"{THEIRS[0]:g} to {THEIRS[1]:g}"], *slower],
        )
    )
    goals = [
        Goal("with 16 bits the image comes back exactly", f"{wavelet}: off by {back}", back == 0)
        for wavelet, count, _, _, back in bits
        if count == 16
    ]
    figures = {
        "bits": [list(row) for row in bits],
        "ratios": {f"{engine}, {wavelet}": ratio for (engine, wavelet), ratio in ratios.items()},
    }
    labels = [f"{wavelet}, {count} bits" for wavelet, count, *_ in bits]
    parts = {"differ": [100 * part for _, _, part, *_ in bits]}
    chart = BarChart("coefficients that differ from floating point", "percent", labels, parts)
    drawings = {"Fixed point": draw_bars("Fixed point beside floating point", chart)} if bits else {}
    return Report(sheets, goals, figures, drawings=drawings)
